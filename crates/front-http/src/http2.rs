//! Connections of HTTP/2 (RFC 9113): many exchanges at once over one of them.
//!
//! ```text
//!   the client ══ frames ══▶ `h2` ──▶ an exchange ──▶ a lane: a connection of HTTP/1.1 inside the node ──▶ [`crate::connection::serve`]
//!              ◀═════════════════════     ◀──────────────
//! ```
//!
//! An exchange is passed on as a request of HTTP/1.1, over a lane, and its answer back. So it has all that a connection has: who it is, a place
//! among the sessions, an entry in the list of processes, patience, a statement that ends with its client. Lanes run on the
//! connection's loop: to wake another thread costs more than most requests. One after the other, a lane serves several exchanges.
//!
//! The connection lasts as long as a lane of it: who asks for nothing loses the lanes after a while, as on other connections.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use front::inside::{Far, Outer, inside};
use front::{Handle, Input, RawStream, Socket, Transport};
use h2::server::{Builder, Connection, SendResponse};
use h2::{Reason, RecvStream, SendStream};
use http::{Method, Request, Response};
use http_wire::answer::Next;
use http_wire::{AnswerHead, BodyReader, Framing, Scan, response};
use sql_api::host::Interrupt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, WriteHalf};
use tokio::sync::Semaphore;
use tokio::time::Sleep;

use crate::connection;
use crate::server::Shared;

/// What a client that needs no asking begins with, up to its second part.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";
/// The protocol's name in TLS.
pub const PROTOCOL: &[u8] = b"h2";

/// Exchanges that a client may have open: what RFC 9113 (6.5.2) asks for at least.
const STREAMS_MAX: u32 = 100;
/// Exchanges that run; the others wait. Each has a place among the sessions.
const LANES_MAX: usize = 32;
/// Bytes that wait in a lane, in each direction.
const LANE_LEN: usize = 32 << 10;
/// Bytes of most answers.
const SHORT_LEN: usize = 4 << 10;
/// Bytes of a body that a client may send ahead of what is taken: of one exchange, and of all.
const WINDOW: u32 = 256 << 10;
const WINDOW_OF_ALL: u32 = 1 << 20;
/// Bytes of one exchange's answer that wait for the client.
const UNSENT_MAX: usize = 32 << 10;
/// Exchanges that were broken off by the client before anybody looked at them. More than these end the connection.
const RESETS_MAX: usize = 50;

/// For the client's first frames.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Without an exchange and without a lane.
const EMPTY_TIMEOUT: Duration = Duration::from_secs(10);
/// For what is still to be said when the connection ends.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// A lane that has rested for longer is not used again: it may be about to end.
const RESTED_MAX: Duration = Duration::from_secs(5);

/// What the exchanges of a connection share.
struct Exchanges {
    shared: Arc<Shared>,
    handle: Arc<Handle>,
    outer: Outer,
    resting: RefCell<Vec<Lane>>,
    places: Semaphore,
    open: Cell<usize>,
    /// Wakes who looks after the lanes that rest.
    waker: RefCell<Option<Waker>>,
}

/// A connection of HTTP/1.1 inside the node.
struct Lane {
    far: Far,
    handle: Arc<Handle>,
    since: Instant,
}

/// Why an exchange is given up.
enum Broken {
    /// The client has broken it off, or is away.
    ByClient,
    /// The lane has ended within the answer, or before it.
    ByLane,
}

impl From<h2::Error> for Broken {
    fn from(_: h2::Error) -> Broken {
        Broken::ByClient
    }
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Broken {
        Broken::ByLane
    }
}

impl From<http_wire::Improper> for Broken {
    fn from(_: http_wire::Improper) -> Broken {
        Broken::ByLane
    }
}

