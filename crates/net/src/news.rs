//! What is worth a line in the log: attempts go on all the time, and each would say the same.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// Subjects that are remembered; at one more all are forgotten.
const SUBJECTS: usize = 256;
/// Of one subject. What changes all the time is no news.
const BETWEEN: Duration = Duration::from_secs(1);

/// What was logged last, by subject.
#[derive(Debug, Default)]
pub struct News(HashMap<String, (String, Instant)>);

impl News {
    /// Whether something else, or nothing, was logged about `subject` before.
    pub fn is_news(&mut self, subject: &str, what: &str, now: Instant) -> bool {
        let is_known = |(before, at): &(String, Instant)| before == what || now - *at < BETWEEN;
        if self.0.get(subject).is_some_and(is_known) {
            return false;
        }
        if self.0.len() >= SUBJECTS {
            self.0.clear();
        }
        self.0.insert(subject.to_owned(), (what.to_owned(), now));
        true
    }

    /// Whether something was logged about `subject`. It is forgotten.
    pub fn is_over(&mut self, subject: &str) -> bool {
        self.0.remove(subject).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_news_once() {
        let (mut news, now) = (News::default(), Instant::now());
        let later = now + BETWEEN;
        assert!(news.is_news("peer 2", "refused", now));
        assert!(!news.is_news("peer 2", "refused", later));
        assert!(news.is_news("peer 3", "refused", now));
        assert!(!news.is_news("peer 2", "late", now), "too soon after the last one");
        assert!(news.is_news("peer 2", "late", later));
        assert!(news.is_over("peer 2"));
        assert!(!news.is_over("peer 2"));
        assert!(news.is_news("peer 2", "late", later));
    }

    #[test]
    fn many_subjects_are_bounded() {
        let (mut news, now) = (News::default(), Instant::now());
        for subject in 0..10 * SUBJECTS {
            news.is_news(&subject.to_string(), "x", now);
        }
        assert!(news.0.len() <= SUBJECTS);
    }
}
