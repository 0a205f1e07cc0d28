//! Two recordings, compared.

use std::collections::{BTreeMap, BTreeSet};

use super::proxy::{Parameter, Recorded, Recording, parameterized, type_names};
use super::statistics::homogeneity;
use super::{Finding, ONE_IN};
use crate::{Control, DriverError};

/// Ids fall into so many equal parts of the table for the chi-square test.
const BINS: usize = 25;
/// Rows that are looked at for the shape of their strings.
const SHAPES_OF: usize = 200;

/// One execution, whichever protocol carried it.
struct Execution {
    /// Table numbers as `%u`.
    sql: String,
    parameters: Vec<Parameter>,
    protocol: &'static str,
    types: Option<Vec<u8>>,
    binds: bool,
}

/// The statements of `prepare`.
pub fn loads(ours: &Recording, theirs: &Recording) -> Vec<Finding> {
    let texts = |recording: &Recording| -> BTreeSet<String> {
        executions(recording)
            .map(|execution| match execution.sql.split_once(" VALUES") {
                Some((head, _)) => format!("{} VALUES", one_spaced(head)),
                None => one_spaced(&execution.sql),
            })
            .collect()
    };
    vec![of_sets(
        "statements of prepare (blanks aside)",
        &texts(ours),
        &texts(theirs),
    )]
}

/// The statements of `run`; ids are 1..=`rows`.
pub fn runs(ours: &Recording, theirs: &Recording, rows: u64) -> Vec<Finding> {
    let mut findings = Vec::new();
    let prepared = |recording: &Recording| -> BTreeSet<String> {
        let texts = recording.iter().flatten().filter_map(|command| match command {
            Recorded::Prepare(sql) => Some(without_table_number(sql)),
            _ => None,
        });
        texts.collect()
    };
    findings.push(of_sets("texts prepared", &prepared(ours), &prepared(theirs)));
    let executed = |recording: &Recording| -> BTreeSet<String> {
        executions(recording)
            .map(|execution| format!("{}: {}", execution.protocol, execution.sql))
            .collect()
    };
    findings.push(of_sets("texts executed", &executed(ours), &executed(theirs)));
    let mixes = |recording: &Recording| -> BTreeSet<String> { transactions(recording).into_keys().collect() };
    findings.push(of_sets("mix per transaction", &mixes(ours), &mixes(theirs)));
    let bound = |recording: &Recording| -> BTreeSet<String> {
        executions(recording)
            .filter_map(|execution| Some(format!("{}: {}", execution.sql, type_names(execution.types.as_ref()?))))
            .collect()
    };
    findings.push(of_sets("types of parameters", &bound(ours), &bound(theirs)));
    let rebound = |recording: &Recording| -> BTreeSet<String> {
        recording.iter().filter_map(|connection| binding(connection)).collect()
    };
    findings.push(of_sets("types are sent", &rebound(ours), &rebound(theirs)));
    findings.extend(parameters(ours, theirs, rows));
    findings
}

/// Each parameter of each statement.
fn parameters(ours: &Recording, theirs: &Recording, rows: u64) -> Vec<Finding> {
    let (ours, theirs) = (by_statement(ours), by_statement(theirs));
    let mut findings = Vec::new();
    for (sql, our) in &ours {
        let Some(their) = theirs.get(sql) else { continue };
        let count = our.iter().chain(their).map(|values| values.len()).max().unwrap_or(0);
        let mut position = 0;
        while position < count {
            let range = is_range(our, position, rows) && is_range(their, position, rows);
            let what = format!("parameter {} of {}", position + 1, one_spaced(sql));
            findings.push(of_values(&what, &at(our, position), &at(their, position), rows));
            if range {
                let widths = |executions: &[Vec<Parameter>]| -> BTreeSet<String> {
                    let width = |values: &Vec<Parameter>| match (values.get(position), values.get(position + 1)) {
                        (Some(Parameter::Int(from)), Some(Parameter::Int(to))) => Some((to - from).to_string()),
                        _ => None,
                    };
                    executions.iter().filter_map(width).collect()
                };
                let what = format!("width of the range of {}", one_spaced(sql));
                findings.push(of_sets(&what, &widths(our), &widths(their)));
                position += 1;
            }
            position += 1;
        }
    }
    findings
}

