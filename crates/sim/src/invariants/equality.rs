//! A replica's rows follow from the log alone: at the same newest commit they are the same everywhere, and each state keeps what transactions
//! keep.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use store::Store;
use types::Timestamp;

use crate::report::Report;
use crate::schema::{self, ACCOUNT_COUNT, ACCOUNTS, BALANCE, BY_NAME, CLAIMS, LISTS, PAGES, Row, Rows};
use crate::trace;
use crate::watcher::Watcher;

#[derive(Default)]
pub struct Equality {
    /// Hashes of all rows at a commit, and who had them first.
    states: BTreeMap<Timestamp, (u64, u32)>,
    /// What each node was looked at last.
    seen: BTreeMap<u32, Timestamp>,
    pub compared: usize,
}

impl Equality {
    /// The node has begun another life: it may show an earlier state again.
    pub fn forget(&mut self, node: u32) {
        self.seen.remove(&node);
    }

    /// `watched` is what an observer of the accounts has been shown.
    pub fn look(&mut self, node: u32, store: &Arc<Store>, watched: &Watcher, report: &Report) {
        let newest = store.published();
        if self.seen.insert(node, newest) == Some(newest) {
            return;
        }
        let hash = look_at(node, store, report);
        if !watched.has_seen(&schema::newest(store, ACCOUNTS)) {
            report.violation(
                "equality",
                format_args!("node {node} shows its observer other accounts than it has"),
            );
        }
        let (first, whose) = *self.states.entry(newest).or_insert((hash, node));
        self.compared += usize::from(whose != node);
        if first != hash {
            report.violation(
                "equality",
                format_args!(
                    "at commit {} the rows of node {node} are not those of node {whose}",
                    newest.0
                ),
            );
        }
    }
}

/// Checks the rows, and returns a hash of them.
fn look_at(node: u32, store: &Arc<Store>, report: &Report) -> u64 {
    let mut hash = trace::BEGIN;
    for table in [ACCOUNTS, LISTS, CLAIMS, PAGES] {
        let rows = schema::newest(store, table);
        for row in &rows {
            hash = trace::hash(hash, &row.id.to_le_bytes());
            hash = trace::hash(hash, &row.number.to_le_bytes());
            let some = row.bytes.len().min(4000);
            hash = trace::hash(hash, &row.bytes[..some]);
            hash = trace::hash(hash, &row.bytes.len().to_le_bytes());
        }
        hash = trace::hash(hash, &table.0.to_le_bytes());
        match table {
            ACCOUNTS if !rows.is_empty() => {
                let sum: i64 = rows.iter().map(|row| row.number).sum();
                if sum != ACCOUNT_COUNT * BALANCE || rows.len() as i64 != ACCOUNT_COUNT {
                    let (at, rows): (_, Vec<_>) = (
                        store.published().0,
                        rows.iter().map(|row| (row.id, row.number)).collect(),
                    );
                    report.violation(
                        "bank",
                        format_args!("on node {node} the accounts have {sum} at {at}: {rows:?}"),
                    );
                }
            }
            PAGES => {
                let is_same = |row: &Row| row.number == rows[0].number && row.bytes.len() == rows[0].bytes.len();
                if !rows.iter().all(is_same) {
                    report.violation(
                        "whole",
                        format_args!("on node {node} a part of a large transaction is there"),
                    );
                }
            }
            CLAIMS => {
                let names: BTreeSet<&[u8]> = rows.iter().map(|row| row.bytes.as_slice()).collect();
                if names.len() != rows.len() {
                    report.violation("unique", format_args!("on node {node} a name has two rows"));
                }
                if let Some(handle) = store.table(CLAIMS) {
                    let mut by_name = Rows::of(CLAIMS).all(&handle, BY_NAME, &store.snapshot());
                    by_name.sort_by_key(|row| row.id);
                    if by_name != rows {
                        report.violation(
                            "unique",
                            format_args!("on node {node} an index has other rows than its table"),
                        );
                    }
                }
            }
            _ => {}
        }
    }
    hash
}
