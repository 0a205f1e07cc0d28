//! Correlated queries by lookup: the join of the query's tables, without what ties it to the row around, is read once in a statement and
//! hashed by the tie. Then a row around finds its rows there.
//!
//! Rows that no row around asks for are read, too. So nothing is computed of them that may warn or fail: such conditions wait until a row
//! is found. Where reading all of them costs more than finding those of the rows around by an index, the query is better run for each.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parser::ast::IsTest;
use sql_expr::{AggregateCall, AggregateFunction, Comparison, Escape, Expr, ExprKind, InItems};
use types::{SqlResult, SqlType, TypeKind};

use super::estimate::{Cost, HASHED_ROW};
use super::from::FromTree;
use super::join::{DerivedRow, HashKey, Join, JoinPlanner, estimated_rows, hash_key, hashable_sides, wished_before};
use super::scope::{QueryScope, ScopeTable, TableSource};
use super::select::{Grouping, SelectPlan};
use super::subquery::SubqueryPlan;
use super::{Body, QueryPlan};
use crate::access::{OrderWish, partition};

/// Running a query for a row around, beside what it reads.
const RUN: f64 = 2.0;
/// Looking a row up.
const LOOKED_UP: f64 = 1.0;

/// How the rows of a correlated SELECT are looked up.
#[derive(Debug)]
pub struct Lookup {
    /// The rows of all rows around.
    pub join: Arc<Join>,
    /// What a row around is looked up by.
    pub key: HashKey,
    /// What of the rows found is asked besides; it may read the row around.
    pub conditions: Vec<Expr>,
    /// Which rows come first, or how they look, may differ from those of the join that is tied: only whether there are any may be asked.
    pub only_existence: bool,
    /// From so many runs on it is cheaper to look up than to run.
    worth_runs: f64,
    /// How many runs are expected, as the bits of a number.
    expected_runs: AtomicU64,
}

impl Lookup {
    /// Whether it pays to read the join now, after so many runs without.
    pub fn pays_after(&self, runs: u64) -> bool {
        self.worth_runs <= self.expected_runs().max(runs as f64)
    }

    pub fn expected_runs(&self) -> f64 {
        f64::from_bits(self.expected_runs.load(Ordering::Relaxed))
    }
}

/// What a SELECT makes of the rows of its join.
pub struct Made<'s> {
    pub items: &'s [Expr],
    pub grouping: Option<&'s Grouping>,
    pub having: Option<&'s Expr>,
    pub has_windows: bool,
    /// DISTINCT or LIMIT.
    pub leaves_out: bool,
}

impl Made<'_> {
    /// Shows all expressions of the SELECT: those of its joins and of `others` as well.
    pub fn for_each_expr<'e>(
        &self,
        tree: &FromTree,
        others: impl Iterator<Item = &'e Expr>,
        visit: &mut dyn FnMut(&Expr),
    ) {
        if let Some(grouping) = self.grouping {
            grouping.keys.iter().for_each(&mut *visit);
            for call in &grouping.aggregates {
                call.args.iter().for_each(&mut *visit);
                call.order_by.iter().for_each(|key| visit(&key.expr));
            }
        }
        self.items.iter().chain(self.having).for_each(&mut *visit);
        others.for_each(&mut *visit);
        tree.visit_conditions(visit);
    }

    /// The correlated queries below the SELECT.
    pub fn dependents<'e>(&self, tree: &FromTree, others: impl Iterator<Item = &'e Expr>) -> Dependents {
        let mut found = Dependents::default();
        self.for_each_expr(tree, others, &mut |expr| found.add(expr));
        found
    }

    /// Whether it is the same in whatever order the rows come.
    fn ignores_order(&self) -> bool {
        let Some(grouping) = self.grouping else {
            return !self.has_windows;
        };
        let keys: Vec<usize> = grouping.keys.iter().filter_map(Expr::as_column).collect();
        // The columns of a group are those of its first row.
        let is_of_group = |slot: &usize| *slot >= grouping.offset || keys.contains(slot);
        let is_plain =
            |expr: &Expr| !expr.has_correlated_subquery() && expr.referenced_columns().iter().all(is_of_group);
        !self.has_windows
            && grouping.rollup.is_none()
            && grouping.aggregates.iter().all(sums_in_any_order)
            && self.items.iter().chain(self.having).all(is_plain)
    }
}

/// Numbers with a floating point are rounded at each step.
fn sums_in_any_order(call: &AggregateCall) -> bool {
    let is_exact = |arg: &Expr| arg.ty.kind.is_integer() || arg.ty.kind == TypeKind::Decimal;
    match call.function {
        AggregateFunction::Count | AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => {
            true
        }
        AggregateFunction::Sum | AggregateFunction::Avg => call.args.iter().all(is_exact),
        // Of texts that are equal, the first one is shown.
        AggregateFunction::Min | AggregateFunction::Max => call
            .args
            .iter()
            .all(|arg| arg.ty.kind.is_numeric() || arg.ty.kind.is_temporal()),
        AggregateFunction::StddevPop
        | AggregateFunction::StddevSamp
        | AggregateFunction::VarPop
        | AggregateFunction::VarSamp
        | AggregateFunction::GroupConcat
        | AggregateFunction::JsonArrayAgg
        | AggregateFunction::JsonObjectAgg => false,
    }
}

