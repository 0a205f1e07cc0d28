//! A plan as blocks and steps: everything that a format of EXPLAIN may tell, and nothing of how it is written.
//!
//! Blocks are numbered as MySQL numbers them, in the order in which the statement's text opens them: a block before what is
//! in it, the select list before FROM, FROM before the conditions.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parser::ast::SetOp;

use super::access::{KeyUse, index_name, key_use, shown};
use crate::expr::sort::SortKey;
use crate::expr::{Expr, ExprKind};
use crate::plan::access::{AccessKind, AccessPath, passing_share};
use crate::plan::changes::{InsertPlan, InsertValue, OnDuplicate, Source, Target};
use crate::plan::query::{
    BaseAccess, Body, DerivedAccess, DerivedSource, Join, Lookup, MultiTableChange, SelectPlan, SetPlan, SubqueryPlan,
};
use crate::plan::straight::{Output, Total};
use crate::plan::{Plan, QueryPlan, StraightPlan};
use crate::table::Table;

/// A query: one block, or several that a set operation combines.
pub enum Unit {
    Block(Box<Block>),
    Set(Box<SetUnit>),
}

/// `term op term …`
pub struct SetUnit {
    /// Each term with the operation before it.
    pub terms: Vec<(Joined, Unit)>,
    /// Equal rows are one, or rows of one term are looked for in another: more than one list after the other.
    pub compares: bool,
    /// The second term reads what the first and itself have given.
    pub recursive: bool,
    pub sort: Option<String>,
    pub limit: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Joined {
    First,
    By(SetOp),
}

/// One SELECT, or a change of rows.
pub struct Block {
    pub id: u64,
    pub role: Role,
    /// It reads a row of an enclosing block.
    pub dependent: bool,
    /// The rows that it changes.
    pub change: Option<Change>,
    /// Why there is nothing to read.
    pub message: Option<&'static str>,
    pub steps: Option<Step>,
    pub grouping: Option<GroupStep>,
    pub having: Option<String>,
    pub windows: Vec<&'static str>,
    pub distinct: bool,
    pub sort: Option<String>,
    pub limit: Option<String>,
    pub subqueries: Vec<(Place, Unit)>,
}

/// What a block is to the one around it: MySQL's select_type without what is said of its dependence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Statement,
    /// The first of several, or one with others in it.
    Primary,
    Term(SetOp),
    Subquery,
    Derived,
}

/// Where a subquery stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Projection,
    Condition,
}

pub struct Change {
    /// `INSERT`, `REPLACE`, `UPDATE`, `DELETE`
    pub verb: &'static str,
    /// The tables whose rows change, by their aliases.
    pub tables: Vec<String>,
    /// The rows are complete before the first is written.
    pub buffered: bool,
}

pub struct GroupStep {
    /// Groups are kept by their keys; without keys there is one.
    pub keyed: bool,
    pub aggregates: String,
}

/// Each has the place of its join in the plan, under which runs are measured; 0 where there is none.
pub enum Step {
    Table(Box<TableStep>),
    /// For every row of the first the rows of the second, or NULLs where it is an outer join.
    Join {
        place: usize,
        outer_join: bool,
        sides: Box<[Step; 2]>,
        on: Option<String>,
    },
    Filter {
        place: usize,
        condition: String,
        step: Box<Step>,
    },
}

pub struct TableStep {
    pub place: usize,
    /// The alias, or `<derived2>`.
    pub name: String,
    pub alias: String,
    pub kind: AccessKind,
    pub possible: Vec<String>,
    pub key: Option<KeyUse>,
    /// Rows read each time, and the share of them that passes the condition.
    pub rows: f64,
    pub share: f64,
    pub cost: f64,
    pub condition: Option<String>,
    /// Read once into a hash table; this is what its rows are looked up by.
    pub hash: Option<String>,
    /// The rows of the round before, in a recursive common table.
    pub recursive: bool,
    /// What a derived table is made of, where it is first read, and the number of its first block.
    pub derived: Option<(u64, Option<Unit>)>,
}

impl Unit {
    pub fn first_block(&self) -> &Block {
        match self {
            Unit::Block(block) => block,
            Unit::Set(set) => set.terms[0].1.first_block(),
        }
    }
}

