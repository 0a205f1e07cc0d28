//! An automatic id is given to one row: no two transactions commit rows under the same one, also not one after the other.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::report::Report;

/// Ids of committed rows, and whose they were.
#[derive(Default)]
pub struct Ids {
    given: Mutex<BTreeMap<i64, String>>,
}

impl Ids {
    /// A row under this id was committed.
    pub fn committed(&self, who: &str, id: i64, report: &Report) {
        if let Some(before) = self.given.lock().insert(id, who.to_owned()) {
            report.violation(
                "ids",
                format_args!("{who} was given the automatic id {id}, which {before} had"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::Trace;

    #[test]
    fn an_id_that_was_given_twice_is_found() {
        let report = Report::new(Arc::new(Trace::new(false)));
        let ids = Ids::default();
        ids.committed("a", 1, &report);
        ids.committed("a", 2, &report);
        assert!(!report.has_any());
        ids.committed("b", 1, &report);
        assert_eq!(report.all().len(), 1);
    }
}
