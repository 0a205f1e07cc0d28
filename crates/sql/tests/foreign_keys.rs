//! Random changes of four tables with foreign keys between them, against a model: the same statements fail, and the same
//! rows are left, whether a transaction commits or rolls back.

use std::collections::BTreeMap;

use crate::common::{Client, Database};
use proptest::prelude::*;

const SCHEMA: [&str; 4] = [
    "CREATE TABLE p (id INT PRIMARY KEY)",
    "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "CREATE TABLE g (id INT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES c (id) ON DELETE SET NULL ON UPDATE CASCADE)",
    "CREATE TABLE r (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))",
];

/// A table of rows by id, with what they refer to.
type Rows = BTreeMap<i32, Option<i32>>;

/// The tables p, c, g and r.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    p: Rows,
    c: Rows,
    g: Rows,
    r: Rows,
}

#[derive(Debug, Clone)]
enum Change {
    AddParent(i32),
    AddChild(i32, Option<i32>),
    AddGrandchild(i32, Option<i32>),
    AddRestricting(i32, Option<i32>),
    DeleteParent(i32),
    DeleteChild(i32),
    MoveParent(i32, i32),
    MoveChild(i32, i32),
    PointRestricting(i32, Option<i32>),
    DeleteRestricting(i32),
}

use Change::*;

/// Why the model refuses a change.
struct Refused;

fn add(rows: &mut Rows, parents: Option<&Rows>, id: i32, to: Option<i32>) -> Result<(), Refused> {
    let has_parent = to.is_none_or(|to| parents.is_some_and(|parents| parents.contains_key(&to)));
    if rows.contains_key(&id) || !has_parent {
        return Err(Refused);
    }
    rows.insert(id, to);
    Ok(())
}

