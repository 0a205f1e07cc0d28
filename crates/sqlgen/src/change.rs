//! Statements that change rows, and the transactions around them.

use crate::expr::{Name, Scope};
use crate::kind;
use crate::query::Generator;
use crate::rng::Rng;
use crate::schema::{Schema, Table, insert_rows};

/// One statement, or a few that belong together.
pub fn change(rng: &mut Rng, schema: &Schema) -> Vec<String> {
    let (bases, views) = (schema.base_tables(), schema.changeable_views());
    if bases.is_empty() {
        return Vec::new();
    }
    let (table, other) = match !views.is_empty() && rng.chance(25) {
        true => (*rng.pick(&views), *rng.pick(&bases)),
        false => (*rng.pick(&bases), *rng.pick(&bases)),
    };
    let one = match rng.below(32) {
        0..=3 => {
            let mut id = rng.between(5, 60);
            let rows = rng.between(1, 3);
            insert_rows(rng, table, &mut id, rows)
        }
        4 => insert_select(rng, schema, table),
        5 | 6 => on_duplicate(rng, table),
        7 => insert_one(rng, table, "REPLACE INTO"),
        8 => insert_one(rng, table, "INSERT INTO"),
        9..=12 => update(rng, schema, table),
        13 | 14 => delete(rng, schema, table),
        15 => joined_update(rng, table, other),
        16 => joined_delete(rng, table, other),
        17 => variable(rng, table),
        18 => select_on_duplicate(rng, schema, table),
        19 => of_missing_rows(rng, table),
        20 => update_of_both(rng, table, other),
        21 => delete_of_both(rng, table, other),
        22 | 23 => rows_with_alias(rng, table),
        24 => derived_on_duplicate(rng, table, other),
        25 | 26 => update_from_query(rng, schema, table),
        27 => delete_by_query(rng, schema, table),
        28 => update_of_three(rng, schema, table, other),
        _ => return transaction(rng, schema),
    };
    vec![one]
}

/// A change of one table inside of a stored program, whose variables it may name.
pub fn of_one_table(rng: &mut Rng, table: &Table, variables: &[Name]) -> String {
    let names: Vec<Name> = [table.names(&table.name).as_slice(), variables].concat();
    let rows = format!(
        "{}.id = {}",
        table.name,
        Scope::of(variables).expression(rng, crate::kind::Kind::Int, 0)
    );
    match rng.below(4) {
        0 => insert_one(rng, table, "INSERT INTO"),
        1 => insert_one(rng, table, "REPLACE INTO"),
        2 => format!("DELETE FROM {} WHERE {rows}", table.name),
        _ => {
            let set = assignment(rng, table, &table.name, &names);
            format!("UPDATE {} SET {set} WHERE {rows}", table.name)
        }
    }
}

/// `UPDATE` or `DELETE` by the primary key, so that every server changes the same rows.
fn filter(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    let names = table.names(&table.name);
    let condition = match rng.chance(20) {
        true => {
            let mut generator = Generator::new(rng, schema);
            let (_, conditions) = generator.subqueries(&names);
            // A subquery of the table that changes is another matter: 1093.
            conditions
                .into_iter()
                .find(|condition| !condition.contains(&format!("FROM {} ", table.name)))
                .unwrap_or_else(|| "1".to_owned())
        }
        false => Scope::of(&names).condition(rng, 1),
    };
    format!("{condition} AND {}.id % 3 = {}", table.name, rng.below(3))
}

fn assignment(rng: &mut Rng, table: &Table, qualifier: &str, names: &[Name]) -> String {
    let writable = table.writable();
    let Some(_) = writable.first() else {
        return format!("{qualifier}.id = {qualifier}.id");
    };
    let column = *rng.pick(&writable);
    let value = match rng.chance(50) || column.name == "p" {
        true => kind::stored(rng, column.sql_type, column.kind),
        false => Scope::of(names).expression(rng, column.kind, 1),
    };
    format!("{qualifier}.{} = {value}", column.name)
}

fn update(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    let names = table.names(&table.name);
    let set = assignment(rng, table, &table.name, &names);
    let ignore = if rng.chance(30) { "IGNORE " } else { "" };
    let order = if rng.chance(20) {
        format!(" ORDER BY id LIMIT {}", rng.between(0, 4))
    } else if !ignore.is_empty() {
        // Which of two rows takes a unique key depends on which comes first.
        " ORDER BY id".to_owned()
    } else {
        String::new()
    };
    format!(
        "UPDATE {ignore}{} SET {set} WHERE {}{order}",
        table.name,
        filter(rng, schema, table)
    )
}

