//! What every crate of the workspace owes: its place in the layers, a README, and a story at the top of each file.

use toml::Table;

use super::{Problem, Tree};

/// The layers, lowest first: a crate depends on lower layers only. `docs/` and every crate's README speak of these.
const LAYERS: &[&[&str]] = &[
    &["governor"],
    &["types", "env", "fiber", "lab-results", "http-wire", "console"],
    &["store", "journal", "parser", "mysql-wire", "redis-wire", "lua"],
    &["shard", "net", "mysql-client", "lab-driver", "lab-host", "lab-report"],
    &["catalog", "transaction", "sql-api", "lab"],
    &["sql-expr"],
    &["sql-plan"],
    &["sql-exec"],
    &["sql"],
    &["keyspace", "rest"],
    &["front"],
    &["front-mysql", "front-redis", "front-http"],
    &["latsdb"],
    &[
        "sim",
        "sqltest",
        "sqlgen",
        "schedules",
        "histories",
        "fuzz",
        "crashtest",
    ],
];

fn layer_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn is_lab(name: &str) -> bool {
    name == "lab" || name.starts_with("lab-")
}

/// No crate depends on a sibling or on a layer above it, in tests neither.
pub fn layers(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, manifest) in tree.crates() {
        let path = format!("crates/{name}/Cargo.toml");
        let Some(layer) = layer_of(name) else {
            problems.push(Problem::in_file(
                &path,
                format!("crate `{name}` has no layer: give it one in LAYERS of xtask/src/tidy/crates.rs"),
            ));
            continue;
        };
        let manifest = match manifest.parse::<Table>() {
            Ok(manifest) => manifest,
            Err(error) => {
                problems.push(Problem::in_file(&path, format!("not TOML: {error}")));
                continue;
            }
        };
        for dependency in dependencies_of(&manifest) {
            if is_lab(name) && layer_of(&dependency).is_some() && !is_lab(&dependency) && dependency != "mysql-wire" {
                problems.push(Problem::in_file(
                    &path,
                    format!(
                        "the lab measures any database from outside: `{name}` may not depend on `{dependency}`; of the \
                         database's crates only `mysql-wire` is shared"
                    ),
                ));
            }
            match layer_of(&dependency) {
                Some(other) if other >= layer => problems.push(Problem::in_file(
                    &path,
                    format!(
                        "`{name}` (layer {layer}) may not depend on `{dependency}` (layer {other}): let `{name}` declare the \
                         small trait it needs and a crate above both implement it, or move what they share to a lower layer"
                    ),
                )),
                _ => {}
            }
        }
    }
    problems
}

fn dependencies_of(manifest: &Table) -> Vec<String> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|section| manifest.get(*section)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// Each crate's README says what the crate is for and what it must never know.
pub fn readmes(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, _) in tree.crates() {
        let path = format!("crates/{name}/README.md");
        match tree.get(&path) {
            None => problems.push(Problem::in_file(
                &path,
                "is missing: purpose, what the crate may depend on, what it must never know, where to start reading",
            )),
            Some(text) if !text.to_lowercase().contains("never") => {
                problems.push(Problem::in_file(&path, "does not say what the crate must never know"));
            }
            Some(_) => {}
        }
    }
    problems
}

/// A crate uses of the workspace only what its README's "May depend on" names.
pub fn declared_dependencies(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, manifest) in tree.crates() {
        let path = format!("crates/{name}/README.md");
        let (Some(readme), Ok(manifest)) = (tree.get(&path), manifest.parse::<Table>()) else {
            continue; // said by the other checks
        };
        let allowed = may_depend_on(readme);
        if allowed.contains("every crate") {
            continue;
        }
        let used = manifest.get("dependencies").and_then(toml::Value::as_table);
        for dependency in used.into_iter().flat_map(Table::keys) {
            if layer_of(dependency).is_some() && !allowed.contains(&format!("`{dependency}`")) {
                problems.push(Problem::in_file(
                    &path,
                    format!(
                        "`{name}` depends on `{dependency}`, which \"May depend on\" does not name: take the dependency out, or \
                         decide that it belongs there and name it"
                    ),
                ));
            }
        }
    }
    problems
}

/// The paragraph of a README from "May depend on" to "Must never know".
fn may_depend_on(readme: &str) -> &str {
    let start = readme.find("ay depend on").unwrap_or(readme.len());
    let end = readme[start..]
        .find("ust never know")
        .map_or(readme.len(), |length| start + length);
    &readme[start..end]
}

