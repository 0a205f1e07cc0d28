//! FOR UPDATE, FOR SHARE: rows are found, locked, and then seen as they are.
//!
//! Where another node gives locks, many are asked for together: those of a table that is scanned, in chunks; and in a join, those of the
//! table that comes next for several rows of the tables before it. What is asked for ahead is locked once more, row by row.

use std::ops::ControlFlow;

use sql_expr::Expr;
use sql_plan::access::KeyRanges;
use sql_plan::access::ranges::key_ranges;
use sql_plan::query::{BaseAccess, DerivedRow, Join, LockRequest};
use store::Entry;
use transaction::{LOCKS_AT_ONCE, LockPolicy};
use types::{IndexId, SqlError, SqlResult, Value};

use super::join::{CHUNK_ROWS, Next, Searches, fill, join_rows, pass};
use super::{QueryContext, Rows, row_bytes};
use crate::runtime::{Locked, QueryMemory};
use crate::seen::Seen;

/// Rows are locked in chunks that grow. Small at first: who takes the first job of a queue needs one row.
const FIRST_ROWS: usize = 8;

/// Locks the rows of one table, and gives them to `next`.
pub fn locked_rows(
    access: &BaseAccess,
    lock: LockRequest,
    keys: &KeyRanges,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    let runtime = ctx.runtime;
    if let Some(keys) = access.path.primary_keys(keys) {
        for key in keys {
            if locked_row(access, lock, &FoundEntry::by_key(key), row, ctx, next)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    let locks_ahead = locks_ahead(access, ctx);
    let mut found: Vec<FoundEntry> = Vec::new();
    let mut seen = Seen::of(keys, runtime);
    for mut cursor in access.path.cursors(keys) {
        let mut chunk_rows = FIRST_ROWS;
        while !cursor.is_finished() {
            found.clear();
            runtime
                .transaction()
                .scan_to_lock(&access.table.rows, keys.index, &mut cursor, chunk_rows, |entry| {
                    found.push(FoundEntry::new(&entry, keys.index));
                    ControlFlow::Continue(())
                });
            // A row is shown twice where the snapshot and the newest rows differ.
            found.dedup_by(|a, b| a.primary_key == b.primary_key);
            if locks_ahead && chunk_rows > FIRST_ROWS {
                let mut ahead = Ahead::new(access, lock, ctx);
                for entry in &found {
                    ahead.add(&entry.primary_key, row)?;
                }
                ahead.lock()?;
            }
            for entry in &found {
                if !seen.is_new(&entry.primary_key)? {
                    continue;
                }
                if locked_row(access, lock, entry, row, ctx, next)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            governor::tick()?;
            chunk_rows = (chunk_rows * 4).min(CHUNK_ROWS);
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// Gives every row of `outer` to `next`, which looks for the rows of `inner` that go with it. Locks of those are asked for ahead, for
/// several rows of `outer` together.
pub fn outer_rows(
    outer: &Join,
    inner: &Join,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    let Some((access, lock)) = first_locked(inner, ctx).filter(|_| !is_volatile(outer)) else {
        return join_rows(outer, row, ctx, next);
    };
    let mut waiting = Waiting {
        access,
        lock,
        rows: Rows::default(),
        at_once: FIRST_ROWS * 4,
        given: 0,
        memory: ctx.runtime.query_memory(),
    };
    let read = join_rows(outer, row, ctx, &mut |row| {
        if waiting.given < FIRST_ROWS {
            waiting.given += 1;
            return next(row);
        }
        waiting.memory.grow(row_bytes(row))?;
        waiting.rows.push(row.clone());
        match waiting.rows.len() < waiting.at_once {
            true => Ok(ControlFlow::Continue(())),
            false => waiting.give(ctx, next),
        }
    });
    match read {
        Ok(ControlFlow::Break(())) => Ok(ControlFlow::Break(())),
        Ok(ControlFlow::Continue(())) => waiting.give(ctx, next),
        // What is wrong with a row comes after the rows before it, of which one may be the last that is wanted.
        Err(error) if is_of_a_value(&error) => match waiting.give(ctx, next)? {
            ControlFlow::Break(()) => Ok(ControlFlow::Break(())),
            ControlFlow::Continue(()) => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// Whether an expression has failed: SQLSTATE of data, or of cardinality.
pub fn is_of_a_value(error: &SqlError) -> bool {
    let state = error.sqlstate();
    state.starts_with("22") || state.starts_with("21")
}

/// The first table of a join, if its locks can be asked for ahead.
fn first_locked<'j>(join: &'j Join, ctx: &QueryContext<'_>) -> Option<(&'j BaseAccess, LockRequest)> {
    match join {
        Join::Base(access) => {
            let lock = access.lock.filter(|_| access.hash.is_none())?;
            locks_ahead(access, ctx).then_some((access, lock))
        }
        Join::Filter { join, .. } => first_locked(join, ctx),
        Join::Nested(sides) | Join::Left { sides, .. } => first_locked(&sides[0], ctx),
        Join::Derived(_) => None,
    }
}

/// Whether it matters what is done between two rows of a join: a condition may assign a variable that is read there.
fn is_volatile(join: &Join) -> bool {
    let any = |conditions: &[Expr]| conditions.iter().any(Expr::is_volatile);
    match join {
        Join::Base(access) => any(&access.path.implied) || any(&access.path.residual),
        Join::Derived(access) => access.reads == DerivedRow::Current || any(&access.conditions),
        Join::Nested(sides) => sides.iter().any(is_volatile),
        Join::Filter { join, conditions } => is_volatile(join) || any(conditions),
        Join::Left { sides, on, .. } => sides.iter().any(is_volatile) || any(on),
    }
}

/// Whether locks of the table's rows are asked for ahead.
fn locks_ahead(access: &BaseAccess, ctx: &QueryContext<'_>) -> bool {
    // What asks a subquery, or tells something else each time, is asked once.
    let mut conditions = access.path.implied.iter().chain(&access.path.residual);
    access.lock.is_some_and(|lock| lock.policy == LockPolicy::Wait)
        && ctx.runtime.transaction().locks_elsewhere(&access.table.rows)
        && !conditions.any(|expr| expr.has_subquery() || expr.is_volatile())
}

/// Rows of the tables before a locked one, until there are enough of them.
struct Waiting<'j> {
    access: &'j BaseAccess,
    lock: LockRequest,
    rows: Rows,
    at_once: usize,
    /// How many were given on without waiting.
    given: usize,
    memory: QueryMemory,
}

impl Waiting<'_> {
    /// Asks for the locks of the rows that go with those that wait, and gives these on.
    fn give(&mut self, ctx: &QueryContext<'_>, next: &mut Next<'_>) -> SqlResult<ControlFlow<()>> {
        self.at_once = (self.at_once * 4).min(CHUNK_ROWS);
        let mut rows = std::mem::take(&mut self.rows);
        self.memory = ctx.runtime.query_memory();
        let mut ahead = Ahead::new(self.access, self.lock, ctx);
        for row in rows.iter_mut() {
            ahead.add_those_of(row)?;
        }
        ahead.lock()?;
        for row in rows.iter_mut() {
            governor::tick()?;
            if next(row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Rows of one table whose locks are asked for together.
struct Ahead<'a> {
    access: &'a BaseAccess,
    lock: LockRequest,
    ctx: &'a QueryContext<'a>,
    keys: Vec<Box<[u8]>>,
}

impl<'a> Ahead<'a> {
    fn new(access: &'a BaseAccess, lock: LockRequest, ctx: &'a QueryContext<'a>) -> Ahead<'a> {
        Ahead {
            access,
            lock,
            ctx,
            keys: Vec::new(),
        }
    }

    /// The rows that go with this one of the tables before: the first of them, where there are many.
    fn add_those_of(&mut self, row: &mut [Value]) -> SqlResult<()> {
        let path = &self.access.path;
        // A row is looked at before its turn: what there is to say of it is said then.
        let Ok(keys) = self.ctx.quietly(|| key_ranges(path, row, self.ctx)) else {
            return Ok(());
        };
        let runtime = self.ctx.runtime;
        runtime.begin_locking_read(path, &keys, self.lock.policy)?;
        let mut found: Vec<Box<[u8]>> = Vec::new();
        match path.primary_keys(&keys) {
            Some(keys) => found.extend(keys.map(Box::from)),
            None => {
                for mut cursor in path.cursors(&keys) {
                    let left = FIRST_ROWS.saturating_sub(found.len());
                    if left > 0 && !cursor.is_finished() {
                        let rows = &self.access.table.rows;
                        let mut see = |entry: Entry<'_>| {
                            found.push(entry.primary_key().into());
                            ControlFlow::Continue(())
                        };
                        runtime
                            .transaction()
                            .scan_to_lock(rows, keys.index, &mut cursor, left, &mut see);
                    }
                }
            }
        }
        for key in &found {
            self.add(key, row)?;
        }
        Ok(())
    }

    /// A row, if it is one to lock.
    fn add(&mut self, key: &[u8], row: &mut [Value]) -> SqlResult<()> {
        governor::tick()?;
        let look = || is_to_be_locked(self.access, &Searches::run(self.access, self.ctx)?, key, row, self.ctx);
        if matches!(self.ctx.quietly(look), Ok(true)) {
            self.keys.push(key.into());
        }
        match self.keys.len() >= LOCKS_AT_ONCE {
            true => self.lock(),
            false => Ok(()),
        }
    }

    fn lock(&mut self) -> SqlResult<()> {
        let keys = std::mem::take(&mut self.keys);
        let runtime = self.ctx.runtime;
        runtime.lock_ahead(&self.access.table, keys.iter().map(|key| &**key), self.lock.mode)
    }
}

/// Whether a row passes the conditions, or is gone and so might. One that does not pass is not locked, unless the snapshot shows it as
/// one that does.
fn is_to_be_locked(
    access: &BaseAccess,
    searches: &Searches,
    key: &[u8],
    row: &mut [Value],
    ctx: &QueryContext<'_>,
) -> SqlResult<bool> {
    let rows = &access.table.rows;
    let transaction = || ctx.runtime.transaction();
    let now = transaction().get_current(rows, key, |stored| fill(access, searches, row, stored, key));
    if now.is_none() || passes(access, row, ctx)? {
        return Ok(true);
    }
    let before = transaction().get_superseded(rows, key, |stored| fill(access, searches, row, stored, key));
    Ok(before.is_some() && passes(access, row, ctx)?)
}

fn passes(access: &BaseAccess, row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<bool> {
    Ok(pass(&access.path.implied, row, ctx)? && pass(&access.path.residual, row, ctx)?)
}

/// Locks one row, if it passes the conditions, and gives it to `next` as it is then.
fn locked_row(
    access: &BaseAccess,
    lock: LockRequest,
    found: &FoundEntry,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    governor::tick()?;
    let runtime = ctx.runtime;
    let key = &*found.primary_key;
    let searches = Searches::run(access, ctx)?;
    if !is_to_be_locked(access, &searches, key, row, ctx)? {
        return Ok(ControlFlow::Continue(()));
    }
    let rows = &access.table.rows;
    let locked = runtime
        .with_locks(|transaction| transaction.lock_for_read(rows, key, lock.mode, lock.policy))
        .map_err(|error| error.into_sql(&access.table))?;
    if locked == Locked::Skipped {
        return Ok(ControlFlow::Continue(()));
    }
    let mut is_moved = false;
    let now = runtime.transaction().get_current(rows, key, |stored| {
        fill(access, &searches, row, stored, key);
        is_moved = found.is_moved(&access.table, stored);
    });
    if now.is_none() || !passes(access, row, ctx)? {
        return Ok(ControlFlow::Continue(()));
    }
    // It is not where it was found, perhaps not in order, and another like it may have been passed by.
    if is_moved && runtime.transaction_mut().note_newer(access.table.id()) {
        return Ok(ControlFlow::Continue(()));
    }
    next(row)
}

/// An entry to lock.
struct FoundEntry {
    index: IndexId,
    /// Of a secondary index; empty for the primary one, where rows do not move.
    key: Box<[u8]>,
    primary_key: Box<[u8]>,
}

impl FoundEntry {
    fn new(entry: &Entry<'_>, index: IndexId) -> FoundEntry {
        let key = match index {
            IndexId::PRIMARY => &[],
            _ => entry.key(),
        };
        FoundEntry {
            index,
            key: key.into(),
            primary_key: entry.primary_key().into(),
        }
    }

    fn by_key(primary_key: &[u8]) -> FoundEntry {
        FoundEntry {
            index: IndexId::PRIMARY,
            key: Box::default(),
            primary_key: primary_key.into(),
        }
    }

    /// Whether the row has left its entry.
    fn is_moved(&self, table: &sql_plan::table::Table, row: &[u8]) -> bool {
        if self.index == IndexId::PRIMARY || self.key.is_empty() {
            return false;
        }
        !table.rows.has_entry(self.index, row, &self.primary_key, &self.key)
    }
}
