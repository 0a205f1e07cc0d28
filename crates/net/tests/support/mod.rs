//! Nodes on loopback, and a service whose answers the test decides on.

pub mod raw;
pub mod wire;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use net::{Answering, CallError, Caller, Config, Lane, Net, PeerStatus, Service};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

/// More than anything takes on a loaded machine; a test that gets here has failed.
pub const PATIENCE: Duration = Duration::from_secs(30);
pub const CLUSTER: u128 = 0xfeed;

/// Answers by what a request begins with: `hold` waits until it is let go, `long N` is answered by N bytes, `panic` panics, anything else comes
/// back behind the name of who has called.
pub struct Host {
    pub received: AtomicUsize,
    pub gate: Semaphore,
    pub callers: Mutex<Vec<Caller>>,
    pub renewed: Mutex<Vec<(u32, u32)>>,
    pub left: Mutex<Vec<(u32, Lane)>>,
}

impl Service for Hosting {
    fn receive(&self, from: Caller, _lane: Lane, request: Vec<u8>) -> Answering {
        let host = self.0.clone();
        host.received.fetch_add(1, SeqCst);
        host.callers.lock().push(from);
        Box::pin(async move {
            match request.as_slice() {
                held if held.starts_with(b"hold") => {
                    host.gate.acquire().await.expect("it is never closed").forget();
                    request
                }
                [b'l', b'o', b'n', b'g', length @ ..] => {
                    let length = std::str::from_utf8(length).unwrap().trim().parse().unwrap();
                    vec![7; length]
                }
                b"panic" => panic!("a panic that a test asked for"),
                _ => [from.node.to_string().as_bytes(), b":", &request].concat(),
            }
        })
    }

    fn left(&self, from: Caller, lane: Lane) {
        self.0.left.lock().push((from.node, lane));
    }

    fn renewed(&self, node: u32, incarnation: u32) {
        self.0.renewed.lock().push((node, incarnation));
    }
}

pub struct Hosting(Arc<Host>);

pub struct Node {
    pub net: Net,
    pub host: Arc<Host>,
}

/// Of a member that takes a busy machine's pauses for no death.
pub fn config(node: u32, incarnation: u32) -> Config {
    let mut config = Config::new(node, incarnation, "127.0.0.1:0".parse().unwrap());
    config.cluster = Some(CLUSTER);
    config.limits.silent_beats = 40;
    config.limits.handshake_timeout = PATIENCE;
    config.limits.connect_timeout = PATIENCE;
    config
}

pub fn start(config: Config) -> Node {
    let host = Arc::new(Host {
        received: AtomicUsize::new(0),
        gate: Semaphore::new(0),
        callers: Mutex::default(),
        renewed: Mutex::default(),
        left: Mutex::default(),
    });
    let service = Arc::new(Hosting(host.clone()));
    // The port of a node that was just ended may be in use for a moment.
    let since = Instant::now();
    let net = loop {
        match Net::start(config.clone(), service.clone()) {
            Ok(net) => break net,
            Err(error) => assert!(since.elapsed() < PATIENCE, "{error}"),
        }
        std::thread::yield_now();
    };
    Node { net, host }
}

impl Node {
    pub fn addr(&self) -> String {
        self.net.local_addr().to_string()
    }

    pub fn knows(&self, node: u32, other: &Node) {
        self.net.set_peer(node, &other.addr());
    }

    pub fn call(&self, to: u32, lane: Lane, request: &[u8]) -> Result<Vec<u8>, CallError> {
        wait(self.net.call(to, lane, request.to_vec(), PATIENCE))
    }

    pub fn peer(&self, node: u32) -> PeerStatus {
        let peers = self.net.peers();
        peers.into_iter().find(|peer| peer.node == node).expect("it was set")
    }

    pub fn until_connected(&self, node: u32) {
        until(|| self.peer(node).is_connected());
    }

    pub fn received(&self) -> usize {
        self.host.received.load(SeqCst)
    }
}

/// Two nodes of one cluster, 1 and 2, that are connected.
pub fn pair() -> (Node, Node) {
    pair_of(config(1, 1), config(2, 1))
}

pub fn pair_of(one: Config, two: Config) -> (Node, Node) {
    let (one, two) = (start(one), start(two));
    one.knows(2, &two);
    two.knows(1, &one);
    one.until_connected(2);
    two.until_connected(1);
    (one, two)
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let within = runtime.block_on(async { tokio::time::timeout(PATIENCE, future).await });
    within.expect("the future is ready in time")
}

pub fn until(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < PATIENCE, "the condition does not come true");
        std::thread::sleep(Duration::from_millis(1));
    }
}
