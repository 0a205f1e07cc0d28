//! Queries: joins of all kinds, derived tables, subqueries, common table expressions, grouping, windows, set operations.

use crate::expr::{Name, Scope};
use crate::kind::Kind;
use crate::rng::Rng;
use crate::schema::Schema;

/// A query with what the comparison has to know of it.
#[derive(Debug, Clone)]
pub struct Query {
    pub sql: String,
    /// Of its columns, which are named `x0`, `x1`, ….
    pub kinds: Vec<Kind>,
}

/// The tables of a FROM clause and the columns they bring.
#[derive(Debug, Clone)]
pub struct From {
    pub sql: String,
    pub names: Vec<Name>,
    /// The primary keys, which tell the rows apart; empty where there are none.
    pub ids: Vec<String>,
}

/// What texts are grouped and ordered by.
pub const COLLATIONS: &[&str] = &[
    "utf8mb4_bin",
    "utf8mb4_0900_bin",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_de_pb_0900_ai_ci",
    "utf8mb4_sv_0900_as_cs",
    "utf8mb4_ru_0900_ai_ci",
];

pub struct Generator<'a> {
    pub rng: &'a mut Rng,
    pub schema: &'a Schema,
    /// Of aliases.
    counter: usize,
    /// How deep expressions go.
    pub depth: usize,
    /// Whether the query stands in a FROM clause. There MySQL takes constants for constants of the whole, also where an outer join
    /// makes them NULL, so that answers differ for no good reason; every column is one of the tables.
    is_inner: bool,
}

