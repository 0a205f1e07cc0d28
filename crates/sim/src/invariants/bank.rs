//! No money comes or goes.

use types::Timestamp;

use crate::report::Report;
use crate::schema::{ACCOUNT_COUNT, BALANCE, Row};

/// Of all accounts of a replica, once they are there.
pub fn check(node: u32, at: Timestamp, accounts: &[Row], report: &Report) {
    let sum: i64 = accounts.iter().map(|row| row.number).sum();
    let is_good = sum == ACCOUNT_COUNT * BALANCE && accounts.len() as i64 == ACCOUNT_COUNT;
    if !accounts.is_empty() && !is_good {
        let (at, rows): (_, Vec<_>) = (at.0, accounts.iter().map(|row| (row.id, row.number)).collect());
        report.violation(
            "bank",
            format_args!("on node {node} the accounts have {sum} at {at}: {rows:?}"),
        );
    }
}
