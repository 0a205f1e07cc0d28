//! What clients do: one operation after the other, each with statements of its own.

mod appends;
mod claims;
mod definitions;
mod keys;
mod money;
mod named_locks;
mod queue;
mod tiles;
mod tree;
mod xa;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use env::SeededRandom;

use super::client::{Client, Who};
use super::connections::Connections;
use super::on_fiber;
use super::tables;
use crate::trace;
use crate::workload::Fail;

/// Before a client comes again.
const PAUSE: Duration = Duration::from_millis(5);

type Did = Result<(), Fail>;

#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Append,
    AppendInTransaction,
    ReadLists,
    Transfer,
    Sum,
    Copy,
    Claim,
    Offer,
    Take,
    Tree,
    AllTiles,
    ReadTiles,
    Define,
    UseShape,
    NamedLock,
    AppendByXa,
    EndXa,
    PushNumbers,
    PushTogether,
    ReadPushed,
    OfferByKey,
    TakeByKey,
    Kill,
    Govern,
}

/// With what they weigh where nothing is special.
const USUAL: &[(Operation, u64)] = &[
    (Operation::Append, 20),
    (Operation::AppendInTransaction, 20),
    (Operation::ReadLists, 20),
    (Operation::Transfer, 15),
    (Operation::Sum, 8),
    (Operation::Copy, 4),
    (Operation::Claim, 12),
    (Operation::Offer, 6),
    (Operation::Take, 10),
    (Operation::Tree, 15),
    (Operation::AllTiles, 8),
    (Operation::ReadTiles, 6),
    (Operation::Define, 6),
    (Operation::UseShape, 12),
    (Operation::NamedLock, 3),
    (Operation::AppendByXa, 8),
    (Operation::EndXa, 5),
    (Operation::PushNumbers, 14),
    (Operation::PushTogether, 10),
    (Operation::ReadPushed, 10),
    (Operation::OfferByKey, 4),
    (Operation::TakeByKey, 7),
    (Operation::Kill, 1),
    (Operation::Govern, 2),
];

/// What the clients of a node do more of, and what not at all.
#[derive(Clone)]
pub struct Mix(Vec<(Operation, u64)>);

impl Mix {
    pub fn draw(random: &SeededRandom) -> Mix {
        let mut mix = USUAL.to_vec();
        if random.below(2) == 0 {
            for (_, weight) in &mut mix {
                *weight *= [0, 0, 1, 4][random.below(4) as usize];
            }
        }
        Mix(mix)
    }

    fn operation(&self, random: &SeededRandom) -> Operation {
        let total: u64 = self.0.iter().map(|(_, weight)| weight).sum();
        let mut drawn = random.below(total.max(1));
        for &(operation, weight) in &self.0 {
            match drawn.checked_sub(weight) {
                None => return operation,
                Some(rest) => drawn = rest,
            }
        }
        Operation::Append
    }
}

/// A client of a node, until the bench is over or the node is gone. Where its connection is killed, it comes again.
pub async fn client(who: Who, connections: Arc<Connections>, mix: Mix, only_reads: bool) {
    let mut who = who;
    while !who.bench.has_begun.load(Ordering::Relaxed) {
        tokio::time::sleep(PAUSE).await;
    }
    while !who.bench.is_over.load(Ordering::Relaxed) {
        let handle = connections.enter("root");
        who.seed = trace::hash(who.seed, b"again");
        let (me, mix, known) = (who.clone(), mix.clone(), handle.clone());
        on_fiber(handle.clone(), move |host| match Client::connect(&me, &known, host) {
            Ok(mut client) => client.work(&mix, only_reads),
            Err(error) => {
                let (code, message) = (error.code(), error.message());
                me.bench
                    .report
                    .violation("answers", format_args!("{} cannot connect: {code} {message}", me.name));
            }
        })
        .await;
        connections.leave(handle.id);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Makes the tables.
pub async fn set_up(who: Who, connections: Arc<Connections>) -> bool {
    let handle = connections.enter("root");
    let known = handle.clone();
    on_fiber(handle, move |host| {
        let Ok(mut client) = Client::connect(&who, &known, host) else {
            return false;
        };
        tables::setup().iter().all(|statement| client.run(statement).is_ok())
    })
    .await
}

/// Ready when a change was committed here and is seen here.
pub async fn until_served(who: Who, connections: Arc<Connections>) {
    let is_served = Arc::new(AtomicBool::new(false));
    // Another client may kill it.
    while !is_served.load(Ordering::Relaxed) {
        let handle = connections.enter("root");
        let (who, known, served) = (who.clone(), handle.clone(), is_served.clone());
        on_fiber(handle, move |host| {
            let Ok(mut client) = Client::connect(&who, &known, host) else {
                return served.store(true, Ordering::Relaxed);
            };
            // What is prepared, and nobody ends, is in the way.
            while client.end_xa().is_err()
                || client.append().is_err()
                || client.sum().is_err()
                || client.all_tiles().is_err()
            {
                client.sleep(50);
                if client.handle.is_killed() {
                    return;
                }
            }
            served.store(true, Ordering::Relaxed);
        })
        .await;
    }
}

impl Client<'_> {
    fn work(&mut self, mix: &Mix, only_reads: bool) {
        if self.random.below(3) == 0 {
            drop(self.run("SET snapshot_isolation = OFF"));
        }
        while !self.bench.is_over.load(Ordering::Relaxed) && !self.handle.is_killed() && !self.leaves {
            let operation = match only_reads {
                true => [Operation::Sum, Operation::ReadLists, Operation::ReadTiles][self.random.below(3) as usize],
                false => mix.operation(&self.random),
            };
            let done = match operation {
                Operation::Append => self.append(),
                Operation::AppendInTransaction => self.append_in_transaction(),
                Operation::ReadLists => self.read_lists(),
                Operation::Transfer => self.transfer(),
                Operation::Sum => self.sum(),
                Operation::Copy => self.copy(),
                Operation::Claim => self.claim(),
                Operation::Offer => self.offer(),
                Operation::Take => self.take(),
                Operation::Tree => self.tree(),
                Operation::AllTiles => self.all_tiles(),
                Operation::ReadTiles => self.read_tiles(),
                Operation::Define => self.define(),
                Operation::UseShape => self.use_shape(),
                Operation::NamedLock => self.named_lock(),
                Operation::AppendByXa => self.append_by_xa(),
                Operation::EndXa => self.end_xa(),
                Operation::PushNumbers => self.push_numbers(),
                Operation::PushTogether => self.push_together(),
                Operation::ReadPushed => self.read_pushed(),
                Operation::OfferByKey => self.offer_by_key(),
                Operation::TakeByKey => self.take_by_key(),
                Operation::Kill => self.kill_somebody(),
                Operation::Govern => self.govern(),
            };
            let counted = match &done {
                Ok(()) => &self.bench.committed,
                Err(Fail::No(_)) => &self.bench.failed,
                Err(Fail::Unknown(_)) => &self.bench.unknown,
            };
            counted.fetch_add(1, Ordering::Relaxed);
            // Who was refused does not insist.
            let pause = if done.is_ok() { 20 } else { 60 };
            self.sleep(1 + self.random.below(pause));
        }
    }

    fn number(&self) -> u32 {
        self.bench.number()
    }

    fn one_of(&self, count: i64) -> i64 {
        self.random.below(count as u64) as i64
    }
}
