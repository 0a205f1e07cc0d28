//! Joins, and how each table is reached.
//!
//! A condition is checked as soon as all its columns have values. The right side of a LEFT JOIN is planned on its own, behind its left
//! side. A table without a usable index under an equality becomes the hashed side of a hash join.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use sql_expr::{CompareOp, Comparison, Expr, ExprKind};
use store::LockMode;
use transaction::LockPolicy;
use types::SqlResult;

use super::common::RecursivePlan;
use super::from::FromTree;
use super::implied::add_implied;
use super::join_order::Way;
use super::json_table::JsonTablePlan;
use super::scope::{QueryScope, ScopeTable, TableSource};
use super::{QueryPlan, index_hints};
use crate::access::{
    AccessKind, AccessPath, Choice, Chosen, OrderWish, RangeSpec, choose, found_by_words, partition, passing_share,
};
use crate::full_text::{Match, required_match};
use crate::node::VirtualTable;
use crate::table::Table;

/// A tree of joins in the order of execution. Every node fills its tables' slots of the wide row.
#[derive(Debug)]
pub enum Join {
    Base(Box<BaseAccess>),
    Derived(Box<DerivedAccess>),
    /// For every row of the first, the rows of the second.
    Nested(Box<[Join; 2]>),
    /// For every row of the first, the rows of the second that pass, or one with NULLs in `slots`.
    Left {
        sides: Box<[Join; 2]>,
        slots: Vec<Range<usize>>,
        /// The slots of searches among these: what is not there is not relevant, which is 0.
        searches: Vec<usize>,
        on: Vec<Expr>,
    },
    /// Rows of the join that pass these conditions.
    Filter {
        join: Box<Join>,
        conditions: Vec<Expr>,
    },
}

/// Rows of a stored table.
#[derive(Debug)]
pub struct BaseAccess {
    pub table: Arc<Table>,
    pub alias: String,
    pub offset: usize,
    pub path: AccessPath,
    /// Positions of the columns that the query looks at.
    pub needed: Vec<usize>,
    /// The slot for the hidden row id, where rows of a table without a primary key are found again by it.
    pub row_id: Option<usize>,
    pub lock: Option<LockRequest>,
    /// The searches whose relevance the query looks at, and the slots for it.
    pub matches: Vec<(usize, Match)>,
    /// Look rows up in a hash table instead of reading the table for each outer row.
    pub hash: Option<HashKey>,
}

/// `FOR UPDATE`, `FOR SHARE`.
#[derive(Debug, Clone, Copy)]
pub struct LockRequest {
    pub mode: LockMode,
    pub policy: LockPolicy,
}

/// Equalities between expressions over earlier tables and over this one.
#[derive(Debug)]
pub struct HashKey {
    pub probe: Vec<Expr>,
    pub build: Vec<Expr>,
    /// How the sides of each are compared: operands of other types than the comparison's are hashed as it converts them.
    pub how: Vec<Comparison>,
}

/// Rows of a derived table, computed once per statement (or per outer row where correlated).
#[derive(Debug)]
pub struct DerivedAccess {
    pub alias: String,
    pub offset: usize,
    pub width: usize,
    pub source: DerivedSource,
    pub reads: DerivedRow,
    pub conditions: Vec<Expr>,
    pub hash: Option<HashKey>,
}

/// Whose row the rows of a derived table depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DerivedRow {
    /// Nobody's: they are computed once in a statement.
    None,
    /// That of the query around its own; for a common table that is read further below, this many levels above it.
    Around { levels: usize },
    /// That of its own query (LATERAL): they are computed for every row of the tables before it.
    Current,
}

impl DerivedSource {
    /// Under what its rows are kept while a statement runs.
    pub fn place(&self) -> Option<usize> {
        match self {
            DerivedSource::Query(plan) => Some(Arc::as_ptr(plan) as usize),
            DerivedSource::Recursive(plan) => Some(Arc::as_ptr(plan) as usize),
            DerivedSource::Working(_) | DerivedSource::Virtual(_) | DerivedSource::Json(_) => None,
        }
    }
}

