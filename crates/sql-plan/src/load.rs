//! LOAD DATA, bound as the INSERT that takes the file's rows.

use std::sync::Arc;

use parser::ast::{self, InsertSource, InsertVerb, OnDuplicateRow};
use sql_expr::Clause;
use sql_expr::context::UserVariable;
use types::{CharsetId, ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use crate::Planner;
use crate::changes::{Assignment, InsertPlan};
use crate::dml::{bind_assignments, plan_insert};
use crate::names::charset_by_name;
use crate::scope::TableScope;

/// The longest line that is waited for.
const RECORD_BYTES_MAX: usize = 64 << 20;

pub fn plan_load(planner: &Planner<'_>, load: &ast::LoadData) -> SqlResult<LoadPlan> {
    if load.xml {
        return Err(SqlError::not_supported("LOAD XML"));
    }
    match load.local {
        true if !planner.node.takes_local_files() => return Err(ErrorKind::ClientLocalFilesDisabled.into()),
        false if !planner.node.has_server_files() => return Err(crate::files::no_server_files()),
        true | false => {}
    }
    let format = format_of(&load.fields, &load.lines)?;
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
                services.set_user_variable(&name, UserVariable::new(value, ty));
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
        // A client cannot be stopped in the midst of its file.
        ignore: match load.duplicates {
            Some(OnDuplicateRow::Replace) => false,
            Some(OnDuplicateRow::Ignore) => true,
            None => load.local,
        },
        table: load.table.clone(),
        partitions: load.partitions.clone(),
        source: InsertSource::Values(vec![vec![ast::Expr::Default; names.len()]]),
        columns: Some(names),
        row_alias: None,
        on_duplicate: Vec::new(),
    };
    Ok(LoadPlan {
        insert: plan_insert(planner, &insert)?,
        is_of_client: load.local,
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

/// What FIELDS and LINES say.
pub(crate) fn format_of(fields: &ast::FieldFormat, lines: &ast::LineFormat) -> SqlResult<FileFormat> {
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

/// A bound LOAD DATA.
#[derive(Debug)]
pub struct LoadPlan {
    /// Its source is one row: what each column gets where the file has no field for it.
    pub insert: InsertPlan,
    /// LOCAL: the client sends the file.
    pub is_of_client: bool,
    pub path: String,
    pub charset: CharsetId,
    pub format: FileFormat,
    pub lines_to_skip: u64,
    /// Where the fields of a line go, in order.
    pub targets: Vec<LoadTarget>,
    /// `SET column = value`; each has its place among the row's values.
    pub assignments: Vec<(usize, Assignment)>,
    pub record_bytes_max: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadTarget {
    /// The n-th value of the row.
    Place(usize),
    Variable(Arc<str>),
}

/// What separates lines and fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFormat {
    pub fields_terminated: Vec<u8>,
    pub enclosed: Option<u8>,
    pub escaped: Option<u8>,
    pub lines_starting: Vec<u8>,
    pub lines_terminated: Vec<u8>,
}

/// A clause's argument that may be one character or none.
pub fn one_byte(written: Option<&[u8]>, default: Option<u8>) -> SqlResult<Option<u8>> {
    match written {
        None => Ok(default),
        Some([]) => Ok(None),
        Some([byte]) => Ok(Some(*byte)),
        Some(_) => Err(SqlError::from(ErrorKind::WrongFieldTerminators)),
    }
}
