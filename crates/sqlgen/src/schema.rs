//! Tables, views and their changes: what exists, as the generator knows it.

use crate::expr::{Name, Scope};
use crate::kind::{self, Index, Kind, TYPES};
use crate::program::Procedure;
use crate::rng::Rng;
use crate::trigger::Function;

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    pub sql_type: &'static str,
    pub kind: Kind,
    pub index: Index,
    pub generated: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Table {
    pub name: String,
    /// Every table has `id INT PRIMARY KEY` before these.
    pub columns: Vec<Column>,
    /// Names of secondary indexes.
    pub indexes: Vec<String>,
    pub is_view: bool,
    /// A view whose rows may be changed: it has the columns of a table, `id` among them.
    pub is_changeable: bool,
    pub is_temporary: bool,
    /// Expressions that keys are made over, where [`QUALIFIER`] stands before each column.
    pub expressions: Vec<(String, Kind)>,
    /// The columns of each FULLTEXT key.
    pub searched: Vec<Vec<String>>,
}

/// What stands for a table's alias.
const QUALIFIER: &str = "\u{1}";

#[derive(Debug, Default)]
pub struct Schema {
    pub tables: Vec<Table>,
    pub procedures: Vec<Procedure>,
    pub functions: Vec<Function>,
    /// Names of events that were made.
    pub events: Vec<String>,
    counter: usize,
}

impl Table {
    /// The columns under an alias.
    pub fn names(&self, alias: &str) -> Vec<Name> {
        let id = Name {
            sql: format!("{alias}.id"),
            kind: Kind::Int,
        };
        let columns = self.columns.iter().map(|column| Name {
            sql: format!("{alias}.{}", column.name),
            kind: column.kind,
        });
        let expressions = self.expressions.iter().map(|(sql, kind)| Name {
            sql: sql.replace(QUALIFIER, &format!("{alias}.")),
            kind: *kind,
        });
        std::iter::once(id).chain(columns).chain(expressions).collect()
    }

    /// Whether each row has an `id` of its own.
    pub fn has_id(&self) -> bool {
        !self.is_view || self.is_changeable
    }

    /// The columns that may be written.
    pub fn writable(&self) -> Vec<&Column> {
        self.columns.iter().filter(|column| !column.generated).collect()
    }
}

impl Schema {
    pub fn base_tables(&self) -> Vec<&Table> {
        self.tables.iter().filter(|table| !table.is_view).collect()
    }

    pub fn changeable_views(&self) -> Vec<&Table> {
        self.tables.iter().filter(|table| table.is_changeable).collect()
    }

