//! `cargo xtask tidy`: the rules of the house that a program can hold.
//!
//! Each check is a function from the [`Tree`] (every file of the checkout, as text) to [`Problem`]s, so that its
//! messages are tested on small trees made of strings. A message says what is wrong, where, and how to mend it.

mod crates;
mod dependencies;
mod length;
mod text;
mod tree;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

pub use tree::Tree;

#[derive(clap::Args)]
pub struct Options {
    /// Rewrite what can be repaired mechanically (the ratchet of long files)
    #[arg(long)]
    fix: bool,
}

/// One broken rule: where, what, and the way out.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    pub path: String,
    pub line: Option<usize>,
    pub message: String,
}

impl Problem {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    fn at_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: Some(line),
            message: message.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Every check that looks at text alone, in the order in which a reader would want to hear of them.
const CHECKS: &[fn(&Tree) -> Vec<Problem>] = &[
    crates::layers,
    crates::readmes,
    crates::declared_dependencies,
    crates::tests_are_named,
    crates::stories,
    length::ratchet,
    dependencies::declared_once,
    dependencies::explained,
    text::licence_file,
    text::leftovers,
    text::whitespace,
    text::links,
];

pub fn run(options: &Options) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lives in the workspace");
    let tree = Tree::of_checkout(root)?;
    if options.fix {
        std::fs::write(root.join(length::RATCHET), length::tightened(&tree))?;
        return Ok(());
    }
    let mut problems: Vec<Problem> = CHECKS.iter().flat_map(|check| check(&tree)).collect();
    problems.extend(dependencies::licences(&dependencies::resolved_packages(root)?));
    for problem in &problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        println!("tidy: {} files in order", tree.paths().count());
        return Ok(());
    }
    bail!("tidy: {} problems", problems.len())
}
