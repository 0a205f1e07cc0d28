//! Networks that break, and peers that do.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use net::{CallError, Config, Lane};

use crate::support::raw::{self, ANSWER, HELLO, PONG};
use crate::support::wire::Wire;
use crate::support::{Node, PATIENCE, config, pair_of, start, until, wait};

/// Notices the dead after a fifth of a second, for those who wait for it.
fn quick(node: u32) -> Config {
    let mut config = config(node, 1);
    config.limits.beat = Duration::from_millis(50);
    config.limits.silent_beats = 4;
    config
}

/// Beats as often, and takes a busy machine's pauses for no death.
fn patient(node: u32) -> Config {
    let mut config = quick(node);
    config.limits.silent_beats = 20;
    config
}

/// A node, and a socket that it takes for node 2.
fn with_peer(config: Config) -> (Node, raw::Peer) {
    let (one, peer) = (start(config), raw::Peer::new());
    one.net.set_peer(2, &peer.addr());
    (one, peer)
}

#[test]
fn a_damaged_answer_ends_the_connection_and_its_calls() {
    let (one, mut peer) = with_peer(config(1, 1));
    let calls = [1, 2].map(|_| one.net.call(2, Lane::Storage, b"x".to_vec(), PATIENCE));
    let mut stream = peer.accept(&HELLO);
    let call = raw::read_request(&mut stream);
    let mut answer = raw::frame(ANSWER, 2, call, b"an answer");
    answer[22] ^= 4;
    stream.write_all(&answer).unwrap();
    for call in calls {
        let error = wait(call).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
    }
    // And the next connection is made.
    let call = one.net.call(2, Lane::Storage, b"x".to_vec(), PATIENCE);
    let mut stream = peer.accept(&HELLO);
    let number = raw::read_request(&mut stream);
    stream.write_all(&raw::frame(ANSWER, 2, number, b"sound")).unwrap();
    assert_eq!(wait(call).unwrap(), b"sound");
}

#[test]
fn a_peer_that_never_says_a_word_is_no_peer() {
    let mut hasty = config(1, 1);
    hasty.limits.handshake_timeout = Duration::from_millis(50);
    let (one, _peer) = with_peer(hasty);
    let error = one.call(2, Lane::Storage, b"x").unwrap_err();
    assert!(
        matches!(&error, CallError::NotSent { reason, .. } if reason.contains("no handshake")),
        "{error}"
    );
    assert!(one.peer(2).error().unwrap().contains("no handshake"));
}

#[test]
fn a_peer_that_falls_silent_is_left() {
    let (one, mut peer) = with_peer(quick(1));
    let call = one.net.call(2, Lane::Storage, b"x".to_vec(), PATIENCE);
    let mut stream = peer.accept(&HELLO);
    raw::read_request(&mut stream);
    let error = wait(call).unwrap_err();
    assert!(
        matches!(&error, CallError::Lost { reason, .. } if reason.contains("nothing has been heard")),
        "{error}"
    );
    assert!(raw::is_closed(&mut stream));
}

#[test]
fn a_caller_that_falls_silent_is_left() {
    let one = start(quick(1));
    let (mut stream, ..) = raw::shake_hands(&one.addr(), &HELLO);
    assert!(raw::is_closed(&mut stream));
    until(|| one.host.left.lock().len() == 1);
}

#[test]
fn a_peer_with_nothing_to_do_is_kept() {
    let (one, two) = pair_of(patient(1), patient(2));
    let beats = |node: &Node, peer| node.peer(peer).lanes[0].bytes_in / 24;
    let before = [beats(&one, 2), beats(&two, 1)];
    until(|| beats(&one, 2) > before[0] + 20 && beats(&two, 1) > before[1] + 20);
    for (node, peer) in [(&one, 2), (&two, 1)] {
        let peer = node.peer(peer);
        assert_eq!(peer.lanes.iter().map(|lane| lane.connections).max(), Some(1));
        assert!(peer.lanes[0].round_trip.is_some());
    }
}

#[test]
fn a_cut_wire_is_noticed_and_replaced() {
    let (one, two) = (start(quick(1)), start(quick(2)));
    let wire = Wire::to(two.addr());
    one.net.set_peer(2, &wire.addr);
    one.until_connected(2);
    let held = one.net.call(2, Lane::Storage, b"hold".to_vec(), PATIENCE);
    until(|| two.received() == 1);
    wire.cut();
    assert!(matches!(wait(held), Err(CallError::Lost { .. })));
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
    assert_eq!(one.peer(2).lanes[1].connections, 2);
    until(|| !two.host.left.lock().is_empty());
}

#[test]
fn full_buffers_make_callers_busy_and_no_peer_dead() {
    let (mut one, mut two) = (patient(1), patient(2));
    one.limits.storage.buffered_bytes = 1 << 20;
    two.limits.storage.calls = 4;
    let (one, two) = pair_of(one, two);
    let request = [b"hold".as_slice(), &[0; 100_000]].concat();
    let mut calls = Vec::new();
    // What the sockets hold beside is the system's affair, so there is no exact number.
    let busy = loop {
        let call = one.net.call(2, Lane::Storage, request.clone(), PATIENCE);
        let mut call = Box::pin(call);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match call.as_mut().poll(&mut context) {
            std::task::Poll::Ready(outcome) => break outcome.unwrap_err(),
            std::task::Poll::Pending => calls.push(call),
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(matches!(busy, CallError::Busy { what: "bytes", .. }), "{busy}");
    until(|| two.received() == 4);
    let beats = || one.peer(2).lanes[1].bytes_in / 24;
    let before = beats();
    until(|| beats() > before + 30);
    assert_eq!(two.received(), 4, "no more are taken than may be answered at a time");
    assert_eq!(one.peer(2).lanes[1].connections, 1);
    assert_eq!(
        one.call(2, Lane::Consensus, b"x").unwrap(),
        b"1:x",
        "other lanes are not full"
    );

    two.host.gate.add_permits(calls.len());
    for call in calls {
        assert_eq!(wait(call).unwrap(), request);
    }
}

#[test]
fn a_refused_connection_ends_calls_at_once() {
    let one = start(config(1, 1));
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    one.net.set_peer(2, &nobody.to_string());
    until(|| one.peer(2).lanes.iter().all(|lane| lane.last_error.is_some()));
    let error = one.call(2, Lane::Consensus, b"x").unwrap_err();
    assert!(
        matches!(error, CallError::NotSent { .. }) && !error.may_have_arrived(),
        "{error}"
    );
}

#[test]
fn a_peer_that_only_beats_answers_late() {
    let (one, mut peer) = with_peer(quick(1));
    let call = one.net.call(2, Lane::Storage, b"x".to_vec(), Duration::from_secs(1));
    let mut stream = peer.accept(&HELLO);
    let is_over = Arc::new(AtomicBool::new(false));
    let beating = {
        let is_over = is_over.clone();
        std::thread::spawn(move || {
            while !is_over.load(SeqCst) && stream.write_all(&raw::frame(PONG, 2, 0, b"")).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let error = wait(call).unwrap_err();
    assert!(matches!(error, CallError::Late { .. }), "{error}");
    is_over.store(true, SeqCst);
    beating.join().unwrap();
}

#[test]
fn names_are_resolved() {
    let two = start(config(2, 1));
    let one = start(config(1, 1));
    one.net
        .set_peer(2, &format!("localhost:{}", two.net.local_addr().port()));
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
    one.net.set_peer(3, "no-such-host.invalid:1");
    let error = one.call(3, Lane::Storage, b"x").unwrap_err();
    assert!(matches!(error, CallError::NotSent { .. }), "{error}");
}
