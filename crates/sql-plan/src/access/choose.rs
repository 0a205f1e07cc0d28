//! The cheapest way to a table's rows.
//!
//! Costs are in units of one row read in index order. A secondary index that does not hold all needed columns pays for
//! finding each row; a descent into the index is paid per range. Row counts come from the index itself where an operand
//! is a literal (the store descends to both ends of the range), from the number of different keys for equalities, and
//! from fixed guesses where the value is not known yet.

use std::ops::Range;
use std::sync::Arc;

use governor::stepwise::Stepwise;
use sql_expr::{EvalContext, Expr};
use store::KeyRange;
use types::{IndexId, SqlResult};

use super::arrays::ArrayKeys;
use super::conditions::{ColumnCondition, ColumnTest, IsBound, column_condition, intersect};
use super::ranges::ranges_to_estimate;
use super::{AccessPath, RangeSpec, partition, passing_share};
use crate::table::Table;

/// Finding the row of a secondary index's entry, against reading the next row in order.
const ROW_LOOKUP: f64 = 1.5;
/// Descending from the root of an index.
const DESCENT: f64 = 2.0;
/// Reading an entry that holds all that is needed.
const ENTRY: f64 = 0.6;
/// The share of rows that a range with one unknown bound, and with two, lets through.
const HALF_OPEN_SHARE: f64 = 0.3;
const CLOSED_SHARE: f64 = 0.05;
/// No table counts as smaller when all of it would have to be read: plans are kept, and tables grow.
const SMALLEST_TABLE: f64 = 50.0;
/// Sorting costs about this much per row and doubling.
const SORT: f64 = 0.15;

/// An order that rows are wanted in: columns of the table and whether each is descending.
#[derive(Debug, Clone, Default)]
pub struct OrderWish {
    pub columns: Vec<(usize, bool)>,
    /// At most this many rows are wanted, so that an ordered read can stop early.
    pub limit: Option<u64>,
}

/// What to choose for.
pub struct Choice<'a> {
    pub table: &'a Arc<Table>,
    /// The slots of the table's columns in the row that conditions see.
    pub slots: Range<usize>,
    pub conditions: &'a [&'a Expr],
    /// The slots that have values when the table is read.
    pub bound: &'a IsBound<'a>,
    /// Positions of all columns that the statement looks at.
    pub needed: &'a [usize],
    pub order: &'a OrderWish,
    pub hints: &'a IndexHints,
    /// Those of the table's multi-valued indexes.
    pub arrays: &'a ArrayKeys,
    /// Evaluates constants, for estimates.
    pub ctx: &'a EvalContext<'a>,
}

/// Of sorting so many rows.
pub fn sort_cost(rows: f64) -> f64 {
    rows * rows.max(2.0).log2() * SORT
}

/// What index hints leave.
#[derive(Debug, Default)]
pub struct IndexHints {
    /// `USE INDEX`, `FORCE INDEX`
    pub only: Option<Vec<IndexId>>,
    /// `IGNORE INDEX`
    pub never: Vec<IndexId>,
    /// `FORCE INDEX`: all rows are read only where no condition leads into an index.
    pub forced: bool,
}

impl IndexHints {
    pub fn allow(&self, index: IndexId) -> bool {
        !self.never.contains(&index) && self.only.as_ref().is_none_or(|only| only.contains(&index))
    }
}

/// A path that does not have its conditions yet.
pub struct Chosen {
    path: AccessPath,
    /// For each condition, whether the ranges imply it.
    used: Vec<bool>,
}

impl Chosen {
    pub fn cost(&self) -> f64 {
        self.path.cost
    }

    pub fn estimated_rows(&self) -> f64 {
        self.path.estimated_rows
    }

    /// The share of the rows read that pass those of its conditions that the ranges do not imply.
    pub fn passing(&self, conditions: &[&Expr]) -> f64 {
        let checked = conditions.iter().zip(&self.used).filter(|(_, is_used)| !**is_used);
        passing_share(checked.map(|(condition, _)| *condition))
    }