/// Where a crate names its test binaries by itself (`autotests = false`), every file of `tests/` is a part of one.
pub fn tests_are_named(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, manifest) in tree.crates() {
        if !manifest.contains("autotests = false") {
            continue;
        }
        let folder = format!("crates/{name}/tests/");
        let main = tree.get(&format!("{folder}main.rs")).unwrap_or_default();
        let files = tree
            .paths()
            .filter_map(|path| path.strip_prefix(&folder)?.strip_suffix(".rs"));
        for test in files.filter(|test| !test.contains('/') && *test != "main") {
            if !main.contains(&format!("mod {test};")) && !manifest.contains(&format!("tests/{test}.rs")) {
                problems.push(Problem::in_file(
                    &format!("{folder}{test}.rs"),
                    format!("is run by nobody: add `mod {test};` to {folder}main.rs, the crate's one test binary"),
                ));
            }
        }
    }
    problems
}

/// A module opens with its story; a module of tests has none but its names.
pub fn stories(tree: &Tree) -> Vec<Problem> {
    tree.with_extension("rs")
        .filter(|(path, _)| path.contains("src/") && !path.ends_with("/tests.rs"))
        .filter(|(_, text)| !text.trim_start().starts_with("//!") && !text.trim().is_empty())
        .map(|(path, _)| {
            Problem::in_file(
                path,
                "opens without its story: begin with `//!`, the problem and the idea",
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_upwards_is_named_with_its_way_out() {
        let tree = Tree::of(&[
            (
                "crates/store/Cargo.toml",
                "[dependencies]\ntypes.workspace = true\nserde = '1'\n",
            ),
            (
                "crates/types/Cargo.toml",
                "[dev-dependencies]\nstore = { path = '../store' }\n",
            ),
        ]);
        assert_eq!(
            messages(&layers(&tree)),
            [
                "crates/types/Cargo.toml: `types` (layer 1) may not depend on `store` (layer 2): let `types` declare the small \
              trait it needs and a crate above both implement it, or move what they share to a lower layer"
            ]
        );
    }

    #[test]
    fn a_dependency_that_the_readme_does_not_name_is_told() {
        let tree = Tree::of(&[
            (
                "crates/journal/Cargo.toml",
                "[dependencies]\nenv.workspace = true\nserde = '1'\n",
            ),
            (
                "crates/journal/README.md",
                "* May depend on: `types`.\n* Must never know: `env`.",
            ),
        ]);
        assert_eq!(declared_dependencies(&tree).len(), 1);
    }

    #[test]
    fn a_test_file_outside_of_the_one_binary_is_told() {
        let tree = Tree::of(&[
            (
                "crates/store/Cargo.toml",
                "[package]\nautotests = false\n[[test]]\npath = 'tests/alone.rs'\n",
            ),
            ("crates/store/tests/main.rs", "mod model;\n"),
            ("crates/store/tests/model.rs", ""),
            ("crates/store/tests/alone.rs", ""),
            ("crates/store/tests/lost.rs", ""),
        ]);
        let problems = messages(&tests_are_named(&tree));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("crates/store/tests/lost.rs: is run by nobody"));
    }

    #[test]
    fn siblings_do_not_know_each_other() {
        let tree = Tree::of(&[(
            "crates/front-http/Cargo.toml",
            "[dependencies]\nfront-mysql.workspace = true\n",
        )]);
        assert_eq!(layers(&tree).len(), 1);
    }

    #[test]
    fn the_lab_knows_no_database() {
        let tree = Tree::of(&[(
            "crates/lab-driver/Cargo.toml",
            "[dependencies]\nmysql-wire.workspace = true\nlab-results.workspace = true\ntypes.workspace = true\n",
        )]);
        let found = messages(&layers(&tree));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("may not depend on `types`"), "{found:?}");
    }

    #[test]
    fn a_new_crate_needs_a_layer() {
        let tree = Tree::of(&[("crates/extra/Cargo.toml", "")]);
        assert_eq!(
            messages(&layers(&tree)),
            ["crates/extra/Cargo.toml: crate `extra` has no layer: give it one in LAYERS of xtask/src/tidy/crates.rs"]
        );
    }

    #[test]
    fn a_readme_says_what_the_crate_must_never_know() {
        let tree = Tree::of(&[
            ("crates/env/Cargo.toml", ""),
            ("crates/env/README.md", "The only door to clock and disk."),
            ("crates/types/Cargo.toml", ""),
        ]);
        assert_eq!(
            messages(&readmes(&tree)),
            [
                "crates/env/README.md: does not say what the crate must never know",
                "crates/types/README.md: is missing: purpose, what the crate may depend on, what it must never know, where \
                 to start reading"
            ]
        );
    }

    #[test]
    fn a_module_opens_with_its_story() {
        let tree = Tree::of(&[
            ("crates/env/src/a.rs", "use std::fs;\n"),
            ("crates/env/src/b.rs", "//! Why.\n"),
        ]);
        assert_eq!(
            messages(&stories(&tree)),
            ["crates/env/src/a.rs: opens without its story: begin with `//!`, the problem and the idea"]
        );
    }
}
