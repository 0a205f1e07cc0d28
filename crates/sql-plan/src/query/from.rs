//! FROM: table references into a tree of joins over the scope's tables. [`view`]: those that name a view.

mod view;

pub use view::insert_target;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use catalog::Names;
use parser::ast::{self, TableRef};
use sql_expr::{Binder, Clause, CompareOp, Expr, Scope};
use types::{ErrorKind, SqlError, SqlResult};

use super::common::{CommonSource, renamed};
use super::join::DerivedRow;
use super::json_table::JsonTablePlan;
use super::scope::{QueryScope, ScopeTable, TableSource, base_columns};
use crate::computed_keys::ComputedKeys;
use crate::planner::Planner;
use crate::table::Table;

/// Joins as they are written, RIGHT turned into LEFT.
#[derive(Debug, Clone)]
pub enum FromTree {
    /// A table of the scope.
    Table(usize),
    /// All of these, with conditions; in any order unless `fixed`.
    Inner {
        children: Vec<FromTree>,
        conditions: Vec<Expr>,
        fixed: bool,
    },
    /// Every row of `left`, with the rows of `right` that fulfil `on`, or NULLs.
    Left {
        left: Box<FromTree>,
        right: Box<FromTree>,
        on: Vec<Expr>,
    },
}

impl FromTree {
    /// The tables are read in the order in which they are written.
    fn fix(&mut self) {
        governor::pause();
        match self {
            FromTree::Table(_) => {}
            FromTree::Inner { children, fixed, .. } => {
                *fixed = true;
                children.iter_mut().for_each(FromTree::fix);
            }
            FromTree::Left { left, right, .. } => [left, right].into_iter().for_each(|side| side.fix()),
        }
    }

    /// Moves the constant conditions of inner joins to those of WHERE: where one is false no row is looked at.
    pub fn take_constants(&mut self, conditions: &mut Vec<Expr>) {
        self.take_conditions(conditions, &Expr::is_constant);
    }

    /// Moves such conditions of inner joins to those of WHERE.
    pub fn take_conditions(&mut self, conditions: &mut Vec<Expr>, is_such: &dyn Fn(&Expr) -> bool) {
        governor::pause();
        if let FromTree::Inner {
            children,
            conditions: on,
            ..
        } = self
        {
            conditions.extend(on.extract_if(.., |condition| is_such(condition)));
            let children = children.iter_mut();
            children.for_each(|child| child.take_conditions(conditions, is_such));
        }
    }

    /// The tables that have a row wherever the tree has one.
    pub fn tables_without_null_rows(&self) -> Vec<usize> {
        match self {
            FromTree::Table(table) => vec![*table],
            FromTree::Inner { children, .. } => children.iter().flat_map(FromTree::tables_without_null_rows).collect(),
            FromTree::Left { left, .. } => left.tables_without_null_rows(),
        }
    }

    /// Shows every condition of a join, with the tables that have rows where it is asked.
    pub fn for_each_condition(&mut self, visit: &mut dyn FnMut(&[usize], &mut Expr)) {
        governor::pause();
        let here = self.tables_without_null_rows();
        match self {
            FromTree::Table(_) => {}
            FromTree::Inner {
                children, conditions, ..
            } => {
                conditions.iter_mut().for_each(|condition| visit(&here, condition));
                children.iter_mut().for_each(|child| child.for_each_condition(visit));
            }
            FromTree::Left { left, right, on } => {
                let both = [here, right.tables_without_null_rows()].concat();
                on.iter_mut().for_each(|condition| visit(&both, condition));
                left.for_each_condition(visit);
                right.for_each_condition(visit);
            }
        }
    }

    /// Adds every condition of the join, those of outer joins as well.
    pub fn add_conditions(&self, all: &mut Vec<Expr>) {
        self.visit_conditions(&mut |condition| all.push(condition.clone()));
    }

