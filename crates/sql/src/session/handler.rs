//! HANDLER: a table read row by row, in the order of its rows or of an index.
//!
//! A handler is a name, a table and a place in one of its indexes. Each READ is a statement of its own: it sees what a SELECT would see at
//! this moment, and goes on from the place where the last row was, whether that row is still there or not.
//!
//! ```text
//!   HANDLER t READ i >= (5)      place ──▶ row, row, …      HANDLER t READ i NEXT goes on behind the last of them
//! ```

use std::collections::HashMap;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::ops::ControlFlow;
use std::sync::Arc;

use catalog::{IndexDef, Privileges};
use parser::ast::{self, HandlerAction, HandlerDirection, HandlerScan};
use store::{Cursor, Direction, KeyRange};
use types::cast::{self, Target, assign};
use types::{ErrorKind, IndexId, KeyLayout, SqlError, SqlResult, Value};

use super::Session;
use super::parameters::Parameters;
use crate::exec::rows::read_row;
use crate::exec::{Answer, Runtime};
use crate::expr::{Binder, Clause, Expr, StatementContext};
use crate::host::Host;
use crate::plan::scope::TableScope;
use crate::plan::{Authorizer as _, Planner};
use crate::result::{ResultShape, ResultSink, ServerStatus};
use crate::table::Table;

/// Entries that are looked at before others have their turn.
const ENTRIES_PER_CHUNK: usize = 256;
/// Of one session.
const HANDLERS_MAX: usize = 1024;

/// The open handlers of a session, by their names.
#[derive(Default)]
pub struct Handlers(HashMap<String, OpenHandler>);

struct OpenHandler {
    /// As it was written.
    alias: String,
    table: Arc<Table>,
    /// The index that was read last, and the place in it; `None`: nothing has been read.
    place: Option<(IndexId, Place)>,
}

/// Between two entries of an index, or at one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// What comes before it ends here; `None`: everything does.
    before: Option<Vec<u8>>,
    /// What comes behind it begins here; `None`: nothing does.
    behind: Option<Vec<u8>>,
}

impl Place {
    fn at(key: &[u8]) -> Place {
        Place {
            before: Some(key.to_vec()),
            behind: Some([key, &[0]].concat()),
        }
    }

    /// Behind the last entry.
    const LAST: Place = Place {
        before: None,
        behind: None,
    };

    /// Before the first entry.
    fn first() -> Place {
        Place {
            before: Some(Vec::new()),
            behind: Some(Vec::new()),
        }
    }
}

/// What a READ looks through.
struct Search {
    index: IndexId,
    range: KeyRange,
    direction: Direction,
}

impl Search {
    /// From a place on.
    fn from(index: IndexId, place: &Place, direction: Direction) -> Search {
        let range = match direction {
            Direction::Forward => place.behind.clone().map(|from| KeyRange { from, to: None }),
            Direction::Backward => Some(KeyRange {
                from: Vec::new(),
                to: place.before.clone(),
            }),
        };
        Search {
            index,
            range: range.unwrap_or_else(KeyRange::empty),
            direction,
        }
    }

    /// All of an index.
    fn all(index: IndexId, direction: Direction) -> Search {
        Search {
            index,
            range: KeyRange::all(),
            direction,
        }
    }
}

fn not_open(alias: &str) -> SqlError {
    SqlError::new(ErrorKind::UnknownTable, &[&alias, &"HANDLER"])
}

