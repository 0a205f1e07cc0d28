//! Every figure in the report is traced to a raw file: this test reads the page as text, computes each number again
//! from the files with its own arithmetic, and holds the drawings against the values.
//!
//! It shares no code with the report: the formulas' meaning is the one that `docs/lab/report.md` gives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::formula::{Files, Value};
use crate::markup::{Element, Node};

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// What was looked at, so that a page without numbers cannot pass.
#[derive(Default, Debug)]
struct Seen {
    figures: usize,
    verbatim: usize,
    marks: usize,
    lines: usize,
    bars: usize,
    cells: usize,
}

fn check(html: &str, files: &Files) -> (Seen, Vec<String>) {
    let mut seen = Seen::default();
    let mut wrong = Vec::new();
    for Node { text, path } in crate::markup::texts(html) {
        if !text.chars().any(|c| c.is_ascii_digit()) || path.iter().any(is_exempt) {
            continue;
        }
        let own = path
            .iter()
            .rev()
            .find(|element| element.has("data-from") || element.has("data-text"));
        let Some(own) = own.filter(|own| own.name == "span" || own.name == "tspan") else {
            if !only_percentile_names(&text) {
                wrong.push(format!("not traced: {text:?} in {}", place(&path)));
            }
            continue;
        };
        if let Some(from) = own.get("data-from") {
            seen.figures += 1;
            match files.value(from) {
                Ok(value) if agrees(&text, &value) => {}
                Ok(value) => wrong.push(format!("{text:?} is {value:?} by {from}")),
                Err(why) => wrong.push(format!("{text:?}: {why} in {from}")),
            }
        } else if let Some(of) = own.get("data-text") {
            seen.verbatim += 1;
            if let Err(why) = stands_there(&text, of, files) {
                wrong.push(format!("{text:?}: {why}"));
            }
        }
    }
    for path in crate::markup::elements(html) {
        drawn(&path, files, &mut seen, &mut wrong);
    }
    heat_maps(html, files, &mut seen, &mut wrong);
    (seen, wrong)
}

/// Every cell of every heat map has the shade of its share, and no other cell is drawn.
fn heat_maps(html: &str, files: &Files, seen: &mut Seen, wrong: &mut Vec<String>) {
    let all = crate::markup::elements(html);
    for map in all
        .iter()
        .filter_map(|path| path.last())
        .filter(|own| own.has("data-heat"))
    {
        let from = map.get("data-heat").unwrap();
        let Value::List(shares) = files.value(from).unwrap_or_else(|why| panic!("{from}: {why}")) else {
            panic!("{from} is no list")
        };
        let cell: Vec<f64> = map
            .get("data-cell")
            .unwrap()
            .split(',')
            .map(|n| n.parse().unwrap())
            .collect();
        let columns: usize = map.get("data-columns").unwrap().parse().unwrap();
        let rows = shares.len() / columns;
        let mut drawn = vec![0_usize; shares.len()];
        let shades = all.iter().filter(|path| {
            path.len() > 1 && path[path.len() - 2].get("data-heat") == Some(from) && path[path.len() - 1].name == "path"
        });
        for path in shades {
            let own = path.last().unwrap();
            let shade = own
                .classes()
                .find_map(|class| class.strip_prefix('s').and_then(|n| n.parse().ok()));
            for start in own.get("d").unwrap().split('M').skip(1) {
                let (x, rest) = start.split_once(' ').unwrap();
                let y = rest.split_once('h').unwrap().0;
                let column = ((x.parse::<f64>().unwrap() - cell[0]) / cell[2]).round() as usize;
                let row = ((cell[1] - y.parse::<f64>().unwrap()) / cell[3]).round() as usize - 1;
                drawn[column * rows + row] = shade.unwrap();
            }
        }
        for (at, share) in shares.iter().enumerate() {
            seen.cells += 1;
            let wanted = match share {
                0.0 => 0,
                share if *share < 0.01 => 1,
                share if *share < 0.05 => 2,
                share if *share < 0.15 => 3,
                share if *share < 0.40 => 4,
                _ => 5,
            };
            if drawn[at] != wanted {
                wrong.push(format!(
                    "cell {at} has shade {} for a share of {share}: {from}",
                    drawn[at]
                ));
            }
        }
    }
}

/// Numbers that are no results: axis ticks, column titles (p95, 120 bytes), numbers of the method, names of lines and
/// bars, which stand traced beside the chart; a mark's tip, whose value is the mark's.
fn is_exempt(element: &Element) -> bool {
    let class = |name: &str| element.classes().any(|class| class == name);
    ["style", "script", "title", "th", "nav", "summary"].contains(&element.name.as_str())
        || ["fixed", "tick", "axis-title", "name", "verdict-text", "event-text"]
            .iter()
            .any(|name| class(name))
}

fn only_percentile_names(text: &str) -> bool {
    let mut rest = text.to_owned();
    for name in ["p99.9", "p99", "p95", "p90", "p50"] {
        rest = rest.replace(name, "");
    }
    !rest.chars().any(|c| c.is_ascii_digit())
}

