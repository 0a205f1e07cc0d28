//! Who holds a named lock holds it alone: from its being given until it is given back, if it was not lost.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::report::Report;

/// From when to when, and by whom.
type Held = (u64, u64, String);

#[derive(Default)]
pub struct Alone(Mutex<BTreeMap<i64, Vec<Held>>>);

impl Alone {
    pub fn held(&self, lock: i64, since: u64, until: u64, who: &str, report: &Report) {
        let mut all = self.0.lock();
        let held = all.entry(lock).or_default();
        if let Some((_, _, other)) = held.iter().find(|(from, to, _)| *from < until && since < *to) {
            report.violation(
                "alone",
                format_args!("{who} and {other} held the named lock {lock} at once"),
            );
        }
        held.push((since, until, who.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::trace::Trace;

    #[test]
    fn two_holders_at_once_are_found() {
        let report = Report::new(Arc::new(Trace::new(false)));
        let alone = Alone::default();
        alone.held(0, 1, 5, "a", &report);
        alone.held(0, 6, 7, "b", &report);
        alone.held(1, 2, 3, "b", &report);
        assert!(!report.has_any());
        alone.held(0, 4, 6, "c", &report);
        assert_eq!(report.all().len(), 1);
    }
}
