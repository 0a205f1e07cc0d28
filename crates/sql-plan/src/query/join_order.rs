//! In which order tables are joined: greedily, and where there are few of them from each that may come first.
//!
//! Each step takes the table that is best read next, by what it costs to read it for the rows so far. Which table is best read first is not said
//! by what it costs alone: it decides which indexes the others are read by. So the whole way is gone in estimates from each start,
//! and the cheapest way says where it begins.

use std::ops::Range;

use sql_expr::Expr;
use types::SqlResult;

use super::from::FromTree;
use super::join::{DERIVED_ROWS, JoinPlanner, hashable_sides, hashed_rows};
use super::scope::TableSource;
use crate::access::{passing_share, sort_cost};

/// The whole way is looked at for so many tables at most: for each start, each step and each table left a path is chosen.
const LOOKED_AHEAD: usize = 7;

/// Reading a row and hashing it: more than finding one by a key, for the hash table takes memory, and is made before the first row comes.
const HASHED: f64 = 4.0;

/// How far a way has come.
pub(super) struct Way<'w> {
    /// The conditions that are not checked yet.
    pub pending: &'w [Expr],
    /// The tables that have been read.
    pub bound: &'w [usize],
    /// The rows of them.
    pub rows: f64,
    /// Whether nothing of this join has been read.
    pub is_start: bool,
}

/// A table that is read next.
#[derive(Clone, Copy)]
struct Step {
    /// What reading it costs, and its rows.
    score: f64,
    /// The rows then.
    rows: f64,
    /// One row, whatever the others are.
    is_point: bool,
    /// Read first, it gives the order that the query asks for.
    is_ordered: bool,
}

impl JoinPlanner<'_, '_, '_, '_> {
    /// The part that is read next.
    pub(super) fn next_part(&self, parts: &[FromTree], way: &Way<'_>) -> SqlResult<usize> {
        let all: Vec<usize> = (0..parts.len()).collect();
        let steps = self.steps(parts, &all, way)?;
        let best = cheapest(&steps);
        let are_tables = || parts.iter().all(|part| matches!(part, FromTree::Table(_)));
        let is_clear = |(at, step): (usize, Step)| (step.is_point || steps.len() == 1).then_some(at);
        match best {
            None => Ok(0),
            Some(best) if way.is_start && (2..=LOOKED_AHEAD).contains(&parts.len()) && are_tables() => {
                match is_clear(best) {
                    Some(at) => Ok(at),
                    None => self.cheapest_start(parts, way, &steps),
                }
            }
            Some((at, _)) => Ok(at),
        }
    }

    /// Where the cheapest of the ways begins that take what is cheapest at each step.
    fn cheapest_start(&self, parts: &[FromTree], way: &Way<'_>, starts: &[(usize, Step)]) -> SqlResult<usize> {
        let mut best = (0, f64::INFINITY);
        for (start, first) in starts {
            let (mut score, mut rows) = (first.score, first.rows);
            let mut bound = way.bound.to_vec();
            bound.extend(parts[*start].tables());
            let mut left: Vec<usize> = (0..parts.len()).filter(|at| at != start).collect();
            while !left.is_empty() && (score < best.1 || first.is_ordered) {
                governor::tick()?;
                let further = Way {
                    bound: &bound,
                    rows,
                    is_start: false,
                    ..*way
                };
                let steps = self.steps(parts, &left, &further)?;
                let Some((next, step)) = cheapest(&steps) else { break };
                score += step.score;
                rows = step.rows;
                bound.extend(parts[next].tables());
                left.retain(|at| *at != next);
            }
            let score = self.with_order(score, rows, first.is_ordered);
            if score < best.1 {
                best = (*start, score);
            }
        }
        Ok(best.0)
    }

    /// What a way costs with the sort behind it; where none is needed, it ends at the LIMIT.
    fn with_order(&self, score: f64, rows: f64, is_ordered: bool) -> f64 {
        match (self.order.columns.is_empty(), is_ordered, self.order.limit) {
            (true, ..) | (false, true, None) => score,
            (false, true, Some(limit)) => score * (limit as f64 / rows).min(1.0),
            (false, false, _) => score + sort_cost(rows),
        }
    }

    /// Those of the parts `left` that may be read next, and are wished to be: a wish that cannot be fulfilled counts for nothing.
    fn steps(&self, parts: &[FromTree], left: &[usize], way: &Way<'_>) -> SqlResult<Vec<(usize, Step)>> {
        let may_follow = |at: &usize| self.may_follow(&parts[*at].tables(), way.bound);
        let is_wished = |at: &usize| self.is_wished(&parts[*at].tables(), way.bound);
        let mut possible: Vec<usize> = left.iter().copied().filter(may_follow).collect();
        if possible.iter().any(is_wished) {
            possible.retain(is_wished);
        }
        let step = |at| Ok((at, self.step(at, &parts[at], way)?));
        possible.into_iter().map(step).collect()
    }

