//! All operations: which request asks for which, who answers it, and what is said of it in the OpenAPI document. There is no route without a
//! description, and none described that is not there.

use std::borrow::Cow;

use sql_api::host::Host;

use crate::answer::Answer;
use crate::client::Client;
use crate::problem::Problem;
use crate::request::{Request, segment};
use crate::{batch, change, features, listing, openapi, read, rows, statements, tables, tokens, transactions};

/// Segments of a path that stand for something.
const PARAMETERS_MAX: usize = 3;

/// A request on its way through its handler.
pub struct Task<'a> {
    pub request: &'a Request<'a>,
    /// Not decoded.
    pub parameters: [&'a str; PARAMETERS_MAX],
    pub host: &'a dyn Host,
}

impl<'a> Task<'a> {
    /// A parameter of the path, decoded.
    pub fn segment(&self, at: usize) -> Result<Cow<'a, str>, Problem> {
        segment(self.parameters[at])
    }
}

pub type Handler = fn(&mut Client, &Task<'_>, &mut Answer<'_>) -> Result<(), Problem>;

/// What a request means for one that is sent twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    /// Takes an `Idempotency-Key`.
    Write,
    /// Changes something, and takes none.
    Other,
}

/// One operation.
pub struct Route {
    pub method: &'static str,
    /// `{name}` is a segment, `{name...}` all that follow.
    pub path: &'static str,
    pub kind: Kind,
    pub run: Handler,
    /// The name of the operation for generated clients.
    pub id: &'static str,
    pub summary: &'static str,
    /// Parameters of the query.
    pub query: &'static [&'static str],
    /// The body's schema.
    pub body: Option<&'static str>,
    /// What a request that is done is answered with: status and schema.
    pub answer: (u16, Option<&'static str>),
}

const LIST: &[&str] = &[
    "index", "from", "to", "prefix", "order", "limit", "after", "columns", "numbers",
];

macro_rules! route {
    ($method:literal $path:literal, $kind:ident, $run:expr, $id:literal, $query:expr, $body:expr, $answer:expr, $summary:literal) => {
        Route {
            method: $method,
            path: $path,
            kind: Kind::$kind,
            run: $run,
            id: $id,
            summary: $summary,
            query: $query,
            body: $body,
            answer: $answer,
        }
    };
}

#[rustfmt::skip]
pub static ROUTES: &[Route] = &[
    route!("GET" "/v1/tables/{database}/{table}/rows/{key}", Read, rows::get, "getRow",
        &["columns", "numbers"], None, (200, Some("Row")), "A row by its primary key"),
    route!("PUT" "/v1/tables/{database}/{table}/rows/{key}", Write, change::put, "putRow",
        &[], Some("Row"), (204, None), "Puts a row in the place of the one with this key: 201 where there was none"),
    route!("PATCH" "/v1/tables/{database}/{table}/rows/{key}", Write, change::patch, "patchRow",
        &[], Some("Row"), (204, None), "Changes some columns of a row"),
    route!("DELETE" "/v1/tables/{database}/{table}/rows/{key}", Write, change::delete, "deleteRow",
        &[], None, (204, None), "Removes a row"),
    route!("GET" "/v1/tables/{database}/{table}/rows", Read, listing::list, "listRows",
        LIST, None, (200, Some("RowPage")), "Rows in the order of an index, page by page"),
    route!("POST" "/v1/tables/{database}/{table}/rows", Write, change::insert, "insertRows",
        &[], Some("RowOrRows"), (201, Some("Changed")), "Adds a row, or many as one transaction"),
    route!("GET" "/v1/tables/{database}/{table}", Read, tables::show, "getTable",
        &[], None, (200, Some("Table")), "What a table is made of"),
    route!("GET" "/v1/tables", Read, tables::list, "listTables",
        &[], None, (200, Some("TableList")), "The tables that the account may see"),
    route!("POST" "/v1/read", Read, read::many, "readMany",
        &[], Some("ReadRequest"), (200, Some("ReadResponse")), "Many keys of many tables, in one snapshot"),
    route!("POST" "/v1/features", Read, features::vectors, "getFeatures",
        &[], Some("FeatureRequest"), (200, Some("FeatureResponse")), "Feature vectors from several tables by the keys of entities, in one snapshot"),
    route!("POST" "/v1/batch", Write, batch::run, "runBatch",
        &[], Some("BatchRequest"), (200, Some("BatchResponse")), "Operations as one transaction"),
    route!("POST" "/v1/sql", Write, statements::run, "runSql",
        &[], Some("SqlRequest"), (200, Some("SqlResponse")), "A statement with parameters; rows are streamed"),
    route!("POST" "/v1/transactions", Other, transactions::begin, "beginTransaction",
        &[], Some("TransactionRequest"), (201, Some("Transaction")), "Begins a transaction over several requests"),
    route!("POST" "/v1/commit", Other, transactions::commit, "commit",
        &[], None, (200, Some("Ended")), "Commits; only under /v1/transactions/{transaction}/"),
    route!("POST" "/v1/rollback", Other, transactions::roll_back, "rollback",
        &[], None, (200, Some("Ended")), "Rolls back; only under /v1/transactions/{transaction}/"),
    route!("GET" "/v1/transactions/{transaction}/{operation...}", Read, transactions::forward, "getInTransaction",
        &[], None, (200, None), "An operation, in the transaction"),
    route!("POST" "/v1/transactions/{transaction}/{operation...}", Other, transactions::forward, "postInTransaction",
        &[], Some("Any"), (200, None), "An operation, in the transaction: sql, batch, read, tables/…, commit, rollback"),
    route!("PUT" "/v1/transactions/{transaction}/{operation...}", Other, transactions::forward, "putInTransaction",
        &[], Some("Any"), (200, None), "An operation, in the transaction"),
    route!("PATCH" "/v1/transactions/{transaction}/{operation...}", Other, transactions::forward, "patchInTransaction",
        &[], Some("Any"), (200, None), "An operation, in the transaction"),
    route!("DELETE" "/v1/transactions/{transaction}/{operation...}", Other, transactions::forward, "deleteInTransaction",
        &[], None, (200, None), "An operation, in the transaction"),
    route!("GET" "/v1/tokens", Read, tokens::list, "listTokens",
        &[], None, (200, Some("TokenList")), "The tokens of the account"),
    route!("POST" "/v1/tokens", Other, tokens::create, "createToken",
        &[], Some("TokenRequest"), (201, Some("Token")), "Makes a token, which is shown once"),
    route!("DELETE" "/v1/tokens/{id}", Other, tokens::delete, "deleteToken",
        &[], None, (204, None), "Ends a token"),
    route!("GET" "/v1/openapi.json", Read, openapi::show, "getOpenApi",
        &[], None, (200, Some("Any")), "This description"),
];

