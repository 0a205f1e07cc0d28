//! LOAD DATA, bound as the INSERT that takes the file's rows.

use parser::ast::{self, InsertSource, InsertVerb, OnDuplicateRow};
use types::{CharsetId, ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::Planner;
use super::dml::{bind_assignments, plan_insert};
use super::scope::TableScope;
use crate::exec::dml::load::{FileFormat, LoadPlan, LoadTarget, one_byte};
use crate::expr::Clause;
use crate::expr::context::UserVariable;
use crate::names::charset_by_name;
use crate::variables;

/// The longest line that is waited for.
const RECORD_BYTES_MAX: usize = 64 << 20;

pub fn plan_load(planner: &Planner<'_>, load: &ast::LoadData) -> SqlResult<LoadPlan> {
    if load.xml {
        return Err(SqlError::not_supported("LOAD XML"));
    }
    if !load.local {
        return Err(SqlError::not_supported("LOAD DATA INFILE without LOCAL"));
    }
    if &*planner.engine.globals().get(variables::find("local_infile")?) == "OFF" {
        return Err(ErrorKind::ClientLocalFilesDisabled.into());
    }
    let format = format(load)?;
    if format.fields_terminated.is_empty() && format.enclosed.is_none() {
        return Err(SqlError::not_supported("LOAD DATA of fields with fixed widths"));
    }
    let mut names: Vec<ast::ColumnName> = Vec::new();
    let mut targets = Vec::with_capacity(load.targets.len());
    for target in &load.targets {
        targets.push(match target {
            ast::LoadTarget::UserVar(name) => {
                let name = name.to_lowercase();
                // SET is bound below, by the types that its variables will have.
                let ty = SqlType::text(TypeKind::LongText, planner.ctx.settings.collation);
                let value = Value::Null;
                let services = planner.ctx.services;
                services.set_user_variable(&name, UserVariable { value, ty });
                LoadTarget::Variable(name.into())
            }
            ast::LoadTarget::Column(name) => {
                names.push(name.clone());
                LoadTarget::Place(names.len() - 1)
            }
        });
    }
    let table = planner.table_for(&load.table, None, catalog::Privileges::INSERT)?;
    if load.targets.is_empty() {
        let visible = table.def.columns.iter().filter(|column| !column.invisible);
        names.extend(visible.map(|column| ast::ColumnName::bare(column.name.as_str())));
        targets.extend((0..names.len()).map(LoadTarget::Place));
    }
    let mut scope =
        TableScope::new(planner, table.clone(), &table.def.name, Clause::FieldList).read_by(planner.access());
    let mut assignments = Vec::new();
    for assignment in bind_assignments(planner, &mut scope, &load.assignments)? {
        let name = &table.def.columns[assignment.column].name;
        let place = names.iter().position(|listed| listed.name.eq_ignore_ascii_case(name));
        let place = place.unwrap_or_else(|| {
            names.push(ast::ColumnName::bare(name.as_str()));
            names.len() - 1
        });
        assignments.push((place, assignment));
    }
    let insert = ast::Insert {
        hints: None,
        verb: match load.duplicates {
            Some(OnDuplicateRow::Replace) => InsertVerb::Replace,
            _ => InsertVerb::Insert,
        },
        priority: None,
        ignore: load.duplicates != Some(OnDuplicateRow::Replace),
        table: load.table.clone(),
        partitions: load.partitions.clone(),
        source: InsertSource::Values(vec![vec![ast::Expr::Default; names.len()]]),
        columns: Some(names),
        row_alias: None,
        on_duplicate: Vec::new(),
    };
    Ok(LoadPlan {
        insert: plan_insert(planner, &insert)?,
        path: load.path.to_string(),
        charset: load
            .charset
            .as_ref()
            .map_or(Ok(CharsetId::UTF8MB4), |name| charset_by_name(name))?,
        format,
        lines_to_skip: load.skip,
        targets,
        assignments,
        record_bytes_max: RECORD_BYTES_MAX,
    })
}

fn format(load: &ast::LoadData) -> SqlResult<FileFormat> {
    let (fields, lines) = (&load.fields, &load.lines);
    let written = |text: &Option<Box<[u8]>>, default: &[u8]| text.as_deref().unwrap_or(default).to_vec();
    let fields_terminated = written(&fields.terminated_by, b"\t");
    let lines_terminated = match written(&lines.terminated_by, b"\n") {
        // Without a terminator of its own a line ends with its last field.
        empty if empty.is_empty() => fields_terminated.clone(),
        given => given,
    };
    Ok(FileFormat {
        fields_terminated,
        enclosed: one_byte(fields.enclosed_by.as_deref(), None)?,
        escaped: one_byte(fields.escaped_by.as_deref(), Some(b'\\'))?,
        lines_starting: written(&lines.starting_by, b""),
        lines_terminated,
    })
}
