//! What a statement did, before its answer is written.

use sql_api::result::Done;
use types::number::write_u64;

/// What a statement did, before its answer is written.
pub enum Answer {
    /// A result set whose rows are sent; it has still to be ended.
    Rows {
        found: u64,
    },
    Done(Done),
    /// Rows were changed by a statement whose answer tells an id: the first automatic one, else that of `LAST_INSERT_ID(expr)`, else
    /// `last_id`.
    Changed {
        done: Done,
        last_id: Option<u64>,
    },
}

impl Answer {
    pub fn done() -> Answer {
        Answer::Done(Done::default())
    }

    pub fn affected(rows: u64) -> Answer {
        Answer::Done(Done {
            affected_rows: rows,
            ..Done::default()
        })
    }

    /// Of a statement that counts records: how many it copied, and the warnings it gave.
    pub fn records(copied: u64, warnings: u64) -> Answer {
        let info = counted(&[("Records", copied), ("Duplicates", 0), ("Warnings", warnings)]);
        Answer::Done(Done {
            affected_rows: copied,
            info,
            ..Done::default()
        })
    }

    pub fn with_info(info: &str) -> Answer {
        Answer::Done(Done {
            info: info.to_owned(),
            ..Done::default()
        })
    }
}

/// What a statement counted, as its answer tells it: `Rows matched: 1  Changed: 1  Warnings: 0`. Every UPDATE tells it, so it is written
/// without the detours of `format!`.
pub fn counted(parts: &[(&str, u64)]) -> String {
    let mut text = Vec::with_capacity(64);
    for (at, (what, count)) in parts.iter().enumerate() {
        if at > 0 {
            text.extend_from_slice(b"  ");
        }
        text.extend_from_slice(what.as_bytes());
        text.extend_from_slice(b": ");
        write_u64(*count, &mut text);
    }
    String::from_utf8(text).expect("words and digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_as_mysql_does() {
        let told = counted(&[("Rows matched", 10), ("Changed", 0), ("Warnings", u64::MAX)]);
        assert_eq!(told, "Rows matched: 10  Changed: 0  Warnings: 18446744073709551615");
    }
}