/// Serves a client that speaks HTTP/2 from `first` on.
pub async fn serve(socket: Rc<Socket>, first: Input, shared: Arc<Shared>, handle: Arc<Handle>) {
    let outer = socket.outer();
    let begun = Builder::new()
        .max_concurrent_streams(STREAMS_MAX)
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW_OF_ALL)
        .max_header_list_size(http_wire::request::HEAD_MAX as u32)
        .max_send_buffer_size(UNSENT_MAX)
        .max_pending_accept_reset_streams(RESETS_MAX)
        .handshake(RawStream::new(socket, first));
    let Ok(Ok(mut connection)) = tokio::time::timeout(BEGIN_TIMEOUT, begun).await else {
        return;
    };
    let exchanges = Rc::new(Exchanges {
        shared,
        handle,
        outer,
        resting: RefCell::default(),
        places: Semaphore::new(LANES_MAX),
        open: Cell::new(0),
        waker: RefCell::default(),
    });
    let mut is_told = false;
    let mut empty = None;
    loop {
        match poll_fn(|context| exchanges.poll(context, &mut connection, &mut is_told, &mut empty)).await {
            Event::Begun(request, respond) => {
                exchanges.count(exchanges.open.get() + 1);
                tokio::task::spawn_local(exchanges.clone().run(request, respond));
            }
            Event::Ended => return,
            Event::Killed => {
                connection.abrupt_shutdown(Reason::NO_ERROR);
                break;
            }
            Event::Empty => {
                connection.graceful_shutdown();
                break;
            }
        }
    }
    let _ = tokio::time::timeout(END_TIMEOUT, poll_fn(|context| connection.poll_closed(context))).await;
}

/// What happens on a connection.
enum Event {
    Begun(Box<Request<RecvStream>>, SendResponse<Bytes>),
    /// By the client, or by a break of the protocol, which it has been told.
    Ended,
    Killed,
    /// For so long that it is given up.
    Empty,
}

impl Exchanges {
    fn poll(
        &self,
        context: &mut Context<'_>,
        connection: &mut Connection<RawStream, Bytes>,
        is_told: &mut bool,
        empty: &mut Option<Pin<Box<Sleep>>>,
    ) -> Poll<Event> {
        self.waker.replace(Some(context.waker().clone()));
        if let Some(Interrupt::KillConnection | Interrupt::Shutdown) = self.handle.interrupted() {
            return Poll::Ready(Event::Killed);
        }
        let stops = self.shared.loops.registry().is_draining();
        if stops && !std::mem::replace(is_told, true) {
            connection.graceful_shutdown();
        }
        match connection.poll_accept(context) {
            Poll::Ready(Some(Ok((request, respond)))) => return Poll::Ready(Event::Begun(Box::new(request), respond)),
            Poll::Ready(Some(Err(_)) | None) => return Poll::Ready(Event::Ended),
            Poll::Pending => {}
        }
        // A lane that rests says nothing but that it ends.
        let mut resting = self.resting.borrow_mut();
        resting.retain_mut(|lane| lane.poll_end(context).is_pending());
        if stops && self.open.get() == 0 {
            return Poll::Ready(Event::Empty);
        }
        if self.open.get() > 0 || !resting.is_empty() {
            *empty = None;
            return Poll::Pending;
        }
        let sleep = empty.get_or_insert_with(|| Box::pin(tokio::time::sleep(EMPTY_TIMEOUT)));
        sleep.as_mut().poll(context).map(|()| Event::Empty)
    }