    /// Shows every condition of the join, those of outer joins as well.
    pub fn visit_conditions(&self, visit: &mut dyn FnMut(&Expr)) {
        governor::pause();
        match self {
            FromTree::Table(_) => {}
            FromTree::Inner {
                children, conditions, ..
            } => {
                conditions.iter().for_each(&mut *visit);
                children.iter().for_each(|child| child.visit_conditions(visit));
            }
            FromTree::Left { left, right, on } => {
                on.iter().for_each(&mut *visit);
                left.visit_conditions(visit);
                right.visit_conditions(visit);
            }
        }
    }

    /// The tables below.
    pub fn tables(&self) -> Vec<usize> {
        match self {
            FromTree::Table(table) => vec![*table],
            FromTree::Inner { children, .. } => children.iter().flat_map(FromTree::tables).collect(),
            FromTree::Left { left, right, .. } => left.tables().into_iter().chain(right.tables()).collect(),
        }
    }
}

impl QueryScope<'_, '_, '_> {
    /// Lets conditions and the order read generated columns in the place of their expressions, where an index may follow. A row of NULLs
    /// has NULL there, whatever the expression gives.
    pub fn read_computed_keys<'e>(
        &mut self,
        tree: &mut FromTree,
        conditions: impl Iterator<Item = &'e mut Expr>,
        order: impl Iterator<Item = &'e mut Expr>,
    ) -> SqlResult<()> {
        let mut of_tables = Vec::new();
        for (at, table) in self.tables.iter_mut().enumerate() {
            if let TableSource::Base { table: base, .. } = &table.source {
                let mut keys = ComputedKeys::new(self.planner, base, table.offset)?;
                table.arrays = std::mem::take(&mut keys.arrays);
                if !keys.is_empty() {
                    of_tables.push((at, keys));
                }
            }
        }
        if of_tables.is_empty() {
            return Ok(());
        }
        tree.for_each_condition(&mut |tables, condition| {
            let read = of_tables.iter_mut().filter(|(at, _)| tables.contains(at));
            read.for_each(|(_, keys)| keys.replace_in_condition(condition));
        });
        let tables = tree.tables_without_null_rows();
        let of_rows = |at: &usize| tables.contains(at);
        for condition in conditions {
            let read = of_tables.iter_mut().filter(|(at, _)| of_rows(at));
            read.for_each(|(_, keys)| keys.replace_in_condition(condition));
        }
        for expr in order {
            let read = of_tables.iter_mut().filter(|(at, _)| of_rows(at));
            read.for_each(|(_, keys)| keys.replace(expr));
        }
        for (at, keys) in of_tables {
            keys.used.iter().for_each(|column| self.tables[at].used[*column] = true);
        }
        governor::check()?;
        Ok(())
    }
}

/// A bound part of the FROM clause: its joins, and the slots that `*` shows of it, in order.
struct Bound {
    tree: FromTree,
    shown: Vec<usize>,
    tables: Range<usize>,
}

/// MySQL's limit on the tables of one join.
pub(super) const MAX_JOINED: usize = 61;

/// Binds a FROM clause. Returns the joins and the slots of `*`.
pub fn bind_from(
    scope: &mut QueryScope<'_, '_, '_>,
    from: &[TableRef],
    straight: bool,
) -> SqlResult<Option<(FromTree, Vec<usize>)>> {
    if from.is_empty() {
        return Ok(None);
    }
    let mut children = Vec::with_capacity(from.len());
    let mut shown = Vec::new();
    for table in from {
        let bound = bind_ref(scope, table)?;
        children.push(bound.tree);
        shown.extend(bound.shown);
        check_count(&scope.tables)?;
    }
    scope.visible = 0..scope.tables.len();
    check_unique_names(&scope.tables)?;
    let mut tree = match children.len() {
        1 => children.remove(0),
        _ => FromTree::Inner {
            children,
            conditions: Vec::new(),
            fixed: false,
        },
    };
    if straight {
        tree.fix();
    }
    Ok(Some((tree, shown)))
}

