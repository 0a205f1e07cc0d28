//! The way to a peer: a connection for each lane, made again whenever it is lost.
//!
//! ```text
//!   trying ── connected, welcomed ──▶ up ── broken: all calls end ──▶ trying
//!      └── unreachable, refused ──▶ down ── pause, next attempt ──┐
//!                                    ▲ └──────────────────────────┘ calls end at once
//! ```
//!
//! A peer is looked for by one lane at a time: while it is down, that is one attempt a pause, not three.

use std::collections::HashSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::select;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::Lane;
use crate::config::Limits;
use crate::error::To;
use crate::frame::{Decoder, Kind};
use crate::hello::{HELLO_BYTES, Hello, REASON_BYTES, Refused, Verdict};
use crate::line::{Line, Trouble};
use crate::owner::Ends;
use crate::shared::Shared;
use crate::socket::{Broken, Pulse, Reading, Socket, write_frames};

/// The shortest pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// After a refusal.
const REFUSED_PAUSE: Duration = Duration::from_millis(200);
/// A connection that lived for less is followed by a pause.
const SHORT_LIFE: Duration = Duration::from_secs(1);
/// Addresses of a name are asked for again when they are older.
const FRESH: Duration = Duration::from_millis(250);
/// Where deadlines are waited for and there are none.
const FAR: Duration = Duration::from_secs(3600);

/// A node that this node calls.
pub struct Peer {
    pub node: u32,
    pub addr: String,
    pub lines: [Arc<Line>; 3],
    /// Of the process that answered last; 0: none has.
    incarnation: AtomicU32,
    door: Mutex<Door>,
}

impl Peer {
    pub fn new(node: u32, addr: &str, limits: &Limits) -> Peer {
        Peer {
            node,
            addr: addr.to_owned(),
            lines: Lane::ALL.map(|lane| Arc::new(Line::new(To::Node(node), lane, limits.lane(lane)))),
            incarnation: AtomicU32::new(0),
            door: Mutex::new(Door::new(addr)),
        }
    }

    pub fn line(&self, lane: Lane) -> &Arc<Line> {
        &self.lines[lane.index()]
    }

    pub fn incarnation(&self) -> Option<u32> {
        Some(self.incarnation.load(Relaxed)).filter(|incarnation| *incarnation > 0)
    }

    /// Ends connections to processes before `incarnation`.
    pub fn leave_older(&self, incarnation: u32) {
        let connected_to = self.incarnation.load(Relaxed);
        if connected_to > 0 && connected_to < incarnation {
            self.lines.iter().for_each(|line| line.restart.notify_one());
        }
    }

    pub fn end(&self, trouble: Option<&Trouble>) {
        self.lines.iter().for_each(|line| line.end(trouble.cloned()));
    }
}

/// Holds a lane's connection to a peer, until the line ends.
pub async fn keep(shared: Arc<Shared>, peer: Arc<Peer>, lane: Lane) {
    let line = peer.line(lane);
    select! {
        () = hold(&shared, &peer, line) => {}
        () = watch_deadlines(line) => {}
    }
}

async fn hold(shared: &Shared, peer: &Peer, line: &Line) {
    let subject = format!("peer {}", peer.node);
    let mut pause = FIRST_PAUSE;
    loop {
        // The next attempt is what was asked for.
        forget_permit(&line.restart);
        if line.is_ended() {
            return;
        }
        if line.lane != Lane::Control && shared.cluster.borrow().is_none() {
            line.down(&Trouble::Refused(shared.not_member()));
            let mut cluster = shared.cluster.subscribe();
            select! {
                _ = cluster.wait_for(Option::is_some) => {}
                () = line.restart.notified() => {}
            }
            continue;
        }
        let mut door = peer.door.lock().await;
        let attempt = select! {
            attempt = door.enter(shared, line.lane, peer.node) => attempt,
            () = line.restart.notified() => continue,
        };
        match attempt {
            Ok(Entered {
                socket,
                theirs,
                is_member,
            }) => {
                drop(door);
                // What was asked for in the meantime concerns this connection only if it came out of date.
                forget_permit(&line.restart);
                if line.is_ended() || shared.is_out_of_date(&theirs, is_member) {
                    continue;
                }
                peer.incarnation.store(theirs.who.incarnation, Relaxed);
                let since = Instant::now();
                line.up(since);
                let steady = || {
                    if shared.is_over(&subject) {
                        tracing::info!(node = peer.node, addr = peer.addr, "the node is reached again");
                    }
                };
                let broken = run(socket, line, &shared.limits, steady).await;
                line.lost(&broken.to_string());
                if !line.is_ended() && shared.is_news(&subject, &broken.to_string()) {
                    tracing::warn!(node = peer.node, lane = %line.lane, reason = %broken, "a connection to the node is lost");
                }
                if since.elapsed() >= SHORT_LIFE {
                    pause = FIRST_PAUSE;
                    continue;
                }
            }
            Err(trouble) => {
                line.down(&trouble);
                match trouble {
                    Trouble::Unreachable(_) => peer.lines.iter().for_each(|line| line.down_too(&trouble)),
                    // It lives, and will not change its mind so soon; other lanes need not wait for that.
                    Trouble::Refused(_) => {
                        drop(door);
                        pause = REFUSED_PAUSE;
                    }
                }
                if shared.is_news(&subject, &trouble.to_string()) {
                    tracing::warn!(node = peer.node, addr = peer.addr, reason = %trouble, "the node cannot be reached");
                }
            }
        }
        select! {
            () = sleep(pause) => {}
            () = line.restart.notified() => {}
        }
        pause = (pause * 2).min(shared.limits.retry);
    }
}

