//! Which columns of a query somebody reads.
//!
//! What nobody reads of a derived table, a common table or below EXISTS is not computed, and so warns of nothing and fails at
//! nothing: MySQL merges such queries, and then only has the expressions that are named.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sql_expr::Expr;

use super::join::{DerivedSource, Join};
use super::{Body, QueryPlan, SelectPlan};

/// Of a query's items; all, unless its readers have noted what they read.
#[derive(Debug, Default)]
pub struct ReadItems {
    /// A common table has several readers, which are planned one after another.
    noted: OnceLock<Box<[AtomicBool]>>,
    readers: AtomicUsize,
}

impl ReadItems {
    fn note(&self, width: usize, read: impl Iterator<Item = usize>) {
        let unread = || (0..width).map(|_| AtomicBool::new(false)).collect();
        let noted = self.noted.get_or_init(unread);
        for item in read {
            noted[item].store(true, Ordering::Relaxed);
        }
        self.readers.fetch_add(1, Ordering::Relaxed);
    }

    /// The one reader reads these alone, which are in order. Whether that is less than before; with several readers it is not.
    fn narrow(&self, read: &[usize]) -> bool {
        let mut is_less = false;
        let mut read = read.iter().peekable();
        if let Some(noted) = self.noted.get()
            && self.readers.load(Ordering::Relaxed) == 1
        {
            for (item, flag) in noted.iter().enumerate() {
                let is_read = read.next_if_eq(&&item).is_some();
                is_less |= flag.swap(is_read, Ordering::Relaxed) && !is_read;
            }
        }
        is_less
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
            select.narrow_sources();
        }
    }

    /// Only whether it has rows is asked.
    pub(super) fn note_existence(&self) {
        let Body::Select(select) = &self.body else { return };
        select.note_existence();
        if select.gives_row_for_row() {
            select.read.note(select.items.len(), std::iter::empty());
            select.narrow_sources();
        }
    }
}

impl SelectPlan {
    /// What only unread items read of the queries below is not read there either.
    fn narrow_sources(&self) {
        let Some(from) = &self.from else { return };
        let mut used = self.used_beside.clone();
        for (at, item) in self.items.iter().enumerate() {
            if self.read.contains(at) {
                used.extend(item.referenced_columns());
            }
        }
        from.narrow(&used);
    }

    /// Whether MySQL makes it a part of the query around it.
    fn is_mergeable(&self) -> bool {
        let is_computed_once = |item: &Expr| item.has_subquery() || item.is_volatile();
        self.from.is_some() && self.gives_row_for_row() && !self.items.iter().any(is_computed_once)
    }

    pub(super) fn gives_row_for_row(&self) -> bool {
        self.grouping.is_none() && self.having.is_none() && self.windows.is_empty() && !self.distinct
    }
}

impl Join {
    /// Of all columns of the tables the query reads these slots alone.
    fn narrow(&self, used: &BTreeSet<usize>) {
        governor::pause();
        match self {
            Join::Base(_) => {}
            Join::Derived(access) => {
                if let DerivedSource::Query(plan) = &access.source
                    && let Body::Select(select) = &plan.body
                {
                    let slots = used.range(access.offset..access.offset + access.width);
                    let read: Vec<usize> = slots.map(|slot| slot - access.offset).collect();
                    if select.read.narrow(&read) {
                        select.narrow_sources();
                    }
                }
            }
            Join::Nested(sides) | Join::Left { sides, .. } => sides.iter().for_each(|side| side.narrow(used)),
            Join::Filter { join, .. } => join.narrow(used),
        }
    }
}
