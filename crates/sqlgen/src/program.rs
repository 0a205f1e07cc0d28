//! Stored procedures with bodies made at random, and calls of them.
//!
//! Every loop ends: it counts. What a body reads comes in the order of the primary key, so that cursors fetch the same rows everywhere.

use crate::change;
use crate::expr::{Name, Scope};
use crate::kind::{self, Kind};
use crate::rng::Rng;
use crate::schema::{Schema, Table};

/// Types of parameters and variables.
const TYPES: &[(&str, Kind)] = &[
    ("INT", Kind::Int),
    ("INT", Kind::Int),
    ("TINYINT UNSIGNED", Kind::Int),
    ("BIGINT", Kind::Int),
    ("DECIMAL(10,2)", Kind::Decimal),
    ("DOUBLE", Kind::Double),
    ("VARCHAR(30)", Kind::Text),
    ("CHAR(5)", Kind::Text),
    ("TEXT", Kind::Text),
    ("DATE", Kind::Date),
    ("DATETIME", Kind::Datetime),
    ("TIME(3)", Kind::Time),
    ("JSON", Kind::Json),
];

const CONDITIONS: &[&str] = &[
    "SQLEXCEPTION",
    "SQLEXCEPTION",
    "SQLWARNING",
    "NOT FOUND",
    "SQLSTATE '45000'",
    "SQLSTATE '22003'",
    "1062",
    "1264",
    "1365, 1292",
    "1339",
];

const STATES: &[&str] = &["45000", "45001", "01000", "02000", "22003"];

/// A procedure that is there.
#[derive(Debug, Clone)]
pub struct Procedure {
    name: String,
    /// IN parameters come first, then those that a variable is given for.
    given: Vec<Kind>,
    taken: usize,
}

/// A body under way.
struct Body<'a> {
    rng: &'a mut Rng,
    tables: Vec<&'a Table>,
    names: Vec<Name>,
    /// Labels and variables are numbered.
    counter: usize,
    /// Handlers that are being written: inside of one RESIGNAL has a condition.
    handlers: usize,
}