#[derive(Debug, Clone)]
pub enum DerivedSource {
    Query(Arc<QueryPlan>),
    Working(usize),
    Recursive(Arc<RecursivePlan>),
    Virtual(&'static dyn VirtualTable),
    Json(Arc<JsonTablePlan>),
}

impl Join {
    /// As [`QueryPlan::for_each_table`].
    pub fn for_each_table(&self, visit: &mut dyn FnMut(&BaseAccess)) {
        self.visit_tables(&mut HashSet::new(), visit);
    }

    pub(super) fn visit_tables(&self, seen: &mut HashSet<*const QueryPlan>, visit: &mut dyn FnMut(&BaseAccess)) {
        match self {
            Join::Base(access) => visit(access),
            Join::Derived(access) => {
                if let DerivedSource::Query(plan) = &access.source {
                    plan.visit_tables(seen, visit);
                }
            }
            Join::Nested(sides) | Join::Left { sides, .. } => {
                sides.iter().for_each(|side| side.visit_tables(seen, visit));
            }
            Join::Filter { join, .. } => join.visit_tables(seen, visit),
        }
    }
}

impl Join {
    /// Adds the slots of all that its tables fill.
    pub fn add_filled_slots(&self, slots: &mut BTreeSet<usize>) {
        governor::pause();
        match self {
            Join::Base(access) => slots.extend(access.filled_slots()),
            Join::Derived(access) => slots.extend(access.offset..access.offset + access.width),
            Join::Nested(sides) | Join::Left { sides, .. } => {
                sides.iter().for_each(|side| side.add_filled_slots(slots));
            }
            Join::Filter { join, .. } => join.add_filled_slots(slots),
        }
    }
}

/// What is known while joins are put in order.
pub struct JoinPlanner<'s, 'a, 'p, 'o> {
    pub scope: &'s QueryScope<'a, 'p, 'o>,
    /// ORDER BY of the query, which the first table may give.
    pub order: OrderWish,
    /// Locks per table of the scope.
    pub locks: Vec<Option<LockRequest>>,
    /// The slots of hidden row ids, by table of the scope; they lie behind the slots of all columns.
    pub row_ids: Vec<(usize, usize)>,
    /// By table of the scope, those that hints wish to be read before it.
    pub before: Vec<Vec<usize>>,
}

/// What the hints of a block say of the order in which its tables are read.
pub fn wished_before(scope: &QueryScope<'_, '_, '_>) -> Vec<Vec<usize>> {
    let aliases: Vec<&str> = scope.tables.iter().map(|table| table.alias.as_str()).collect();
    scope.steering.wished_before(&aliases)
}

impl JoinPlanner<'_, '_, '_, '_> {
    /// Plans a FROM tree with the WHERE conditions that speak of it. Returns the conditions that could not be placed.
    pub fn plan(&self, tree: FromTree, conditions: Vec<Expr>) -> SqlResult<(Join, Vec<Expr>)> {
        let mut pending = conditions;
        let tables: Vec<Range<usize>> = self.scope.tables.iter().map(ScopeTable::slots).collect();
        add_implied(&mut pending, &tables);
        let join = self.plan_tree(tree, &mut pending, &[])?;
        Ok((join, pending))
    }

    pub(super) fn slots_of(&self, tables: &[usize]) -> Vec<Range<usize>> {
        tables.iter().map(|table| self.scope.tables[*table].slots()).collect()
    }

    fn row_id(&self, table: usize) -> Option<usize> {
        let mut row_ids = self.row_ids.iter();
        row_ids.find(|(of, _)| *of == table).map(|(_, slot)| *slot)
    }

    fn plan_tree(&self, tree: FromTree, pending: &mut Vec<Expr>, bound: &[usize]) -> SqlResult<Join> {
        match tree {
            FromTree::Table(table) => self.plan_table(table, pending, bound),
            FromTree::Inner {
                children,
                conditions,
                fixed,
            } => {
                pending.extend(conditions);
                let mut parts = Vec::new();
                flatten(children, pending, &mut parts);
                self.plan_inner(parts, pending, bound, fixed)
            }
            FromTree::Left { left, right, on } => self.plan_left(*left, *right, on, pending, bound),
        }
    }

