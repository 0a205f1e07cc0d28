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
mod connection;
mod json;
mod outline;
mod table;
mod tree;

use std::sync::Arc;

use parser::ast::{self, ExplainFormat, ExplainTarget, Statement};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind, Value};

use super::{send, text_column};
use crate::ddl::NoAnswer;
use crate::exec::measure::Measures;
use crate::host::Host;
use crate::plan::changes::Source;
use crate::plan::{Plan, Planned};
use crate::result::{ResultColumn, ResultShape, ResultSink, ServerStatus};
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session};
use crate::statement_class::{Runner, class_of};
use crate::variables;

impl Session {
    pub(crate) fn explain(
        &mut self,
        explain: &ast::Explain,
        parameters: Parameters<'_>,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        if explain.analyze {
            return self.explain_analyze(explain, parameters, status, host, sink);
        }
        let format = self.explain_format(explain)?;
        let plan = match explain.target {
            ExplainTarget::Connection(id) => self.plan_of_connection(id, host)?,
            ExplainTarget::Statement(_) => Some(self.explained_plan(explain, parameters, host)?),
        };
        let Some(plan) = plan else { return Ok(Answer::done()) };
        let outline = outline::outline(&plan);
        let rows = match format {
            ExplainFormat::Traditional => table::rows(&outline),
            ExplainFormat::Json => vec![vec![Value::from(json::text(&outline))]],
            ExplainFormat::Tree => vec![vec![Value::from(tree::text(&outline, None))]],
        };
        send(columns(format), rows, status, sink)
    }

    /// Runs a query, drops its rows, and tells how often each part of the plan ran, how many rows it gave, and how long that took. Of a change
    /// it is the reading that runs.
    fn explain_analyze(
        &mut self,
        explain: &ast::Explain,
        parameters: Parameters<'_>,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let statement = analyzed(explain)?;
        // Before anything is read: rights on what is below a view.
        let planned = self.plan_to_explain(&statement, parameters, host)?;
        if !is_measured(&planned.plan) {
            let rows = vec![vec![Value::from(NOT_MEASURED)]];
            return send(columns(ExplainFormat::Tree), rows, status, sink);
        }
        self.analysis = Some(Box::default());
        let ran = self.query_or_change(
            &statement,
            None,
            parameters,
            ServerStatus::default(),
            host,
            &mut NoAnswer,
        );
        let analysis = self.analysis.take();
        ran?;
        let run = analysis.and_then(|analysis| Some((analysis.plan?, analysis.measures)));
        let (plan, measures) = run.ok_or_else(|| SqlError::internal("a plan that ran is known"))?;
        let text = tree::text(&outline::outline(&plan), Some(&measures));
        send(
            columns(ExplainFormat::Tree),
            vec![vec![Value::from(text)]],
            status,
            sink,
        )
    }

    /// The columns of the answer; an error where the statement could not be planned.
    pub(super) fn explained_shape(&mut self, explain: &ast::Explain, host: &dyn Host) -> SqlResult<Arc<ResultShape>> {
        if explain.analyze {
            self.plan_to_explain(&analyzed(explain)?, Parameters::NONE, host)?;
            return Ok(ResultShape::new(columns(ExplainFormat::Tree)));
        }
        self.explained_plan(explain, Parameters::NONE, host)?;
        let format = self.explain_format(explain)?;
        Ok(ResultShape::new(columns(format)))
    }

    /// What the statement asks for, or else the session.
    fn explain_format(&self, explain: &ast::Explain) -> SqlResult<ExplainFormat> {
        if let Some(format) = explain.format {
            return Ok(format);
        }
        Ok(match &*self.variables.get(variables::find("explain_format")?) {
            "TREE" => ExplainFormat::Tree,
            "JSON" => ExplainFormat::Json,
            _ => ExplainFormat::Traditional,
        })
    }

    /// The plan of a statement that is told of; 1235 where nothing is.
    fn explained_plan(
        &mut self,
        explain: &ast::Explain,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Arc<Planned>> {
        match &explain.target {
            ExplainTarget::Connection(_) => Err(ErrorKind::UnsupportedPs.into()),
            ExplainTarget::Statement(statement) if class_of(statement).runner == Runner::Plan => {
                self.plan_to_explain(&Arc::new(statement.clone()), parameters, host)
            }
            ExplainTarget::Statement(_) => Err(SqlError::not_supported("EXPLAIN of this statement")),
        }
    }
}

/// In place of the tree of a statement that changes rows as it reads them. MySQL's words.
const NOT_MEASURED: &str = "-> <not executable by iterator executor>\n";

/// Whether a plan reads by joins before it changes anything, or changes nothing.
fn is_measured(plan: &Plan) -> bool {
    match plan {
        Plan::Straight(_) | Plan::Query(_) | Plan::Multi(_) => true,
        Plan::Insert(plan) => matches!(plan.source, Source::Query(_)),
        Plan::Load(_) | Plan::Update(_) | Plan::Delete(_) => false,
    }
}

/// What EXPLAIN ANALYZE runs, and tells of as a tree.
fn analyzed(explain: &ast::Explain) -> SqlResult<Arc<Statement>> {
    match (&explain.format, &explain.target) {
        (None | Some(ExplainFormat::Tree), ExplainTarget::Statement(statement)) => match statement {
            Statement::Query(query) if query.into.is_some() => {
                Err(SqlError::not_supported("EXPLAIN ANALYZE of a query with INTO"))
            }
            Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                Ok(Arc::new(statement.clone()))
            }
            _ => Err(SqlError::not_supported("EXPLAIN ANALYZE of this statement")),
        },
        (None | Some(ExplainFormat::Tree), _) => Err(SqlError::not_supported("EXPLAIN ANALYZE of this statement")),
        (Some(ExplainFormat::Traditional), _) => {
            Err(SqlError::not_supported("EXPLAIN ANALYZE with TRADITIONAL format"))
        }
        (Some(ExplainFormat::Json), _) => Err(SqlError::not_supported("EXPLAIN ANALYZE with JSON format")),
    }
}

/// A run of EXPLAIN ANALYZE under way.
#[derive(Debug, Default)]
pub struct Analysis {
    pub measures: Measures,
    /// What runs.
    pub plan: Option<Arc<Planned>>,
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
