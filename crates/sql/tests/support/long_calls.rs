//! Every function with arguments as long as one likes.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sql::expr::functions::Function;

/// Sleep, wait for others, or repeat by a number.
pub const NOT_CALLED: &[&str] = &["SLEEP", "GET_LOCK", "BENCHMARK", "MEMBER OF"];

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
pub fn calls(function: &Function, len: usize) -> Vec<(String, String)> {
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
pub fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
