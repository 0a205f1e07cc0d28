//! Windows whose answers are said: each order is total, or what is computed does not depend on the order of equal rows.

use crate::expr::{Name, Scope};
use crate::kind::Kind;
use crate::query::{COLLATIONS, From, Generator, Query};

/// Of the rows up to the current one, or of a frame of rows.
const BY_ROWS: &[&str] = &[
    "ROW_NUMBER()",
    "RANK()",
    "DENSE_RANK()",
    "PERCENT_RANK()",
    "CUME_DIST()",
    "NTILE(3)",
    "LAG(?)",
    "LEAD(?, 2)",
    "LAG(?, 1, 7)",
    "LEAD(?, 0, 'x')",
    "FIRST_VALUE(?)",
    "LAST_VALUE(?)",
    "NTH_VALUE(?, 2)",
];

/// Of rows that are equal to the order.
const BY_PEERS: &[&str] = &["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"];

/// Of all rows of a frame, in whatever order.
const OF_ALL: &[&str] = &[
    "SUM(?)",
    "COUNT(?)",
    "MIN(?)",
    "MAX(?)",
    "AVG(?)",
    "COUNT(*)",
    "BIT_OR(?)",
    "BIT_AND(?)",
    "BIT_XOR(?)",
    "STDDEV_SAMP(?)",
    "VARIANCE(?)",
];

const ROWS: &[&str] = &[
    " ROWS UNBOUNDED PRECEDING",
    " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    " ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
    " ROWS BETWEEN 0 PRECEDING AND 0 FOLLOWING",
    " ROWS BETWEEN 3 PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING",
];

const RANGES: &[&str] = &[
    "",
    " RANGE UNBOUNDED PRECEDING",
    " RANGE CURRENT ROW",
    " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    " RANGE BETWEEN CURRENT ROW AND CURRENT ROW",
];

const DISTANCES: &[&str] = &[
    " RANGE BETWEEN # PRECEDING AND # FOLLOWING",
    " RANGE # PRECEDING",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND # PRECEDING",
    " RANGE BETWEEN # FOLLOWING AND UNBOUNDED FOLLOWING",
    " RANGE BETWEEN # PRECEDING AND # PRECEDING",
    " RANGE BETWEEN # FOLLOWING AND # FOLLOWING",
    " RANGE BETWEEN CURRENT ROW AND # FOLLOWING",
];

