//! LOAD DATA LOCAL INFILE: the client's file becomes rows of an INSERT.
//!
//! ```text
//!   client ── pieces ──▶ Records ── fields ──▶ columns, @variables ── SET ──▶ Inserter
//! ```
//!
//! With LOCAL the client cannot be stopped in the middle, so errors of values and keys are warnings, as under IGNORE.

pub mod format;

use catalog::ColumnDef;
use sql_api::result::ResultSink;
use sql_expr::EvalContext;
use sql_expr::context::UserVariable;
use sql_plan::changes::{OnDuplicate, Source};
use sql_plan::load::{LoadPlan, LoadTarget};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind, UnixTime, Value};

use super::Changed;
use super::insert::{Given, Inserter, value_of};
use crate::answer::counted;
use crate::runtime::Runtime;
use format::{Field, Records};

/// What is told of the rows: MySQL's info string.
pub fn load_info(plan: &LoadPlan, changed: &Changed, warnings: u64) -> String {
    let (deleted, skipped) = match plan.insert.on_duplicate {
        OnDuplicate::Replace => (changed.duplicates, 0),
        _ => (0, changed.matched - changed.affected.min(changed.matched)),
    };
    counted(&[
        ("Records", changed.matched),
        ("Deleted", deleted),
        ("Skipped", skipped),
        ("Warnings", warnings),
    ])
}

/// Asks the client for the file and inserts its records.
pub fn load(
    plan: &LoadPlan,
    runtime: &Runtime<'_>,
    ctx: &EvalContext<'_>,
    sink: &mut dyn ResultSink,
) -> SqlResult<Changed> {
    let mut inserter = Inserter::new(&plan.insert, runtime, ctx);
    let mut records = Records::new(&plan.format, plan.lines_to_skip, plan.record_bytes_max);
    let mut take = |fields: Vec<Field>| take_record(plan, &mut inserter, fields, ctx);
    sink.receive_file(&plan.path, runtime.host, &mut |piece| records.push(piece, &mut take))?;
    records.finish(&mut take)?;
    Ok(inserter.changed)
}

/// What a row has for one column.
enum Cell {
    Value(Value),
    /// Of the column's type already: the line ended before the field.
    Empty(Value),
    Missing,
}

fn take_record(
    plan: &LoadPlan,
    inserter: &mut Inserter<'_>,
    fields: Vec<Field>,
    ctx: &EvalContext<'_>,
) -> SqlResult<()> {
    let row_number = inserter.changed.matched + 1;
    let warn = |error: SqlError| ctx.with_warnings(|warnings| warnings.warn(error));
    // REPLACE forgives as little as an INSERT does.
    let fails = ctx.settings.sql_mode.is_strict() && !plan.insert.ignore;
    let warn_or_fail = |error: SqlError| match fails {
        true => Err(error),
        false => {
            warn(error);
            Ok(())
        }
    };
    let def = &plan.insert.table.def;
    let (given, wanted) = (fields.len(), plan.targets.len());
    let mut cells: Vec<Cell> = plan.insert.columns.iter().map(|_| Cell::Missing).collect();
    let mut fields = fields.into_iter();
    for target in &plan.targets {
        let field = fields.next();
        match target {
            LoadTarget::Variable(name) => {
                let value = match field.flatten() {
                    Some(bytes) => Value::str(&text(plan, &bytes)?),
                    None => Value::Null,
                };
                let ty = SqlType::text(TypeKind::LongText, ctx.settings.collation);
                ctx.services.set_user_variable(name, UserVariable { value, ty });
            }
            LoadTarget::Place(place) => {
                let column = &def.columns[plan.insert.columns[*place]];
                cells[*place] = match field {
                    None => {
                        warn_or_fail(SqlError::new(ErrorKind::TooFewRecords, &[&row_number]))?;
                        empty_cell(column, ctx)
                    }
                    // As in every INSERT once, NULL is the time of now.
                    Some(None) if !column.nullable && column.ty.kind == TypeKind::Timestamp => empty_cell(column, ctx),
                    Some(None) if !column.nullable && !column.auto_increment => {
                        warn(SqlError::new(ErrorKind::NullToNotNull, &[&column.name, &row_number]));
                        Cell::Value(types::cast::implicit_default(&column.ty))
                    }
                    Some(None) => Cell::Value(Value::Null),
                    Some(Some(bytes)) if column.ty.kind.is_binary() || column.ty.kind == TypeKind::Bit => {
                        Cell::Value(Value::bytes(&bytes))
                    }
                    Some(Some(bytes)) => Cell::Value(Value::str(&text(plan, &bytes)?)),
                };
            }
        }
    }
    if given > wanted {
        warn_or_fail(SqlError::new(ErrorKind::TooManyRecords, &[&row_number]))?;
    }
    if !plan.assignments.is_empty() {
        let mut row = vec![Value::Null; def.columns.len()];
        for (place, cell) in cells.iter().enumerate() {
            if let Cell::Value(value) | Cell::Empty(value) = cell {
                row[plan.insert.columns[place]] = value.clone();
            }
        }
        for (place, assignment) in &plan.assignments {
            let value = assignment.value.eval(&row, ctx)?;
            row[assignment.column] = value.clone();
            cells[*place] = Cell::Value(value);
        }
    }
    let Source::Values(defaults) = &plan.insert.source else {
        return Err(SqlError::internal("LOAD DATA is planned with a row of defaults"));
    };
    inserter.take(cells.len(), |place, values| match &cells[place] {
        Cell::Value(_) | Cell::Empty(_) if def.columns[plan.insert.columns[place]].generated.is_some() => {
            Ok(Given::Generated)
        }
        Cell::Value(value) => Ok(Given::Value(value.clone())),
        Cell::Empty(value) => Ok(Given::Default(value.clone())),
        Cell::Missing => value_of(&defaults[0][place], values, ctx),
    })
}

/// What a column has whose field is missing: not its default but nothing, which is NULL where that is the default. A TIMESTAMP is of now.
fn empty_cell(column: &ColumnDef, ctx: &EvalContext<'_>) -> Cell {
    if column.auto_increment || column.generated.is_some() {
        return Cell::Missing;
    }
    if column.nullable && sql_plan::columns::constant_default(column).is_none_or(|default| default.is_null()) {
        return Cell::Empty(Value::Null);
    }
    Cell::Empty(match column.ty.kind {
        TypeKind::Timestamp if !column.nullable => Value::Timestamp(
            UnixTime {
                micros: ctx.now.micros,
                fsp: 6,
            }
            .truncate(column.ty.decimals),
        ),
        _ => types::cast::forgiven_null(&column.ty),
    })
}

fn text<'b>(plan: &LoadPlan, bytes: &'b [u8]) -> SqlResult<std::borrow::Cow<'b, str>> {
    plan.charset.decode(bytes).map_err(|invalid| {
        let shown: String = bytes[invalid.position..]
            .iter()
            .take(6)
            .map(|byte| format!("\\x{byte:02X}"))
            .collect();
        SqlError::new(ErrorKind::InvalidCharacterString, &[&plan.charset.name(), &shown])
    })
}