fn place(path: &[Element]) -> String {
    path.iter()
        .map(|element| element.name.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The number shown is the value to the digits shown.
fn agrees(shown: &str, value: &Value) -> bool {
    let value = match value {
        Value::Text(text) => return text == shown,
        other => match crate::formula::number(other.clone()) {
            Ok(value) => value,
            Err(_) => return false,
        },
    };
    let plain = shown.replace(',', "").replace('−', "-").replace('+', "");
    let Ok(number) = plain.parse::<f64>() else { return false };
    let decimals = plain.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    (number - value).abs() <= 0.5 * 10_f64.powi(-decimals) * 1.000_001 + value.abs() * 1e-9
}

/// Each word with a digit stands in the file at that place.
fn stands_there(text: &str, of: &str, files: &Files) -> Result<(), String> {
    let there = files.text(of)?.replace(',', "");
    for word in text.replace(',', "").split_whitespace() {
        if word.chars().any(|c| c.is_ascii_digit()) && !there.contains(word.trim_end_matches("/s")) {
            return Err(format!("{word:?} does not stand at {of}: {there}"));
        }
    }
    Ok(())
}

/// kind, lowest, highest, pixel of the lowest, pixel of the highest.
fn pixels(described: &str, value: f64) -> f64 {
    let parts: Vec<&str> = described.split(',').collect();
    let number = |at: usize| parts[at].parse::<f64>().unwrap();
    let (low, high, from, to) = (number(1), number(2), number(3), number(4));
    let share = match parts[0] {
        "lin" => (value - low) / (high - low),
        "log" => (value / low).ln() / (high / low).ln(),
        other => panic!("scale {other}"),
    };
    from + share.clamp(-0.05, 1.05) * (to - from)
}

/// Marks, lines and bars stand where their values are.
fn drawn(path: &[Element], files: &Files, seen: &mut Seen, wrong: &mut Vec<String>) {
    let Some((last, above)) = path.split_last() else { return };
    let plot = above
        .iter()
        .rev()
        .find(|element| element.has("data-x") || element.has("data-y"));
    let parent = above.last();
    let number = |element: &Element, name: &str| element.get(name).unwrap().parse::<f64>().unwrap();
    let mut hold = |what: &str, from: &str, at: f64, wanted: f64| {
        if (at - wanted).abs() > 0.2 {
            wrong.push(format!("{what} is drawn at {at}, not at {wanted}: {from}"));
        }
    };
    match (last.name.as_str(), parent, plot) {
        ("use", Some(mark), Some(plot)) if mark.has("data-from") => {
            seen.marks += 1;
            let from = mark.get("data-from").unwrap();
            hold(
                "mark",
                from,
                number(last, "y"),
                pixels(plot.get("data-y").unwrap(), files.number(from).unwrap()),
            );
            if let Some(from) = mark.get("data-x-from") {
                hold(
                    "mark",
                    from,
                    number(last, "x"),
                    pixels(plot.get("data-x").unwrap(), files.number(from).unwrap()),
                );
            }
        }
        ("polyline", _, Some(plot)) if last.has("data-from") => {
            seen.lines += 1;
            let from = last.get("data-from").unwrap();
            let Value::List(values) = files.value(from).unwrap() else {
                panic!("{from} is no list")
            };
            let points: Vec<f64> = last
                .get("points")
                .unwrap()
                .split_whitespace()
                .map(|point| point.split_once(',').unwrap().1.parse().unwrap())
                .collect();
            assert_eq!(points.len(), values.len(), "{from}");
            for (at, value) in points.iter().zip(values) {
                hold("line", from, *at, pixels(plot.get("data-y").unwrap(), value));
            }
        }
        ("rect", Some(bar), Some(plot)) if bar.has("data-from") && !bar.has("data-width") => {
            seen.bars += 1;
            let from = bar.get("data-from").unwrap();
            let scale = plot.get("data-x").unwrap();
            let wanted = pixels(scale, files.number(from).unwrap()) - pixels(scale, 0.0);
            hold("bar", from, number(last, "width"), wanted);
        }
        ("rect", Some(bar), _) if bar.has("data-width") => {
            seen.bars += 1;
            let from = bar.get("data-from").unwrap();
            let wanted = files.number(from).unwrap().max(0.0) * number(bar, "data-px-per-unit");
            hold("part", from, number(last, "width"), wanted);
        }
        _ => {}
    }
}

fn whole(seen: &Seen, wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong, first:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
    println!("{seen:?}");
}

#[test]
fn every_figure_of_a_report_comes_from_the_raw_files() {
    let path = folder("traced");
    crate::fixture::write(
        &path,
        crate::fixture::Options {
            threads: &[1, 4, 16, 64],
            ..crate::fixture::Options::default()
        },
    );
    crate::fixture::write_availability(&path);
    let written = lab_report::report(&path).unwrap();
    let html = std::fs::read_to_string(&written.html).unwrap();
    assert!(html.contains("THE DATA IS WRONG") && html.contains("the data holds"));
    let files = Files::of(&[("", &path)]);
    let (seen, wrong) = check(&html, &files);
    whole(&seen, &wrong);
    assert!(seen.figures > 1_500 && seen.verbatim > 400, "{seen:?}");
    assert!(seen.marks > 100 && seen.lines > 30 && seen.bars > 20, "{seen:?}");
    assert!(seen.cells > 5_000, "{seen:?}");
}

#[test]
fn a_false_number_is_found() {
    let path = folder("falsified");
    crate::fixture::write(
        &path,
        crate::fixture::Options {
            threads: &[1, 4],
            repeats: 2,
            ..crate::fixture::Options::default()
        },
    );
    let written = lab_report::report(&path).unwrap();
    let html = std::fs::read_to_string(&written.html).unwrap();
    // The page stays, one raw count changes.
    let rung = std::fs::read_dir(path.join("rungs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .min()
        .unwrap();
    let file = rung.join("rung.json");
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let count = json["totals"]["transactions"].as_u64().unwrap();
    json["totals"]["transactions"] = (count + count / 10).into();
    std::fs::write(&file, json.to_string()).unwrap();
    let (_, wrong) = check(&html, &Files::of(&[("", &path)]));
    assert!(
        wrong.iter().any(|line| line.contains("/totals/transactions")),
        "{wrong:?}"
    );
    // A second's latencies change, and the map of them does not.
    let (_, before) = check(&html, &Files::of(&[("", &path)]));
    assert!(!before.iter().any(|line| line.contains("shade")), "{before:?}");
    for rung in std::fs::read_dir(path.join("rungs")).unwrap() {
        let file = rung.unwrap().path().join("seconds.jsonl");
        let text = std::fs::read_to_string(&file).unwrap();
        let heavier = text.lines().map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["latency"][0][1] = 1_000_000.into();
            format!("{line}\n")
        });
        let heavier: String = heavier.collect();
        std::fs::write(&file, heavier).unwrap();
    }
    let (_, wrong) = check(&html, &Files::of(&[("", &path)]));
    assert!(wrong.iter().any(|line| line.contains("shade")), "{wrong:?}");
    // And a number that nobody traced.
    let loose = html.replace("</main>", "<p>12,345 TPS</p></main>");
    let (_, wrong) = check(&loose, &Files::of(&[("", &path)]));
    assert!(wrong.iter().any(|line| line.contains("not traced")));
}

#[test]
fn every_figure_of_a_comparison_comes_from_the_raw_files_of_its_series() {
    let (base, other) = (folder("traced-a"), folder("traced-b"));
    let options = crate::fixture::Options {
        threads: &[1, 4, 16],
        ..crate::fixture::Options::default()
    };
    crate::fixture::write(&base, crate::fixture::Options { name: "one", ..options });
    crate::fixture::write(
        &other,
        crate::fixture::Options {
            name: "two",
            seed: 5,
            faster: 1.3,
            ..options
        },
    );
    let comparison = lab_report::compare(&[&base, &other], lab_report::Unlike::Refuse).unwrap();
    let files = Files::of(&[("a:", &base), ("b:", &other)]);
    let (seen, wrong) = check(&comparison.html(), &files);
    whole(&seen, &wrong);
    assert!(seen.figures > 200 && seen.marks > 30, "{seen:?}");
}

#[test]
fn the_summary_is_traced_too() {
    let path = folder("traced-summary");
    crate::fixture::write(
        &path,
        crate::fixture::Options {
            threads: &[1, 4],
            ..crate::fixture::Options::default()
        },
    );
    let written = lab_report::report(&path).unwrap();
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(written.summary).unwrap()).unwrap();
    assert_eq!(json["summary_schema"], lab_report::SUMMARY_SCHEMA);
    let files = Files::of(&[("", &path)]);
    let mut figures = BTreeMap::new();
    collect(&json, &mut figures);
    assert!(figures.len() > 300, "{}", figures.len());
    for (from, value) in figures {
        let again = files.number(&from).unwrap_or_else(|why| panic!("{from}: {why}"));
        assert!(
            (again - value).abs() <= value.abs() * 1e-9 + 1e-12,
            "{value} is {again} by {from}"
        );
    }
}

fn collect(json: &serde_json::Value, figures: &mut BTreeMap<String, f64>) {
    match json {
        serde_json::Value::Object(map) => {
            if let (Some(value), Some(from)) = (map.get("value"), map.get("from"))
                && let (Some(value), Some(from)) = (value.as_f64(), from.as_str())
            {
                figures.insert(from.to_owned(), value);
            }
            map.values().for_each(|value| collect(value, figures));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, figures)),
        _ => {}
    }
}

/// A series measured elsewhere: `LAB_REPORT_SERIES=results/x cargo test -p lab-report traced`.
#[test]
fn every_figure_of_a_given_series_comes_from_its_raw_files() {
    let Some(path) = std::env::var_os("LAB_REPORT_SERIES").map(PathBuf::from) else {
        eprintln!("skipped: LAB_REPORT_SERIES names no series");
        return;
    };
    let written = lab_report::report(Path::new(&path)).unwrap();
    let html = std::fs::read_to_string(&written.html).unwrap();
    let (seen, wrong) = check(&html, &Files::of(&[("", &path)]));
    whole(&seen, &wrong);
}
