//! The text of the repository: one licence, no leftovers, no broken links, nothing that only makes sense on the
//! machine where it was written.

use super::{Problem, Tree};

/// One licence for the whole repository, in full.
pub fn licence_file(tree: &Tree) -> Vec<Problem> {
    let whole = tree.get("LICENSE").is_some_and(|text| {
        text.contains("Apache License")
            && text.contains("Version 2.0, January 2004")
            && text.contains("END OF TERMS AND CONDITIONS")
    });
    let mut problems = Vec::new();
    if !whole {
        problems.push(Problem::in_file(
            "LICENSE",
            "must hold the full text of the Apache License 2.0",
        ));
    }
    for path in tree.paths().filter(|path| {
        let file = path.rsplit('/').next().unwrap_or(path).to_uppercase();
        *path != "LICENSE"
            && (file.starts_with("LICENSE") || file.starts_with("LICENCE") || file.starts_with("COPYING"))
    }) {
        problems.push(Problem::in_file(
            path,
            "is a second licence: the repository has one, LICENSE",
        ));
    }
    problems
}

/// What stands for "not finished" or "only here", with the reason it may not land. Written so that this file itself is clean.
const LEFTOVERS: &[(&str, &str)] = &[
    (concat!("TO", "DO"), "finish it, or say in COMPAT.md that it is missing"),
    (concat!("FIX", "ME"), "fix it"),
    (concat!("XX", "X:"), "finish it"),
    (
        concat!("/ho", "me/"),
        "a path of one machine: make it relative, or take it from the environment",
    ),
    (
        concat!("/ro", "ot/"),
        "a path of one machine: make it relative, or take it from the environment",
    ),
    (
        concat!("/Us", "ers/"),
        "a path of one machine: make it relative, or take it from the environment",
    ),
    (
        concat!("/wo", "rk/"),
        "a path of one machine: make it relative, or take it from the environment",
    ),
    (
        concat!("registry.", "npmjs"),
        "a registry's address: the package manager knows it",
    ),
    (
        concat!("proxy.", "golang"),
        "a registry's address: the package manager knows it",
    ),
    (
        concat!("repo.", "maven"),
        "a registry's address: the package manager knows it",
    ),
    (
        concat!("py", "pi.org"),
        "a registry's address: the package manager knows it",
    ),
];

fn is_generated(path: &str) -> bool {
    path.ends_with("Cargo.lock") || path.ends_with("package-lock.json") || path.ends_with("go.sum") || path == "LICENSE"
}

pub fn leftovers(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.iter().filter(|(path, _)| !is_generated(path)) {
        for (number, line) in text.lines().enumerate() {
            for (word, reason) in LEFTOVERS.iter().filter(|(word, _)| contains_word(line, word)) {
                problems.push(Problem::at_line(path, number + 1, format!("`{word}`: {reason}")));
            }
            if let Some(reference) = issue_reference(path, line) {
                problems.push(Problem::at_line(
                    path,
                    number + 1,
                    format!("`{reference}` points into a tracker: say the reason itself"),
                ));
            }
        }
    }
    problems
}

fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let part_of_another = word.starts_with(char::is_alphabetic) && joins(before)
            || word.ends_with(char::is_alphabetic) && joins(after);
        !part_of_another
    })
}

/// `#123` in prose: in a document, or behind `//` in Rust.
fn issue_reference<'a>(path: &str, line: &'a str) -> Option<&'a str> {
    let prose = match path.rsplit_once('.') {
        Some((_, "md")) => line,
        Some((_, "rs")) => &line[line.find("//")?..],
        _ => return None,
    };
    prose.match_indices('#').find_map(|(at, _)| {
        let digits = prose[at + 1..]
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(prose.len() - at - 1);
        let before = prose[..at].chars().next_back();
        let after = prose[at + 1 + digits..].chars().next();
        let alone = !before.is_some_and(|c| c.is_alphanumeric() || "&/'\"`#".contains(c))
            && !after.is_some_and(|c| c.is_alphanumeric() || c == '`');
        (digits > 0 && alone).then(|| &prose[at..at + 1 + digits])
    })
}

