//! Any bytes: no panic, and what parses survives printing.
//!
//! `cargo +nightly fuzz run statement`, in `crates/parser`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use parser::digest::normalize;
use parser::{ParseErrorKind, SqlMode, parse, printer};

fuzz_target!(|input: &[u8]| {
    let Some((&bits, text)) = input.split_first() else {
        return;
    };
    let mode = SqlMode {
        ansi_quotes: bits & 1 != 0,
        pipes_as_concat: bits & 2 != 0,
        no_backslash_escapes: bits & 4 != 0,
        high_not_precedence: bits & 8 != 0,
        ignore_space: bits & 16 != 0,
        real_as_float: bits & 32 != 0,
    };
    let _ = normalize(text, mode);
    let Ok(parsed) = parse(text, mode) else {
        return;
    };
    assert!(parsed.consumed <= text.len());
    // Bodies of stored programs are kept as text, in the mode they were written in.
    if mode != SqlMode::default() {
        return;
    }
    let printed = printer::to_sql(&parsed.statement);
    match parse(&printed, mode) {
        Ok(again) => assert_eq!(again.statement, parsed.statement),
        Err(error) => assert!(matches!(error.kind, ParseErrorKind::TooDeep { .. }), "{error}"),
    }
});