    /// Whether its rows come in the wanted order.
    pub fn is_ordered(&self) -> bool {
        self.path.ordered
    }

    /// Whether it is one row.
    pub fn is_point(&self) -> bool {
        self.path.is_point()
    }

    /// Whether no condition leads to the rows.
    pub fn reads_all(&self) -> bool {
        matches!(self.path.spec, RangeSpec::All)
    }

    /// Gives the path its conditions: those that it was chosen for.
    pub fn with(self, conditions: Vec<Expr>) -> AccessPath {
        let Chosen { path, used } = self;
        debug_assert_eq!(conditions.len(), used.len());
        let mut used = used.into_iter();
        let (implied, residual) = partition(conditions, |_| used.next() == Some(true));
        AccessPath {
            implied: implied.into(),
            residual: residual.into(),
            ..path
        }
    }
}

/// Chooses the cheapest access path.
pub fn choose(choice: &Choice<'_>) -> SqlResult<Chosen> {
    let mut conditions = Vec::with_capacity(choice.conditions.len());
    for (position, condition) in choice.conditions.iter().enumerate() {
        governor::tick()?;
        match column_condition(condition, &choice.slots, choice.bound) {
            Some(known) => conditions.push((position, known)),
            None => {
                let known = choice
                    .arrays
                    .conditions(condition, &choice.slots, choice.bound, choice.ctx);
                conditions.extend(known.into_iter().map(|known| (position, known)));
            }
        }
    }
    let conditions = Stepwise::from(conditions);
    let rows = choice.table.rows.estimated_rows() as f64;
    let mut best = full_path(choice, IndexId::PRIMARY, true, rows);
    let mut possible = Vec::new();
    for index in &choice.table.def.indexes {
        let is_usable = index.is_ordered() || index.is_multi_valued();
        if !index.visible || !is_usable || !choice.hints.allow(index.id) {
            continue;
        }
        let Some(candidate) = index_path(choice, &conditions, index.id, rows)? else {
            continue;
        };
        if !matches!(candidate.path.spec, RangeSpec::All) {
            possible.push(index.id);
        }
        let is_better = match choice.hints.forced && candidate.reads_all() != best.reads_all() {
            true => best.reads_all(),
            false => candidate.cost() < best.cost(),
        };
        if is_better || !choice.hints.allow(best.path.index) {
            best = candidate;
        }
    }
    best.path.possible = possible;
    Ok(best)
}

/// The way by a search of the table: how many rows it finds is not known before.
pub fn found_by_words(choice: &Choice<'_>, index: IndexId, search: usize) -> Chosen {
    let mut path = path(choice, index, RangeSpec::Words(search), false);
    path.possible = vec![index];
    path.cost = DESCENT + 1.0 + ROW_LOOKUP;
    Chosen {
        path,
        used: vec![false; choice.conditions.len()],
    }
}

fn full_path(choice: &Choice<'_>, index: IndexId, covering: bool, rows: f64) -> Chosen {
    let mut chosen = Chosen {
        path: path(choice, index, RangeSpec::All, covering),
        used: vec![false; choice.conditions.len()],
    };
    chosen.path.estimated_rows = rows.max(1.0);
    price(choice, &mut chosen, 0);
    chosen
}

fn path(choice: &Choice<'_>, index: IndexId, spec: RangeSpec, covering: bool) -> AccessPath {
    AccessPath {
        table: choice.table.clone(),
        index,
        spec,
        implied: Stepwise::default(),
        residual: Stepwise::default(),
        backward: false,
        ordered: false,
        covering,
        possible: Vec::new(),
        estimated_rows: 1.0,
        cost: 0.0,
    }
}

