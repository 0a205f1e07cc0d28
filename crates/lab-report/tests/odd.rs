//! Series that went wrong: what is there is reported, what is broken is named, nothing panics.

use std::path::{Path, PathBuf};

use crate::fixture::Options;
use lab_report::{ReportError, report};
use lab_results::Folder;
use serde_json::{Value, json};

const SMALL: Options = Options {
    name: "odd",
    seed: 3,
    faster: 1.0,
    rows: "1000",
    version: "8.0.36",
    repeats: 1,
    soak: false,
    threads: &[1, 2],
};

fn series(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("odd").join(name);
    let _ = std::fs::remove_dir_all(&path);
    crate::fixture::write(&path, SMALL);
    path
}

fn edit(file: &Path, change: impl Fn(&mut Value)) {
    let mut json: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    change(&mut json);
    std::fs::write(file, json.to_string()).unwrap();
}

fn rungs(path: &Path) -> Vec<PathBuf> {
    let mut rungs: Vec<PathBuf> = std::fs::read_dir(path.join("rungs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    rungs.sort();
    rungs
}

fn html(path: &Path) -> String {
    std::fs::read_to_string(report(path).unwrap().html).unwrap()
}

#[test]
fn a_series_stopped_before_its_first_rung_has_a_report() {
    let path = series("stopped");
    std::fs::remove_dir_all(path.join("rungs")).unwrap();
    std::fs::remove_file(path.join("probes.json")).unwrap();
    edit(&path.join("run.json"), |run| {
        run["ended"] = Value::Null;
        run["interrupted"] = true.into();
    });
    let html = html(&path);
    assert!(html.contains("No rung was measured to its end."));
    assert!(html.contains("stopped by the user"));
    assert!(html.contains("quota: the zone"), "what was not run is still told");
}

#[test]
fn an_unfinished_rung_is_left_out() {
    let path = series("unfinished");
    let first = rungs(&path).remove(0);
    std::fs::remove_file(first.join("rung.json")).unwrap();
    assert!(!html(&path).contains("\"r1\""));
}

#[test]
fn rungs_without_answers_samples_seconds_or_time_do_not_panic() {
    let path = series("empty");
    for rung in rungs(&path) {
        edit(&rung.join("rung.json"), |rung| {
            rung["totals"]["transactions"] = 0.into();
            rung["measured_s"] = 0.0.into();
            rung["latency"] = json!([]);
            rung["statements"] = json!({});
            rung["costs"] = json!({});
            rung["verdict"] = Value::Null;
        });
        std::fs::remove_file(rung.join("seconds.jsonl")).unwrap();
        std::fs::write(rung.join("samples.jsonl"), "").unwrap();
    }
    let html = html(&path);
    assert!(html.contains("not judged"));
    assert!(
        !html.contains("NaN") && !html.contains(">inf"),
        "what cannot be computed is a dash"
    );
}

#[test]
fn a_series_in_which_every_rung_is_void_has_no_figures() {
    let path = series("void");
    for rung in rungs(&path) {
        edit(&rung.join("rung.json"), |rung| {
            rung["void"] = "the client was the limit".into()
        });
    }
    let html = html(&path);
    assert!(html.contains("the client was the limit"));
    assert!(!html.contains("highest median"));
}

#[test]
fn names_that_are_not_in_the_plan_are_not_a_panic() {
    let path = series("strangers");
    for (at, rung) in rungs(&path).into_iter().enumerate() {
        edit(&rung.join("rung.json"), |rung| {
            if at % 2 == 0 {
                rung["target"] = "nobody knows".into();
            } else {
                rung["workload"] = "</script><script>alert(1)</script>".into();
            }
        });
    }
    let html = html(&path);
    assert!(!html.contains("<script>alert"));
}

#[test]
fn hostile_names_stay_text() {
    let path = series("hostile");
    edit(&path.join("run.json"), |run| {
        run["name"] = "</script><script>alert(1)</script>\u{1b}[2J".into();
        run["targets"][0]["versions"][0] = "\"><img src=x onerror=alert(1)>".into();
        run["nodes"][0]["facts"]["type"] = "</svg><script>alert(2)</script>".into();
    });
    let html = html(&path);
    assert!(!html.contains("<script>alert") && !html.contains("<img") && !html.contains('\u{1b}'));
    let markdown = std::fs::read_to_string(path.join("report.md")).unwrap();
    assert!(!markdown.contains("<script>alert") && !markdown.contains('\u{1b}'));
}

#[test]
fn broken_files_are_named() {
    let path = series("broken");
    let rung = rungs(&path).remove(0);
    std::fs::write(rung.join("rung.json"), "{\"schema\": 1").unwrap();
    let error = report(&path).unwrap_err().to_string();
    assert!(error.contains("rung.json"), "{error}");
    edit(&path.join("run.json"), |run| run["schema"] = 999.into());
    assert!(matches!(report(&path), Err(ReportError::Folder(_))));
    assert!(Folder::open(&path).run().is_err());
}

/// Every number of every raw file in turn becomes 0, then very large: a report, or an error, but no panic.
#[test]
fn no_number_can_make_it_panic() {
    let path = series("numbers");
    let rung = rungs(&path).remove(0).join("rung.json");
    let whole: Value = serde_json::from_str(&std::fs::read_to_string(&rung).unwrap()).unwrap();
    let mut places = Vec::new();
    numbers(&whole, String::new(), &mut places);
    // Of each histogram the first bucket stands for the others.
    places.retain(|place| !place.contains("latency/") || place.contains("latency/0/"));
    for place in places {
        for value in [json!(0), json!(1e15 as u64), json!(u64::MAX), json!(1e300), json!(-1)] {
            let mut changed = whole.clone();
            *changed.pointer_mut(&place).unwrap() = value;
            std::fs::write(&rung, changed.to_string()).unwrap();
            let _ = report(&path);
        }
    }
}

fn numbers(json: &Value, at: String, places: &mut Vec<String>) {
    match json {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, value)| numbers(value, format!("{at}/{key}"), places)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(index, value)| numbers(value, format!("{at}/{index}"), places)),
        Value::Number(_) => places.push(at),
        _ => {}
    }
}
