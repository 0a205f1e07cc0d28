//! The listening sockets of a front, and the thread that accepts from them.

use std::fs::Permissions;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use env::OsUser;
use tokio::sync::watch;

use crate::loops;
use crate::peer::Peer;
use crate::transport::Accepted;

/// How long accepting rests when the system has no more descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until it is dropped.
pub struct Acceptor {
    addr: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

struct Listening {
    tcp: TcpListener,
    socket: Option<(UnixListener, PathBuf)>,
}

impl Acceptor {
    /// Binds the address and the Unix socket, and hands whoever connects to `welcome`, on a thread with this name. A file that a server
    /// has left where the socket goes is removed.
    pub fn start(
        name: &str,
        addr: SocketAddr,
        socket: Option<&Path>,
        welcome: impl FnMut(Accepted, Peer) + Send + 'static,
    ) -> io::Result<Acceptor> {
        let tcp = TcpListener::bind(addr)?;
        let socket = socket
            .map(|path| Ok::<_, io::Error>((listen_on_socket(path)?, path.to_owned())))
            .transpose()?;
        Acceptor::accept_from(name, tcp, socket, welcome)
    }

    /// As [`start`](Self::start), from a socket that listens already.
    pub fn on(
        name: &str,
        tcp: TcpListener,
        welcome: impl FnMut(Accepted, Peer) + Send + 'static,
    ) -> io::Result<Acceptor> {
        Acceptor::accept_from(name, tcp, None, welcome)
    }

    fn accept_from(
        name: &str,
        tcp: TcpListener,
        socket: Option<(UnixListener, PathBuf)>,
        welcome: impl FnMut(Accepted, Peer) + Send + 'static,
    ) -> io::Result<Acceptor> {
        tcp.set_nonblocking(true)?;
        let addr = tcp.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let thread = loops::spawn(name.to_owned(), move || {
            accept(Listening { tcp, socket }, welcome, stopped)
        })?;
        Ok(Acceptor {
            addr,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens: the port asked for may have been 0.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Comes back when nobody is welcomed any more.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        loops::join(self.thread.take().into_iter().collect()).await;
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop.send_replace(true);
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

async fn accept(listening: Listening, mut welcome: impl FnMut(Accepted, Peer), mut stop: watch::Receiver<bool>) {
    let tcp = tokio::net::TcpListener::from_std(listening.tcp).expect("a thread's event loop takes its socket");
    let socket = listening.socket.map(|(socket, path)| {
        let socket = tokio::net::UnixListener::from_std(socket).expect("a thread's event loop takes its socket");
        (socket, path)
    });
    let from_socket = async || match &socket {
        Some((socket, _)) => socket.accept().await,
        None => std::future::pending().await,
    };
    loop {
        let accepted = tokio::select! {
            accepted = tcp.accept() => accepted.and_then(|(stream, client)| {
                stream.set_nodelay(true)?;
                let server = stream.local_addr()?;
                Ok((Accepted::Tcp(stream.into_std()?), Peer::Tcp { client, server }))
            }),
            accepted = from_socket() => accepted.and_then(|(stream, _)| {
                let stream = stream.into_std()?;
                let user = OsUser::at_unix_socket(&stream).ok();
                Ok((Accepted::Unix(stream), Peer::Unix { user }))
            }),
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, peer)) => welcome(stream, peer),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    if let Some((_, path)) = &socket {
        // The next start removes what stays.
        let _ = std::fs::remove_file(path);
    }
}
