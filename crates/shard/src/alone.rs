//! The only voter answers a commit where it has synced it.
//!
//! What a majority has on its disks is committed, and here one disk is the majority. The consensus library comes to that by three of its tasks, one
//! after the other: that the log is durable, that the entry is committed, that it is to be applied. Whoever waits for a lone commit waits for
//! all of them. So whoever appends and syncs the entry applies it on the spot and answers, and the library, which goes on as always, finds
//! it applied.
//!
//! That is done only where the library can come to nothing else:
//!
//! * the entry is the batch that this leader has just handed to it, as the leader of the entry's term;
//! * every entry before it has been applied, so the membership known here is the one in force for this entry;
//! * no other voter is in that membership.

use std::io;
use std::sync::Arc;

use env::failpoints;
use openraft::EntryPayload;
use parking_lot::Mutex;

use crate::batch::Batch;
use crate::consensus::{LogId, RaftEntry};
use crate::machine::Machine;
use crate::queue::{Flight, Queue};

/// The batch that the leader has handed to the consensus library, until it is appended.
#[derive(Default)]
pub(crate) struct Handed(Mutex<Option<(Flight, Batch)>>);

impl Handed {
    pub fn put(&self, flight: Flight, batch: &Batch) {
        *self.0.lock() = Some((flight, batch.clone()));
    }

    fn take(&self, batch: &Batch) -> Option<Flight> {
        let handed = &mut *self.0.lock();
        let is_it = |(_, handed): &mut (Flight, Batch)| Arc::ptr_eq(handed.bytes(), batch.bytes());
        handed.take_if(is_it).map(|(flight, _)| flight)
    }
}

/// A batch of this leader that is being appended.
pub(crate) struct Own {
    flight: Flight,
    log_id: LogId,
    batch: Batch,
}

pub(crate) struct Alone {
    node_id: u64,
    handed: Arc<Handed>,
    queue: Arc<Queue>,
    machine: Machine,
}

impl Alone {
    pub fn new(node_id: u64, handed: Arc<Handed>, queue: Arc<Queue>, machine: Machine) -> Alone {
        Alone {
            node_id,
            handed,
            queue,
            machine,
        }
    }

    /// What is appended, if it is nothing but the batch that the leader has handed over.
    pub fn own(&self, entries: &[RaftEntry]) -> Option<Own> {
        let [entry] = entries else { return None };
        let EntryPayload::Normal(batch) = &entry.payload else {
            return None;
        };
        self.handed.take(batch).map(|flight| Own {
            flight,
            log_id: entry.log_id,
            batch: batch.clone(),
        })
    }

    /// The batch is as durable as it has to be. An error stops the replica.
    pub fn conclude(&self, own: Own) -> io::Result<()> {
        let Own { flight, log_id, batch } = own;
        if let Some(applied) = self.machine.apply_alone(self.node_id, log_id, batch)? {
            let _ = failpoints::hit("commit.applied");
            self.queue.answer(flight, &applied.verdicts);
        }
        Ok(())
    }
}
