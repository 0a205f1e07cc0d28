//! Rows of a FROM clause: nested loops over index ranges, hash lookups, derived tables.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use governor::stepwise::{Map, Set, Stepwise};
use sql_api::result::ResultColumn;
use sql_expr::{Comparison, Expr, OuterRow};
use sql_plan::access::RangeSpec;
use sql_plan::access::ranges::key_ranges;
use sql_plan::query::{BaseAccess, DerivedAccess, DerivedRow, DerivedSource, HashKey, Join, RecursivePlan};
use store::Cursor;
use transaction::LockPolicy;
use types::cast::{self, Context, Target};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, TypeKind, Value, Warnings};

use super::json_table::json_rows;
use super::locking::{locked_rows, outer_rows};
use super::subquery::KeptRows;
use super::{QueryContext, Rows, collect, row_bytes};
use crate::full_text::{Ranking, rank};
use crate::measure::Run;
use crate::rows::read_columns_at;
use crate::runtime::Runtime;
use crate::seen::Seen;

/// Rows read from an index before they are passed on; no guard over stored rows is held while they are.
pub(super) const CHUNK_ROWS: usize = 256;

/// What comes next for a row whose slots are filled; the row is lent, so that inner tables can fill theirs.
pub type Next<'n> = dyn FnMut(&mut Vec<Value>) -> SqlResult<ControlFlow<()>> + 'n;

/// Gives every row of the join to `next`, in the wide row `row`.
pub fn join_rows(
    join: &Join,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    governor::descend()?;
    let Some(measures) = ctx.runtime.measures() else {
        return rows_of(join, row, ctx, next);
    };
    let mut run = Run::begin();
    let flow = rows_of(join, row, ctx, &mut |row| run.give(|| next(row)));
    measures.add(std::ptr::from_ref(join) as usize, &run);
    flow
}

fn rows_of(
    join: &Join,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    match join {
        Join::Base(access) => table_rows(access, row, ctx, next),
        Join::Derived(access) => derived_rows(access, row, ctx, next),
        Join::Nested(sides) => {
            let [outer, inner] = &**sides;
            outer_rows(outer, inner, row, ctx, &mut |row| join_rows(inner, row, ctx, next))
        }
        Join::Filter { join, conditions } => join_rows(join, row, ctx, &mut |row| match pass(conditions, row, ctx)? {
            true => next(row),
            false => Ok(ControlFlow::Continue(())),
        }),
        Join::Left {
            sides,
            slots,
            searches,
            on,
        } => {
            let [outer, inner] = &**sides;
            outer_rows(outer, inner, row, ctx, &mut |row| {
                let mut matched = false;
                let flow = join_rows(inner, row, ctx, &mut |row| {
                    if !pass(on, row, ctx)? {
                        return Ok(ControlFlow::Continue(()));
                    }
                    matched = true;
                    next(row)
                })?;
                if flow.is_break() || matched {
                    return Ok(flow);
                }
                for range in slots {
                    row[range.clone()].fill(Value::Null);
                }
                for slot in searches {
                    row[*slot] = Value::Double(0.0);
                }
                next(row)
            })
        }
    }
}

