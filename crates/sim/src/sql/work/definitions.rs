//! Changes of definitions, and statements that run beside them: each sees one version of the schema.

use super::{Client, Did};
use crate::sql::client::{Answer, fail};
use crate::workload::Fail;

/// A table is being defined anew, or another was faster: no such table, column or key; it is there already; it was changed.
const MEANWHILE: &[u16] = &[
    1007, 1008, 1049, 1050, 1051, 1054, 1060, 1061, 1091, 1136, 1146, 1396, 1410, 1412,
];

const COLUMNS: i64 = 4;

impl Client<'_> {
    pub(super) fn define(&mut self) -> Did {
        let k = self.one_of(COLUMNS);
        let text = match self.random.below(16) {
            0..=2 => format!("ALTER TABLE sim.shape ADD COLUMN c{k} INT NOT NULL DEFAULT {k}"),
            3 | 4 => format!("ALTER TABLE sim.shape DROP COLUMN c{k}"),
            5 => "ALTER TABLE sim.shape ADD INDEX by_v (v)".to_owned(),
            6 => "ALTER TABLE sim.shape DROP INDEX by_v".to_owned(),
            7 => "CREATE INDEX by_w ON sim.shape (w, v)".to_owned(),
            8 => {
                let length = 20 + self.one_of(20);
                format!("ALTER TABLE sim.shape MODIFY w VARCHAR({length}), ALGORITHM = COPY")
            }
            9 => "TRUNCATE TABLE sim.shape".to_owned(),
            10 => "RENAME TABLE sim.shape TO sim.form".to_owned(),
            11 => "RENAME TABLE sim.form TO sim.shape".to_owned(),
            12 => format!("CREATE TABLE sim.made{k} AS SELECT id, v FROM sim.shape"),
            13 => format!("DROP TABLE sim.made{k}"),
            14 => format!("CREATE TABLE sim.like{k} LIKE sim.shape"),
            _ => format!("DROP TABLE IF EXISTS sim.like{k}, sim.made{k}"),
        };
        self.beside(&text).map(drop)
    }

    pub(super) fn use_shape(&mut self) -> Did {
        // The other name is good for a while.
        let table = ["sim.shape", "sim.shape", "sim.shape", "sim.form"][self.random.below(4) as usize];
        let n = self.number();
        match self.random.below(6) {
            0 | 1 => self
                .beside(&format!(
                    "INSERT INTO {table} (v, w) VALUES ({n}, 'w'), ({n} + 1, NULL)"
                ))
                .map(drop),
            2 => self
                .beside(&format!("UPDATE {table} SET v = v + 1 ORDER BY id LIMIT 5"))
                .map(drop),
            3 => self.beside(&format!("DELETE FROM {table} LIMIT 2")).map(drop),
            4 => self.in_transaction(|client| {
                let found = client.beside(&format!("SELECT * FROM {table} FOR UPDATE"))?;
                client.check_columns(&found);
                client.think();
                client
                    .beside(&format!("INSERT INTO {table} (v) VALUES ({n})"))
                    .map(drop)
            }),
            _ => {
                let found = self.beside(&format!("SELECT * FROM {table}"))?;
                self.check_columns(&found);
                Ok(())
            }
        }
    }

    /// A column has had its value since it was added.
    fn check_columns(&self, found: &Answer) {
        for (at, column) in found.columns.iter().enumerate() {
            let Some(value) = column.strip_prefix('c') else {
                continue;
            };
            if let Some(row) = found.rows.iter().find(|row| row[at] != value) {
                let name = &self.name;
                self.bench.report.violation(
                    "catalog",
                    format_args!("{name} reads {row:?} in columns {:?}", found.columns),
                );
            }
        }
    }

    fn beside(&mut self, text: &str) -> Result<Answer, Fail> {
        self.send(text, MEANWHILE).map_err(|error| fail(&error))
    }

    /// Accounts and global variables: rows of the catalog, too.
    pub(super) fn govern(&mut self) -> Did {
        let (who, n) = (self.one_of(3), 100 + self.one_of(100));
        let text = match self.random.below(6) {
            0 => format!("CREATE USER u{who}@localhost"),
            1 => format!("DROP USER u{who}@localhost"),
            2 => format!("GRANT SELECT ON sim.* TO u{who}@localhost"),
            3 => format!("SET GLOBAL max_connections = {n}"),
            4 => format!("SET PERSIST max_connections = {n}"),
            _ => "RESET PERSIST IF EXISTS max_connections".to_owned(),
        };
        self.beside(&text).map(drop)
    }
}