/// No line ends in a space and every file ends with one newline. Test scripts, recorded answers and patches need the spaces they have.
pub fn whitespace(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.iter().filter(|(path, _)| {
        let keeps_spaces = [".test", ".result", ".txt", ".patch"];
        !is_generated(path) && !keeps_spaces.iter().any(|end| path.ends_with(end))
    }) {
        for (number, line) in text.lines().enumerate() {
            if line.ends_with([' ', '\t']) && !path.ends_with(".rs") {
                problems.push(Problem::at_line(path, number + 1, "ends in white space"));
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            problems.push(Problem::in_file(path, "does not end with a newline"));
        }
    }
    problems
}

/// Every relative link of a document leads to a file of the repository.
pub fn links(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree.with_extension("md") {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in text.lines().enumerate() {
            for target in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                let file = target.split('#').next().unwrap_or_default();
                if file.is_empty() || file.contains("://") || file.contains(' ') {
                    continue;
                }
                if !tree.contains(&resolved(folder, file)) {
                    problems.push(Problem::at_line(
                        path,
                        number + 1,
                        format!("link to `{file}`, which does not exist"),
                    ));
                }
            }
        }
    }
    problems
}

fn resolved(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_licence_is_whole_and_alone() {
        let tree = Tree::of(&[("LICENSE", "Apache"), ("crates/env/LICENSE-MIT", "")]);
        assert_eq!(
            messages(&licence_file(&tree)),
            [
                "LICENSE: must hold the full text of the Apache License 2.0",
                "crates/env/LICENSE-MIT: is a second licence: the repository has one, LICENSE"
            ]
        );
    }

    #[test]
    fn leftovers_are_found_as_words() {
        let unfinished = concat!("// TO", "DO: later\nlet mas", "TODON = 1;\n");
        let tree = Tree::of(&[("a.rs", unfinished), ("b.py", concat!("open('/ho", "me/me/x')\n"))]);
        assert_eq!(
            messages(&leftovers(&tree)),
            [
                concat!("a.rs:1: `TO", "DO`: finish it, or say in COMPAT.md that it is missing"),
                concat!(
                    "b.py:1: `/ho",
                    "me/`: a path of one machine: make it relative, or take it from the environment"
                )
            ]
        );
    }

    #[test]
    fn a_tracker_reference_is_found_in_prose_only() {
        let hash = "#";
        assert_eq!(issue_reference("a.md", &format!("see {hash}12.")), Some("#12"));
        assert_eq!(
            issue_reference("a.rs", &format!("let x = 1; // see {hash}12")),
            Some("#12")
        );
        assert_eq!(issue_reference("a.rs", "let x = \"#12\";"), None);
        assert_eq!(issue_reference("a.rs", "// a colour: `#12`"), None);
        assert_eq!(issue_reference("a.md", "## 12 figures"), None);
        assert_eq!(issue_reference("a.md", "[here](b.md#12-figures)"), None);
        assert_eq!(issue_reference("a.test", "#12"), None);
    }

    #[test]
    fn white_space_at_the_end_is_found() {
        let tree = Tree::of(&[("a.md", "one \ntwo"), ("b.test", "select 1 \n")]);
        assert_eq!(
            messages(&whitespace(&tree)),
            ["a.md:1: ends in white space", "a.md: does not end with a newline"]
        );
    }

    #[test]
    fn links_lead_somewhere() {
        let tree = Tree::of(&[
            (
                "docs/a.md",
                "[b](b.md), [up](../README.md#top), [gone](c.md), [web](https://example.org), [dir](decisions)\n",
            ),
            ("docs/b.md", ""),
            ("docs/decisions/1.md", ""),
            ("README.md", ""),
        ]);
        assert_eq!(
            messages(&links(&tree)),
            ["docs/a.md:1: link to `c.md`, which does not exist"]
        );
    }
}