/// Whether all conditions are true.
pub fn pass(conditions: &[Expr], row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<bool> {
    for condition in conditions {
        if condition.eval_bool(row, ctx)? != Some(true) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Rows of a table, by its access path or its hash table.
fn table_rows(
    access: &BaseAccess,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    let runtime = ctx.runtime;
    if let Some(hash) = &access.hash {
        return hashed_rows(access, hash, row, ctx, next);
    }
    let keys = key_ranges(&access.path, row, ctx)?;
    if let Some(lock) = access.lock {
        runtime.begin_locking_read(&access.path, &keys, lock.policy)?;
        return locked_rows(access, lock, &keys, row, ctx, next);
    }
    runtime.begin_read(&access.path, &keys, LockPolicy::Wait)?;
    let width = access.table.def.columns.len();
    let implied = if keys.exact {
        &[]
    } else {
        access.path.implied.as_slice()
    };
    let mut check = |row: &mut Vec<Value>| -> SqlResult<ControlFlow<()>> {
        governor::tick()?;
        match pass(implied, row, ctx)? && pass(&access.path.residual, row, ctx)? {
            true => next(row),
            false => Ok(ControlFlow::Continue(())),
        }
    };
    let searches = Searches::run(access, ctx)?;
    if let RangeSpec::Words(search) = access.path.spec {
        for found in &searches.of(search).rows {
            let key = &*found.key;
            let is_there = runtime
                .transaction()
                .get(&access.table.rows, key, |stored| {
                    fill(access, &searches, row, stored, key)
                })
                .is_some();
            if is_there && check(row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    if let Some(keys) = access.path.primary_keys(&keys) {
        for key in keys {
            let found = runtime
                .transaction()
                .get(&access.table.rows, key, |stored| {
                    fill(access, &searches, row, stored, key)
                })
                .is_some();
            if found && check(row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    // A row of the chunk has the needed columns, and behind them the row id and what searches say.
    let stride = access.filled_slots().count();
    let mut chunk: Vec<Value> = Vec::new();
    let mut seen = Seen::of(&keys, runtime);
    for mut cursor in access.path.cursors(&keys) {
        // Small at first: a LIMIT or EXISTS often needs only a few rows.
        let mut chunk_rows = 8;
        while !cursor.is_finished() {
            chunk.clear();
            let (mut rows, mut failed) = (0, Ok(()));
            runtime
                .transaction()
                .scan(&access.table.rows, keys.index, &mut cursor, chunk_rows, |entry| {
                    match seen.is_new(entry.primary_key()) {
                        Ok(true) => {}
                        Ok(false) => return ControlFlow::Continue(()),
                        Err(error) => {
                            failed = Err(error);
                            return ControlFlow::Break(());
                        }
                    }
                    let start = chunk.len();
                    chunk.resize(start + stride, Value::Null);
                    let stored = entry.row();
                    for (place, column) in access.needed.iter().enumerate() {
                        chunk[start + place] = access.table.layout().column(stored, *column).to_value();
                    }
                    let mut at = start + access.needed.len();
                    if access.row_id.is_some() {
                        chunk[at] = row_id(entry.primary_key());
                        at += 1;
                    }
                    for (place, ranking) in searches.rankings.iter().enumerate() {
                        chunk[at + place] = ranking.relevance(entry.primary_key());
                    }
                    rows += 1;
                    ControlFlow::Continue(())
                });
            failed?;
            for at in 0..rows {
                for (place, slot) in access.filled_slots().enumerate() {
                    row[slot] = std::mem::replace(&mut chunk[at * stride + place], Value::Null);
                }
                if check(row)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            governor::tick()?;
            chunk_rows = (chunk_rows * 4).min(CHUNK_ROWS);
        }
    }
    debug_assert!(access.offset + width <= row.len());
    Ok(ControlFlow::Continue(()))
}

/// What the searches of a table have found.
pub(super) struct Searches {
    /// In the order of [`BaseAccess::matches`].
    rankings: Vec<Rc<Ranking>>,
}

impl Searches {
    /// Runs them, unless the statement has done so already. The table's read has begun.
    pub(super) fn run(access: &BaseAccess, ctx: &QueryContext<'_>) -> SqlResult<Searches> {
        let mut rankings = Vec::with_capacity(access.matches.len());
        for (_, wanted) in &access.matches {
            let place = std::ptr::from_ref(wanted) as usize;
            ctx.runtime.check_index(&access.table, wanted.index)?;
            rankings.push(ctx.runtime.ranking(place, || rank(&access.table, wanted, ctx))?);
        }
        Ok(Searches { rankings })
    }

    fn of(&self, number: usize) -> &Ranking {
        &self.rankings[number]
    }
}

/// The needed columns of a stored row, its row id, and what searches say of it, into their slots.
pub(super) fn fill(access: &BaseAccess, searches: &Searches, row: &mut [Value], stored: &[u8], key: &[u8]) {
    read_columns_at(access.table.layout(), stored, &access.needed, access.offset, row);
    if let Some(slot) = access.row_id {
        row[slot] = row_id(key);
    }
    for ((slot, _), ranking) in access.matches.iter().zip(&searches.rankings) {
        row[*slot] = ranking.relevance(key);
    }
}

fn hashed_rows(
    access: &BaseAccess,
    hash: &HashKey,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    let runtime = ctx.runtime;
    let place = std::ptr::from_ref(access) as usize;
    let table = runtime.hash_table(place, || {
        let mut built = HashTable::new(ctx);
        let mut own = vec![Value::Null; row.len()];
        let plain = BaseAccessRows { access };
        let read = plain.each(
            &mut own,
            ctx,
            &mut |own| built.add(hash, own, ctx, kept_of(access, own)),
            &mut || Ok(ControlFlow::Continue(())),
        );
        built.complete(read.map(drop))
    })?;
    if table.is_too_large {
        return compared_rows(access, hash, row, ctx, next);
    }
    let Some(rows) = table.find(hash, row, ctx)? else {
        return Ok(ControlFlow::Continue(()));
    };
    for kept in rows {
        governor::tick()?;
        if give_kept(access, kept, row, ctx, next)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The rows that a hash table would find, had there been the memory for one.
fn compared_rows(
    access: &BaseAccess,
    hash: &HashKey,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    let Some(wanted) = hash_of(&hash.probe, &hash.how, row, ctx)? else {
        return Ok(ControlFlow::Continue(()));
    };
    let mut own = vec![Value::Null; row.len()];
    let found: RefCell<Vec<Box<[Value]>>> = RefCell::default();
    BaseAccessRows { access }.each(
        &mut own,
        ctx,
        &mut |own| {
            if hash_of(&hash.build, &hash.how, own, ctx)?.as_ref() == Some(&wanted) {
                found.borrow_mut().push(kept_of(access, own));
            }
            Ok(())
        },
        &mut || {
            for kept in found.take() {
                if give_kept(access, &kept, row, ctx, next)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )
}

/// What of a table's row is kept.
fn kept_of(access: &BaseAccess, row: &[Value]) -> Box<[Value]> {
    access.filled_slots().map(|slot| row[slot].clone()).collect()
}

/// Puts a kept row into its place, and gives it on if it passes.
fn give_kept(
    access: &BaseAccess,
    kept: &[Value],
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    for (slot, value) in access.filled_slots().zip(kept) {
        row[slot] = value.clone();
    }
    match pass(&access.path.residual, row, ctx)? {
        true => next(row),
        false => Ok(ControlFlow::Continue(())),
    }
}

/// A hidden row id as it is kept in a row.
fn row_id(key: &[u8]) -> Value {
    Value::Bytes(key.into())
}

/// All rows of a hashed table, before its conditions: those may name other tables.
struct BaseAccessRows<'a> {
    access: &'a BaseAccess,
}

impl BaseAccessRows<'_> {
    /// `take` sees every row; `pause` comes between them, where other tables may be read.
    fn each(
        &self,
        row: &mut [Value],
        ctx: &QueryContext<'_>,
        take: &mut dyn FnMut(&[Value]) -> SqlResult<()>,
        pause: &mut dyn FnMut() -> SqlResult<ControlFlow<()>>,
    ) -> SqlResult<ControlFlow<()>> {
        let runtime = ctx.runtime;
        let access = self.access;
        let keys = key_ranges(&access.path, row, ctx)?;
        runtime.begin_read(&access.path, &keys, LockPolicy::Wait)?;
        let searches = Searches::run(access, ctx)?;
        let mut cursor = Cursor::forward(store::KeyRange::all());
        while !cursor.is_finished() {
            let mut failed = Ok(());
            runtime
                .transaction()
                .scan(&access.table.rows, IndexId::PRIMARY, &mut cursor, CHUNK_ROWS, |entry| {
                    fill(access, &searches, row, entry.row(), entry.primary_key());
                    failed = take(row);
                    if failed.is_ok() && !governor::is_due() {
                        ControlFlow::Continue(())
                    } else {
                        ControlFlow::Break(())
                    }
                });
            failed?;
            governor::tick()?;
            if pause()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Kept rows by the values of their key expressions.
pub struct HashTable {
    rows: Map<Vec<u8>, Stepwise<Vec<Box<[Value]>>>>,
    memory: crate::runtime::QueryMemory,
    /// About what it holds.
    bytes: usize,
    /// Where the memory was looked at last.
    looked_at: usize,
    /// Of a correlated subquery, which can do without: it would read its table for every row of the query around it.
    is_optional: bool,
    /// There was no memory for it; it is empty.
    pub(super) is_too_large: bool,
}

impl HashTable {
    pub(super) fn new(ctx: &QueryContext<'_>) -> HashTable {
        HashTable {
            rows: Map::new(),
            memory: ctx.runtime.query_memory(),
            bytes: 0,
            looked_at: 0,
            is_optional: ctx.outer.is_some(),
            is_too_large: false,
        }
    }

    /// What became of it when its rows had been read.
    pub(super) fn complete(self, read: SqlResult<()>) -> SqlResult<HashTable> {
        match (self.is_too_large, read) {
            (true, Err(error)) if error.kind() == ErrorKind::OutOfSortMemory => Ok(HashTable {
                rows: Map::new(),
                ..self
            }),
            (_, read) => read.map(|()| self),
        }
    }

    /// Gives up while there is memory left for what the statement does beside it. A table doubles as it grows.
    fn look_at_memory(&mut self, more: usize) -> SqlResult<()> {
        const STEP: usize = 64 << 10;
        const BESIDE: usize = 256 << 10;
        self.bytes += more;
        let grown = self.memory.grow(more);
        if !self.is_optional {
            return grown;
        }
        let is_due = self.bytes - self.looked_at >= STEP;
        if is_due {
            self.looked_at = self.bytes;
        }
        if grown.is_err() || (is_due && governor::ensure(self.bytes / 2 + BESIDE).is_err()) {
            self.is_too_large = true;
            return Err(ErrorKind::OutOfSortMemory.into());
        }
        Ok(())
    }

    pub(super) fn add(
        &mut self,
        hash: &HashKey,
        row: &[Value],
        ctx: &QueryContext<'_>,
        kept: Box<[Value]>,
    ) -> SqlResult<()> {
        if let Some(key) = hash_of(&hash.build, &hash.how, row, ctx)? {
            self.look_at_memory(key.len() + row_bytes(&kept) + 48)?;
            self.rows.or_insert_with(key, Stepwise::default).push(kept);
        }
        Ok(())
    }

    /// As [`add`](Self::add), where one row stands for all that are equal.
    pub(super) fn add_once(&mut self, hash: &HashKey, row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<()> {
        if let Some(key) = hash_of(&hash.build, &hash.how, row, ctx)?
            && !self.rows.contains_key(&key)
        {
            self.look_at_memory(key.len() + row_bytes(&[]) + 48)?;
            self.rows.or_insert_with(key, Stepwise::default).push(Box::default());
        }
        Ok(())
    }

    pub(super) fn find(
        &self,
        hash: &HashKey,
        row: &[Value],
        ctx: &QueryContext<'_>,
    ) -> SqlResult<Option<&[Box<[Value]>]>> {
        let key = hash_of(&hash.probe, &hash.how, row, ctx)?;
        Ok(key.and_then(|key| self.rows.get(&key)).map(|rows| rows.as_slice()))
    }
}

/// The hash key of the expressions' values; `None` where one is NULL, which equals nothing.
fn hash_of(exprs: &[Expr], hows: &[Comparison], row: &[Value], ctx: &QueryContext<'_>) -> SqlResult<Option<Vec<u8>>> {
    let mut key = Vec::new();
    for (expr, how) in exprs.iter().zip(hows) {
        let value = expr.eval(row, ctx)?;
        if value.is_null() {
            return Ok(None);
        }
        how.write_hash_key(&value, ctx, &mut key)?;
    }
    Ok(Some(key))
}

/// Rows of a derived table, a common table or a virtual one.
fn derived_rows(
    access: &DerivedAccess,
    row: &mut Vec<Value>,
    ctx: &QueryContext<'_>,
    next: &mut Next<'_>,
) -> SqlResult<ControlFlow<()>> {
    let runtime = ctx.runtime;
    let place = std::ptr::from_ref(access) as usize;
    let rows = source_rows(access, place, row, runtime, ctx)?;
    let mut give = |row: &mut Vec<Value>, kept: &[Value]| -> SqlResult<ControlFlow<()>> {
        governor::tick()?;
        row[access.offset..access.offset + access.width].clone_from_slice(kept);
        match pass(&access.conditions, row, ctx)? {
            true => next(row),
            false => Ok(ControlFlow::Continue(())),
        }
    };
    if let Some(hash) = &access.hash {
        let table = runtime.hash_table(place, || {
            let mut built = HashTable::new(ctx);
            let mut own = vec![Value::Null; row.len()];
            let read = rows.iter().try_for_each(|kept| {
                governor::tick()?;
                own[access.offset..access.offset + access.width].clone_from_slice(kept);
                built.add(hash, &own, ctx, kept.clone().into_boxed_slice())
            });
            built.complete(read)
        })?;
        if table.is_too_large {
            let Some(wanted) = hash_of(&hash.probe, &hash.how, row, ctx)? else {
                return Ok(ControlFlow::Continue(()));
            };
            let mut own = vec![Value::Null; row.len()];
            for kept in rows.iter() {
                own[access.offset..access.offset + access.width].clone_from_slice(kept);
                let is_wanted = hash_of(&hash.build, &hash.how, &own, ctx)?.as_ref() == Some(&wanted);
                if is_wanted && give(row, kept)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                governor::tick()?;
            }
            return Ok(ControlFlow::Continue(()));
        }
        let Some(found) = table.find(hash, row, ctx)? else {
            return Ok(ControlFlow::Continue(()));
        };
        for kept in found {
            if give(row, kept)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        return Ok(ControlFlow::Continue(()));
    }
    for kept in rows.iter() {
        if give(row, kept)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn source_rows(
    access: &DerivedAccess,
    place: usize,
    row: &[Value],
    runtime: &Runtime<'_>,
    ctx: &QueryContext<'_>,
) -> SqlResult<Rc<KeptRows>> {
    let outer = match access.reads {
        DerivedRow::None => ctx.outer,
        DerivedRow::Around { levels } => ctx.outer_above(levels),
        DerivedRow::Current => {
            let current = OuterRow { row, outer: ctx.outer };
            return match &access.source {
                DerivedSource::Query(plan) => {
                    let rows = collect(plan, &ctx.with_outer(Some(&current)))?;
                    Ok(Rc::new(KeptRows::new(rows)))
                }
                DerivedSource::Json(plan) => Ok(Rc::new(KeptRows::new(json_rows(plan, row, ctx)?))),
                _ => Err(SqlError::internal("only a query is LATERAL")),
            };
        }
    };
    let ctx = &ctx.with_outer(outer);
    match &access.source {
        DerivedSource::Working(number) => Ok(runtime.working_rows(*number)),
        // A common table has the same rows for all who read it.
        DerivedSource::Query(plan) => runtime.kept_rows(Arc::as_ptr(plan) as usize, || collect(plan, ctx)),
        DerivedSource::Recursive(plan) => {
            runtime.kept_rows(Arc::as_ptr(plan) as usize, || recursive_rows(plan, runtime, ctx))
        }
        DerivedSource::Json(plan) => runtime.kept_rows(place, || json_rows(plan, row, ctx)),
        DerivedSource::Virtual(table) => {
            let rows = || runtime.virtual_rows(*table, ctx, access.offset, &access.conditions);
            runtime.kept_rows(place, || rows().map(Rows::from))
        }
    }
}

/// A value of a later round in the column that the first part made: what has no room there is an error in strict mode, and else cut.
fn stored_in(to: &ResultColumn, from: &SqlType, value: Value, ctx: &QueryContext<'_>) -> SqlResult<Value> {
    let same_kind = from.kind == to.ty.kind;
    if value.is_null() || same_kind && from.length == to.ty.length && from.decimals == to.ty.decimals {
        return Ok(value);
    }
    let is_strict = ctx.settings.sql_mode.is_strict();
    // NULL alone makes a column of no width.
    if to.ty.kind == TypeKind::Null {
        return match is_strict {
            true => Err(SqlError::new(ErrorKind::DataTooLong, &[&to.name, &1])),
            false => Ok(Value::str("")),
        };
    }
    let value = match same_kind {
        true => value,
        false => Expr::literal(value, from.clone()).eval_into(&to.ty, &[], ctx)?,
    };
    let mut unheard = Warnings::with_limit(1);
    let mut context = Context {
        mode: ctx.settings.sql_mode.for_casts(),
        zone: &ctx.settings.time_zone,
        now: ctx.now,
        warnings: &mut unheard,
    };
    let target = Target {
        column: &to.name,
        row: 1,
    };
    cast::assign(value, &to.ty, target, &mut context)
}

/// WITH RECURSIVE: rounds until one gives nothing new.
fn recursive_rows(plan: &RecursivePlan, runtime: &Runtime<'_>, ctx: &QueryContext<'_>) -> SqlResult<Rows> {
    let types: Vec<_> = plan.seed.shape.columns.iter().map(|column| &column.ty).collect();
    let mut seen = Set::new();
    let mut memory = runtime.query_memory();
    let mut all = Rows::default();
    let bound = |value: &Option<Expr>, missing| {
        value
            .as_ref()
            .map_or(Ok(missing), |value| super::limit_value(value, ctx))
    };
    let (limit, mut skipped) = (bound(&plan.limit, u64::MAX)?, bound(&plan.offset, 0)?);
    if limit == 0 {
        return Ok(all);
    }
    let mut fresh = collect(&plan.seed, ctx)?;
    let rounds_max = runtime.settings.recursion_limit;
    let mut rounds: u64 = 0;
    loop {
        if plan.distinct {
            fresh = super::retain(fresh, |row| seen.insert(super::row_key(row, &types)))?;
        }
        if fresh.is_empty() {
            return Ok(all);
        }
        for row in &fresh {
            governor::tick()?;
            if skipped > 0 {
                skipped -= 1;
                continue;
            }
            memory.grow(row_bytes(row))?;
            all.push(row.clone());
            if all.len() as u64 >= limit {
                return Ok(all);
            }
        }
        rounds += 1;
        if rounds > rounds_max {
            return Err(SqlError::new(types::ErrorKind::CteMaxRecursionDepth, &[&rounds]));
        }
        let before = runtime.set_working_rows(plan.working, fresh);
        let next = collect(&plan.step, ctx);
        runtime.restore_working_rows(plan.working, before);
        let mut next = next?;
        for row in &mut next {
            governor::tick()?;
            for ((value, to), from) in row
                .iter_mut()
                .zip(&plan.seed.shape.columns)
                .zip(&plan.step.shape.columns)
            {
                *value = stored_in(to, &from.ty, std::mem::replace(value, Value::Null), ctx)?;
            }
        }
        // What the round kept under its derived tables belongs to that round.
        runtime.forget_kept();
        fresh = next;
    }
}
