use std::task::Wake;

use env::{Clock, ManualClock};
use store::{MemoryBudget, MemoryUse};

use super::*;
use crate::Issuer;
use crate::consensus::Abort;

struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn queue(limit: u64) -> Arc<Queue> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let queue = Arc::new(Queue::new(limit, Meters::new(clock), Awake::new(false)));
    queue.lead();
    queue
}

fn transaction(sequence: u64, bytes: usize) -> Entrant {
    let writes = vec![0; bytes];
    Entrant {
        transaction: Transaction {
            id: id(sequence),
            lock_epoch: 0,
            durability: crate::Durability::MajorityDisk,
            writes,
            memory: None,
        },
        acknowledged: 0,
        cut: None,
    }
}

fn id(sequence: u64) -> TransactionId {
    let issuer = Issuer {
        node: 1,
        incarnation: 1,
    };
    TransactionId { issuer, sequence }
}

/// One of `chunks` chunks of a byte each.
fn large(sequence: u64, chunks: usize) -> Entrant {
    let cut = Cut {
        chunks: (0..chunks).map(|at| at..at + 1).collect(),
        rest: vec![9],
    };
    Entrant {
        cut: Some(cut),
        ..transaction(sequence, chunks)
    }
}

fn poll<F: Future + Unpin>(future: &mut F, counter: &Arc<Counter>) -> Poll<F::Output> {
    let waker = Waker::from(counter.clone());
    Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Of what is in flight now.
fn answer(queue: &Queue, verdicts: &[Verdict]) {
    let flight = queue.state.lock().flight;
    assert!(queue.answer(flight, verdicts));
}

fn reject(queue: &Queue, error: &ProposeError) {
    let flight = queue.state.lock().flight;
    queue.reject(flight, error);
}

fn sequences(gathered: Poll<Option<(Flight, Departure)>>) -> Vec<u64> {
    match gathered {
        Poll::Ready(Some((_, departure))) => departure.iter().map(|(origin, _)| origin.id.sequence).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn proposals_gather_until_they_are_fetched_and_are_answered_in_order() {
    let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
    let mut gather = Box::pin(queue.gather(25));
    assert!(poll(&mut gather, &counter).is_pending());
    let mut commits: Vec<_> = (0..4).map(|n| queue.propose(transaction(n, 10))).collect();
    assert_eq!(counter.0.load(Ordering::SeqCst), 1, "the gatherer is woken once");
    assert_eq!(sequences(poll(&mut gather, &counter)), [0, 1], "a third would not fit");
    assert!(queue.holds(id(0)) && queue.holds(id(3)));
    answer(&queue, &[Ok(Timestamp(7)), Ok(Timestamp(8))]);
    assert!(matches!(poll(&mut commits[1], &counter), Poll::Ready(Ok(Timestamp(8)))));
    assert!(poll(&mut commits[2], &counter).is_pending());
    assert!(!queue.holds(id(0)) && !queue.is_empty());
    assert_eq!(
        sequences(poll(&mut Box::pin(queue.gather(1)), &counter)),
        [2],
        "one always fits"
    );
    reject(&queue, &ProposeError::DiskFull);
    assert!(matches!(
        poll(&mut commits[2], &counter),
        Poll::Ready(Err(ProposeError::DiskFull))
    ));
}

#[test]
fn a_full_queue_makes_proposals_wait() {
    let (queue, counter) = (queue(25), Arc::new(Counter(AtomicUsize::new(0))));
    let mut large = queue.propose(transaction(0, 100));
    let mut blocked = queue.propose(transaction(1, 10));
    assert!(poll(&mut large, &counter).is_pending() && poll(&mut blocked, &counter).is_pending());
    assert_eq!(
        sequences(poll(&mut Box::pin(queue.gather(1000)), &counter)),
        [0],
        "alone it is let in at any size"
    );
    assert_eq!(counter.0.load(Ordering::SeqCst), 1, "there is room again");
    answer(&queue, &[Ok(Timestamp(1))]);
    assert!(poll(&mut blocked, &counter).is_pending());
    assert_eq!(sequences(poll(&mut Box::pin(queue.gather(1000)), &counter)), [1]);
}

/// What is gathered next, as text.
fn next(queue: &Arc<Queue>, counter: &Arc<Counter>) -> String {
    let Poll::Ready(Some((_, departure))) = poll(&mut Box::pin(queue.gather(1000)), counter) else {
        return "nothing".into();
    };
    let pieces = departure.iter().map(|(origin, piece)| {
        let id = origin.id.sequence;
        match piece {
            Piece::Whole(_) => format!("{id}"),
            Piece::Chunk { number, .. } => format!("{id} chunk {number}"),
            Piece::Commit { chunks, .. } => format!("{id} commit of {chunks}"),
            Piece::Abort => format!("{id} abort"),
            Piece::Raise(level) => format!("raise to {level}"),
        }
    });
    pieces.collect::<Vec<_>>().join(", ")
}

#[test]
fn between_the_chunks_of_a_large_transaction_go_others() {
    let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
    let mut commits = [
        queue.propose(large(0, 2)),
        queue.propose(large(1, 1)),
        queue.propose(transaction(2, 1)),
    ];
    let step = |expected: &str, verdicts: &[Verdict]| {
        assert_eq!(next(&queue, &counter), expected);
        answer(&queue, verdicts);
    };
    step("2", &[Ok(Timestamp(1))]);
    step("0 chunk 0", &[]);
    step("0 chunk 1", &[]);
    let _third = queue.propose(transaction(3, 1));
    let _fourth = queue.propose(transaction(4, 1));
    step("3, 4", &[Ok(Timestamp(2)), Ok(Timestamp(3))]);
    let _fifth = queue.propose(transaction(5, 1));
    step("0 commit of 2", &[Ok(Timestamp(4))]);
    step("5", &[Ok(Timestamp(5))]);
    assert!(queue.holds(id(1)) && !queue.holds(id(0)));
    step("1 chunk 0", &[]);
    step("1 commit of 1", &[Err(Abort::Unfit("no".into()))]);
    assert!(queue.is_empty());
    let answers = commits.each_mut().map(|commit| poll(commit, &counter));
    assert!(matches!(
        answers,
        [
            Poll::Ready(Ok(Timestamp(4))),
            Poll::Ready(Err(ProposeError::Aborted { .. })),
            Poll::Ready(Ok(Timestamp(1)))
        ]
    ));
}

#[test]
fn a_large_transaction_ends_with_its_first_part_that_is_rejected() {
    let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
    let full = ProposeError::DiskFull;
    for at_its_end in [false, true] {
        let mut commit = queue.propose(large(0, 2));
        for part in ["0 chunk 0", "0 chunk 1"].into_iter().take(1 + usize::from(at_its_end)) {
            assert_eq!(next(&queue, &counter), part);
            answer(&queue, &[]);
        }
        assert!(next(&queue, &counter).starts_with("0 c"));
        reject(&queue, &full);
        assert!(matches!(
            poll(&mut commit, &counter),
            Poll::Ready(Err(ProposeError::DiskFull))
        ));
        assert!(queue.is_empty() && !queue.holds(id(0)));
        // Its end comes before anything else, and is tried again in time.
        assert_eq!(next(&queue, &counter), "0 abort");
        reject(&queue, &full);
        assert_eq!(next(&queue, &counter), "nothing");
        let _after = queue.propose(transaction(1, 1));
        assert_eq!(next(&queue, &counter), "0 abort, 1");
        reject(&queue, &full);
        queue.try_again();
        assert_eq!(next(&queue, &counter), "0 abort");
        answer(&queue, &[]);
        assert_eq!(next(&queue, &counter), "nothing");
    }
}

#[test]
fn reserved_memory_is_given_back_as_the_rows_come() {
    let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
    let budget = MemoryBudget::new(1 << 30);
    let reserving = |mut entrant: Entrant| {
        entrant.transaction.memory = Some(budget.reserve(MemoryUse::Transactions, 900).unwrap());
        entrant
    };
    let used = || budget.used_by(MemoryUse::Transactions);
    let mut large = large(0, 2);
    large.transaction.writes = vec![0; 9];
    let _large = queue.propose(reserving(large));
    assert_eq!((next(&queue, &counter).as_str(), used()), ("0 chunk 0", 900));
    answer(&queue, &[]);
    assert_eq!((next(&queue, &counter).as_str(), used()), ("0 chunk 1", 800));
    answer(&queue, &[]);
    let _small = queue.propose(reserving(transaction(1, 1)));
    assert_eq!((next(&queue, &counter).as_str(), used()), ("1", 1600));
    answer(&queue, &[Ok(Timestamp(1))]);
    assert_eq!((next(&queue, &counter).as_str(), used()), ("0 commit of 2", 700));
    reject(&queue, &ProposeError::DiskFull);
    assert_eq!(used(), 0);
}

#[test]
fn after_a_failure_who_waited_is_refused_and_who_was_in_flight_does_not_know() {
    let (queue, counter) = (queue(25), Arc::new(Counter(AtomicUsize::new(0))));
    let mut in_flight = queue.propose(transaction(0, 10));
    sequences(poll(&mut Box::pin(queue.gather(10)), &counter));
    let mut waiting = queue.propose(transaction(1, 20));
    let mut blocked = queue.propose(transaction(2, 20));
    assert!(poll(&mut blocked, &counter).is_pending());
    queue.fail("the disk is gone".into());
    let unknown = poll(&mut in_flight, &counter);
    assert!(matches!(unknown, Poll::Ready(Err(ProposeError::Unknown { .. }))));
    let mut late = queue.propose(transaction(3, 1));
    for refused in [&mut waiting, &mut blocked, &mut late] {
        assert!(matches!(
            poll(refused, &counter),
            Poll::Ready(Err(ProposeError::Stopped { .. }))
        ));
    }
    assert!(matches!(
        poll(&mut Box::pin(queue.gather(1)), &counter),
        Poll::Ready(None)
    ));
}

#[test]
fn who_is_in_doubt_is_told_what_the_log_says_of_a_later_term() {
    let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
    let mut commits: Vec<_> = (0..4).map(|n| queue.propose(transaction(n, 10))).collect();
    let Poll::Ready(Some((flight, _))) = poll(&mut Box::pin(queue.gather(25)), &counter) else {
        panic!("two are there")
    };
    let until = Duration::from_secs(9);
    queue.doubt(flight, 7, until);
    assert!(
        !queue.answer(flight, &[Ok(Timestamp(1)), Ok(Timestamp(2))]),
        "it is late"
    );
    let mut outcomes = Outcomes::default();
    outcomes.insert(id(0), Fate::Committed(Timestamp(5)));
    queue.settle_doubts(7, &outcomes);
    assert!(matches!(poll(&mut commits[0], &counter), Poll::Ready(Ok(Timestamp(5)))));
    assert!(poll(&mut commits[1], &counter).is_pending() && queue.holds(id(1)));
    queue.settle_doubts(8, &outcomes);
    assert!(matches!(
        poll(&mut commits[1], &counter),
        Poll::Ready(Err(ProposeError::NotLeader))
    ));
    // Those that were not under way are certain.
    queue.follow();
    for waiting in &mut commits[2..] {
        assert!(matches!(
            poll(waiting, &counter),
            Poll::Ready(Err(ProposeError::NotLeader))
        ));
    }
    let mut refused = queue.propose(transaction(9, 1));
    assert!(matches!(
        poll(&mut refused, &counter),
        Poll::Ready(Err(ProposeError::NotLeader))
    ));
}

#[test]
fn a_doubt_has_an_end() {
    let (queue, counter) = (queue(1000), Arc::new(Counter(AtomicUsize::new(0))));
    let mut small = queue.propose(transaction(0, 10));
    let Poll::Ready(Some((flight, _))) = poll(&mut Box::pin(queue.gather(25)), &counter) else {
        panic!("one is there")
    };
    queue.doubt(flight, 7, Duration::from_secs(9));
    let mut large = queue.propose(large(1, 2));
    let Poll::Ready(Some((flight, _))) = poll(&mut Box::pin(queue.gather(25)), &counter) else {
        panic!("a chunk is there")
    };
    queue.doubt(flight, 7, Duration::from_secs(10));
    queue.give_up_doubts(Duration::from_secs(9));
    assert!(matches!(
        poll(&mut small, &counter),
        Poll::Ready(Err(ProposeError::Unknown { .. }))
    ));
    assert!(poll(&mut large, &counter).is_pending());
    // It may yet commit: nobody else may have its locks.
    let locks = Arc::new(());
    queue.keep(id(0), Box::new(locks.clone()));
    queue.keep(id(9), Box::new(locks.clone()));
    assert!(Arc::strong_count(&locks) == 2 && queue.holds(id(0)));
    let mut outcomes = Outcomes::default();
    outcomes.insert(id(0), Fate::Committed(Timestamp(5)));
    queue.settle_doubts(7, &outcomes);
    assert!(Arc::strong_count(&locks) == 1 && !queue.holds(id(0)));
    queue.give_up_doubts(Duration::from_secs(10));
    assert!(matches!(
        poll(&mut large, &counter),
        Poll::Ready(Err(ProposeError::Unknown { .. }))
    ));
    assert!(queue.is_empty());
}

#[test]
fn while_the_disk_stalls_everybody_is_answered_and_the_thread_finds_its_flight_given_up() {
    let (queue, counter) = (queue(25), Arc::new(Counter(AtomicUsize::new(0))));
    let mut in_flight = queue.propose(transaction(0, 10));
    let Poll::Ready(Some((flight, _))) = poll(&mut Box::pin(queue.gather(10)), &counter) else {
        panic!("nothing departs")
    };
    let mut waiting = queue.propose(transaction(1, 10));
    let mut long = queue.propose(large(2, 3));
    queue.give_up(1, Duration::from_secs(1));
    let unknown = poll(&mut in_flight, &counter);
    assert!(matches!(unknown, Poll::Ready(Err(ProposeError::Unknown { .. }))));
    for refused in [&mut waiting, &mut long] {
        assert!(matches!(
            poll(refused, &counter),
            Poll::Ready(Err(ProposeError::NotLeader))
        ));
    }
    assert!(
        !queue.answer(flight, &[Ok(Timestamp(1))]),
        "its batch is in the log after all"
    );
    let mut next = queue.propose(transaction(3, 20));
    assert_eq!(sequences(poll(&mut Box::pin(queue.gather(10)), &counter)), [3]);
    answer(&queue, &[Ok(Timestamp(2))]);
    assert!(matches!(poll(&mut next, &counter), Poll::Ready(Ok(Timestamp(2)))));
}

#[test]
fn what_has_begun_when_everybody_is_answered_is_taken_back_and_who_found_no_room_may_enter() {
    let (queue, counter) = (queue(25), Arc::new(Counter(AtomicUsize::new(0))));
    let _begun = queue.propose(large(0, 3));
    assert_eq!(sequences(poll(&mut Box::pin(queue.gather(10)), &counter)), [0]);
    answer(&queue, &[]);
    let mut waiting = queue.propose(transaction(1, 20));
    let mut blocked = queue.propose(transaction(2, 20));
    assert!(poll(&mut blocked, &counter).is_pending());
    let woken = counter.0.load(Ordering::SeqCst);
    queue.give_up(1, Duration::from_secs(1));
    assert_eq!(
        counter.0.load(Ordering::SeqCst),
        woken + 1,
        "who found no room is woken"
    );
    assert!(matches!(
        poll(&mut waiting, &counter),
        Poll::Ready(Err(ProposeError::NotLeader))
    ));
    assert!(poll(&mut blocked, &counter).is_pending());
    // First the chunk that is in the log.
    assert_eq!(sequences(poll(&mut Box::pin(queue.gather(10)), &counter)), [0]);
    answer(&queue, &[]);
    assert_eq!(sequences(poll(&mut Box::pin(queue.gather(10)), &counter)), [2]);
    answer(&queue, &[Ok(Timestamp(1))]);
    assert!(matches!(poll(&mut blocked, &counter), Poll::Ready(Ok(Timestamp(1)))));
}
