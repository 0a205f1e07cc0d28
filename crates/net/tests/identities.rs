//! Who is let in, who is refused and told why, and who takes whose place.

use env::{Level, Levels};
use net::{CallError, Lane, Net, Refusal, StartError};

use crate::support::raw::{self, HELLO, Hello};
use crate::support::{CLUSTER, Node, PATIENCE, config, pair, start, until, wait};

/// Why a call of node 2 is refused, and in which words.
fn refusal(from: &Node, to: u32) -> (Refusal, String) {
    until(|| matches!(from.call(to, Lane::Storage, b"x"), Err(CallError::Refused { .. })));
    match from.call(to, Lane::Storage, b"x") {
        Err(CallError::Refused { refused, .. }) => {
            assert!(from.peer(to).error().is_some_and(|error| error == refused.reason));
            (refused.refusal, refused.reason)
        }
        other => panic!("not refused: {other:?}"),
    }
}

/// A node with a peer at `other`.
fn caller(config: net::Config, node: u32, other: &Node) -> Node {
    let caller = start(config);
    caller.knows(node, other);
    caller
}

#[test]
fn a_restarted_peer_is_found_again() {
    let (one, two) = pair();
    let held = one.net.call(2, Lane::Storage, b"hold".to_vec(), PATIENCE);
    until(|| two.received() == 1);
    let mut again = config(2, 2);
    again.listen = two.net.local_addr();
    drop(two);
    assert!(matches!(wait(held), Err(CallError::Lost { .. })));
    until(|| matches!(one.call(2, Lane::Storage, b"x"), Err(CallError::NotSent { .. })));

    let two = caller(again, 1, &one);
    one.until_connected(2);
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
    assert_eq!(two.call(1, Lane::Storage, b"x").unwrap(), b"2:x");
    let peer = one.peer(2);
    assert_eq!(peer.incarnation, Some(2));
    assert!(peer.lanes[0].connections >= 2);
    assert_eq!(*one.host.renewed.lock(), [(2, 1), (2, 2)]);
    assert_eq!(one.net.incarnations(), [(2, 2)]);
}

#[test]
fn a_node_of_another_cluster_is_refused() {
    let one = start(config(1, 1));
    let mut other = config(2, 1);
    other.cluster = Some(CLUSTER + 1);
    let (refusal, reason) = refusal(&caller(other, 1, &one), 1);
    assert_eq!(refusal, Refusal::OtherCluster);
    assert!(reason.contains("feed") && reason.contains("feee"), "{reason}");
    assert!(one.net.turned_away() > 0);
}

#[test]
fn another_version_is_refused_on_both_sides() {
    let one = start(config(1, 1));
    let (mut stream, refusal_code, reason) = raw::shake_hands(&one.addr(), &Hello { version: 9, ..HELLO });
    assert_eq!(refusal_code, 1);
    assert!(reason.contains("version 9"), "{reason}");
    assert!(raw::is_closed(&mut stream));

    let mut peer = raw::Peer::new();
    one.net.set_peer(2, &peer.addr());
    let mut stream = peer.accept(&Hello { version: 9, ..HELLO });
    assert!(raw::is_closed(&mut stream));
    assert_eq!(*one.host.renewed.lock(), []);
}

#[test]
fn an_old_copy_of_a_data_directory_is_refused() {
    let (one, two) = pair();
    let mut known = config(3, 1);
    known.known_incarnations = vec![(2, 5)];
    let three = start(known);
    let again = caller(config(2, 4), 3, &three);
    let (refusal_at_start, reason) = refusal(&again, 3);
    assert_eq!(refusal_at_start, Refusal::OldCopy);
    assert!(reason.contains("incarnation 4") && reason.contains('5'), "{reason}");

    // Newer than the one that is connected, which has to go and does not come back.
    again.knows(1, &one);
    again.until_connected(1);
    until(|| one.host.left.lock().len() >= 3);
    assert_eq!(refusal(&two, 1).0, Refusal::OldCopy);
    assert_eq!(again.call(1, Lane::Storage, b"x").unwrap(), b"2:x");
}

#[test]
fn an_id_can_be_given_anew() {
    let one = start(config(1, 1));
    let two = caller(config(2, 9), 1, &one);
    two.until_connected(1);
    drop(two);
    one.net.forget(2);
    let two = caller(config(2, 1), 1, &one);
    assert_eq!(two.call(1, Lane::Storage, b"x").unwrap(), b"2:x");
}

#[test]
fn the_second_oftwo_processes_with_one_incarnation_is_refused() {
    let (one, two) = pair();
    let twin = caller(config(2, 1), 1, &one);
    assert_eq!(refusal(&twin, 1).0, Refusal::Twin);
    assert_eq!(two.call(1, Lane::Storage, b"x").unwrap(), b"2:x");
    assert_eq!(*one.host.left.lock(), []);
}