/// Whether this parameter and the next are the ends of a range: always the same distance apart.
fn is_range(executions: &[Vec<Parameter>], position: usize, rows: u64) -> bool {
    let mut widths = BTreeSet::new();
    for values in executions {
        match (values.get(position), values.get(position + 1)) {
            (Some(Parameter::Int(from)), Some(Parameter::Int(to))) => widths.insert(to - from),
            _ => return false,
        };
    }
    widths.len() == 1 && widths.iter().all(|width| (0..rows as i64).contains(width))
}

fn at(executions: &[Vec<Parameter>], position: usize) -> Vec<&Parameter> {
    executions.iter().filter_map(|values| values.get(position)).collect()
}

fn by_statement(recording: &Recording) -> BTreeMap<String, Vec<Vec<Parameter>>> {
    let mut statements: BTreeMap<String, Vec<Vec<Parameter>>> = BTreeMap::new();
    for execution in executions(recording) {
        statements.entry(execution.sql).or_default().push(execution.parameters);
    }
    statements
}

fn of_values(what: &str, ours: &[&Parameter], theirs: &[&Parameter], rows: u64) -> Finding {
    let ints = |values: &[&Parameter]| -> Option<Vec<i64>> {
        values
            .iter()
            .map(|value| match value {
                Parameter::Int(value) => Some(*value),
                _ => None,
            })
            .collect()
    };
    match (ints(ours), ints(theirs)) {
        (Some(ours), Some(theirs)) => of_ints(what, &ours, &theirs, rows),
        _ => {
            let shapes = |values: &[&Parameter]| -> BTreeSet<String> {
                let shape = |value: &&Parameter| match value {
                    Parameter::Text(text) => shape(text),
                    other => format!("{other:?}"),
                };
                values.iter().map(shape).collect()
            };
            of_sets(what, &shapes(ours), &shapes(theirs))
        }
    }
}

fn of_ints(what: &str, ours: &[i64], theirs: &[i64], rows: u64) -> Finding {
    let span = |values: &[i64]| (values.iter().min().copied(), values.iter().max().copied());
    let (our_span, their_span) = (span(ours), span(theirs));
    // Ids of new rows are not of the table: their own span is cut into parts.
    let outside = ours.iter().chain(theirs).any(|value| *value < 0);
    let (first, last) = if outside {
        (i64::from(i32::MIN), i64::from(i32::MAX))
    } else {
        (0, rows.max(1) as i64 + rows as i64 / BINS as i64)
    };
    let bins = |values: &[i64]| {
        let mut bins = vec![0; BINS];
        for value in values {
            let place = (value.clamp(&first, &last) - first) as i128 * BINS as i128 / ((last - first) as i128 + 1);
            bins[place as usize] += 1;
        }
        bins
    };
    let likeness = homogeneity(&bins(ours), &bins(theirs));
    let say = |values: &[i64], (least, greatest): (Option<i64>, Option<i64>)| {
        format!(
            "{} values from {} to {}",
            values.len(),
            least.unwrap_or_default(),
            greatest.unwrap_or_default()
        )
    };
    Finding {
        what: format!("{what} (chi-square, p = {likeness:.4})"),
        ours: say(ours, our_span),
        theirs: say(theirs, their_span),
        agrees: likeness > 1.0 / ONE_IN,
    }
}