    async fn run(self: Rc<Self>, request: Box<Request<RecvStream>>, respond: SendResponse<Bytes>) {
        self.pass_on(request, respond).await;
        self.count(self.open.get() - 1);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn count(&self, open: usize) {
        self.open.set(open);
        self.handle.carries_exchanges(open > 0);
    }

    /// Passes a request on, and its answer back.
    async fn pass_on(&self, request: Box<Request<RecvStream>>, mut respond: SendResponse<Bytes>) {
        let place = tokio::select! {
            place = self.places.acquire() => place,
            _ = poll_fn(|context| respond.poll_reset(context)) => return,
        };
        let (Ok(_place), Some(lane)) = (place, self.lane()) else {
            // Nothing of it has been looked at, which this reason tells the client.
            return respond.send_reset(Reason::REFUSED_STREAM);
        };
        let (parts, body) = request.into_parts();
        let (mut answers, requests) = tokio::io::split(lane.far);
        let mut sending = std::pin::pin!(send_request(requests, &parts, body));
        let mut answering = Box::pin(send_answer(&mut answers, respond, parts.method == Method::HEAD));
        let mut sent = None;
        let answered = loop {
            tokio::select! {
                answered = &mut answering => break answered,
                end = &mut sending, if sent.is_none() => match end {
                    Ok(requests) => sent = Some(requests),
                    // The lane takes no more: the reason is its answer.
                    Err(Broken::ByLane) => break answering.as_mut().await,
                    Err(Broken::ByClient) => break Err(Broken::ByClient),
                },
            }
        };
        drop(answering);
        self.note(&lane.handle);
        if let (Ok(true), Some(requests)) = (answered, sent) {
            self.resting.borrow_mut().push(Lane {
                far: answers.unsplit(requests),
                handle: lane.handle,
                since: Instant::now(),
            });
        }
    }

    /// Where a lane has become a session, the connection is listed as well.
    fn note(&self, lane: &Handle) {
        if self.handle.is_visitor() && !lane.is_visitor() {
            self.shared.loops.registry().carries(&self.handle, lane);
        }
    }

    /// A lane that nobody uses, or a new one; none where all places for those who have not logged in are taken.
    fn lane(&self) -> Option<Lane> {
        let mut resting = self.resting.borrow_mut();
        // The one that rests for the shortest time.
        if let Some(mut lane) = resting.pop()
            && lane.since.elapsed() < RESTED_MAX
            && lane.poll_end(&mut Context::from_waker(Waker::noop())).is_pending()
        {
            return Some(lane);
        }
        let loops = &self.shared.loops;
        let handle = loops.registry().enter_visitor(self.handle.peer)?;
        let (near, far) = inside(LANE_LEN, self.outer.clone());
        let (shared, near) = (self.shared.clone(), Transport::Inside(Box::new(near)));
        loops.spawn_here(handle.clone(), move |load| async move {
            connection::serve(near, shared, load.handle().clone()).await;
        });
        Some(Lane {
            far,
            handle,
            since: Instant::now(),
        })
    }
}

impl Lane {
    /// Ready once the lane has ended.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut byte = [0];
        Pin::new(&mut self.far)
            .poll_read(context, &mut ReadBuf::new(&mut byte))
            .map(drop)
    }
}

/// Whether the client has not said how long the body is that follows.
fn comes_in_chunks(parts: &http::request::Parts, body: &RecvStream) -> bool {
    !body.is_end_stream() && !parts.headers.contains_key(http::header::CONTENT_LENGTH)
}

/// The head of the request as HTTP/1.1 has it. Neither names nor values can hold what ends a line: `h2` has looked at them.
fn head_of(parts: &http::request::Parts, body: &RecvStream) -> Vec<u8> {
    let mut head = Vec::with_capacity(512);
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    head.extend_from_slice(parts.method.as_str().as_bytes());
    head.push(b' ');
    head.extend_from_slice(target.as_bytes());
    head.extend_from_slice(b" HTTP/1.1\r\n");
    let mut line = |name: &str, value: &[u8]| {
        head.extend_from_slice(name.as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value);
        head.extend_from_slice(b"\r\n");
    };
    if let Some(authority) = parts.uri.authority() {
        line("host", authority.as_str().as_bytes());
    }
    for (name, value) in &parts.headers {
        match name.as_str() {
            // The authority goes first.
            "host" if parts.uri.authority().is_some() => {}
            // Of one connection, and not of the exchange.
            "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" | "te" => {}
            // The body is not held back here.
            "expect" => {}
            "content-length" if body.is_end_stream() => {}
            name => line(name, value.as_bytes()),
        }
    }
    if comes_in_chunks(parts, body) {
        line("transfer-encoding", b"chunked");
    }
    head.extend_from_slice(b"\r\n");
    head
}

