//! Every function takes time in proportion to its arguments.
//!
//! Each row of the table of functions is called with arguments that bring out what is quadratic: long runs of one
//! character that nearly match, long lists, documents with many members, long numbers. Eight times the length may take
//! eight times the time, and with noise some more, but not 64 times. Ratios of one run count, not times.

use std::fs;
use std::time::Duration;

use crate::support::TestSession;
use sql::expr::functions::{self, Function};
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

/// Sleep, wait for others, or repeat by a number.
const NOT_CALLED: &[&str] = &["SLEEP", "GET_LOCK", "BENCHMARK", "MEMBER OF"];

/// A literal of about `len` characters.
type Long = fn(usize) -> String;

const LONGS: &[(&str, Long)] = &[
    ("run", |len| quoted(&"a".repeat(len))),
    ("run and b", |len| quoted(&("a".repeat(len / 2) + "b"))),
    ("accents", |len| quoted(&"é".repeat(len / 2))),
    ("list", |len| quoted(&"a,".repeat(len / 2))),
    ("wildcards", |len| quoted(&"%a".repeat(len / 2))),
    ("spaces", |len| quoted(&" ".repeat(len))),
    ("digits", |len| quoted(&"1".repeat(len))),
    ("fraction", |len| quoted(&format!("0.{}", "1".repeat(len)))),
    ("number", |len| format!("0.{}", "1".repeat(len))),
    ("colons", |len| quoted(&"1:".repeat(len / 2))),
    ("hex", |len| format!("0x{}", "41".repeat(len / 2))),
    ("array", |len| quoted(&format!("[{}1]", "1,".repeat(len / 2)))),
    ("strings", |len| {
        quoted(&format!("[{}\"a\"]", "\"aa\",".repeat(len / 5)))
    }),
    ("members", |len| {
        let members: Vec<String> = (0..len / 10).map(|i| format!("\"m{i}\":{i}")).collect();
        quoted(&format!("{{{}}}", members.join(",")))
    }),
    ("deep", |len| {
        let leaf = quoted_json(&"a".repeat(len));
        quoted(&format!("{}{leaf}{}", "[".repeat(90), "]".repeat(90)))
    }),
    ("path", |len| quoted(&format!("${}", "[0]".repeat(len / 3)))),
    ("wild path", |len| quoted(&format!("${}[0]", "**[*]".repeat(len / 5)))),
    ("pattern", |len| quoted(&"a?".repeat(len / 2))),
];

/// Those that follow each of the others.
const OTHERS: &[&str] = &["run and b", "wild path"];

/// What stands beside a long argument.
const SHORTS: &[&str] = &["1", "'a'"];

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn quoted_json(text: &str) -> String {
    format!("\"{text}\"")
}

/// Calls of the function, the long arguments being of about `len` characters.
fn calls(function: &Function, len: usize) -> Vec<(String, String)> {
    let least = function.arity.least.max(1);
    // One more where there may be one, so that optional arguments are long too.
    let count = if function.takes(least + 1) { least + 1 } else { least };
    let mut calls = Vec::new();
    if function.takes(count) {
        for (name, long) in LONGS {
            let mut add = |shape: String, args: Vec<String>| {
                calls.push((
                    format!("{}({name}: {shape})", function.name),
                    format!("{}({})", function.name, args.join(", ")),
                ));
            };
            add("all".into(), vec![long(len); count]);
            for place in 0..count.min(2) {
                for short in SHORTS.iter().filter(|_| count > 1) {
                    let mut args = vec![(*short).to_owned(); count];
                    args[place] = long(len);
                    add(format!("{place} beside {short}"), args);
                }
            }
            for (other, another) in LONGS.iter().filter(|(other, _)| count > 1 && OTHERS.contains(other)) {
                let mut args = vec![another(len); count];
                args[0] = long(len);
                add(format!("before {other}"), args);
            }
        }
    }
    calls
}

/// What this thread has computed so far.
fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells a thread's time");
    let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.expect("nanoseconds first"))
}

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
