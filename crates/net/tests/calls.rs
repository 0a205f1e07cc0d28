//! Calls between nodes that are well.

use std::time::Duration;

use net::{CallError, Lane};

use crate::support::{PATIENCE, config, pair, pair_of, start, until, wait};

#[test]
fn calls_go_both_ways_on_every_lane() {
    let (one, two) = pair();
    for lane in Lane::ALL {
        assert_eq!(one.call(2, lane, b"hi").unwrap(), b"1:hi");
        assert_eq!(two.call(1, lane, b"ho").unwrap(), b"2:ho");
    }
    let caller = one.host.callers.lock()[0];
    assert_eq!((caller.node, caller.incarnation, caller.is_member), (2, 1, true));
    assert_eq!(two.peer(1).incarnation, Some(1));
    assert_eq!(*one.host.renewed.lock(), [(2, 1)]);
}

#[test]
fn a_call_waits_for_the_first_connection() {
    let (one, two) = (start(config(1, 1)), start(config(2, 1)));
    one.knows(2, &two);
    assert_eq!(one.call(2, Lane::Storage, b"hi").unwrap(), b"1:hi");
}

#[test]
fn many_calls_are_under_way_at_once() {
    let (one, two) = pair();
    let calls: Vec<_> = (0..500)
        .map(|n| {
            one.net
                .call(2, Lane::Storage, format!("hold {n}").into_bytes(), PATIENCE)
        })
        .collect();
    until(|| two.received() == 500);
    assert_eq!(one.peer(2).lanes[1].calls, 500);
    two.host.gate.add_permits(500);
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(wait(call).unwrap(), format!("hold {n}").as_bytes());
    }
    assert_eq!(one.peer(2).lanes[1].calls, 0);
}

#[test]
fn small_calls_pass_a_large_one() {
    let (one, two) = pair();
    let large = one.net.call(2, Lane::Storage, vec![b'x'; 32 << 20], PATIENCE);
    let mut large = Box::pin(large);
    let mut passed = 0;
    wait(async {
        loop {
            let small = one.net.call(2, Lane::Consensus, b"beat".to_vec(), PATIENCE);
            tokio::select! {
                biased;
                answer = small => assert_eq!(answer.unwrap(), b"1:beat"),
                answer = &mut large => return assert_eq!(answer.unwrap().len(), (32 << 20) + 2),
            }
            passed += 1;
        }
    });
    assert!(passed > 3, "{passed}");
    drop(two);
}

#[test]
fn an_answer_after_the_deadline_is_dropped() {
    let (one, two) = pair();
    let late = wait(
        one.net
            .call(2, Lane::Storage, b"hold".to_vec(), Duration::from_millis(20)),
    );
    let late = late.unwrap_err();
    assert!(
        matches!(late, CallError::Late { .. }) && late.may_have_arrived(),
        "{late:?}"
    );
    two.host.gate.add_permits(1);
    assert_eq!(one.call(2, Lane::Storage, b"next").unwrap(), b"1:next");
    assert_eq!(one.peer(2).lanes[1].calls, 0);
}

#[test]
fn a_dropped_call_frees_its_place() {
    let mut limited = config(1, 1);
    limited.limits.control.calls = 1;
    let (one, two) = pair_of(limited, config(2, 1));
    let held = one.net.call(2, Lane::Control, b"hold".to_vec(), PATIENCE);
    until(|| two.received() == 1);
    assert!(matches!(one.call(2, Lane::Control, b"x"), Err(CallError::Busy { .. })));
    drop(held);
    assert_eq!(one.call(2, Lane::Control, b"x").unwrap(), b"1:x");
    two.host.gate.add_permits(1);
    assert_eq!(one.call(2, Lane::Control, b"y").unwrap(), b"1:y");
}

#[test]
fn a_service_that_panics_answers_that_there_is_no_answer() {
    let (one, _two) = pair();
    assert!(matches!(
        one.call(2, Lane::Control, b"panic"),
        Err(CallError::Failed { .. })
    ));
    assert_eq!(one.call(2, Lane::Control, b"x").unwrap(), b"1:x");
}

