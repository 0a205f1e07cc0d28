//! What names mean within a query.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use catalog::{ColumnDef, Names, Privileges};
use parser::ast;
use sql_api::result::{ResultColumn, ResultShape};
use sql_expr::scope::{ambiguous_column, unknown_column, unknown_without_tables};
use sql_expr::{AggregateCall, Clause, Coercibility, Expr, ExprKind, Resolved, Scope, Subquery};
use types::{ErrorKind, SqlError, SqlResult};

use super::aliases::{Aliases, Beside, GroupColumns, reads_group};
use super::common::{CommonTable, CommonTables};
use super::named_windows::NamedWindows;
pub use super::scope_table::{BelowView, ScopeTable, TableSource, base_columns};
pub(super) use super::scope_table::{MERGED_SLOTS, quoted_name};
use super::window::WindowPlan;
use crate::changes::ViewRule;
use crate::hints::Steering;
use crate::planner::Planner;
use crate::scope::default_of_column;

/// Whether a name means no column, or more than one: MySQL tells of those in another order than in that of the text.
pub fn is_unknown_column(error: &SqlError) -> bool {
    matches!(error.kind(), ErrorKind::BadField | ErrorKind::NonUniq)
}

/// What a change asks for on the views that it names; on one that it does not change, it is SELECT.
#[derive(Debug, Clone, Copy)]
pub enum Changes {
    /// The only one there is.
    This(Privileges),
    /// Some of those there are.
    Some(Privileges),
}

/// The names of one query block.
pub struct QueryScope<'a, 'p, 'o> {
    pub planner: &'a Planner<'p>,
    pub common: CommonTables,
    pub tables: Vec<ScopeTable>,
    /// Of an UPDATE or DELETE.
    pub changes: Option<Changes>,
    /// Only these tables can be named: while an ON condition is bound.
    pub visible: Range<usize>,
    /// Whether the tables being bound are on the side of an outer join that may have no row.
    pub optional: bool,
    /// Columns that USING or NATURAL has merged into an earlier one: hidden for unqualified names.
    pub merged: HashSet<usize>,
    /// Aliases of the select list, for GROUP BY, HAVING and ORDER BY.
    pub aliases: Aliases,
    /// Whether aliases come before columns. Not inside of aggregates.
    pub prefers_aliases: bool,
    /// Whether literals of HAVING and ORDER BY may be keys of a rollup, which are NULL where it sums over them.
    pub has_literal_keys: bool,
    /// GROUP BY's columns: to HAVING they come before aliases.
    group_columns: GroupColumns,
    pub(super) inside_aggregate: bool,
    /// Whether an aggregate reads an alias of a query around: then it is no aggregate of that query.
    pub(super) aggregate_reads_item: bool,
    /// The select list while it is bound: its subqueries see the items before them.
    pub beside: Beside,
    pub aggregates: Option<Vec<AggregateCall>>,
    /// Whether there is a GROUP BY, rather than one group of all rows.
    pub is_grouped: bool,
    pub windows: Option<Vec<WindowPlan>>,
    /// `WINDOW name AS (…)`
    pub named_windows: NamedWindows,
    /// What the block's hints say of its plan.
    pub steering: Steering,
    pub clause: Clause,
    outer: Option<&'o mut dyn Scope>,
    correlated: bool,
    /// What is wrong in an ON condition: what is in those of the select list and of WHERE are told first, as MySQL does.
    pub wrong_in_on: Option<SqlError>,
    /// The slots that were read, while a LATERAL table is bound.
    noted: Option<Vec<usize>>,
    /// The columns that a subquery reads, while it is planned.
    pub(super) read_below: Option<Vec<Expr>>,
}