impl Generator<'_> {
    /// A SELECT with one or two window functions.
    pub fn windowed(&mut self, from: &From, scope: &Scope<'_>, filter: &str) -> Query {
        let (mut items, mut kinds) = self.items(scope);
        let mut named: Vec<String> = Vec::new();
        for _ in 0..self.rng.between(1, 2) {
            let partition = match self.rng.chance(60) {
                true => format!("PARTITION BY {} ", self.rng.pick(scope.names).sql),
                false => String::new(),
            };
            let (function, order, frame) = match from.ids.is_empty() || self.rng.chance(45) {
                true => self.of_peers(scope.names),
                false => self.of_rows(from, scope.names),
            };
            let of = match self.rng.chance(25) {
                // A named window may be used as it is, or given a frame.
                true => {
                    let name = format!("w{}", kinds.len());
                    named.push(format!("{name} AS ({partition}{order})"));
                    match frame.is_empty() {
                        true => name,
                        false => format!("({name}{frame})"),
                    }
                }
                false => format!("({partition}{order}{frame})"),
            };
            items += &format!(", {function} OVER {of} AS x{}", kinds.len());
            // Numbers mostly, and no LIMIT depends on them.
            kinds.push(Kind::Double);
        }
        let windows = match named.is_empty() {
            true => String::new(),
            false => format!(" WINDOW {}", named.join(", ")),
        };
        Query {
            sql: format!("SELECT {items} FROM {}{filter}{windows}", from.sql),
            kinds,
        }
    }

    /// A function, `ORDER BY …` that makes the order total by the primary keys, and a frame.
    fn of_rows(&mut self, from: &From, names: &[Name]) -> (String, String, String) {
        let kind = *self
            .rng
            .pick(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Text, Kind::Datetime]);
        let functions = match kind == Kind::Int || kind == Kind::Decimal {
            true => [BY_ROWS, OF_ALL].concat(),
            false => BY_ROWS.to_vec(),
        };
        let argument = Scope::of(names).expression(self.rng, kind, 1);
        let function = self.rng.pick(&functions).replace('?', &argument);
        let order = match self.rng.chance(30) {
            true => format!("{}, {}", self.order_key(names), from.ids.join(", ")),
            false => from.ids.join(", "),
        };
        let frame = match self.rng.chance(60) {
            true => *self.rng.pick(ROWS),
            false => "",
        };
        (function, format!("ORDER BY {order}"), frame.to_owned())
    }

    /// As [`of_rows`](Self::of_rows), where rows may be equal to the order.
    fn of_peers(&mut self, names: &[Name]) -> (String, String, String) {
        let argument = Scope::of(names).expression(self.rng, Kind::Int, 1);
        match self.rng.below(4) {
            0 => (
                self.rng.pick(OF_ALL).replace('?', &argument),
                String::new(),
                String::new(),
            ),
            1 => {
                let functions = [BY_PEERS, OF_ALL].concat();
                let (function, order) = (self.rng.pick(&functions).replace('?', &argument), self.order_key(names));
                (function, format!("ORDER BY {order}"), self.rng.pick(RANGES).to_string())
            }
            _ => {
                // A distance from the current row's value.
                let kind = *self.rng.pick(&[
                    Kind::Int,
                    Kind::Int,
                    Kind::Decimal,
                    Kind::Double,
                    Kind::Date,
                    Kind::Datetime,
                    Kind::Time,
                ]);
                let fitting: Vec<&Name> = names.iter().filter(|name| name.kind == kind).collect();
                let order = match fitting.is_empty() {
                    true => Scope::of(names).expression(self.rng, kind, 1),
                    false => self.rng.pick(&fitting).sql.clone(),
                };
                let distance = match kind {
                    Kind::Date => &["INTERVAL 1 DAY", "INTERVAL 1 YEAR", "INTERVAL 20 MONTH"][..],
                    Kind::Datetime => &["INTERVAL 1 DAY", "INTERVAL '1:30' HOUR_MINUTE", "INTERVAL 5 YEAR"][..],
                    Kind::Time => &["INTERVAL 90 MINUTE", "INTERVAL 1 HOUR"][..],
                    _ => &["1", "2", "0", "10", "0.5", "100"][..],
                };
                let mut frame = self.rng.pick(DISTANCES).to_string();
                while frame.contains('#') {
                    frame = frame.replacen('#', self.rng.pick::<&str>(distance), 1);
                }
                let functions = [BY_PEERS, OF_ALL, &["FIRST_VALUE(!)", "LAST_VALUE(!)"]].concat();
                let function = self.rng.pick(&functions).replace('?', &argument).replace('!', &order);
                let descending = if self.rng.chance(30) { " DESC" } else { "" };
                (function, format!("ORDER BY {order}{descending}"), frame)
            }
        }
    }

    /// Something that rows can be ordered by, with a direction.
    fn order_key(&mut self, names: &[Name]) -> String {
        let kind = *self
            .rng
            .pick(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Text, Kind::Date, Kind::Time]);
        let key = Scope::of(names).expression(self.rng, kind, 1);
        let collation = match kind == Kind::Text && self.rng.chance(40) {
            true => format!(" COLLATE {}", self.rng.pick(COLLATIONS)),
            false => String::new(),
        };
        format!("{key}{collation}{}", self.rng.pick(&["", " DESC"]))
    }

    /// Windows over the groups of a query.
    pub fn window_over_groups(&mut self, from: &From, filter: &str, keys: &[String], key_kinds: &[Kind]) -> Query {
        let mut items: Vec<String> = keys.to_vec();
        let mut kinds = key_kinds.to_vec();
        for _ in 0..self.rng.between(1, 2) {
            let (aggregate, _) = Scope::of(&from.names).aggregate(self.rng, 0);
            let over = *self.rng.pick(&[
                "RANK() OVER (ORDER BY ?)",
                "SUM(COUNT(*)) OVER ()",
                "SUM(COUNT(*)) OVER (ORDER BY ?)",
                "DENSE_RANK() OVER (ORDER BY ? DESC)",
                "MAX(COUNT(*)) OVER (PARTITION BY !)",
                "COUNT(*) OVER (PARTITION BY ! ORDER BY ?)",
                "CUME_DIST() OVER (PARTITION BY ! ORDER BY COUNT(*))",
            ]);
            items.push(
                over.replace('?', &aggregate)
                    .replace('!', self.rng.pick::<String>(keys)),
            );
            kinds.push(Kind::Double);
        }
        let items = items.iter().enumerate().map(|(at, item)| format!("{item} AS x{at}"));
        Query {
            sql: format!(
                "SELECT {} FROM {}{filter} GROUP BY {}",
                items.collect::<Vec<_>>().join(", "),
                from.sql,
                keys.join(", ")
            ),
            kinds,
        }
    }
}