/// 1116, as soon as there are too many: what joins them need not be looked at.
fn check_count(tables: &[ScopeTable]) -> SqlResult<()> {
    match tables.iter().filter(|table| table.has_rows()).count() > MAX_JOINED {
        true => Err(SqlError::new(ErrorKind::TooManyTables, &[&MAX_JOINED])),
        false => Ok(()),
    }
}

/// 1066 for two tables of one name.
fn check_unique_names(tables: &[ScopeTable]) -> SqlResult<()> {
    let mut visible: Vec<&ScopeTable> = Vec::with_capacity(tables.len());
    for table in tables.iter().filter(|table| table.is_visible()) {
        let twin = |other: &&ScopeTable| other.alias == table.alias && other.database == table.database;
        if visible.iter().any(twin) {
            return Err(SqlError::new(ErrorKind::NonUniqTable, &[&table.alias]));
        }
        visible.push(table);
    }
    Ok(())
}

fn bind_ref(scope: &mut QueryScope<'_, '_, '_>, table: &TableRef) -> SqlResult<Bound> {
    governor::tick()?;
    governor::descend()?;
    match table {
        TableRef::Table(factor) => bind_table(scope, factor),
        TableRef::Derived(derived) => bind_derived(scope, derived),
        TableRef::JsonTable(table) => bind_json_table(scope, table),
        TableRef::List(list) => {
            let start = scope.tables.len();
            let mut children = Vec::with_capacity(list.len());
            let mut shown = Vec::new();
            for table in list {
                let bound = bind_ref(scope, table)?;
                children.push(bound.tree);
                shown.extend(bound.shown);
            }
            let tree = FromTree::Inner {
                children,
                conditions: Vec::new(),
                fixed: false,
            };
            Ok(Bound {
                tree,
                shown,
                tables: start..scope.tables.len(),
            })
        }
        TableRef::Join(join) => bind_join(scope, join),
    }
}

fn add_table(scope: &mut QueryScope<'_, '_, '_>, table: ScopeTable) -> Bound {
    let at = scope.tables.len();
    let shown = table.shown().collect();
    scope.tables.push(table);
    Bound {
        tree: FromTree::Table(at),
        shown,
        tables: at..at + 1,
    }
}

fn bind_table(scope: &mut QueryScope<'_, '_, '_>, factor: &ast::TableFactor) -> SqlResult<Bound> {
    if !factor.partitions.is_empty() {
        return Err(SqlError::not_supported("PARTITION"));
    }
    let alias = factor.alias.as_ref().unwrap_or(&factor.name.name).as_str().to_owned();
    let offset = scope.width();
    if let Some(common) = scope.common.get(&factor.name).cloned() {
        if factor.as_of.is_some() {
            return Err(SqlError::not_supported("AS OF TIMESTAMP of a common table expression"));
        }
        scope.planner.views.nesting.uses(common.levels)?;
        let columns = relabelled(&common.shape.columns, &alias);
        let source = match &common.source {
            CommonSource::Query(plan) => TableSource::Derived(plan.clone()),
            CommonSource::Working(number) => TableSource::Working(*number),
            CommonSource::Recursive(plan) => TableSource::Recursive(plan.clone()),
        };
        let reads = match common.source.is_correlated() {
            true => {
                scope.note_read_of(common.around);
                DerivedRow::Around {
                    levels: scope.levels_above(&common),
                }
            }
            false => DerivedRow::None,
        };
        let table = ScopeTable {
            reads,
            ..ScopeTable::new(&alias, columns, offset, source)
        };
        return Ok(add_table(scope, table));
    }
    if let Some(table) = scope.planner.virtual_table(&factor.name)? {
        if factor.as_of.is_some() {
            return Err(SqlError::not_supported("AS OF TIMESTAMP of information_schema"));
        }
        scope.planner.note_moment(factor);
        let columns = table.columns(&alias);
        let database = Some(table.database().to_owned());
        let source = TableSource::Virtual(table);
        let table = ScopeTable {
            database,
            ..ScopeTable::new(&alias, columns, offset, source)
        };
        return Ok(add_table(scope, table));
    }
    if let Some(view) = scope.planner.view(&factor.name) {
        scope.planner.note_moment(factor);
        return view::bind_view(scope, &view, factor);
    }
    let table = scope.planner.table(&factor.name, factor.alias.as_ref())?;
    note_table(scope.planner, &table, factor)?;
    let columns = base_columns(&table, &alias);
    let invisible = table
        .def
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.invisible);
    let searches = table.def.columns.len()..columns.len();
    let invisible = invisible.map(|(position, _)| position).chain(searches).collect();
    let database = Some(table.def.database.clone());
    let source = TableSource::Base {
        hints: scope.steering.index_hints(&table, &alias, &factor.index_hints),
        table,
    };
    Ok(add_table(
        scope,
        ScopeTable {
            database,
            invisible,
            ..ScopeTable::new(&alias, columns, offset, source)
        },
    ))
}

