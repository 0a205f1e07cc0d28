//! External dependencies: each chosen once (in the workspace's manifest), explained once (in
//! `docs/dependencies.md`), and under a licence that an Apache-2.0 work may link.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

use super::{Problem, Tree};

const EXPLANATIONS: &str = "docs/dependencies.md";

fn workspace_dependencies(tree: &Tree) -> Option<Table> {
    let manifest = tree.get("Cargo.toml")?.parse::<Table>().ok()?;
    manifest.get("workspace")?.get("dependencies")?.as_table().cloned()
}

fn is_external(value: &Value) -> bool {
    value.get("path").is_none()
}

/// A crate takes versions and sources from the workspace, so that there is one of each.
pub fn declared_once(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    let manifests = tree.iter().filter(|(path, _)| {
        path.ends_with("/Cargo.toml") && (path.starts_with("crates/") || path.starts_with("xtask/"))
    });
    for (path, text) in manifests {
        let Ok(manifest) = text.parse::<Table>() else { continue }; // the layer check says so
        if manifest.contains_key("workspace") {
            continue; // a workspace of its own: a fuzz target
        }
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(Value::as_table) else {
                continue;
            };
            for (name, value) in table {
                if value.get("workspace").and_then(Value::as_bool) != Some(true) {
                    problems.push(Problem::in_file(
                        path,
                        format!("`{name}` has a version of its own: declare it in [workspace.dependencies], use `{name}.workspace = true`"),
                    ));
                }
            }
        }
    }
    problems
}

/// Each external dependency has one line with its reason, and no line outlives its dependency.
pub fn explained(tree: &Tree) -> Vec<Problem> {
    let Some(dependencies) = workspace_dependencies(tree) else {
        return vec![Problem::in_file("Cargo.toml", "has no [workspace.dependencies]")];
    };
    let text = tree.get(EXPLANATIONS).unwrap_or_default();
    let explained: Vec<&str> = text
        .lines()
        .filter_map(|line| {
            line.strip_prefix("| `")
                .or_else(|| line.strip_prefix("* `"))
                .or_else(|| line.strip_prefix("- `"))
        })
        .filter_map(|line| line.split('`').next())
        .collect();
    let mut problems = Vec::new();
    for (name, value) in &dependencies {
        if is_external(value) && !explained.contains(&name.as_str()) {
            problems.push(Problem::in_file(
                EXPLANATIONS,
                format!("does not explain `{name}`: one line, what it does for us and why not our own"),
            ));
        }
    }
    for name in explained {
        if !dependencies.contains_key(name) {
            problems.push(Problem::in_file(
                EXPLANATIONS,
                format!("explains `{name}`, which is not a dependency (any more)"),
            ));
        }
    }
    problems
}

/// A package of the dependency graph and its SPDX expression, if it states one.
#[derive(Debug, Clone)]
pub struct Package {
    name: String,
    licence: Option<String>,
}

/// Every package that the lock file resolves to, dependencies of dependencies included.
pub fn resolved_packages(root: &Path) -> Result<Vec<Package>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    ensure!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists packages")?;
    Ok(packages
        .iter()
        .map(|package| Package {
            name: package["name"].as_str().unwrap_or_default().to_owned(),
            licence: package["license"].as_str().map(str::to_owned),
        })
        .collect())
}

/// Permissive licences: each may be linked into an Apache-2.0 binary with nothing but its notice.
const PERMITTED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "MIT",
    "MIT-0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "OpenSSL",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
    "0BSD",
];

pub fn licences(packages: &[Package]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for package in packages {
        let message = match &package.licence {
            None => format!("`{}` states no licence: replace it, or ask its authors", package.name),
            Some(expression) if !permitted(expression) => {
                format!(
                    "`{}` is under {expression}, which is not among the permitted licences: replace it",
                    package.name
                )
            }
            Some(_) => continue,
        };
        problems.push(Problem::in_file("Cargo.lock", message));
    }
    problems
}

/// Whether an SPDX expression can be satisfied by permitted licences alone: one side of an OR, both of an AND.
fn permitted(expression: &str) -> bool {
    let expression = expression.trim();
    let inner = expression.strip_prefix('(').and_then(|e| e.strip_suffix(')'));
    if let Some(inner) = inner.filter(|inner| is_balanced(inner)) {
        return permitted(inner);
    }
    if let Some((left, right)) =
        split_outside_brackets(expression, " OR ").or_else(|| split_outside_brackets(expression, "/"))
    {
        return permitted(left) || permitted(right);
    }
    if let Some((left, right)) = split_outside_brackets(expression, " AND ") {
        return permitted(left) && permitted(right);
    }
    PERMITTED.contains(&expression)
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().all(|c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth >= 0
    }) && depth == 0
}

fn split_outside_brackets<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    text.match_indices(separator)
        .map(|(at, _)| (&text[..at], &text[at + separator.len()..]))
        .find(|(left, _)| is_balanced(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = "[workspace.dependencies]\ntypes = { path = 'crates/types' }\ncrc32fast = '1.5'\n";

    #[test]
    fn a_dependency_without_a_reason_is_named() {
        let tree = Tree::of(&[("Cargo.toml", WORKSPACE), (EXPLANATIONS, "* `gone`: was useful\n")]);
        let messages: Vec<String> = explained(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "docs/dependencies.md: does not explain `crc32fast`: one line, what it does for us and why not our own",
                "docs/dependencies.md: explains `gone`, which is not a dependency (any more)"
            ]
        );
    }

    #[test]
    fn versions_are_chosen_in_the_workspace() {
        let tree = Tree::of(&[(
            "crates/env/Cargo.toml",
            "[dependencies]\nlibc = '0.2'\nserde.workspace = true\n",
        )]);
        assert_eq!(
            declared_once(&tree)[0].to_string(),
            "crates/env/Cargo.toml: `libc` has a version of its own: declare it in [workspace.dependencies], use \
             `libc.workspace = true`"
        );
    }

    #[test]
    fn licence_expressions_are_read() {
        assert!(permitted("MIT OR Apache-2.0"));
        assert!(permitted("MIT/Apache-2.0"));
        assert!(permitted("GPL-3.0 OR MIT"));
        assert!(permitted("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(permitted("ISC AND (Apache-2.0 OR ISC) AND OpenSSL"));
        assert!(!permitted("GPL-3.0-only"));
        assert!(!permitted("MIT AND GPL-3.0-only"));
        assert!(!permitted("(MIT OR Apache-2.0) AND MPL-2.0"));
    }

    #[test]
    fn a_foreign_licence_is_named() {
        let package = |name: &str, licence: Option<&str>| Package {
            name: name.into(),
            licence: licence.map(str::to_owned),
        };
        let problems = licences(&[
            package("a", Some("AGPL-3.0")),
            package("b", None),
            package("c", Some("MIT")),
        ]);
        let messages: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(
            messages,
            [
                "Cargo.lock: `a` is under AGPL-3.0, which is not among the permitted licences: replace it",
                "Cargo.lock: `b` states no licence: replace it, or ask its authors"
            ]
        );
    }
}
