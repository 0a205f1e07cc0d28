//! Closing lines: how many tests a suite says it ran.

use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl Count {
    /// Reads `N passed, N failed[, N skipped]` and cargo's `test result: ok. N passed; N failed; N ignored; …`.
    /// Ignored tests are not run by anybody, so they are not counted.
    pub fn of_line(line: &str) -> Option<Self> {
        let cargo = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "));
        let counts = cargo.map_or(line, |(_, counts)| counts);
        let mut count = Self::default();
        let mut named = (false, false);
        for part in counts.split([',', ';']) {
            let (number, name) = part.trim().split_once(' ')?;
            match (number.parse(), name) {
                (Ok(n), "passed") => (count.passed, named.0) = (n, true),
                (Ok(n), "failed") => (count.failed, named.1) = (n, true),
                (Ok(n), "skipped") => count.skipped = n,
                _ if cargo.is_some() => {}
                _ => return None,
            }
        }
        (named == (true, true)).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_read() {
        let count = |passed, failed, skipped| {
            Some(Count {
                passed,
                failed,
                skipped,
            })
        };
        assert_eq!(Count::of_line("12 passed, 0 failed"), count(12, 0, 0));
        assert_eq!(Count::of_line("12 passed, 1 failed, 2 skipped"), count(12, 1, 2));
        assert_eq!(
            Count::of_line(
                "test result: FAILED. 3 passed; 1 failed; 4 ignored; 0 measured; 0 filtered out; finished in 0.01s"
            ),
            count(3, 1, 0)
        );
        assert_eq!(Count::of_line("ok 12 passed, 0 failed tests"), None);
        assert_eq!(Count::of_line("tests/sql/a.test (text): 289 passed, 0 failed"), None);
        assert_eq!(Count::of_line("12 passed"), None);
        assert_eq!(Count::of_line(""), None);
    }
}
