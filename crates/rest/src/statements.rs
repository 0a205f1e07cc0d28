//! POST /v1/sql: any statement, its rows streamed.

use std::sync::Arc;

use serde::Deserialize;
use sql::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use sql_api::host::Host;
use types::{RowLayout, SqlError, SqlResult, SqlType, TypeKind, Value, ValueRef};

use crate::answer::{Answer, NDJSON};
use crate::arrow::ArrowSink;
use crate::client::Client;
use crate::json::{self, Given, List, Numbers};
use crate::problem::Problem;
use crate::request::numbers_named;
use crate::routes::Task;
use crate::transactions;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    sql: String,
    #[serde(default)]
    parameters: List<Given>,
    /// The current database.
    database: Option<String>,
    transaction: Option<String>,
    #[serde(default)]
    format: Format,
    #[serde(default)]
    rows: RowForm,
    numbers: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Ndjson,
    Arrow,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "lowercase")]
enum RowForm {
    #[default]
    Arrays,
    Objects,
}

pub fn run(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let body: Body = task.request.json()?;
    if let Some(id) = &body.transaction
        && !client.is_transaction
    {
        return transactions::forward_to(client, task, id, "/v1/sql", answer);
    }
    let parameters = body.parameters.iter().map(|given| json::value_of(given));
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    let host = task.host;
    client.is_used = true;
    // A transaction's connection is known by its own text.
    if !client.is_transaction {
        host.show_statement(body.sql.as_bytes());
    }
    if let Some(database) = &body.database {
        client.session(host)?.use_database(database)?;
    }
    if body.format == Format::Arrow {
        // Behind a part of the stream, its missing end tells the client.
        return Ok(run_statement(
            client,
            &body.sql,
            &parameters,
            host,
            &mut ArrowSink::new(answer),
        )?);
    }
    if body.format == Format::Ndjson {
        answer.head.content_type = NDJSON;
    }
    let mut sink = RowSink {
        answer,
        format: body.format,
        rows: body.rows,
        numbers: numbers_named(body.numbers.as_deref())?,
        columns: Vec::new(),
        results: 0,
        is_series: false,
        is_open: false,
        is_first_row: true,
    };
    let ran = run_statement(client, &body.sql, &parameters, host, &mut sink);
    match ran {
        Ok(()) => {
            sink.close();
            Ok(())
        }
        Err(error) => sink.fail(error.into()),
    }
}

fn run_statement(
    client: &mut Client,
    text: &str,
    parameters: &[Value],
    host: &dyn Host,
    sink: &mut dyn ResultSink,
) -> SqlResult<()> {
    match parameters.is_empty() {
        true => client.session(host)?.query(text.as_bytes(), host, sink),
        false => client.execute(text, parameters, host, sink),
    }
}

/// Appends what a statement without rows has done.
pub fn write_done(done: &Done, out: &mut Vec<u8>) {
    out.extend_from_slice(
        format!(
            "{{\"affected_rows\":{},\"last_insert_id\":{},\"warnings\":{},\"info\":",
            done.affected_rows, done.last_insert_id, done.warnings
        )
        .as_bytes(),
    );
    json::write_text(&done.info, out);
    out.push(b'}');
}

/// Writes results as they come.
struct RowSink<'a, 'o> {
    answer: &'a mut Answer<'o>,
    format: Format,
    rows: RowForm,
    numbers: Numbers,
    columns: Vec<(Box<str>, SqlType)>,
    /// That have begun.
    results: usize,
    /// Of a CALL: there are several.
    is_series: bool,
    /// The last one has begun, and not ended.
    is_open: bool,
    is_first_row: bool,
}

impl RowSink<'_, '_> {
    fn put(&mut self, text: &str) {
        self.answer.body.extend_from_slice(text.as_bytes());
    }

    fn begin_result(&mut self, status: ServerStatus) {
        if self.format == Format::Json {
            if self.results == 0 && status.contains(ServerStatus::MORE_RESULTS) {
                self.is_series = true;
                self.put("{\"results\":[");
            } else if self.results > 0 {
                self.put(",");
            }
        }
        self.results += 1;
        self.is_first_row = true;
    }

