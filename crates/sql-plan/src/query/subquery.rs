//! Queries inside expressions: what the binder makes of them.

use std::any::Any;

use sql_expr::{Coercibility, Subquery};
use types::SqlType;

use super::QueryPlan;

/// A planned subquery.
#[derive(Debug)]
pub struct SubqueryPlan {
    plan: QueryPlan,
    types: Vec<SqlType>,
    deterministic: bool,
}

impl SubqueryPlan {
    pub fn new(plan: QueryPlan, deterministic: bool) -> SubqueryPlan {
        let types = plan.column_types();
        SubqueryPlan {
            plan,
            types,
            deterministic,
        }
    }

    pub fn plan(&self) -> &QueryPlan {
        &self.plan
    }
}

impl Subquery for SubqueryPlan {
    fn columns(&self) -> &[SqlType] {
        &self.types
    }

    fn coercibility(&self, column: usize) -> Coercibility {
        self.plan.coercibility(column)
    }

    fn is_correlated(&self) -> bool {
        self.plan.correlated
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn note_existence(&self) {
        self.plan.note_existence();
    }

    fn is_deterministic(&self) -> bool {
        self.deterministic
    }
}