    pub fn fresh(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}{}", self.counter)
    }

    /// Statements that make a table and fill it.
    pub fn create_table(&mut self, rng: &mut Rng) -> Vec<String> {
        let name = self.fresh("t");
        let mut table = Table {
            name: name.clone(),
            ..Table::default()
        };
        let id = if rng.chance(25) {
            "id INT PRIMARY KEY AUTO_INCREMENT"
        } else {
            "id INT PRIMARY KEY"
        };
        let mut parts = vec![id.to_owned()];
        for _ in 0..rng.between(2, 6) {
            parts.push(self.column(rng, &mut table));
        }
        if rng.chance(20) {
            let check = Scope::of(&plain_names(&table)).condition(rng, 1);
            parts.push(format!("CHECK ({check} OR id < 1000)"));
        }
        for _ in 0..rng.between(0, 3) {
            parts.extend(self.index(rng, &mut table));
        }
        let lasting = self.base_tables().into_iter().filter(|table| !table.is_temporary);
        let parents: Vec<String> = lasting.map(|table| table.name.clone()).collect();
        if !parents.is_empty() && rng.chance(25) {
            let parent = rng.pick(&parents);
            let action = *rng.pick(&[
                "",
                " ON DELETE CASCADE",
                " ON DELETE SET NULL",
                " ON UPDATE CASCADE ON DELETE CASCADE",
            ]);
            table.columns.push(Column {
                name: "p".to_owned(),
                sql_type: "INT",
                kind: Kind::Int,
                index: Index::Whole,
                generated: false,
            });
            parts.push("p INT".to_owned());
            parts.push(format!("FOREIGN KEY (p) REFERENCES {parent} (id){action}"));
        }
        let mut statements = vec![format!("CREATE TABLE {name} ({})", parts.join(", "))];
        let mut id = 0;
        for _ in 0..rng.between(2, 4) {
            let rows = rng.between(1, 6);
            statements.push(insert_rows(rng, &table, &mut id, rows));
        }
        self.tables.push(table);
        statements
    }

    /// As [`create_table`](Self::create_table), for the session only: without parents.
    pub fn create_temporary_table(&mut self, rng: &mut Rng) -> Vec<String> {
        let others = std::mem::take(&mut self.tables);
        let mut statements = self.create_table(rng);
        let made = self.tables.drain(..).map(|table| Table {
            is_temporary: true,
            ..table
        });
        let made: Vec<Table> = made.collect();
        self.tables = others;
        self.tables.extend(made);
        if let Some(create) = statements.first_mut() {
            *create = create.replacen("CREATE TABLE", "CREATE TEMPORARY TABLE", 1);
        }
        statements
    }

    /// A column's definition; it joins the table.
    fn column(&mut self, rng: &mut Rng, table: &mut Table) -> String {
        let name = self.fresh("c");
        let (sql_type, kind, index) = *rng.pick(TYPES);
        let mut definition = format!("{name} {sql_type}");
        let before = plain_names(table);
        let share = if table.expressions.is_empty() { 10 } else { 25 };
        let generated = rng.chance(share) && !before.is_empty() && kind != Kind::Json;
        if generated {
            let of = Scope::of(&before).expression(rng, kind, 1);
            let how = *rng.pick(&["VIRTUAL", "STORED"]);
            definition += &format!(" GENERATED ALWAYS AS ({of}) {how}");
        } else if rng.chance(12) && !sql_type.ends_with("NULL") {
            definition += " NOT NULL";
        } else if rng.chance(20) && index == Index::Whole {
            definition += &format!(" DEFAULT {}", default_of(sql_type, kind));
        }
        table.columns.push(Column {
            name,
            sql_type,
            kind,
            index,
            generated,
        });
        definition
    }

    /// An index's definition, if some column can have one.
    fn index(&mut self, rng: &mut Rng, table: &mut Table) -> Option<String> {
        let fitting: Vec<&Column> = table
            .columns
            .iter()
            .filter(|column| column.index != Index::Never)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let fitting: Vec<Column> = fitting.into_iter().cloned().collect();
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..rng.between(1, 2) {
            let column = rng.pick(&fitting);
            if rng.chance(15) {
                let (expression, kind) = key_expression(rng, table);
                parts.push(format!("({})", expression.replace(QUALIFIER, "")));
                table.expressions.push((expression, kind));
                continue;
            }
            if parts
                .iter()
                .any(|part| part.split(['(', ' ']).next() == Some(&column.name))
            {
                continue;
            }
            let length = match column.index {
                Index::Prefix => "(5)",
                _ => "",
            };
            let order = if rng.chance(15) { " DESC" } else { "" };
            parts.push(format!("{}{length}{order}", column.name));
        }
        let unique = if rng.chance(15) { "UNIQUE " } else { "" };
        let name = self.fresh("k");
        table.indexes.push(name.clone());
        Some(format!("{unique}KEY {name} ({})", parts.join(", ")))
    }

    /// A statement that changes the schema.
    pub fn change(&mut self, rng: &mut Rng) -> Vec<String> {
        let bases: Vec<usize> = (0..self.tables.len()).filter(|&at| !self.tables[at].is_view).collect();
        if bases.is_empty() || self.tables.len() < 5 && rng.chance(15) {
            return self.create_table(rng);
        }
        let at = *rng.pick(&bases);
        let mut table = self.tables[at].clone();
        let name = table.name.clone();
        let statement = match rng.below(10) {
            0 | 1 => {
                let place = *rng.pick(&["", " FIRST", " AFTER id"]);
                format!("ALTER TABLE {name} ADD COLUMN {}{place}", self.column(rng, &mut table))
            }
            2 => match self.index(rng, &mut table) {
                Some(index) => format!("ALTER TABLE {name} ADD {index}"),
                None => return Vec::new(),
            },
            3 if !table.indexes.is_empty() => {
                let index = table.indexes.remove(rng.below(table.indexes.len()));
                format!("ALTER TABLE {name} DROP INDEX {index}")
            }
            4 if table.columns.len() > 2 => {
                let writable: Vec<String> = table.writable().iter().map(|column| column.name.clone()).collect();
                if writable.is_empty() {
                    return Vec::new();
                }
                let column = rng.pick(&writable).clone();
                table.columns.retain(|one| one.name != column);
                format!("ALTER TABLE {name} DROP COLUMN {column}")
            }
            5 | 6 if !table.columns.is_empty() => self.redefine(rng, &mut table),
            7 if !table.columns.is_empty() => {
                let at = rng.below(table.columns.len());
                let (before, after) = (table.columns[at].name.clone(), self.fresh("c"));
                table.columns[at].name = after.clone();
                for (expression, _) in &mut table.expressions {
                    *expression = expression.replace(&format!("{QUALIFIER}{before}"), &format!("{QUALIFIER}{after}"));
                }
                format!("ALTER TABLE {name} RENAME COLUMN {before} TO {after}")
            }
            8 => {
                let check = Scope::of(&plain_names(&table)).condition(rng, 1);
                let (one, two) = (self.column(rng, &mut table), self.column(rng, &mut table));
                match rng.chance(50) {
                    true => format!(
                        "ALTER TABLE {name} ADD COLUMN {one}, ADD COLUMN {two}, ADD CHECK ({check} OR id < 1000)"
                    ),
                    false => format!("ALTER TABLE {name} ADD COLUMN ({one}, {two})"),
                }
            }
            _ => {
                let fitting: Vec<usize> = (0..table.columns.len())
                    .filter(|&at| {
                        table.columns[at].sql_type == "INT"
                            && table.columns[at].name != "p"
                            && !table.columns[at].generated
                    })
                    .collect();
                if fitting.is_empty() {
                    return Vec::new();
                }
                let at = *rng.pick(&fitting);
                let (sql_type, kind) = *rng.pick(&[
                    ("BIGINT", Kind::Int),
                    ("DECIMAL(12,3)", Kind::Decimal),
                    ("VARCHAR(25)", Kind::Text),
                ]);
                table.columns[at].sql_type = sql_type;
                table.columns[at].kind = kind;
                format!("ALTER TABLE {name} MODIFY COLUMN {} {sql_type}", table.columns[at].name)
            }
        };
        // When it fails, names that do not exist lead to the same error everywhere.
        self.tables[at] = table;
        vec![statement]
    }

    /// Another type or name for a column that others may be computed from.
    fn redefine(&mut self, rng: &mut Rng, table: &mut Table) -> String {
        let at = rng.below(table.columns.len());
        let column = table.columns[at].clone();
        if column.generated || column.name == "p" {
            return format!(
                "ALTER TABLE {} ALTER COLUMN {} SET DEFAULT {}",
                table.name,
                column.name,
                default_of(column.sql_type, column.kind)
            );
        }
        let fitting: Vec<_> = TYPES
            .iter()
            .filter(|(_, kind, _)| *kind == column.kind || rng.chance(10))
            .collect();
        let (sql_type, kind, index) = **rng.pick(&fitting);
        let place = *rng.pick(&["", "", " FIRST", " AFTER id"]);
        let changed = &mut table.columns[at];
        (changed.sql_type, changed.kind, changed.index) = (sql_type, kind, index);
        match rng.chance(70) {
            true => format!(
                "ALTER TABLE {} MODIFY COLUMN {} {sql_type}{place}",
                table.name, column.name
            ),
            false => {
                let name = self.fresh("c");
                table.columns[at].name = name.clone();
                format!(
                    "ALTER TABLE {} CHANGE COLUMN {} {name} {sql_type}{place}",
                    table.name, column.name
                )
            }
        }
    }

    /// Notes a view over a query whose columns are `x0`, `x1`, ….
    pub fn add_view(&mut self, kinds: &[Kind]) -> String {
        let name = self.fresh("v");
        let columns = kinds.iter().enumerate().map(|(at, kind)| Column {
            name: format!("x{at}"),
            sql_type: "",
            kind: *kind,
            index: Index::Never,
            generated: true,
        });
        self.tables.push(Table {
            name: name.clone(),
            columns: columns.collect(),
            is_view: true,
            ..Table::default()
        });
        name
    }

    /// A view of some columns and rows of a table, or of another such view, that rows are changed through; mostly WITH CHECK OPTION.
    pub fn create_changeable_view(&mut self, rng: &mut Rng) -> Option<String> {
        let fitting = |table: &&Table| table.has_id() && !table.is_temporary;
        let sources: Vec<&Table> = self.tables.iter().filter(fitting).collect();
        if sources.is_empty() {
            return None;
        }
        let source = (*rng.pick(&sources)).clone();
        let columns: Vec<Column> = source.columns.iter().filter(|_| rng.chance(80)).cloned().collect();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let condition = Scope::of(&source.names(&source.name)).condition(rng, 1);
        let option = *rng.pick(&[
            "",
            " WITH CHECK OPTION",
            " WITH LOCAL CHECK OPTION",
            " WITH CASCADED CHECK OPTION",
        ]);
        let name = self.fresh("v");
        let sql = format!(
            "CREATE VIEW {name} AS SELECT {} FROM {} WHERE {condition}{option}",
            [vec!["id"], names].concat().join(", "),
            source.name
        );
        self.tables.push(Table {
            name,
            columns,
            is_view: true,
            is_changeable: true,
            ..Table::default()
        });
        Some(sql)
    }

    /// A procedure, and calls of it.
    pub fn create_procedure(&mut self, rng: &mut Rng) -> Vec<String> {
        let name = self.fresh("p");
        let (sql, procedure) = Procedure::create(rng, self, name);
        let mut statements = vec![sql];
        statements.extend(procedure.call(rng));
        self.procedures.push(procedure);
        statements
    }
}