impl<'a, 'p, 'o> QueryScope<'a, 'p, 'o> {
    pub fn new(planner: &'a Planner<'p>, outer: Option<&'o mut dyn Scope>) -> QueryScope<'a, 'p, 'o> {
        QueryScope {
            planner,
            common: CommonTables::default(),
            tables: Vec::new(),
            changes: None,
            visible: 0..0,
            optional: false,
            merged: HashSet::new(),
            aliases: Aliases::default(),
            prefers_aliases: false,
            has_literal_keys: false,
            group_columns: GroupColumns::default(),
            inside_aggregate: false,
            aggregate_reads_item: false,
            beside: Beside::default(),
            aggregates: None,
            is_grouped: false,
            windows: None,
            named_windows: NamedWindows::default(),
            steering: Steering::default(),
            clause: Clause::FieldList,
            outer,
            correlated: false,
            wrong_in_on: None,
            noted: None,
            read_below: None,
        }
    }

    /// The error of an ON condition, when its turn has come.
    pub fn check_on(&mut self) -> SqlResult<()> {
        self.wrong_in_on.take().map_or(Ok(()), Err)
    }

    /// The queries around this one.
    pub fn outer(&mut self) -> Option<&mut dyn Scope> {
        super::reborrow(&mut self.outer)
    }

    /// Runs `bind` without the names of the queries around: those of a view are its own.
    pub fn alone<T>(&mut self, bind: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.outer.take();
        let result = bind(self);
        self.outer = outer;
        result
    }

    /// Runs `bind`, which sees the tables so far from the first visible one on. Also gives the tables that it has read.
    pub fn noting_reads<T>(&mut self, bind: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<(T, Vec<usize>)> {
        let tables = self.visible.start..self.tables.len();
        let visible = std::mem::replace(&mut self.visible, tables);
        let noted = self.noted.replace(Vec::new());
        let bound = bind(self);
        let slots = std::mem::replace(&mut self.noted, noted).unwrap_or_default();
        self.visible = visible;
        let mut read: Vec<usize> = slots.into_iter().map(|slot| self.position(slot).0).collect();
        read.sort_unstable();
        read.dedup();
        Ok((bound?, read))
    }

    /// A slot is read, which a LATERAL table may want to know.
    pub(super) fn note_read(&mut self, slot: usize) {
        if let Some(noted) = &mut self.noted {
            noted.push(slot);
        }
    }

    /// How many rows of enclosing queries lie between this one's outer row and that of a common table.
    pub fn levels_above(&self, common: &CommonTable) -> usize {
        self.depth().saturating_sub(1 + common.around)
    }

    /// Whether a name of an enclosing query was used.
    pub fn correlated(&self) -> bool {
        self.correlated
    }

    pub(super) fn mark_correlated(&mut self) {
        self.correlated = true;
    }

    /// Slots of all tables.
    pub fn width(&self) -> usize {
        let mut tables = self.tables.iter().rev().filter(|table| table.has_rows());
        tables.next().map_or(0, |table| table.slots().end)
    }

    /// The slots that somebody asked for so far.
    pub fn used_slots(&self) -> BTreeSet<usize> {
        let tables = self.tables.iter().filter(|table| table.has_rows());
        let used = tables.flat_map(|table| table.slots().zip(&table.used));
        used.inspect(|_| governor::pause())
            .filter_map(|(slot, used)| used.then_some(slot))
            .collect()
    }

    /// The first slot for the columns of a view to be merged.
    pub fn next_merged_slot(&self) -> usize {
        let mut tables = self.tables.iter().rev().filter(|table| !table.has_rows());
        tables.next().map_or(MERGED_SLOTS, |table| table.slots().end)
    }

    /// What holds for the rows of a table that is changed through a view: over the slots of all tables.
    pub fn view_rules(&self, table: usize) -> Vec<ViewRule> {
        let Some(below) = &self.tables[table].below else {
            return Vec::new();
        };
        let TableSource::Merged { view, checked, .. } = &self.tables[below.view].source else {
            return Vec::new();
        };
        let rule = |condition: &Expr| ViewRule {
            database: view.database.clone(),
            view: view.name.clone(),
            condition: condition.clone(),
        };
        checked.iter().map(rule).collect()
    }

    /// Somebody asks for the slot.
    pub fn mark_used(&mut self, slot: usize) {
        if let Some(table) = self.tables.iter_mut().find(|table| table.slots().contains(&slot)) {
            table.used[slot - table.offset] = true;
        }
    }

    /// The tables that fill slots of the wide row.
    pub fn tables_with_rows(&self) -> usize {
        self.tables.iter().filter(|table| table.has_rows()).count()
    }

    /// The column expression of a slot; 1143 where the column may not be read.
    pub fn column(&mut self, slot: usize) -> SqlResult<Expr> {
        let (table, at) = self.position(slot);
        self.check_read(table, at)?;
        Ok(self.column_at(table, at))
    }

    /// The same for a column that `*` stands for: who may not read it, may not read the table (1142).
    pub fn column_of_wildcard(&mut self, slot: usize) -> SqlResult<Expr> {
        let (table, at) = self.position(slot);
        self.check_read(table, at).map_err(|error| {
            let name = match &self.tables[table].source {
                TableSource::Base { table, .. } => &table.def.name,
                TableSource::Merged { view, .. } => &view.name,
                _ => return error,
            };
            self.planner.access().table_denied("SELECT", name)
        })?;
        Ok(self.column_at(table, at))
    }

    pub(super) fn check_read(&self, table: usize, at: usize) -> SqlResult<()> {
        let table = &self.tables[table];
        let column = &table.columns[at].original_name;
        match &table.source {
            TableSource::Base { table, .. } => self.planner.check_read(table, column),
            TableSource::Merged { view, questions, .. } => {
                let select = Privileges::SELECT;
                self.planner.check_column(&view.database, &view.name, column, select)?;
                self.planner.ask_deferred(view, questions)
            }
            TableSource::Derived(_)
            | TableSource::Working(_)
            | TableSource::Recursive(_)
            | TableSource::Json(_)
            | TableSource::Virtual(_) => Ok(()),
        }
    }

    pub(super) fn column_at(&mut self, table: usize, at: usize) -> Expr {
        let slot = self.tables[table].offset + at;
        let table = &mut self.tables[table];
        table.used[at] = true;
        let column = &table.columns[at];
        match &table.source {
            TableSource::Merged { columns, .. } => {
                let mut expr = columns[at].clone();
                expr.ty.nullable |= column.ty.nullable;
                expr
            }
            // A query's column stands as firmly as what it selects, an aggregate's as a column.
            TableSource::Derived(plan) => Expr {
                coercibility: match plan.is_aggregate(at) {
                    true => Coercibility::of_column(&column.ty),
                    false => plan.coercibility(at),
                },
                ..Expr::column(slot, quoted_name(column), column.ty.clone())
            },
            _ => Expr::column(slot, quoted_name(column), column.ty.clone()),
        }
    }

    /// The column of a stored table that this query names itself, and not through a view.
    pub fn named_column(&self, slot: usize) -> Option<&ColumnDef> {
        let table = self.tables.iter().find(|table| table.slots().contains(&slot))?;
        match &table.source {
            TableSource::Base { table: base, .. } if table.is_visible() => base.def.columns.get(slot - table.offset),
            _ => None,
        }
    }

    pub fn result_column(&self, slot: usize) -> &ResultColumn {
        let (table, at) = self.position(slot);
        &self.tables[table].columns[at]
    }

    /// Whether a column without an alias is shown under the name that a view or a derived table gives it, and not as the statement
    /// writes it: where those are parts of the query and no tables of their own.
    pub fn is_named_by_query(&self, slot: usize) -> bool {
        let (table, _) = self.position(slot);
        match &self.tables[table].source {
            TableSource::Merged { .. } => true,
            TableSource::Derived(plan) => plan.is_mergeable(),
            TableSource::Virtual(table) => table.is_view(),
            TableSource::Base { .. } | TableSource::Working(_) | TableSource::Recursive(_) | TableSource::Json(_) => {
                false
            }
        }
    }

    pub(super) fn position(&self, slot: usize) -> (usize, usize) {
        let table = self
            .tables
            .iter()
            .position(|table| table.slots().contains(&slot))
            .expect("the slot of a table");
        (table, slot - self.tables[table].offset)
    }

    /// Makes the columns of tables nullable: an outer join may have no row for them.
    pub fn make_nullable(&mut self, tables: Range<usize>) {
        for table in &mut self.tables[tables] {
            for column in &mut table.columns {
                column.ty.nullable = true;
            }
        }
    }

    /// The slot of a column among the visible tables; `None` where no table has it.
    pub fn find(&self, name: &ast::ColumnName) -> SqlResult<Option<usize>> {
        let mut found = None;
        for table in self.tables[self.visible.clone()]
            .iter()
            .filter(|table| table.is_visible())
        {
            if let Some(qualifier) = &name.table
                && qualifier.as_str() != table.alias
            {
                continue;
            }
            if let Some(schema) = &name.schema
                && table.database.as_deref() != Some(schema.as_str())
            {
                continue;
            }
            let Some(place) = table.place(&name.name) else {
                continue;
            };
            let slot = table.offset + place.first;
            if name.table.is_none() && self.merged.contains(&slot) {
                continue;
            }
            if found.is_some() || place.is_repeated {
                return Err(ambiguous_column(name, self.clause));
            }
            found = Some(slot);
        }
        Ok(found)
    }

    /// What GROUP BY names.
    pub fn set_group_columns(&mut self, slots: Vec<usize>) {
        let names = slots.iter().map(|slot| self.result_column(*slot).name.as_str());
        self.group_columns = GroupColumns {
            names: names.collect(),
            slots,
        };
    }

    /// Whether HAVING, outside of aggregates, sees nothing of a column: it is neither selected nor grouped by.
    fn is_hidden_from_having(&self, slot: usize) -> bool {
        self.clause == Clause::Having
            && !self.inside_aggregate
            && !self.group_columns.slots.contains(&slot)
            && !self.aliases.has_column(slot)
    }

    /// Whether a query around this one knows the name.
    fn is_known_outside(&mut self, name: &ast::ColumnName) -> bool {
        self.outer
            .as_mut()
            .is_some_and(|outer| outer.resolve_from_below(name).is_ok())
    }

    /// The group's column of that name.
    fn group_column(&self, name: &ast::ColumnName) -> Option<usize> {
        let at = self.group_columns.names.first(&name.name)?;
        Some(self.group_columns.slots[at])
    }

    /// The item of the select list that is called so.
    pub fn alias(&self, name: &ast::ColumnName) -> SqlResult<Option<Expr>> {
        if name.table.is_some() {
            return Ok(None);
        }
        match self.aliases.get(&name.name) {
            None => Ok(None),
            Some(alias) if alias.is_ambiguous => Err(ambiguous_column(name, self.clause)),
            Some(alias) if self.inside_aggregate && self.reads_aggregate(alias.item) => {
                Err(ErrorKind::InvalidGroupFuncUse.into())
            }
            Some(alias) if self.clause == Clause::Having && alias.item.has_window() => {
                let kind = ErrorKind::WindowInvalidUseOfAlias;
                Err(SqlError::new(kind, &[&name.name.as_str()]))
            }
            Some(alias) => Ok(Some(alias.item.clone())),
        }
    }

    /// Whether an aggregate of this block stands in it: their slots come behind those of the tables.
    fn reads_aggregate(&self, expr: &Expr) -> bool {
        let width = self.width();
        expr.has_placeholder() || expr.referenced_columns().iter().any(|slot| *slot >= width)
    }

    /// A name that a subquery of the select list means, where it is no column: an item before it. 1247 for one that comes later.
    fn item_beside(&self, name: &ast::ColumnName) -> SqlResult<Option<Expr>> {
        if name.table.is_some() {
            return Ok(None);
        }
        let Some(at) = self.beside.names.first(&name.name) else {
            return Ok(None);
        };
        match self.beside.bound.get(at) {
            None => Err(illegal_reference(name, "forward reference in item list")),
            Some(expr) => Ok(Some(expr.clone())),
        }
    }
}

/// 1247
fn illegal_reference(name: &ast::ColumnName, why: &str) -> SqlError {
    SqlError::new(ErrorKind::IllegalReference, &[&name.name.as_str(), &why])
}

impl Scope for QueryScope<'_, '_, '_> {
    fn full_text(&mut self, search: &ast::MatchAgainst, against: Expr) -> SqlResult<Expr> {
        self.search_of(search, against)
    }

    fn keeps_operations(&self) -> bool {
        self.has_literal_keys && !self.inside_aggregate
    }

    fn resolve(&mut self, name: &ast::ColumnName) -> SqlResult<Resolved> {
        if self.prefers_aliases && !self.inside_aggregate {
            if name.table.is_none()
                && self.clause == Clause::Having
                && let Some(slot) = self.group_column(name)
            {
                return Ok(Resolved::Expr(Box::new(self.column(slot)?)));
            }
            if let Some(expr) = self.alias(name)? {
                return Ok(Resolved::Expr(Box::new(expr)));
            }
        }
        let found = self.find(name)?;
        let is_hidden = found.is_some_and(|slot| self.is_hidden_from_having(slot));
        let found = found.filter(|_| !(is_hidden && self.is_known_outside(name)));
        if let Some(slot) = found {
            let expr = self.column(slot)?;
            if let Some(noted) = &mut self.noted {
                noted.extend(expr.referenced_columns());
            }
            self.read_below.iter_mut().for_each(|read| read.push(expr.clone()));
            return Ok(Resolved::Expr(Box::new(expr)));
        }
        if let Some(expr) = self.alias(name)? {
            return Ok(Resolved::Expr(Box::new(expr)));
        }
        let clause = self.clause;
        let Some(outer) = self.outer.as_mut() else {
            let is_named = |table: &ScopeTable| name.table.as_ref().is_some_and(|of| table.is_named(None, of));
            let names_no_table = match clause {
                Clause::TableFunction => !self.tables.iter().any(is_named),
                _ => self.tables.is_empty() && self.noted.is_none(),
            };
            return Err(match names_no_table {
                true => unknown_without_tables(name, clause),
                false => unknown_column(name, clause),
            });
        };
        self.aggregate_reads_item |= self.inside_aggregate && outer.is_item_beside(name);
        let resolved = match outer.resolve_from_below(name) {
            Err(error) if matches!(error.kind(), ErrorKind::BadField | ErrorKind::UnknownTable) => {
                return Err(unknown_column(name, clause));
            }
            resolved => resolved?,
        };
        let sees_groups = clause == Clause::Having && matches!(outer.clause(), Clause::Having | Clause::FieldList);
        if let Resolved::Expr(expr) = &resolved {
            if expr.has_window() {
                let kind = ErrorKind::WindowInvalidUseOfAlias;
                return Err(SqlError::new(kind, &[&name.name.as_str()]));
            }
            if !sees_groups && reads_group(expr) {
                return Err(illegal_reference(name, "reference to group function"));
            }
        }
        self.correlated = true;
        Ok(match resolved {
            Resolved::Column { slot, name, ty } => Resolved::Outer {
                depth: 1,
                slot,
                name,
                ty,
            },
            Resolved::Outer { depth, slot, name, ty } => Resolved::Outer {
                depth: depth + 1,
                slot,
                name,
                ty,
            },
            Resolved::Expr(expr) => match expr.kind {
                ExprKind::Column(column) => Resolved::Outer {
                    depth: 1,
                    slot: column.slot,
                    name: column.name,
                    ty: expr.ty,
                },
                ExprKind::Outer { depth, column } => Resolved::Outer {
                    depth: depth + 1,
                    slot: column.slot,
                    name: column.name,
                    ty: expr.ty,
                },
                ExprKind::Literal(_) => Resolved::Expr(expr),
                _ if !expr.has_subquery() && !expr.has_placeholder() => {
                    Resolved::Expr(Box::new(expr.seen_from_below()))
                }
                _ => return Err(SqlError::not_supported("an outer alias of an expression in a subquery")),
            },
        })
    }

    fn resolve_from_below(&mut self, name: &ast::ColumnName) -> SqlResult<Resolved> {
        if self.find(name)?.is_none()
            && let Some(expr) = self.item_beside(name)?
        {
            return Ok(Resolved::Expr(Box::new(expr)));
        }
        // The aggregate is the other query's.
        let inside = std::mem::take(&mut self.inside_aggregate);
        let resolved = self.resolve(name);
        self.inside_aggregate = inside;
        resolved
    }

    fn is_item_beside(&self, name: &ast::ColumnName) -> bool {
        match self.find(name) {
            Ok(None) if self.names_item_beside(name) => true,
            Ok(None) => self.outer.as_ref().is_some_and(|outer| outer.is_item_beside(name)),
            _ => false,
        }
    }

    fn begin_aggregate(&mut self) {
        self.inside_aggregate = true;
        self.aggregate_reads_item = false;
    }

    fn end_aggregate(&mut self) {
        self.inside_aggregate = false;
    }

    fn subquery(&mut self, query: &ast::Query) -> SqlResult<Arc<dyn Subquery>> {
        let (planner, common) = (self.planner, self.common.clone());
        let outer = self.read_below.replace(Vec::new());
        let planned = super::plan_subquery(planner, query, &common, self);
        let read = std::mem::replace(&mut self.read_below, outer).unwrap_or_default();
        Ok(Arc::new(planned?.reading(read)))
    }

    fn stored_function(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn Subquery>>> {
        self.planner.stored_function(call)
    }

    fn default_of(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        let slot = self.find(name)?.ok_or_else(|| unknown_column(name, self.clause))?;
        let (table, at) = self.position(slot);
        self.check_read(table, at)?;
        match &self.tables[table].source {
            TableSource::Base { table, .. } => default_of_column(&table.def.columns[at]),
            _ => Err(SqlError::new(ErrorKind::NoDefaultForField, &[&name.name.as_str()])),
        }
    }

    fn aggregate(&mut self, call: AggregateCall) -> SqlResult<Expr> {
        match self.aggregate_around(&call)? {
            Some(expr) => Ok(expr),
            None => self.aggregate_here(call),
        }
    }

    fn aggregate_from_below(&mut self, levels: usize, depth: usize, call: &AggregateCall) -> SqlResult<Option<Expr>> {
        self.take_aggregate(levels, depth, call)
    }

    fn window(&mut self, call: &ast::Expr) -> SqlResult<Expr> {
        super::window::bind_window(self, call)
    }

    fn clause(&self) -> Clause {
        self.clause
    }

    fn depth(&self) -> usize {
        1 + self.outer.as_ref().map_or(0, |outer| outer.depth())
    }

    fn note_read_of(&mut self, depth: usize) {
        if self.depth() > depth
            && let Some(outer) = &mut self.outer
        {
            self.correlated = true;
            outer.note_read_of(depth);
        }
    }
}

/// The output columns of a set operation, for its ORDER BY.
pub struct OutputScope<'a, 'p> {
    planner: &'a Planner<'p>,
    pub(super) shape: &'a ResultShape,
    names: Names,
    offset: usize,
}

impl<'a, 'p> OutputScope<'a, 'p> {
    pub fn new(planner: &'a Planner<'p>, shape: &'a ResultShape, offset: usize) -> OutputScope<'a, 'p> {
        OutputScope {
            planner,
            shape,
            names: shape.columns.iter().map(|column| column.name.as_str()).collect(),
            offset,
        }
    }
}

impl Scope for OutputScope<'_, '_> {
    fn stored_function(&mut self, call: &ast::FunctionCall) -> SqlResult<Option<Arc<dyn Subquery>>> {
        self.planner.stored_function(call)
    }

    fn resolve(&mut self, name: &ast::ColumnName) -> SqlResult<Resolved> {
        let at = self.names.first(&name.name);
        let at = at
            .filter(|_| name.table.is_none())
            .ok_or_else(|| unknown_column(name, Clause::OrderBy))?;
        let column = &self.shape.columns[at];
        Ok(Resolved::Column {
            slot: self.offset + at,
            name: column.name.as_str().into(),
            ty: column.ty.clone(),
        })
    }

    fn clause(&self) -> Clause {
        Clause::OrderBy
    }
}
