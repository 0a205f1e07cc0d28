//! LOAD DATA LOCAL INFILE: the client's file becomes rows of an INSERT.
//!
//! ```text
//!   client ── pieces ──▶ Records ── fields ──▶ columns, @variables ── SET ──▶ Inserter
//! ```
//!
//! With LOCAL the client cannot be stopped in the middle, so errors of values and keys are warnings, as under IGNORE.

pub mod format;

use std::borrow::Cow;

use catalog::ColumnDef;
use sql_api::result::ResultSink;
use sql_expr::EvalContext;
use sql_expr::context::UserVariable;
use sql_plan::changes::{OnDuplicate, Source};
use sql_plan::load::{LoadPlan, LoadTarget};
use transaction::LOCKS_AT_ONCE;
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind, UnixTime, Value};

use super::Changed;
use super::in_way::{Foreseen, InWay, foreseen};
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
    let inserter = Inserter::new(&plan.insert, runtime, ctx);
    let mut loading = Loading {
        in_way: InWay::new(&plan.insert, &inserter.changer),
        plan,
        ctx,
        inserter,
        waiting: Vec::new(),
        waiting_bytes: 0,
        has_failed: false,
    };
    let mut records = Records::new(&plan.format, plan.lines_to_skip, plan.record_bytes_max);
    let mut take = |fields: Vec<Field>| loading.take(fields);
    let received = sink.receive_file(&plan.path, runtime.host, &mut |piece| records.push(piece, &mut take));
    let received = received.and_then(|()| records.finish(&mut take));
    if !loading.has_failed {
        // What was there before something went wrong comes first.
        loading.insert_waiting()?;
    }
    received?;
    Ok(loading.inserter.changed)
}

/// Records that wait for each other take no more memory than this.
const WAITING_BYTES: usize = 1 << 20;

/// Records on their way into the table. Where another node gives locks, some wait so that theirs can be asked for together.
struct Loading<'a> {
    plan: &'a LoadPlan,
    ctx: &'a EvalContext<'a>,
    inserter: Inserter<'a>,
    /// `None`: none has to wait.
    in_way: Option<InWay<'a>>,
    waiting: Vec<Vec<Field>>,
    waiting_bytes: usize,
    /// A record could not be written.
    has_failed: bool,
}

impl Loading<'_> {
    fn take(&mut self, fields: Vec<Field>) -> SqlResult<()> {
        if self.in_way.is_none() {
            return take_record(self.plan, &mut self.inserter, fields, self.ctx)
                .inspect_err(|_| self.has_failed = true);
        }
        let bytes = fields.iter().flatten().map(Vec::len);
        self.waiting_bytes += bytes.sum::<usize>() + size_of::<Field>() * fields.len();
        self.waiting.push(fields);
        match self.waiting.len() >= LOCKS_AT_ONCE || self.waiting_bytes >= WAITING_BYTES {
            true => self.insert_waiting(),
            false => Ok(()),
        }
    }

    fn insert_waiting(&mut self) -> SqlResult<()> {
        let records = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let inserted = self.lock_ahead(&records).and_then(|()| {
            let mut records = records.into_iter();
            records.try_for_each(|fields| take_record(self.plan, &mut self.inserter, fields, self.ctx))
        });
        inserted.inspect_err(|_| self.has_failed = true)
    }

    fn lock_ahead(&self, records: &[Vec<Field>]) -> SqlResult<()> {
        let Some(in_way) = self.in_way.as_ref().filter(|_| records.len() > 1) else {
            return Ok(());
        };
        let plan = self.plan;
        let Source::Values(defaults) = &plan.insert.source else {
            return Ok(());
        };
        // Where in a record each column is; `None` where an assignment computes it, or nothing gives it.
        let assigned = |place: usize| plan.assignments.iter().any(|(other, _)| *other == place);
        let field_of = |place: usize| {
            let is_it = |target: &LoadTarget| matches!(target, LoadTarget::Place(other) if *other == place);
            plan.targets.iter().position(is_it)
        };
        let fields: Vec<Option<usize>> = (0..plan.insert.columns.len()).map(field_of).collect();
        in_way.lock(records, &self.inserter.changer, |record, place| {
            let Some(at) = fields[place].filter(|_| !assigned(place)) else {
                return match assigned(place) {
                    true => Foreseen::Unknown,
                    false => foreseen(&defaults[0][place], self.ctx),
                };
            };
            let column = &plan.insert.table.def.columns[plan.insert.columns[place]];
            match record.get(at) {
                Some(Some(bytes)) => value_of_field(plan, column, bytes)
                    .map_or(Foreseen::Unknown, |value| Foreseen::Given(Cow::Owned(value))),
                Some(None) => Foreseen::Given(Cow::Owned(Value::Null)),
                None => Foreseen::Unknown,
            }
        })
    }
}

fn value_of_field(plan: &LoadPlan, column: &ColumnDef, bytes: &[u8]) -> SqlResult<Value> {
    match column.ty.kind.is_binary() || column.ty.kind == TypeKind::Bit {
        true => Ok(Value::bytes(bytes)),
        false => Ok(Value::str(&text(plan, bytes)?)),
    }
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
                ctx.services.set_user_variable(name, UserVariable::new(value, ty));
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
                    Some(Some(bytes)) => Cell::Value(value_of_field(plan, column, &bytes)?),
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
