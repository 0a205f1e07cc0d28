//! Triggers, stored functions and events, made at random.
//!
//! What a trigger does for a row does not depend on the rows before it, as far as that can be had: servers change rows in different orders.

use crate::expr::{Name, Scope};
use crate::kind::{self, Kind};
use crate::rng::Rng;
use crate::schema::{Schema, Table};

/// What a stored function takes, and an expression's kinds.
const PARAMETERS: &[(&str, Kind)] = &[
    ("INT", Kind::Int),
    ("BIGINT", Kind::Int),
    ("DECIMAL(8,2)", Kind::Decimal),
    ("VARCHAR(20)", Kind::Text),
    ("DATE", Kind::Date),
    ("DOUBLE", Kind::Double),
];

/// A stored function whose value is a number.
#[derive(Debug, Clone)]
pub struct Function {
    pub name: String,
    given: Vec<Kind>,
}

impl Function {
    pub fn call(&self, rng: &mut Rng, scope: &Scope<'_>) -> String {
        let arguments: Vec<String> = self.given.iter().map(|&kind| scope.expression(rng, kind, 0)).collect();
        format!("{}({})", self.name, arguments.join(", "))
    }
}

impl Schema {
    pub fn create_trigger(&mut self, rng: &mut Rng) -> Option<String> {
        let lasting: Vec<Table> = self
            .base_tables()
            .into_iter()
            .filter(|table| !table.is_temporary)
            .cloned()
            .collect();
        if lasting.is_empty() {
            return None;
        }
        let name = self.fresh("g");
        let table = rng.pick(&lasting);
        let (time, event) = (
            *rng.pick(&["BEFORE", "AFTER"]),
            *rng.pick(&["INSERT", "INSERT", "UPDATE", "UPDATE", "DELETE"]),
        );
        let mut names = Vec::new();
        if event != "DELETE" {
            names.extend(table.names("NEW"));
        }
        if event != "INSERT" {
            names.extend(table.names("OLD"));
        }
        let count = rng.between(1, 3);
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..count {
            let other = rng.pick(&lasting);
            parts.push(statement(rng, table, other, time, event, &names));
        }
        let body = match parts.len() {
            1 if !parts[0].starts_with("IF") => parts[0].trim_end_matches(';').to_owned(),
            _ => {
                let handler = match rng.chance(25) {
                    true => "DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET @h = 1; ",
                    false => "",
                };
                format!("BEGIN {handler}{} END", parts.join(" "))
            }
        };
        Some(format!(
            "CREATE TRIGGER {name} {time} {event} ON {} FOR EACH ROW {body}",
            table.name
        ))
    }

    /// `CREATE FUNCTION`.
    pub fn create_function(&mut self, rng: &mut Rng) -> String {
        let name = self.fresh("f");
        let (mut parameters, mut names, mut given) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..rng.between(1, 2) {
            let (sql_type, kind) = *rng.pick(PARAMETERS);
            parameters.push(format!("i{at} {sql_type}"));
            names.push(Name {
                sql: format!("i{at}"),
                kind,
            });
            given.push(kind);
        }
        let returns = *rng.pick(&["INT", "BIGINT", "DECIMAL(10,2)", "TINYINT", "VARCHAR(5)", "DOUBLE"]);
        let value = Scope::of(&names).expression(rng, Kind::Int, 2);
        let (characteristic, body) = match rng.below(4) {
            0 => {
                let tables: Vec<Table> = self
                    .base_tables()
                    .into_iter()
                    .filter(|table| !table.is_temporary)
                    .cloned()
                    .collect();
                match tables.is_empty() {
                    true => ("NO SQL", format!("RETURN {value}")),
                    false => {
                        let table = rng.pick(&tables);
                        let all = [table.names("a"), names.clone()].concat();
                        let condition = Scope::of(&all).condition(rng, 1);
                        (
                            "READS SQL DATA",
                            format!("RETURN (SELECT COUNT(*) FROM {} a WHERE {condition})", table.name),
                        )
                    }
                }
            }
            1 => {
                let condition = Scope::of(&names).condition(rng, 1);
                let other = Scope::of(&names).expression(rng, Kind::Int, 1);
                (
                    "DETERMINISTIC",
                    format!(
                        "BEGIN DECLARE l INT DEFAULT {other}; IF {condition} THEN RETURN l; END IF; RETURN {value}; END"
                    ),
                )
            }
            2 => {
                let condition = Scope::of(&names).condition(rng, 1);
                (
                    "DETERMINISTIC",
                    format!(
                        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION RETURN -1; RETURN CASE WHEN {condition} THEN {value} ELSE 0 END; END"
                    ),
                )
            }
            _ => ("DETERMINISTIC", format!("RETURN {value}")),
        };
        let sql = format!(
            "CREATE FUNCTION {name}({}) RETURNS {returns} {characteristic} {body}",
            parameters.join(", ")
        );
        self.functions.push(Function { name, given });
        sql
    }

