//! What a replica has of a cluster that speaks SQL, at each commit: the same rows and the same catalog as the others at that commit; the
//! catalog in use is that of its rows; and all that it says twice agrees (`sql::verify`): definitions with rows, indexes with rows, unique keys,
//! children with parents. What tables of the clients and keys promise is looked at, too.

use std::collections::BTreeMap;
use std::sync::Arc;

use catalog::{Catalog, SYSTEM_TABLE};
use parking_lot::Mutex;
use shard::Observer;
use sql::schema::Schema;
use store::Store;
use types::Timestamp;

use super::jobs::Jobs;
use super::keys::Kept;
use super::tiles::Tiles;
use crate::report::Report;
use crate::sql::tables::{ACCOUNTS, BALANCE, Rows, stored};
use crate::trace;

#[derive(Default)]
pub struct Catalogs {
    /// Hashes of all rows at a commit, and who had them first.
    states: BTreeMap<Timestamp, (u64, u32)>,
    /// What each node was looked at last.
    seen: BTreeMap<u32, Timestamp>,
    /// Under which automatic ids rows of claims were, and their tags.
    ids: Mutex<BTreeMap<i64, i64>>,
    pub compared: usize,
}

impl Catalogs {
    /// The node has begun another life: it may show an earlier state again.
    pub fn forget(&mut self, node: u32) {
        self.seen.remove(&node);
    }

    pub fn look(&mut self, node: u32, store: &Arc<Store>, schema: &Schema, report: &Report) {
        let newest = store.published();
        if self.seen.insert(node, newest) == Some(newest) {
            return;
        }
        let catalog = schema.catalog();
        let (hash, of_rows) = hash_of(store, newest);
        let (first, whose) = *self.states.entry(newest).or_insert((hash, node));
        self.compared += usize::from(whose != node);
        let at = newest.0;
        if first != hash {
            report.violation(
                "equality",
                format_args!("at commit {at} the rows of node {node} are not those of node {whose}"),
            );
        }
        match of_rows {
            Ok(of_rows) if shown(&of_rows) == shown(&catalog) => {}
            Ok(_) => report.violation(
                "catalog",
                format_args!("at commit {at} node {node} uses another catalog than that of its rows"),
            ),
            Err(error) => report.violation(
                "catalog",
                format_args!("at commit {at} the catalog of node {node} cannot be read: {error}"),
            ),
        }
        if let Some(problem) = sql::verify::verify(store, &catalog, 0).problems.first() {
            report.violation("catalog", format_args!("at commit {at} on node {node}: {problem}"));
        }
        self.look_at_tables(node, at, store, &catalog, report);
    }

    fn look_at_tables(&self, node: u32, at: u64, store: &Arc<Store>, catalog: &Catalog, report: &Report) {
        Kept::read(store, catalog).look(node, at, report);
        let read = |name| Rows::read(store, catalog, name);
        for name in ["accounts", "copy"] {
            if let Some(rows) = read(name).filter(|rows| !rows.rows.is_empty()) {
                let (sum, count) = (rows.numbers(1).sum::<i64>(), rows.rows.len() as i64);
                if (sum, count) != (ACCOUNTS * BALANCE, ACCOUNTS) {
                    report.violation(
                        "bank",
                        format_args!(
                            "on node {node} {name} has {sum} on {count} rows at {at}: {:?}",
                            rows.rows
                        ),
                    );
                }
            }
        }
        for name in ["shape", "form"] {
            let Some(rows) = read(name) else { continue };
            for (column, title) in rows.columns.iter().enumerate() {
                let Some(value) = title.strip_prefix('c') else { continue };
                if let Some(row) = rows.rows.iter().find(|row| row[column] != value) {
                    report.violation(
                        "catalog",
                        format_args!(
                            "on node {node} {name} has {row:?} in columns {:?} at {at}",
                            rows.columns
                        ),
                    );
                }
            }
        }
        if let (Some(jobs), Some(done)) = (read("jobs"), read("done")) {
            Jobs::look(node, &jobs, &done, report);
        }
        if let Some(tiles) = read("tiles") {
            Tiles::look(node, &tiles, report);
        }
        if let Some(claims) = read("claims") {
            let mut ids = self.ids.lock();
            for (id, tag) in claims.numbers(0).zip(claims.numbers(2)) {
                let first = *ids.entry(id).or_insert(tag);
                if first != tag {
                    report.violation(
                        "ids",
                        format_args!("the automatic id {id} was given to {first}, and on node {node} to {tag}"),
                    );
                }
            }
        }
    }
}

/// A hash of all rows, and the catalog that they make.
fn hash_of(store: &Arc<Store>, at: Timestamp) -> (u64, Result<Arc<Catalog>, String>) {
    let mut hash = trace::BEGIN;
    let of_rows = Schema::new();
    // Until the first leader has made it.
    let mut made = Ok(());
    let mut tables = store.tables();
    tables.retain(|table| !table.id().is_local());
    tables.sort_by_key(|table| table.id());
    for table in tables {
        let rows = stored(store, &table);
        hash = trace::hash(hash, &table.id().0.to_le_bytes());
        for (key, row) in &rows {
            hash = trace::hash(trace::hash(hash, key), row);
        }
        if table.id() == SYSTEM_TABLE {
            made = of_rows.restore(&rows, at);
        }
    }
    (hash, made.map(|()| of_rows.catalog()))
}

/// A catalog as text, without the moments of its changes: one that has come with a checkpoint does not know them.
fn shown(catalog: &Catalog) -> String {
    let text = format!("{catalog:?}");
    let mut parts = text.split("visible_from: Timestamp(");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shown.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    }
    match (shown.find("version: "), shown.find(", databases")) {
        (Some(from), Some(to)) if from < to => shown.replace_range(from..to, ""),
        _ => {}
    }
    shown
}