impl Session {
    pub(super) fn handler(
        &mut self,
        handler: &ast::Handler,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let named = &handler.table;
        match &handler.action {
            HandlerAction::Open { alias } => {
                let alias = alias.as_ref().unwrap_or(&named.name).as_str();
                if self.handlers.0.contains_key(&alias.to_lowercase()) {
                    return Err(SqlError::new(ErrorKind::NonUniqTable, &[&alias]));
                }
                if self.handlers.0.len() >= HANDLERS_MAX {
                    return Err(ErrorKind::OutOfResources.into());
                }
                self.catch_up(host)?;
                let opened = OpenHandler {
                    alias: alias.to_owned(),
                    table: self.table(named)?,
                    place: None,
                };
                self.handlers.0.insert(alias.to_lowercase(), opened);
                Ok(Answer::done())
            }
            HandlerAction::Close => match self.handlers.0.remove(&named.name.to_lowercase()) {
                Some(_) => Ok(Answer::done()),
                None => Err(not_open(&named.name)),
            },
            HandlerAction::Read { scan, filter, limit } => {
                let key = named.name.to_lowercase();
                let Some(mut open) = self.handlers.0.remove(&key) else {
                    return Err(not_open(&named.name));
                };
                self.catch_up(host)?;
                if !self.is_still(&open.table) {
                    // It was closed when the table was redefined.
                    return Err(not_open(&named.name));
                }
                let read = self.read_handler(&mut open, scan, filter.as_ref(), limit.as_ref(), more, host, sink);
                self.handlers.0.insert(key, open);
                read
            }
        }
    }

