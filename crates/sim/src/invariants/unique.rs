//! No two rows have one name, and the index of the names has the rows of its table.

use std::collections::BTreeSet;

use store::Store;

use crate::report::Report;
use crate::schema::{BY_NAME, CLAIMS, Row, Rows};

pub fn check(node: u32, store: &Store, claims: &[Row], report: &Report) {
    let names: BTreeSet<&[u8]> = claims.iter().map(|row| row.bytes.as_slice()).collect();
    if names.len() != claims.len() {
        report.violation("unique", format_args!("on node {node} a name has two rows"));
    }
    if let Some(table) = store.table(CLAIMS) {
        let mut by_name = Rows::of(CLAIMS).all(&table, BY_NAME, &store.snapshot());
        by_name.sort_by_key(|row| row.id);
        if by_name != claims {
            report.violation(
                "unique",
                format_args!("on node {node} an index has other rows than its table"),
            );
        }
    }
}
