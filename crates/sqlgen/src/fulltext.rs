//! Tables with FULLTEXT keys over a small corpus, and searches in them.

use crate::expr::Scope;
use crate::kind::{Index, Kind};
use crate::query::{Generator, Query};
use crate::rng::Rng;
use crate::schema::{Column, Schema, Table};

/// The words of the corpus: common and rare ones, stopwords, short ones, some with accents or marks inside.
const WORDS: &[&str] = &[
    "database",
    "database",
    "mysql",
    "mysql",
    "mysql",
    "tutorial",
    "index",
    "indexes",
    "data",
    "dat",
    "row",
    "rows",
    "the",
    "and",
    "to",
    "is",
    "of",
    "über",
    "uber",
    "Zoë",
    "zoe",
    "zoo",
    "don''t",
    "o''neil",
    "foo_bar",
    "foo-bar",
    "1001",
    "42",
    "x1",
    "日本",
    "日本語",
    "MySQL",
    "DATABASE",
    "straße",
];

/// What stands between words.
const BETWEEN: &[&str] = &[" ", " ", " ", " ", ", ", ". ", "-", "  ", "/", " (", ") "];

/// The type of a column that takes sentences.
pub const SENTENCES: &str = "VARCHAR(200)";

const COLLATIONS: &[&str] = &[
    "",
    "",
    "",
    " COLLATE utf8mb4_0900_as_cs",
    " COLLATE utf8mb4_general_ci",
    " COLLATE utf8mb4_bin",
];

/// A literal of a few words.
pub fn sentence(rng: &mut Rng) -> String {
    let mut text = String::new();
    for at in 0..rng.between(0, 9) {
        if at > 0 {
            text += rng.pick::<&str>(BETWEEN);
        }
        text += rng.pick::<&str>(WORDS);
    }
    format!("'{text}'")
}

impl Schema {
    /// A table with two columns of sentences and FULLTEXT keys over them, filled.
    pub fn create_searched_table(&mut self, rng: &mut Rng) -> Vec<String> {
        let name = self.fresh("t");
        let (one, two) = (self.fresh("c"), self.fresh("c"));
        let number = self.fresh("c");
        let collation = *rng.pick(COLLATIONS);
        let column = |name: &str, sql_type: &'static str, kind: Kind| Column {
            name: name.to_owned(),
            sql_type,
            kind,
            index: Index::Never,
            generated: false,
        };
        let mut searched = vec![vec![one.clone()]];
        if rng.chance(60) {
            searched.push(vec![one.clone(), two.clone()]);
        }
        let keys = searched
            .iter()
            .map(|columns| format!("FULLTEXT KEY ({})", columns.join(", ")));
        let create = format!(
            "CREATE TABLE {name} (id INT PRIMARY KEY, {one} {SENTENCES}{collation}, {two} TEXT{collation}, {number} INT, {})",
            keys.collect::<Vec<_>>().join(", ")
        );
        let table = Table {
            name,
            columns: vec![
                column(&one, SENTENCES, Kind::Text),
                column(&two, SENTENCES, Kind::Text),
                column(&number, "INT", Kind::Int),
            ],
            searched,
            ..Table::default()
        };
        let mut statements = vec![create];
        let mut id = 0;
        for _ in 0..rng.between(2, 3) {
            let rows = rng.between(2, 5);
            statements.push(crate::schema::insert_rows(rng, &table, &mut id, rows));
        }
        self.tables.push(table);
        statements
    }
}