#[test]
fn what_is_too_long_for_its_lane_is_not_sent() {
    let mut small = config(1, 1);
    small.limits.control.frame_bytes = 1000;
    let (one, two) = pair_of(small.clone(), config(2, 1));
    assert!(matches!(
        one.call(2, Lane::Control, &[0; 1001]),
        Err(CallError::TooLong { .. })
    ));
    let refused = two.call(1, Lane::Control, b"long 2000").unwrap_err();
    assert!(
        matches!(&refused, CallError::Failed { reason, .. } if reason.contains("2000 bytes")),
        "{refused}"
    );
    assert_eq!(two.call(1, Lane::Control, b"long 1000").unwrap().len(), 1000);
}

#[test]
fn an_address_is_called_before_the_node_is_known() {
    let seed = start(config(1, 1));
    let mut joining = config(2, 1);
    joining.cluster = None;
    let joining = start(joining);
    let met = wait(joining.net.call_address(&seed.addr(), b"join".to_vec(), PATIENCE)).unwrap();
    assert_eq!(
        (met.node, met.cluster, met.answer),
        (1, Some(crate::support::CLUSTER), b"2:join".to_vec())
    );
    assert!(!seed.host.callers.lock()[0].is_member);

    joining.knows(1, &seed);
    assert!(matches!(
        joining.call(1, Lane::Storage, b"x"),
        Err(CallError::Refused { .. })
    ));
    assert_eq!(joining.call(1, Lane::Control, b"x").unwrap(), b"2:x");
    joining.net.set_cluster(crate::support::CLUSTER);
    until(|| joining.call(1, Lane::Storage, b"x").is_ok());
    until(|| joining.call(1, Lane::Control, b"x").is_ok() && seed.host.callers.lock().last().unwrap().is_member);
}

#[test]
fn who_is_called_while_it_joins_knows_the_caller_as_a_member_then() {
    let member = start(config(1, 1));
    let mut joining = config(2, 1);
    joining.cluster = None;
    let joining = start(joining);
    member.knows(2, &joining);
    let held = member.net.call(2, Lane::Control, b"hold".to_vec(), PATIENCE);
    until(|| joining.received() == 1);
    joining.net.set_cluster(crate::support::CLUSTER);
    assert_eq!(member.call(2, Lane::Control, b"x").unwrap(), b"1:x");
    joining.host.gate.add_permits(1);
    assert_eq!(wait(held).unwrap(), b"hold");
    let callers: Vec<bool> = joining
        .host
        .callers
        .lock()
        .iter()
        .map(|caller| caller.is_member)
        .collect();
    assert_eq!(callers, [false, true]);
    member.until_connected(2);
}

#[test]
fn calls_end_with_the_network() {
    let (one, two) = pair();
    let held = one.net.call(2, Lane::Storage, b"hold".to_vec(), PATIENCE);
    until(|| two.received() == 1);
    one.net.shutdown();
    assert!(matches!(wait(held), Err(CallError::Ended { may_have_arrived: true })));
    assert!(matches!(one.call(2, Lane::Storage, b"x"), Err(CallError::Ended { .. })));
    let addr = two.addr();
    let after = wait(one.net.call_address(&addr, Vec::new(), PATIENCE));
    assert!(matches!(after, Err(CallError::Ended { .. })));
}

#[test]
fn a_peer_that_is_removed_ends_its_calls() {
    let (one, two) = pair();
    let held = one.net.call(2, Lane::Storage, b"hold".to_vec(), PATIENCE);
    until(|| two.received() == 1);
    one.net.remove_peer(2);
    assert!(matches!(wait(held), Err(CallError::Lost { .. })));
    assert!(matches!(
        one.call(2, Lane::Storage, b"x"),
        Err(CallError::NotSent { .. })
    ));
    until(|| two.host.left.lock().len() == 3);
}
