//! Those who are no nodes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use net::Lane;

use crate::support::raw::{self, ANSWER, HELLO, PING, PONG, REQUEST};
use crate::support::{config, start, until};

#[test]
fn what_is_no_handshake_is_closed_at_once() {
    let one = start(config(1, 1));
    let random: Vec<u8> = (0..4000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    let mut flipped = HELLO.encode();
    flipped[40] ^= 1;
    let mut lane = HELLO;
    lane.lane = 9;
    let attempts: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\nHost: db\r\n\r\n",
        &random,
        &[0xff],
        &flipped,
        &lane.encode(),
    ];
    for bytes in attempts {
        let mut stream = raw::connect(&one.addr());
        // The other end may have closed the connection before the last byte.
        let _ = stream.write_all(bytes);
        assert!(raw::is_closed(&mut stream));
    }
    until(|| one.net.turned_away() == 5);
}

#[test]
fn a_handshake_may_come_byte_by_byte_but_not_for_ever() {
    let one = start(config(1, 1));
    let mut stream = raw::connect(&one.addr());
    for byte in HELLO.encode() {
        stream.write_all(&[byte]).unwrap();
    }
    let mut answer = [0; 56];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[13], 0);

    let mut hasty = config(1, 1);
    hasty.limits.handshake_timeout = Duration::from_millis(50);
    let one = start(hasty);
    let mut stream = raw::connect(&one.addr());
    stream.write_all(&HELLO.encode()[..55]).unwrap();
    assert!(raw::is_closed(&mut stream));
}

#[test]
fn a_thousand_idle_connections_keep_no_node_out() {
    raise_descriptor_limit();
    let mut patient = config(1, 1);
    patient.limits.handshake_timeout = Duration::from_secs(3600);
    let one = start(patient);
    let mut idle: Vec<TcpStream> = (0..1000).map(|_| raw::connect(&one.addr())).collect();
    until(|| one.net.turned_away() >= 1000 - 64);
    let two = start(config(2, 1));
    two.knows(1, &one);
    for lane in Lane::ALL {
        assert_eq!(two.call(1, lane, b"x").unwrap(), b"2:x");
    }
    assert!(raw::is_closed(&mut idle[0]), "the oldest had to go");
}

fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
}

#[test]
fn frames_that_are_wrong_end_the_connection() {
    let one = start(config(1, 1));
    let mut flipped = raw::frame(REQUEST, 2, 1, b"some bytes");
    flipped[25] ^= 1;
    let attempts = [
        ("a flipped bit", flipped),
        ("too long", raw::header(REQUEST, 2, 1, 1 << 30)),
        ("another lane", raw::frame(REQUEST, 1, 1, b"x")),
        ("an unknown kind", raw::frame(99, 2, 1, b"x")),
        ("an answer to nothing", raw::frame(ANSWER, 2, 1, b"x")),
        ("no frame", vec![0x5a; 5000]),
    ];
    for (what, bytes) in attempts {
        let (mut stream, refusal, _) = raw::shake_hands(&one.addr(), &HELLO);
        assert_eq!(refusal, 0);
        let _ = stream.write_all(&bytes);
        assert!(raw::is_closed(&mut stream), "{what}");
    }
    assert_eq!(one.received(), 0);
}

#[test]
fn the_protocol_is_as_drawn() {
    let one = start(config(1, 1));
    let (mut stream, ..) = raw::shake_hands(&one.addr(), &HELLO);
    stream.write_all(&raw::frame(PING, 2, 5, b"")).unwrap();
    stream.write_all(&raw::frame(REQUEST, 2, 6, b"x")).unwrap();
    let mut next = || loop {
        let frame = raw::read_frame(&mut stream).unwrap();
        if frame.1 != 0 {
            return frame;
        }
    };
    assert_eq!(next(), (PONG, 5, Vec::new()));
    assert_eq!(next(), (ANSWER, 6, b"2:x".to_vec()));
}

/// How many bytes a user of this machine gets for a perfect handshake.
fn answered(addr: &str, user: u32) -> String {
    let hello: String = HELLO.encode().iter().map(|byte| format!("\\x{byte:02x}")).collect();
    let addr = addr.replace(':', "/");
    let script = format!("exec 3<>/dev/tcp/{addr}; printf '{hello}' >&3; head -c 56 <&3 | wc -c");
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", &script]).uid(user).current_dir("/").output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn another_user_of_the_machine_is_no_node() {
    let this = rustix::process::geteuid().as_raw();
    let one = start(config(1, 1));
    assert_eq!(answered(&one.addr(), this), "56");
    // Only the superuser can act as somebody else.
    if this == 0 {
        assert_eq!(answered(&one.addr(), 12_345), "0");
        until(|| one.net.turned_away() == 1);
    }
}
