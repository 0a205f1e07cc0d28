//! Named steps of the code at which a test can make the process panic, fail or die.
//!
//! The code says where: `failpoint::hit("alter.copied")?`. A test says when, as a list of rules:
//!
//! ```text
//!   alter.copied=panic@2          at the second time from now
//!   commit.proposed=kill@1        as by kill -9
//!   ddl.committing=error@1        the step fails with an error
//!   *=panic%50/7                  at every step, about once in 50 times, by the seed 7
//!   lock=wrong%20/7               the step is done wrongly
//! ```
//!
//! `wrong` plants a bug: the code says what, `if failpoints::goes_wrong("lock") { … }`, and a machine that looks for bugs has to find it.
//! Rules come from the variable `ENV_FAILPOINTS` at the start and from [`arm`] later (`SET GLOBAL debug = '…'` in a debug
//! build). A rule with `@` is spent when it has struck. A release build has neither rules nor steps, unless it is built with
//! the feature `faults`.

/// A step that a rule made fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injected(pub &'static str);

impl std::fmt::Display for Injected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "failpoint {}", self.0)
    }
}

impl std::error::Error for Injected {}

#[cfg(not(any(debug_assertions, feature = "faults")))]
#[inline(always)]
pub fn hit(_step: &'static str) -> Result<(), Injected> {
    Ok(())
}

#[cfg(not(any(debug_assertions, feature = "faults")))]
#[inline(always)]
pub fn goes_wrong(_step: &'static str) -> bool {
    false
}

#[cfg(any(debug_assertions, feature = "faults"))]
pub use armed::{arm, goes_wrong, hit};

#[cfg(any(debug_assertions, feature = "faults"))]
mod armed {
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, Ordering};

    use parking_lot::Mutex;

    use super::Injected;
    use crate::SeededRandom;

    const VARIABLE: &str = "ENV_FAILPOINTS";

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Action {
        Panic,
        Error,
        Kill,
        Wrong,
    }

    enum When {
        /// At the n-th time; counted down.
        At(u64),
        /// Once in so many times.
        OneIn(u64, SeededRandom),
    }

    struct Rule {
        /// `None`: every step.
        step: Option<String>,
        action: Action,
        when: When,
    }

    static RULES: Mutex<Vec<Rule>> = Mutex::new(Vec::new());
    static IS_ARMED: AtomicBool = AtomicBool::new(false);
    static FROM_ENVIRONMENT: Once = Once::new();

    /// Replaces the rules; an empty list disarms. An error names the rule that cannot be read.
    pub fn arm(rules: &str) -> Result<(), String> {
        let words = rules.split(',').map(str::trim).filter(|word| !word.is_empty());
        let parsed = words.map(|word| parse(word).ok_or_else(|| word.to_owned()));
        let parsed: Vec<Rule> = parsed.collect::<Result<_, _>>()?;
        // The environment's rules must not come back over these.
        FROM_ENVIRONMENT.call_once(|| {});
        IS_ARMED.store(!parsed.is_empty(), Ordering::Release);
        *RULES.lock() = parsed;
        Ok(())
    }

    fn read_environment() {
        FROM_ENVIRONMENT.call_once(|| {
            if let Ok(rules) = std::env::var(VARIABLE) {
                let parsed: Option<Vec<Rule>> = rules.split(',').map(|word| parse(word.trim())).collect();
                // A misspelt rule would make a test pass for nothing.
                let parsed = parsed.unwrap_or_else(|| panic!("{VARIABLE}={rules}: not a list of rules"));
                IS_ARMED.store(!parsed.is_empty(), Ordering::Release);
                *RULES.lock() = parsed;
            }
        });
    }

    /// A step that may be made to fail; does nothing where no rule is.
    pub fn hit(step: &'static str) -> Result<(), Injected> {
        read_environment();
        match due(step, |action| action != Action::Wrong) {
            None | Some(Action::Wrong) => Ok(()),
            Some(Action::Error) => Err(Injected(step)),
            Some(Action::Panic) => panic!("failpoint {step}"),
            Some(Action::Kill) => {
                let own = rustix::process::getpid();
                // It does not return from this.
                let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
                std::process::abort()
            }
        }
    }

    /// Whether a test wants this step to be done wrongly.
    pub fn goes_wrong(step: &'static str) -> bool {
        read_environment();
        due(step, |action| action == Action::Wrong).is_some()
    }

    /// What a rule has for this step now.
    fn due(step: &'static str, counts: impl Fn(Action) -> bool) -> Option<Action> {
        if !IS_ARMED.load(Ordering::Acquire) || std::thread::panicking() {
            return None;
        }
        let mut due = None;
        RULES.lock().retain_mut(|rule| {
            let is_other = rule.step.as_ref().is_some_and(|named| named != step);
            if due.is_some() || is_other || !counts(rule.action) {
                return true;
            }
            match &mut rule.when {
                When::At(left) => {
                    *left -= 1;
                    due = (*left == 0).then_some(rule.action);
                    *left != 0
                }
                When::OneIn(times, random) => {
                    due = (random.below(*times) == 0).then_some(rule.action);
                    true
                }
            }
        });
        due
    }

    fn parse(word: &str) -> Option<Rule> {
        let (step, rest) = word.split_once('=')?;
        let at = rest.find(['@', '%'])?;
        let action = match &rest[..at] {
            "panic" => Action::Panic,
            "error" => Action::Error,
            "kill" => Action::Kill,
            "wrong" if step != "*" => Action::Wrong,
            _ => return None,
        };
        let number = |text: &str| text.parse().ok().filter(|&number: &u64| number > 0);
        let when = match (rest[at..].strip_prefix('@'), rest[at + 1..].split_once('/')) {
            (Some(count), _) => When::At(number(count)?),
            (None, Some((times, seed))) => When::OneIn(number(times)?, SeededRandom::new(seed.parse().ok()?)),
            (None, None) => return None,
        };
        Some(Rule {
            step: (step != "*").then(|| step.to_owned()),
            action,
            when,
        })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn rules_strike_when_they_say() {
            arm("a=error@2, b=error@1").unwrap();
            assert_eq!(hit("a"), Ok(()));
            assert_eq!(hit("c"), Ok(()));
            assert_eq!(hit("b"), Err(Injected("b")));
            assert_eq!((hit("a"), hit("a")), (Err(Injected("a")), Ok(())));
            arm("*=error%3/1").unwrap();
            let struck = (0..300).filter(|_| hit("x").is_err()).count();
            assert!((50..150).contains(&struck), "{struck}");
            arm("a=panic@1").unwrap();
            assert!(std::panic::catch_unwind(|| hit("a")).is_err());
            for wrong in ["a", "a=panic", "a=panic@0", "a=stop@1", "a=panic%3"] {
                assert_eq!(arm(wrong), Err(wrong.to_owned()));
            }
            arm("a=wrong@2").unwrap();
            assert_eq!((hit("a"), goes_wrong("b")), (Ok(()), false));
            assert_eq!(
                (goes_wrong("a"), goes_wrong("a"), goes_wrong("a")),
                (false, true, false)
            );
            assert!(arm("*=wrong@1").is_err());
            arm("").unwrap();
        }
    }
}
