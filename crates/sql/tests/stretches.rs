//! Every function gives way while it computes.
//!
//! Each row of the table of functions is called with long arguments, and the processor time between two ticks is measured. The longest
//! such stretch may not grow with the arguments: where it takes most of the call, the call is made again four times as long. So
//! ratios of one run count, not times.

use std::cell::Cell;
use std::time::Duration;

use governor::{Interrupt, Runner, probe};
use sql::expr::functions;
use sql::expr::{Binder, NoColumns, Settings, StatementContext};
use types::time::UnixTime;

use crate::support::TestSession;
use crate::support::long_calls::{NOT_CALLED, calls, processor_time};

const LEN: usize = 256 << 10;
const FACTOR: usize = 4;
/// A stretch that grows by less gives way somewhere.
const MOST_RATIO: f64 = 2.0;
/// What takes less is not worth a tick, and drowns in noise.
const SHORT: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5 } else { 1 });

const NOW: UnixTime = UnixTime {
    micros: 1_700_000_000_123_456,
    fsp: 6,
};

/// Remembers the longest time between two ticks.
#[derive(Default)]
struct Stretches {
    last: Cell<Duration>,
    longest: Cell<Duration>,
}

impl Stretches {
    fn look(&self) {
        let now = processor_time();
        let stretch = now - self.last.replace(now);
        self.longest.set(self.longest.get().max(stretch));
    }
}

impl Runner for Stretches {
    fn yield_now(&self) {
        self.look();
    }

    fn interrupted(&self) -> Option<Interrupt> {
        None
    }

    fn looked(&self) {
        self.look();
    }
}

/// The longest stretch of parsing, binding and evaluating an expression, and all the time that it took.
fn measure(text: &str) -> (Duration, Duration) {
    let settings = Settings {
        max_allowed_packet: 64 << 20,
        ..Settings::default()
    };
    let session = TestSession::default();
    let stretches = Stretches::default();
    let begun = processor_time();
    stretches.last.set(begun);
    probe::under(&stretches, || {
        let statement = StatementContext::new(&settings, &session, NOW);
        let ctx = statement.eval();
        let Ok(tree) = parser::parse_expr(text.as_bytes(), settings.sql_mode.for_parser()) else {
            return;
        };
        if let Ok(expr) = Binder::new(&mut NoColumns, ctx, Default::default()).bind(&tree) {
            // Whether it is an error is not the question here.
            let _ = std::hint::black_box(expr.eval(&[], &ctx));
        }
    });
    stretches.look();
    (stretches.longest.get(), processor_time() - begun)
}

/// The least of some runs is the one that nothing disturbed.
fn longest_stretch(text: &str) -> Duration {
    (0..3).map(|_| measure(text).0).min().unwrap_or_default()
}

/// The calls whose longest stretch grows with their arguments.
fn stretched(chosen: impl Fn(usize, usize) -> bool) -> Vec<String> {
    let only = std::env::var("FUNCTION").ok();
    let mut found = Vec::new();
    let functions = functions::all()
        .filter(|function| !NOT_CALLED.contains(&function.name))
        .filter(|function| only.as_ref().is_none_or(|only| function.name == only));
    for (number, function) in functions.enumerate() {
        // The same calls again, longer: made only for those that need it.
        for (place, (what, text)) in calls(function, LEN).into_iter().enumerate() {
            if !chosen(number, place) {
                continue;
            }
            let (stretch, all) = measure(&text);
            if stretch < SHORT || stretch * 3 < all {
                continue;
            }
            let (_, longer) = &calls(function, LEN * FACTOR)[place];
            let (short, long) = (longest_stretch(&text), longest_stretch(longer));
            if long > SHORT * 2 && long.as_secs_f64() > short.as_secs_f64() * MOST_RATIO {
                found.push(format!("{what}: {short:?}, {FACTOR} times as long {long:?}"));
            }
        }
    }
    found
}

/// What repeats gives way between two turns, however little each of them does.
#[test]
fn repeating_gives_way() {
    for repeated in ["1", "MD5('a')", "1 + 1", "@a", "NULL"] {
        let call = |times: usize| format!("BENCHMARK({times}, {repeated})");
        let (short, long) = (longest_stretch(&call(200_000)), longest_stretch(&call(800_000)));
        assert!(
            long < SHORT * 2 || long.as_secs_f64() < short.as_secs_f64() * MOST_RATIO,
            "{repeated}: {short:?}, {long:?}"
        );
    }
}

/// The longest stretch of parsing, binding and evaluating a long list; what that leaves is dropped elsewhere, as plans are.
fn list_stretch(text: &str) -> Duration {
    let settings = Settings {
        max_allowed_packet: 64 << 20,
        ..Settings::default()
    };
    let session = TestSession::default();
    let one_run = || {
        let stretches = Stretches::default();
        let statement = StatementContext::new(&settings, &session, NOW);
        stretches.last.set(processor_time());
        let _left = probe::under(&stretches, || {
            let ctx = statement.eval();
            let tree = parser::parse_expr(text.as_bytes(), settings.sql_mode.for_parser()).expect("an expression");
            let mut columns = NoColumns;
            let expr = Binder::new(&mut columns, ctx, Default::default())
                .bind(&tree)
                .expect("binds");
            assert!(expr.eval(&[], &ctx).is_ok());
            (tree, expr.clone(), expr)
        });
        stretches.longest.get()
    };
    (0..6).map(|_| one_run()).min().unwrap_or_default()
}

#[test]
fn long_lists_give_way() {
    let repeated =
        |item: fn(usize) -> String, between: &str, count: usize| (0..count).map(item).collect::<Vec<_>>().join(between);
    let lists: [(&str, &dyn Fn(usize) -> String); 4] = [
        ("AND", &|count| {
            repeated(|n| format!("RAND() <> {}", n + 1), " AND ", count)
        }),
        ("OR", &|count| {
            repeated(|n| format!("RAND() = {}", n + 1), " OR ", count)
        }),
        ("IN", &|count| {
            format!("'a' IN ({})", repeated(|n| format!("'s{n}'"), ",", count))
        }),
        ("CASE", &|count| {
            format!(
                "CASE 'a' {} END",
                repeated(|n| format!("WHEN 's{n}' THEN {n}"), " ", count)
            )
        }),
    ];
    for (what, list) in lists {
        let (short, long) = (list_stretch(&list(10_000)), list_stretch(&list(10_000 * FACTOR)));
        assert!(
            long <= SHORT * 2 || long.as_secs_f64() <= short.as_secs_f64() * MOST_RATIO,
            "{what}: {short:?}, {FACTOR} times as long {long:?}"
        );
    }
}

/// One call in so many; another one of each function.
const SLICE: usize = 97;

#[test]
fn functions_give_way_inside_one_call() {
    let found = stretched(|number, place| (number * 5 + place) % SLICE == 0);
    assert!(found.is_empty(), "do not give way:\n{}", found.join("\n"));
}

/// Takes minutes: `cargo test -p sql --test all -- --ignored inside_any_call`. `FUNCTION=NAME` in the environment has it measure one.
#[test]
#[ignore = "takes minutes"]
fn functions_give_way_inside_any_call() {
    let found = stretched(|_, _| true);
    assert!(found.is_empty(), "do not give way:\n{}", found.join("\n"));
}
