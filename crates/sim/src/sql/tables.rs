//! The tables, and their rows as a replica has them.

use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::Catalog;
use store::{Cursor, KeyRange, Store, Table};
use types::IndexId;

pub const DATABASE: &str = "sim";

pub const ACCOUNTS: i64 = 6;
pub const BALANCE: i64 = 100;
pub const LISTS: i64 = 5;
pub const TILES: i64 = 40;

/// Makes everything; each of them may be sent again.
pub fn setup() -> Vec<String> {
    let mut statements: Vec<String> = [
        "CREATE DATABASE IF NOT EXISTS sim",
        "CREATE TABLE IF NOT EXISTS sim.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sim.copy (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sim.lists (id INT PRIMARY KEY, n INT NOT NULL, numbers LONGTEXT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sim.tiles (id INT PRIMARY KEY, n INT NOT NULL, k INT NOT NULL, KEY (k))",
        "CREATE TABLE IF NOT EXISTS sim.claims \
         (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, tag BIGINT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sim.jobs (id BIGINT AUTO_INCREMENT PRIMARY KEY, job BIGINT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sim.done (id BIGINT AUTO_INCREMENT PRIMARY KEY, job BIGINT NOT NULL, KEY (job))",
        "CREATE TABLE IF NOT EXISTS sim.parents (id INT PRIMARY KEY, n INT NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sim.children \
         (id BIGINT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, n INT NOT NULL, KEY (parent), \
          FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        "CREATE TABLE IF NOT EXISTS sim.grandchildren \
         (id BIGINT AUTO_INCREMENT PRIMARY KEY, child BIGINT NULL, n INT NOT NULL, KEY (child), \
          FOREIGN KEY (child) REFERENCES children (id) ON DELETE SET NULL)",
        "CREATE TABLE IF NOT EXISTS sim.shape (id BIGINT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, w VARCHAR(20))",
    ]
    .map(str::to_owned)
    .to_vec();
    let rows = |count: i64, row: fn(i64) -> String| (0..count).map(row).collect::<Vec<_>>().join(", ");
    statements.push(format!(
        "INSERT IGNORE INTO sim.accounts VALUES {}",
        rows(ACCOUNTS, |id| format!("({id}, {BALANCE})"))
    ));
    statements.push(format!(
        "INSERT IGNORE INTO sim.lists VALUES {}",
        rows(LISTS, |id| format!("({id}, 0, '')"))
    ));
    statements.push(format!(
        "INSERT IGNORE INTO sim.tiles VALUES {}",
        rows(TILES, |id| format!("({id}, 0, {})", id % 7))
    ));
    statements
}

/// All rows of a table in the order of their keys: each key with its row.
pub fn stored(store: &Arc<Store>, table: &Table) -> Vec<(Vec<u8>, Vec<u8>)> {
    let snapshot = store.snapshot();
    let mut found = Vec::new();
    let mut cursor = Cursor::forward(KeyRange::all());
    while !cursor.is_finished() {
        table.scan(IndexId::PRIMARY, &mut cursor, &snapshot, 1000, |entry| {
            found.push((entry.key().to_vec(), entry.row().to_vec()));
            ControlFlow::Continue(())
        });
    }
    found
}

/// A table's columns and rows, as text.
pub struct Rows {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Rows {
    /// As of the newest commit; none where the table is not there.
    pub fn read(store: &Arc<Store>, catalog: &Catalog, name: &str) -> Option<Rows> {
        let def = catalog.table(DATABASE, name)?;
        let table = store.table(def.id)?;
        let layout = table.row_layout();
        let columns: Vec<String> = def.columns.iter().map(|column| column.name.to_string()).collect();
        let row = |row: &[u8]| {
            (0..columns.len())
                .map(|column| layout.column(row, column).to_string())
                .collect()
        };
        let rows = stored(store, &table).iter().map(|(_, bytes)| row(bytes)).collect();
        Some(Rows { columns, rows })
    }

    pub fn numbers(&self, column: usize) -> impl Iterator<Item = i64> {
        self.rows
            .iter()
            .filter_map(move |row| row.get(column).and_then(|value| value.parse::<i64>().ok()))
    }
}

/// The numbers of a list.
pub fn list_of(text: &str) -> Vec<u32> {
    text.split(',').filter_map(|number| number.parse().ok()).collect()
}
