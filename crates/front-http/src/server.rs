//! Who may ask, and how much: a bounded HTTP/1.1 server for three pages.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::metrics::exposition;
use crate::node::{Admission, BackupAnswer, BackupCall, Health, Node, Order, Purpose};
use crate::places::Places;
use crate::visitor::{Improper, Visitor};

const HEADER_BYTES_MAX: usize = 16 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(2);
/// One request and its answer; a login that has to wait its turn is the longest part of it.
const CONNECTION_LIFE_MAX: Duration = Duration::from_secs(10);
/// After a failed `accept` (out of descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until `shutdown` is done, then drops what is open: an answer is one small page.
pub async fn serve(listener: TcpListener, node: Arc<dyn Node>, shutdown: impl Future<Output = ()>) {
    let mut connections = JoinSet::new();
    let mut places = Places::default();
    tokio::pin!(shutdown);
    loop {
        let accepted = tokio::select! {
            () = &mut shutdown => return,
            accepted = listener.accept() => accepted,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, client)) => {
                let address = client.ip().to_canonical();
                places.make_room(address);
                places.take(
                    address,
                    connections.spawn(serve_connection(stream, client, Arc::clone(&node))),
                );
            }
            Err(error) => {
                warn!(%error, "cannot accept an HTTP connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, client: SocketAddr, node: Arc<dyn Node>) {
    let Ok(server) = stream.local_addr() else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let node = Arc::clone(&node);
        async move { Ok::<_, Infallible>(answer(&request, client, server, node.as_ref()).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(CONNECTION_LIFE_MAX, connection).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => debug!(%error, "HTTP connection ended"),
        Err(_) => debug!("HTTP connection closed: its time is over"),
    }
}

type Page = Response<Full<Bytes>>;

async fn answer(request: &Request<Incoming>, client: SocketAddr, server: SocketAddr, node: &dyn Node) -> Page {
    if request.method() == Method::POST
        && let Some(order) = Order::of(request.uri().path(), request.uri().query())
    {
        return match admit_owner(request, client, server, node).await {
            Err(refusal) => refusal,
            Ok(()) => match node.act(order).await {
                Ok(done) => json_page(StatusCode::OK, &json!({ "done": done })),
                Err(reason) => json_page(StatusCode::CONFLICT, &json!({ "error": reason })),
            },
        };
    }
    if request.method() == Method::POST
        && let Some(path) = request.uri().path().strip_prefix("/admin/backup/")
        && let Some(call) = BackupCall::of(path, request.uri().query())
    {
        return match admit(request, client, server, node, Purpose::BackUp).await {
            Err(refusal) => refusal,
            Ok(()) => match node.back_up(call).await {
                Ok(BackupAnswer::Records(records)) => page(StatusCode::OK, "application/octet-stream", records.into()),
                Ok(BackupAnswer::NotYet) => json_page(StatusCode::ACCEPTED, &json!({ "done": "ask again" })),
                Err(reason) => json_page(StatusCode::CONFLICT, &json!({ "error": reason })),
            },
        };
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        let mut page = json_page(
            StatusCode::METHOD_NOT_ALLOWED,
            &json!({ "error": "only GET and HEAD are answered" }),
        );
        page.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return page;
    }
    match request.uri().path() {
        "/health/leader" => match node.leads() {
            true => json_page(StatusCode::OK, &json!({ "leader": true })),
            false => json_page(StatusCode::SERVICE_UNAVAILABLE, &json!({ "leader": false })),
        },
        "/health" | "/health/ready" => match node.health() {
            Health::Serving => json_page(StatusCode::OK, &json!({ "status": "serving" })),
            Health::NotServing { reason } => json_page(
                StatusCode::SERVICE_UNAVAILABLE,
                &json!({ "status": "not serving", "reason": reason }),
            ),
        },
        path @ ("/status" | "/metrics") => match admit(request, client, server, node, Purpose::Look).await {
            Err(refusal) => refusal,
            Ok(()) if path == "/status" => json_page(StatusCode::OK, &node.status()),
            Ok(()) => metrics(node),
        },
        _ => json_page(
            StatusCode::NOT_FOUND,
            &json!({ "error": "not found", "pages": ["/health", "/health/ready", "/health/leader", "/status", "/metrics"] }),
        ),
    }
}

/// Err: the page that says why not.
async fn admit(
    request: &Request<Incoming>,
    client: SocketAddr,
    server: SocketAddr,
    node: &dyn Node,
    purpose: Purpose,
) -> Result<(), Page> {
    let privilege = purpose.privilege();
    let error = |status, text: &str| json_page(status, &json!({ "error": text }));
    let visitor = Visitor::of(request.headers(), client, server).map_err(|improper| match improper {
        Improper::Host => error(
            StatusCode::FORBIDDEN,
            "without a login, the Host of a request is localhost or an address",
        ),
        Improper::Authorization => error(StatusCode::BAD_REQUEST, "the Authorization header is not Basic"),
    })?;
    match node.admit(visitor, purpose).await {
        Admission::Welcome => Ok(()),
        Admission::Login => {
            let mut page = error(
                StatusCode::UNAUTHORIZED,
                &format!(
                    "log in as an account with the privilege {privilege}, or ask as the user who runs the node, over loopback"
                ),
            );
            let scheme = HeaderValue::from_static("Basic realm=\"LatsDB\", charset=\"UTF-8\"");
            page.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            Err(page)
        }
        Admission::Forbidden => Err(error(
            StatusCode::FORBIDDEN,
            &match purpose {
                Purpose::Look => format!("the account has not the privilege {privilege}"),
                Purpose::BackUp => format!(
                    "backups are given over loopback, to accounts with the privilege {privilege}, or to the user who runs the node"
                ),
            },
        )),
        Admission::Later => Err(error(StatusCode::TOO_MANY_REQUESTS, "too many failed logins")),
    }
}

/// Orders are taken from the user who runs the node alone.
async fn admit_owner(
    request: &Request<Incoming>,
    client: SocketAddr,
    server: SocketAddr,
    node: &dyn Node,
) -> Result<(), Page> {
    if request.headers().contains_key(hyper::header::AUTHORIZATION) {
        let error =
            json!({ "error": "orders are taken from the user who runs the node, over loopback, without a login" });
        return Err(json_page(StatusCode::FORBIDDEN, &error));
    }
    admit(request, client, server, node, Purpose::Look).await
}

fn metrics(node: &dyn Node) -> Page {
    match exposition(node.figures()) {
        Ok(text) => page(
            StatusCode::OK,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text.into(),
        ),
        Err(error) => json_page(
            StatusCode::INTERNAL_SERVER_ERROR,
            &json!({ "error": error.to_string() }),
        ),
    }
}

fn json_page(status: StatusCode, value: &impl Serialize) -> Page {
    match serde_json::to_vec(value) {
        Ok(body) => page(status, "application/json", body.into()),
        Err(error) => page(
            StatusCode::INTERNAL_SERVER_ERROR,
            "text/plain",
            error.to_string().into(),
        ),
    }
}

fn page(status: StatusCode, content_type: &'static str, body: Bytes) -> Page {
    let mut page = Response::new(Full::new(body));
    *page.status_mut() = status;
    let headers = page.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    page
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::node::{Figures, MemoryStatus, Status};

    struct Stub {
        health: Health,
    }

    impl Node for Stub {
        /// `app` may see the server, `low` may not; without a login everybody may.
        fn admit(&self, visitor: Visitor, purpose: Purpose) -> Pin<Box<dyn Future<Output = Admission> + Send + '_>> {
            Box::pin(async move {
                let Some(login) = visitor.credentials else {
                    return Admission::Welcome;
                };
                match (&*login.user, &*login.password) {
                    ("app", b"secret") if purpose == Purpose::Look => Admission::Welcome,
                    ("keeper", b"secret") => Admission::Welcome,
                    ("app", b"secret") => Admission::Forbidden,
                    ("low", b"secret") => Admission::Forbidden,
                    ("attacked", _) => Admission::Later,
                    _ => Admission::Login,
                }
            })
        }

        fn health(&self) -> Health {
            self.health.clone()
        }

        fn leads(&self) -> bool {
            self.health == Health::Serving
        }

        fn act(&self, order: Order) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + '_>> {
            Box::pin(std::future::ready(match order {
                Order::Drain => Err("not now".to_owned()),
                order => Ok(format!("{order:?}")),
            }))
        }

        fn status(&self) -> Status {
            Status {
                version: "0.1.0".into(),
                node_id: 1,
                uptime_seconds: 5,
                state: "serving".into(),
                durability: "majority_disk".into(),
                data_dir: "latsdb-data".into(),
                level: 1,
                nodes: Vec::new(),
                shards: Vec::new(),
                memory: MemoryStatus {
                    used_bytes: 1,
                    limit_bytes: 2,
                },
                connections: 0,
            }
        }

        fn back_up(&self, call: BackupCall) -> Pin<Box<dyn Future<Output = Result<BackupAnswer, String>> + Send + '_>> {
            Box::pin(std::future::ready(match call {
                BackupCall::Begin { earlier: None, .. } => Ok(BackupAnswer::NotYet),
                BackupCall::Mark => Err("not now".to_owned()),
                call => Ok(BackupAnswer::Records(format!("{call:?}").into_bytes())),
            }))
        }

        fn figures(&self) -> Figures {
            Figures {
                connections_open: 9,
                ..Figures::default()
            }
        }
    }

    /// The server's whole answer to `request`, connection closed by the server or by us.
    async fn ask(health: Health, request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server = serve(listener, Arc::new(Stub { health }), async {
            stopped.await.ok();
        });
        let client = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            stop.send(()).unwrap();
            answer
        };
        tokio::join!(server, client).1
    }

    fn get(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    }

    #[tokio::test]
    async fn health_is_200_while_serving_and_503_with_the_reason_otherwise() {
        for page in ["/health", "/health/ready", "/health/leader"] {
            let well = ask(Health::Serving, &get(page)).await;
            assert!(well.starts_with("HTTP/1.1 200 OK"), "{well}");
        }
        let ill = ask(
            Health::NotServing {
                reason: "the log's disk failed".into(),
            },
            &get("/health"),
        )
        .await;
        assert!(ill.starts_with("HTTP/1.1 503"), "{ill}");
        assert!(
            ill.ends_with(r#"{"reason":"the log's disk failed","status":"not serving"}"#),
            "{ill}"
        );
    }

    #[tokio::test]
    async fn status_and_metrics_are_answered() {
        let status = ask(Health::Serving, &get("/status")).await;
        let body = status.split("\r\n\r\n").nth(1).unwrap();
        let status: Status = serde_json::from_str(body).unwrap();
        assert_eq!(status.memory.limit_bytes, 2);
        assert!(
            ask(Health::Serving, &get("/metrics"))
                .await
                .contains("latsdb_connections_open 9\n")
        );
    }

    #[tokio::test]
    async fn backups_are_given_to_those_who_may_have_them() {
        let post = |target: &str, login: &str| {
            let login = match login {
                "" => String::new(),
                login => format!("authorization: Basic {login}\r\n"),
            };
            format!(
                "POST /admin/backup/{target} HTTP/1.1\r\nhost: localhost\r\n{login}content-length: 0\r\nconnection: close\r\n\r\n"
            )
        };
        let (app, keeper) = ("YXBwOnNlY3JldA==", "a2VlcGVyOnNlY3JldA==");
        let asked =
            |target: &'static str, login: &'static str| async move { ask(Health::Serving, &post(target, login)).await };
        let given = asked("log?term=3&index=9", keeper).await;
        assert!(given.ends_with("Log { term: 3, index: 9 }"), "{given}");
        assert!(asked("log?term=3&index=9", app).await.starts_with("HTTP/1.1 403"));
        assert!(asked("begin?backup=1", "").await.starts_with("HTTP/1.1 202"));
        assert!(asked("mark", "").await.starts_with("HTTP/1.1 409"));
        for nonsense in ["log?term=3", "log?term=x&index=-1", "chunk", "everything"] {
            let refused = asked(nonsense, "").await;
            assert!(refused.starts_with("HTTP/1.1 405"), "{nonsense}: {refused}");
        }
    }

    #[tokio::test]
    async fn other_pages_and_methods_are_refused() {
        assert!(
            ask(Health::Serving, &get("/etc/passwd"))
                .await
                .starts_with("HTTP/1.1 404")
        );
        let post = "POST /status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert!(ask(Health::Serving, post).await.starts_with("HTTP/1.1 405"));
    }

    #[tokio::test]
    async fn garbage_and_endless_headers_end_the_connection() {
        assert!(
            ask(Health::Serving, "\x16\x03\x01 no http at all\r\n\r\n")
                .await
                .starts_with("HTTP/1.1 400")
        );
        let endless = format!("GET / HTTP/1.1\r\nx: {}\r\n", "y".repeat(HEADER_BYTES_MAX + 1));
        assert!(ask(Health::Serving, &endless).await.starts_with("HTTP/1.1 431"));
    }
}