    fn plan_inner(
        &self,
        mut parts: Vec<FromTree>,
        pending: &mut Vec<Expr>,
        bound: &[usize],
        fixed: bool,
    ) -> SqlResult<Join> {
        let mut bound = bound.to_vec();
        let mut joined: Option<Join> = None;
        let mut rows = 1.0;
        while !parts.is_empty() {
            let next = if fixed || parts.len() == 1 {
                0
            } else {
                {
                    let way = Way {
                        pending,
                        bound: &bound,
                        rows,
                        is_start: joined.is_none(),
                    };
                    self.next_part(&parts, &way)?
                }
            };
            let part = parts.remove(next);
            let tables = part.tables();
            let inner = self.plan_tree(part, pending, &bound)?;
            rows = joined_rows(rows, &inner);
            bound.extend(tables);
            let join = match joined.take() {
                None => inner,
                Some(outer) => Join::Nested(Box::new([outer, inner])),
            };
            joined = Some(self.filtered(join, pending, &bound));
        }
        Ok(joined.expect("a FROM list has a table"))
    }

    /// Takes the conditions that can be checked now out of `pending`.
    fn take_ready(&self, pending: &mut Vec<Expr>, bound: &[usize]) -> Vec<Expr> {
        let slots = self.slots_of(bound);
        let ready = |condition: &Expr| {
            // A correlated subquery may read any slot of the row: it waits until all have values.
            let everything = bound.len() == self.scope.tables_with_rows();
            (everything || !condition.has_correlated_subquery())
                && condition
                    .referenced_columns()
                    .iter()
                    .all(|slot| slots.iter().any(|range| range.contains(slot)))
        };
        let (now, later) = partition(std::mem::take(pending), ready);
        *pending = later;
        now
    }

    fn filtered(&self, join: Join, pending: &mut Vec<Expr>, bound: &[usize]) -> Join {
        match self.take_ready(pending, bound) {
            conditions if conditions.is_empty() => join,
            conditions => Join::Filter {
                join: Box::new(join),
                conditions,
            },
        }
    }

    fn plan_left(
        &self,
        left: FromTree,
        right: FromTree,
        on: Vec<Expr>,
        pending: &mut Vec<Expr>,
        bound: &[usize],
    ) -> SqlResult<Join> {
        let right_tables = right.tables();
        let mut right_slots = self.slots_of(&right_tables);
        let columns = right_tables
            .iter()
            .map(|table| self.scope.tables[*table].column_slots());
        let right_columns: Vec<Range<usize>> = columns.collect();
        // A WHERE condition that no row of NULLs passes makes it an inner join.
        if pending.iter().any(|condition| rejects_nulls(condition, &right_columns)) {
            let inner = FromTree::Inner {
                children: vec![left, right],
                conditions: on,
                fixed: false,
            };
            return self.plan_tree(inner, pending, bound);
        }
        let left_tables = left.tables();
        // Conditions on the right side alone or on both wait until the join is made.
        let outer = self.plan_tree(left, pending, bound)?;
        let mut seen = bound.to_vec();
        seen.extend(&left_tables);
        let outer = self.filtered(outer, pending, &seen);
        let mut on_pending = on;
        let inner = self.plan_tree(right, &mut on_pending, &seen)?;
        let row_ids = right_tables.iter().filter_map(|table| self.row_id(*table));
        right_slots.extend(row_ids.map(|slot| slot..slot + 1));
        let searches = right_tables.iter().flat_map(|table| self.matches(*table));
        Ok(Join::Left {
            sides: Box::new([outer, inner]),
            slots: right_slots,
            searches: searches.map(|(slot, _)| slot).collect(),
            on: on_pending,
        })
    }

