//! GET /v1/openapi.json: the operations as OpenAPI 3.1, made from the table that dispatches.

use serde_json::{Map, Value as Json, json};

use crate::answer::Answer;
use crate::client::Client;
use crate::problem::{CONTENT_TYPE, Problem};
use crate::routes::{Kind, ROUTES, Route, Task};

const SCHEMAS: &str = include_str!("schemas.json");

pub fn show(_client: &mut Client, _task: &Task<'_>, answer: &mut Answer<'_>) -> Result<(), Problem> {
    let text = document().to_string();
    answer.body.extend_from_slice(text.as_bytes());
    Ok(())
}

fn document() -> Json {
    let mut paths: Map<String, Json> = Map::new();
    let mut add = |path: String, route: &Route, id: String| {
        let operations = paths.entry(path.clone()).or_insert_with(|| json!({}));
        operations[route.method.to_lowercase()] = operation(&path, route, &id);
    };
    for route in ROUTES {
        let is_forwarding = route.path.ends_with("...}");
        if !is_forwarding && !is_end(route) {
            add(route.path.to_owned(), route, route.id.to_owned());
        }
        if is_in_transactions(route.path) {
            let path = format!("/v1/transactions/{{transaction}}{}", &route.path["/v1".len()..]);
            add(path, route, format!("{}InTransaction", route.id));
        }
    }
    let schemas: Json = serde_json::from_str(SCHEMAS).expect("the schemas are JSON");
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "LatsDB",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Tables, SQL and transactions over HTTP. Errors are problem details (RFC 9457).",
            "license": { "name": "Apache 2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "basic": [] }, { "bearer": [] }, {}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "basic": { "type": "http", "scheme": "basic" },
                "bearer": { "type": "http", "scheme": "bearer" },
            },
            "schemas": schemas,
        },
    })
}

fn is_end(route: &Route) -> bool {
    matches!(route.path, "/v1/commit" | "/v1/rollback")
}

/// Whether an operation may be done within a transaction: its path, or what stands behind /v1 of it.
pub fn is_in_transactions(path: &str) -> bool {
    const OPERATIONS: [&str; 7] = ["tables", "read", "features", "batch", "sql", "commit", "rollback"];
    let rest = path.strip_prefix("/v1/").unwrap_or_default();
    let first = rest.split('/').next().unwrap_or_default();
    OPERATIONS.contains(&first)
}

fn operation(path: &str, route: &Route, id: &str) -> Json {
    let mut parameters = Vec::new();
    for segment in path.split('/') {
        if let Some(name) = segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            parameters.push(json!({
                "name": name, "in": "path", "required": true, "schema": { "type": "string" },
                "description": described(name),
            }));
        }
    }
    for name in route.query {
        let schema = match *name {
            "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 10000 }),
            "order" => json!({ "type": "string", "enum": ["asc", "desc"] }),
            "numbers" => json!({ "type": "string", "enum": ["exact", "string"] }),
            _ => json!({ "type": "string" }),
        };
        parameters.push(json!({ "name": name, "in": "query", "schema": schema, "description": described(name) }));
    }
    let mut headers = Vec::new();
    if path.ends_with("/{key}") {
        headers.push(if route.kind == Kind::Write {
            "If-Match"
        } else {
            "If-None-Match"
        });
    }
    if route.kind == Kind::Write && !path.starts_with("/v1/transactions/") {
        headers.push("Idempotency-Key");
    }
    for name in headers {
        parameters.push(json!({ "name": name, "in": "header", "schema": { "type": "string" } }));
    }
    let reference = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let content = |name: &str| json!({ "application/json": { "schema": reference(name) } });
    let (status, schema) = route.answer;
    let mut done = json!({ "description": "Done" });
    if let Some(schema) = schema {
        done["content"] = content(schema);
    }
    let mut responses = json!({
        "default": { "description": "Not done", "content": { CONTENT_TYPE: { "schema": reference("Problem") } } },
    });
    responses[status.to_string()] = done;
    if route.id == "putRow" {
        responses["201"] = json!({ "description": "A new row", "content": content("Changed") });
    }
    let mut operation = json!({
        "operationId": id,
        "summary": route.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if let Some(body) = route.body {
        let is_optional = matches!(body, "TransactionRequest" | "TokenRequest");
        operation["requestBody"] = json!({ "required": !is_optional, "content": content(body) });
    }
    operation
}

fn described(name: &str) -> &'static str {
    match name {
        "key" => "The primary key; the values of a composite one with commas between them, commas within as %2C",
        "columns" => "Names of columns, with commas between them",
        "numbers" => "exact: decimals as numbers; string: 64-bit integers as strings, too",
        "index" => "The index whose order the rows come in; the primary key by default",
        "from" => "At or beyond these values of the index's leading columns",
        "to" => "Before these values of the index's leading columns",
        "prefix" => "With these values of the leading columns; the last of them may be the beginning of a text",
        "order" => "The index's order, or the opposite",
        "limit" => "Rows of a page",
        "after" => "`next` of the page before",
        "transaction" => "The transaction's id",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_is_named_is_there() {
        let text = document().to_string();
        let document: Json = serde_json::from_str(&text).expect("JSON");
        let schemas = &document["components"]["schemas"];
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap_or_default();
            assert!(schemas.get(name).is_some(), "{name}");
        }
        let paths = document["paths"].as_object().expect("paths");
        assert!(paths.contains_key("/v1/transactions/{transaction}/commit") && !paths.contains_key("/v1/commit"));
    }
}
