//! Tests of crates that fail beside others run once more, alone.
//!
//! Some look at time: how long a statement keeps a thread, how soon a leader is elected. On two cores that build and test at once these can
//! fail for no fault of the code. A test that passes alone counts as passed, and is named at the end, so that nobody overlooks one that
//! does so often. Where many fail, none is run again.

use std::path::Path;
use std::process::Command;

/// More than these are no accident.
const AT_MOST: usize = 3;

/// The failed tests that the output of `cargo test` names.
pub fn failed_tests(output: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_list = false;
    for line in output.lines() {
        match line.strip_prefix("    ") {
            _ if line == "failures:" => is_list = true,
            Some(name) if is_list && !name.contains(' ') => names.push(name.to_owned()),
            _ if line.is_empty() => {}
            _ => is_list = false,
        }
    }
    names.sort();
    names.dedup();
    names
}

/// The command that runs them alone, if they are few.
pub fn command(names: &[String], root: &Path) -> Option<Command> {
    if names.is_empty() || names.len() > AT_MOST {
        return None;
    }
    let mut command = Command::new(env!("CARGO"));
    command
        .args([
            "test",
            "--workspace",
            "--quiet",
            "--no-fail-fast",
            "--",
            "--exact",
            "--test-threads=1",
        ])
        .args(names)
        .current_dir(root);
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_read_from_the_closing_list() {
        let output = "running 3 tests\n..F\nfailures:\n\n---- a::b stdout ----\n    not a name\nthread panicked\n\n\nfailures:\n    a::b\n    \
                      c\n\ntest result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(failed_tests(output), ["a::b", "c"]);
        assert!(failed_tests("test result: ok. 3 passed; 0 failed\n").is_empty());
    }
}