    /// The cheapest access to a base table with what is known; `None` for other tables.
    /// The path to a base table, and the share of the rows read that pass its conditions.
    pub(super) fn access(&self, table: usize, pending: &[Expr], bound: &[usize]) -> SqlResult<Option<(Chosen, f64)>> {
        let entry = &self.scope.tables[table];
        let TableSource::Base { table: base, hints } = &entry.source else {
            return Ok(None);
        };
        let hints = index_hints(base, hints)?;
        let known = self.slots_of(bound);
        let slots = entry.slots();
        let ready = |condition: &Expr| {
            let columns = condition.referenced_columns();
            let is_known = |slot: &usize| slots.contains(slot) || known.iter().any(|range| range.contains(slot));
            columns.iter().any(|slot| slots.contains(slot))
                && columns.iter().all(is_known)
                && !condition.has_correlated_subquery()
        };
        let mut conditions = Vec::new();
        for condition in pending {
            governor::tick()?;
            if ready(condition) {
                conditions.push(condition);
            }
        }
        let needed = self.needed(table);
        let order = match bound.is_empty() {
            true => OrderWish {
                columns: self.own_order(&slots),
                limit: self.order.limit,
            },
            false => OrderWish::default(),
        };
        let choice = Choice {
            table: base,
            slots,
            conditions: &conditions,
            bound: &|slot| known.iter().any(|range| range.contains(&slot)),
            needed: &needed,
            order: &order,
            hints: &hints,
            arrays: &entry.arrays,
            ctx: &self.scope.planner.ctx,
        };
        let chosen = choose(&choice)?;
        let with_share = |chosen: Chosen| {
            let passing = chosen.passing(&conditions);
            Some((chosen, passing))
        };
        // The search runs anyhow. What it finds is read for each row of the tables before, and not locked where it is found.
        let is_locked = self.locks.get(table).copied().flatten().is_some();
        if chosen.is_point() || !bound.is_empty() || is_locked {
            return Ok(with_share(chosen));
        }
        let mut required = conditions
            .iter()
            .filter_map(|condition| required_match(condition, entry.match_slot(0), entry.matches.len()));
        Ok(with_share(match required.next() {
            Some(search) => found_by_words(&choice, entry.matches[search].index, search),
            None => chosen,
        }))
    }

    /// The searches of a table that somebody asked for, with their slots.
    fn matches(&self, table: usize) -> Vec<(usize, Match)> {
        let entry = &self.scope.tables[table];
        let matches = entry.matches.iter().enumerate();
        matches
            .map(|(number, search)| (entry.match_slot(number), search.clone()))
            .collect()
    }

    /// ORDER BY, if all its columns belong to the table; as positions in it.
    fn own_order(&self, slots: &Range<usize>) -> Vec<(usize, bool)> {
        let own = |(slot, descending): &(usize, bool)| slots.contains(slot).then(|| (slot - slots.start, *descending));
        self.order
            .columns
            .iter()
            .map(own)
            .collect::<Option<Vec<_>>>()
            .unwrap_or_default()
    }

    fn needed(&self, table: usize) -> Vec<usize> {
        let entry = &self.scope.tables[table];
        let used = entry.used[..entry.column_slots().len()]
            .iter()
            .enumerate()
            .filter(|(_, used)| **used);
        used.map(|(position, _)| position).collect()
    }

