//! What the tests share: a server over canned answers, and a client.

#![allow(
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    reason = "each test uses a part of it, and fails where it fails"
)]

mod canned;
mod client;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

pub use canned::Canned;
pub use client::{Answer, CAPABILITIES, Client, answer_of};
use front::{EventLoops, Logins, Registry};
use front_mysql::{Config, Server};

pub struct TestServer {
    pub registry: Arc<Registry>,
    server: Server,
    loops: EventLoops,
}

impl TestServer {
    pub fn start() -> TestServer {
        TestServer::with(|_, _| {})
    }

    pub fn with(adjust: impl FnOnce(&mut Config, &mut Canned)) -> TestServer {
        TestServer::on(2, adjust)
    }

    /// On a port of the system's choice.
    pub fn on(threads: usize, adjust: impl FnOnce(&mut Config, &mut Canned)) -> TestServer {
        note_panics();
        let mut config = Config::new(([127, 0, 0, 1], 0).into());
        let registry = Registry::new();
        let mut canned = Canned::new(registry.clone());
        adjust(&mut config, &mut canned);
        let backend = Arc::new(canned);
        let logins = Logins::start(front::random(), registry.clone(), backend).unwrap();
        let loops = EventLoops::start(threads, None, registry.clone()).unwrap();
        let server = Server::start(config, loops.loops(), logins).unwrap();
        TestServer {
            registry,
            server,
            loops,
        }
    }

    /// As a node stops.
    pub async fn shut_down(self, grace: Duration) {
        self.server.stop().await;
        self.loops.drain(grace).await;
        self.loops.end().await;
    }

    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    pub fn connect(&self) -> Client {
        Client::connect(self.addr())
    }
}

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// What the threads of servers said when they panicked, unless a statement had asked for it.
pub fn unasked_panics() -> Vec<String> {
    PANICS.lock().unwrap().clone()
}

fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_asked = panic.payload().downcast_ref() == Some(&canned::ASKED_FOR);
            let is_a_servers = std::thread::current()
                .name()
                .is_some_and(|name| name.starts_with("loop-"));
            if is_a_servers && !is_asked {
                PANICS.lock().unwrap().push(panic.to_string());
            }
            usual(panic);
        }));
    });
}

/// Waits for a condition; a test that waits for ten seconds has failed.
#[track_caller]
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Memory of this process that is in use, in bytes.
pub fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}
