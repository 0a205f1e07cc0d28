//! SHOW CREATE PROCEDURE and FUNCTION, and the rows of `information_schema.ROUTINES` and `PARAMETERS`.

use std::fmt::Write as _;
use std::sync::Arc;

use catalog::{DataAccess, DynamicPrivilege, Privileges, ProgramContext, RoutineDef, RoutineKind};
use parser::ast::{ParamMode, TableName};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::compile;
use crate::accounts::access::Access;
use crate::information_schema::schema::{CATALOG, moment, type_cells};
use crate::information_schema::{Source, text};
use crate::result::{ResultSink, ServerStatus};
use crate::session::{Answer, Session};
use crate::show::{send, text_column};

/// A type behind RETURNS: text names its character set.
pub fn type_text(ty: &SqlType) -> String {
    let mut text = ty.to_string();
    if ty.kind.is_text() || matches!(ty.kind, TypeKind::Enum | TypeKind::Set) {
        let charset = ty.collation.charset();
        let _ = write!(text, " CHARSET {}", charset.name());
        if ty.collation != charset.default_collation() {
            let _ = write!(text, " COLLATE {}", ty.collation.name());
        }
    }
    text
}

/// `CREATE …` as MySQL prints it.
pub fn create_text(def: &RoutineDef) -> String {
    let name = crate::show::create::name;
    let mut text = format!(
        "CREATE DEFINER={}@{} {} {}({})",
        name(&def.definer.0),
        name(&def.definer.1),
        def.kind.as_str(),
        name(&def.name),
        def.parameters,
    );
    if def.kind == RoutineKind::Function {
        let _ = write!(text, " RETURNS {}", def.returns);
    }
    text.push('\n');
    let characteristics = &def.characteristics;
    if characteristics.data_access != DataAccess::ContainsSql {
        let _ = writeln!(text, "    {}", characteristics.data_access.as_str());
    }
    if characteristics.deterministic {
        text.push_str("    DETERMINISTIC\n");
    }
    if !characteristics.definer_security {
        text.push_str("    SQL SECURITY INVOKER\n");
    }
    if !characteristics.comment.is_empty() {
        let _ = writeln!(
            text,
            "    COMMENT {}",
            crate::show::create::string(&characteristics.comment)
        );
    }
    text.push_str(&def.body);
    text
}

/// Whether the text is told: to its definer, and to who may read all definitions.
fn shows_text(def: &RoutineDef, access: &Access) -> bool {
    let is_own = access.account().is_none_or(|(user, host)| (user, host) == def.definer);
    is_own
        || access.rights().global().contains(Privileges::SELECT)
        || access.rights().has(DynamicPrivilege::SHOW_ROUTINE)
}

/// Whether the routine is seen at all: by who may do anything with it, too.
fn is_seen(def: &RoutineDef, access: &Access) -> bool {
    shows_text(def, access) || {
        let held = access.on_routine(&def.database, def.kind, &def.name);
        held.meets(
            Privileges::EXECUTE
                .with(Privileges::ALTER_ROUTINE)
                .with(Privileges::CREATE_ROUTINE),
        )
    }
}

impl Session {
    pub(crate) fn show_create_routine(
        &mut self,
        kind: RoutineKind,
        name: &TableName,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let (database, routine) = self.qualified(name)?;
        let access = self.access();
        let catalog = self.engine.catalog();
        let def = catalog.routine(&database, kind, &routine);
        let Some(def) = def.filter(|def| is_seen(def, &access)) else {
            return Err(SqlError::new(ErrorKind::SpDoesNotExist, &[&kind.as_str(), &routine]));
        };
        let (title, create) = match kind {
            RoutineKind::Procedure => ("Procedure", "Create Procedure"),
            RoutineKind::Function => ("Function", "Create Function"),
        };
        let names = [
            title,
            "sql_mode",
            create,
            "character_set_client",
            "collation_connection",
            "Database Collation",
        ];
        let mut row = vec![
            Value::str(&def.name),
            Value::str(&def.context.sql_mode),
            match shows_text(def, &access) {
                true => Value::from(create_text(def)),
                false => Value::Null,
            },
        ];
        row.extend(context_cells(&def.context));
        send(
            names.iter().map(|name| text_column(name)).collect(),
            vec![row],
            status,
            sink,
        )
    }
}