    fn write_row<'v>(&mut self, value: impl Fn(usize) -> ValueRef<'v>) -> Result<(), SqlError> {
        let out = &mut self.answer.body;
        if self.format == Format::Json && !std::mem::replace(&mut self.is_first_row, false) {
            out.push(b',');
        }
        let (open, close) = match self.rows {
            RowForm::Arrays => (b'[', b']'),
            RowForm::Objects => (b'{', b'}'),
        };
        out.push(open);
        for (at, (name, ty)) in self.columns.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if self.rows == RowForm::Objects {
                json::write_text(name, out);
                out.push(b':');
            }
            json::write_cell(value(at), Some(ty), self.numbers, out);
        }
        out.push(close);
        if self.format == Format::Ndjson {
            out.push(b'\n');
        }
        // A long document may have been cut short.
        governor::check().map_err(SqlError::from)
    }

    fn close(&mut self) {
        if self.format == Format::Json && self.is_series {
            self.put("]}");
        }
    }

    /// Behind rows that are sent, the problem takes the place of the rest.
    fn fail(&mut self, problem: Problem) -> Result<(), Problem> {
        if !self.answer.has_begun() {
            return Err(problem);
        }
        match self.format {
            Format::Ndjson | Format::Arrow => {
                self.put("{\"error\":");
                problem.write(&mut self.answer.body);
                self.put("}\n");
            }
            Format::Json => {
                // Behind a whole result of several, it is one more.
                self.put(match self.is_open {
                    true => "],\"error\":",
                    false => ",{\"error\":",
                });
                problem.write(&mut self.answer.body);
                self.put("}");
                self.close();
            }
        }
        Ok(())
    }
}

impl ResultSink for RowSink<'_, '_> {
    fn columns(&mut self, shape: &Arc<ResultShape>, status: ServerStatus) -> Result<(), SqlError> {
        self.begin_result(status);
        self.is_open = true;
        let columns = shape.columns.iter();
        self.columns = columns
            .map(|column| (column.name.as_str().into(), column.ty.clone()))
            .collect();
        if self.format == Format::Json {
            self.put("{\"columns\":[");
            for (at, column) in shape.columns.iter().enumerate() {
                self.put(if at > 0 { ",{\"name\":" } else { "{\"name\":" });
                json::write_text(&column.name, &mut self.answer.body);
                self.put(",\"type\":\"");
                self.put(&type_name(&column.ty));
                self.put("\"}");
            }
            self.put("],\"rows\":[");
        }
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<(), SqlError> {
        self.write_row(|at| values.get(at).map_or(ValueRef::Null, Value::as_ref))
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError> {
        governor::ensure(row.len())?;
        self.write_row(|at| {
            projection
                .get(at)
                .map_or(ValueRef::Null, |column| layout.column(row, *column))
        })
    }

    fn is_full(&self) -> bool {
        self.answer.is_full()
    }

    fn flush(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.answer.flush(host)
    }

    fn end(&mut self, end: ResultEnd) -> Result<(), SqlError> {
        self.is_open = false;
        if self.format == Format::Json {
            self.put(&format!("],\"warnings\":{}}}", end.warnings));
        }
        Ok(())
    }

    fn ok(&mut self, done: Done) -> Result<(), SqlError> {
        self.begin_result(done.status);
        write_done(&done, &mut self.answer.body);
        if self.format == Format::Ndjson {
            self.put("\n");
        }
        Ok(())
    }
}

/// As SQL names it, without length and character set.
pub fn type_name(ty: &SqlType) -> String {
    let name = match ty.kind {
        TypeKind::Null => "null",
        TypeKind::TinyInt => "tinyint",
        TypeKind::SmallInt => "smallint",
        TypeKind::MediumInt => "mediumint",
        TypeKind::Int => "int",
        TypeKind::BigInt => "bigint",
        TypeKind::Decimal => "decimal",
        TypeKind::Float => "float",
        TypeKind::Double => "double",
        TypeKind::Bit => "bit",
        TypeKind::Char => "char",
        TypeKind::VarChar => "varchar",
        TypeKind::Binary => "binary",
        TypeKind::VarBinary => "varbinary",
        TypeKind::TinyText => "tinytext",
        TypeKind::Text => "text",
        TypeKind::MediumText => "mediumtext",
        TypeKind::LongText => "longtext",
        TypeKind::TinyBlob => "tinyblob",
        TypeKind::Blob => "blob",
        TypeKind::MediumBlob => "mediumblob",
        TypeKind::LongBlob => "longblob",
        TypeKind::Date => "date",
        TypeKind::Time => "time",
        TypeKind::DateTime => "datetime",
        TypeKind::Timestamp => "timestamp",
        TypeKind::Year => "year",
        TypeKind::Enum => "enum",
        TypeKind::Set => "set",
        TypeKind::Json => "json",
    };
    match ty.unsigned {
        true => format!("{name} unsigned"),
        false => name.to_owned(),
    }
}