impl Generator<'_> {
    /// A search, beside other conditions, in a join, in groups, or for its rank.
    pub fn matching(&mut self) -> Query {
        let tables: Vec<&Table> = self
            .schema
            .tables
            .iter()
            .filter(|table| !table.searched.is_empty())
            .collect();
        let table = *self.rng.pick(&tables);
        let alias = self.alias();
        let columns = self.rng.pick(&table.searched);
        let columns: Vec<String> = columns.iter().map(|column| format!("{alias}.{column}")).collect();
        let columns = columns.join(", ");
        let search = format!("MATCH ({columns}) AGAINST ({})", self.searched_for());
        let names = table.names(&alias);
        let scope = Scope::of(&names);
        let from = format!("{} {alias}", table.name);
        let (sql, kinds) = match self.rng.below(8) {
            0 => (
                format!("SELECT {alias}.id AS x0, {search} > 0 AS x1 FROM {from}"),
                vec![Kind::Int, Kind::Int],
            ),
            1 => (
                format!("SELECT {alias}.id AS x0, ROUND({search}, 3) AS x1 FROM {from}"),
                vec![Kind::Int, Kind::Double],
            ),
            2 => (
                format!("SELECT COUNT(*) AS x0 FROM {from} WHERE {search}"),
                vec![Kind::Int],
            ),
            3 => {
                let condition = scope.condition(self.rng, 1);
                (
                    format!("SELECT {alias}.id AS x0 FROM {from} WHERE {search} AND {condition}"),
                    vec![Kind::Int],
                )
            }
            4 => {
                let condition = scope.condition(self.rng, 1);
                let word = *self.rng.pick(&["OR", "XOR", "AND NOT"]);
                (
                    format!("SELECT {alias}.id AS x0 FROM {from} WHERE {condition} {word} {search}"),
                    vec![Kind::Int],
                )
            }
            5 => {
                let other = self.one_table();
                let join = *self.rng.pick(&["JOIN", "LEFT JOIN"]);
                let item = self.rng.pick(&other.names).sql.clone();
                (
                    format!(
                        "SELECT {alias}.id AS x0, {item} AS x1 FROM {from} {join} {} ON {item} IS NOT NULL WHERE {search}",
                        other.sql
                    ),
                    vec![Kind::Int, Kind::Text],
                )
            }
            6 => (
                format!("SELECT NOT {search} AS x0, COUNT(*) AS x1 FROM {from} GROUP BY x0"),
                vec![Kind::Int, Kind::Int],
            ),
            _ => (
                format!("SELECT {alias}.id AS x0 FROM {from} WHERE {search}"),
                vec![Kind::Int],
            ),
        };
        Query { sql, kinds }
    }

    /// What is searched for, and in which mode.
    fn searched_for(&mut self) -> String {
        let mode = *self.rng.pick(&[
            "",
            " IN NATURAL LANGUAGE MODE",
            " WITH QUERY EXPANSION",
            " IN BOOLEAN MODE",
            " IN BOOLEAN MODE",
            " IN BOOLEAN MODE",
        ]);
        let mut text = String::new();
        for at in 0..self.rng.between(1, 3) {
            if at > 0 {
                text.push(' ');
            }
            match mode.contains("BOOLEAN") {
                true => text += &self.boolean_term(2),
                false => text += self.rng.pick::<&str>(WORDS),
            }
        }
        format!("'{text}'{mode}")
    }

    fn boolean_term(&mut self, depth: usize) -> String {
        let operator = *self.rng.pick(&["", "", "", "+", "+", "-", "~", ">", "<"]);
        let word = *self.rng.pick(WORDS);
        match self.rng.below(8) {
            0 if depth > 0 => {
                let terms: Vec<String> = (0..self.rng.between(1, 3))
                    .map(|_| self.boolean_term(depth - 1))
                    .collect();
                format!("{operator}({})", terms.join(" "))
            }
            1 | 2 => {
                let letters = word.char_indices().nth(3).map_or(word, |(end, _)| &word[..end]);
                format!("{operator}{}*", letters.trim_end_matches('\''))
            }
            3 => format!("{operator}\"{word} {}\"", self.rng.pick(WORDS)),
            4 if self.rng.chance(30) => {
                let other = *self.rng.pick(WORDS);
                format!("{operator}\"{word} {other}\" @{}", self.rng.between(1, 5))
            }
            _ => format!("{operator}{word}"),
        }
    }
}
