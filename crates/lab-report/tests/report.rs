//! The report of a plausible series: written, and whole.

use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_report_is_written_in_three_forms() {
    let path = folder("written");
    crate::fixture::write(&path, crate::fixture::Options::default());
    let written = lab_report::report(&path).unwrap();
    for file in [&written.html, &written.markdown, &written.summary] {
        assert!(file.metadata().unwrap().len() > 1_000, "{}", file.display());
    }
}

#[test]
fn the_findings_say_what_was_tested_and_no_more() {
    let path = folder("findings");
    crate::fixture::write(&path, crate::fixture::Options::default());
    let text = std::fs::read_to_string(lab_report::report(&path).unwrap().markdown).unwrap();
    for said in [
        "latsdb reached 8,134 transactions/s at 64 threads",
        "limit: SQL-node CPU",
        "its p95 stays within twice the lowest up to 53% of its best rate",
        "latsdb held p95 ≤ 5 ms up to",
        "galera & co, three nodes held p95 ≤ 5 ms at no measured load",
        "latsdb: the search found 6,250 transactions/s asked for to be the highest rate that holds p95 ≤ 5 ms; 6,400 did not.",
        "mariadb gives 31.1% fewer transactions/s than latsdb, each at its best load",
        "Rates that vary",
        "| latsdb | 1 quiet & calm | 6 | 800 |",
        "| latsdb | 2 | 8 | 800 to 2,000 |",
        "not within the rung |",
        "| preferred: TLSv1.3 TLS\\_AES\\_256\\_GCM\\_SHA384 |",
        "| mariadb | 5,000 | 4,998 | 12 |",
        "The curves cross: up to 4 threads mariadb gives more, from 16 threads latsdb.",
        "1 rung is void and in no figure",
        "latsdb: over 150.0 s at 2 threads it gave 1,6",
        "% against the short intervals at that load); no drift shown.",
        "By price and best rate, latsdb is beaten by none; galera & co, three nodes is dominated by latsdb.",
        "| Against latsdb |",
        "A transaction costs the servers of mariadb 1.5",
        "no transfer is in this cost",
        "143 STALE",
        "mariadb has no price",
    ] {
        assert!(
            text.contains(said),
            "the report does not say {said:?}:\n{}",
            &text[..6_000.min(text.len())]
        );
    }
    assert!(!text.contains("NaN") && !text.contains("data-from"));
}

#[test]
fn a_soak_is_no_repeat_of_the_ladder() {
    let path = folder("soak");
    crate::fixture::write(&path, crate::fixture::Options::default());
    let json = std::fs::read_to_string(lab_report::report(&path).unwrap().summary).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    let ladder = &summary["ladders"][0];
    assert_eq!(ladder["soaks"].as_array().unwrap().len(), 1);
    let load = &ladder["soaks"][0]["load"];
    let points = ladder["points"].as_array().unwrap();
    let short = points.iter().find(|point| point["load"] == *load).unwrap();
    assert_eq!(
        short["rungs"].as_array().unwrap().len(),
        3,
        "three repeats, and not the soak"
    );
}

#[test]
fn what_a_careful_reader_would_ask_about_is_said() {
    let path = folder("oddities");
    crate::fixture::write(
        &path,
        crate::fixture::Options {
            threads: &[1, 2, 4],
            ..crate::fixture::Options::default()
        },
    );
    let calm = std::fs::read_to_string(lab_report::report(&path).unwrap().markdown).unwrap();
    assert!(
        calm.contains("latsdb still gained +"),
        "the ladder ends while the rate rises"
    );
    assert!(!calm.contains("p95 falls as load rises") && !calm.contains("single answers took"));
    // At one thread: slow wake-ups in one answer of ten, and one that waited 210 ms.
    for rung in std::fs::read_dir(path.join("rungs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let name = rung.file_name().unwrap().to_string_lossy().into_owned();
        if name.contains("latsdb-rw-t1-") {
            let file = rung.join("rung.json");
            let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            json["latency"] = serde_json::json!([[900, 9_000], [8_003, 999], [210_175, 1]]);
            std::fs::write(&file, json.to_string()).unwrap();
        }
    }
    let odd = std::fs::read_to_string(lab_report::report(&path).unwrap().markdown).unwrap();
    assert!(
        odd.contains("latsdb: p95 falls as load rises, from 8.00 ms at 1 thread to"),
        "{}",
        &odd[..4_000]
    );
    assert!(
        odd.contains("at only 1 thread single answers took up to 210.2 ms where p99 is 8.00 ms"),
        "{}",
        &odd[..4_000]
    );
}
