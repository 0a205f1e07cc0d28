//! Plans: statements that read or change rows, ready to run.

use std::slice::from_ref;
use std::sync::Arc;

use catalog::ViewDef;
use parser::ast;
use sql_api::result::ResultShape;

use crate::changes::{DeletePlan, InsertPlan, UpdatePlan};
use crate::files::FileTarget;
use crate::foreign_keys::ForeignKeys;
use crate::load::LoadPlan;
use crate::query::{self, QueryPlan};
use crate::straight::StraightPlan;
use crate::table::Table;

/// A statement that reads or changes rows, ready to run.
#[derive(Debug)]
pub enum Plan {
    /// A query with a straight path from the store to the client.
    Straight(StraightPlan),
    Query(QueryPlan),
    Insert(InsertPlan),
    Load(LoadPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    /// UPDATE or DELETE over several tables.
    Multi(query::MultiTableChange),
}

/// A plan, and what its statement names: whoever changes one of these makes another plan of it.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    pub uses: Uses,
}

impl std::ops::Deref for Planned {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.plan
    }
}

/// The tables and views that a statement names, and those that the views name.
#[derive(Debug, Default)]
pub struct Uses {
    /// Temporary ones aside.
    pub tables: Vec<Arc<Table>>,
    /// It reads or changes temporary tables.
    pub temporary: bool,
    pub views: Vec<Arc<ViewDef>>,
    /// What stands behind AS OF TIMESTAMP: the moments that the tables are read at.
    pub as_of: Vec<ast::Expr>,
    /// It reads tables of now, or what is made up when it is read.
    pub reads_now: bool,
    /// It calls stored functions that may change or lock rows.
    pub changes_by_functions: bool,
    /// It calls stored functions that may use tables.
    pub tables_by_functions: bool,
    /// Of an INSERT: what its query alone reads, where that is of the past.
    pub past_source: Option<Box<Uses>>,
}

impl Uses {
    /// The tables that are read at a moment of the past, if the statement says one.
    pub fn past_tables(&self) -> &[Arc<Table>] {
        self.past_source.as_ref().map_or(&self.tables, |source| &source.tables)
    }

    pub(crate) fn add_table(&mut self, table: &Arc<Table>) {
        if self.tables.iter().all(|known| known.id() != table.id()) {
            self.tables.push(table.clone());
        }
    }

    pub(crate) fn add_view(&mut self, view: &Arc<ViewDef>) {
        if self.views.iter().all(|known| !Arc::ptr_eq(known, view)) {
            self.views.push(view.clone());
        }
    }
}

impl Planned {
    /// Whether it uses tables that transactions are about, by itself or by functions.
    pub fn uses_tables(&self) -> bool {
        let uses = &self.uses;
        self.plan.is_change() || !uses.tables.is_empty() || uses.temporary || uses.tables_by_functions
    }

    /// Whether it adds rows that the statement itself gives, and looks for none.
    pub fn adds_given_rows(&self) -> bool {
        matches!(&self.plan, Plan::Insert(plan) if plan.lists_rows()) && !self.uses.reads_now
    }
}

impl Plan {
    /// The file that takes its rows.
    pub fn file_target(&self) -> Option<&FileTarget> {
        match self {
            Plan::Query(plan) => plan.into_file.as_ref(),
            Plan::Straight(_)
            | Plan::Insert(_)
            | Plan::Load(_)
            | Plan::Update(_)
            | Plan::Delete(_)
            | Plan::Multi(_) => None,
        }
    }

    /// The result's columns; none for a change.
    pub fn shape(&self) -> Option<&Arc<ResultShape>> {
        match self {
            Plan::Straight(plan) => Some(&plan.shape),
            Plan::Query(plan) => plan.shape(),
            _ => None,
        }
    }

    /// Whether it may change rows.
    pub fn is_change(&self) -> bool {
        matches!(
            self,
            Plan::Insert(_) | Plan::Load(_) | Plan::Update(_) | Plan::Delete(_) | Plan::Multi(_)
        )
    }

    /// Whether it says IGNORE: what is wrong with a value or a row becomes a warning.
    pub fn ignores_errors(&self) -> bool {
        match self {
            Plan::Straight(_) | Plan::Query(_) => false,
            Plan::Insert(plan) | Plan::Load(LoadPlan { insert: plan, .. }) => plan.ignore,
            Plan::Update(plan) => plan.ignore,
            Plan::Delete(plan) => plan.ignore,
            Plan::Multi(plan) => plan.ignore,
        }
    }

    /// Whether it computes a row out of nothing.
    pub fn is_without_tables(&self) -> bool {
        matches!(self, Plan::Query(plan) if plan.is_without_tables())
    }