/// The use of one index: as many equalities as its first columns have, then one range. `known`: what conditions say, each by its position
/// among all.
fn index_path(
    choice: &Choice<'_>,
    known: &[(usize, ColumnCondition)],
    index: IndexId,
    rows: f64,
) -> SqlResult<Option<Chosen>> {
    let columns = choice.table.key_columns(index);
    let mut used = vec![false; choice.conditions.len()];
    let mut equal = Vec::new();
    let mut then = None;
    for &column in &columns {
        let of_column = |wanted: &dyn Fn(&ColumnTest) -> bool| {
            let is_such =
                |(_, condition): &&(usize, ColumnCondition)| condition.column == column && wanted(&condition.test);
            known.iter().find(is_such)
        };
        let listed = of_column(&ColumnTest::is_single).or_else(|| of_column(&ColumnTest::is_list));
        if let Some((position, condition)) = listed {
            // Documents compare more strictly than elements.
            used[*position] = !matches!(condition.test, ColumnTest::Elements(_));
            equal.push(condition.test.clone());
            continue;
        }
        for (position, condition) in known {
            governor::tick()?;
            if condition.column != column {
                continue;
            }
            match then.take() {
                None => {
                    then = Some(condition.test.clone());
                    used[*position] = true;
                }
                // Only two ranges become one; lists may be long, and are not copied to find that out.
                Some(before @ ColumnTest::Range(_)) if matches!(condition.test, ColumnTest::Range(_)) => {
                    match intersect(before.clone(), condition.test.clone()) {
                        Some(both) => {
                            then = Some(both);
                            used[*position] = true;
                        }
                        None => then = Some(before),
                    }
                }
                Some(before) => then = Some(before),
            }
        }
        break;
    }
    let multi_valued = choice.table.index(index).filter(|index| index.is_multi_valued());
    // Rows without elements are in no entry: there is a way only to those that have some.
    let has_elements = equal.iter().any(|test| matches!(test, ColumnTest::Elements(_)));
    if multi_valued.is_some() && !has_elements {
        return Ok(None);
    }
    let covering = index == IndexId::PRIMARY || multi_valued.is_none() && is_covering(choice, index);
    if equal.is_empty() && then.is_none() {
        let wanted = covering || !choice.order.columns.is_empty();
        return Ok(wanted.then(|| full_path(choice, index, covering, rows)));
    }
    let singles = equal.iter().take_while(|test: &&ColumnTest| test.is_single()).count();
    let mut chosen = Chosen {
        path: path(choice, index, RangeSpec::Prefix { equal, then }, covering),
        used,
    };
    chosen.path.estimated_rows = estimate_rows(choice, &chosen.path, rows);
    price(choice, &mut chosen, singles);
    Ok(Some(chosen))
}

/// All needed columns can be read back from the entry: they are in the index, whole and not as collation weights.
fn is_covering(choice: &Choice<'_>, index: IndexId) -> bool {
    let Some(layout) = choice.table.key_layout(index) else {
        return false;
    };
    let columns = choice.table.key_columns(index);
    choice.needed.iter().all(|needed| {
        columns
            .iter()
            .position(|column| column == needed)
            .is_some_and(|part| layout.recoverable(part))
    })
}

/// Sets the order and the cost of a path whose first `singles` columns have one value each.
fn price(choice: &Choice<'_>, chosen: &mut Chosen, singles: usize) {
    let Chosen { path, used } = chosen;
    let order = index_order(choice, path.index, singles);
    path.ordered = order.is_some();
    path.backward = order == Some(true);
    let ranges = match &path.spec {
        RangeSpec::All => 1.0,
        RangeSpec::Prefix { equal, .. } => equal.iter().map(|test| test.alternatives() as f64).product(),
        RangeSpec::Words(_) => 1.0,
    };
    let mut rows = match path.spec {
        RangeSpec::All => path.estimated_rows.max(SMALLEST_TABLE),
        RangeSpec::Prefix { .. } | RangeSpec::Words(_) => path.estimated_rows,
    };
    if let (Some(limit), true, true) = (choice.order.limit, path.ordered, !used.contains(&false)) {
        rows = rows.min(limit as f64);
    }
    let per_row = match path.covering {
        true if path.index == IndexId::PRIMARY => 1.0,
        true => ENTRY,
        false => 1.0 + ROW_LOOKUP,
    };
    path.cost = ranges * DESCENT + rows * per_row;
    if !choice.order.columns.is_empty() && !path.ordered {
        path.cost += sort_cost(rows);
    }
}