/// Sends a request into a lane. Gives the way back, for the next one.
async fn send_request(
    mut lane: WriteHalf<Far>,
    parts: &http::request::Parts,
    mut body: RecvStream,
) -> Result<WriteHalf<Far>, Broken> {
    let is_chunked = comes_in_chunks(parts, &body);
    lane.write_all(&head_of(parts, &body)).await?;
    let mut framed = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        if is_chunked {
            framed.clear();
            response::chunk(&piece, &mut framed);
            lane.write_all(&framed).await?;
        } else {
            lane.write_all(&piece).await?;
        }
        // What has been passed on may be followed by as much.
        body.flow_control().release_capacity(piece.len())?;
    }
    if is_chunked {
        lane.write_all(response::LAST_CHUNK).await?;
    }
    Ok(lane)
}

/// Sends the lane's answer to the client. Whether the lane goes on.
async fn send_answer(
    lane: &mut (impl AsyncRead + Unpin),
    mut respond: SendResponse<Bytes>,
    is_head: bool,
) -> Result<bool, Broken> {
    let mut held = BytesMut::with_capacity(SHORT_LEN);
    let answer = loop {
        if let Scan::Complete(answer) = AnswerHead::scan(&held)? {
            break answer;
        }
        held.reserve(SHORT_LEN / 2);
        let read = tokio::select! {
            read = lane.read_buf(&mut held) => read?,
            _ = poll_fn(|context| respond.poll_reset(context)) => return Err(Broken::ByClient),
        };
        if read == 0 {
            respond.send_reset(Reason::INTERNAL_ERROR);
            return Err(Broken::ByLane);
        }
    };
    let mut response = Response::builder().status(answer.status);
    for (name, value) in answer.headers(&held) {
        response = response.header(name, value);
    }
    let response = response.body(()).map_err(|_| Broken::ByLane)?;
    let _ = held.split_to(answer.len);
    let framing = match is_head {
        true => Framing::None,
        false => answer.framing,
    };
    let mut reader = BodyReader::new(framing);
    let has_body = !matches!(framing, Framing::None | Framing::Length(0));
    let mut stream = respond.send_response(response, !has_body)?;
    if !has_body {
        return Ok(answer.keep_alive);
    }
    let sent = send_body(lane, held, &mut stream, &mut reader).await;
    match sent {
        Ok(()) => stream.send_data(Bytes::new(), true)?,
        // The client must not take a part for the whole.
        Err(Broken::ByLane) => stream.send_reset(Reason::INTERNAL_ERROR),
        Err(Broken::ByClient) => {}
    }
    sent.map(|()| answer.keep_alive)
}

async fn send_body(
    lane: &mut (impl AsyncRead + Unpin),
    mut held: BytesMut,
    stream: &mut SendStream<Bytes>,
    reader: &mut BodyReader,
) -> Result<(), Broken> {
    loop {
        match reader.next(&held)? {
            Next::Frame(len) => drop(held.split_to(len)),
            Next::Body(len) => send_all(stream, held.split_to(len).freeze()).await?,
            Next::More => {
                held.reserve(LANE_LEN);
                let read = tokio::select! {
                    read = lane.read_buf(&mut held) => read?,
                    _ = poll_fn(|context| stream.poll_reset(context)) => return Err(Broken::ByClient),
                };
                if read == 0 {
                    return reader.end().map_err(Broken::from);
                }
            }
            Next::Done => return Ok(()),
        }
    }
}

/// Sends as the client makes room for it.
async fn send_all(stream: &mut SendStream<Bytes>, mut bytes: Bytes) -> Result<(), Broken> {
    while !bytes.is_empty() {
        stream.reserve_capacity(bytes.len());
        let room = poll_fn(|context| {
            if stream.poll_reset(context).is_ready() {
                return Poll::Ready(None);
            }
            Poll::Ready(ready!(stream.poll_capacity(context)))
        });
        let room = room.await.ok_or(Broken::ByClient)??;
        stream.send_data(bytes.split_to(room.min(bytes.len())), false)?;
    }
    Ok(())
}