/// Somebody's word that a connection is to end, if there was none, or another one.
fn forget_permit(restart: &Notify) {
    let mut context = Context::from_waker(Waker::noop());
    let _ = pin!(restart.notified()).poll(&mut context);
}

pub async fn watch_deadlines(line: &Line) {
    loop {
        let now = Instant::now();
        let next = line.expire(now).unwrap_or(now + FAR);
        select! {
            () = sleep_until(next) => {}
            () = line.earlier.notified() => {}
        }
    }
}

/// Writes requests and reads answers, until the connection ends. `steady` is called when it has lived for a while.
pub async fn run(socket: Socket, line: &Line, limits: &Limits, mut steady: impl FnMut()) -> Broken {
    let Socket {
        mut reader, mut writer, ..
    } = socket;
    let pulse = Pulse::default();
    let counters = &line.counters;
    let decoder = Decoder::new(line.lane, limits.lane(line.lane).frame_bytes);
    let mut reading = Reading::new(&mut reader, decoder, &pulse, &counters.bytes_in);
    line.beat();
    select! {
        broken = read_answers(&mut reading, line) => broken,
        broken = write_frames(&mut writer, &line.outgoing, || line.next(Instant::now()), &counters.bytes_out) => broken,
        broken = pulse.beat(limits.beat, limits.silent_beats, || { line.beat(); steady(); }) => broken,
        () = line.restart.notified() => Broken::Replaced,
    }
}

async fn read_answers(reading: &mut Reading<'_>, line: &Line) -> Broken {
    loop {
        let frame = match reading.next().await {
            Ok(frame) => frame,
            Err(broken) => return broken,
        };
        match frame.kind {
            Kind::Answer => line.answered(frame.call, Ok(frame.body)),
            Kind::Failure => {
                let reason = String::from_utf8_lossy(&frame.body).into_owned();
                line.answered(frame.call, Err(reason));
            }
            Kind::Pong => line.ponged(frame.call, Instant::now()),
            Kind::Request | Kind::Ping => return Broken::Astray,
        }
        line.heard(Instant::now());
    }
}

/// A connection that is ready for calls.
pub struct Entered {
    pub socket: Socket,
    pub theirs: Hello,
    /// Of one cluster, both of them.
    pub is_member: bool,
}

/// The address of a node, and what is known of it.
pub struct Door {
    addr: String,
    /// A look-up that has not come to its end yet; it may outlast an attempt.
    lookup: Option<JoinHandle<std::io::Result<Vec<SocketAddr>>>>,
    /// The last addresses that a look-up has found. They serve as long as the next one fails.
    known: Vec<SocketAddr>,
    known_at: Option<Instant>,
}

impl Door {
    pub fn new(addr: &str) -> Door {
        Door {
            addr: addr.to_owned(),
            lookup: None,
            known: Vec::new(),
            known_at: None,
        }
    }

    /// Connects, and shakes hands. `expected`: who should be there, 0 for anybody.
    pub async fn enter(&mut self, shared: &Shared, lane: Lane, expected: u32) -> Result<Entered, Trouble> {
        let limits = &shared.limits;
        let stream = self
            .connect(limits.connect_timeout)
            .await
            .map_err(|reason| Trouble::Unreachable(format!("{}: {reason}", self.addr)))?;
        match timeout(
            limits.handshake_timeout,
            self.shake_hands(stream, shared, lane, expected),
        )
        .await
        {
            Ok(shaken) => shaken,
            Err(_late) => {
                let reason = format!("{}: no handshake within {:?}", self.addr, limits.handshake_timeout);
                Err(Trouble::Unreachable(reason))
            }
        }
    }