fn of_sets(what: &str, ours: &BTreeSet<String>, theirs: &BTreeSet<String>) -> Finding {
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| -> String {
        let only: Vec<String> = a.difference(b).take(3).map(|text| format!("{text:?}")).collect();
        only.join(" | ")
    };
    let agrees = ours == theirs;
    let say = |a: &BTreeSet<String>, b: &BTreeSet<String>| match agrees {
        true if a.len() == 1 => a.iter().next().cloned().unwrap_or_default(),
        true => format!("{} of them, the same", a.len()),
        false => format!("{} of them; only here: {}", a.len(), only(a, b)),
    };
    Finding {
        what: what.to_owned(),
        ours: say(ours, theirs),
        theirs: say(theirs, ours),
        agrees,
    }
}

/// Statements that were run, in the order of each connection.
fn executions(recording: &Recording) -> impl Iterator<Item = Execution> + '_ {
    recording.iter().flatten().filter_map(execution)
}

fn execution(command: &Recorded) -> Option<Execution> {
    match command {
        Recorded::Query(sql) => {
            let (sql, parameters) = parameterized(sql);
            Some(Execution {
                sql: without_table_number(&sql),
                parameters,
                protocol: "text",
                types: None,
                binds: false,
            })
        }
        Recorded::Execute {
            sql,
            parameters,
            binds,
            types,
        } => Some(Execution {
            sql: without_table_number(sql),
            parameters: parameters.clone(),
            protocol: "prepared",
            types: (!types.is_empty()).then(|| types.clone()),
            binds: *binds,
        }),
        _ => None,
    }
}

/// The sequences of statements that make a transaction, each with how often it was seen. The first and the last of a connection
/// may be cut off, and are left out.
fn transactions(recording: &Recording) -> BTreeMap<String, u64> {
    let mut seen = BTreeMap::new();
    for connection in recording {
        let mut open: Option<Vec<(String, u32)>> = None;
        let mut add = |statements: Vec<(String, u32)>| {
            let say = |(sql, times): (String, u32)| format!("{times} x {sql}");
            let text: Vec<String> = statements.into_iter().map(say).collect();
            *seen.entry(text.join("; ")).or_default() += 1;
        };
        for execution in connection.iter().filter_map(execution) {
            match (execution.sql.as_str(), &mut open) {
                ("BEGIN", open) => *open = Some(vec![("BEGIN".to_owned(), 1)]),
                ("COMMIT", open) => {
                    if let Some(statements) = open.take() {
                        add(statements);
                    }
                }
                (sql, Some(statements)) => match statements.last_mut() {
                    Some((last, times)) if last == sql => *times += 1,
                    _ => statements.push((sql.to_owned(), 1)),
                },
                (sql, None) => add(vec![(sql.to_owned(), 1)]),
            }
        }
    }
    seen
}

/// Whether the types of parameters go with the first execution of each statement only. `None`: a connection that executed nothing
/// with parameters, perhaps because the others were done before its turn came.
fn binding(connection: &[Recorded]) -> Option<String> {
    let mut known = BTreeSet::new();
    let (mut executed, mut again) = (false, false);
    for execution in connection.iter().filter_map(execution) {
        if execution.types.is_none() {
            continue;
        }
        executed = true;
        let sql = execution.sql.clone();
        again |= execution.binds && known.contains(&sql);
        if execution.binds {
            known.insert(sql);
        }
    }
    let told = match (known.is_empty(), again) {
        (true, _) => "never",
        (false, false) => "with the first execution only",
        (false, true) => "with later executions too",
    };
    executed.then(|| told.to_owned())
}

/// `sbtest12` and `k_12` as `sbtest%u` and `k_%u`.
fn without_table_number(sql: &str) -> String {
    let mut text = String::new();
    let mut rest = sql;
    while let Some(at) = ["sbtest", "k_"]
        .iter()
        .filter_map(|name| Some((rest.find(name)?, name.len())))
        .min()
    {
        let (before, after) = rest.split_at(at.0 + at.1);
        let number = after.bytes().take_while(u8::is_ascii_digit).count();
        text.push_str(before);
        if number > 0 {
            text.push_str("%u");
        }
        rest = &after[number..];
    }
    text + rest
}