impl Block {
    /// MySQL's select_type.
    pub fn select_type(&self) -> String {
        let kind = match self.role {
            Role::Statement if self.is_alone() => "SIMPLE",
            Role::Statement | Role::Primary => "PRIMARY",
            Role::Term(op) => set_word(op),
            Role::Subquery => "SUBQUERY",
            Role::Derived => "DERIVED",
        };
        match self.dependent {
            true => format!("DEPENDENT {kind}"),
            false => kind.to_owned(),
        }
    }

    fn is_alone(&self) -> bool {
        let mut derived = false;
        if let Some(steps) = &self.steps {
            steps.each_table(&mut |table| derived |= table.derived.is_some());
        }
        self.subqueries.is_empty() && !derived
    }
}

pub fn set_word(op: SetOp) -> &'static str {
    match op {
        SetOp::Union => "UNION",
        SetOp::Intersect => "INTERSECT",
        SetOp::Except => "EXCEPT",
    }
}

impl Step {
    /// The tables in the order in which they are read.
    pub fn each_table<'s>(&'s self, visit: &mut dyn FnMut(&'s TableStep)) {
        match self {
            Step::Table(table) => visit(table),
            Step::Join { sides, .. } => sides.iter().for_each(|side| side.each_table(visit)),
            Step::Filter { step, .. } => step.each_table(visit),
        }
    }
}

/// A statement's plan as EXPLAIN tells it.
pub fn outline(plan: &Plan) -> Unit {
    let mut outliner = Outliner::default();
    match plan {
        Plan::Straight(plan) => Unit::Block(Box::new(outliner.straight(plan))),
        Plan::Query(plan) => outliner.statement(plan),
        Plan::Insert(plan) => outliner.insert(plan),
        Plan::Load(plan) => outliner.insert(&plan.insert),
        Plan::Update(plan) => {
            let values = plan.assignments.iter().map(|assignment| &assignment.value);
            outliner.change("UPDATE", &plan.target, &values.collect::<Vec<_>>())
        }
        Plan::Delete(plan) => outliner.change("DELETE", &plan.target, &[]),
        Plan::Multi(plan) => outliner.multi(plan),
    }
}

/// Numbers blocks, and knows what is told already.
#[derive(Default)]
struct Outliner {
    last_id: u64,
    /// Shared common tables, by where their plans are, with the number of their first block.
    told: HashMap<usize, u64>,
    /// Subqueries whose expressions stand in several places of the plan.
    seen: HashSet<usize>,
}

impl Outliner {
    fn block(&mut self, role: Role, dependent: bool) -> Block {
        self.last_id += 1;
        Block {
            id: self.last_id,
            role,
            dependent,
            change: None,
            message: None,
            steps: None,
            grouping: None,
            having: None,
            windows: Vec::new(),
            distinct: false,
            sort: None,
            limit: None,
            subqueries: Vec::new(),
        }
    }

    fn straight(&mut self, plan: &StraightPlan) -> Block {
        let mut block = self.block(Role::Statement, false);
        let constant = |condition: &Expr| is_never(condition);
        if plan.path.residual.iter().any(constant) {
            block.message = Some("Impossible WHERE");
            return block;
        }
        block.steps = Some(Step::Table(Box::new(base_step(
            &plan.path,
            &plan.alias,
            plan.path.kind(),
        ))));
        if let Output::Totals(totals) = &plan.output {
            let columns = &plan.path.table.def.columns;
            let names: Vec<String> = totals
                .iter()
                .map(|total| match total {
                    Total::Rows => "count(0)".to_owned(),
                    Total::NotNull(column) => format!("count({}.{})", plan.alias, columns[*column].name),
                    Total::Sum(column) => format!("sum({}.{})", plan.alias, columns[*column].name),
                })
                .collect();
            block.grouping = Some(GroupStep {
                keyed: false,
                aggregates: names.join(", "),
            });
        }
        let columns = &plan.path.table.def.columns;
        let order: Vec<String> = plan
            .sort
            .iter()
            .map(|(column, descending)| direction(format!("{}.{}", plan.alias, columns[*column].name), *descending))
            .collect();
        block.sort = (!order.is_empty()).then(|| order.join(", "));
        block.distinct = plan.distinct;
        block.limit = limit(plan.limit.as_ref(), plan.offset.as_ref());
        block
    }

