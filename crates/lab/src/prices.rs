//! `lab prices import`: a price file out of the lists that the providers publish, without a connection.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::ArgMatches;
use lab_report::Prices;
use lab_report::price::import::{self, Wanted};

pub fn run(matches: &ArgMatches) -> Result<()> {
    match matches.subcommand() {
        Some(("import", matches)) => import(matches),
        _ => unreachable!("clap insists on a subcommand"),
    }
}

fn import(matches: &ArgMatches) -> Result<()> {
    let lists = matches.get_many::<PathBuf>("from").expect("clap insists on a list");
    let into = matches.get_one::<PathBuf>("into").expect("clap insists on a file");
    let several = |name: &str| -> Vec<String> {
        matches
            .get_many::<String>(name)
            .map(|values| values.cloned().collect())
            .unwrap_or_default()
    };
    let before = match std::fs::read_to_string(into) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", into.display())),
    };
    let wanted = Wanted {
        known: Prices::shipped().preferring(Prices::parse(&before, into)?),
        types: several("type"),
        regions: several("region"),
        dated: matches.get_one::<String>("dated").cloned(),
    };
    let lists: Vec<&Path> = lists.map(PathBuf::as_path).collect();
    if lists.iter().any(|list| same_file(list, into)) {
        bail!("{} is both a list and the price file", into.display());
    }
    let imported = import::import(&lists, &wanted)?;
    for note in &imported.notes {
        eprintln!("{note}");
    }
    let count = imported.machines.len();
    let text = import::merged(&before, &imported.machines, into)?;
    // Beside it first: a stop leaves the old file or the new one.
    let beside = into.with_extension("toml.new");
    std::fs::write(&beside, &text).with_context(|| format!("cannot write {}", beside.display()))?;
    std::fs::rename(&beside, into).with_context(|| format!("cannot write {}", into.display()))?;
    println!(
        "{count} {} in {}; name it in a plan: [prices] file = \"{}\"",
        if count == 1 { "price" } else { "prices" },
        into.display(),
        into.display()
    );
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
