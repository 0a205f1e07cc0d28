//! The listening socket and the threads that serve its connections.
//!
//! ```text
//!   accept thread ──▶ the worker with the fewest connections ──▶ a task there, for life
//! ```

use std::fs::Permissions;
use std::future::poll_fn;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use env::OsUser;
use mysql_wire::Output;
use mysql_wire::response::ErrPacket;
use tokio::sync::{mpsc, watch};
use tokio::task::LocalSet;
use types::ErrorKind;

use crate::backend::Backend;
use crate::config::Config;
use crate::connection;
use crate::job::{Begun, Jobs};
use crate::logins::Logins;
use crate::peer::Peer;
use crate::registry::{Handle, Registry};
use crate::schedule;
use crate::transport;
use crate::turns;

/// How long accepting rests when the system has no more descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// What interrupted statements get to come to their end.
const INTERRUPTED_GRACE: Duration = Duration::from_secs(2);
const SHUTDOWN_POLL: Duration = Duration::from_millis(5);

/// What all connections of a server share.
pub struct Shared {
    pub config: Config,
    pub registry: Arc<Registry>,
    pub backend: Arc<dyn Backend>,
    pub logins: Arc<Logins>,
}

/// A running front. Dropping it ends it at once; [`Server::shutdown`] lets statements finish.
pub struct Server {
    addr: SocketAddr,
    registry: Arc<Registry>,
    stop_accepting: watch::Sender<bool>,
    stop_serving: watch::Sender<bool>,
    threads: Vec<JoinHandle<()>>,
    workers: Arc<[Worker]>,
}

/// A thread that serves connections, as the accept thread sees it.
pub(crate) struct Worker {
    pub connections: Arc<AtomicUsize>,
    pub queue: mpsc::UnboundedSender<Arrival>,
}

/// What a worker is given.
pub(crate) enum Arrival {
    Connection(Accepted),
    Job(Begun),
}

/// A connection on its way to its worker.
pub(crate) struct Accepted {
    stream: transport::Accepted,
    load: Load,
}

/// What a connection is to its worker and to the registry. Leaves both when dropped, wherever that happens.
pub(crate) struct Load {
    handle: Arc<Handle>,
    registry: Arc<Registry>,
    connections: Arc<AtomicUsize>,
}

impl Load {
    pub fn on(worker: &Worker, handle: Arc<Handle>, registry: Arc<Registry>) -> Load {
        worker.connections.fetch_add(1, Relaxed);
        Load {
            handle,
            registry,
            connections: worker.connections.clone(),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.connections.fetch_sub(1, Relaxed);
        self.registry.leave(&self.handle);
    }
}

impl Server {
    /// Binds the address and the Unix socket, and starts serving.
    pub fn start(
        config: Config,
        registry: Arc<Registry>,
        backend: Arc<dyn Backend>,
        logins: Arc<Logins>,
    ) -> io::Result<Server> {
        raise_descriptor_limit();
        let listener = TcpListener::bind(config.addr)?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let socket = config.socket.as_deref().map(listen_on_socket).transpose()?;
        let shared = Arc::new(Shared {
            config,
            registry: registry.clone(),
            backend,
            logins,
        });
        let (stop_accepting, accepting) = watch::channel(false);
        let (stop_serving, serving) = watch::channel(false);
        let mut workers = Vec::new();
        let mut threads = Vec::new();
        for number in 0..shared.config.threads.max(1) {
            let (queue, arrivals) = mpsc::unbounded_channel();
            let (shared, serving) = (shared.clone(), serving.clone());
            threads.push(spawn(format!("mysql-{number}"), move || {
                take_connections(shared, arrivals, serving)
            })?);
            workers.push(Worker {
                connections: Arc::default(),
                queue,
            });
        }
        let workers: Arc<[Worker]> = workers.into();
        let passwords = shared.logins.passwords.clone();
        threads.push(spawn("mysql-key".into(), move || async move { passwords.prepare() })?);
        let all = workers.clone();
        threads.push(spawn("mysql-accept".into(), move || {
            accept(listener, socket, shared, all, accepting)
        })?);
        Ok(Server {
            addr,
            registry,
            stop_accepting,
            stop_serving,
            threads,
            workers,
        })
    }

    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What gives its threads work of the node's own.
    pub fn jobs(&self) -> Jobs {
        Jobs {
            registry: self.registry.clone(),
            workers: self.workers.clone(),
        }
    }

    /// Takes no more connections, closes idle ones, lets running statements finish within `grace`, then interrupts
    /// them with 1053.
    pub async fn shutdown(mut self, grace: Duration) {
        self.stop_accepting.send_replace(true);
        self.registry.drain();
        self.wait_until_empty(grace).await;
        self.registry.interrupt_all();
        self.wait_until_empty(INTERRUPTED_GRACE).await;
        self.stop_serving.send_replace(true);
        let threads = std::mem::take(&mut self.threads);
        // A thread that ended by a panic has said so by itself.
        let _ = tokio::task::spawn_blocking(|| threads.into_iter().for_each(|thread| drop(thread.join()))).await;
    }