    /// Few rows, or many rows cheaply.
    fn step(&self, at: usize, part: &FromTree, way: &Way<'_>) -> SqlResult<Step> {
        let (pending, bound, outer_rows) = (way.pending, way.bound, way.rows);
        let FromTree::Table(table) = part else {
            return Ok(Step {
                score: 1e6 * outer_rows + at as f64,
                rows: outer_rows,
                is_point: false,
                is_ordered: false,
            });
        };
        let access = self.access(*table, pending, bound)?;
        let (rows, cost, reads_all, share) = match &access {
            Some((chosen, share)) => (chosen.estimated_rows(), chosen.cost(), chosen.reads_all(), *share),
            None => {
                let rows = match &self.scope.tables[*table].source {
                    TableSource::Derived(query) => query.rows,
                    _ => DERIVED_ROWS,
                };
                (rows, rows, true, 1.0)
            }
        };
        let passing = rows * share;
        let (score, rows) = match () {
            () if way.is_start => (cost + 2.0 * rows, passing),
            // Read and hashed once, and looked up for each row.
            () if reads_all && self.may_hash(*table, pending, bound) => {
                let passing = rows * self.share_of_own(*table, pending);
                let found = hashed_rows(outer_rows, passing, rows);
                (HASHED * rows + outer_rows + 2.0 * found, found)
            }
            () if self.is_tied(&[*table], pending, bound) => (outer_rows * (cost + 2.0 * rows), outer_rows * passing),
            // A table that no condition ties to those read so far multiplies their rows: leave it for later.
            () => (outer_rows * (cost + 1000.0 * rows), outer_rows * passing),
        };
        Ok(Step {
            score,
            rows: rows.max(0.5),
            is_point: access.as_ref().is_some_and(|(chosen, _)| chosen.is_point()),
            is_ordered: way.is_start && access.is_some_and(|(chosen, _)| chosen.is_ordered()),
        })
    }

    /// Whether all that LATERAL tables among these read comes before them.
    fn may_follow(&self, tables: &[usize], bound: &[usize]) -> bool {
        let mut read = tables.iter().flat_map(|table| &self.scope.tables[*table].follows);
        read.all(|table| bound.contains(table) || tables.contains(table))
    }

    /// Whether hints would have the tables read next.
    fn is_wished(&self, tables: &[usize], bound: &[usize]) -> bool {
        let mut before = tables.iter().filter_map(|table| self.before.get(*table)).flatten();
        before.all(|table| bound.contains(table) || tables.contains(table))
    }

    fn is_tied(&self, tables: &[usize], pending: &[Expr], bound: &[usize]) -> bool {
        let (own, others) = (self.slots_of(tables), self.slots_of(bound));
        let within = |slots: &[Range<usize>], slot: usize| slots.iter().any(|range| range.contains(&slot));
        pending.iter().any(|condition| {
            let columns = condition.referenced_columns();
            columns.iter().any(|slot| within(&own, *slot)) && columns.iter().any(|slot| within(&others, *slot))
        })
    }

    /// Whether an equality ties the table to those read so far.
    fn may_hash(&self, table: usize, pending: &[Expr], bound: &[usize]) -> bool {
        if !self.scope.steering.may_hash(&self.scope.tables[table].alias) {
            return false;
        }
        let own = self.scope.tables[table].slots();
        let known = self.slots_of(bound);
        let is_known = |slot: &usize| own.contains(slot) || known.iter().any(|range| range.contains(slot));
        pending.iter().any(|condition| {
            let sides = hashable_sides(condition, &own);
            sides.is_some_and(|sides| {
                let read_before = sides.probe.referenced_columns();
                !read_before.is_empty() && read_before.iter().all(is_known)
            })
        })
    }

    /// The share of the table's rows that pass the conditions on this table alone.
    fn share_of_own(&self, table: usize, pending: &[Expr]) -> f64 {
        let own = self.scope.tables[table].slots();
        let is_own = |condition: &&Expr| {
            let columns = condition.referenced_columns();
            !columns.is_empty() && columns.iter().all(|slot| own.contains(slot))
        };
        passing_share(pending.iter().filter(is_own))
    }
}

fn cheapest(steps: &[(usize, Step)]) -> Option<(usize, Step)> {
    let cheaper = |a: &&(usize, Step), b: &&(usize, Step)| a.1.score.total_cmp(&b.1.score);
    steps.iter().min_by(cheaper).copied()
}
