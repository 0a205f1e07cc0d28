//! What was found to be wrong. The first finding counts; what follows is often its consequence.

use std::fmt::Display;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::trace::Trace;

/// Which promise was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: &'static str,
    pub what: String,
}

/// Collects violations; cheap to clone.
#[derive(Clone)]
pub struct Report {
    found: Arc<Mutex<Vec<Violation>>>,
    trace: Arc<Trace>,
}

/// More are not kept.
const MOST: usize = 20;

impl Report {
    pub fn new(trace: Arc<Trace>) -> Report {
        Report {
            found: Arc::default(),
            trace,
        }
    }

    pub fn violation(&self, invariant: &'static str, what: impl Display) {
        let what = what.to_string();
        self.trace.note(format_args!("VIOLATION of {invariant}: {what}"));
        let mut found = self.found.lock();
        if found.len() < MOST {
            found.push(Violation { invariant, what });
        }
    }

    pub fn has_any(&self) -> bool {
        !self.found.lock().is_empty()
    }

    pub fn all(&self) -> Vec<Violation> {
        self.found.lock().clone()
    }
}
