//! The report of a plausible series: written, and whole.

#![allow(clippy::unwrap_used)]

mod fixture;

use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[test]
fn a_report_is_written_in_three_forms() {
    let path = folder("written");
    fixture::write(&path, fixture::Options::default());
    let written = lab_report::report(&path).unwrap();
    for file in [&written.html, &written.markdown, &written.summary] {
        assert!(file.metadata().unwrap().len() > 1_000, "{}", file.display());
    }
}
