//! Prepared statements of a client. The numbers of a text become parameters, so that texts that differ by them alone are one statement, which lives as
//! long as the connection and outlives changes of its tables.

use std::collections::BTreeMap;

use sql::result::ResultSink;
use sql::session::{Fetch, Session};
use types::{SqlResult, Value};

use super::host::SimHost;

/// By the text with its parameters.
#[derive(Default)]
pub struct Statements {
    ids: BTreeMap<String, u32>,
}

impl Statements {
    /// Runs the text; `None` if it is none that clients prepare.
    pub fn run(
        &mut self,
        session: &mut Session,
        text: &str,
        host: &SimHost<'_>,
        sink: &mut dyn ResultSink,
    ) -> Option<SqlResult<()>> {
        const PREPARED: [&str; 5] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "REPLACE "];
        if !PREPARED.iter().any(|verb| text.starts_with(verb)) {
            return None;
        }
        let (text, parameters) = with_parameters(text);
        let id = match self.ids.get(&text) {
            Some(id) => *id,
            None => match session.prepare(text.as_bytes(), host) {
                Ok(prepared) => {
                    self.ids.insert(text, prepared.id);
                    prepared.id
                }
                Err(error) => return Some(Err(error)),
            },
        };
        Some(session.execute(id, &parameters, Fetch::All, host, sink))
    }
}

/// The text with a place for each number, and the numbers. Those in quotes and in names stay.
fn with_parameters(text: &str) -> (String, Vec<Value>) {
    let (mut out, mut parameters) = (String::new(), Vec::new());
    let mut quote = None;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let is_in_name = out.ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        match number.parse() {
            Ok(number) if quote.is_none() && !is_in_name => {
                out.push('?');
                parameters.push(Value::Int(number));
                rest = after;
                continue;
            }
            _ => {}
        }
        match quote {
            Some(open) if open == next => quote = None,
            None if next == '\'' || next == '`' => quote = Some(next),
            Some(_) | None => {}
        }
        out.push(next);
        rest = &rest[next.len_utf8()..];
    }
    (out, parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_parameters() {
        let (text, parameters) = with_parameters("INSERT INTO t2 VALUES (12, 'lock 3', a4 + 5)");
        assert_eq!(text, "INSERT INTO t2 VALUES (?, 'lock 3', a4 + ?)");
        assert_eq!(parameters, [Value::Int(12), Value::Int(5)]);
    }
}
