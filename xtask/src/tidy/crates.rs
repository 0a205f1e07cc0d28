//! What every crate of the workspace owes: its place in the layers, a README, and a story at the top of each file.

use toml::Table;

use super::{Problem, Tree};

/// The layers, lowest first: a crate depends on lower layers only. `docs/` and every crate's README speak of these.
const LAYERS: &[&[&str]] = &[
    &["governor"],
    &["types", "env", "lab-results"],
    &["store", "journal", "parser", "mysql-wire", "redis-wire"],
    &["shard", "mysql-client", "lab-driver", "lab-host", "lab-report"],
    &["catalog", "transaction", "lab"],
    &["sql"],
    &["front-mysql", "front-redis", "front-http"],
    &["latsdb"],
    &["sim", "sqltest", "crashtest"],
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
                "crates/types/Cargo.toml: `types` (layer 0) may not depend on `store` (layer 1): let `types` declare the small \
              trait it needs and a crate above both implement it, or move what they share to a lower layer"
            ]
        );
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