    /// Whether its answer is the same, whatever is committed.
    pub fn reads_nothing(&self) -> bool {
        matches!(self, Plan::Query(plan) if plan.reads_nothing())
    }

    /// Whether it finds the rows to change without the help of a key, nor is held to a number of them: what `sql_safe_updates`
    /// refuses.
    pub fn changes_without_key(&self) -> bool {
        let all = crate::access::AccessPath::reads_all;
        match self {
            Plan::Straight(_) | Plan::Query(_) | Plan::Insert(_) | Plan::Load(_) => false,
            Plan::Update(plan) => plan.target.limit.is_none() && all(&plan.target.path),
            Plan::Delete(plan) => plan.target.limit.is_none() && all(&plan.target.path),
            Plan::Multi(plan) => {
                let mut found = false;
                plan.join.for_each_table(&mut |access| {
                    let changes = plan.targets.iter().any(|target| target.offset == access.offset);
                    found |= changes && all(&access.path);
                });
                found
            }
        }
    }

    /// Whether it looks through all of a table.
    pub fn searches_without_index(&self) -> bool {
        let all = crate::access::AccessPath::reads_all;
        match self {
            Plan::Straight(plan) => all(&plan.path),
            Plan::Query(plan) => {
                let mut found = false;
                plan.for_each_table(&mut |access| found |= all(&access.path));
                found
            }
            Plan::Insert(_) | Plan::Load(_) => false,
            Plan::Update(plan) => all(&plan.target.path),
            Plan::Delete(plan) => all(&plan.target.path),
            Plan::Multi(plan) => {
                let mut found = false;
                plan.join.for_each_table(&mut |access| found |= all(&access.path));
                found
            }
        }
    }

    /// Whether it locks rows that it does not change.
    pub fn is_locking_read(&self) -> bool {
        matches!(self, Plan::Query(plan) if !plan.locked.is_empty())
    }

    /// Whether it looks for the rows to lock or to change, so that others could come into what it has looked through.
    pub fn locks_ranges(&self) -> bool {
        match self {
            Plan::Straight(_) | Plan::Insert(_) | Plan::Load(_) => false,
            Plan::Update(plan) => !plan.target.path.is_key_read(),
            Plan::Delete(plan) => !plan.target.path.is_key_read(),
            Plan::Multi(_) => true,
            Plan::Query(plan) => {
                let (mut by_key, mut waits) = (0, true);
                plan.for_each_table(&mut |access| {
                    by_key += usize::from(access.lock.is_some() && access.path.is_key_read());
                    // NOWAIT and SKIP LOCKED are obeyed where the rows are read.
                    waits &= access
                        .lock
                        .is_none_or(|lock| lock.policy == transaction::LockPolicy::Wait);
                });
                waits && by_key < plan.locked.len()
            }
        }
    }

    /// The tables that it changes, or reads with locks.
    pub fn changed_tables(&self) -> &[Arc<Table>] {
        match self {
            Plan::Straight(_) => &[],
            Plan::Query(plan) => &plan.locked,
            Plan::Insert(plan) => from_ref(&plan.table),
            Plan::Load(plan) => from_ref(&plan.insert.table),
            Plan::Update(plan) => from_ref(&plan.target.path.table),
            Plan::Delete(plan) => from_ref(&plan.target.path.table),
            Plan::Multi(plan) => &plan.changed,
        }
    }

    /// The tables that a change does not change, and locks rows of.
    pub fn locked_sources(&self) -> &[Arc<Table>] {
        match self {
            Plan::Straight(_) | Plan::Query(_) => &[],
            Plan::Insert(plan) | Plan::Load(LoadPlan { insert: plan, .. }) => &plan.locked,
            Plan::Update(plan) => &plan.locked,
            Plan::Delete(plan) => &plan.locked,
            Plan::Multi(plan) => &plan.locked,
        }
    }

    /// The foreign keys that its changes have to do with.
    pub fn foreign_keys(&self) -> Vec<&ForeignKeys> {
        match self {
            Plan::Straight(_) | Plan::Query(_) => Vec::new(),
            Plan::Insert(plan) => plan.foreign_keys.as_deref().into_iter().collect(),
            Plan::Load(plan) => plan.insert.foreign_keys.as_deref().into_iter().collect(),
            Plan::Update(plan) => plan.foreign_keys.as_deref().into_iter().collect(),
            Plan::Delete(plan) => plan.foreign_keys.as_deref().into_iter().collect(),
            Plan::Multi(plan) => plan
                .targets
                .iter()
                .filter_map(|target| target.foreign_keys.as_deref())
                .collect(),
        }
    }
}