    /// The query of a statement: it is PRIMARY only where there is something else.
    fn statement(&mut self, plan: &QueryPlan) -> Unit {
        self.query(plan, Role::Statement, false)
    }

    fn query(&mut self, plan: &QueryPlan, role: Role, dependent: bool) -> Unit {
        let order = order_text(&plan.order);
        let limit = limit(plan.limit.as_ref(), plan.offset.as_ref());
        match &plan.body {
            Body::Select(select) => {
                let mut block = self.select(select, role, dependent);
                block.limit = limit;
                Unit::Block(Box::new(block))
            }
            Body::Values(rows) => {
                let mut block = self.block(role, dependent);
                block.message = Some("No tables used");
                rows.iter()
                    .flatten()
                    .for_each(|value| self.subqueries(value, Place::Projection, &mut block));
                (block.sort, block.limit) = (order, limit);
                Unit::Block(Box::new(block))
            }
            Body::Set(set) => Unit::Set(Box::new(SetUnit {
                sort: order,
                limit,
                ..self.set(set, role, dependent)
            })),
            Body::Nested(inner) => {
                let mut unit = self.query(inner, role, dependent);
                // Its own order and limit stay where the outer ones do not replace them.
                let (own_sort, own_limit) = match &mut unit {
                    Unit::Block(block) => (&mut block.sort, &mut block.limit),
                    Unit::Set(set) => (&mut set.sort, &mut set.limit),
                };
                *own_sort = order.or(own_sort.take());
                *own_limit = limit.or(own_limit.take());
                unit
            }
        }
    }

    fn set(&mut self, set: &SetPlan, role: Role, dependent: bool) -> SetUnit {
        let first_role = match role {
            Role::Statement => Role::Primary,
            role => role,
        };
        let mut terms = vec![(Joined::First, self.query(&set.first, first_role, dependent))];
        for (op, _, term) in &set.rest {
            let unit = self.query(term, Role::Term(*op), dependent || term.correlated);
            terms.push((Joined::By(*op), unit));
        }
        SetUnit {
            terms,
            compares: set.rest.iter().any(|(op, all, _)| !all || *op != SetOp::Union),
            recursive: false,
            sort: None,
            limit: None,
        }
    }

    fn select(&mut self, plan: &SelectPlan, role: Role, dependent: bool) -> Block {
        let mut block = self.block(role, dependent);
        for item in &plan.items {
            self.subqueries(item, Place::Projection, &mut block);
        }
        if plan.constant_filter.iter().any(is_never) {
            block.message = Some("Impossible WHERE");
            return block;
        }
        match &plan.from {
            None => block.message = Some("No tables used"),
            Some(join) => {
                let (step, filter) = match plan.planned_lookup() {
                    None => (self.from(join, &mut block), &plan.filter),
                    Some(lookup) => (self.looked_up(lookup, &mut block), &lookup.conditions),
                };
                let conditions: Vec<&Expr> = plan.constant_filter.iter().chain(filter).collect();
                for condition in &conditions {
                    self.subqueries(condition, Place::Condition, &mut block);
                }
                block.steps = Some(filtered(0, step, condition_text(conditions.into_iter())));
            }
        }
        if let Some(grouping) = &plan.grouping {
            let calls = grouping.aggregates.iter().map(|call| {
                let args: Vec<_> = call.args.iter().map(shown).collect();
                let distinct = if call.distinct { "distinct " } else { "" };
                format!("{}({distinct}{})", call.function.name(), args.join(","))
            });
            block.grouping = Some(GroupStep {
                keyed: !grouping.keys.is_empty(),
                aggregates: calls.collect::<Vec<_>>().join(", ").replace("count()", "count(0)"),
            });
            let arguments = grouping.aggregates.iter().flat_map(|call| &call.args);
            for expr in grouping.keys.iter().chain(arguments) {
                self.subqueries(expr, Place::Projection, &mut block);
            }
        }
        if let Some(having) = &plan.having {
            self.subqueries(having, Place::Condition, &mut block);
            block.having = Some(shown(having));
        }
        for key in &plan.order {
            self.subqueries(&key.expr, Place::Projection, &mut block);
        }
        block.windows = plan.windows.iter().map(|window| window.kind.name()).collect();
        block.distinct = plan.is_distinct();
        block.sort = order_text(&plan.order);
        block
    }

