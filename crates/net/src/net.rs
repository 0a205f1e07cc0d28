//! The network of a node: its thread, its peers, and the calls that it makes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;

use env::Level;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::Handle;
use tokio::select;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Lane;
use crate::accept::accept;
use crate::config::{Config, StartError};
use crate::dial::{Door, Peer, keep, run, watch_deadlines};
use crate::error::{CallError, To};
use crate::hello::Identity;
use crate::line::{Calling, Line, Trouble};
use crate::roster::Met;
use crate::service::Service;
use crate::shared::Shared;
use crate::status::{PeerStatus, status};

/// Connections that the system holds until they are accepted. With less, a flood of them would keep nodes out for a second at a time.
const BACKLOG: u32 = 1024;

/// A running network. Dropping it ends it, as [`Net::shutdown`] does.
pub struct Net {
    shared: Arc<Shared>,
    local_addr: SocketAddr,
    runtime: Handle,
    stop: watch::Sender<bool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What a node said whose id was not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    pub node: u32,
    /// `None`: it belongs to no cluster yet.
    pub cluster: Option<u128>,
    pub answer: Vec<u8>,
}

impl Net {
    /// Listens, and answers calls from now on. All of it happens on one thread of its own.
    pub fn start(config: Config, service: Arc<dyn Service>) -> Result<Net, StartError> {
        config.check()?;
        let listen = config.listen;
        let mut instance = [0; 8];
        aws_lc_rs::rand::fill(&mut instance).expect("the system gives random numbers");
        let shared = Arc::new(Shared::new(config, u64::from_le_bytes(instance), service));

        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // For look-ups of names, which can hang.
            .max_blocking_threads(4)
            .build()
            .map_err(StartError::Thread)?;
        let handle = runtime.handle().clone();
        let (listener, local_addr) = {
            let _entered = runtime.enter();
            bind(listen).map_err(|error| StartError::Listen { addr: listen, error })?
        };
        let (stop, mut stopped) = watch::channel(false);
        let accepting = accept(listener, shared.clone());
        let thread = std::thread::Builder::new().name("net".into()).spawn(move || {
            runtime.block_on(async move {
                select! {
                    () = accepting => {}
                    _ = stopped.wait_for(|stop| *stop) => {}
                }
            });
            runtime.shutdown_background();
        });
        Ok(Net {
            shared,
            local_addr,
            runtime: handle,
            stop,
            thread: Mutex::new(Some(thread.map_err(StartError::Thread)?)),
        })
    }

    /// Where this node listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The node has become a member of a cluster. Its connections are made anew, as a member's; calls that are under way on them are lost.
    /// Not those of [`Net::call_address`], nor those that it answers.
    pub fn set_cluster(&self, cluster: u128) {
        let is_new = self.shared.cluster.send_replace(Some(cluster)) != Some(cluster);
        if is_new {
            let peers = self.shared.peers.read();
            let lines = peers.values().flat_map(|peer| &peer.lines);
            lines.for_each(|line| line.restart.notify_one());
        }
    }

    /// The cluster's feature level has risen. Connections to nodes that do not speak it end, and are made no more.
    pub fn set_level(&self, level: Level) {
        self.shared.set_level(level);
    }

    /// What the members speak that were met since this node was started.
    pub fn met(&self) -> Vec<Met> {
        self.shared.roster.lock().met()
    }

    /// From now on connections to the node are kept, at `HOST:PORT`. A name is resolved at each attempt to connect.
    pub fn set_peer(&self, node: u32, addr: &str) {
        if node == self.shared.node() || node == 0 {
            return;
        }
        let mut peers = self.shared.peers.write();
        if peers.get(&node).is_some_and(|peer| peer.addr == addr) || *self.stop.borrow() {
            return;
        }
        let peer = Arc::new(Peer::new(node, addr, &self.shared.limits));
        let before = peers.insert(node, peer.clone());
        drop(peers);
        if let Some(before) = before {
            before.end(Some(&Trouble::Unreachable("its address has changed".into())));
        }
        for lane in Lane::ALL {
            self.runtime.spawn(keep(self.shared.clone(), peer.clone(), lane));
        }
    }

    /// The node is no peer any more; calls of it end.
    pub fn remove_peer(&self, node: u32) {
        let peer = self.shared.peers.write().remove(&node);
        if let Some(peer) = peer {
            peer.end(Some(&Trouble::Unreachable("it is no peer any more".into())));
        }
    }

