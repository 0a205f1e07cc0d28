//! What a statement did, before its answer is written.

use sql_api::result::Done;

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
        let info = format!("Records: {copied}  Duplicates: 0  Warnings: {warnings}");
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
