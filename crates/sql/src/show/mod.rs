//! SHOW, DESCRIBE, EXPLAIN, and the statements of administration.
//!
//! Most of SHOW is a query over information_schema, as in MySQL 8.0: the statement is put together as text, with its LIKE or WHERE
//! at the end, and run like any other. The rest (warnings, CREATE TABLE, grants) makes its few rows by hand.

mod absent;
mod checksum;
pub mod create;
mod explain;
mod privileges;
mod text;

pub(crate) use explain::Analysis;

use std::sync::Arc;

use catalog::{RoutineKind, ViewDef};
use parser::ast::{self, Show, Statement};
use types::{CollationId, ErrorKind, Severity, SqlError, SqlResult, SqlType, Value};

use crate::host::Host;
use crate::plan::Authorizer as _;
use crate::result::{BufferedRows, ResultColumn, ResultShape, ResultSink, ServerStatus};
use crate::session::parameters::Parameters;
use crate::session::{Answer, Session};

/// Of ANALYZE, CHECK, OPTIMIZE and REPAIR TABLE.
const MAINTENANCE_COLUMNS: [&str; 4] = ["Table", "Op", "Msg_type", "Msg_text"];

/// `DESCRIBE table [column]` is SHOW COLUMNS.
fn columns_of(describe: &ast::Describe) -> Show {
    Show::Columns {
        extended: false,
        full: false,
        table: describe.table.clone(),
        filter: describe.column.clone().map(ast::ShowFilter::Like),
    }
}

/// SQL text of the server's own.
fn own_statement(text: &str) -> SqlResult<Arc<Statement>> {
    match parser::parse(text.as_bytes(), parser::SqlMode::default()) {
        Ok(parsed) => Ok(Arc::new(parsed.statement)),
        Err(error) => Err(SqlError::internal(format!("{error} in {text}"))),
    }
}

/// A text column of a small result.
pub(crate) fn text_column(name: &str) -> ResultColumn {
    ResultColumn::computed(name, SqlType::varchar(1024, CollationId::DEFAULT))
}

/// Sends rows made by hand.
pub(crate) fn send(
    columns: Vec<ResultColumn>,
    rows: Vec<Vec<Value>>,
    status: ServerStatus,
    sink: &mut dyn ResultSink,
) -> SqlResult<Answer> {
    sink.columns(&ResultShape::new(columns), status)?;
    let found = rows.len() as u64;
    for row in &rows {
        sink.row(row)?;
    }
    Ok(Answer::Rows { found })
}