/// A table of FROM is going to be read.
pub(crate) fn note_table(planner: &Planner<'_>, table: &Table, factor: &ast::TableFactor) -> SqlResult<()> {
    match (table.id().is_local(), &factor.as_of) {
        (false, _) => planner.note_moment(factor),
        (true, None) => {}
        (true, Some(_)) => return Err(SqlError::not_supported("AS OF TIMESTAMP of a temporary table")),
    }
    Ok(())
}

/// A derived table sees the queries around the one that it stands in; a LATERAL one the tables before it, too.
fn bind_derived(scope: &mut QueryScope<'_, '_, '_>, derived: &ast::Derived) -> SqlResult<Bound> {
    let alias = derived.alias.as_str().to_owned();
    let common = scope.common.clone();
    let planner = scope.planner;
    let nesting = &planner.views.nesting;
    let (plan, follows) = match derived.lateral {
        true => scope
            .noting_reads(|scope| nesting.inside(|| super::plan_in(planner, &derived.query, &common, Some(scope))))?,
        false => {
            let outer = scope.outer();
            let plan = nesting.inside(|| super::plan_in(planner, &derived.query, &common, outer))?;
            (plan, Vec::new())
        }
    };
    let reads = match (plan.correlated, derived.lateral) {
        (false, _) => DerivedRow::None,
        (true, true) => DerivedRow::Current,
        (true, false) => {
            scope.note_read_of(scope.depth() - 1);
            DerivedRow::Around { levels: 0 }
        }
    };
    let shape = renamed(&plan.shape, &derived.columns, &alias)?;
    let names = shape.columns.iter().map(|column| column.name.as_str());
    if let Some(name) = catalog::first_repeated(names.inspect(|_| governor::pause())) {
        return Err(SqlError::new(ErrorKind::DupFieldName, &[&name]));
    }
    let columns = relabelled(&shape.columns, &alias);
    let source = TableSource::Derived(Arc::new(plan));
    let offset = scope.width();
    Ok(add_table(
        scope,
        ScopeTable {
            reads,
            follows,
            ..ScopeTable::new(&alias, columns, offset, source)
        },
    ))
}

/// JSON_TABLE is LATERAL without saying so: its document may be a column of a table before it.
fn bind_json_table(scope: &mut QueryScope<'_, '_, '_>, table: &ast::JsonTable) -> SqlResult<Bound> {
    let (document, follows) = scope.noting_reads(|scope| {
        let clause = std::mem::replace(&mut scope.clause, Clause::TableFunction);
        let (ctx, options) = (scope.planner.ctx, scope.planner.options());
        let bound = Binder::new(scope, ctx, options).bind(&table.document);
        scope.clause = clause;
        bound
    })?;
    let depends = !follows.is_empty() || document.reads_outer() || document.has_subquery();
    let (plan, columns) = JsonTablePlan::new(scope.planner, table, document)?;
    let source = TableSource::Json(Arc::new(plan));
    let reads = match depends {
        true => DerivedRow::Current,
        false => DerivedRow::None,
    };
    let offset = scope.width();
    Ok(add_table(
        scope,
        ScopeTable {
            reads,
            follows,
            ..ScopeTable::new(&table.alias, columns, offset, source)
        },
    ))
}

