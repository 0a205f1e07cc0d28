//! MATCH … AGAINST in plans.
//!
//! The relevance of a row is one more column of its table: each table with full-text indexes has a few slots in the wide row for it, behind
//! those of its columns. An expression names the slot, whatever clause it stands in; whoever reads the table fills it.

use std::sync::Arc;

use catalog::{IndexDef, IndexKind};
use parser::ast::{self, MatchMode};
use sql_expr::{CompareOp, Expr, ExprKind};
use types::{ErrorKind, IndexId, SqlError, SqlResult, SqlType, Value};

use crate::table::Table;

/// So many different searches of one table may stand in a query.
pub const MAX_MATCHES: usize = 16;

/// A search of a table.
#[derive(Debug, Clone)]
pub struct Match {
    pub index: IndexId,
    /// What is searched for: the same for all rows.
    pub against: Expr,
    pub mode: MatchMode,
    /// As it is written, with what names it binds; equal for equal searches.
    pub shown: Arc<str>,
}

impl Match {
    /// Whether it searches for what `against` is, too: parameters are not shown apart.
    pub fn has_same_text(&self, against: &Expr) -> bool {
        let parameters = |expr: &Expr| {
            let mut found = Vec::new();
            expr.any(&mut |part| {
                if let ExprKind::Param(number) = part.kind {
                    found.push(number);
                }
                false
            });
            found
        };
        !against.has_subquery() && !against.is_volatile() && parameters(&self.against) == parameters(against)
    }
}

/// How many slots for searches a table has.
pub fn slots_of(table: &Table) -> usize {
    let has_words = table.def.indexes.iter().any(|index| index.kind == IndexKind::FullText);
    if has_words { MAX_MATCHES } else { 0 }
}

/// The type of what MATCH gives.
pub fn relevance_type() -> SqlType {
    SqlType::double()
}

/// The index over these columns and no others, in any order. 1191 where there is none.
pub fn index_of<'t>(
    table: &'t Table,
    columns: &[usize],
    is_allowed: &dyn Fn(IndexId) -> bool,
) -> SqlResult<&'t IndexDef> {
    let is_over = |index: &&IndexDef| {
        index.kind == IndexKind::FullText
            && index.parts.len() == columns.len()
            && index.parts.iter().all(|part| columns.contains(&part.column))
    };
    let mut found = table.def.indexes.iter().filter(is_over);
    let usable = found.find(|index| index.visible && is_allowed(index.id));
    usable.ok_or_else(|| ErrorKind::FtMatchingKeyNotFound.into())
}

/// 1210 for what is not the same for all rows.
pub fn check_against(against: &Expr) -> SqlResult<()> {
    let varies = !against.referenced_columns().is_empty()
        || against.reads_outer()
        || against.has_correlated_subquery()
        || against.has_placeholder()
        || against.has_window()
        || matches!(against.kind, ExprKind::Row(_));
    match varies {
        true => Err(SqlError::new(ErrorKind::WrongArguments, &[&"AGAINST"])),
        false => Ok(()),
    }
}

/// As EXPLAIN shows it.
pub fn shown(columns: &[String], against: &Expr, mode: MatchMode) -> String {
    let mode = match mode {
        MatchMode::NaturalLanguage => "",
        MatchMode::QueryExpansion => " with query expansion",
        MatchMode::Boolean => " in boolean mode",
    };
    format!("(match {} against ({against}{mode}))", columns.join(","))
}

/// Which of a table's searches a condition asks to have found the row: all that it lets through are among what that search finds.
pub fn required_match(condition: &Expr, first: usize, matches: usize) -> Option<usize> {
    let number = |expr: &Expr| {
        let slot = expr.as_column()?;
        slot.checked_sub(first).filter(|&at| at < matches)
    };
    if let Some(found) = number(condition) {
        return Some(found);
    }
    let ExprKind::Compare(compare) = &condition.kind else {
        return None;
    };
    let (search, bound, is_greater, is_equal) = match (number(&compare.left), number(&compare.right)) {
        (Some(search), None) => (
            search,
            &compare.right,
            matches!(compare.op, CompareOp::Gt | CompareOp::Ge),
            compare.op == CompareOp::Ge,
        ),
        (None, Some(search)) => (
            search,
            &compare.left,
            matches!(compare.op, CompareOp::Lt | CompareOp::Le),
            compare.op == CompareOp::Le,
        ),
        _ => return None,
    };
    let bound = match bound.as_literal()? {
        Value::Int(bound) => *bound as f64,
        Value::UInt(bound) => *bound as f64,
        Value::Double(bound) => *bound,
        Value::Decimal(bound) => bound.to_f64(),
        _ => return None,
    };
    let leaves_others_out = bound > 0.0 || (bound == 0.0 && !is_equal);
    (is_greater && leaves_others_out).then_some(search)
}

/// Whether a MATCH stands in an expression, outside of its subqueries.
pub fn has_match(expr: &ast::Expr) -> bool {
    fn look(expr: &mut ast::Expr, found: &mut bool) {
        governor::pause();
        if matches!(expr, ast::Expr::MatchAgainst(_)) {
            *found = true;
        }
        if !*found {
            expr.for_each_part(&mut |part| {
                if let ast::Part::Expr(expr) = part {
                    look(expr, found);
                }
            });
        }
    }
    let mut found = false;
    look(&mut expr.clone(), &mut found);
    found
}