#[test]
fn a_node_with_the_same_id_is_refused() {
    let one = start(config(1, 1));
    let other_one = start(config(1, 1));
    let met = wait(other_one.net.call_address(&one.addr(), Vec::new(), PATIENCE));
    assert!(matches!(met, Err(CallError::Refused { refused, .. }) if refused.refusal == Refusal::SameId));
}

#[test]
fn a_node_that_calls_itself_is_told() {
    let one = start(config(1, 1));
    let met = wait(one.net.call_address(&one.addr(), Vec::new(), PATIENCE));
    assert!(matches!(met, Err(CallError::Refused { refused, .. }) if refused.refusal == Refusal::Itself));
    assert!(matches!(
        one.call(1, Lane::Control, b"x"),
        Err(CallError::NotSent { .. })
    ));
}

#[test]
fn another_node_at_an_address_is_refused() {
    let two = start(config(2, 1));
    let one = caller(config(1, 1), 3, &two);
    let (refusal, reason) = refusal(&one, 3);
    assert_eq!(refusal, Refusal::OtherNode);
    assert!(reason.contains("node 2 answers where node 3 was expected"), "{reason}");
}

#[test]
fn a_peer_moves_to_another_address() {
    let (one, two) = pair();
    drop(two);
    let two = start(config(2, 2));
    one.knows(2, &two);
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
}

#[test]
fn plain_connections_from_other_machines_must_be_wanted() {
    struct Nobody;
    impl net::Service for Nobody {
        fn receive(&self, _: net::Caller, _: Lane, _: Vec<u8>) -> net::Answering {
            Box::pin(std::future::ready(Vec::new()))
        }
    }
    let mut open = config(1, 1);
    open.listen = "0.0.0.0:0".parse().unwrap();
    let refused = Net::start(open.clone(), std::sync::Arc::new(Nobody)).err().unwrap();
    assert!(matches!(refused, StartError::PlainBeyondLoopback(_)), "{refused}");
    open.allow_plain_beyond_loopback = true;
    assert!(Net::start(open, std::sync::Arc::new(Nobody)).is_ok());
}

fn levels(lowest: u8, highest: u8) -> Levels {
    Levels {
        lowest: Level(lowest),
        highest: Level(highest),
    }
}

fn speaking(node: u32, speaks: Levels, level: u8) -> net::Config {
    let mut config = config(node, 1);
    (config.speaks, config.level) = (speaks, Level(level));
    config
}

#[test]
fn who_says_nothing_of_levels_speaks_the_first() {
    let one = start(speaking(1, levels(1, 2), 1));
    let (_stream, refusal_code, reason) = raw::shake_hands(&one.addr(), &HELLO);
    assert_eq!((refusal_code, &*reason), (0, ""));
    let spoken: Vec<_> = one.net.met().iter().map(|met| (met.node, met.speaks)).collect();
    assert_eq!(spoken, [(2, levels(1, 1))]);
}

#[test]
fn a_node_that_does_not_speak_the_clusters_level_is_refused_by_both_sides() {
    let one = start(speaking(1, levels(1, 2), 2));
    let (code, reason) = refusal(&caller(speaking(2, levels(1, 1), 1), 1, &one), 1);
    assert_eq!(code, Refusal::Level);
    assert!(
        reason.contains("node 2 speaks feature level 1") && reason.contains("at level 2"),
        "{reason}"
    );
    // It would take the call.
    let one = start(speaking(1, levels(1, 2), 2));
    let mut peer = raw::Peer::new();
    one.net.set_peer(2, &peer.addr());
    let mut stream = peer.accept(&HELLO);
    assert!(raw::is_closed(&mut stream));
    until(|| {
        one.peer(2)
            .error()
            .is_some_and(|error| error.contains("node 2 speaks feature level 1"))
    });
}

#[test]
fn connections_of_those_below_a_risen_level_end() {
    let (one, two) = (start(speaking(1, levels(1, 2), 1)), start(speaking(2, levels(1, 1), 1)));
    let three = start(speaking(3, levels(1, 2), 1));
    for (node, peer) in [(2, &two), (3, &three)] {
        one.knows(node, peer);
        peer.knows(1, &one);
        one.until_connected(node);
        peer.until_connected(1);
    }
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
    let before = one.peer(3).lanes[0].connections;
    one.net.set_level(Level(2));
    let refused = |from: &Node, to: u32| {
        until(|| match from.call(to, Lane::Consensus, b"x") {
            Err(CallError::Refused { refused, .. }) => refused.refusal == Refusal::Level,
            _ => false,
        });
    };
    refused(&one, 2);
    refused(&two, 1);
    assert_eq!(one.call(3, Lane::Storage, b"x").unwrap(), b"1:x");
    assert_eq!(one.peer(3).lanes[0].connections, before, "who speaks it stays");
}

#[test]
fn who_was_away_while_the_level_rose_believes_the_others() {
    let (one, two) = (start(speaking(1, levels(1, 2), 1)), start(speaking(2, levels(2, 3), 2)));
    one.knows(2, &two);
    assert_eq!(one.call(2, Lane::Storage, b"x").unwrap(), b"1:x");
}