    /// Has [`Service::receive`] called at node `to`, and brings its answer. The call is under way when this returns. The future may be polled
    /// anywhere; dropping it gives the call up.
    ///
    /// While the first connection is being made, or one that was just lost is made anew, the call waits for it. When the last attempt has
    /// failed, it ends at once, though further attempts are made all the time: a heartbeat that waits is worth nothing.
    ///
    /// At the lane's limits it ends at once too, with [`CallError::Busy`].
    pub fn call(
        &self,
        to: u32,
        lane: Lane,
        request: Vec<u8>,
        deadline: Duration,
    ) -> impl Future<Output = Result<Vec<u8>, CallError>> + Send + use<> {
        let peers = self.shared.peers.read();
        match peers.get(&to) {
            _ if *self.stop.borrow() => Calling::failed(CallError::Ended {
                may_have_arrived: false,
            }),
            Some(peer) => peer.line(lane).call(request, Instant::now(), deadline),
            None => {
                let reason = match to == self.shared.node() {
                    true => "it is this node itself",
                    false => "its address is not known",
                };
                Calling::failed(CallError::NotSent {
                    to: To::Node(to),
                    reason: reason.into(),
                    request,
                })
            }
        }
    }

    /// A call on [`Lane::Control`] of whoever is at `addr`, over a connection for this call only.
    pub fn call_address(
        &self,
        addr: &str,
        request: Vec<u8>,
        deadline: Duration,
    ) -> impl Future<Output = Result<Introduction, CallError>> + Send + use<> {
        let limits = self.shared.limits.lane(Lane::Control);
        let line = Arc::new(Line::new(To::Address(addr.to_owned()), Lane::Control, limits));
        let calling = line.call(request, Instant::now(), deadline);
        let who = Arc::new(Mutex::new(None));
        let carrying = carry(self.shared.clone(), addr.to_owned(), Ends(line), who.clone());
        let carrier = Carrier(self.runtime.spawn(carrying));
        async move {
            let _carrier = carrier;
            let answer = calling.await?;
            let who: Identity = who.lock().take().expect("nobody answers before the handshake");
            Ok(Introduction {
                node: who.node,
                cluster: who.cluster,
                answer,
            })
        }
    }

    pub fn peers(&self) -> Vec<PeerStatus> {
        let now = Instant::now();
        let peers = self.shared.peers.read();
        peers.values().map(|peer| status(peer, now)).collect()
    }

    /// The highest incarnations that were seen of nodes, for the next start ([`Config::known_incarnations`]).
    pub fn incarnations(&self) -> Vec<(u32, u32)> {
        self.shared.roster.lock().incarnations()
    }

    /// The node was removed from the cluster for good: a new one may have its id, and begin with a lower incarnation.
    pub fn forget(&self, node: u32) {
        self.remove_peer(node);
        self.shared.roster.lock().forget(node);
    }

    /// Accepted connections that were refused, or ended before they said who they are.
    pub fn turned_away(&self) -> u64 {
        self.shared.turned_away.load(Relaxed)
    }

    /// Closes all connections and ends all calls.
    pub fn shutdown(&self) {
        self.stop.send_replace(true);
        let thread = self.thread.lock().take();
        match thread {
            // A thread that ended by a panic has said so by itself.
            Some(thread) if thread.thread().id() != std::thread::current().id() => drop(thread.join()),
            _ => {}
        }
        let peers = std::mem::take(&mut *self.shared.peers.write());
        peers.values().for_each(|peer| peer.end(None));
    }
}

fn bind(addr: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // The port of a process that has just ended is free.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    let listener = socket.listen(BACKLOG)?;
    let addr = listener.local_addr()?;
    Ok((listener, addr))
}

impl Drop for Net {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// Ends a line together with the task that carries its calls, even if that never runs.
struct Ends(Arc<Line>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.end(None);
    }
}

/// Makes a connection for one call.
async fn carry(shared: Arc<Shared>, addr: String, line: Ends, who: Arc<Mutex<Option<Identity>>>) {
    let line = &*line.0;
    let carrying = async {
        match Door::new(&addr).enter(&shared, Lane::Control, 0).await {
            Ok(entered) => {
                *who.lock() = Some(entered.theirs.who);
                line.up(Instant::now());
                let broken = run(entered.socket, line, &shared.limits, || {}).await;
                line.lost(&broken.to_string());
            }
            Err(trouble) => line.down(&trouble),
        }
    };
    select! {
        () = carrying => {}
        () = watch_deadlines(line) => {}
    }
}

/// Ends a task when the call that it carries is given up.
struct Carrier(tokio::task::JoinHandle<()>);

impl Drop for Carrier {
    fn drop(&mut self) {
        self.0.abort();
    }
}
