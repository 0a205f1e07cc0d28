//! The scripts of `tests/golden`: what one node answers, statement by statement, without a network between.

use std::path::Path;

#[test]
fn scripts_get_their_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut scripts: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder of scripts")
        .map(|entry| entry.expect("a file").path())
        .collect();
    scripts.sort();
    let only = std::env::var("SCRIPT").ok();
    for script in scripts {
        if only
            .as_ref()
            .is_none_or(|only| script.to_string_lossy().contains(only.as_str()))
        {
            crate::common::run_script(&script);
        }
    }
}
