//! Operations at random: mostly such as can succeed, now and then one that cannot.

use std::collections::BTreeMap;

use env::SeededRandom;

use super::model::{Action, Added, Body, Column, ForeignKey, Key, Operation, Row, State, Table};

/// Few names, so that they meet.
const TABLES: [&str; 5] = ["t1", "t2", "t3", "t4", "t5"];
const COLUMNS: [&str; 4] = ["a", "b", "c", "d"];
const KEYS: [&str; 3] = ["k1", "k2", "k3"];
const FOREIGN_KEYS: [&str; 3] = ["f1", "f2", "f3"];
const VIEWS: [&str; 2] = ["v1", "v2"];
const PROCEDURES: [&str; 2] = ["p1", "p2"];
const TYPES: [&str; 3] = ["bigint", "int", "decimal"];
const IDS: u64 = 200;
const ROWS_MAX: usize = 400;

pub struct Generator {
    random: SeededRandom,
    next_key: u64,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator {
            random: SeededRandom::new(seed),
            next_key: 0,
        }
    }

    pub fn below(&self, limit: u64) -> u64 {
        self.random.below(limit)
    }

    pub fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn of<'n>(&self, names: &[&'n str]) -> &'n str {
        names[self.below(names.len() as u64) as usize]
    }

    fn table(&self, state: &State) -> String {
        let known: Vec<&String> = state.tables.keys().collect();
        match known.is_empty() || self.one_in(20) {
            true => self.of(&TABLES).to_owned(),
            false => known[self.below(known.len() as u64) as usize].clone(),
        }
    }

    /// A name that is free, mostly.
    fn new_name(&self, state: &State) -> String {
        let free: Vec<&str> = TABLES
            .into_iter()
            .filter(|name| !state.tables.contains_key(*name))
            .collect();
        match free.is_empty() || self.one_in(20) {
            true => self.of(&TABLES).to_owned(),
            false => self.of(&free).to_owned(),
        }
    }

    fn column(&self, table: Option<&Table>) -> String {
        let known: Vec<&str> = table
            .into_iter()
            .flat_map(|table| &table.columns)
            .map(|column| column.name.as_str())
            .collect();
        match known.is_empty() || self.one_in(15) {
            true => self.of(&COLUMNS).to_owned(),
            false => self.of(&known).to_owned(),
        }
    }

    fn new_column(&self) -> Column {
        Column {
            name: self.of(&COLUMNS).to_owned(),
            ty: self.of(&TYPES),
        }
    }

    fn ids(&self) -> (i64, i64) {
        let from = self.below(IDS) as i64;
        (from, from + self.below(20) as i64)
    }

    pub fn operation(&mut self, state: &State) -> Operation {
        if !state.exists {
            return Operation::CreateDatabase;
        }
        let table = self.table(state);
        match self.below(100) {
            0 => Operation::DropDatabase,
            1..=9 => Operation::Create(self.new_name(state), self.new_table(state)),
            10..=11 => Operation::CreateLike(self.new_name(state), table),
            12..=14 => Operation::CreateSelect(self.new_name(state), table),
            15..=18 => Operation::Drop(match self.one_in(4) {
                true if table != "t1" => vec![table, "t1".to_owned()],
                _ => vec![table],
            }),
            19..=22 => Operation::Rename(self.renames(state, table)),
            23..=24 => Operation::Truncate(table),
            25..=49 => {
                let known = state.tables.get(&table).cloned();
                let actions = self.actions(state, known.as_ref());
                Operation::Alter(table, actions)
            }
            50..=51 => Operation::CreateView(self.of(&VIEWS).to_owned(), table),
            52 => Operation::DropView(self.of(&VIEWS).to_owned()),
            53 => Operation::Nothing(self.temporary(&table)),
            54 => match self.one_in(3) {
                true => Operation::UpdateThrough(self.of(&VIEWS).to_owned(), self.ids()),
                false => Operation::DeleteThrough(self.of(&VIEWS).to_owned(), self.ids()),
            },
            55 => match self.one_in(3) {
                true => Operation::DropProcedure(self.of(&PROCEDURES).to_owned()),
                false => Operation::CreateProcedure(self.of(&PROCEDURES).to_owned(), self.body(state, table)),
            },
            56..=79 => {
                let columns = state.tables.get(&table).map_or(1, |table| table.columns.len());
                Operation::Insert(table, self.rows(columns))
            }
            80..=82 => Operation::Call(self.of(&PROCEDURES).to_owned()),
            83..=91 => {
                let column = self.column(state.tables.get(&table));
                Operation::Update(table, column, self.below(5) as i64 + 1, self.ids())
            }
            _ => {
                let is_full = state
                    .tables
                    .get(&table)
                    .is_some_and(|table| table.rows.len() > ROWS_MAX);
                let ids = if is_full { (0, i64::MAX) } else { self.ids() };
                Operation::Delete(table, ids)
            }
        }
    }

    fn body(&self, state: &State, table: String) -> Body {
        let column = self.column(state.tables.get(&table));
        let is_update = !self.one_in(3);
        let by = self.below(5) as i64 + 1;
        Body {
            change: is_update.then_some((column, by)),
            table,
            ids: self.ids(),
        }
    }

    fn new_table(&mut self, state: &State) -> Table {
        let mut columns: Vec<Column> = Vec::new();
        for name in &COLUMNS[..1 + self.below(3) as usize] {
            columns.push(Column {
                name: (*name).to_owned(),
                ty: self.of(&TYPES),
            });
        }
        let mut table = Table {
            columns,
            ..Table::default()
        };
        if self.one_in(2) {
            table.keys.insert("k1".to_owned(), self.key(&table));
        }
        if self.one_in(4) {
            self.next_key += 1;
            table.columns[0].ty = "bigint";
            let key = Key {
                is_unique: false,
                is_computed: false,
                columns: vec![table.columns[0].name.clone()],
            };
            table.keys.insert("k2".to_owned(), key);
            // Names of foreign keys are the database's.
            table.foreign_keys.insert(
                format!("f{}", self.next_key + 10),
                ForeignKey {
                    column: table.columns[0].name.clone(),
                    parent: self.table(state),
                    cascades: self.one_in(2),
                },
            );
        }
        table
    }

    fn key(&self, table: &Table) -> Key {
        let mut columns = vec![self.column(Some(table))];
        let second = self.column(Some(table));
        if self.one_in(2) && !columns.contains(&second) {
            columns.push(second);
        }
        Key {
            is_unique: self.one_in(4),
            is_computed: self.one_in(4),
            columns,
        }
    }

    fn renames(&self, state: &State, table: String) -> Vec<(String, String)> {
        let other = self.table(state);
        match self.one_in(2) && other != table {
            true => vec![
                (table.clone(), "swap".to_owned()),
                (other.clone(), table),
                ("swap".to_owned(), other),
            ],
            false => vec![(table, self.new_name(state))],
        }
    }

    fn actions(&mut self, state: &State, table: Option<&Table>) -> Vec<Action> {
        let column = self.column(table);
        let action = match self.below(22) {
            0..=5 => Action::Add(
                self.new_column(),
                match self.below(3) {
                    0 => Added::Null,
                    1 => Added::Literal(self.below(100) as i64),
                    _ => Added::Id(self.below(100) as i64),
                },
            ),
            6..=8 => Action::DropColumn(column),
            9..=10 => Action::RenameColumn(column, self.of(&COLUMNS).to_owned()),
            11..=12 => Action::Modify(Column {
                name: column,
                ty: self.of(&TYPES),
            }),
            13..=15 => Action::AddKey(self.of(&KEYS).to_owned(), self.key(table.unwrap_or(&Table::default()))),
            16 => Action::DropKey(self.of(&KEYS).to_owned()),
            17..=18 => {
                self.next_key += 1;
                let begins = |key: &&Key| key.columns.len() == 1 && !key.is_computed;
                let keys: BTreeMap<String, Key> = table.map(|table| table.keys.clone()).unwrap_or_default();
                match keys.values().find(begins) {
                    // One that needs no index of its own.
                    Some(key) => Action::AddForeignKey(
                        format!("f{}", self.next_key + 10),
                        ForeignKey {
                            column: key.columns[0].clone(),
                            parent: self.table(state),
                            cascades: self.one_in(2),
                        },
                    ),
                    None => Action::AddKey(self.of(&KEYS).to_owned(), self.key(table.unwrap_or(&Table::default()))),
                }
            }
            19 => {
                let known = table.and_then(|table| table.foreign_keys.keys().next().cloned());
                Action::DropForeignKey(known.unwrap_or_else(|| self.of(&FOREIGN_KEYS).to_owned()))
            }
            20 => Action::Rename(self.new_name(state)),
            _ => Action::Force,
        };
        match self.one_in(4) {
            true => vec![action, Action::Copy],
            false => vec![action],
        }
    }

    fn temporary(&self, table: &str) -> String {
        match self.below(5) {
            0 => "CREATE TEMPORARY TABLE own (id BIGINT PRIMARY KEY, a INT, KEY (a))".to_owned(),
            1 => format!("CREATE TEMPORARY TABLE own SELECT * FROM {table}"),
            2 => "INSERT INTO own (id) VALUES (1), (2), (3)".to_owned(),
            3 => "DELETE FROM own".to_owned(),
            _ => "DROP TEMPORARY TABLE IF EXISTS own".to_owned(),
        }
    }

    fn rows(&self, columns: usize) -> Vec<(i64, Row)> {
        let first = self.below(IDS) as i64;
        let value = || (!self.one_in(4)).then(|| self.below(IDS) as i64);
        (0..1 + self.below(8) as i64)
            .map(|at| (first + at, (0..columns).map(|_| value()).collect()))
            .collect()
    }

    /// A statement on tables that all clients share.
    pub fn shared(&self) -> String {
        let (table, other) = (self.of(&["s1", "s2", "s3"]), self.of(&["s1", "s2", "s3"]));
        let column = self.of(&COLUMNS);
        let (from, to) = self.ids();
        match self.below(36) {
            0 => format!("ALTER TABLE shared.{table} ADD COLUMN {column} INT DEFAULT 7"),
            1 => format!("ALTER TABLE shared.{table} DROP COLUMN {column}"),
            2 => format!("ALTER TABLE shared.{table} ADD COLUMN {column} BIGINT DEFAULT (p + 1), ALGORITHM = COPY"),
            3 => format!("CREATE INDEX i{column} ON shared.{table} ({column})"),
            4 => format!("DROP INDEX i{column} ON shared.{table}"),
            5 => format!(
                "RENAME TABLE shared.{table} TO shared.swap, shared.{other} TO shared.{table}, shared.swap TO shared.{other}"
            ),
            6 => format!("TRUNCATE TABLE shared.{table}"),
            7 => format!(
                "ALTER TABLE shared.{table} ADD FOREIGN KEY (p) REFERENCES shared.{other} (id) ON DELETE SET NULL"
            ),
            8 => format!("ALTER TABLE shared.{table} DROP FOREIGN KEY {table}_ibfk_1"),
            9 => format!("DROP TABLE shared.{table}"),
            10..=11 => format!(
                "CREATE TABLE IF NOT EXISTS shared.{table} (id BIGINT AUTO_INCREMENT PRIMARY KEY, p BIGINT, KEY (p))"
            ),
            12 => format!("CREATE OR REPLACE VIEW shared.v AS SELECT id, p FROM shared.{table}"),
            13 => "SELECT COUNT(*) FROM shared.v".to_owned(),
            14 => format!("CREATE TABLE shared.copy SELECT * FROM shared.{table}"),
            15 => "DROP TABLE shared.copy".to_owned(),
            16..=18 => format!("SELECT COUNT(*) FROM shared.{table}, shared.{other}"),
            19..=22 => format!("INSERT INTO shared.{table} (p) SELECT id FROM shared.{other} LIMIT 10"),
            23 => format!("INSERT INTO shared.{table} (p) VALUES (NULL), (NULL), (NULL)"),
            24..=26 => format!("UPDATE shared.{table} SET p = NULL WHERE id BETWEEN {from} AND {to}"),
            27 => format!("SELECT id FROM shared.{table} WHERE id < 50 FOR UPDATE"),
            28 => format!("CREATE INDEX e ON shared.{table} ((p + 1))"),
            29 => format!("DROP INDEX e ON shared.{table}"),
            30 => format!("SELECT COUNT(*) FROM shared.{table} WHERE p + 1 = 7"),
            31 => format!(
                "CREATE PROCEDURE shared.move() BEGIN DECLARE n INT DEFAULT 0; WHILE n < 3 DO SET n = n + 1; \
                 UPDATE shared.{table} SET p = NULL WHERE id = n; DELETE FROM shared.{other} WHERE id = n; END WHILE; END"
            ),
            32 => "DROP PROCEDURE IF EXISTS shared.move".to_owned(),
            33 => "CALL shared.move()".to_owned(),
            34 => "DELETE FROM shared.v WHERE id = 7".to_owned(),
            _ => format!("DELETE FROM shared.{table} WHERE id BETWEEN {from} AND {to}"),
        }
    }
}
