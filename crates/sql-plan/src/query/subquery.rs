//! Queries inside expressions: what the binder makes of them.

use std::any::Any;
use std::sync::Arc;

use sql_expr::{Coercibility, Expr, Subquery};
use types::SqlType;

use super::QueryPlan;

/// A planned subquery.
#[derive(Debug)]
pub struct SubqueryPlan {
    plan: Arc<QueryPlan>,
    types: Vec<SqlType>,
    deterministic: bool,
    outer_columns: Vec<Expr>,
}

impl SubqueryPlan {
    pub fn new(plan: QueryPlan, deterministic: bool) -> SubqueryPlan {
        let types = plan.column_types();
        SubqueryPlan {
            plan: Arc::new(plan),
            types,
            deterministic,
            outer_columns: Vec::new(),
        }
    }

    /// The same, which reads these columns of the row around it.
    pub fn reading(self, outer_columns: Vec<Expr>) -> SubqueryPlan {
        SubqueryPlan { outer_columns, ..self }
    }

    pub fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    /// The same, for who reads it as a table.
    pub fn shared_plan(&self) -> Arc<QueryPlan> {
        self.plan.clone()
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

    fn outer_columns(&self) -> &[Expr] {
        &self.outer_columns
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
