//! The ratchet of long files: past 800 lines a file is asking to be two. Those that are longer stand in a list with
//! their length, and may only get shorter.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Problem, Tree};

const LIMIT: usize = 800;
pub const RATCHET: &str = "xtask/long-files.txt";

fn known(tree: &Tree) -> BTreeMap<&str, usize> {
    let lines = tree.get(RATCHET).unwrap_or_default().lines();
    lines
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(n, path)| Some((path, n.parse().ok()?)))
        .collect()
}

fn long(tree: &Tree) -> impl Iterator<Item = (&str, usize)> {
    tree.with_extension("rs")
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LIMIT)
}

pub fn ratchet(tree: &Tree) -> Vec<Problem> {
    let known = known(tree);
    let mut problems = Vec::new();
    for (path, lines) in long(tree) {
        match known.get(path) {
            None => problems.push(Problem::in_file(
                path,
                format!("has {lines} lines, the limit is {LIMIT}: cut it along its concerns into files of one idea each"),
            )),
            Some(allowed) if lines > *allowed => problems.push(Problem::in_file(
                path,
                format!("grew from {allowed} to {lines} lines: a long file may only shrink; put the new part in a file of its own"),
            )),
            Some(allowed) if lines < *allowed => problems.push(Problem::in_file(
                path,
                format!("shrank from {allowed} to {lines} lines: keep the gain with `cargo xtask tidy --fix`"),
            )),
            Some(_) => {}
        }
    }
    for path in known.keys().filter(|path| !long(tree).any(|(long, _)| long == **path)) {
        problems.push(Problem::in_file(
            path,
            format!("is no longer long: `cargo xtask tidy --fix` takes it off {RATCHET}"),
        ));
    }
    problems
}

/// The list with every gain kept: shrunk entries lowered, finished ones gone, nothing raised and nothing added.
pub fn tightened(tree: &Tree) -> String {
    let known = known(tree);
    let mut list = String::new();
    for (path, lines) in long(tree) {
        if let Some(allowed) = known.get(path) {
            writeln!(list, "{} {path}", lines.min(*allowed)).expect("a String takes every write");
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(list: &str, lines: usize) -> Tree {
        Tree::of(&[(RATCHET, list), ("crates/sql/src/big.rs", &"//\n".repeat(lines))])
    }

    #[test]
    fn a_new_long_file_is_refused() {
        assert_eq!(
            ratchet(&tree("", 801))[0].to_string(),
            "crates/sql/src/big.rs: has 801 lines, the limit is 800: cut it along its concerns into files of one idea each"
        );
        assert!(ratchet(&tree("", 800)).is_empty());
    }

    #[test]
    fn a_known_long_file_may_only_shrink() {
        let list = "900 crates/sql/src/big.rs\n";
        assert!(ratchet(&tree(list, 900)).is_empty());
        assert!(
            ratchet(&tree(list, 901))[0]
                .message
                .starts_with("grew from 900 to 901 lines")
        );
        assert!(
            ratchet(&tree(list, 850))[0]
                .message
                .starts_with("shrank from 900 to 850 lines")
        );
        assert!(ratchet(&tree(list, 700))[0].message.starts_with("is no longer long"));
    }

    #[test]
    fn fixing_keeps_gains_and_forgives_nothing() {
        let list = "900 crates/sql/src/big.rs\n";
        assert_eq!(tightened(&tree(list, 850)), "850 crates/sql/src/big.rs\n");
        assert_eq!(tightened(&tree(list, 950)), list);
        assert_eq!(tightened(&tree(list, 10)), "");
        assert_eq!(tightened(&tree("", 950)), "");
    }
}