    /// A statement about an event that never runs while it is looked at, and the look.
    pub fn change_event(&mut self, rng: &mut Rng) -> Vec<String> {
        let known = self.events.clone();
        let fixed = |rng: &mut Rng, of: &[&str]| (*rng.pick(of)).to_owned();
        let moment = |rng: &mut Rng| {
            fixed(
                rng,
                &[
                    "'2037-01-01 00:00:00'",
                    "TIMESTAMP'2036-02-29 23:59:59'",
                    "'2036-12-31' + INTERVAL 1 DAY",
                    "'2037-01-01 00:00:00' + INTERVAL '1:30' HOUR_MINUTE + INTERVAL 2 MONTH",
                    "'2021-01-01 00:00:00'",
                    "20370101",
                    "NULL",
                ],
            )
        };
        let schedule = match rng.chance(40) {
            true => format!("AT {}", moment(rng)),
            false => {
                let interval = fixed(
                    rng,
                    &[
                        "1 HOUR",
                        "90 MINUTE",
                        "3 DAY",
                        "2 WEEK",
                        "1 QUARTER",
                        "'1-6' YEAR_MONTH",
                        "'1 2' DAY_HOUR",
                        "'2:30' MINUTE_SECOND",
                        "0 DAY",
                        "1 + 1 MONTH",
                    ],
                );
                let ends = match rng.chance(40) {
                    true => format!(" ENDS {}", moment(rng)),
                    false => String::new(),
                };
                format!(
                    "EVERY {interval} STARTS {}{ends}",
                    fixed(
                        rng,
                        &[
                            "'2036-01-01 10:11:12'",
                            "'2037-06-01'",
                            "'2036-12-31' - INTERVAL 1 HOUR"
                        ]
                    )
                )
            }
        };
        let kept = fixed(rng, &["", "", " ON COMPLETION PRESERVE", " ON COMPLETION NOT PRESERVE"]);
        let state = fixed(rng, &["", " ENABLE", " DISABLE", " DISABLE ON REPLICA"]);
        let comment = fixed(rng, &["", "", " COMMENT 'it''s'"]);
        let body = format!("SET @e = {}", kind::value(rng, Kind::Int));
        let statement = match known.is_empty() || rng.chance(40) {
            true => {
                let name = self.fresh("e");
                self.events.push(name.clone());
                format!("CREATE EVENT {name} ON SCHEDULE {schedule}{kept}{state}{comment} DO {body}")
            }
            false => {
                let name = rng.pick(&known).clone();
                match rng.below(5) {
                    0 => format!("DROP EVENT IF EXISTS {name}"),
                    1 => format!("ALTER EVENT {name}{state}{comment} DO {body}"),
                    2 => {
                        let other = self.fresh("e");
                        self.events.push(other.clone());
                        format!("ALTER EVENT {name}{kept} RENAME TO {other}")
                    }
                    _ => format!("ALTER EVENT {name} ON SCHEDULE {schedule}{kept}{state}{comment}"),
                }
            }
        };
        vec![
            statement,
            "SELECT EVENT_NAME, EVENT_TYPE, EXECUTE_AT, INTERVAL_VALUE, INTERVAL_FIELD, STARTS, ENDS, STATUS, ON_COMPLETION, EVENT_COMMENT, EVENT_DEFINITION \
             FROM information_schema.EVENTS WHERE EVENT_SCHEMA = DATABASE()"
                .to_owned(),
        ]
    }
}

/// What a trigger of `table` does.
fn statement(rng: &mut Rng, table: &Table, other: &Table, time: &str, event: &str, names: &[Name]) -> String {
    let scope = Scope::of(names);
    let row = if event == "DELETE" { "OLD" } else { "NEW" };
    let value_of = |rng: &mut Rng, table: &Table| {
        let writable = table.writable();
        let column = match writable.is_empty() {
            true => return format!("id = {row}.id"),
            false => *rng.pick(&writable),
        };
        format!("{} = {}", column.name, Scope::of(names).expression(rng, column.kind, 1))
    };
    match rng.below(10) {
        0..=3 if time == "BEFORE" && event != "DELETE" => {
            let set = value_of(rng, table);
            format!("SET NEW.{set};")
        }
        4 => {
            let condition = scope.condition(rng, 1);
            let state = *rng.pick(&["45000", "01000", "02000"]);
            format!("IF {condition} AND {row}.id > 8 THEN SIGNAL SQLSTATE '{state}' SET MESSAGE_TEXT = 'm'; END IF;")
        }
        5 => "SET @g = IFNULL(@g, 0) + 1;".to_owned(),
        6 => format!("DELETE FROM {} WHERE id = {row}.id + 4;", other.name),
        7 | 8 => {
            let (set, ignore) = (value_of(rng, other), *rng.pick(&["", "IGNORE "]));
            format!("UPDATE {ignore}{} SET {set} WHERE id = {row}.id;", other.name)
        }
        _ => {
            let writable = other.writable();
            let (mut columns, mut values) = (
                vec!["id".to_owned()],
                vec![format!("{row}.id + {}", rng.between(100, 400))],
            );
            for column in writable.iter().filter(|column| column.name != "p") {
                columns.push(column.name.clone());
                values.push(match rng.chance(40) {
                    true => kind::stored(rng, column.sql_type, column.kind),
                    false => scope.expression(rng, column.kind, 0),
                });
            }
            let verb = *rng.pick(&["INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO"]);
            format!(
                "{verb} {} ({}) VALUES ({});",
                other.name,
                columns.join(", "),
                values.join(", ")
            )
        }
    }
}