    fn plan_table(&self, table: usize, pending: &mut Vec<Expr>, bound: &[usize]) -> SqlResult<Join> {
        let entry = &self.scope.tables[table];
        let chosen = self.access(table, pending, bound)?;
        let mut seen = bound.to_vec();
        seen.push(table);
        let own = |condition: &Expr| {
            condition
                .referenced_columns()
                .iter()
                .any(|slot| entry.slots().contains(slot))
        };
        // The others are without columns of this table: constants, and what was ready before.
        let (mut own_conditions, outer_conditions) = partition(self.take_ready(pending, &seen), own);
        let join = match chosen {
            Some((chosen, _)) => {
                let TableSource::Base { table: base, .. } = &entry.source else {
                    unreachable!("only base tables have paths")
                };
                // The path was chosen for all of them but these.
                let (correlated, own_conditions) = partition(own_conditions, Expr::has_correlated_subquery);
                let mut path = chosen.with(own_conditions);
                path.residual.extend(correlated);
                let full = matches!(path.spec, RangeSpec::All);
                let lock = self.locks.get(table).copied().flatten();
                // Rows in a hash table cannot be locked one by one when they are used.
                let may_hash = lock.is_none() && self.scope.steering.may_hash(&entry.alias);
                let hash = match full && may_hash {
                    true if !bound.is_empty() => hash_key(&mut path.residual, &entry.slots()),
                    // The first table of a subquery is read again for each row of the query around it.
                    true if !path.ordered && asks_around(&path.residual, &entry.slots()) => {
                        hash_key(&mut path.residual, &entry.slots())
                    }
                    _ => None,
                };
                Join::Base(Box::new(BaseAccess {
                    table: base.clone(),
                    alias: entry.alias.clone(),
                    offset: entry.offset,
                    needed: self.needed(table),
                    row_id: self.row_id(table),
                    matches: self.matches(table),
                    lock,
                    path,
                    hash,
                }))
            }
            None => {
                let source = match &entry.source {
                    TableSource::Derived(plan) => {
                        plan.note_read(&self.needed(table));
                        DerivedSource::Query(plan.clone())
                    }
                    TableSource::Working(number) => DerivedSource::Working(*number),
                    TableSource::Recursive(plan) => DerivedSource::Recursive(plan.clone()),
                    TableSource::Virtual(table) => DerivedSource::Virtual(*table),
                    TableSource::Json(plan) => DerivedSource::Json(plan.clone()),
                    TableSource::Base { .. } => unreachable!("base tables have paths"),
                    TableSource::Merged { .. } => unreachable!("a merged view is no part of the tree"),
                };
                let may_hash = self.scope.steering.may_hash(&entry.alias);
                let hash = if bound.is_empty() || !may_hash || entry.reads != DerivedRow::None {
                    None
                } else {
                    hash_key(&mut own_conditions, &entry.slots())
                };
                Join::Derived(Box::new(DerivedAccess {
                    alias: entry.alias.clone(),
                    offset: entry.offset,
                    width: entry.columns.len(),
                    source,
                    reads: entry.reads,
                    conditions: own_conditions,
                    hash,
                }))
            }
        };
        Ok(match outer_conditions.is_empty() {
            true => join,
            false => Join::Filter {
                join: Box::new(join),
                conditions: outer_conditions,
            },
        })
    }
}

/// Lifts nested inner joins into one list.
fn flatten(children: Vec<FromTree>, pending: &mut Vec<Expr>, parts: &mut Vec<FromTree>) {
    for child in children {
        match child {
            FromTree::Inner {
                children,
                conditions,
                fixed: false,
            } => {
                pending.extend(conditions);
                flatten(children, pending, parts);
            }
            child => parts.push(child),
        }
    }
}

/// Takes the equalities out of `conditions` whose one side reads only this table and whose other side reads it not at all.
pub(super) fn hash_key(conditions: &mut Vec<Expr>, slots: &Range<usize>) -> Option<HashKey> {
    let mut key = HashKey {
        probe: Vec::new(),
        build: Vec::new(),
        how: Vec::new(),
    };
    conditions.retain(|condition| {
        let Some(sides) = hashable_sides(condition, slots) else {
            return true;
        };
        key.build.push(sides.build.clone());
        key.probe.push(sides.probe.clone());
        key.how.push(sides.how.clone());
        false
    });
    (!key.build.is_empty()).then_some(key)
}

/// Whether a row of the query around this one decides which rows of the table are meant.
fn asks_around(conditions: &[Expr], slots: &Range<usize>) -> bool {
    let asks = |condition: &Expr| hashable_sides(condition, slots).is_some_and(|sides| sides.probe.reads_outer());
    conditions.iter().any(asks)
}

/// An equality of what is known of a row of the table and what is known without it.
pub(super) struct HashableSides<'c> {
    pub(super) build: &'c Expr,
    pub(super) probe: &'c Expr,
    how: &'c Comparison,
}

pub(super) fn hashable_sides<'c>(condition: &'c Expr, slots: &Range<usize>) -> Option<HashableSides<'c>> {
    let ExprKind::Compare(compare) = &condition.kind else {
        return None;
    };
    let how = &compare.how;
    let hashable = matches!(how, Comparison::Integer | Comparison::Bytes | Comparison::Text(_));
    if compare.op != CompareOp::Eq || !hashable || condition.has_subquery() || condition.is_volatile() {
        return None;
    }
    // The table is hashed once in a statement, whatever the row of the query around it is.
    let reads_only = |expr: &Expr| {
        let columns = expr.referenced_columns();
        !columns.is_empty() && columns.iter().all(|slot| slots.contains(slot)) && !expr.reads_outer()
    };
    let reads_none = |expr: &Expr| expr.referenced_columns().iter().all(|slot| !slots.contains(slot));
    let (left, right) = (&compare.left, &compare.right);
    let (build, probe) = match () {
        () if reads_only(left) && reads_none(right) => (left, right),
        () if reads_only(right) && reads_none(left) => (right, left),
        () => return None,
    };
    Some(HashableSides { build, probe, how })
}