fn delete(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    let order = if rng.chance(20) {
        format!(" ORDER BY id DESC LIMIT {}", rng.between(0, 2))
    } else {
        String::new()
    };
    format!("DELETE FROM {} WHERE {}{order}", table.name, filter(rng, schema, table))
}

fn joined_update(rng: &mut Rng, table: &Table, other: &Table) -> String {
    let names = table.names("a1");
    let set = assignment(rng, table, "a1", &names);
    format!(
        "UPDATE {} a1 JOIN {} a2 ON a1.id = a2.id SET {set} WHERE a2.id < {}",
        table.name,
        other.name,
        rng.between(1, 8)
    )
}

fn joined_delete(rng: &mut Rng, table: &Table, other: &Table) -> String {
    format!(
        "DELETE a1 FROM {} a1 LEFT JOIN {} a2 ON a1.id = a2.id WHERE a2.id IS NULL AND a1.id > {}",
        table.name,
        other.name,
        rng.between(4, 30)
    )
}

/// Both tables of a join; each row of the one has at most one of the other.
fn update_of_both(rng: &mut Rng, table: &Table, other: &Table) -> String {
    let mut names = table.names("a1");
    names.extend(other.names("a2"));
    let (one, two) = (
        assignment(rng, table, "a1", &names),
        assignment(rng, other, "a2", &names),
    );
    let join = *rng.pick(&["JOIN", "LEFT JOIN"]);
    let ignore = if rng.chance(30) { "IGNORE " } else { "" };
    format!(
        "UPDATE {ignore}{} a1 {join} {} a2 ON a1.id = a2.id SET {one}, {two} WHERE a1.id = {}",
        table.name,
        other.name,
        rng.between(1, 8)
    )
}

fn delete_of_both(rng: &mut Rng, table: &Table, other: &Table) -> String {
    format!(
        "DELETE a1, a2 FROM {} a1 JOIN {} a2 ON a1.id = a2.id WHERE a1.id > {}",
        table.name,
        other.name,
        rng.between(6, 30)
    )
}

/// A change with a LIMIT of rows that are not there, or of the last ones.
fn of_missing_rows(rng: &mut Rng, table: &Table) -> String {
    let names = table.names(&table.name);
    let rows = *rng.pick(&[
        "id = 900",
        "id > 900",
        "id BETWEEN 60 AND 900",
        "id IN (901, 902)",
        "id < 0",
    ]);
    let order = *rng.pick(&["", " ORDER BY id", " ORDER BY id DESC"]);
    let limit = rng.between(0, 2);
    match rng.chance(50) {
        true => {
            let set = assignment(rng, table, &table.name, &names);
            format!("UPDATE {} SET {set} WHERE {rows}{order} LIMIT {limit}", table.name)
        }
        false => format!("DELETE FROM {} WHERE {rows}{order} LIMIT {limit}", table.name),
    }
}

/// `INSERT … SELECT … ON DUPLICATE KEY UPDATE`, some of whose rows are there already.
fn select_on_duplicate(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    let insert = insert_select(rng, schema, table);
    let shift = format!("id + {} ", rng.between(0, 3));
    let insert = match insert.split_once("SELECT id + ") {
        Some((head, tail)) => {
            let rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{head}SELECT {}{rest}", shift.trim_end())
        }
        None => insert,
    };
    let names = table.names(&table.name);
    let set = assignment(rng, table, &table.name, &names);
    format!("{insert} ON DUPLICATE KEY UPDATE {set}")
}

fn insert_one(rng: &mut Rng, table: &Table, verb: &str) -> String {
    let mut id = rng.between(0, 12);
    let plain = insert_rows(rng, table, &mut id, 1);
    match plain.split_once("INTO ") {
        Some((_, rest)) => format!("{verb} {rest}"),
        None => plain,
    }
}

fn on_duplicate(rng: &mut Rng, table: &Table) -> String {
    let insert = insert_one(rng, table, "INSERT INTO");
    let names = table.names(&table.name);
    let set = assignment(rng, table, &table.name, &names);
    format!("{insert} ON DUPLICATE KEY UPDATE {set}")
}

