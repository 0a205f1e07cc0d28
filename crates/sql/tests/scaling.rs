//! Every function takes time in proportion to its arguments.
//!
//! Each row of the table of functions is called with arguments that bring out what is quadratic: long runs of one
//! character that nearly match, long lists, documents with many members, long numbers. Eight times the length may take
//! eight times the time, and with noise some more, but not 64 times. Ratios of one run count, not times.

use std::time::Duration;

use crate::support::TestSession;
use crate::support::long_calls::{NOT_CALLED, calls, processor_time};
use sql::expr::functions;
use sql::expr::{Binder, NoColumns, Settings, StatementContext};
use types::time::UnixTime;

/// The length at which a quadratic function takes milliseconds.
const LEN: usize = 2 << 10;
const FACTOR: usize = 8;
/// Between linear (8) and quadratic (64).
const MOST_RATIO: u32 = 26;
/// What takes less is not measured: noise would decide.
const SHORT: Duration = Duration::from_millis(25);

const NOW: UnixTime = UnixTime {
    micros: 1_700_000_000_123_456,
    fsp: 6,
};

/// How long binding and one evaluation take. The text is parsed before.
fn time(text: &str, settings: &Settings, session: &TestSession) -> Duration {
    let statement = StatementContext::new(settings, session, NOW);
    let ctx = statement.eval();
    let Ok(tree) = parser::parse_expr(text.as_bytes(), settings.sql_mode.for_parser()) else {
        return Duration::ZERO;
    };
    let begun = processor_time();
    if let Ok(expr) = Binder::new(&mut NoColumns, ctx, Default::default()).bind(&tree) {
        // Whether it is an error is not the question here.
        let _ = std::hint::black_box(expr.eval(&[], &ctx));
    }
    processor_time() - begun
}

/// Takes minutes without optimization: `cargo test --release -p sql --test all -- --ignored in_proportion`. `FUNCTION=NAME` in the
/// environment has it measure one.
#[test]
#[ignore = "takes minutes, and a machine with nothing else to do"]
fn every_function_takes_time_in_proportion_to_its_arguments() {
    let settings = Settings::default();
    let session = TestSession::default();
    let only = std::env::var("FUNCTION").ok();
    let mut slow = Vec::new();
    let functions = functions::all()
        .filter(|function| !NOT_CALLED.contains(&function.name))
        .filter(|function| only.as_ref().is_none_or(|only| function.name == only));
    for function in functions {
        for ((what, short), (_, long)) in calls(function, LEN).into_iter().zip(calls(function, LEN * FACTOR)) {
            if time(&long, &settings, &session) < SHORT {
                continue;
            }
            // The least of some runs is the one that nothing disturbed.
            let least = |text: &str| {
                (0..3)
                    .map(|_| time(text, &settings, &session))
                    .min()
                    .unwrap_or_default()
            };
            let (short, long) = (least(&short), least(&long));
            if long > SHORT && long > short * MOST_RATIO {
                slow.push(format!("{what}: {short:?}, {FACTOR} times as long {long:?}"));
                break;
            }
        }
    }
    assert!(slow.is_empty(), "not linear:\n{}", slow.join("\n"));
}