/// Whether reading the index gives the wished order: `Some(true)` when read backwards.
fn index_order(choice: &Choice<'_>, index: IndexId, singles: usize) -> Option<bool> {
    let wish = &choice.order.columns;
    if wish.is_empty() {
        return None;
    }
    // Of a multi-valued one, entries are in order and rows are not.
    let definition = choice.table.index(index).filter(|index| index.is_ordered())?;
    let parts = &definition.parts;
    // A secondary index goes on with the primary key.
    let primary = choice.table.def.primary().filter(|_| index != IndexId::PRIMARY);
    let tail = primary.map(|primary| primary.parts.as_slice()).unwrap_or_default();
    let fixed: Vec<usize> = parts[..singles].iter().map(|part| part.column).collect();
    let mut available = parts[singles..]
        .iter()
        .chain(tail)
        .filter(|part| !fixed.contains(&part.column));
    let mut backward = None;
    for (column, descending) in wish.iter().filter(|(column, _)| !fixed.contains(column)) {
        let part = available.next()?;
        if part.column != *column || part.prefix.is_some() {
            return None;
        }
        let reversed = part.descending != *descending;
        if *backward.get_or_insert(reversed) != reversed {
            return None;
        }
    }
    Some(backward.unwrap_or(false))
}

fn estimate_rows(choice: &Choice<'_>, path: &AccessPath, rows: f64) -> f64 {
    if path.is_point() {
        return 1.0;
    }
    let RangeSpec::Prefix { equal, then } = &path.spec else {
        return rows;
    };
    let mut operands = equal.iter().chain(then).flat_map(ColumnTest::operands);
    if operands.all(|operand| operand.as_literal().is_some())
        && let Ok(keys) = ranges_to_estimate(path, choice.ctx)
    {
        // Descending into more ranges than this would cost more than a better guess can save.
        const DIVES: usize = 200;
        let dived = keys
            .ranges
            .iter()
            .take(DIVES)
            .map(|range| choice.table.rows.estimated_entries(path.index, range) as f64);
        let found: f64 = dived.sum();
        let scale = keys.ranges.len() as f64 / keys.ranges.len().clamp(1, DIVES) as f64;
        return (found * scale).max(0.1);
    }
    let distinct = choice.table.rows.estimated_distinct(path.index);
    let unique = choice.table.is_unique(path.index) && equal.len() == choice.table.key_column_count(path.index);
    let lists: f64 = equal.iter().map(|test| test.alternatives() as f64).product();
    let entries = match path.is_multi_valued() {
        true => choice.table.rows.estimated_entries(path.index, &KeyRange::all()) as f64,
        false => rows,
    };
    let mut estimate = match equal.len() {
        0 => rows,
        _ if unique => lists,
        columns => {
            let different = distinct.get(columns - 1).copied().unwrap_or(1).max(1) as f64;
            (entries / different).max(0.1) * lists
        }
    };
    estimate *= match then {
        None => 1.0,
        Some(ColumnTest::Range(interval)) if interval.lower.is_some() && interval.upper.is_some() => CLOSED_SHARE,
        Some(ColumnTest::Range(_)) => HALF_OPEN_SHARE,
        Some(ColumnTest::Intervals(intervals)) => (CLOSED_SHARE * intervals.len() as f64).min(1.0),
        Some(_) => CLOSED_SHARE,
    };
    estimate.clamp(0.1, rows.max(1.0))
}