/// The FROM clause and conditions of a correlated SELECT before they are planned, where lookups are thinkable.
pub struct Untied {
    tree: FromTree,
    conditions: Vec<Expr>,
    only_existence: bool,
}

impl Untied {
    pub fn of(
        scope: &QueryScope<'_, '_, '_>,
        tree: &FromTree,
        conditions: &[Expr],
        has_locks: bool,
        made: &Made<'_>,
    ) -> Option<Untied> {
        let may_be = scope.correlated()
            && !has_locks
            && made.ignores_order()
            && scope.tables.iter().all(is_readable_ahead)
            && scope.tables.iter().all(|table| scope.steering.may_hash(&table.alias));
        let slots = 0..scope.width();
        if !may_be || !conditions.iter().any(|condition| is_tie(condition, &slots)) {
            return None;
        }
        let mut tree = tree.clone();
        let mut conditions = conditions.to_vec();
        tree.take_conditions(&mut conditions, &|_| true);
        let mut is_free = true;
        tree.visit_conditions(&mut |condition| is_free = is_free && is_quiet(condition));
        is_free.then_some(Untied {
            tree,
            conditions,
            only_existence: made.leaves_out,
        })
    }

    /// `tied` is the join that is run for each row around.
    pub fn plan(self, scope: &QueryScope<'_, '_, '_>, tied: &Join) -> SqlResult<Option<Lookup>> {
        let slots = 0..scope.width();
        let (mut ties, rest) = partition(self.conditions, |condition| is_tie(condition, &slots));
        let Some(key) = hash_key(&mut ties, &slots) else {
            return Ok(None);
        };
        let (quiet, mut conditions) = partition(rest, is_quiet_of_tables);
        let (join, left) = JoinPlanner {
            scope,
            order: OrderWish::default(),
            locks: vec![None; scope.tables.len()],
            row_ids: Vec::new(),
            before: wished_before(scope),
        }
        .plan(self.tree, quiet)?;
        conditions.extend(left);
        // As where the query is run: what runs others comes last.
        let (mut conditions, asking) = partition(conditions, |condition| !condition.has_correlated_subquery());
        conditions.extend(asking);
        let (all, each) = (Cost::of(&join), Cost::of(tied));
        let made = all.run + all.once + HASHED_ROW * estimated_rows(&join);
        let worth_runs = match hashes_first(tied) {
            // The first run reads all of its table.
            true => 0.0,
            false => made / (RUN + each.run - LOOKED_UP),
        };
        Ok(Some(Lookup {
            join: Arc::new(join),
            key,
            conditions,
            only_existence: self.only_existence,
            worth_runs,
            expected_runs: AtomicU64::new(0),
        }))
    }
}

/// Whether the rows of the table are the same for every row around, and nothing happens where they are read.
pub fn is_readable_ahead(table: &ScopeTable) -> bool {
    match &table.source {
        TableSource::Base { .. } => table.matches.is_empty(),
        // One that is merged in MySQL notes what is read of it.
        TableSource::Derived(plan) => table.reads == DerivedRow::None && !plan.is_mergeable(),
        TableSource::Merged { .. } => true,
        TableSource::Working(_) | TableSource::Recursive(_) | TableSource::Json(_) | TableSource::Virtual(_) => false,
    }
}

/// An equality of the tables and the row around.
fn is_tie(condition: &Expr, slots: &Range<usize>) -> bool {
    hashable_sides(condition, slots).is_some_and(|sides| sides.probe.reads_outer() && is_quiet(sides.build))
}

/// Whether the rows of the first table are in a hash table already.
fn hashes_first(join: &Join) -> bool {
    match join {
        Join::Base(access) => access.hash.is_some(),
        Join::Derived(access) => access.hash.is_some(),
        Join::Nested(sides) | Join::Left { sides, .. } => hashes_first(&sides[0]),
        Join::Filter { join, .. } => hashes_first(join),
    }
}

/// Whether the condition may be asked of any row of the tables, whatever the row around is: it does not warn, nor fail.
fn is_quiet_of_tables(condition: &Expr) -> bool {
    !condition.referenced_columns().is_empty() && is_quiet(condition)
}

