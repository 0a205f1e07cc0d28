//! Who connects, and what all connections share.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, OnceLock};

use front::{Accepted, Acceptor, Job, Logins, Loops, Peer, Tls};
use rest::{Jobs, Rest};
use sql_api::host::Host;

use crate::connection;
use crate::http2;
use crate::node::Node;

/// What all connections share.
pub struct Shared {
    pub node: Arc<dyn Node>,
    pub loops: Loops,
    pub doors: Arc<Doors>,
}

/// What is behind the node's own pages once its rows are there. A witness has nothing there.
#[derive(Default)]
pub struct Doors {
    open: OnceLock<Open>,
}

pub struct Open {
    pub logins: Arc<Logins>,
    pub tls: Tls,
    pub rest: Arc<Rest>,
}

impl Doors {
    /// From here on, clients get at the tables.
    pub fn open(&self, mut open: Open) {
        open.tls = open.tls.for_protocols(&[http2::PROTOCOL, b"http/1.1"]);
        let _ = self.open.set(open);
    }

    pub fn get(&self) -> Option<&Open> {
        self.open.get()
    }
}

/// A running front. Dropping it, or [`Server::stop`], ends accepting; what was accepted goes on.
pub struct Server {
    acceptor: Acceptor,
}

impl Server {
    /// Serves on `loops` who connects to a socket that listens already.
    pub fn start(listener: TcpListener, loops: Loops, node: Arc<dyn Node>, doors: Arc<Doors>) -> io::Result<Server> {
        let shared = Arc::new(Shared { node, loops, doors });
        let welcome = move |stream, peer| welcome(stream, peer, &shared);
        let acceptor = Acceptor::on("http-accept", listener, welcome)?;
        Ok(Server { acceptor })
    }

    pub fn addr(&self) -> SocketAddr {
        self.acceptor.addr()
    }

    /// Comes back when no more connections are taken.
    pub async fn stop(self) {
        self.acceptor.stop().await;
    }
}

fn welcome(stream: Accepted, peer: Peer, shared: &Arc<Shared>) {
    let loops = &shared.loops;
    // Where all places for those who have not logged in are taken, it is closed.
    let Some(handle) = loops.registry().enter_visitor(peer) else {
        return;
    };
    let shared = shared.clone();
    loops.dispatch(handle, move |load| async move {
        if let Ok(stream) = stream.register() {
            connection::serve(stream, shared, load.handle().clone()).await;
        }
    });
}

/// What a request leaves running: transactions over several requests, on the node's loops.
pub fn jobs(loops: Loops) -> Box<dyn Jobs> {
    Box::new(OnLoops(loops))
}

struct OnLoops(Loops);

impl Jobs for OnLoops {
    fn start(&self, user: String, text: String, work: Box<dyn FnOnce(u32, &dyn Host) + Send>) {
        self.0.start_job(Job {
            user,
            database: None,
            text,
            work,
        });
    }

    fn is_draining(&self) -> bool {
        self.0.registry().is_draining()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::pin::Pin;
    use std::sync::LazyLock;
    use std::time::Duration;

    use front::{EventLoops, Registry};
    use http_wire::request::HEAD_MAX;

    use super::*;
    use crate::history::History;
    use crate::node::{Admission, BackupAnswer, BackupCall, Figures, Health, MemoryStatus, Order, Purpose, Status};
    use crate::visitor::Visitor;

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
                redis_addr: String::new(),
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

        fn history(&self) -> &History {
            static NONE: LazyLock<History> = LazyLock::new(History::default);
            &NONE
        }
    }

    /// The server's whole answer to `request`, connection closed by the server.
    fn ask(health: Health, request: &str) -> String {
        let loops = EventLoops::start(1, None, Registry::new()).expect("threads");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let node = Arc::new(Stub { health });
        let server = Server::start(listener, loops.loops(), node, Arc::default()).expect("a thread");
        let mut stream = TcpStream::connect(server.addr()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn get(path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    }

    #[test]
    fn health_is_200_while_serving_and_503_with_the_reason_otherwise() {
        for page in ["/health", "/health/ready", "/health/leader"] {
            let well = ask(Health::Serving, &get(page));
            assert!(well.starts_with("HTTP/1.1 200 OK"), "{well}");
        }
        let ill = ask(
            Health::NotServing {
                reason: "the log's disk failed".into(),
            },
            &get("/health"),
        );
        assert!(ill.starts_with("HTTP/1.1 503"), "{ill}");
        assert!(
            ill.ends_with(r#"{"reason":"the log's disk failed","status":"not serving"}"#),
            "{ill}"
        );
    }

    #[test]
    fn status_and_metrics_are_answered() {
        let status = ask(Health::Serving, &get("/status"));
        let body = status.split("\r\n\r\n").nth(1).unwrap();
        let status: Status = serde_json::from_str(body).unwrap();
        assert_eq!(status.memory.limit_bytes, 2);
        assert!(ask(Health::Serving, &get("/metrics")).contains("latsdb_connections_open 9\n"));
    }

    #[test]
    fn backups_are_given_to_those_who_may_have_them() {
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
        let asked = |target: &str, login: &str| ask(Health::Serving, &post(target, login));
        let given = asked("log?term=3&index=9", keeper);
        assert!(given.ends_with("Log { term: 3, index: 9 }"), "{given}");
        assert!(asked("log?term=3&index=9", app).starts_with("HTTP/1.1 403"));
        assert!(asked("begin?backup=1", "").starts_with("HTTP/1.1 202"));
        assert!(asked("mark", "").starts_with("HTTP/1.1 409"));
        for nonsense in ["log?term=3", "log?term=x&index=-1", "chunk", "everything"] {
            let refused = asked(nonsense, "");
            assert!(refused.starts_with("HTTP/1.1 405"), "{nonsense}: {refused}");
        }
    }

    #[test]
    fn other_pages_and_methods_are_refused() {
        assert!(ask(Health::Serving, &get("/etc/passwd")).starts_with("HTTP/1.1 404"));
        let post = "POST /status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert!(ask(Health::Serving, post).starts_with("HTTP/1.1 405"));
    }

    #[test]
    fn garbage_and_endless_headers_end_the_connection() {
        assert!(ask(Health::Serving, "\x16\x03\x01 no http at all\r\n\r\n").starts_with("HTTP/1.1 400"));
        let endless = format!("GET / HTTP/1.1\r\nx: {}\r\n", "y".repeat(HEAD_MAX + 1));
        assert!(ask(Health::Serving, &endless).starts_with("HTTP/1.1 431"));
    }

    #[test]
    fn tables_are_asked_for_once_the_rows_are_there() {
        let ill = Health::NotServing {
            reason: "recovering".into(),
        };
        let early = ask(ill, &get("/v1/tables"));
        assert!(early.starts_with("HTTP/1.1 503"), "{early}");
        assert!(early.contains("application/problem+json"), "{early}");
        let witness = ask(Health::Serving, &get("/v1/tables"));
        assert!(witness.starts_with("HTTP/1.1 501"), "{witness}");
    }
}
