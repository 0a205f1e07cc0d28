//! POST /v1/batch: operations as one transaction.

use serde::Deserialize;
use sql_api::host::Host;

use crate::answer::Answer;
use crate::change::{Changed, GivenRow, write_changed};
use crate::client::Client;
use crate::etag::Condition;
use crate::json::{self, Given, List};
use crate::problem::Problem;
use crate::read::table_of;
use crate::routes::Task;
use crate::transactions;

/// Operations of one request.
const OPERATIONS_MAX: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    operations: List<Operation>,
    transaction: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Insert,
    Put,
    Patch,
    Delete,
    Sql,
}

/// What of it is needed depends on its kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Operation {
    op: Kind,
    database: Option<String>,
    table: Option<String>,
    key: Option<Given>,
    row: Option<GivenRow>,
    rows: Option<List<GivenRow>>,
    if_match: Option<String>,
    if_none_match: Option<String>,
    sql: Option<String>,
    #[serde(default)]
    parameters: List<Given>,
}

pub fn run(client: &mut Client, task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let body: Body = task.request.json()?;
    if let Some(id) = &body.transaction
        && !client.is_transaction
    {
        return transactions::forward_to(client, task, id, "/v1/batch", answer);
    }
    if body.operations.len() > OPERATIONS_MAX {
        return Err(Problem::new(
            413,
            "too-many-operations",
            "The request asks for too much",
            format!("{OPERATIONS_MAX} operations are done at once"),
        ));
    }
    let results = client.atomically(task.host, |client| {
        let each = body.operations.iter().enumerate().map(|(at, operation)| {
            governor::tick().map_err(types::SqlError::from)?;
            run_one(client, operation, task.host).map_err(|problem| Problem {
                operation: Some(at),
                ..problem
            })
        });
        each.collect::<Result<Vec<Changed>, Problem>>()
    })?;
    answer.body.extend_from_slice(b"{\"results\":[");
    for (at, changed) in results.iter().enumerate() {
        if at > 0 {
            answer.body.push(b',');
        }
        write_changed(changed, &mut answer.body);
    }
    answer.body.extend_from_slice(b"]}");
    Ok(())
}

fn run_one(client: &mut Client, operation: &Operation, host: &dyn Host) -> Result<Changed, Problem> {
    let missing = |what: &str| Problem::bad_request(format!("the operation has no {what}"));
    if operation.op == Kind::Sql {
        let text = operation.sql.as_deref().ok_or_else(|| missing("sql"))?;
        return run_statement(client, text, &operation.parameters, host);
    }
    let table = operation.table.as_deref().ok_or_else(|| missing("table"))?;
    let (database, table) = table_of(operation.database.as_deref(), table)?;
    if operation.op == Kind::Insert {
        return match (&operation.row, &operation.rows) {
            (Some(row), None) => client.insert(database, table, std::slice::from_ref(row), host),
            (None, Some(rows)) => client.insert(database, table, rows, host),
            _ => Err(Problem::bad_request("an insert has a row, or rows")),
        };
    }
    let key = operation.key.as_ref().ok_or_else(|| missing("key"))?;
    let target = client.target(database, table, key, host)?;
    let condition = Condition::new(operation.if_match.clone(), operation.if_none_match.clone());
    let row = || operation.row.as_ref().ok_or_else(|| missing("row"));
    match operation.op {
        Kind::Put => client.put(&target, row()?, &condition, host),
        Kind::Patch => client.patch(&target, row()?, &condition, host),
        Kind::Insert | Kind::Delete | Kind::Sql => client.delete(&target, &condition, host),
    }
}

fn run_statement(client: &mut Client, text: &str, parameters: &[Given], host: &dyn Host) -> Result<Changed, Problem> {
    let values = parameters.iter().map(|given| json::value_of(given));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    client.is_used = true;
    let done = client.run(text, &values, host)?.done;
    if !client.in_transaction() {
        return Err(Problem::bad_request(
            "a statement of a batch has ended its transaction: what came before it is committed",
        ));
    }
    Ok(Changed {
        created: false,
        rows: done.affected_rows,
        last_insert_id: done.last_insert_id,
    })
}