/// An expression over the columns that a key can be made over.
fn key_expression(rng: &mut Rng, table: &Table) -> (String, Kind) {
    let names: Vec<Name> = plain_names(table)
        .into_iter()
        .map(|name| Name {
            sql: format!("{QUALIFIER}{}", name.sql),
            kind: name.kind,
        })
        .collect();
    let (kind, cast) = *rng.pick(&[
        (Kind::Int, "CAST(? AS SIGNED)"),
        (Kind::Int, "?"),
        (Kind::Decimal, "CAST(? AS DECIMAL(20,4))"),
        (Kind::Double, "?"),
        (Kind::Text, "CAST(? AS CHAR(20))"),
        (
            Kind::Text,
            "CAST(? AS CHAR(30) CHARACTER SET utf8mb4) COLLATE utf8mb4_0900_bin",
        ),
        (Kind::Text, "?"),
        (Kind::Date, "CAST(? AS DATE)"),
        (Kind::Datetime, "CAST(? AS DATETIME(3))"),
        (Kind::Time, "CAST(? AS TIME)"),
    ]);
    let depth = rng.between(1, 2) as usize;
    let of = Scope::of(&names).expression(rng, kind, depth);
    (format!("({})", cast.replace('?', &of)), kind)
}

/// The columns without an alias.
fn plain_names(table: &Table) -> Vec<Name> {
    let written = table.columns.iter().filter(|column| !column.generated);
    written
        .map(|column| Name {
            sql: column.name.clone(),
            kind: column.kind,
        })
        .collect()
}

