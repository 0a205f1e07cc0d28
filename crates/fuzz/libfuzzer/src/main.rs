//! The targets of `fuzz` under libFuzzer: `FUZZ_TARGET` names the one. `tools/fuzz` builds and runs it.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

static BODY: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    fuzz::targets::find(&name).expect("FUZZ_TARGET is a target").body
});

fuzz_target!(|bytes: &[u8]| BODY(bytes));