/// `INSERT … AS new (…) ON DUPLICATE KEY UPDATE`, or `VALUES(…)` for the row that was refused.
fn rows_with_alias(rng: &mut Rng, table: &Table) -> String {
    let mut id = rng.between(0, 12);
    let rows = rng.between(1, 2);
    let insert = insert_rows(rng, table, &mut id, rows).replacen("INSERT IGNORE", "INSERT", 1);
    let mut names = table.names(&table.name);
    let writable = table.writable();
    let (alias, of_new) = match rng.below(3) {
        0 => (String::new(), names_of_new(table, |column| format!("VALUES({column})"))),
        1 => (
            " AS new".to_owned(),
            names_of_new(table, |column| format!("new.{column}")),
        ),
        _ => {
            let columns: Vec<String> = (0..=writable.len()).map(|at| format!("n{at}")).collect();
            let of_new = names_of_new(table, |column| {
                let at = writable.iter().position(|one| one.name == column);
                format!("new.n{}", at.map_or(0, |at| at + 1))
            });
            (format!(" AS new ({})", columns.join(", ")), of_new)
        }
    };
    names.extend(of_new.iter().cloned());
    names.extend(of_new);
    let sets: Vec<String> = (0..rng.between(1, 2))
        .map(|_| assignment(rng, table, &table.name, &names))
        .collect();
    format!("{insert}{alias} ON DUPLICATE KEY UPDATE {}", sets.join(", "))
}

/// The columns of the row that was not inserted.
fn names_of_new(table: &Table, written: impl Fn(&str) -> String) -> Vec<Name> {
    let columns = table.writable().into_iter();
    columns
        .map(|column| Name {
            sql: written(&column.name),
            kind: column.kind,
        })
        .collect()
}

/// `INSERT … SELECT … FROM (…) ON DUPLICATE KEY UPDATE` that names a column of the query.
fn derived_on_duplicate(rng: &mut Rng, table: &Table, other: &Table) -> String {
    let Some(column) = table.writable().first().map(|column| (*column).clone()) else {
        return delete_of_both(rng, table, other);
    };
    let value = Scope::of(&other.names("a")).expression(rng, column.kind, 1);
    let names = [
        table.names(&table.name),
        vec![
            Name {
                sql: "d.x1".to_owned(),
                kind: column.kind,
            };
            3
        ],
    ]
    .concat();
    let set = assignment(rng, table, &table.name, &names);
    let (shift, last) = (rng.between(0, 2), rng.between(2, 6));
    let grouped = match rng.chance(30) {
        true => format!(
            "SELECT a.id + {shift} AS x0, MAX({value}) AS x1 FROM {} a WHERE a.id < {last} GROUP BY a.id",
            other.name
        ),
        false => format!(
            "SELECT a.id + {shift} AS x0, {value} AS x1 FROM {} a WHERE a.id < {last}",
            other.name
        ),
    };
    format!(
        "INSERT INTO {} (id, {}) SELECT d.x0, d.x1 FROM ({grouped}) d ORDER BY d.x0 ON DUPLICATE KEY UPDATE {set}",
        table.name, column.name
    )
}

/// UPDATE of a table joined with a query that has one row for each of its own.
fn update_from_query(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    let other = *rng.pick(&schema.base_tables());
    let (aggregate, kind) = Scope::of(&other.names("b")).aggregate(rng, 0);
    let names = [
        table.names("a1"),
        vec![
            Name {
                sql: "d.x1".to_owned(),
                kind,
            };
            3
        ],
    ]
    .concat();
    let set = assignment(rng, table, "a1", &names);
    let condition = Scope::of(&names).condition(rng, 1);
    let query = format!(
        "SELECT b.id AS x0, {aggregate} AS x1 FROM {} b GROUP BY b.id",
        other.name
    );
    match rng.below(3) {
        0 => format!(
            "WITH d AS ({query}) UPDATE {} a1 JOIN d ON d.x0 = a1.id SET {set} WHERE {condition}",
            table.name
        ),
        1 => format!(
            "UPDATE {} a1, ({query}) d SET {set} WHERE d.x0 = a1.id AND {condition}",
            table.name
        ),
        _ => format!(
            "UPDATE ({query}) d RIGHT JOIN {} a1 ON d.x0 = a1.id SET {set} WHERE a1.id % 3 = {}",
            table.name,
            rng.below(3)
        ),
    }
}

