//! XA transactions: each ends once, as whoever has ended it was told. Their appends are attempts of the history of the lists.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::history::{End, History};
use crate::report::Report;

#[derive(Default)]
pub struct Prepared(Mutex<BTreeMap<String, Known>>);

/// What is known of one.
struct Known {
    attempt: usize,
    ended_by: Option<String>,
}

impl Prepared {
    /// A transaction of that name begins, as an attempt of the history.
    pub fn begin(&self, name: &str, attempt: usize) {
        let known = Known {
            attempt,
            ended_by: None,
        };
        self.0.lock().insert(name.to_owned(), known);
    }

    /// Somebody was told that he has ended it.
    pub fn ended(&self, name: &str, who: &str, end: End, history: &History, report: &Report) {
        let mut all = self.0.lock();
        let Some(known) = all.get_mut(name) else {
            report.violation(
                "prepared",
                format_args!("{who} has ended {name}, which nobody has begun"),
            );
            return;
        };
        if let Some(before) = known.ended_by.replace(who.to_owned()) {
            report.violation(
                "prepared",
                format_args!("{who} has ended {name}, which {before} had ended"),
            );
            return;
        }
        history.end(known.attempt, end);
    }
}