    /// The join that the rows of a correlated query are looked up in.
    fn looked_up(&mut self, lookup: &Lookup, block: &mut Block) -> Step {
        let ties = hash_text(&lookup.key);
        match self.from(&lookup.join, block) {
            Step::Table(table) if table.hash.is_none() => Step::Table(Box::new(TableStep {
                hash: Some(ties),
                ..*table
            })),
            step => filtered(0, step, Some(ties)),
        }
    }

    /// The joins of a FROM clause; derived tables are numbered in the order of the text.
    fn from(&mut self, join: &Join, block: &mut Block) -> Step {
        let mut derived = Vec::new();
        each_derived(join, &mut |access| derived.push(access));
        derived.sort_by_key(|access| access.offset);
        let mut made = HashMap::new();
        for access in derived {
            if let Some(source) = self.derived(access) {
                made.insert(std::ptr::from_ref(access) as usize, source);
            }
        }
        self.step(join, &mut made, block)
    }

    /// The number of the query behind a derived table, and the query where it was not told before.
    fn derived(&mut self, access: &DerivedAccess) -> Option<(u64, Option<Unit>)> {
        let place = match &access.source {
            DerivedSource::Query(plan) => Arc::as_ptr(plan) as usize,
            DerivedSource::Recursive(plan) => Arc::as_ptr(plan) as usize,
            DerivedSource::Working(_) | DerivedSource::Virtual(_) | DerivedSource::Json(_) => return None,
        };
        if let Some(id) = self.told.get(&place) {
            return Some((*id, None));
        }
        let id = self.last_id + 1;
        self.told.insert(place, id);
        let unit = match &access.source {
            DerivedSource::Query(plan) => self.query(plan, Role::Derived, plan.correlated),
            DerivedSource::Recursive(plan) => {
                let seed = self.query(&plan.seed, Role::Derived, false);
                let step = self.query(&plan.step, Role::Term(SetOp::Union), false);
                Unit::Set(Box::new(SetUnit {
                    terms: vec![(Joined::First, seed), (Joined::By(SetOp::Union), step)],
                    compares: false,
                    recursive: true,
                    sort: None,
                    limit: None,
                }))
            }
            DerivedSource::Working(_) | DerivedSource::Virtual(_) | DerivedSource::Json(_) => return None,
        };
        Some((id, Some(unit)))
    }

    fn step(&mut self, join: &Join, made: &mut HashMap<usize, (u64, Option<Unit>)>, block: &mut Block) -> Step {
        let at = std::ptr::from_ref(join) as usize;
        match join {
            Join::Base(access) => {
                let path = &access.path;
                path.implied
                    .iter()
                    .chain(&path.residual)
                    .for_each(|condition| self.subqueries(condition, Place::Condition, block));
                Step::Table(Box::new(table_step(access, at)))
            }
            Join::Derived(access) => {
                for condition in &access.conditions {
                    self.subqueries(condition, Place::Condition, block);
                }
                let derived = made.remove(&(std::ptr::from_ref(&**access) as usize));
                Step::Table(Box::new(derived_step(access, at, derived)))
            }
            Join::Nested(sides) => {
                let sides = self.sides(sides, made, block);
                Step::Join {
                    place: at,
                    outer_join: false,
                    sides,
                    on: None,
                }
            }
            Join::Left { sides, on, .. } => {
                for condition in on {
                    self.subqueries(condition, Place::Condition, block);
                }
                let sides = self.sides(sides, made, block);
                Step::Join {
                    place: at,
                    outer_join: true,
                    sides,
                    on: condition_text(on.iter()),
                }
            }
            Join::Filter { join, conditions } => {
                let step = self.step(join, made, block);
                for condition in conditions {
                    self.subqueries(condition, Place::Condition, block);
                }
                filtered(at, step, condition_text(conditions.iter()))
            }
        }
    }