/// `HELP 'topic'`: the tables of help are empty, as on a server whose administrator has not loaded them.
pub(crate) fn no_help(status: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<Answer> {
    let columns = vec![text_column("name"), text_column("is_it_category")];
    send(columns, Vec::new(), status, sink)
}

impl Session {
    pub(crate) fn show(
        &mut self,
        show: &Show,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        if let Show::Columns { table, .. } = show
            && self.view(table).is_ok_and(|view| view.is_some())
        {
            // 1356 for a view that its tables have left behind. Who may not read it, may see that it has columns.
            let is_denied = |kind| matches!(kind, ErrorKind::TableAccessDenied | ErrorKind::ColumnAccessDenied);
            if let Err(error) = self.plan_of_view(table, host)
                && !is_denied(error.kind())
            {
                return Err(error);
            }
        }
        if let Some(query) = self.query_of(show)? {
            return self.run_text(&query, status, host, sink);
        }
        if let Some(columns) = absent::columns_of(show)? {
            let columns = columns.into_iter().map(text_column).collect();
            return send(columns, Vec::new(), status, sink);
        }
        match show {
            Show::Warnings(limit) => self.show_warnings(limit.as_ref(), |_| true, status, sink),
            Show::Errors(limit) => {
                self.show_warnings(limit.as_ref(), |severity| severity == Severity::Error, status, sink)
            }
            Show::WarningCount => self.show_count("@@session.warning_count", self.warnings.count(), status, sink),
            Show::ErrorCount => self.show_count("@@session.error_count", self.warnings.error_count(), status, sink),
            Show::CreateView(name) => {
                let view = self.view(name)?;
                let Some(view) = view else {
                    let (database, table) = self.qualified(name)?;
                    self.table(name)?;
                    return Err(SqlError::new(ErrorKind::WrongObject, &[&database, &table, &"VIEW"]));
                };
                self.show_create_view(&view, status, host, sink)
            }
            Show::CreateProcedure(name) => self.show_create_routine(RoutineKind::Procedure, name, status, sink),
            Show::CreateTrigger(name) => self.show_create_trigger(name, status, sink),
            Show::CreateEvent(name) => self.show_create_event(name, status, sink),
            Show::CreateFunction(name) => self.show_create_routine(RoutineKind::Function, name, status, sink),
            Show::CreateTable(name) if let Some(view) = self.view(name)? => {
                self.show_create_view(&view, status, host, sink)
            }
            Show::CreateTable(name) => {
                let table = self.table(name)?;
                let columns = vec![text_column("Table"), text_column("Create Table")];
                let row = vec![
                    Value::str(&table.def.name),
                    Value::from(create::create_table(&table.def, table.rows.next_auto_increment())),
                ];
                send(columns, vec![row], status, sink)
            }
            Show::CreateDatabase { name, if_not_exists } => {
                let catalog = self.engine.catalog();
                let database = catalog
                    .database(name)
                    .ok_or_else(|| crate::ddl::unknown_database(name))?;
                let text = create::create_database(&database.def, *if_not_exists);
                let columns = vec![text_column("Database"), text_column("Create Database")];
                send(columns, vec![vec![Value::str(name), Value::from(text)]], status, sink)
            }
            Show::Grants { account, using } => self.show_grants(account.as_ref(), using, status, sink),
            Show::CreateUser(account) => self.show_create_user(account, status, sink),
            Show::Engine { .. } => {
                let columns = vec![text_column("Type"), text_column("Name"), text_column("Status")];
                let store = self.engine.participant().store();
                let memory = store.memory();
                let text = format!(
                    "memory: {} of {} bytes\ntables: {}",
                    memory.used(),
                    memory.limit(),
                    store.tables().len()
                );
                send(
                    columns,
                    vec![vec![Value::str("InnoDB"), Value::str(""), Value::from(text)]],
                    status,
                    sink,
                )
            }
            Show::Privileges => {
                let columns = vec![text_column("Privilege"), text_column("Context"), text_column("Comment")];
                send(columns, privileges::rows(), status, sink)
            }
            _ => Err(SqlError::not_supported(crate::refuse::name_of(&Statement::Show(
                Box::new(show.clone()),
            )))),
        }
    }

    /// A view that cannot be planned any more is shown all the same, with the warning 1356.
    fn show_create_view(
        &mut self,
        view: &ViewDef,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        self.access()
            .check_table(&view.database, &view.name, catalog::Privileges::SHOW_VIEW)?;
        let name = ast::TableName::new(Some(&view.database), &view.name);
        if let Err(error) = self.plan_of_view(&name, host)
            && matches!(error.kind(), ErrorKind::ViewInvalid | ErrorKind::NoSuchUser)
        {
            self.warnings.warn(crate::plan::invalid_view(view));
        }
        let columns = ["View", "Create View", "character_set_client", "collation_connection"];
        let row = vec![
            Value::str(&view.name),
            Value::from(create::create_view(view, self.database.as_deref())?),
            Value::str(view.collation.charset().name()),
            Value::str(view.collation.name()),
        ];
        send(
            columns.iter().map(|name| text_column(name)).collect(),
            vec![row],
            status,
            sink,
        )
    }

    /// The columns of a statement that is no query, for COM_STMT_PREPARE; none for one without a result set.
    pub(crate) fn shape_of(&mut self, statement: &Statement, host: &dyn Host) -> SqlResult<Option<Arc<ResultShape>>> {
        self.check_statement(statement)?;
        let show = match statement {
            Statement::Show(show) => (**show).clone(),
            Statement::Describe(describe) => columns_of(describe),
            Statement::Explain(explain) => return self.explained_shape(explain, host).map(Some),
            Statement::TableMaintenance(maintenance)
                if matches!(maintenance.action, ast::MaintenanceAction::Checksum(_)) =>
            {
                return Ok(Some(ResultShape::new(checksum::columns())));
            }
            Statement::TableMaintenance(_) => {
                let columns = MAINTENANCE_COLUMNS.iter().map(|name| text_column(name)).collect();
                return Ok(Some(ResultShape::new(columns)));
            }
            _ => return Ok(None),
        };
        if let Some(query) = self.query_of(&show)? {
            let query = own_statement(&query)?;
            return Ok(self.plan_for(&query, None, Parameters::NONE, host)?.shape().cloned());
        }
        // The rest makes a few rows by hand, and changes nothing: its columns come before them.
        let mut sink = BufferedRows::default();
        self.show(&show, ServerStatus::default(), host, &mut sink)?;
        Ok(sink.shape().cloned())
    }

    /// Runs SQL text of the server's own as the client's statement.
    pub(crate) fn run_text(
        &mut self,
        text: &str,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let more = ServerStatus(status.0 & ServerStatus::MORE_RESULTS.0);
        self.query_or_change(&own_statement(text)?, None, Parameters::NONE, more, host, sink)
    }

    fn show_warnings(
        &mut self,
        limit: Option<&ast::Limit>,
        wanted: impl Fn(Severity) -> bool,
        status: ServerStatus,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let number = |expr: &ast::Expr| match expr {
            ast::Expr::Literal(ast::Literal::Int(rows)) => Ok(*rows as usize),
            _ => Err(SqlError::new(ErrorKind::WrongArguments, &[&"LIMIT"])),
        };
        let count = limit.map_or(Ok(usize::MAX), |limit| number(&limit.count))?;
        let offset = limit.and_then(|limit| limit.offset.as_ref()).map_or(Ok(0), number)?;
        let columns = vec![
            ResultColumn::computed("Level", SqlType::varchar(7, CollationId::DEFAULT).not_null()),
            ResultColumn::computed("Code", SqlType::integer(types::TypeKind::Int, true).not_null()),
            ResultColumn::computed("Message", SqlType::varchar(512, CollationId::DEFAULT).not_null()),
        ];
        let rows = self
            .warnings
            .iter()
            .filter(|warning| wanted(warning.severity))
            .skip(offset)
            .take(count);
        let rows = rows.map(|warning| {
            let code = Value::UInt(u64::from(warning.error.code()));
            vec![
                Value::str(warning.severity.name()),
                code,
                Value::str(warning.error.message()),
            ]
        });
        send(columns, rows.collect(), status, sink)
    }

    fn show_count(&self, name: &str, count: u64, status: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<Answer> {
        let column = ResultColumn::computed(name, SqlType::bigint_unsigned().not_null());
        send(vec![column], vec![vec![Value::UInt(count)]], status, sink)
    }

    pub(crate) fn describe(
        &mut self,
        describe: &ast::Describe,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        self.show(&columns_of(describe), status, host, sink)
    }

    /// The database of SHOW … FROM; 1046 without one, 1049 for an unknown one.
    fn shown_database(&self, schema: Option<&ast::Ident>) -> SqlResult<String> {
        let name = match schema {
            Some(schema) => schema.as_str().to_owned(),
            None => self.database.as_deref().ok_or(ErrorKind::NoDb)?.to_owned(),
        };
        if crate::plan::is_virtual_database(&name) {
            return Ok(name.to_ascii_lowercase());
        }
        if self.engine.catalog().database(&name).is_some() {
            Ok(name)
        } else {
            Err(crate::ddl::unknown_database(&name))
        }
    }

    /// Maintenance of tables, and FLUSH.
    pub(crate) fn maintenance(
        &mut self,
        statement: &Statement,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        match statement {
            Statement::TableMaintenance(maintenance) => self.maintain(maintenance, status, host, sink),
            Statement::Flush(flush) if let ast::FlushWhat::Tables { tables, mode } = &flush.what => {
                self.flush_tables(tables, *mode, host).map(|()| Answer::done())
            }
            // Nothing is buffered that a FLUSH could write: every commit is on disk.
            Statement::Flush(flush) => {
                if let ast::FlushWhat::Targets(targets) = &flush.what {
                    self.flush_targets(targets);
                }
                Ok(Answer::done())
            }
            other => Err(crate::session::of_another_runner(other)),
        }
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM: statistics are kept as rows change, and rows are checked as they are read from disk.
    fn maintain(
        &mut self,
        maintenance: &ast::TableMaintenance,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let verb = match &maintenance.action {
            ast::MaintenanceAction::Analyze => "analyze",
            ast::MaintenanceAction::Check(_) => "check",
            ast::MaintenanceAction::Optimize => "optimize",
            ast::MaintenanceAction::Repair(_) => "repair",
            ast::MaintenanceAction::Checksum(option) => {
                return self.checksum(maintenance, *option, status, host, sink);
            }
            _ => return Err(SqlError::not_supported("histograms")),
        };
        let mut rows = Vec::new();
        for name in &maintenance.tables {
            let (database, table) = self.qualified(name)?;
            let shown = Value::from(format!("{database}.{table}"));
            let mut row = |kind: &str, message: &str| {
                rows.push(vec![
                    shown.clone(),
                    Value::str(verb),
                    Value::str(kind),
                    Value::str(message),
                ]);
            };
            match (self.table(name), verb) {
                (Err(_), _) => {
                    row("Error", &format!("Table '{database}.{table}' doesn't exist"));
                    row("status", "Operation failed");
                }
                (Ok(_), "optimize") => {
                    row(
                        "note",
                        "Table does not support optimize, doing recreate + analyze instead",
                    );
                    row("status", "OK");
                }
                (Ok(_), "repair") => row("note", "The storage engine for the table doesn't support repair"),
                (Ok(_), _) => row("status", "OK"),
            }
        }
        send(
            MAINTENANCE_COLUMNS.iter().map(|name| text_column(name)).collect(),
            rows,
            status,
            sink,
        )
    }
}