fn default_of(sql_type: &str, kind: Kind) -> &'static str {
    match kind {
        _ if sql_type == "YEAR" => "2021",
        Kind::Int => "7",
        Kind::Decimal => "1.50",
        Kind::Double => "2.5",
        Kind::Text => "'a'",
        Kind::Date => "'2021-03-04'",
        Kind::Datetime => "'2021-03-04 05:06:07'",
        Kind::Time => "'10:11:12'",
        Kind::Json => "NULL",
    }
}

/// An INSERT of `rows` rows, with ids after `id`.
pub fn insert_rows(rng: &mut Rng, table: &Table, id: &mut i64, rows: i64) -> String {
    let writable = table.writable();
    let names: Vec<&str> = std::iter::once("id")
        .chain(writable.iter().map(|column| column.name.as_str()))
        .collect();
    let mut tuples = Vec::new();
    for _ in 0..rows {
        *id += 1;
        let values = writable.iter().map(|column| {
            if column.name == "p" {
                rng.between(1, 6).to_string()
            } else {
                kind::stored(rng, column.sql_type, column.kind)
            }
        });
        let values: Vec<String> = std::iter::once(id.to_string()).chain(values).collect();
        tuples.push(format!("({})", values.join(", ")));
    }
    let ignore = if rng.chance(70) { "IGNORE " } else { "" };
    format!(
        "INSERT {ignore}INTO {} ({}) VALUES {}",
        table.name,
        names.join(", "),
        tuples.join(", ")
    )
}