    fn sides(
        &mut self,
        sides: &[Join; 2],
        made: &mut HashMap<usize, (u64, Option<Unit>)>,
        block: &mut Block,
    ) -> Box<[Step; 2]> {
        Box::new([self.step(&sides[0], made, block), self.step(&sides[1], made, block)])
    }

    /// The subqueries of an expression, as children of the block.
    fn subqueries(&mut self, expr: &Expr, place: Place, block: &mut Block) {
        let mut found = Vec::new();
        expr.walk(&mut |part| {
            if let ExprKind::Subquery(node) = &part.kind
                && let Some(subquery) = node.query.as_any().downcast_ref::<SubqueryPlan>()
            {
                found.push(subquery);
            }
        });
        for subquery in found {
            if self.seen.insert(std::ptr::from_ref(subquery) as usize) {
                let plan = subquery.plan();
                let unit = self.query(plan, Role::Subquery, plan.correlated);
                block.subqueries.push((place, unit));
            }
        }
    }

    fn insert(&mut self, plan: &InsertPlan) -> Unit {
        let verb = match plan.on_duplicate {
            OnDuplicate::Replace => "REPLACE",
            OnDuplicate::Fail | OnDuplicate::Update(_) => "INSERT",
        };
        let (mut unit, buffered) = match &plan.source {
            Source::Values(rows) => {
                let mut block = self.block(Role::Statement, false);
                for value in rows.iter().flatten() {
                    if let InsertValue::Expr(expr) = value {
                        self.subqueries(expr, Place::Projection, &mut block);
                    }
                }
                (Unit::Block(Box::new(block)), false)
            }
            Source::Query(source) => (self.statement(&source.plan), source.reads_target),
        };
        let change = Change {
            verb,
            tables: vec![plan.table.def.name.clone()],
            buffered,
        };
        first_block_mut(&mut unit).change = Some(change);
        unit
    }

    fn change(&mut self, verb: &'static str, target: &Target, values: &[&Expr]) -> Unit {
        let mut block = self.block(Role::Statement, false);
        let path = &target.path;
        for value in values {
            self.subqueries(value, Place::Projection, &mut block);
        }
        for condition in path.implied.iter().chain(&path.residual) {
            self.subqueries(condition, Place::Condition, &mut block);
        }
        if path.residual.iter().any(is_never) {
            block.message = Some("Impossible WHERE");
        } else {
            block.steps = Some(Step::Table(Box::new(base_step(path, &target.alias, path.kind()))));
            block.sort = order_text(&target.order).filter(|_| !path.ordered);
            block.limit = limit(target.limit.as_ref(), None);
        }
        block.change = Some(Change {
            verb,
            tables: vec![target.alias.clone()],
            buffered: false,
        });
        Unit::Block(Box::new(block))
    }

    fn multi(&mut self, plan: &MultiTableChange) -> Unit {
        let mut block = self.block(Role::Statement, false);
        let step = self.from(&plan.join, &mut block);
        for condition in &plan.filter {
            self.subqueries(condition, Place::Condition, &mut block);
        }
        let values = plan
            .targets
            .iter()
            .flat_map(|target| target.assignments.iter().flatten());
        for assignment in values {
            self.subqueries(&assignment.value, Place::Projection, &mut block);
        }
        let mut tables = Vec::new();
        each_own_table(&plan.join, &mut |access| {
            if plan.targets.iter().any(|target| target.offset == access.offset) {
                tables.push(access.alias.clone());
            }
        });
        block.change = Some(Change {
            verb: if plan.is_delete() { "DELETE" } else { "UPDATE" },
            tables,
            // The join is read to its end before the first row changes.
            buffered: false,
        });
        block.steps = Some(filtered(0, step, condition_text(plan.filter.iter())));
        Unit::Block(Box::new(block))
    }
}

/// A condition that no row can pass.
fn is_never(condition: &Expr) -> bool {
    condition
        .as_literal()
        .is_some_and(|value| value.is_null() || matches!(value, types::Value::Int(0) | types::Value::UInt(0)))
}

fn first_block_mut(unit: &mut Unit) -> &mut Block {
    match unit {
        Unit::Block(block) => block,
        Unit::Set(set) => first_block_mut(&mut set.terms[0].1),
    }
}

