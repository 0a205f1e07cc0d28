//! Each operation of a client ends: with an answer, or with an error that says what is known.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::report::Report;

/// Milliseconds within which an operation ends, however the cluster is.
const LONGEST: u64 = 25_000;

/// Operations under way.
#[derive(Default)]
pub struct Ends {
    open: Mutex<BTreeMap<u64, Open>>,
}

struct Open {
    node: u32,
    begun: u64,
    what: &'static str,
}

impl Ends {
    pub fn begin(&self, id: u64, node: u32, what: &'static str, now: u64) {
        let begun = now;
        self.open.lock().insert(id, Open { node, begun, what });
    }

    pub fn end(&self, id: u64) {
        self.open.lock().remove(&id);
    }

    /// The node's clients died with it.
    pub fn abandon(&self, node: u32) {
        self.open.lock().retain(|_, open| open.node != node);
    }

    /// The node stood still for so many milliseconds, its clients too.
    pub fn excuse(&self, node: u32, milliseconds: u64) {
        let mut open = self.open.lock();
        open.values_mut()
            .filter(|open| open.node == node)
            .for_each(|open| open.begun += milliseconds);
    }

    pub fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    pub fn check(&self, now: u64, report: &Report) {
        self.open.lock().retain(|_, open| {
            let is_late = now > open.begun + LONGEST;
            if is_late {
                let (what, node, begun) = (open.what, open.node, open.begun);
                report.violation(
                    "ends",
                    format_args!("{what} on node {node}, begun at {begun}, has not ended"),
                );
            }
            !is_late
        });
    }
}