impl Procedure {
    /// Its definition, and what it is called by.
    pub fn create(rng: &mut Rng, schema: &Schema, name: String) -> (String, Procedure) {
        let mut body = Body {
            tables: schema.base_tables(),
            rng,
            names: Vec::new(),
            counter: 0,
            handlers: 0,
        };
        let (mut parameters, mut given, mut taken) = (Vec::new(), Vec::new(), 0);
        for _ in 0..body.rng.between(1, 2) {
            let (variable, sql_type, kind) = body.variable("i");
            parameters.push(format!("IN {variable} {sql_type}"));
            given.push(kind);
        }
        for _ in 0..body.rng.between(1, 2) {
            let (variable, sql_type, _) = body.variable("o");
            let mode = *body.rng.pick(&["OUT", "INOUT"]);
            parameters.push(format!("{mode} {variable} {sql_type}"));
            taken += 1;
        }
        let block = body.block(3);
        let sql = format!("CREATE PROCEDURE {name}({}) {block}", parameters.join(", "));
        (sql, Procedure { name, given, taken })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// A call and a look at what it has left.
    pub fn call(&self, rng: &mut Rng) -> Vec<String> {
        let mut arguments: Vec<String> = self.given.iter().map(|&kind| kind::literal(rng, kind)).collect();
        let variables: Vec<String> = (0..self.taken).map(|at| format!("@o{at}")).collect();
        arguments.extend(variables.iter().cloned());
        let mut statements = Vec::new();
        if rng.chance(50) {
            statements.push(format!("SET @o0 = {}", kind::literal(rng, Kind::Int)));
        }
        statements.push(format!("CALL {}({})", self.name, arguments.join(", ")));
        statements.push(format!("SELECT {}", variables.join(", ")));
        statements
    }
}

impl Body<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}{}", self.counter)
    }

    /// A new variable, which what follows may name.
    fn variable(&mut self, prefix: &str) -> (String, &'static str, Kind) {
        let name = self.fresh(prefix);
        let (sql_type, kind) = *self.rng.pick(TYPES);
        self.names.push(Name {
            sql: name.clone(),
            kind,
        });
        (name, sql_type, kind)
    }

    fn expression(&mut self, kind: Kind) -> String {
        Scope::of(&self.names).expression(self.rng, kind, 2)
    }

    fn condition(&mut self) -> String {
        Scope::of(&self.names).condition(self.rng, 1)
    }

    /// A value for a variable, mostly of its kind.
    fn value_for(&mut self, kind: Kind) -> String {
        match self.rng.chance(85) {
            true => self.expression(kind),
            false => Scope::of(&self.names).any(self.rng, 1).0,
        }
    }

    /// `BEGIN … END` with variables, handlers and sometimes a cursor of its own.
    fn block(&mut self, depth: usize) -> String {
        let outside = self.names.len();
        let mut parts = Vec::new();
        for _ in 0..self.rng.between(0, 2) {
            let default = match self.rng.chance(60) {
                true => {
                    let (of, _) = Scope::of(&self.names).any(self.rng, 1);
                    format!(" DEFAULT {of}")
                }
                false => String::new(),
            };
            let (name, sql_type, _) = self.variable("l");
            parts.push(format!("DECLARE {name} {sql_type}{default};"));
        }
        let has_condition = self.rng.chance(20);
        let condition = self.fresh("e");
        if has_condition {
            parts.push(format!(
                "DECLARE {condition} CONDITION FOR SQLSTATE '{}';",
                self.rng.pick(STATES)
            ));
        }
        let cursor = match self.rng.chance(35) && depth > 0 {
            true => Some(self.cursor(&mut parts)),
            false => None,
        };
        let mut taken: Vec<&str> = Vec::new();
        for _ in 0..self.rng.between(0, 2) {
            let of = *self.rng.pick(CONDITIONS);
            if taken.contains(&of) {
                continue;
            }
            taken.push(of);
            let action = *self.rng.pick(&["CONTINUE", "CONTINUE", "EXIT"]);
            self.handlers += 1;
            let body = self.statement(depth.saturating_sub(2));
            self.handlers -= 1;
            parts.push(format!("DECLARE {action} HANDLER FOR {of} {body}"));
        }
        if let Some(fetches) = cursor {
            parts.push(fetches);
        }
        for _ in 0..self.rng.between(1, 4) {
            parts.push(self.statement(depth));
        }
        if has_condition && self.rng.chance(50) {
            parts.push(format!("SIGNAL {condition};"));
        }
        self.names.truncate(outside);
        format!("BEGIN {} END", parts.join(" "))
    }

    /// Declares a cursor; gives what opens it and fetches from it.
    fn cursor(&mut self, parts: &mut Vec<String>) -> String {
        let name = self.fresh("k");
        let table = *self.rng.pick(&self.tables);
        let column = self.rng.pick(&table.names("a")).clone();
        let (into, sql_type) = (self.fresh("l"), *self.rng.pick(TYPES));
        parts.push(format!("DECLARE {into} {};", sql_type.0));
        parts.push(format!(
            "DECLARE {name} CURSOR FOR SELECT {} FROM {} a WHERE a.id > {} ORDER BY a.id;",
            column.sql,
            table.name,
            self.rng.between(0, 5)
        ));
        self.names.push(Name {
            sql: into.clone(),
            kind: sql_type.1,
        });
        let fetches = format!("FETCH {name} INTO {into}; ").repeat(self.rng.between(1, 3) as usize);
        let close = if self.rng.chance(70) {
            format!("CLOSE {name};")
        } else {
            String::new()
        };
        format!("OPEN {name}; {fetches}{close}")
    }

    fn set(&mut self) -> String {
        let target = self.rng.pick(&self.names).clone();
        let value = self.value_for(target.kind);
        match self.rng.chance(15) {
            true => format!("SET @v = {value};"),
            false => format!("SET {} = {value};", target.sql),
        }
    }

    fn statement(&mut self, depth: usize) -> String {
        let choice = self.rng.below(if depth == 0 { 12 } else { 18 });
        match choice {
            0..=3 => self.set(),
            4 | 5 => {
                let table = *self.rng.pick(&self.tables);
                format!("{};", change::of_one_table(self.rng, table, &self.names))
            }
            6 => {
                // A result of its own.
                let (item, _) = Scope::of(&self.names).any(self.rng, 2);
                format!("SELECT {item} AS x0;")
            }
            7 => {
                let table = *self.rng.pick(&self.tables);
                let mut names = table.names("a");
                names.extend(self.names.iter().cloned());
                let (item, _) = Scope::of(&names).any(self.rng, 1);
                let condition = Scope::of(&names).condition(self.rng, 1);
                let into = match self.rng.chance(50) {
                    true => format!(" INTO {}", self.rng.pick(&self.names).sql),
                    false => String::new(),
                };
                format!(
                    "SELECT {item}{into} FROM {} a WHERE {condition} ORDER BY a.id LIMIT {};",
                    table.name,
                    self.rng.between(0, 2)
                )
            }
            8 => {
                let message = if self.rng.chance(60) {
                    " SET MESSAGE_TEXT = 'm', MYSQL_ERRNO = 1644"
                } else {
                    ""
                };
                match self.handlers > 0 && self.rng.chance(50) {
                    true => format!("RESIGNAL{message};"),
                    false => format!("SIGNAL SQLSTATE '{}'{message};", self.rng.pick(STATES)),
                }
            }
            9 => {
                let area = match self.handlers > 0 {
                    true => *self.rng.pick(&["", "CURRENT ", "STACKED "]),
                    false => "",
                };
                let item = *self.rng.pick(&["RETURNED_SQLSTATE", "MYSQL_ERRNO"]);
                format!("GET {area}DIAGNOSTICS CONDITION 1 @v = {item};")
            }
            10 => {
                let query = format!("SELECT {} + ? AS x0", self.rng.between(0, 9));
                format!(
                    "PREPARE q FROM '{query}'; SET @w = {}; EXECUTE q USING @w;",
                    self.rng.between(0, 9)
                )
            }
            11 => (*self.rng.pick(&[
                "COMMIT;",
                "ROLLBACK;",
                "SAVEPOINT s;",
                "START TRANSACTION;",
                "SHOW WARNINGS;",
            ]))
            .to_owned(),
            12 => format!("{};", self.block(depth - 1)),
            13 => {
                let (condition, yes, no) = (self.condition(), self.statement(depth - 1), self.statement(depth - 1));
                match self.rng.chance(50) {
                    true => format!("IF {condition} THEN {yes} END IF;"),
                    false => format!("IF {condition} THEN {yes} ELSE {no} END IF;"),
                }
            }
            14 => {
                let (of, yes) = (self.expression(Kind::Int), self.statement(depth - 1));
                let (no, when) = (self.statement(depth - 1), self.rng.between(0, 3));
                match self.rng.chance(50) {
                    true => format!("CASE {of} WHEN {when} THEN {yes} END CASE;"),
                    false => format!("CASE {of} WHEN {when} THEN {yes} ELSE {no} END CASE;"),
                }
            }
            _ => self.counted_loop(depth),
        }
    }

    fn counted_loop(&mut self, depth: usize) -> String {
        let (label, count, end) = (self.fresh("b"), self.fresh("n"), self.rng.between(1, 4));
        let body = self.statement(depth - 1);
        let condition = self.condition();
        let early = *self.rng.pick(&["LEAVE", "ITERATE"]);
        let early = match self.rng.chance(40) {
            // ITERATE of REPEAT does not ask UNTIL.
            true => format!("IF {condition} AND {count} < {end} THEN {early} {label}; END IF; "),
            false => String::new(),
        };
        let (step, inner) = (format!("SET {count} = {count} + 1;"), format!("{early}{body}"));
        let text = match self.rng.below(3) {
            0 => format!("{label}: WHILE {count} < {end} DO {step} {inner} END WHILE;"),
            1 => format!("{label}: REPEAT {step} {inner} UNTIL {count} >= {end} END REPEAT;"),
            _ => format!("{label}: LOOP {step} IF {count} > {end} THEN LEAVE {label}; END IF; {inner} END LOOP;"),
        };
        format!("BEGIN DECLARE {count} INT DEFAULT 0; {text} END;")
    }
}