    async fn wait_until_empty(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        while !self.registry.is_empty() && Instant::now() < deadline {
            tokio::time::sleep(SHUTDOWN_POLL).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_accepting.send_replace(true);
        self.stop_serving.send_replace(true);
    }
}

/// Every connection is a descriptor: asks for as many as the system grants.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )
    .is_err()
    {
        tracing::warn!(limit = ?limit.current, "cannot raise the limit of open files");
    }
}

/// A named thread with an event loop that runs one task, made there, and those that the task spawns; it ends with the task.
fn spawn<F: Future<Output = ()> + 'static>(
    name: String,
    make: impl FnOnce() -> F + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(name).spawn(move || {
        let mut tasks = LocalSet::new();
        let first = {
            let _entered = runtime.enter();
            tasks.spawn_local(make())
        };
        governor::turn::watch_this_thread();
        // The set as the only future of the loop: one beside it would be polled at every event.
        runtime.block_on(poll_fn(|context| {
            // Who gives way from now on has to wait until the sockets have been looked at.
            let is_waiting = schedule::is_waiting();
            let _ = Pin::new(&mut tasks).poll(context);
            if is_waiting {
                schedule::wake_next();
                let _ = Pin::new(&mut tasks).poll(context);
            }
            if first.is_finished() {
                return Poll::Ready(());
            }
            if schedule::is_waiting() {
                context.waker().wake_by_ref();
            }
            Poll::Pending
        }));
    })
}

/// Takes connections to this thread until the server stops.
async fn take_connections(
    shared: Arc<Shared>,
    mut arrivals: mpsc::UnboundedReceiver<Arrival>,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        let arrival = tokio::select! {
            Some(arrival) = arrivals.recv() => arrival,
            _ = stop.wait_for(|stop| *stop) => return,
        };
        let Accepted { stream, load } = match arrival {
            Arrival::Connection(accepted) => accepted,
            Arrival::Job(begun) => {
                tokio::task::spawn_local(begun.run());
                continue;
            }
        };
        let Ok(stream) = stream.register() else { continue };
        let shared = shared.clone();
        let (id, report_turns) = (load.handle.id, shared.config.report_turns);
        let served = async move {
            let load = load;
            connection::serve(stream, shared, load.handle.clone()).await;
        };
        match report_turns {
            None => tokio::task::spawn_local(served),
            Some(bound) => tokio::task::spawn_local(turns::watched(bound, id, served)),
        };
    }
}

/// The socket file, of which this process is the only owner: what a server that ended without cleaning up has left is removed.
fn listen_on_socket(path: &Path) -> io::Result<UnixListener> {
    let in_path = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(in_path(io::ErrorKind::AddrInUse.into()));
    }
    match std::fs::symlink_metadata(path) {
        Ok(left) if left.file_type().is_socket() => std::fs::remove_file(path).map_err(in_path)?,
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(in_path)?;
    // Who may connect is decided by the login, and by the folder that the socket is in.
    std::fs::set_permissions(path, Permissions::from_mode(0o777)).map_err(in_path)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

async fn accept(
    listener: TcpListener,
    socket: Option<UnixListener>,
    shared: Arc<Shared>,
    workers: Arc<[Worker]>,
    mut stop: watch::Receiver<bool>,
) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("a thread's event loop takes its socket");
    let socket = socket
        .map(|socket| tokio::net::UnixListener::from_std(socket).expect("a thread's event loop takes its socket"));
    let from_socket = async || match &socket {
        Some(socket) => socket.accept().await,
        None => std::future::pending().await,
    };
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.and_then(|(stream, client)| {
                stream.set_nodelay(true)?;
                let server = stream.local_addr()?;
                Ok((transport::Accepted::Tcp(stream.into_std()?), Peer::Tcp { client, server }))
            }),
            accepted = from_socket() => accepted.and_then(|(stream, _)| {
                let stream = stream.into_std()?;
                let user = OsUser::at_unix_socket(&stream).ok();
                Ok((transport::Accepted::Unix(stream), Peer::Unix { user }))
            }),
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => dispatch(stream, peer, &shared, &workers),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    if let (Some(_), Some(path)) = (&socket, &shared.config.socket) {
        // The next start removes what stays.
        let _ = std::fs::remove_file(path);
    }
}

fn dispatch(stream: transport::Accepted, peer: Peer, shared: &Shared, workers: &[Worker]) {
    let Some(handle) = shared.registry.enter(peer) else {
        return turn_away(stream);
    };
    let worker = workers
        .iter()
        .min_by_key(|worker| worker.connections.load(Relaxed))
        .expect("a server has at least one worker");
    let load = Load::on(worker, handle, shared.registry.clone());
    // Only a server that is going down has no receiver.
    let _ = worker.queue.send(Arrival::Connection(Accepted { stream, load }));
}

/// 1040 in the place of a greeting.
fn turn_away(mut stream: transport::Accepted) {
    let kind = ErrorKind::ConCount;
    let sqlstate = kind.sqlstate().as_bytes().try_into().unwrap_or(*b"HY000");
    let mut output = Output::new(Vec::new());
    output.packet(|out| {
        ErrPacket {
            code: kind.code(),
            sqlstate,
            message: kind.format().as_bytes(),
        }
        .encode(out)
    });
    // The socket's buffer is empty and takes the packet at once, or the client is gone.
    let _ = stream.write_now(output.as_slice());
}
