//! Which columns of a query somebody reads.
//!
//! What nobody reads of a derived table, a common table or below EXISTS is not computed, and so warns of nothing and fails at
//! nothing: MySQL merges such queries, and then only has the expressions that are named.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use sql_expr::Expr;

use super::{Body, QueryPlan, SelectPlan};

/// Of a query's items; all, unless its readers have noted what they read.
#[derive(Debug, Default)]
pub struct ReadItems {
    /// A common table has several readers, which are planned one after another.
    noted: OnceLock<Box<[AtomicBool]>>,
}

impl ReadItems {
    fn note(&self, width: usize, read: impl Iterator<Item = usize>) {
        let unread = || (0..width).map(|_| AtomicBool::new(false)).collect();
        let noted = self.noted.get_or_init(unread);
        for item in read {
            noted[item].store(true, Ordering::Relaxed);
        }
    }

    pub fn contains(&self, item: usize) -> bool {
        self.noted.get().is_none_or(|noted| noted[item].load(Ordering::Relaxed))
    }
}

impl QueryPlan {
    /// A query around this one reads these columns of it.
    pub(super) fn note_read(&self, columns: &[usize]) {
        if let Body::Select(select) = &self.body
            && select.is_mergeable()
            && self.limit.is_none()
            && self.offset.is_none()
        {
            select.read.note(select.items.len(), columns.iter().copied());
        }
    }

    /// Only whether it has rows is asked.
    pub(super) fn note_existence(&self) {
        if let Body::Select(select) = &self.body
            && select.gives_row_for_row()
        {
            select.read.note(select.items.len(), std::iter::empty());
        }
    }
}

impl SelectPlan {
    /// Whether MySQL makes it a part of the query around it.
    fn is_mergeable(&self) -> bool {
        let is_computed_once = |item: &Expr| item.has_subquery() || item.is_volatile();
        self.from.is_some() && self.gives_row_for_row() && !self.items.iter().any(is_computed_once)
    }

    fn gives_row_for_row(&self) -> bool {
        self.grouping.is_none() && self.having.is_none() && self.windows.is_empty() && !self.distinct
    }
}