fn one_spaced(sql: &str) -> String {
    let text = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(" )", ")").replace(" (", "(")
}

/// Digits as `#`, other characters as they are.
fn shape(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect()
}

/// What is looked at of a loaded table.
pub struct TableSample {
    /// Rows by the part of 1..=rows that their k falls into.
    k: Vec<u64>,
    shapes: BTreeSet<String>,
}

impl TableSample {
    pub fn read(control: &mut Control, rows: u64) -> Result<TableSample, DriverError> {
        let mut k = vec![0; BINS];
        for row in control.query("SELECT k, COUNT(*) FROM sbtest1 GROUP BY k")?.rows {
            let mut numbers = row
                .into_iter()
                .map(|value| value.and_then(|value| value.parse::<u64>().ok()).unwrap_or_default());
            let (value, count) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            k[(value.min(rows) as usize * BINS / (rows as usize + 1)).min(BINS - 1)] += count;
        }
        let mut shapes = BTreeSet::new();
        let sql = format!("SELECT c, pad FROM sbtest1 ORDER BY id LIMIT {SHAPES_OF}");
        for row in control.query(&sql)?.rows {
            shapes.extend(row.into_iter().flatten().map(|text| shape(&text)));
        }
        Ok(TableSample { k, shapes })
    }
}

pub fn samples(ours: &TableSample, theirs: &TableSample) -> Vec<Finding> {
    let likeness = homogeneity(&ours.k, &theirs.k);
    let say = |sample: &TableSample| format!("{} rows", sample.k.iter().sum::<u64>());
    vec![
        Finding {
            what: format!("k of the loaded rows (chi-square, p = {likeness:.4})"),
            ours: say(ours),
            theirs: say(theirs),
            agrees: likeness > 1.0 / ONE_IN,
        },
        of_sets("shapes of c and pad", &ours.shapes, &theirs.shapes),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(sql: &str) -> Recorded {
        Recorded::Query(sql.to_owned())
    }

    #[test]
    fn table_numbers_do_not_matter() {
        let sql = "CREATE INDEX k_12 ON sbtest12(k)";
        assert_eq!(without_table_number(sql), "CREATE INDEX k_%u ON sbtest%u(k)");
    }

    #[test]
    fn transactions_are_cut_at_begin_and_commit() {
        let recording = vec![vec![
            query("COMMIT"),
            query("BEGIN"),
            query("SELECT c FROM sbtest1 WHERE id=1"),
            query("SELECT c FROM sbtest2 WHERE id=2"),
            query("COMMIT"),
            query("BEGIN"),
            query("SELECT 1"),
        ]];
        let seen: Vec<String> = transactions(&recording).into_keys().collect();
        assert_eq!(seen, ["1 x BEGIN; 2 x SELECT c FROM sbtest%u WHERE id=?"]);
    }

    #[test]
    fn another_distribution_is_found() {
        let uniform: Vec<i64> = (0..4000).map(|i| i % 1000 + 1).collect();
        let skewed: Vec<i64> = (0..4000)
            .map(|i| if i % 20 == 0 { 500 } else { i % 1000 + 1 })
            .collect();
        assert!(of_ints("id", &uniform, &uniform, 1000).agrees);
        assert!(!of_ints("id", &uniform, &skewed, 1000).agrees);
    }

    #[test]
    fn another_text_is_found() {
        let ours = vec![vec![query("SELECT c FROM sbtest1 WHERE id=1")]];
        let theirs = vec![vec![query("SELECT c FROM sbtest1 WHERE id = 1")]];
        assert!(runs(&ours, &ours, 10).iter().all(|finding| finding.agrees));
        assert!(runs(&ours, &theirs, 10).iter().any(|finding| !finding.agrees));
    }
}