/// Of the join itself, not of the queries in it.
fn each_own_table<'j>(join: &'j Join, visit: &mut dyn FnMut(&'j BaseAccess)) {
    match join {
        Join::Base(access) => visit(access),
        Join::Derived(_) => {}
        Join::Nested(sides) | Join::Left { sides, .. } => sides.iter().for_each(|side| each_own_table(side, visit)),
        Join::Filter { join, .. } => each_own_table(join, visit),
    }
}

fn each_derived<'j>(join: &'j Join, visit: &mut dyn FnMut(&'j DerivedAccess)) {
    match join {
        Join::Base(_) => {}
        Join::Derived(access) => visit(access),
        Join::Nested(sides) | Join::Left { sides, .. } => sides.iter().for_each(|side| each_derived(side, visit)),
        Join::Filter { join, .. } => each_derived(join, visit),
    }
}

fn filtered(place: usize, step: Step, condition: Option<String>) -> Step {
    match condition {
        None => step,
        Some(condition) => Step::Filter {
            place,
            condition,
            step: Box::new(step),
        },
    }
}

fn condition_text<'e>(conditions: impl Iterator<Item = &'e Expr>) -> Option<String> {
    let texts: Vec<String> = conditions.map(shown).collect();
    match texts.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(format!("({})", texts.join(" and "))),
    }
}

fn order_text(order: &[SortKey]) -> Option<String> {
    let keys: Vec<String> = order
        .iter()
        .map(|key| direction(shown(&key.expr), key.descending))
        .collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

fn direction(key: String, descending: bool) -> String {
    if descending { key + " DESC" } else { key }
}

/// `10 row(s)`, or `10/5 row(s)` behind an offset of 5.
fn limit(limit: Option<&Expr>, offset: Option<&Expr>) -> Option<String> {
    let limit = shown(limit?);
    Some(match offset {
        None => format!("{limit} row(s)"),
        Some(offset) => format!("{limit}/{} row(s)", shown(offset)),
    })
}

fn possible_keys(table: &Table, path: &AccessPath) -> Vec<String> {
    path.possible.iter().map(|index| index_name(table, *index)).collect()
}

fn reads_outer(path: &AccessPath) -> bool {
    let is_outer = |condition: &Expr| condition.any(&mut |part| matches!(part.kind, ExprKind::Outer { .. }));
    path.implied.iter().any(is_outer)
}

fn base_step(path: &AccessPath, alias: &str, kind: AccessKind) -> TableStep {
    // One row for each row of an enclosing query.
    let kind = match kind {
        AccessKind::Const if reads_outer(path) => AccessKind::EqRef,
        kind => kind,
    };
    TableStep {
        place: 0,
        name: alias.to_owned(),
        alias: alias.to_owned(),
        kind,
        possible: possible_keys(&path.table, path),
        key: key_use(path, kind),
        rows: path.estimated_rows,
        share: passing_share(&*path.residual),
        cost: path.cost,
        condition: condition_text(path.residual.iter()),
        hash: None,
        recursive: false,
        derived: None,
    }
}

fn table_step(access: &BaseAccess, place: usize) -> TableStep {
    TableStep {
        place,
        hash: access.hash.as_ref().map(hash_text),
        ..base_step(&access.path, &access.alias, access.kind())
    }
}

fn hash_text(hash: &crate::plan::query::HashKey) -> String {
    let pairs = hash.build.iter().zip(&hash.probe);
    let texts: Vec<String> = pairs
        .map(|(build, probe)| format!("({} = {})", shown(build), shown(probe)))
        .collect();
    texts.join(", ")
}

fn derived_step(access: &DerivedAccess, place: usize, derived: Option<(u64, Option<Unit>)>) -> TableStep {
    let rows = access.estimated_rows();
    TableStep {
        place,
        name: match &derived {
            Some((id, _)) => format!("<derived{id}>"),
            None => access.alias.clone(),
        },
        alias: access.alias.clone(),
        kind: AccessKind::All,
        possible: Vec::new(),
        key: None,
        rows,
        share: passing_share(&access.conditions),
        cost: rows,
        condition: condition_text(access.conditions.iter()),
        hash: access.hash.as_ref().map(hash_text),
        recursive: matches!(access.source, DerivedSource::Working(_)),
        derived,
    }
}
