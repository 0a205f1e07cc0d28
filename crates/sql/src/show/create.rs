//! SHOW CREATE: definitions as statements that make them again.

use std::fmt::Write;

use catalog::{
    ColumnDef, ColumnDefault, DatabaseDef, EventDef, GeneratedKind, IndexDef, IndexKind, RoutineDef, TableDef,
    TriggerDef, ViewDef,
};
use types::fulltext::TextRules;
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use crate::information_schema::default_text;
pub use crate::plan::text::{failed_foreign_key, foreign_key, name};

/// An expression of a definition, as MySQL shows it.
pub fn shown(expression: &str) -> String {
    let parse = |text: &[u8]| parser::parse_expr(text, parser::SqlMode::default()).ok();
    parse(expression.as_bytes())
        .map(|tree| parser::printer::shown_expr(&tree))
        // A chain of a thousand operators has too many parentheses to be read again.
        .filter(|shown| parse(shown).is_some())
        .and_then(|shown| String::from_utf8(shown).ok())
        .unwrap_or_else(|| expression.to_owned())
}

/// A string literal.
pub fn string(text: &str) -> String {
    format!(
        "'{}'",
        text.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n")
    )
}

pub fn create_database(database: &DatabaseDef, if_not_exists: bool) -> String {
    let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let charset = database.collation.charset().name();
    let collate = match database.collation == database.collation.charset().default_collation() && charset != "utf8mb4" {
        true => String::new(),
        false => format!(" COLLATE {}", database.collation.name()),
    };
    format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {charset}{collate} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        name(&database.name)
    )
}

/// `CREATE TABLE` as MySQL 8.0 prints it; `next_id` is the automatic id that the next row gets.
pub fn create_table(table: &TableDef, next_id: u64) -> String {
    let mut lines: Vec<String> = table
        .named_columns()
        .iter()
        .map(|column| column_line(column, table.collation))
        .collect();
    lines.extend(table.indexes.iter().map(|index| index_line(index, table)));
    let mut keys: Vec<_> = table.foreign_keys.iter().collect();
    keys.sort_by(|a, b| a.name.cmp(&b.name));
    lines.extend(keys.into_iter().map(|key| foreign_key(key, &table.database)));
    let mut checks: Vec<_> = table.checks.iter().collect();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    for check in checks {
        let mut line = format!("CONSTRAINT {} CHECK ({})", name(&check.name), shown(&check.expression));
        if !check.enforced {
            line += " /*!80016 NOT ENFORCED */";
        }
        lines.push(line);
    }
    let temporary = if table.id.is_local() { "TEMPORARY " } else { "" };
    let mut text = format!(
        "CREATE {temporary}TABLE {} (\n  {}\n) ENGINE=InnoDB",
        name(&table.name),
        lines.join(",\n  ")
    );
    if table.auto_increment().is_some() && next_id > 1 {
        let _ = write!(text, " AUTO_INCREMENT={next_id}");
    }
    let charset = table.collation.charset();
    let _ = write!(text, " DEFAULT CHARSET={}", charset.name());
    if table.collation != charset.default_collation() || charset.name() == "utf8mb4" {
        let _ = write!(text, " COLLATE={}", table.collation.name());
    }
    for option in &table.kept_options {
        let _ = write!(text, " {option}");
    }
    if !table.comment.is_empty() {
        let _ = write!(text, " COMMENT={}", string(&table.comment));
    }
    // Comments that MySQL skips, and that LatsDB and TiDB read.
    if let Some(ttl) = &table.ttl {
        let rule = ttl.rule_text(&name(&ttl.column));
        let enable = ttl.enable_text();
        let _ = write!(text, " /*T![ttl] TTL={rule} */ /*T![ttl] TTL_ENABLE='{enable}' */");
    }
    text
}

/// A stored routine.
pub fn create_routine(def: &RoutineDef) -> String {
    crate::program::shown::create_text(def)
}

/// An event, with its times by the clock of its zone.
pub fn create_event(def: &EventDef) -> String {
    crate::program::shown_events::create_text(def)
}

/// A trigger of the table.
pub fn create_trigger(table: &TableDef, trigger: &TriggerDef) -> String {
    crate::program::shown_triggers::create_text(table, trigger)
}