/// Whether the condition is not true when all these slots are NULL.
fn rejects_nulls(condition: &Expr, slots: &[Range<usize>]) -> bool {
    let is_column = |expr: &Expr| {
        expr.as_column()
            .is_some_and(|slot| slots.iter().any(|range| range.contains(&slot)))
    };
    match &condition.kind {
        ExprKind::Compare(compare) => {
            compare.op != CompareOp::NullSafeEq && (is_column(&compare.left) || is_column(&compare.right))
        }
        ExprKind::Between(between) => !between.negated && is_column(&between.operand),
        ExprKind::In(list) => is_column(&list.operand),
        ExprKind::Like(like) => is_column(&like.operand),
        ExprKind::Is {
            operand,
            test: parser::ast::IsTest::Null,
            negated: true,
        } => is_column(operand),
        _ => false,
    }
}

/// A guess: what the server tells of itself, or a document holds, is not counted before it is read.
pub(super) const DERIVED_ROWS: f64 = 100.0;

impl DerivedAccess {
    pub fn estimated_rows(&self) -> f64 {
        match &self.source {
            DerivedSource::Query(query) => query.rows,
            _ => DERIVED_ROWS,
        }
    }
}

/// The rows of a join by equality of `outer` rows with the `passing` of a table's `all` rows. The smaller side is taken for the one
/// whose values are unique.
pub(super) fn hashed_rows(outer: f64, passing: f64, all: f64) -> f64 {
    outer * passing / outer.min(all).max(1.0)
}

/// The rows of a join of `outer` rows with what is read for each of them.
fn joined_rows(outer: f64, inner: &Join) -> f64 {
    match inner {
        Join::Base(access) if access.hash.is_some() => {
            hashed_rows(outer, estimated_rows(inner), access.path.estimated_rows)
        }
        Join::Derived(access) if access.hash.is_some() => {
            let rows = access.estimated_rows();
            hashed_rows(outer, rows, rows)
        }
        Join::Filter { join, .. } => joined_rows(outer, join) * 0.5,
        _ => outer * estimated_rows(inner),
    }
    .max(0.5)
}

pub(super) fn estimated_rows(join: &Join) -> f64 {
    match join {
        Join::Base(access) => access.path.estimated_rows * passing_share(&*access.path.residual),
        Join::Derived(access) => access.estimated_rows(),
        Join::Nested(sides) => estimated_rows(&sides[0]) * estimated_rows(&sides[1]),
        Join::Left { sides, .. } => estimated_rows(&sides[0]) * estimated_rows(&sides[1]).max(1.0),
        Join::Filter { join, .. } => estimated_rows(join) * 0.5,
    }
}

impl BaseAccess {
    /// The slots of all that a row of the table fills: the columns that are needed, the hidden row id, and the searches.
    pub fn filled_slots(&self) -> impl Iterator<Item = usize> + '_ {
        let columns = self.needed.iter().map(move |column| self.offset + column);
        columns
            .chain(self.row_id)
            .chain(self.matches.iter().map(|(slot, _)| *slot))
    }

    /// How EXPLAIN names the access.
    pub fn kind(&self) -> AccessKind {
        match self.path.kind() {
            AccessKind::Const if self.depends_on_outer() => AccessKind::EqRef,
            kind => kind,
        }
    }

    /// Whether its ranges are made of columns of tables read before.
    pub fn depends_on_outer(&self) -> bool {
        let RangeSpec::Prefix { equal, then } = &self.path.spec else {
            return false;
        };
        equal
            .iter()
            .chain(then)
            .flat_map(|test| test.operands())
            .any(|operand| !operand.referenced_columns().is_empty())
    }
}