pub fn is_quiet(expr: &Expr) -> bool {
    governor::pause();
    let is_truth = |operand: &Expr| operand.ty.kind.is_numeric() && is_quiet(operand);
    let are_quiet = |how: &Comparison, operands: &[&Expr]| {
        let mut operands = operands.iter();
        operands.all(|operand| is_quiet(operand) && compares_as_it_is(how, &operand.ty))
    };
    match &expr.kind {
        ExprKind::Literal(_) | ExprKind::Column(_) => true,
        ExprKind::And(operands) | ExprKind::Or(operands) => operands.iter().all(is_truth),
        ExprKind::Not(operand) => is_truth(operand),
        ExprKind::Is { operand, test, .. } => match test {
            IsTest::Null => is_quiet(operand),
            _ => is_truth(operand),
        },
        ExprKind::Compare(compare) => are_quiet(&compare.how, &[&compare.left, &compare.right]),
        ExprKind::Between(between) => {
            are_quiet(&between.low_how, &[&between.operand, &between.low])
                && are_quiet(&between.high_how, &[&between.operand, &between.high])
        }
        ExprKind::In(list) => match &list.list {
            InItems::Sorted { how, .. } => are_quiet(how, &[&list.operand]),
            InItems::Each(items) => items.iter().all(|(how, item)| are_quiet(how, &[&list.operand, item])),
        },
        ExprKind::Like(like) => {
            let is_text = |operand: &Expr| operand.ty.kind.is_text() && is_quiet(operand);
            matches!(like.escape, Escape::Char(_)) && is_text(&like.operand) && is_text(&like.pattern)
        }
        _ => false,
    }
}

/// Whether the comparison takes values of the type without converting what may not fit.
fn compares_as_it_is(how: &Comparison, ty: &SqlType) -> bool {
    let kind = ty.kind;
    match how {
        Comparison::Integer => kind.is_integer(),
        Comparison::Decimal => kind.is_integer() || kind == TypeKind::Decimal,
        Comparison::Double => {
            kind.is_integer() || matches!(kind, TypeKind::Decimal | TypeKind::Float | TypeKind::Double)
        }
        Comparison::Text(_) => kind.is_text(),
        Comparison::Bytes => kind.is_text() || kind.is_binary(),
        Comparison::DateTime => matches!(kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp),
        Comparison::Time => kind == TypeKind::Time,
        Comparison::Date | Comparison::ListedDates | Comparison::Json | Comparison::Row(_) => false,
    }
}

/// The correlated queries that stand in expressions.
#[derive(Default)]
pub struct Dependents(Vec<Arc<dyn sql_expr::Subquery>>);

impl Dependents {
    pub fn add(&mut self, expr: &Expr) {
        expr.walk(&mut |part| {
            if let ExprKind::Subquery(node) = &part.kind
                && node.query.is_correlated()
            {
                self.0.push(node.query.clone());
            }
        });
    }

    /// The rows around are so many.
    pub fn note_runs(&self, rows: f64) {
        for query in &self.0 {
            if let Some(subquery) = query.as_any().downcast_ref::<SubqueryPlan>() {
                subquery.plan().note_runs(rows);
            }
        }
    }
}

impl SelectPlan {
    /// Whether only the existence of rows is asked.
    pub fn asks_existence(&self) -> bool {
        self.is_existence.load(Ordering::Relaxed)
    }

    /// Whether it gives nothing but the fact that there are rows.
    pub fn gives_existence(&self) -> bool {
        self.asks_existence() && self.gives_row_for_row()
    }

    /// How its rows are looked up, where that is expected to pay from the first run on.
    pub fn planned_lookup(&self) -> Option<&Lookup> {
        let lookup = self.lookup.as_deref()?;
        let may_be = self.asks_existence() || !lookup.only_existence;
        (may_be && lookup.pays_after(0)).then_some(lookup)
    }

    /// The slots that are read of the rows that a lookup finds, in order.
    pub fn looked_up_slots(&self, lookup: &Lookup) -> Vec<usize> {
        let mut filled = BTreeSet::new();
        lookup.join.add_filled_slots(&mut filled);
        let mut readers: Vec<&Expr> = lookup.conditions.iter().collect();
        if !self.gives_existence() {
            // No aggregate has an order of its own.
            let arguments = self.grouping.iter().flat_map(|grouping| {
                let arguments = grouping.aggregates.iter().flat_map(|call| &call.args);
                grouping.keys.iter().chain(arguments)
            });
            readers.extend(arguments);
            readers.extend(self.items.iter().chain(&self.having));
            readers.extend(self.order.iter().map(|key| &key.expr));
        }
        // A correlated subquery reads slots that it does not tell.
        if !readers.iter().any(|expr| expr.has_correlated_subquery()) {
            let read: BTreeSet<usize> = readers.iter().flat_map(|expr| expr.referenced_columns()).collect();
            filled.retain(|slot| read.contains(slot));
        }
        filled.into_iter().collect()
    }
}

impl QueryPlan {
    fn note_runs(&self, runs: f64) {
        governor::pause();
        match &self.body {
            Body::Select(select) => {
                if let Some(lookup) = &select.lookup {
                    lookup.expected_runs.store(runs.to_bits(), Ordering::Relaxed);
                }
            }
            Body::Values(_) => {}
            Body::Set(set) => {
                set.first.note_runs(runs);
                set.rest.iter().for_each(|(_, _, term)| term.note_runs(runs));
            }
            Body::Nested(query) => query.note_runs(runs),
        }
    }
}