    async fn connect(&mut self, limit: Duration) -> Result<TcpStream, String> {
        let mut reason = "the name has no address".to_owned();
        let mut tried = HashSet::new();
        for addr in self.addresses(limit).await? {
            if !tried.insert(addr) {
                continue;
            }
            match timeout(limit, TcpStream::connect(addr)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true).map_err(|error| error.to_string())?;
                    return Ok(stream);
                }
                Ok(Err(error)) => reason = error.to_string(),
                Err(_late) => reason = format!("no connection within {limit:?}"),
            }
        }
        Err(reason)
    }

    async fn addresses(&mut self, limit: Duration) -> Result<Vec<SocketAddr>, String> {
        if let Ok(addr) = self.addr.parse() {
            return Ok(vec![addr]);
        }
        if self.known_at.is_some_and(|at| at.elapsed() < FRESH) {
            return Ok(self.known.clone());
        }
        let lookup = self.lookup.get_or_insert_with(|| {
            let addr = self.addr.clone();
            tokio::task::spawn_blocking(move || addr.to_socket_addrs().map(Iterator::collect))
        });
        let reason = match timeout(limit, lookup).await {
            Err(_late) => format!("the name is not resolved within {limit:?}"),
            Ok(done) => {
                self.lookup = None;
                match done {
                    Ok(Ok(found)) => {
                        self.known = found;
                        self.known_at = Some(Instant::now());
                        return Ok(self.known.clone());
                    }
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                }
            }
        };
        match self.known.is_empty() {
            true => Err(reason),
            false => Ok(self.known.clone()),
        }
    }

    async fn shake_hands(
        &self,
        stream: TcpStream,
        shared: &Shared,
        lane: Lane,
        expected: u32,
    ) -> Result<Entered, Trouble> {
        let unreachable = |reason: String| Trouble::Unreachable(format!("{}: {reason}", self.addr));
        let is_unproved = shared.tls.is_none() && !shared.trusts_all;
        let ends = Ends::of(&stream).map_err(|error| unreachable(error.to_string()))?;
        let mut socket = match &shared.tls {
            None => Socket::plain(stream),
            Some(tls) => tls.connect(stream, self.host()).await.map_err(unreachable)?,
        };
        let (theirs, refused) = exchange(&mut socket, &shared.hello(lane, expected))
            .await
            .map_err(unreachable)?;
        // Its refusal first: it knows more about why than this node would guess from what it says of itself.
        if let Some(refused) = refused {
            return Err(Trouble::Refused(refused));
        }
        if is_unproved {
            ends.check().map_err(unreachable)?;
        }
        let met = shared.meet(expected, &theirs, socket.names.as_ref());
        let is_member = met.map_err(Trouble::Refused)?;
        Ok(Entered {
            socket,
            theirs,
            is_member,
        })
    }

    fn host(&self) -> &str {
        let host = self.addr.rsplit_once(':').map_or(&*self.addr, |(host, _port)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

async fn exchange(socket: &mut Socket, own: &Hello) -> Result<(Hello, Option<Refused>), String> {
    let ended = |error: std::io::Error| {
        match error.kind() {
        std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::ConnectionReset => {
            "the other end has closed the connection before it said who it is; is it a node of LatsDB, and do both use TLS, or neither?"
                .to_owned()
        }
        _ => error.to_string(),
    }
    };
    socket.writer.write_all(&own.encode()).await.map_err(ended)?;
    socket.writer.flush().await.map_err(ended)?;
    let mut bytes = [0; HELLO_BYTES];
    socket.reader.read_exact(&mut bytes).await.map_err(ended)?;
    let theirs = Hello::decode(&bytes).map_err(|error| error.to_string())?;
    let Verdict::Refused { refusal, reason_bytes } = theirs.verdict else {
        return Ok((theirs, None));
    };
    let mut reason = vec![0; usize::from(reason_bytes).min(REASON_BYTES)];
    socket.reader.read_exact(&mut reason).await.map_err(ended)?;
    let reason = String::from_utf8_lossy(&reason).into_owned();
    Ok((theirs, Some(Refused { refusal, reason })))
}
