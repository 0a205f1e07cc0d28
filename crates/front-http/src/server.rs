//! Who may ask, and how much: a bounded HTTP/1.1 server for three pages.

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::{debug, warn};

use crate::metrics::exposition;
use crate::node::{Health, Node};

const CONNECTIONS_MAX: usize = 64;
const HEADER_BYTES_MAX: usize = 16 * 1024;
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// No page takes longer, and a client that wants more connects again.
const CONNECTION_LIFE_MAX: Duration = Duration::from_secs(60);
/// After a failed `accept` (out of descriptors), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until `shutdown` is done, then drops what is open: an answer is one small page.
pub async fn serve(listener: TcpListener, node: Arc<dyn Node>, shutdown: impl Future<Output = ()>) {
    let mut connections = JoinSet::new();
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    tokio::pin!(shutdown);
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let (stream, place) = tokio::select! {
            () = &mut shutdown => return,
            (stream, place) = async { (listener.accept().await, place.await) } => (stream, place),
        };
        while connections.try_join_next().is_some() {}
        match stream {
            Ok((stream, _)) => {
                let node = Arc::clone(&node);
                connections.spawn(async move {
                    serve_connection(stream, node).await;
                    drop(place);
                });
            }
            Err(error) => {
                warn!(%error, "cannot accept an HTTP connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, node: Arc<dyn Node>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let response = answer(request.method(), request.uri().path(), node.as_ref());
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
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

fn answer(method: &Method, path: &str, node: &dyn Node) -> Page {
    if method != Method::GET && method != Method::HEAD {
        let mut page = json_page(
            StatusCode::METHOD_NOT_ALLOWED,
            &json!({ "error": "only GET and HEAD are answered" }),
        );
        page.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return page;
    }
    match path {
        "/health" => match node.health() {
            Health::Serving => json_page(StatusCode::OK, &json!({ "status": "serving" })),
            Health::NotServing { reason } => json_page(
                StatusCode::SERVICE_UNAVAILABLE,
                &json!({ "status": "not serving", "reason": reason }),
            ),
        },
        "/status" => json_page(StatusCode::OK, &node.status()),
        "/metrics" => match exposition(node.figures()) {
            Ok(text) => page(
                StatusCode::OK,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                text.into(),
            ),
            Err(error) => json_page(
                StatusCode::INTERNAL_SERVER_ERROR,
                &json!({ "error": error.to_string() }),
            ),
        },
        _ => json_page(
            StatusCode::NOT_FOUND,
            &json!({ "error": "not found", "pages": ["/health", "/status", "/metrics"] }),
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
    page.headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    page
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::node::{Figures, MemoryStatus, Status};

    struct Stub {
        health: Health,
    }

    impl Node for Stub {
        fn health(&self) -> Health {
            self.health.clone()
        }

        fn status(&self) -> Status {
            Status {
                version: "0.1.0".into(),
                uptime_seconds: 5,
                state: "serving".into(),
                durability: "majority_disk".into(),
                data_dir: "latsdb-data".into(),
                nodes: Vec::new(),
                shards: Vec::new(),
                memory: MemoryStatus {
                    used_bytes: 1,
                    limit_bytes: 2,
                },
                connections: 0,
            }
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
        format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
    }

    #[tokio::test]
    async fn health_is_200_while_serving_and_503_with_the_reason_otherwise() {
        let well = ask(Health::Serving, &get("/health")).await;
        assert!(well.starts_with("HTTP/1.1 200 OK"), "{well}");
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
    async fn other_pages_and_methods_are_refused() {
        assert!(
            ask(Health::Serving, &get("/etc/passwd"))
                .await
                .starts_with("HTTP/1.1 404")
        );
        let post = "POST /status HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
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
