//! EXPLAIN: what the executor would do for a statement, in MySQL's three forms.
//!
//! ```text
//!   plan ──outline──▶ blocks and steps ──▶ table  one row per table (FORMAT=TRADITIONAL)
//!                                      ├──▶ tree   one line per operation (FORMAT=TREE)
//!                                      └──▶ json   (FORMAT=JSON)
//! ```
//!
//! All three print the same [`outline`], so they cannot contradict each other. Rows and costs are the planner's own
//! estimates; a cost of 1 is reading one row in the order of the primary key.

mod access;
mod json;
mod outline;
mod table;
mod tree;

use std::sync::Arc;

use parser::ast::{self, ExplainFormat, ExplainTarget};
use types::{SqlError, SqlResult, SqlType, TypeKind, Value};

use super::{send, text_column};
use crate::host::Host;
use crate::plan::Planned;
use crate::result::{ResultColumn, ResultShape, ResultSink, ServerStatus};
use crate::session::{Answer, Session};
use crate::statement_class::{Runner, class_of};

impl Session {
    pub(crate) fn explain(
        &mut self,
        explain: &ast::Explain,
        parameters: &[Value],
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let format = explain.format.unwrap_or(ExplainFormat::Traditional);
        let plan = self.explained_plan(explain, parameters, host)?;
        let outline = outline::outline(&plan);
        let rows = match format {
            ExplainFormat::Traditional => table::rows(&outline),
            ExplainFormat::Json => vec![vec![Value::from(json::text(&outline))]],
            ExplainFormat::Tree => vec![vec![Value::from(tree::text(&outline))]],
        };
        send(columns(format), rows, status, sink)
    }

    /// The columns of the answer; an error where the statement could not be planned.
    pub(super) fn explained_shape(&mut self, explain: &ast::Explain, host: &dyn Host) -> SqlResult<Arc<ResultShape>> {
        self.explained_plan(explain, &[], host)?;
        let format = explain.format.unwrap_or(ExplainFormat::Traditional);
        Ok(ResultShape::new(columns(format)))
    }

    /// The plan that is told of; 1235 where nothing is.
    fn explained_plan(
        &mut self,
        explain: &ast::Explain,
        parameters: &[Value],
        host: &dyn Host,
    ) -> SqlResult<Arc<Planned>> {
        if explain.analyze {
            return Err(SqlError::not_supported("EXPLAIN ANALYZE"));
        }
        match &explain.target {
            ExplainTarget::Connection(_) => Err(SqlError::not_supported("EXPLAIN FOR CONNECTION")),
            ExplainTarget::Statement(statement) if class_of(statement).runner == Runner::Plan => {
                self.plan_to_explain(&Arc::new(statement.clone()), parameters, host)
            }
            ExplainTarget::Statement(_) => Err(SqlError::not_supported("EXPLAIN of this statement")),
        }
    }
}

/// The columns of the answer.
fn columns(format: ExplainFormat) -> Vec<ResultColumn> {
    if format != ExplainFormat::Traditional {
        let text = SqlType::text(TypeKind::LongText, types::CollationId::DEFAULT);
        return vec![ResultColumn::computed("EXPLAIN", text)];
    }
    let share = SqlType {
        length: 4,
        decimals: 2,
        ..SqlType::double()
    };
    let number = |name: &str| ResultColumn::computed(name, SqlType::bigint_unsigned());
    vec![
        number("id"),
        text_column("select_type"),
        text_column("table"),
        text_column("partitions"),
        text_column("type"),
        text_column("possible_keys"),
        text_column("key"),
        text_column("key_len"),
        text_column("ref"),
        number("rows"),
        ResultColumn::computed("filtered", share),
        text_column("Extra"),
    ]
}
