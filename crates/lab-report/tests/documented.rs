//! `docs/lab/results.md` names every field of every file, and `docs/lab/report.md` every function of the formulas.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab");
    std::fs::read_to_string(docs.join(name)).unwrap()
}

/// Words between backticks, and the parts that they are made of.
fn named(page: &str) -> BTreeSet<&str> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')))
        .collect()
}

/// Keys of objects whose keys are fields; names that the user gives (nodes, options, …) are left out.
fn keys(json: &Value, above: &str, found: &mut BTreeSet<String>) {
    const BY_NAME: [&str; 11] = [
        "options",
        "facts",
        "variables",
        "statements",
        "costs",
        "network",
        "disks",
        "processes",
        "allowances",
        "files",
        "round_trips",
    ];
    match json {
        Value::Object(map) => {
            for (key, value) in map {
                let field = !BY_NAME.contains(&above) && above != "round_trip_cpu_us";
                // The costs of a summary are a list, those of a rung go by node.
                if field || value.is_number() && above == "costs" {
                    found.insert(key.clone());
                }
                keys(value, if field { key } else { "" }, found);
            }
        }
        Value::Array(list) => list
            .iter()
            .for_each(|value| keys(value, if value.is_object() { "" } else { above }, found)),
        _ => {}
    }
}

fn series(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    crate::fixture::write(
        &path,
        crate::fixture::Options {
            threads: &[1, 4, 16],
            ..crate::fixture::Options::default()
        },
    );
    crate::fixture::write_availability(&path);
    lab_report::report(&path).unwrap();
    path
}

#[test]
fn every_field_of_every_file_is_documented() {
    let path = series("documented-fields");
    let mut found = BTreeSet::new();
    let mut read = |file: PathBuf, lines: bool| {
        let text = std::fs::read_to_string(&file).unwrap();
        let texts: Vec<&str> = if lines { text.lines().collect() } else { vec![&text] };
        for text in texts {
            keys(&serde_json::from_str(text).unwrap(), "", &mut found);
        }
    };
    for file in ["run.json", "probes.json", "availability.json", "summary.json"] {
        read(path.join(file), false);
    }
    for rung in std::fs::read_dir(path.join("rungs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        read(rung.join("rung.json"), false);
        read(rung.join("seconds.jsonl"), true);
        read(rung.join("samples.jsonl"), true);
    }
    assert!(found.len() > 120, "{found:?}");
    let page = page("results.md");
    let named = named(&page);
    let absent: Vec<&String> = found.iter().filter(|key| !named.contains(key.as_str())).collect();
    assert!(absent.is_empty(), "docs/lab/results.md does not name {absent:?}");
}

#[test]
fn every_function_of_a_formula_is_documented() {
    let path = series("documented-functions");
    let html = std::fs::read_to_string(path.join("report.html")).unwrap();
    let mut functions = BTreeSet::new();
    let formulas = ["data-from=\"", "data-heat=\""]
        .into_iter()
        .flat_map(|attribute| html.split(attribute).skip(1));
    for formula in formulas.map(|rest| rest.split('"').next().unwrap()) {
        for (end, _) in formula.match_indices('(') {
            let start = formula[..end]
                .rfind(|c: char| !c.is_ascii_lowercase())
                .map_or(0, |at| at + 1);
            functions.insert(&formula[start..end]);
        }
    }
    assert!(functions.len() > 15, "{functions:?}");
    let page = page("report.md");
    let named = named(&page);
    let absent: Vec<&&str> = functions.iter().filter(|name| !named.contains(**name)).collect();
    assert!(absent.is_empty(), "docs/lab/report.md does not name {absent:?}");
}