/// Columns of a query's result as columns of a table of that alias.
pub(super) fn relabelled(columns: &[sql_api::result::ResultColumn], alias: &str) -> Vec<sql_api::result::ResultColumn> {
    columns
        .iter()
        .map(|column| sql_api::result::ResultColumn {
            table: alias.to_owned(),
            original_table: String::new(),
            original_name: column.name.clone(),
            database: String::new(),
            flags: sql_api::result::ColumnFlags::default(),
            ..column.clone()
        })
        .collect()
}

fn bind_join(scope: &mut QueryScope<'_, '_, '_>, join: &ast::Join) -> SqlResult<Bound> {
    let (is_left, is_right) = (join.kind == ast::JoinKind::Left, join.kind == ast::JoinKind::Right);
    // RIGHT JOIN reads its right side first, so that it is the left one whose LATERAL tables see the other's.
    let (left, right) = match is_right && (has_lateral(&join.left)? || has_lateral(&join.right)?) {
        true => {
            let right = bind_side(scope, &join.right, is_left)?;
            (bind_side(scope, &join.left, is_right)?, right)
        }
        false => {
            let left = bind_side(scope, &join.left, is_right)?;
            (left, bind_side(scope, &join.right, is_left)?)
        }
    };
    let tables = left.tables.start.min(right.tables.start)..left.tables.end.max(right.tables.end);
    check_count(&scope.tables[tables.clone()])?;
    let mut on = Vec::new();
    let mut shown: Vec<usize> = left.shown.iter().chain(&right.shown).copied().collect();
    match &join.condition {
        ast::JoinCondition::None => {}
        ast::JoinCondition::On(condition) => {
            let before = std::mem::replace(&mut scope.visible, tables.clone());
            scope.clause = Clause::On;
            let (ctx, options) = (scope.planner.ctx, scope.planner.options());
            let bound = Binder::new(scope, ctx, options).bind_condition(condition);
            scope.visible = before;
            match bound {
                Ok(bound) => on = bound.into_conjuncts(),
                Err(error) => {
                    scope.wrong_in_on.get_or_insert(error);
                }
            }
        }
        ast::JoinCondition::Using(names) => {
            let (left_columns, right_columns) = (ShownColumns::of(scope, &left), ShownColumns::of(scope, &right));
            let mut pairs = Vec::with_capacity(names.len());
            let mut known = HashSet::with_capacity(names.len());
            for name in names {
                governor::tick()?;
                let unknown = || SqlError::new(ErrorKind::BadField, &[&name.as_str(), &"from clause"]);
                let pair = (
                    left_columns.get(name)?.ok_or_else(unknown)?,
                    right_columns.get(name)?.ok_or_else(unknown)?,
                );
                // A name that is written twice counts once.
                if known.insert(pair) {
                    pairs.push(pair);
                }
            }
            shown = merge(scope, pairs, &left, &right, is_right, &mut on)?;
        }
        ast::JoinCondition::Natural => {
            let (left_columns, right_columns) = (ShownColumns::of(scope, &left), ShownColumns::of(scope, &right));
            let mut pairs = Vec::new();
            for &slot in &left.shown {
                governor::tick()?;
                let name = &scope.result_column(slot).name;
                if let Some(other) = right_columns.get(name)? {
                    // The name must be one column's on this side, too.
                    left_columns.get(name)?;
                    pairs.push((slot, other));
                }
            }
            shown = merge(scope, pairs, &left, &right, is_right, &mut on)?;
        }
    }
    if is_left {
        scope.make_nullable(right.tables.clone());
    }
    if is_right {
        scope.make_nullable(left.tables.clone());
    }
    let tree = match (is_left, is_right) {
        (true, _) => FromTree::Left {
            left: Box::new(left.tree),
            right: Box::new(right.tree),
            on,
        },
        (_, true) => FromTree::Left {
            left: Box::new(right.tree),
            right: Box::new(left.tree),
            on,
        },
        _ => FromTree::Inner {
            children: vec![left.tree, right.tree],
            conditions: on,
            fixed: join.kind == ast::JoinKind::Straight,
        },
    };
    Ok(Bound { tree, shown, tables })
}