/// The operation that a request asks for. 404, 405.
pub fn find<'p>(method: &[u8], path: &'p str) -> Result<(&'static Route, [&'p str; PARAMETERS_MAX]), Problem> {
    let method: &[u8] = if method == b"HEAD" { b"GET" } else { method };
    let mut others = Vec::new();
    for route in ROUTES {
        let is_asked = route.method.as_bytes() == method;
        // Other methods are of interest only where there is no operation.
        if is_asked && let Some(parameters) = matches(route.path, path) {
            return Ok((route, parameters));
        }
    }
    for route in ROUTES {
        if matches(route.path, path).is_some() {
            others.push(route.method);
        }
    }
    match others.is_empty() {
        true => Err(Problem::not_found(
            "there is no operation at this path; see /v1/openapi.json",
        )),
        false => Err(Problem::new(
            405,
            "method-not-allowed",
            "The path takes other methods",
            format!("it takes {}", others.join(", ")),
        )
        .with_header("allow", others.join(", "))),
    }
}

/// What stands for the parameters of a template.
fn matches<'p>(template: &str, path: &'p str) -> Option<[&'p str; PARAMETERS_MAX]> {
    let (mut parameters, mut count) = ([""; PARAMETERS_MAX], 0);
    let mut rest = path.strip_prefix('/')?;
    let mut parts = template[1..].split('/').peekable();
    while let Some(part) = parts.next() {
        if part.ends_with("...}") {
            parameters[count] = rest;
            return (!rest.is_empty()).then_some(parameters);
        }
        let (segment, after) = match rest.split_once('/') {
            Some((segment, after)) => (segment, Some(after)),
            None => (rest, None),
        };
        if part.starts_with('{') {
            if segment.is_empty() {
                return None;
            }
            parameters[count] = segment;
            count += 1;
        } else if part != segment {
            return None;
        }
        match (after, parts.peek()) {
            (Some(after), Some(_)) => rest = after,
            (None, None) => return Some(parameters),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str) -> Result<(&'static str, Vec<String>), u16> {
        let (route, parameters) = find(method.as_bytes(), path).map_err(|problem| problem.status)?;
        let given = parameters.iter().filter(|parameter| !parameter.is_empty());
        Ok((route.id, given.map(|parameter| (*parameter).to_owned()).collect()))
    }

    #[test]
    fn paths_lead_to_operations() {
        assert_eq!(
            found("GET", "/v1/tables/a/b/rows/1,2"),
            Ok(("getRow", vec!["a".into(), "b".into(), "1,2".into()]))
        );
        assert_eq!(
            found("HEAD", "/v1/tables/a/b/rows"),
            Ok(("listRows", vec!["a".into(), "b".into()]))
        );
        assert_eq!(
            found("POST", "/v1/transactions/x/tables/a/b/rows"),
            Ok(("postInTransaction", vec!["x".into(), "tables/a/b/rows".into()]))
        );
        assert_eq!(found("POST", "/v1/transactions"), Ok(("beginTransaction", vec![])));
        for path in [
            "/v1/tables/a",
            "/v1/tables//b",
            "/v1/",
            "/v1/tables/",
            "/v1/transactions/x/",
            "/v2/tables",
        ] {
            assert_eq!(found("GET", path), Err(404), "{path}");
        }
        assert_eq!(found("DELETE", "/v1/tables"), Err(405));
    }

    #[test]
    fn operations_have_names_of_their_own() {
        let mut ids: Vec<_> = ROUTES.iter().map(|route| route.id).collect();
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
        for route in ROUTES {
            assert!(route.path.matches('{').count() <= PARAMETERS_MAX, "{}", route.path);
        }
    }
}
