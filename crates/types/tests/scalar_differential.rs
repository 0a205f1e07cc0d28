//! Decimals, doubles, dates and times, held against a running MariaDB 10.11 where it and MySQL 8.0 agree.
//!
//! `LATSDB_MARIADB` holds the options of the `mariadb` client that reach it, as `-h127.0.0.1 -P3307 -uroot`; without it these
//! tests pass without looking.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::io::Write;
use std::process::{Command, Stdio};
use types::cast::{Context, SqlMode};
use types::time::{
    Date, DateRules, DateTime, Interval, IntervalUnit, Time, WeekMode, date_format, str_to_date, time_format,
    timestamp_diff,
};
use types::{Decimal, SqlType, UnixTime, Value, Warnings};

/// What MariaDB answers to each expression, as text; nothing if there is no MariaDB to ask.
fn ask(expressions: &[String]) -> Option<Vec<String>> {
    let options = std::env::var("LATSDB_MARIADB").ok()?;
    let mut client = Command::new("mariadb")
        .args(options.split_whitespace())
        .args(["-N", "-B", "--default-character-set=utf8mb4"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut script = String::from("set time_zone = '+00:00', sql_mode = 'TIME_ROUND_FRACTIONAL';\n");
    for expression in expressions {
        script.push_str(&format!("select {expression};\n"));
    }
    let mut stdin = client.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
    let output = client.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // Where MariaDB goes its own way: a zero with a sign, the fraction of the largest TIME.
    let as_mysql = |answer: &str| match answer {
        "-0.0" => "0.0".to_owned(),
        other => other.replace("838:59:59.999999", "838:59:59.000000"),
    };
    let answers: Vec<String> = text.lines().map(as_mysql).collect();
    assert_eq!(answers.len(), expressions.len(), "an expression was refused");
    Some(answers)
}

fn samples<T: std::fmt::Debug>(n: usize, strategy: impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    (0..n)
        .map(|_| strategy.new_tree(&mut runner).unwrap().current())
        .collect()
}

/// Pairs of an expression and our answer to it.
fn compare(cases: Vec<(String, Option<String>)>) {
    let (expressions, ours): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
    let Some(theirs) = ask(&expressions) else { return };
    let different: Vec<String> = expressions
        .iter()
        .zip(ours.iter().zip(&theirs))
        .filter(|(_, (ours, theirs))| ours.as_deref().unwrap_or("NULL") != theirs.as_str())
        .map(|(e, (ours, theirs))| format!("{e}: {ours:?}, MariaDB {theirs}"))
        .collect();
    assert!(
        different.is_empty(),
        "{} of {}:\n{}",
        different.len(),
        expressions.len(),
        different[..different.len().min(40)].join("\n")
    );
}

fn decimal_text() -> impl Strategy<Value = String> {
    (
        "-?",
        prop_oneof!["[0-9]{1,4}", "[1-9][0-9]{0,25}"],
        prop_oneof!["", "\\.[0-9]{1,6}", "\\.[0-9]{1,12}"],
    )
        .prop_map(|(sign, integer, fraction)| format!("{sign}{integer}{fraction}"))
}

#[test]
fn decimal_arithmetic() {
    let text = |d: Result<Decimal, types::decimal::Overflow>| d.ok().map(|d| d.to_string());
    let cases = samples(1500, (decimal_text(), decimal_text(), -4i32..8))
        .into_iter()
        .flat_map(|(a, b, digits)| {
            // Without a point the literal would be an integer.
            let literal = |t: &str| {
                if t.contains('.') {
                    t.to_owned()
                } else {
                    format!("{t}.0")
                }
            };
            let (a, b) = (literal(&a), literal(&b));
            let (x, y) = (Decimal::parse(&a).unwrap(), Decimal::parse(&b).unwrap());
            let quotient = x
                .quotient(y, 4, (x.scale() + 4).min(30))
                .unwrap()
                .map(|q| q.to_string());
            [
                (format!("{a} + {b}"), text(x.checked_add(y))),
                (format!("{a} - ({b})"), text(x.checked_sub(y))),
                (format!("{a} * {b}"), text(x.checked_mul(y))),
                (format!("{a} / ({b})"), quotient),
                (
                    format!("{a} % ({b})"),
                    x.checked_rem(y)
                        .map(|r| r.round(x.scale().max(y.scale())).unwrap().to_string()),
                ),
                (format!("round({a}, {digits})"), text(x.round_at(digits))),
                (format!("truncate({a}, {digits})"), text(x.truncate_at(digits))),
                (format!("floor({a})"), text(x.floor())),
                (format!("ceiling({a})"), text(x.ceil())),
            ]
        });
    compare(cases.collect());
}

#[test]
fn doubles_as_text() {
    let plain = (any::<i32>(), -30i32..30).prop_map(|(m, e)| f64::from(m) * 10f64.powi(e));
    let doubles = prop_oneof![proptest::num::f64::NORMAL, plain, -1e17..1e17];
    let cases = samples(3000, doubles)
        .into_iter()
        .map(|v| (format!("{v:e}"), Some(types::number::double_to_string(v))));
    compare(cases.collect());
}

fn real_dates() -> impl Strategy<Value = Date> {
    // From year 1000 on: what the manual calls the supported range.
    (365_243i64..3_652_424).prop_map(|days| Date::from_days(days).unwrap())
}

#[test]
fn calendar() {
    let cases = samples(800, (real_dates(), 0i64..8, 0i64..86_400_000_000))
        .into_iter()
        .flat_map(|(date, mode, micros)| {
            let (_, week) = date.week(WeekMode::new(mode));
            let (year, year_week) = date.week(WeekMode::for_yearweek(mode));
            let moment = date.at(micros, 6);
            let format =
                "%a %b %c %D %d %e %f %H %h %I %i %j %k %l %M %m %p %r %S %s %T %U %u %V %v %W %w %X %x %Y %y %%";
            [
                (format!("to_days('{date}')"), Some(date.to_days().to_string())),
                (format!("week('{date}', {mode})"), Some(week.to_string())),
                (
                    format!("yearweek('{date}', {mode})"),
                    Some(format!("{year}{year_week:02}")),
                ),
                (format!("last_day('{date}')"), date.last_day().map(|d| d.to_string())),
                (format!("dayofyear('{date}')"), Some(date.day_of_year().to_string())),
                (format!("weekday('{date}')"), Some(date.weekday().to_string())),
                (
                    format!("date_format('{moment}', '{format}')"),
                    date_format(moment, format),
                ),
                (
                    format!("time_format('{}', '%H %k %h %I %l %i %p %r %T %f')", moment.time()),
                    time_format(moment.time(), "%H %k %h %I %l %i %p %r %T %f"),
                ),
            ]
        });
    compare(cases.collect());
}

#[test]
fn intervals() {
    let units = proptest::sample::select(vec![
        (IntervalUnit::Microsecond, "5000"),
        (IntervalUnit::Second, "-77"),
        (IntervalUnit::Day, "400"),
        (IntervalUnit::Month, "13"),
        (IntervalUnit::Month, "-1"),
        (IntervalUnit::Quarter, "3"),
        (IntervalUnit::Year, "-5"),
        (IntervalUnit::DaySecond, "1 2:3:4"),
        (IntervalUnit::DaySecond, "-2:3:4"),
        (IntervalUnit::HourMinute, "100:30"),
        (IntervalUnit::YearMonth, "1-11"),
        (IntervalUnit::DayMicrosecond, "1 2:3:4.5"),
        (IntervalUnit::MinuteSecond, "90:15"),
    ]);
    let cases = samples(1500, (real_dates(), 0i64..86_400, units, real_dates()))
        .into_iter()
        .flat_map(|(date, s, (unit, text), other)| {
            let start = date.at(s * 1_000_000, 0);
            let interval = Interval::parse(text, unit).unwrap();
            let quote = if text.parse::<i64>().is_ok() { "" } else { "'" };
            let added = start.add_interval(interval).map(|d| DateTime {
                fsp: if unit.has_micros() { 6 } else { 0 },
                ..d
            });
            let simple = matches!(
                unit,
                IntervalUnit::Second
                    | IntervalUnit::Day
                    | IntervalUnit::Month
                    | IntervalUnit::Quarter
                    | IntervalUnit::Year
            );
            let diff = simple.then(|| {
                let end = other.at(s * 500_000, 0);
                (
                    format!("timestampdiff({}, '{start}', '{}')", unit.name(), end),
                    Some(timestamp_diff(unit, start, end.truncate(0)).to_string()),
                )
            });
            let add = (
                format!("date_add('{start}', interval {quote}{text}{quote} {})", unit.name()),
                added.map(|d| d.to_string()),
            );
            [Some(add), diff].into_iter().flatten()
        });
    compare(cases.collect());
}

/// Literals of many shapes, right and wrong.
fn datetime_text() -> impl Strategy<Value = String> {
    let number = |max: u32| (0..=max).prop_map(|n| n.to_string());
    let padded = |max: u32| (0..=max).prop_map(|n| format!("{n:02}"));
    let delimited = (
        1990u32..2030,
        padded(13),
        padded(32),
        prop_oneof![Just(" "), Just("T")],
        padded(24),
        padded(60),
        padded(60),
        "(\\.[0-9]{1,6})?",
    )
        .prop_map(|(y, mo, d, sep, h, mi, s, f)| format!("{y}-{mo}-{d}{sep}{h}:{mi}:{s}{f}"));
    let loose = (number(99), number(13), number(32)).prop_map(|(y, m, d)| format!("{y}/{m}/{d}"));
    prop_oneof![
        delimited,
        loose,
        "(19|20)[0-9]{6}",
        "[0-9]{6}",
        "(19|20)[0-9]{2}[01][0-9][0-3][0-9][0-2][0-9][0-5][0-9][0-5][0-9]"
    ]
}

fn cast(text: &str, ty: &SqlType) -> Option<String> {
    let mode = SqlMode::LENIENT;
    let mut warnings = Warnings::default();
    let mut cx = Context {
        mode,
        zone: &types::time::TimeZone::UTC,
        now: UnixTime {
            micros: 1_700_000_000_000_000,
            fsp: 0,
        },
        warnings: &mut warnings,
    };
    let value = types::cast::cast(Value::str(text), ty, &mut cx).unwrap();
    (!value.is_null()).then(|| value.to_string())
}

#[test]
fn literals() {
    let numbers = prop_oneof![
        "-?[0-9]{1,18}",
        "-?[0-9]{1,10}\\.[0-9]{1,6}",
        "[0-9]{1,4}[a-z]{0,3}",
        " *-?[0-9]{1,3}e[0-9]",
        "[a-z]{0,3}"
    ];
    let times = prop_oneof![
        "-?[0-9]{1,3}:[0-5][0-9]:[0-5][0-9]",
        "[0-9]{1,6}",
        "[0-9]{1,2} [0-9]{1,2}:[0-5][0-9]",
        "[0-9]{1,2}:[0-9]{2}",
        "-?[0-9]{2}:[0-5][0-9]:[0-5][0-9]\\.[0-9]{1,6}"
    ];
    let dates = samples(2500, datetime_text()).into_iter().flat_map(|t| {
        [
            (format!("cast('{t}' as datetime(6))"), cast(&t, &SqlType::datetime(6))),
            (format!("cast('{t}' as date)"), cast(&t, &SqlType::date())),
        ]
    });
    let times = samples(1000, times)
        .into_iter()
        .map(|t| (format!("cast('{t}' as time(6))"), cast(&t, &SqlType::time(6))));
    let numbers = samples(1500, numbers).into_iter().flat_map(|t| {
        [
            (format!("cast('{t}' as signed)"), cast(&t, &SqlType::bigint())),
            (
                format!("cast('{t}' as decimal(20,4))"),
                cast(&t, &SqlType::decimal(20, 4)),
            ),
            (format!("cast('{t}' as double)"), cast(&t, &SqlType::double())),
        ]
    });
    compare(dates.chain(times).chain(numbers).collect());
}

#[test]
fn reading_by_format() {
    let formats = [
        "%Y-%m-%d",
        "%d.%m.%y",
        "%M %D %Y",
        "%H:%i:%s",
        "%Y%m%d%H%i%s",
        "%h:%i %p",
        "%W %d %b %Y %T.%f",
        "%j %Y",
    ];
    let cases = samples(
        800,
        (
            real_dates(),
            0i64..86_400_000_000,
            proptest::sample::select(formats.to_vec()),
        ),
    )
    .into_iter()
    .map(|(date, micros, format)| {
        let text = date_format(date.at(micros, 6), format).unwrap();
        let read = str_to_date(&text, format, DateRules::RELAXED).map(|r| match (r.has_date, r.has_time) {
            (true, false) => r.value.date.to_string(),
            (false, _) => Time {
                fsp: if format.contains("%f") { 6 } else { 0 },
                ..r.time
            }
            .to_string(),
            _ => DateTime {
                fsp: if format.contains("%f") { 6 } else { 0 },
                ..r.value
            }
            .to_string(),
        });
        (format!("str_to_date('{text}', '{format}')"), read)
    });
    compare(cases.collect());
}

/// A literal of SQL and the value that it is.
fn literal() -> impl Strategy<Value = (String, Value)> {
    let quoted = |t: String| (format!("'{t}'"), Value::from(t));
    let texts = prop_oneof![
        "-?[0-9]{1,12}",
        "-?[0-9]{1,4}\\.[0-9]{1,6}",
        "[0-9]{1,3}[a-z]{1,3}",
        "-?[0-9]{1,3}e-?[0-9]{1,2}",
        "[ab,]{0,4}",
        "[a-zé ]{0,12}",
        "[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?",
        datetime_text(),
    ];
    let decimal = decimal_text().prop_map(|t| {
        let t = if t.contains('.') { t } else { format!("{t}.0") };
        let value = Value::Decimal(Decimal::parse(&t).unwrap());
        (t, value)
    });
    prop_oneof![
        4 => texts.prop_map(quoted),
        2 => any::<i64>().prop_map(|v| (v.to_string(), Value::Int(v))),
        2 => (-300i64..300).prop_map(|v| (v.to_string(), Value::Int(v))),
        2 => decimal,
        1 => (-1e12f64..1e12).prop_map(|v| (format!("{v:e}"), Value::Double(v))),
        1 => proptest::num::f64::NORMAL.prop_map(|v| (format!("{v:e}"), Value::Double(v))),
    ]
}

#[test]
fn storing_without_strict_mode() {
    use types::{CollationId, Labels, TypeKind};
    let ci = CollationId::UTF8MB4_GENERAL_CI;
    let integer = |kind| [SqlType::integer(kind, false), SqlType::integer(kind, true)];
    let kinds = [
        TypeKind::TinyInt,
        TypeKind::SmallInt,
        TypeKind::MediumInt,
        TypeKind::Int,
        TypeKind::BigInt,
    ];
    let mut columns: Vec<SqlType> = kinds.into_iter().flat_map(integer).collect();
    columns.extend([
        SqlType::decimal(10, 3),
        SqlType::decimal(30, 0),
        SqlType::float(),
        SqlType::double(),
        SqlType {
            length: 7,
            decimals: 2,
            ..SqlType::double()
        },
        SqlType::char(5, ci),
        SqlType::varchar(5, ci),
        SqlType::date(),
        SqlType::time(0),
        SqlType::time(3),
        SqlType::datetime(0),
        SqlType::datetime(6),
        SqlType::timestamp(0),
        SqlType::year(),
        SqlType::enumeration(Labels::new(["a", "b", "ab"]), ci),
        SqlType::set(Labels::new(["a", "b", "ab"]), ci),
    ]);
    for ty in columns {
        let definition = if ty.kind == TypeKind::Timestamp {
            format!("{ty} null default null")
        } else {
            ty.to_string()
        };
        let literals = samples(150, literal());
        let mut script = vec![format!(
            "1; create or replace table test.stored (id int, c {definition}) engine memory charset utf8mb4"
        )];
        let mut ours = vec!["1".to_owned()];
        for (sql, value) in literals {
            script.push(format!(
                "'', \"{sql}\"; truncate test.stored; insert into test.stored values (1, {sql})"
            ));
            ours.push(format!("\t{sql}"));
            let mut warnings = Warnings::default();
            let zone = types::time::TimeZone::UTC;
            let now = UnixTime {
                micros: 1_700_000_000_000_000,
                fsp: 0,
            };
            let mut cx = Context {
                mode: SqlMode::LENIENT,
                zone: &zone,
                now,
                warnings: &mut warnings,
            };
            let target = types::cast::Target { column: "c", row: 1 };
            let stored = types::cast::assign(value, &ty, target, &mut cx).unwrap();
            let mut text = Vec::new();
            stored.as_ref().write_typed_text(&ty, &mut text);
            script.push("concat('<', c, '>') from test.stored".to_owned());
            ours.push(format!("<{}>", String::from_utf8(text).unwrap()));
        }
        let Some(theirs) = ask(&script) else { return };
        let different: Vec<_> = (1..ours.len())
            .filter(|&i| ours[i] != theirs[i] && !mariadb_differs(&ty, &ours[i - 1], &ours[i]))
            .map(|i| format!("{}: ours {}, MariaDB {}", ours[i - 1], ours[i], theirs[i]))
            .collect();
        assert!(different.is_empty(), "{ty}: {}", different.join("\n"));
    }
}

/// Where MySQL 8.0 has another answer than MariaDB.
fn mariadb_differs(ty: &SqlType, literal: &str, ours: &str) -> bool {
    // Numbers beyond TIME become its limit, in MariaDB sometimes zero.
    (ty.kind == types::TypeKind::Time && ours.contains("838:59:59"))
        // Negative strings with an exponent beyond 64 bits become the largest unsigned integer.
        || (ty.unsigned && literal.contains("'-") && literal.contains('e'))
        // A number in a string is bits only if all of them are members; a double beyond 64 bits is the nearest integer.
        || (ty.kind == types::TypeKind::Set && literal.contains(['\'', 'e', '.']) && literal.len() > 4)
        // Delimiters after a start without them: MySQL goes on reading parts.
        || (ty.kind.is_temporal() && literal.contains('.'))
}
