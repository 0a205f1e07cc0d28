//! The node's own pages: `/health`, `/status` with its history, `/metrics`, orders of an operator, parts of backups.

use front::Peer;
use http_wire::Headers;
use http_wire::target::Target;
use serde::Serialize;
use serde_json::json;
use sql_api::login::Certificate;
use sql_api::session::Encryption;

use crate::metrics::exposition;
use crate::node::{Admission, BackupAnswer, BackupCall, Health, Node, Order, Purpose};
use crate::visitor::{Improper, NOT_DIRECT, OF_ANOTHER_SITE, Visitor};

/// One of them, as it is answered.
pub struct Page {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    /// One header more.
    pub header: Option<(&'static str, &'static str)>,
}

/// Who asks for what.
pub struct Asked<'a> {
    pub method: &'a [u8],
    pub target: Target<'a>,
    pub headers: Headers<'a>,
    pub line: Line<'a>,
    /// What the token is good for that the request shows. None: it shows none.
    pub by_token: Option<Admission>,
}

/// What the request came by.
pub struct Line<'a> {
    pub peer: &'a Peer,
    /// None: as plain text.
    pub encryption: Option<Encryption>,
    pub certificate: Option<Certificate>,
}

pub async fn answer(asked: Asked<'_>, node: &dyn Node) -> Page {
    let Target { path, query } = asked.target;
    let query = (!query.is_empty()).then_some(query);
    if asked.method == b"POST"
        && let Some(order) = Order::of(path, query)
    {
        return match admit_owner(&asked, node).await {
            Err(refusal) => refusal,
            Ok(()) => match node.act(order).await {
                Ok(done) => json_page(200, &json!({ "done": done })),
                Err(reason) => json_page(409, &json!({ "error": reason })),
            },
        };
    }
    if asked.method == b"POST"
        && let Some(rest) = path.strip_prefix("/admin/backup/")
        && let Some(call) = BackupCall::of(rest, query)
    {
        return match admit(&asked, node, Purpose::BackUp).await {
            Err(refusal) => refusal,
            Ok(()) => match node.back_up(call).await {
                Ok(BackupAnswer::Records(records)) => page(200, "application/octet-stream", records),
                Ok(BackupAnswer::NotYet) => json_page(202, &json!({ "done": "ask again" })),
                Err(reason) => json_page(409, &json!({ "error": reason })),
            },
        };
    }
    if !matches!(asked.method, b"GET" | b"HEAD") {
        return Page {
            header: Some(("allow", "GET, HEAD")),
            ..json_page(405, &json!({ "error": "only GET and HEAD are answered" }))
        };
    }
    match path {
        "/health/leader" => match node.leads() {
            true => json_page(200, &json!({ "leader": true })),
            false => unavailable(&json!({ "leader": false })),
        },
        "/health" | "/health/ready" => match node.health() {
            Health::Serving => json_page(200, &json!({ "status": "serving" })),
            Health::NotServing { reason } => unavailable(&json!({ "status": "not serving", "reason": reason })),
        },
        "/status" | "/status/history" | "/metrics" => match admit(&asked, node, Purpose::Look).await {
            Err(refusal) => refusal,
            Ok(()) if path == "/status" => json_page(200, &node.status()),
            Ok(()) if path == "/metrics" => metrics(node),
            Ok(()) => history(node, query),
        },
        _ => json_page(
            404,
            &json!({
                "error": "not found",
                "pages": ["/", "/health", "/health/ready", "/health/leader", "/status", "/status/history", "/metrics", "/v1/openapi.json"]
            }),
        ),
    }
}

/// Err: the page that says why not.
async fn admit(asked: &Asked<'_>, node: &dyn Node, purpose: Purpose) -> Result<(), Page> {
    let privilege = purpose.privilege();
    let error = |status, text: &str| json_page(status, &json!({ "error": text }));
    let admission = match asked.by_token {
        Some(admission) if purpose == Purpose::Look => admission,
        Some(_) => Admission::Forbidden,
        None => {
            let visitor = Visitor::of(asked.headers, &asked.line).map_err(|improper| match improper {
                Improper::Host => error(403, NOT_DIRECT),
                Improper::Site => error(403, OF_ANOTHER_SITE),
                Improper::Authorization => error(400, "the Authorization header is neither Basic nor Bearer"),
            })?;
            node.admit(visitor, purpose).await
        }
    };
    match admission {
        Admission::Welcome => Ok(()),
        Admission::Login => Err(Page {
            header: Some(("www-authenticate", "Basic realm=\"LatsDB\", charset=\"UTF-8\"")),
            ..error(
                401,
                &format!(
                    "log in as an account with the privilege {privilege}, or ask as the user who runs the node, over loopback"
                ),
            )
        }),
        Admission::Forbidden => Err(error(
            403,
            &match purpose {
                Purpose::Look => format!("the account has not the privilege {privilege}"),
                Purpose::BackUp => format!(
                    "backups are given over loopback, to accounts with the privilege {privilege}, or to the user who runs the node"
                ),
            },
        )),
        Admission::Later => Err(error(429, "too many failed logins")),
    }
}

/// Orders are taken from the user who runs the node alone.
async fn admit_owner(asked: &Asked<'_>, node: &dyn Node) -> Result<(), Page> {
    if asked.headers.get("authorization").is_some() {
        let error =
            json!({ "error": "orders are taken from the user who runs the node, over loopback, without a login" });
        return Err(json_page(403, &error));
    }
    admit(asked, node, Purpose::Look).await
}

fn metrics(node: &dyn Node) -> Page {
    match exposition(node.figures()) {
        Ok(text) => page(
            200,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text.into(),
        ),
        Err(error) => json_page(500, &json!({ "error": error.to_string() })),
    }
}

/// `?since=` leaves out what the asker has already.
fn history(node: &dyn Node, query: Option<&str>) -> Page {
    let since = query.and_then(|query| query.strip_prefix("since=")).unwrap_or("0");
    match since.parse::<f64>() {
        Ok(since) => json_page(200, &node.history().since(since)),
        Err(_) => json_page(400, &json!({ "error": "since is a number of seconds since 1970" })),
    }
}

/// For the moment.
fn unavailable(why: &impl Serialize) -> Page {
    Page {
        header: Some(("retry-after", "1")),
        ..json_page(503, why)
    }
}

fn json_page(status: u16, value: &impl Serialize) -> Page {
    match serde_json::to_vec(value) {
        Ok(body) => page(status, "application/json", body),
        Err(error) => page(500, "text/plain", error.to_string().into()),
    }
}

fn page(status: u16, content_type: &'static str, body: Vec<u8>) -> Page {
    Page {
        status,
        content_type,
        body,
        header: None,
    }
}