/// The routines that whoever asks may see, by their names.
fn seen(source: &Source<'_>) -> Vec<Arc<RoutineDef>> {
    let catalog = source.session.engine.catalog();
    let mut found = Vec::new();
    for database in source.databases(&catalog) {
        let mut routines: Vec<_> = database
            .routines
            .values()
            .filter(|def| is_seen(def, source.session.access))
            .cloned()
            .collect();
        routines.sort_by_cached_key(|def| (def.name.to_lowercase(), def.kind));
        found.append(&mut routines);
    }
    found
}

/// `character_set_client`, `collation_connection` and `Database Collation` of a program, which stand last wherever it is shown.
pub(super) fn context_cells(context: &ProgramContext) -> [Value; 3] {
    [
        text(&context.client_charset),
        text(context.connection.name()),
        text(context.database.name()),
    ]
}

pub fn routines(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for def in seen(source).into_iter().take_while(|_| governor::go_on()) {
        let mut row = vec![
            text(&def.name),
            text(CATALOG),
            text(&def.database),
            text(&def.name),
            text(def.kind.as_str()),
        ];
        let returns = declared(&def).and_then(|declared| declared.returns);
        match &returns {
            Some(ty) => row.extend(type_cells(ty)),
            None => {
                row.push(text(""));
                row.extend(std::iter::repeat_n(Value::Null, 7));
            }
        }
        let characteristics = &def.characteristics;
        row.extend([
            returns.as_ref().map_or(Value::Null, |ty| text(ty.to_string())),
            text("SQL"),
            match shows_text(&def, source.session.access) {
                true => text(&def.body),
                false => Value::Null,
            },
            Value::Null,
            text("SQL"),
            text("SQL"),
            text(if characteristics.deterministic { "YES" } else { "NO" }),
            text(characteristics.data_access.as_str()),
            Value::Null,
            text(if characteristics.definer_security {
                "DEFINER"
            } else {
                "INVOKER"
            }),
            moment(def.created_at / 1_000_000, source),
            moment(def.altered_at / 1_000_000, source),
            text(&def.context.sql_mode),
            text(&characteristics.comment),
            text(format!("{}@{}", def.definer.0, def.definer.1)),
        ]);
        row.extend(context_cells(&def.context));
        rows.push(row);
    }
    rows
}

pub fn parameters(source: &Source<'_>) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let mut routines = seen(source);
    routines.sort_by_key(|def| def.kind);
    for def in routines.into_iter().take_while(|_| governor::go_on()) {
        let Some(declared) = declared(&def) else { continue };
        let mut row = |at: usize, mode: Value, name: Value, ty: &SqlType| {
            let mut row = vec![
                text(CATALOG),
                text(&def.database),
                text(&def.name),
                Value::UInt(at as u64),
                mode,
                name,
            ];
            row.extend(type_cells(ty));
            row.extend([text(ty.to_string()), text(def.kind.as_str())]);
            rows.push(row);
        };
        if let Some(ty) = &declared.returns {
            row(0, Value::Null, Value::Null, ty);
        }
        for (at, (mode, name, ty)) in declared.parameters.iter().enumerate() {
            let mode = match mode {
                ParamMode::In => "IN",
                ParamMode::Out => "OUT",
                ParamMode::InOut => "INOUT",
            };
            row(at + 1, text(mode), text(name), ty);
        }
    }
    rows
}

/// The types of a routine's parameters and of what it returns.
struct Declared {
    parameters: Vec<(ParamMode, String, SqlType)>,
    returns: Option<SqlType>,
}

/// `None` for a text that this version cannot read.
fn declared(def: &RoutineDef) -> Option<Declared> {
    let program = compile::routine(def).ok()?;
    let parameters = program.parameters.iter().enumerate();
    let parameters = parameters.map(|(at, parameter)| {
        (
            parameter.mode,
            program.slots[at].name.clone(),
            program.types[at].clone(),
        )
    });
    Some(Declared {
        parameters: parameters.collect(),
        returns: program.returns,
    })
}