impl<'a> Generator<'a> {
    pub fn new(rng: &'a mut Rng, schema: &'a Schema) -> Generator<'a> {
        let depth = *rng.pick(&[1, 1, 2, 2, 3]);
        Generator {
            rng,
            schema,
            counter: 0,
            depth,
            is_inner: false,
        }
    }

    pub fn alias(&mut self) -> String {
        self.counter += 1;
        format!("a{}", self.counter)
    }

    /// One table under an alias.
    pub fn one_table(&mut self) -> From {
        let alias = self.alias();
        let table = self.rng.pick(&self.schema.tables).clone();
        From {
            sql: format!("{} {alias}", table.name),
            names: match table.has_id() {
                true => table.names(&alias),
                false => table.names(&alias).split_off(1),
            },
            ids: match table.has_id() {
                true => vec![format!("{alias}.id")],
                false => Vec::new(),
            },
        }
    }

    /// A table, a derived table or a join.
    pub fn from(&mut self, budget: usize) -> From {
        let mut from = self.source(budget);
        let joins = if budget == 0 {
            0
        } else {
            *self.rng.pick(&[0, 0, 1, 1, 2])
        };
        for _ in 0..joins {
            from = match self.rng.below(20) {
                0 | 1 => self.lateral(from),
                2 => self.joined_document(from),
                _ => {
                    let right = self.source(budget - 1);
                    self.join(from, right)
                }
            };
        }
        from
    }

    /// Joins a LATERAL table, which names columns of the tables before it.
    fn lateral(&mut self, left: From) -> From {
        let inner = self.correlated(&left.names);
        let alias = self.alias();
        let mut names = left.names.clone();
        let join = *self.rng.pick(&["JOIN", "LEFT JOIN", "CROSS JOIN"]);
        let mut own = columns(&alias, &inner.kinds);
        // A column of the tables before it is to MySQL that column, even where the outer join finds no row.
        if join == "LEFT JOIN" {
            own.drain(..own.len() - 1);
        }
        names.extend(own);
        let on = match self.rng.chance(50) {
            true => "TRUE".to_owned(),
            false => Scope::of(&names).condition(self.rng, 1),
        };
        let table = format!("LATERAL ({}) {alias}", inner.sql);
        let sql = match join {
            "CROSS JOIN" => format!("{} CROSS JOIN {table}", left.sql),
            join => format!("{} {join} {table} ON {on}", left.sql),
        };
        From {
            sql,
            names,
            ids: Vec::new(),
        }
    }

    /// A SELECT of one table, whose condition and first column may be of `outer`.
    fn correlated(&mut self, outer: &[Name]) -> Query {
        let from = self.one_table();
        let mut names = from.names.clone();
        names.extend(outer.iter().cloned());
        let filter = Scope::of(&names).condition(self.rng, 1);
        let own = self.rng.pick(&from.names).clone();
        if self.rng.chance(30) {
            let of = self.rng.pick(&names).clone();
            let aggregate = *self.rng.pick(&["COUNT(?)", "MAX(?)", "MIN(?)"]);
            let (item, kind) = match aggregate {
                // An aggregate of outer columns alone belongs to the query around.
                "COUNT(?)" => (format!("COUNT({})", own.sql), Kind::Int),
                _ if from.names.iter().any(|name| name.sql == of.sql) => (aggregate.replace('?', &of.sql), of.kind),
                _ => ("COUNT(*)".to_owned(), Kind::Int),
            };
            return Query {
                sql: format!("SELECT {item} AS x0 FROM {} WHERE {filter}", from.sql),
                kinds: vec![kind],
            };
        }
        let first = self.rng.pick(&names).clone();
        let distinct = if self.rng.chance(20) { "DISTINCT " } else { "" };
        Query {
            sql: format!(
                "SELECT {distinct}{} AS x0, {} AS x1 FROM {} WHERE {filter}",
                first.sql, own.sql, from.sql
            ),
            kinds: vec![first.kind, own.kind],
        }
    }

    /// Joins JSON_TABLE of a document of the tables before it.
    fn joined_document(&mut self, left: From) -> From {
        let (table, kinds) = self.document_table(&left.names);
        let alias = self.alias();
        let mut names = left.names.clone();
        names.extend(columns(&alias, &kinds));
        let join = *self.rng.pick(&["JOIN", "LEFT JOIN"]);
        let on = match self.rng.chance(60) {
            true => "TRUE".to_owned(),
            false => Scope::of(&names).condition(self.rng, 1),
        };
        From {
            sql: format!("{} {join} {table} {alias} ON {on}", left.sql),
            names,
            ids: Vec::new(),
        }
    }

    /// `JSON_TABLE(…)` of a document that may name the columns of `outer`.
    fn document_table(&mut self, outer: &[Name]) -> (String, Vec<Kind>) {
        let document = match self.rng.chance(50) {
            true => Scope::of(outer).expression(self.rng, Kind::Json, 1),
            false => (*self.rng.pick(&[
                r#"'[{"a": 1, "b": [1, 2]}, {"a": "x", "b": [3]}, {"b": []}, 5, null]'"#,
                r#"'{"a": [1, "2", 3.5, null, {"a": 4}], "b": {"a": true}}'"#,
                r#"'[["2021-03-04", "10:11:12"], ["x", -1e3]]'"#,
            ]))
            .to_owned(),
        };
        let path = *self
            .rng
            .pick(&["'$'", "'$[*]'", "'$.a[*]'", "'$.*'", "'$**.a'", "'$[0 to 1]'"]);
        let mut kinds = Vec::new();
        let columns = self.document_columns(2, &mut kinds);
        (format!("JSON_TABLE({document}, {path} COLUMNS ({columns}))"), kinds)
    }

    fn document_columns(&mut self, depth: usize, kinds: &mut Vec<Kind>) -> String {
        let mut parts = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            let path = *self
                .rng
                .pick(&["'$'", "'$.a'", "'$.b'", "'$[0]'", "'$[1]'", "'$.b[0]'", "'$.*'"]);
            if depth > 0 && self.rng.chance(20) {
                let nested = *self.rng.pick(&["'$.b[*]'", "'$[*]'", "'$.a'"]);
                let columns = self.document_columns(depth - 1, kinds);
                parts.push(format!("NESTED PATH {nested} COLUMNS ({columns})"));
                continue;
            }
            let name = format!("x{}", kinds.len());
            let (sql_type, kind) = *self.rng.pick(&[
                ("INT", Kind::Int),
                ("TINYINT UNSIGNED", Kind::Int),
                ("DECIMAL(6,2)", Kind::Decimal),
                ("DOUBLE", Kind::Double),
                ("VARCHAR(10)", Kind::Text),
                ("CHAR(1)", Kind::Text),
                ("TEXT", Kind::Text),
                ("DATE", Kind::Date),
                ("DATETIME", Kind::Datetime),
                ("TIME", Kind::Time),
                ("JSON", Kind::Json),
            ]);
            let action = |rng: &mut Rng, of: &str| match rng.below(8) {
                0 => format!(" NULL ON {of}"),
                1 => format!(" ERROR ON {of}"),
                2 => format!(
                    " DEFAULT '{}' ON {of}",
                    rng.pick(&["1", "true", "\"x\"", "null", "[1]"])
                ),
                _ => String::new(),
            };
            match self.rng.below(8) {
                0 => {
                    parts.push(format!("{name} FOR ORDINALITY"));
                    kinds.push(Kind::Int);
                }
                1 => {
                    parts.push(format!("{name} INT EXISTS PATH {path}"));
                    kinds.push(Kind::Int);
                }
                _ => {
                    let (empty, error) = (action(self.rng, "EMPTY"), action(self.rng, "ERROR"));
                    parts.push(format!("{name} {sql_type} PATH {path}{empty}{error}"));
                    kinds.push(kind);
                }
            }
        }
        parts.join(", ")
    }

    fn source(&mut self, budget: usize) -> From {
        if budget == 0 || self.rng.chance(80) {
            return self.one_table();
        }
        if self.rng.chance(20) {
            let (sql, kinds) = self.document_table(&[]);
            let alias = self.alias();
            return From {
                sql: format!("{sql} {alias}"),
                names: columns(&alias, &kinds),
                ids: Vec::new(),
            };
        }
        let inner = self.inner_select(budget - 1);
        let alias = self.alias();
        From {
            sql: format!("({}) {alias}", inner.sql),
            names: columns(&alias, &inner.kinds),
            ids: Vec::new(),
        }
    }

    fn join(&mut self, left: From, right: From) -> From {
        let mut names = left.names.clone();
        names.extend(right.names.iter().cloned());
        let ids = if left.ids.is_empty() || right.ids.is_empty() {
            Vec::new()
        } else {
            [left.ids.clone(), right.ids.clone()].concat()
        };
        let on = if self.rng.chance(60) {
            self.equality(&left.names, &right.names)
        } else {
            Scope::of(&names).condition(self.rng, 1)
        };
        let both_have_id = left.ids.len() == 1 && right.ids.len() == 1;
        let sql = match self.rng.below(12) {
            0..=3 => format!("{} JOIN {} ON {on}", left.sql, right.sql),
            4..=6 => format!("{} LEFT JOIN {} ON {on}", left.sql, right.sql),
            7 | 8 => format!("{} RIGHT JOIN {} ON {on}", left.sql, right.sql),
            9 => format!("{} CROSS JOIN {}", left.sql, right.sql),
            10 if both_have_id => format!("{} LEFT JOIN {} USING (id)", left.sql, right.sql),
            11 if both_have_id => format!("{} JOIN {} USING (id)", left.sql, right.sql),
            _ => format!("{} STRAIGHT_JOIN {} ON {on}", left.sql, right.sql),
        };
        From { sql, names, ids }
    }

    fn equality(&mut self, left: &[Name], right: &[Name]) -> String {
        let one = self.rng.pick(left).clone();
        let fitting: Vec<&Name> = right.iter().filter(|name| name.kind == one.kind).collect();
        match fitting.is_empty() {
            true => format!("{} = {}", one.sql, self.rng.pick(right).sql),
            false => format!("{} = {}", one.sql, self.rng.pick(&fitting).sql),
        }
    }

    /// Subqueries over `outer`: those with one value, and conditions.
    pub fn subqueries(&mut self, outer: &[Name]) -> (Vec<String>, Vec<String>) {
        let (mut scalars, mut conditions) = (Vec::new(), Vec::new());
        if !self.schema.functions.is_empty() {
            let function = self.rng.pick(&self.schema.functions).clone();
            scalars.push(function.call(self.rng, &Scope::of(outer)));
        }
        for _ in 0..2 {
            let from = self.one_table();
            let mut names = from.names.clone();
            if self.rng.chance(60) {
                names.extend(outer.iter().cloned());
            }
            let filter = Scope::of(&names).condition(self.rng, 1);
            let ints: Vec<&Name> = from.names.iter().filter(|name| name.kind == Kind::Int).collect();
            let own = match ints.is_empty() {
                true => "1".to_owned(),
                false => self.rng.pick(&ints).sql.clone(),
            };
            let aggregate = *self.rng.pick(&["COUNT(*)", "MAX(?)", "MIN(?)", "SUM(?)"]);
            scalars.push(format!(
                "(SELECT {} FROM {} WHERE {filter})",
                aggregate.replace('?', &own),
                from.sql
            ));
            if self.rng.chance(25) {
                // The query around is seen from inside a derived or common table, too.
                let inner = self.correlated(outer);
                let column = self.rng.below(inner.kinds.len());
                let aggregate = match inner.kinds[column] {
                    Kind::Int => *self.rng.pick(&["COUNT", "MAX", "MIN"]),
                    _ => "COUNT",
                };
                let name = self.alias();
                scalars.push(match self.rng.chance(60) {
                    true => format!("(SELECT {aggregate}({name}.x{column}) FROM ({}) {name})", inner.sql),
                    false => format!(
                        "(WITH {name} AS ({}) SELECT {aggregate}({name}.x{column}) FROM {name})",
                        inner.sql
                    ),
                });
            }
            let left = Scope::of(outer).expression(self.rng, Kind::Int, 0);
            let op = *self.rng.pick(&["=", "<>", "<", ">="]);
            let some = *self.rng.pick(&["ANY", "ALL", "SOME"]);
            conditions.push(match self.rng.below(6) {
                0 | 1 => format!("({left} IN (SELECT {own} FROM {} WHERE {filter}))", from.sql),
                2 => format!("({left} NOT IN (SELECT {own} FROM {} WHERE {filter}))", from.sql),
                3 => format!("({left} {op} {some} (SELECT {own} FROM {} WHERE {filter}))", from.sql),
                4 => format!("(NOT EXISTS (SELECT 1 FROM {} WHERE {filter}))", from.sql),
                _ => format!("EXISTS (SELECT {own} FROM {} WHERE {filter})", from.sql),
            });
            if self.rng.chance(20) {
                let more = Scope::of(outer).expression(self.rng, Kind::Int, 0);
                conditions.push(format!(
                    "(({left}, {more}) IN (SELECT {own}, {own} FROM {} WHERE {filter}))",
                    from.sql
                ));
            }
        }
        (scalars, conditions)
    }

    /// A SELECT for a FROM clause or a view.
    pub fn inner_select(&mut self, budget: usize) -> Query {
        let outside = std::mem::replace(&mut self.is_inner, true);
        let query = self.select(budget, &[]);
        self.is_inner = outside;
        query
    }

    /// The item, or a column in its place where it must have one.
    fn with_column(&mut self, item: (String, Kind), names: &[Name]) -> (String, Kind) {
        if !self.is_inner || names.is_empty() || names.iter().any(|name| item.0.contains(&name.sql)) {
            return item;
        }
        let name = self.rng.pick(names);
        (name.sql.clone(), name.kind)
    }

    /// A SELECT without ORDER BY: its rows are a multiset.
    pub fn select(&mut self, budget: usize, more: &[From]) -> Query {
        let from = match more.is_empty() || self.rng.chance(30) {
            true => self.from(budget),
            false => {
                let given = self.rng.pick(more).clone();
                match budget > 0 && self.rng.chance(40) {
                    true => {
                        let right = self.one_table();
                        self.join(given, right)
                    }
                    false => given,
                }
            }
        };
        let (scalars, conditions) = match budget > 0 && self.rng.chance(40) {
            true => self.subqueries(&from.names),
            false => Default::default(),
        };
        let scope = Scope {
            names: &from.names,
            scalars: &scalars,
            conditions: &conditions,
        };
        let filter = match self.rng.chance(65) {
            true => format!(" WHERE {}", scope.condition(self.rng, self.depth)),
            false => String::new(),
        };
        match self.rng.below(10) {
            0..=2 => self.grouped(&from, &scope, &filter),
            3 => self.windowed(&from, &scope, &filter),
            _ => {
                let distinct = if self.rng.chance(15) { "DISTINCT " } else { "" };
                let (items, kinds) = self.items(&scope);
                Query {
                    sql: format!("SELECT {distinct}{items} FROM {}{filter}", from.sql),
                    kinds,
                }
            }
        }
    }

    pub fn items(&mut self, scope: &Scope<'_>) -> (String, Vec<Kind>) {
        let (mut items, mut kinds) = (Vec::new(), Vec::new());
        for at in 0..self.rng.between(1, 4) {
            let item = scope.any(self.rng, self.depth);
            let (item, kind) = self.with_column(item, scope.names);
            items.push(format!("{item} AS x{at}"));
            kinds.push(kind);
        }
        (items.join(", "), kinds)
    }

    fn grouped(&mut self, from: &From, scope: &Scope<'_>, filter: &str) -> Query {
        let plain = Scope::of(scope.names);
        let (mut items, mut kinds, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rng.between(0, 2) {
            let kind = *self.rng.pick(&[
                Kind::Int,
                Kind::Int,
                Kind::Decimal,
                Kind::Date,
                Kind::Datetime,
                Kind::Text,
            ]);
            let names: Vec<&Name> = scope.names.iter().filter(|name| name.kind == kind).collect();
            let key = match names.is_empty() || self.rng.chance(25) {
                true => plain.expression(self.rng, kind, 1),
                false => self.rng.pick(&names).sql.clone(),
            };
            let key = match kind == Kind::Text && self.rng.chance(50) {
                true => format!("({key} COLLATE {})", self.rng.pick(COLLATIONS)),
                false => key,
            };
            // To MySQL 9.7 nothing with a comparison of rows is what the query is grouped by.
            let compares_rows = [") < (", ") = (", ") >= ("].iter().any(|op| key.contains(op));
            if key.contains('.') && !compares_rows {
                items.push(format!("{key} AS x{}", items.len()));
                kinds.push(kind);
                keys.push(key);
            }
        }
        for _ in 0..self.rng.between(1, 3) {
            let (mut aggregate, mut kind) = plain.aggregate(self.rng, 1);
            if self.is_inner && !scope.names.iter().any(|name| aggregate.contains(&name.sql)) {
                (aggregate, kind) = ("COUNT(*)".to_owned(), Kind::Int);
            }
            items.push(format!("{aggregate} AS x{}", items.len()));
            kinds.push(kind);
        }
        let mut sql = format!("SELECT {} FROM {}{filter}", items.join(", "), from.sql);
        if !keys.is_empty() {
            sql += &format!(" GROUP BY {}", keys.join(", "));
            if self.rng.chance(12) {
                if self.rng.chance(50) {
                    let item = format!(", GROUPING({}) AS x{} FROM ", keys.join(", "), kinds.len());
                    sql = sql.replacen(" FROM ", &item, 1);
                    kinds.push(Kind::Int);
                }
                sql += " WITH ROLLUP";
            } else if self.rng.chance(12) {
                return self.window_over_groups(from, filter, &keys, &kinds[..keys.len()]);
            }
        }
        if self.rng.chance(20) {
            let (aggregate, _) = plain.aggregate(self.rng, 0);
            sql += &format!(
                " HAVING {aggregate} {} {}",
                self.rng.pick(&["<", ">", "=", "<>", ">="]),
                self.rng.between(0, 5)
            );
        }
        Query { sql, kinds }
    }

    /// Any query: with common table expressions, set operations, ORDER BY and LIMIT.
    pub fn query(&mut self) -> Query {
        match self.rng.below(10) {
            0 => self.with(),
            1 => self.recursive(),
            2 => self.set_operation(),
            3 if self.schema.tables.iter().any(|table| !table.searched.is_empty()) => self.matching(),
            _ => {
                let query = self.select(2, &[]);
                self.ordered(query)
            }
        }
    }

    fn with(&mut self) -> Query {
        let inner = self.inner_select(1);
        let name = self.alias();
        let given = From {
            sql: name.clone(),
            names: columns(&name, &inner.kinds),
            ids: Vec::new(),
        };
        let outer = self.select(1, &[given]);
        Query {
            sql: format!("WITH {name} AS ({}) {}", inner.sql, outer.sql),
            kinds: outer.kinds,
        }
    }

    /// `WITH RECURSIVE`: numbers, texts that grow, rows that lead to rows; joined with a table, grouped, or cut short.
    fn recursive(&mut self) -> Query {
        let from = self.one_table();
        let end = self.rng.between(2, 8);
        let value = Scope::of(&from.names).expression(self.rng, Kind::Int, 1);
        let step = *self.rng.pick(&["n + 1", "n + 2", "n * 2", "n + 0.5", "n + 1e0"]);
        let union = *self.rng.pick(&["UNION ALL", "UNION ALL", "UNION DISTINCT"]);
        let walked = match self.rng.below(5) {
            0 => {
                // A text has room for what it starts with.
                let start = *self
                    .rng
                    .pick(&["'a'", "CAST('a' AS CHAR(20))", "CAST('' AS CHAR(3))", "NULL"]);
                let grow = *self
                    .rng
                    .pick(&["CONCAT(m, 'b')", "CONCAT('日', m)", "n", "REPEAT(m, 2)", "UPPER(m)"]);
                format!("r (n, m) AS (SELECT 1, {start} {union} SELECT n + 1, {grow} FROM r WHERE n < {end})")
            }
            1 => {
                // Rows that lead to rows.
                let near = self.one_table();
                let ints: Vec<&Name> = near.names.iter().filter(|name| name.kind == Kind::Int).collect();
                let (one, other) = match ints.is_empty() {
                    true => (near.names[0].sql.clone(), near.names[0].sql.clone()),
                    false => (self.rng.pick(&ints).sql.clone(), self.rng.pick(&ints).sql.clone()),
                };
                let join = *self.rng.pick(&["JOIN", "STRAIGHT_JOIN"]);
                let filter = Scope::of(&near.names).condition(self.rng, 1);
                format!(
                    "r (n, m) AS (SELECT {one}, 0 FROM {} WHERE {filter} UNION DISTINCT SELECT {other}, m + 1 FROM r {join} {} ON {one} = n + 1 WHERE m < 3)",
                    near.sql, near.sql
                )
            }
            2 => {
                let limit = self.rng.between(0, 9);
                format!("r (n, m) AS (SELECT 1, 1 UNION ALL SELECT n + m, n FROM r LIMIT {limit})")
            }
            3 => format!(
                "r (n, m) AS (SELECT 1, 0 UNION ALL SELECT 2, NULL {union} SELECT {step}, m + n FROM r WHERE n < {end} {union} SELECT n + 3, n FROM r WHERE n < {end})"
            ),
            _ => format!("r (n, m) AS (SELECT 1, 1 {union} SELECT {step}, n FROM r WHERE n < {end})"),
        };
        let key = Scope::of(&from.names).expression(self.rng, Kind::Int, 0);
        let (tail, kinds) = match self.rng.below(4) {
            0 => (
                "SELECT r.n AS x0, r.m AS x1 FROM r".to_owned(),
                vec![Kind::Int, Kind::Text],
            ),
            1 => (
                "SELECT COUNT(*) AS x0, SUM(r.n) AS x1, MAX(r.m) AS x2 FROM r".to_owned(),
                vec![Kind::Int, Kind::Decimal, Kind::Text],
            ),
            2 => (
                format!(
                    "SELECT {value} AS x0 FROM {} WHERE {key} IN (SELECT r.n FROM r)",
                    from.sql
                ),
                vec![Kind::Int],
            ),
            _ => (
                format!(
                    "SELECT r.n AS x0, {value} AS x1 FROM r JOIN {} ON r.n = {key}",
                    from.sql
                ),
                vec![Kind::Int, Kind::Int],
            ),
        };
        Query {
            sql: format!("WITH RECURSIVE {walked} {tail}"),
            kinds,
        }
    }

    fn set_operation(&mut self) -> Query {
        let first = self.select(1, &[]);
        let mut sql = first.sql.clone();
        for _ in 0..self.rng.between(1, 2) {
            let from = self.from(1);
            let scope = Scope::of(&from.names);
            let items: Vec<String> = first
                .kinds
                .iter()
                .enumerate()
                .map(|(at, kind)| format!("{} AS x{at}", scope.expression(self.rng, *kind, 1)))
                .collect();
            let op = *self.rng.pick(&[
                "UNION",
                "UNION ALL",
                "UNION ALL",
                "EXCEPT",
                "INTERSECT",
                "UNION DISTINCT",
            ]);
            let right = format!("SELECT {} FROM {}", items.join(", "), from.sql);
            sql = match self.rng.chance(30) {
                true => format!("({sql}) {op} ({right})"),
                false => format!("{sql} {op} {right}"),
            };
        }
        Query {
            sql,
            kinds: first.kinds,
        }
    }

    /// Adds ORDER BY over every column, and LIMIT where equal rows look equal.
    fn ordered(&mut self, query: Query) -> Query {
        if !self.rng.chance(45) || query.sql.contains("ROLLUP") {
            return query;
        }
        let keys: Vec<String> = (1..=query.kinds.len())
            .map(|at| format!("{at}{}", self.rng.pick(&["", "", " DESC"])))
            .collect();
        let text = query.kinds.iter().position(|kind| *kind == Kind::Text);
        let aliased = !query.sql.contains("DISTINCT") && !query.sql.contains("GROUP BY");
        let first = match text.filter(|_| aliased && self.rng.chance(40)) {
            Some(at) => format!("x{at} COLLATE {}, ", self.rng.pick(COLLATIONS)),
            None => String::new(),
        };
        let mut sql = format!("{} ORDER BY {first}{}", query.sql, keys.join(", "));
        let exact = query
            .kinds
            .iter()
            .all(|kind| !matches!(kind, Kind::Text | Kind::Json | Kind::Double));
        if exact && self.rng.chance(50) {
            sql += &format!(" LIMIT {}", self.rng.between(0, 6));
            if self.rng.chance(30) {
                sql += &format!(" OFFSET {}", self.rng.between(0, 3));
            }
        }
        Query {
            sql,
            kinds: query.kinds,
        }
    }
}

fn columns(alias: &str, kinds: &[Kind]) -> Vec<Name> {
    let name = |(at, kind): (usize, &Kind)| Name {
        sql: format!("{alias}.x{at}"),
        kind: *kind,
    };
    kinds.iter().enumerate().map(name).collect()
}