/// Gives a row another id.
fn rename(rows: &mut Rows, from: i32, to: i32) -> Result<bool, Refused> {
    match rows.get(&from).copied() {
        Some(_) if from != to && rows.contains_key(&to) => Err(Refused),
        Some(value) if from != to => {
            rows.remove(&from);
            rows.insert(to, value);
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn repoint(rows: &mut Rows, from: i32, to: Option<i32>) {
    for value in rows.values_mut().filter(|value| **value == Some(from)) {
        *value = to;
    }
}

impl Model {
    fn delete_child(&mut self, id: i32) {
        if self.c.remove(&id).is_some() {
            repoint(&mut self.g, id, None);
        }
    }

    fn apply(&mut self, change: &Change) -> Result<(), Refused> {
        let restricts = |rows: &Rows, id: i32| rows.values().any(|value| *value == Some(id));
        match *change {
            AddParent(id) => add(&mut self.p, None, id, None),
            AddChild(id, to) => add(&mut self.c, Some(&self.p), id, to),
            AddGrandchild(id, to) => add(&mut self.g, Some(&self.c), id, to),
            AddRestricting(id, to) => add(&mut self.r, Some(&self.p), id, to),
            DeleteParent(id) if restricts(&self.r, id) => Err(Refused),
            DeleteParent(id) => {
                if self.p.remove(&id).is_some() {
                    let children: Vec<i32> = self
                        .c
                        .iter()
                        .filter(|(_, to)| **to == Some(id))
                        .map(|(id, _)| *id)
                        .collect();
                    children.into_iter().for_each(|child| self.delete_child(child));
                }
                Ok(())
            }
            DeleteChild(id) => {
                self.delete_child(id);
                Ok(())
            }
            MoveParent(from, to) if from != to && restricts(&self.r, from) => Err(Refused),
            MoveParent(from, to) => {
                if rename(&mut self.p, from, to)? {
                    repoint(&mut self.c, from, Some(to));
                }
                Ok(())
            }
            MoveChild(from, to) => {
                if rename(&mut self.c, from, to)? {
                    repoint(&mut self.g, from, Some(to));
                }
                Ok(())
            }
            PointRestricting(id, to) => {
                if to.is_some_and(|to| !self.p.contains_key(&to)) && self.r.contains_key(&id) {
                    return Err(Refused);
                }
                if let Some(value) = self.r.get_mut(&id) {
                    *value = to;
                }
                Ok(())
            }
            DeleteRestricting(id) => {
                self.r.remove(&id);
                Ok(())
            }
        }
    }
}

impl Change {
    fn sql(&self) -> String {
        let value = |to: &Option<i32>| to.map_or("NULL".to_owned(), |to| to.to_string());
        match self {
            AddParent(id) => format!("INSERT INTO p VALUES ({id})"),
            AddChild(id, to) => format!("INSERT INTO c VALUES ({id}, {})", value(to)),
            AddGrandchild(id, to) => format!("INSERT INTO g VALUES ({id}, {})", value(to)),
            AddRestricting(id, to) => format!("INSERT INTO r VALUES ({id}, {})", value(to)),
            DeleteParent(id) => format!("DELETE FROM p WHERE id = {id}"),
            DeleteChild(id) => format!("DELETE FROM c WHERE id = {id}"),
            MoveParent(from, to) => format!("UPDATE p SET id = {to} WHERE id = {from}"),
            MoveChild(from, to) => format!("UPDATE c SET id = {to} WHERE id = {from}"),
            PointRestricting(id, to) => format!("UPDATE r SET p = {} WHERE id = {id}", value(to)),
            DeleteRestricting(id) => format!("DELETE FROM r WHERE id = {id}"),
        }
    }
}

fn changes() -> impl Strategy<Value = Change> {
    let id = || 0..5i32;
    let to = || prop::option::weighted(0.9, 0..5i32);
    prop_oneof![
        3 => id().prop_map(AddParent),
        3 => (id(), to()).prop_map(|(id, to)| AddChild(id, to)),
        3 => (id(), to()).prop_map(|(id, to)| AddGrandchild(id, to)),
        1 => (id(), to()).prop_map(|(id, to)| AddRestricting(id, to)),
        2 => id().prop_map(DeleteParent),
        1 => id().prop_map(DeleteChild),
        2 => (id(), id()).prop_map(|(from, to)| MoveParent(from, to)),
        1 => (id(), id()).prop_map(|(from, to)| MoveChild(from, to)),
        1 => (id(), to()).prop_map(|(id, to)| PointRestricting(id, to)),
        1 => id().prop_map(DeleteRestricting),
    ]
}

fn rows(client: &mut Client, query: &str) -> Vec<String> {
    client.run(query).split_off(1)
}

fn expected(rows: &Rows) -> Vec<String> {
    let value = |to: &Option<i32>| to.map_or("NULL".to_owned(), |to| to.to_string());
    rows.iter().map(|(id, to)| format!("{id} | {}", value(to))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_same_changes_are_refused_and_the_same_rows_left(
        transactions in prop::collection::vec((prop::collection::vec(changes(), 1..8), any::<bool>()), 1..12),
    ) {
        let mut database = Database::open();
        let mut client = database.session();
        SCHEMA.iter().for_each(|sql| drop(client.run(sql)));
        let mut model = Model::default();
        for (changes, commits) in &transactions {
            let mut next = model.clone();
            client.run("BEGIN");
            for change in changes {
                let before = next.clone();
                let refused = next.apply(change).is_err();
                if refused {
                    next = before;
                }
                let answer = client.try_run(&change.sql());
                prop_assert_eq!(answer.is_err(), refused, "{}: {:?}", change.sql(), answer.map_err(|e| e.to_string()));
            }
            client.run(if *commits { "COMMIT" } else { "ROLLBACK" });
            if *commits {
                model = next;
            }
            for (table, wanted) in [("c", &model.c), ("g", &model.g), ("r", &model.r)] {
                let query = format!("SELECT * FROM {table} ORDER BY id");
                prop_assert_eq!(rows(&mut client, &query), expected(wanted), "{}", table);
            }
            let parents: Vec<String> = model.p.keys().map(i32::to_string).collect();
            prop_assert_eq!(rows(&mut client, "SELECT * FROM p ORDER BY id"), parents);
        }
    }
}