fn delete_by_query(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    // A subquery of the table that changes is another matter: 1093.
    let mut others = schema.base_tables();
    others.retain(|other| other.name != table.name);
    if others.is_empty() {
        return delete(rng, schema, table);
    }
    let other = *rng.pick(&others);
    let condition = Scope::of(&other.names("b")).condition(rng, 1);
    let query = format!("SELECT b.id AS x0 FROM {} b WHERE {condition}", other.name);
    let from = rng.between(6, 30);
    match rng.below(4) {
        0 => format!(
            "WITH d AS ({query}) DELETE FROM {} WHERE id > {from} AND id IN (SELECT x0 FROM d)",
            table.name
        ),
        1 => format!(
            "DELETE FROM a1 USING {} a1 JOIN ({query}) d ON d.x0 = a1.id WHERE a1.id > {from}",
            table.name
        ),
        2 => format!(
            "DELETE a1 FROM {} a1, ({query}) d WHERE d.x0 = a1.id AND a1.id > {from}",
            table.name
        ),
        _ => format!(
            "DELETE FROM {} a1 WHERE a1.id > {from} AND EXISTS ({query} AND b.id = a1.id)",
            table.name
        ),
    }
}

/// Three tables, two of which change.
fn update_of_three(rng: &mut Rng, schema: &Schema, table: &Table, other: &Table) -> String {
    let third = *rng.pick(&schema.base_tables());
    let names = [table.names("a1"), other.names("a2"), third.names("a3")].concat();
    let (one, two) = (
        assignment(rng, table, "a1", &names),
        assignment(rng, other, "a2", &names),
    );
    let join = *rng.pick(&["JOIN", "LEFT JOIN"]);
    format!(
        "UPDATE {} a1 JOIN {} a2 ON a2.id = a1.id {join} {} a3 ON a3.id = a1.id SET {two}, {one} WHERE a1.id BETWEEN {} AND 9",
        table.name,
        other.name,
        third.name,
        rng.between(1, 8)
    )
}

fn insert_select(rng: &mut Rng, schema: &Schema, table: &Table) -> String {
    let sources: Vec<&Table> = schema
        .base_tables()
        .into_iter()
        .filter(|other| other.name != table.name)
        .collect();
    let source = if sources.is_empty() { table } else { *rng.pick(&sources) };
    let names = source.names(&source.name);
    let scope = Scope::of(&names);
    let writable = table.writable();
    let (mut columns, mut items) = (vec!["id"], vec![format!("id + {}", rng.between(20, 90))]);
    for column in writable.iter().filter(|column| column.name != "p") {
        columns.push(&column.name);
        items.push(match rng.chance(60) {
            true => kind::stored(rng, column.sql_type, column.kind),
            false => scope.expression(rng, column.kind, 0),
        });
    }
    let ignore = if rng.chance(60) { "IGNORE " } else { "" };
    format!(
        "INSERT {ignore}INTO {} ({}) SELECT {} FROM {} WHERE id < {} ORDER BY id",
        table.name,
        columns.join(", "),
        items.join(", "),
        source.name,
        rng.between(2, 6)
    )
}

fn variable(rng: &mut Rng, table: &Table) -> String {
    let names = table.names(&table.name);
    let (aggregate, _) = Scope::of(&names).aggregate(rng, 0);
    format!("SET @v = (SELECT {aggregate} FROM {})", table.name)
}

fn transaction(rng: &mut Rng, schema: &Schema) -> Vec<String> {
    let mut statements = vec!["START TRANSACTION".to_owned()];
    let bases = schema.base_tables();
    let mut saved = false;
    for _ in 0..rng.between(1, 4) {
        let table = *rng.pick(&bases);
        match rng.below(6) {
            0 => {
                statements.push("SAVEPOINT s".to_owned());
                saved = true;
            }
            1 if saved => statements.push("ROLLBACK TO SAVEPOINT s".to_owned()),
            2 => statements.push(delete(rng, schema, table)),
            3 => statements.push(insert_one(rng, table, "INSERT INTO")),
            _ => statements.push(update(rng, schema, table)),
        }
    }
    statements.push(if rng.chance(60) { "COMMIT" } else { "ROLLBACK" }.to_owned());
    statements
}
