//! Clients that misbehave: each gets a clean error and an end, within bounded memory, and nobody else notices.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod support;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use governor::unread::Cut;
use mysql_wire::Output;
use mysql_wire::command::Command;
use support::{CAPABILITIES, Client, TestServer, resident_bytes, wait_until};

const SHORT: Duration = Duration::from_millis(150);

#[test]
fn garbage_on_the_port() {
    let server = TestServer::start();
    let mut bystander = server.connect();
    for garbage in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        b"\x05\0\0\x01hello",
        &[0xff; 1000],
        &[0; 1000],
    ] {
        let mut client = Client::bare(server.addr());
        client.read_packet().unwrap();
        client.write_raw(garbage);
        let error = support::answer_of(&client.read_packet().unwrap()).error().0;
        assert!(matches!(error, 1043 | 1153 | 1156), "{error}");
        assert_eq!(client.read_packet(), None);
    }
    bystander.expect_alive();
    wait_until("they are gone", || server.registry.statistics().connected == 1);
}

#[test]
fn a_login_is_bounded_in_size_and_time() {
    let server = TestServer::with(|_, canned| canned.limits.login_timeout = SHORT);
    let mut large = Client::bare(server.addr());
    large.read_packet().unwrap();
    large.write_raw(&[0x01, 0x00, 0x01, 0x01]);
    large.expect_end(1153);

    let started = Instant::now();
    let mut silent = Client::bare(server.addr());
    silent.read_packet().unwrap();
    silent.expect_end(4031);
    assert!(started.elapsed() >= SHORT);

    let mut slow = Client::bare(server.addr());
    slow.read_packet().unwrap();
    slow.write_raw(&[0xf0, 0x00, 0x00, 0x01]);
    let drip = slow.stream.try_clone().unwrap();
    std::thread::spawn(move || {
        while (&drip).write_all(&[0]).is_ok() {
            std::thread::sleep(SHORT / 20)
        }
    });
    slow.expect_end(1159);
}

#[test]
fn a_packet_is_refused_by_its_header() {
    let server = TestServer::with(|_, canned| canned.max_allowed_packet = 1 << 20);
    let before = resident_bytes();
    let mut client = server.connect();
    client.write_raw(&[0x01, 0x00, 0x10, 0x00]);
    client.expect_end(1153);

    // A gigabyte, announced frame by frame and sent: the first header is enough to refuse it.
    let mut client = server.connect();
    let mut frame = vec![b'x'; 0x100_0003];
    frame[..4].copy_from_slice(&[0xff, 0xff, 0xff, 0]);
    let stream = client.stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || (0..64).take_while(|_| (&stream).write_all(&frame).is_ok()).count());
    client.expect_end(1153);
    drop(client);
    assert!(sender.join().unwrap() < 64);
    assert!(
        resident_bytes().saturating_sub(before) < 64 << 20,
        "what is refused is not kept"
    );

    let mut client = server.connect();
    client.query(&format!("rows 1 1 {}", "x".repeat((1 << 20) - 20))).rows();
}

#[test]
fn packets_out_of_order() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write_raw(&[1, 0, 0, 3, 0x0e]);
    client.expect_end(1156);
}

#[test]
fn a_half_packet_times_out() {
    let server = TestServer::with(|_, canned| canned.net_read_timeout = SHORT);
    let mut client = server.connect();
    client.write_raw(&[200, 0, 0, 0, 0x03, b's']);
    let drip = client.stream.try_clone().unwrap();
    std::thread::spawn(move || {
        while (&drip).write_all(b"x").is_ok() {
            std::thread::sleep(SHORT / 10)
        }
    });
    client.expect_end(1159);
}

#[test]
fn a_large_packet_may_take_longer_than_the_timeout_as_long_as_it_comes() {
    let server = TestServer::with(|_, canned| canned.net_read_timeout = SHORT);
    let mut client = server.connect();
    let mut output = Output::new(Vec::new());
    output.packet(|out| Command::Query(&[b'x'; 400_000]).encode(out, CAPABILITIES));
    for piece in output.as_slice().chunks(40_000) {
        client.write_raw(piece);
        std::thread::sleep(SHORT / 3);
    }
    client.read_answer().ok();
}

#[test]
fn an_idle_session_ends_after_wait_timeout() {
    let server = TestServer::with(|_, canned| canned.wait_timeout_seconds = 1);
    let mut client = server.connect();
    client.expect_alive();
    client.expect_end(4031);
}

#[test]
fn a_client_that_stops_reading_is_cut_and_costs_little() {
    let server = TestServer::with(|_, canned| canned.net_write_timeout = 2 * SHORT);
    let before = resident_bytes();
    let cut_before = Cut::Timeout.count();
    let mut clients: Vec<Client> = (0..8).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.command(Command::Query(b"rows 1000000 1000"));
    }
    let mut bystander = server.connect();
    bystander.expect_alive();
    wait_until("all of them are cut", || server.registry.statistics().connected == 1);
    assert!(Cut::Timeout.count() >= cut_before + 8, "each is counted");
    assert!(
        resident_bytes().saturating_sub(before) < 32 << 20,
        "a gigabyte for each of eight clients is not buffered"
    );
    bystander.expect_alive();
    let mut rest = Vec::new();
    assert!(clients[0].stream.read_to_end(&mut rest).is_ok() || !rest.is_empty());
}

#[test]
fn a_result_larger_than_any_buffer_arrives_whole() {
    let server = TestServer::start();
    let mut client = server.connect();
    let before = resident_bytes();
    client.command(Command::Query(b"rows 200000 500"));
    assert_eq!(client.read_packet().unwrap(), [2]);
    client.read_definitions(2);
    let mut bytes = 0;
    client.read_rows(|row| bytes += row.len()).unwrap();
    assert!(bytes > 100_000_000);
    wait_until("all bytes are counted", || {
        server.registry.statistics().bytes_sent > bytes as u64
    });
    assert!(resident_bytes().saturating_sub(before) < 32 << 20);
}