    /// Whether a table is what its name means now.
    fn is_still(&self, table: &Arc<Table>) -> bool {
        let name = ast::TableName::new(Some(&table.def.database), &table.def.name);
        self.table(&name)
            .is_ok_and(|now| now.id() == table.id() && Arc::ptr_eq(&now.def, &table.def))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "a statement's clauses, and what every statement has"
    )]
    fn read_handler(
        &mut self,
        open: &mut OpenHandler,
        scan: &HandlerScan,
        filter: Option<&ast::Expr>,
        limit: Option<&ast::Limit>,
        more: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let def = open.table.def.clone();
        self.access()
            .check_table(&def.database, &def.name, Privileges::SELECT)?;
        let (offset, most) = match limit {
            Some(limit) => (
                limit.offset.as_ref().map_or(Ok(0), |rows| self.rows_of(rows, host))?,
                self.rows_of(&limit.count, host)?,
            ),
            None => (0, 1),
        };
        let search = self.search_of(open, scan, host)?;
        let status = self.status().with(more);
        let settings = &self.variables.settings;
        let transaction = self.transaction.for_statement(&self.engine, settings);
        let savepoint = transaction.borrow_mut().begin_statement();
        let outcome = self.with_filter(open, filter, host, |session, condition, ctx| {
            session.read_rows(open, &search, (condition, offset, most), ctx, status, host, sink)
        });
        if let Some(transaction) = self.transaction.current() {
            match &outcome {
                Ok(_) => transaction.borrow_mut().end_statement(savepoint),
                Err(_) => transaction.borrow_mut().rollback_statement(savepoint),
            }
        }
        match outcome {
            Ok((found, place)) => {
                open.place = Some((search.index, place));
                self.transaction.statement_succeeded(host)?;
                Ok(Answer::Rows { found })
            }
            Err(error) => {
                self.transaction.statement_failed(&error);
                Err(error)
            }
        }
    }

    fn rows_of(&mut self, tree: &ast::Expr, host: &dyn Host) -> SqlResult<u64> {
        match self.evaluate(tree, Parameters::NONE, host)? {
            Value::Int(rows) if rows >= 0 => Ok(rows as u64),
            Value::UInt(rows) => Ok(rows),
            _ => Err(SqlError::new(ErrorKind::WrongArguments, &[&"LIMIT"])),
        }
    }

    /// Which entries are looked at, and in which order.
    fn search_of(&mut self, open: &OpenHandler, scan: &HandlerScan, host: &dyn Host) -> SqlResult<Search> {
        let from_place = |index: IndexId, direction: Direction| match &open.place {
            Some((last, place)) if *last == index => Search::from(index, place, direction),
            _ => Search::all(index, direction),
        };
        Ok(match scan {
            HandlerScan::First => Search::all(IndexId::PRIMARY, Direction::Forward),
            HandlerScan::Next => from_place(IndexId::PRIMARY, Direction::Forward),
            HandlerScan::Index { index, direction } => {
                let index = index_of(open, index)?.id;
                match direction {
                    HandlerDirection::First => Search::all(index, Direction::Forward),
                    HandlerDirection::Last => Search::all(index, Direction::Backward),
                    HandlerDirection::Next => from_place(index, Direction::Forward),
                    HandlerDirection::Prev => from_place(index, Direction::Backward),
                }
            }
            HandlerScan::Key { index, op, values } => {
                let index = index_of(open, index)?;
                let prefix = self.key_prefix(open, index, values, host)?;
                let (range, direction) = match op {
                    ast::BinaryOp::Eq => (KeyRange::of_prefix(prefix), Direction::Forward),
                    ast::BinaryOp::Ge => (KeyRange::between(Included(&prefix), Unbounded), Direction::Forward),
                    ast::BinaryOp::Gt => (KeyRange::between(Excluded(&prefix), Unbounded), Direction::Forward),
                    ast::BinaryOp::Le => (KeyRange::between(Unbounded, Included(&prefix)), Direction::Backward),
                    ast::BinaryOp::Lt => (KeyRange::between(Unbounded, Excluded(&prefix)), Direction::Backward),
                    _ => return Err(SqlError::internal("the parser takes no other operator for HANDLER")),
                };
                Search {
                    index: index.id,
                    range,
                    direction,
                }
            }
        })
    }

    /// The bytes that keys with these values begin with.
    fn key_prefix(
        &mut self,
        open: &OpenHandler,
        index: &IndexDef,
        values: &[ast::Expr],
        host: &dyn Host,
    ) -> SqlResult<Vec<u8>> {
        if values.len() > index.parts.len() {
            return Err(SqlError::new(ErrorKind::TooManyKeyParts, &[&index.parts.len()]));
        }
        let layout = layout_of(&open.table, index.id)?;
        let mut converted = Vec::with_capacity(values.len());
        for (tree, part) in values.iter().zip(&index.parts) {
            let value = self.evaluate(tree, Parameters::NONE, host)?;
            let column = &open.table.def.columns[part.column];
            if value.is_null() {
                if !column.nullable {
                    return Err(SqlError::new(ErrorKind::BadNull, &[&column.name]));
                }
                converted.push(value);
                continue;
            }
            let mut warnings = types::Warnings::default();
            let mut context = cast::Context {
                mode: cast::SqlMode::LENIENT,
                zone: &self.variables.settings.expressions.time_zone,
                now: self.statement_time(),
                warnings: &mut warnings,
            };
            let target = Target {
                column: &column.name,
                row: 1,
            };
            converted.push(assign(value, &column.ty, target, &mut context)?);
        }
        let mut prefix = Vec::new();
        layout.encode_values(&converted, &mut prefix);
        Ok(prefix)
    }

    /// Binds the WHERE clause, and calls `work` with it.
    fn with_filter<R>(
        &mut self,
        open: &OpenHandler,
        filter: Option<&ast::Expr>,
        host: &dyn Host,
        work: impl FnOnce(&Session, Option<&Expr>, &StatementContext<'_>) -> SqlResult<R>,
    ) -> SqlResult<R> {
        let access = self.access();
        let catalog = self.engine.catalog();
        self.with_context(host, Parameters::NONE, |session, ctx| {
            let Some(filter) = filter else {
                return work(session, None, ctx);
            };
            let planner = Planner {
                database: session.database.as_deref(),
                ..Planner::new(&*session.engine, &catalog, ctx.eval(), access)
            };
            let mut scope = TableScope::new(&planner, open.table.clone(), &open.alias, Clause::Where);
            let condition = Binder::new(&mut scope, planner.ctx, planner.options()).bind_condition(filter)?;
            match condition.has_subquery() {
                true => Err(SqlError::not_supported("a subquery in HANDLER ... READ")),
                false => work(session, Some(&condition), ctx),
            }
        })
    }

    /// Sends the rows that are wanted. Returns how many there were, and the place where that ended.
    #[expect(
        clippy::too_many_arguments,
        reason = "a statement's clauses, and what every statement has"
    )]
    fn read_rows(
        &self,
        open: &OpenHandler,
        search: &Search,
        (condition, offset, most): (Option<&Expr>, u64, u64),
        ctx: &StatementContext<'_>,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<(u64, Place)> {
        let table = &open.table;
        let def = &table.def;
        let settings = &self.variables.settings;
        let eval = ctx.eval();
        let transaction = self.transaction.current().expect("begun by the caller");
        let statement = settings.of_statement(self.options.found_rows);
        let runtime = Runtime::new(self.engine.participant(), host, transaction, statement);
        let snapshot = transaction.borrow_mut().snapshot();
        if !table.id().is_local() && !table.rows.is_readable_at(search.index, snapshot) {
            return Err(ErrorKind::TableDefChanged.into());
        }
        let shown: Vec<usize> = (0..def.named_columns().len())
            .filter(|column| !def.columns[*column].invisible)
            .collect();
        let columns = shown.iter();
        let columns = columns.map(|column| crate::plan::columns::table_column(def, &open.alias, *column));
        sink.columns(&ResultShape::new(columns.collect()), status)?;
        let mut cursor = Cursor::new(search.range.clone(), search.direction);
        let (mut passed, mut sent) = (0, 0);
        let mut place = match &open.place {
            // Nothing is read: nothing changes.
            Some((index, place)) if most == 0 && *index == search.index => place.clone(),
            _ => Place::first(),
        };
        while sent < most && !cursor.is_finished() {
            governor::tick()?;
            let mut entries: Vec<(Vec<u8>, Vec<Value>)> = Vec::new();
            let wanted = usize::try_from(most - sent).unwrap_or(usize::MAX);
            let chunk = match condition {
                None => ENTRIES_PER_CHUNK.min(wanted.saturating_add(usize::try_from(offset).unwrap_or(usize::MAX))),
                Some(_) => ENTRIES_PER_CHUNK,
            };
            runtime
                .transaction()
                .scan(&table.rows, search.index, &mut cursor, chunk, |entry| {
                    entries.push((entry.key().to_vec(), read_row(table.layout(), entry.row())));
                    match entries.len() >= chunk || governor::is_due() {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                });
            for (key, mut values) in entries {
                governor::tick()?;
                if let Some(condition) = condition
                    && condition.eval_bool(&values, &eval)? != Some(true)
                {
                    continue;
                }
                passed += 1;
                if passed <= offset {
                    continue;
                }
                for value in &mut values {
                    if let Value::Timestamp(moment) = value {
                        *value = Value::DateTime(settings.expressions.time_zone.to_local(*moment));
                    }
                }
                let row: Vec<Value> = shown.iter().map(|column| values[*column].clone()).collect();
                sink.row(&row)?;
                sent += 1;
                place = Place::at(&key);
                if sent == most {
                    break;
                }
            }
            if sink.is_full() {
                sink.flush(host)?;
            }
        }
        if sent < most {
            // It came to the end.
            place = match search.direction {
                Direction::Forward => match &search.range.to {
                    Some(end) if !end.is_empty() => Place {
                        before: Some(end.clone()),
                        behind: Some(end.clone()),
                    },
                    _ => Place::LAST,
                },
                Direction::Backward => Place::first(),
            };
        }
        Ok((sent, place))
    }
}

fn index_of<'o>(open: &'o OpenHandler, name: &str) -> SqlResult<&'o IndexDef> {
    let mut indexes = open.table.def.indexes.iter();
    let index = indexes
        .find(|index| index.name.eq_ignore_ascii_case(name))
        .ok_or_else(|| SqlError::new(ErrorKind::KeyDoesNotExist, &[&name, &open.alias]))?;
    match index.is_multi_valued() {
        true => Err(SqlError::not_supported("HANDLER of a multi-valued index")),
        false => Ok(index),
    }
}

fn layout_of(table: &Table, index: IndexId) -> SqlResult<&KeyLayout> {
    let layout = match index {
        IndexId::PRIMARY => table.rows.primary_layout(),
        index => table.rows.index_layout(index),
    };
    layout.ok_or_else(|| SqlError::internal("an index of the definition is one of the rows'"))
}
