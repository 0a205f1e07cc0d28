//! Comparisons: alike series are compared with what the repeats allow, unlike ones are refused with the fields.

use std::path::{Path, PathBuf};

use crate::fixture::Options;
use lab_report::{ReportError, Unlike, compare};

fn series(name: &'static str, options: Options) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compare").join(name);
    let _ = std::fs::remove_dir_all(&path);
    crate::fixture::write(
        &path,
        Options {
            name,
            threads: &[1, 4, 16, 64],
            ..options
        },
    );
    path
}

fn text(folders: &[&Path]) -> String {
    compare(folders, Unlike::Refuse).unwrap().text()
}

#[test]
fn a_faster_server_is_shown_with_its_size() {
    let base = series("base", Options::default());
    let other = series(
        "faster",
        Options {
            seed: 43,
            faster: 1.25,
            version: "8.0.36-LatsDB-0.2.0",
            ..Options::default()
        },
    );
    let said = text(&[&base, &other]);
    assert!(said.contains("latsdb of faster gives 2"), "{said}");
    assert!(said.contains("% more transactions/s than latsdb of base"), "{said}");
    assert!(
        said.contains("8.0.36-LatsDB-0.2.0"),
        "the versions differ and are listed: {said}"
    );
    assert!(said.contains("seed"), "{said}");
    // Fewer microseconds a transaction, and nothing else.
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("A transaction costs the servers of latsdb of faster 0.8"),
        "{said}"
    );
    assert!(
        words.contains(" times the processor time that it costs those of latsdb of base"),
        "{said}"
    );
    assert!(!words.contains("times the flushes"), "{said}");
    let comparison = compare(&[&base, &other], Unlike::Refuse).unwrap();
    assert!(comparison.markdown().contains("| a base |") || comparison.markdown().contains("a base"));
    let html = comparison.html();
    assert!(html.contains("data-chart=\"throughput\"") && html.contains("data-from=\"b:r") || html.contains("(b:r"));
}

#[test]
fn the_same_server_twice_shows_no_difference() {
    let base = series("once", Options::default());
    let other = series(
        "twice",
        Options {
            seed: 99,
            ..Options::default()
        },
    );
    let said = text(&[&base, &other]);
    assert!(said.contains("no difference shown"), "{said}");
    assert!(!said.contains("more transactions/s than"), "{said}");
}

#[test]
fn series_of_one_name_are_told_apart_by_their_letters() {
    let base = series("same", Options::default());
    let said = text(&[&base, &base]);
    assert!(
        said.contains("latsdb of b against latsdb of a, each at its best load"),
        "{said}"
    );
}

#[test]
fn repeats_that_are_far_apart_are_named() {
    let path = series("restless", Options::default());
    let first = std::fs::read_dir(path.join("rungs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|rung| rung.to_string_lossy().ends_with("latsdb-rw-t64-r1"))
        .unwrap()
        .join("rung.json");
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&first).unwrap()).unwrap();
    let count = json["totals"]["transactions"].as_u64().unwrap();
    json["totals"]["transactions"] = (count * 3 / 4).into();
    std::fs::write(&first, json.to_string()).unwrap();
    let said = text(&[&path]);
    assert!(said.contains("latsdb: repeats of its best load differ by 2"), "{said}");
    assert!(!said.contains("mariadb: repeats of its best load"), "{said}");
}

#[test]
fn single_runs_are_shown_but_nothing_is_claimed() {
    let base = series(
        "single-a",
        Options {
            repeats: 1,
            ..Options::default()
        },
    );
    let other = series(
        "single-b",
        Options {
            repeats: 1,
            faster: 2.0,
            ..Options::default()
        },
    );
    let said = text(&[&base, &other]);
    assert!(said.contains("too few repeats to tell"), "{said}");
    assert!(!said.contains("more transactions/s than"), "{said}");
}

#[test]
fn unlike_workloads_are_refused_by_field_and_shown_when_forced() {
    let base = series("large", Options::default());
    let other = series(
        "small",
        Options {
            rows: "10000",
            ..Options::default()
        },
    );
    let refused = compare(&[&base, &other], Unlike::Refuse).unwrap_err();
    let ReportError::Unlike { differences } = &refused else {
        panic!("{refused}")
    };
    assert_eq!(differences.len(), 2, "{differences:?}");
    assert_eq!(differences[0].trim(), "workload rw, table_size: 1000000 | 10000");
    assert!(refused.to_string().contains("--force"));
    let shown = compare(&[&base, &other], Unlike::Show).unwrap().text();
    assert!(shown.contains("These series are not alike"), "{shown}");
    assert!(shown.contains("workload rw, table_size"), "{shown}");
}

#[test]
fn encrypted_connections_are_a_difference() {
    let (base, other) = (series("plain", Options::default()), series("tls", Options::default()));
    for (path, mode, used) in [
        (&base, "disabled", "plain"),
        (&other, "required", "TLSv1.2 SOME_CIPHER"),
    ] {
        let file = path.join("run.json");
        let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        json["targets"][0]["tls"] = serde_json::json!({ "mode": mode, "used": [used] });
        std::fs::write(&file, json.to_string()).unwrap();
    }
    let page = compare(&[&base, &other], Unlike::Refuse).unwrap();
    assert!(page.html().contains("TLSv1.2 SOME_CIPHER"));
    let said = page.text();
    assert!(said.contains("target latsdb, connections"), "{said}");
    // What stays as it was is no difference, however it was written down.
    assert!(!said.contains("target mariadb, connections"), "{said}");
}

#[test]
fn one_series_compares_its_targets_with_the_first() {
    let base = series("alone", Options::default());
    let said = text(&[&base]);
    assert!(said.contains("% fewer transactions/s than latsdb"), "{said}");
    assert!(said.contains("The curves cross: up to"), "{said}");
}

#[test]
fn nothing_to_compare_says_so() {
    assert!(matches!(compare(&[], Unlike::Refuse), Err(ReportError::TooFew(_))));
    let absent = Path::new("/nonexistent/series");
    assert!(matches!(
        compare(&[absent], Unlike::Refuse),
        Err(ReportError::Folder(_))
    ));
}