/// Whether a LATERAL table is among the tables of a FROM clause's part.
fn has_lateral(table: &TableRef) -> SqlResult<bool> {
    governor::tick()?;
    governor::descend()?;
    Ok(match table {
        TableRef::Derived(derived) => derived.lateral,
        TableRef::Join(join) => has_lateral(&join.left)? || has_lateral(&join.right)?,
        TableRef::List(list) => {
            let mut found = false;
            for table in list {
                found |= has_lateral(table)?;
            }
            found
        }
        TableRef::JsonTable(_) => true,
        TableRef::Table(_) => false,
    })
}

/// One side of a join; `optional` if it may have no row.
fn bind_side(scope: &mut QueryScope<'_, '_, '_>, table: &TableRef, optional: bool) -> SqlResult<Bound> {
    let before = scope.optional;
    scope.optional |= optional;
    let bound = bind_ref(scope, table);
    scope.optional = before;
    bound
}

/// The columns of one side of a join, as USING and NATURAL find them.
struct ShownColumns<'a> {
    names: Names,
    slots: &'a [usize],
}

impl<'a> ShownColumns<'a> {
    fn of(scope: &QueryScope<'_, '_, '_>, side: &'a Bound) -> ShownColumns<'a> {
        let name = |slot: &usize| scope.result_column(*slot).name.as_str();
        ShownColumns {
            names: side.shown.iter().map(name).inspect(|_| governor::pause()).collect(),
            slots: &side.shown,
        }
    }

    /// 1052 where there are several.
    fn get(&self, name: &str) -> SqlResult<Option<usize>> {
        match self.names.get(name) {
            Some(place) if place.is_repeated => Err(SqlError::new(ErrorKind::NonUniq, &[&name, &"from clause"])),
            place => Ok(place.map(|place| self.slots[place.first])),
        }
    }
}

/// USING and NATURAL: equalities, and one column shown for each pair, first of all, in the order of the first table: that whose
/// rows are all kept.
fn merge(
    scope: &mut QueryScope<'_, '_, '_>,
    mut pairs: Vec<(usize, usize)>,
    left: &Bound,
    right: &Bound,
    keeps_right: bool,
    on: &mut Vec<Expr>,
) -> SqlResult<Vec<usize>> {
    let mut shown = Vec::with_capacity(left.shown.len() + right.shown.len());
    let mut hidden = Vec::with_capacity(pairs.len());
    let (first, second) = if keeps_right { (right, left) } else { (left, right) };
    let places: HashMap<usize, usize> = first.shown.iter().enumerate().map(|(at, slot)| (*slot, at)).collect();
    pairs.sort_by_key(|(a, b)| places.get(if keeps_right { b } else { a }));
    for &(a, b) in &pairs {
        let (left_column, right_column) = (scope.column(a)?, scope.column(b)?);
        let (ctx, options) = (scope.planner.ctx, scope.planner.options());
        on.push(Binder::new(scope, ctx, options).comparison(CompareOp::Eq, left_column, right_column)?);
        let (kept, merged) = if keeps_right { (b, a) } else { (a, b) };
        shown.push(kept);
        hidden.push(merged);
    }
    let paired: HashSet<usize> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    shown.extend(
        first
            .shown
            .iter()
            .chain(&second.shown)
            .copied()
            .filter(|slot| !paired.contains(slot)),
    );
    scope.merged.extend(hidden);
    Ok(shown)
}