/// `CREATE VIEW` as MySQL 8.0 prints it. For a session whose database is the view's, names of tables there stand alone, so that the
/// statement works in another database too.
pub fn create_view(view: &ViewDef, database: Option<&str>) -> SqlResult<String> {
    let mut query = crate::plan::view_query(view)?;
    let here = database == Some(view.database.as_str());
    if here {
        crate::ddl::views::without_database(&mut query, &view.database);
    }
    let shown = match here {
        true => name(&view.name),
        false => [name(&view.database), name(&view.name)].join("."),
    };
    let mut text = format!(
        "CREATE ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW {shown}",
        view.algorithm.as_str(),
        name(&view.definer.0),
        name(&view.definer.1),
        view.security.as_str(),
    );
    if view.names_columns {
        let names: Vec<String> = view.columns.iter().map(|column| name(column)).collect();
        let _ = write!(text, " ({})", names.join(","));
    }
    let _ = write!(text, " AS {query}");
    if let Some(check) = view.check {
        let _ = write!(text, " WITH {} CHECK OPTION", check.as_str());
    }
    Ok(text)
}

/// A column's type with its character set where it is not the table's.
fn column_type(ty: &SqlType, table: CollationId) -> String {
    let mut text = ty.to_string();
    let is_text = ty.kind.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set);
    if is_text && ty.collation != table {
        let (charset, collation) = (ty.collation.charset().name(), ty.collation.name());
        let _ = write!(text, " CHARACTER SET {charset} COLLATE {collation}");
    } else if is_text && ty.collation != ty.collation.charset().default_collation() {
        let _ = write!(text, " COLLATE {}", ty.collation.name());
    }
    text
}

fn column_line(column: &ColumnDef, table: CollationId) -> String {
    let mut line = format!("{} {}", name(&column.name), column_type(&column.ty, table));
    if let Some(generated) = &column.generated {
        let kind = if generated.kind == GeneratedKind::Stored {
            "STORED"
        } else {
            "VIRTUAL"
        };
        let _ = write!(line, " GENERATED ALWAYS AS ({}) {kind}", shown(&generated.expression));
    }
    if !column.nullable {
        line += " NOT NULL";
    } else if column.ty.kind == TypeKind::Timestamp {
        line += " NULL";
    }
    match &column.default {
        Some(ColumnDefault::Null) => line += " DEFAULT NULL",
        None if column.nullable && column.generated.is_none() && !column.ty.kind.is_lob() => line += " DEFAULT NULL",
        None | Some(ColumnDefault::Dropped) => {}
        Some(ColumnDefault::Expression(expression)) => {
            let _ = write!(line, " DEFAULT ({})", shown(expression));
        }
        Some(ColumnDefault::Literal(_)) if column.ty.kind != TypeKind::Bit => {
            if let Value::Str(text) = default_text(column) {
                let _ = write!(line, " DEFAULT {}", string(&text));
            }
        }
        Some(_) => {
            let _ = write!(line, " DEFAULT {}", default_text(column));
        }
    }
    match column.on_update_now {
        None => {}
        Some(0) => line += " ON UPDATE CURRENT_TIMESTAMP",
        Some(digits) => {
            let _ = write!(line, " ON UPDATE CURRENT_TIMESTAMP({digits})");
        }
    }
    if column.auto_increment {
        line += " AUTO_INCREMENT";
    }
    if column.invisible {
        line += " /*!80023 INVISIBLE */";
    }
    if !column.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", string(&column.comment));
    }
    line
}

fn index_line(index: &IndexDef, table: &TableDef) -> String {
    let parts: Vec<String> = index
        .parts
        .iter()
        .map(|part| {
            let column = &table.columns[part.column];
            let mut text = match column.generated.as_ref().filter(|_| column.hidden) {
                Some(generated) => format!("({})", shown(&generated.expression)),
                None => name(&column.name),
            };
            if let Some(prefix) = part.prefix {
                let _ = write!(text, "({prefix})");
            }
            if part.descending {
                text += " DESC";
            }
            text
        })
        .collect();
    let mut line = match index.kind {
        IndexKind::Primary => "PRIMARY KEY".to_owned(),
        IndexKind::Unique => format!("UNIQUE KEY {}", name(&index.name)),
        IndexKind::Plain => format!("KEY {}", name(&index.name)),
        IndexKind::FullText => format!("FULLTEXT KEY {}", name(&index.name)),
    };
    let _ = write!(line, " ({})", parts.join(","));
    if let Some(using) = &index.using {
        let _ = write!(line, " USING {using}");
    }
    if !index.comment.is_empty() {
        let _ = write!(line, " COMMENT {}", string(&index.comment));
    }
    if !index.visible {
        line += " /*!80000 INVISIBLE */";
    }
    if index.text.is_some_and(TextRules::is_ngram) {
        line += " /*!50100 WITH PARSER `ngram` */ ";
    }
    line
}
