//! A replica's rows follow from the log alone: at the same newest commit they are the same everywhere. Each state is shown to the promises that
//! hold of it alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use store::Store;
use types::{TableId, Timestamp};

use super::{bank, unique, whole};
use crate::report::Report;
use crate::schema::{self, ACCOUNTS, CLAIMS, LISTS, PAGES, Row};
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
        let tables = [ACCOUNTS, LISTS, CLAIMS, PAGES].map(|table| (table, schema::newest(store, table)));
        let [(_, accounts), _, (_, claims), (_, pages)] = &tables;
        bank::check(node, newest, accounts, report);
        unique::check(node, store, claims, report);
        whole::check(node, pages, report);
        if !watched.has_seen(accounts) {
            report.violation(
                "equality",
                format_args!("node {node} shows its observer other accounts than it has"),
            );
        }
        let hash = hash_of(&tables);
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

/// A hash of the rows.
fn hash_of(tables: &[(TableId, Vec<Row>)]) -> u64 {
    let mut hash = trace::BEGIN;
    for (table, rows) in tables {
        for row in rows {
            hash = trace::hash(hash, &row.id.to_le_bytes());
            hash = trace::hash(hash, &row.number.to_le_bytes());
            let some = row.bytes.len().min(4000);
            hash = trace::hash(hash, &row.bytes[..some]);
            hash = trace::hash(hash, &row.bytes.len().to_le_bytes());
        }
        hash = trace::hash(hash, &table.0.to_le_bytes());
    }
    hash
}
