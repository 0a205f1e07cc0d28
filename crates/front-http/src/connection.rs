//! The life of one connection: request after request.
//!
//! ```text
//!   accepted ─▶ TLS, where its first byte says so ─▶ HTTP/2, where the client says so ([`http2`])
//!                                                 └▶ wait for a request ─▶ run what has come, on a fiber ─▶ send the answers ─┐
//!                                                          ▲──────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Who it is, is looked at before more of a body is taken in than what has come with the head. While it waits for a request, a connection
//! holds no buffer and no stack.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fiber::{Fiber, Suspender, is_unwinding};
use front::schedule::{self, LongTurns};
use front::socket::{Patience, ReadAhead, Scan, SocketEnd};
use front::{FiberHost, Handle, Input, Output, Socket, Transport, pool};
use http_wire::chunked::Chunked;
use http_wire::response::{CONTINUE, Framing, ResponseHead};
use http_wire::target::Target;
use http_wire::{Body, Head, Improper};
use rest::{Answer, Problem, Request};
use sql_api::host::Interrupt;
use types::{ErrorKind, SqlError};

use crate::console;
use crate::http2;
use crate::identity::{Identified, Known, bearer};
use crate::node::Admission;
use crate::outlet::{SocketOutlet, WRITE_TIMEOUT};
use crate::pages::{self, Asked, Line};
use crate::server::Shared;

/// From the first byte on, until there is a whole head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Within which a body that has begun makes progress.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Between requests, of who has not logged in and of who has.
const VISITOR_IDLE: Duration = Duration::from_secs(10);
const CLIENT_IDLE: Duration = Duration::from_secs(75);
/// Bytes of the largest body: `max_allowed_packet`, as it is by default.
const BODY_MAX: usize = 64 << 20;
/// Answers are sent once this much is collected.
const FLUSH_LEN: usize = 64 << 10;
/// What a client that is turned away may still send and be read, so that it gets to see why.
const LAST_READ_MAX: usize = 1 << 20;
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(3);
/// What one asks for under.
const API: &str = "/v1/";

/// What to do after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Request,
    /// Close, once what is collected has been sent.
    Close,
    /// The client cannot be reached.
    Broken,
}

/// A connection between requests.
struct Connection {
    shared: Arc<Shared>,
    handle: Arc<Handle>,
    socket: Rc<Socket>,
    input: Input,
    output: Output,
    head: Head,
    chunked: Chunked,
    /// A body, lent to each answer for its memory.
    body: Vec<u8>,
    known: Known,
    /// A part of the running request's answer has been sent.
    has_begun: Cell<bool>,
    long_turns: LongTurns,
}

/// Why there is no request.
enum End {
    Socket(SocketEnd),
    Improper(Improper),
    Refused(Problem),
}

impl From<SocketEnd> for End {
    fn from(end: SocketEnd) -> End {
        End::Socket(end)
    }
}

impl From<Improper> for End {
    fn from(improper: Improper) -> End {
        End::Improper(improper)
    }
}

/// Where the request ends that begins the input.
#[derive(Debug, Clone, Copy)]
struct Whole {
    /// Of the body, as it came.
    wire_len: usize,
}

/// Serves one client until the end of its connection.
pub async fn serve(stream: Transport, shared: Arc<Shared>, handle: Arc<Handle>) {
    let waker = std::future::poll_fn(|context| std::task::Poll::Ready(context.waker().clone())).await;
    handle.set_waker(waker);
    handle.end();
    let socket = Rc::new(Socket::new(stream, handle.clone()));
    if begin_tls(&socket, &shared).await.is_err() {
        return;
    }
    if socket.is_for(http2::PROTOCOL) {
        // Boxed, as most connections are of HTTP/1.1, and an idle one should be small.
        return Box::pin(http2::serve(socket, Input::default(), shared, handle)).await;
    }
    let mut connection = Box::new(Connection {
        known: Known::default(),
        shared,
        handle,
        socket,
        input: Input::default(),
        output: Output::default(),
        head: Head::default(),
        chunked: Chunked::default(),
        body: Vec::new(),
        has_begun: Cell::new(false),
        long_turns: LongTurns::default(),
    });
    let mut is_first = true;
    loop {
        if let Err(end) = connection.wait_for_request().await {
            if is_first && connection.input.pending().starts_with(http2::PREFACE) {
                let Connection {
                    socket,
                    input,
                    shared,
                    handle,
                    ..
                } = *connection;
                return Box::pin(http2::serve(socket, input, shared, handle)).await;
            }
            connection.say_why(end);
            let patience = match connection.output.is_empty() {
                true => Duration::ZERO,
                false => LAST_READ_TIMEOUT,
            };
            return connection.close(patience).await;
        }
        is_first = false;
        if connection.long_turns.are_recent(Instant::now) {
            connection.stand_in_queue().await;
        }
        let (back, next) = match connection.run().await {
            Ok(done) => done,
            Err(error) => return tracing::error!(%error, "no memory for a request's stack"),
        };
        connection = back;
        match next {
            Next::Request => {}
            Next::Broken => return,
            Next::Close => return connection.close(LAST_READ_TIMEOUT).await,
        }
        if connection.flush().await.is_err() {
            return;
        }
    }
}

async fn begin_tls(socket: &Socket, shared: &Shared) -> Result<(), SocketEnd> {
    match shared.doors.get() {
        Some(open) => socket.start_tls_if_asked(&open.tls, VISITOR_IDLE, HEAD_TIMEOUT).await,
        // The certificate is not there yet: the answer to a handshake is a bad request, in plain text.
        None => Ok(()),
    }
}

impl Connection {
    /// Waits until the input begins with a whole request.
    async fn wait_for_request(&mut self) -> Result<(), End> {
        let idle = match self.known.client() {
            Some(_) => CLIENT_IDLE,
            None => VISITOR_IDLE,
        };
        let patience = Patience {
            idle,
            inside_message: Some(HEAD_TIMEOUT),
            read_ahead: ReadAhead::Allowed,
        };
        let head = &mut self.head;
        self.socket
            .read_message(&mut self.input, patience, |input| {
                Ok::<_, End>(match head.scan(input.pending())? {
                    http_wire::Scan::Complete(()) => Scan::Complete(()),
                    http_wire::Scan::Incomplete => Scan::Incomplete {
                        wanted: input.pending().len() + 1,
                    },
                })
            })
            .await?;
        self.chunked.clear();
        if self.whole()?.is_some() {
            return Ok(());
        }
        // Nothing more is read for who may not ask.
        let is_api =
            Target::parse(self.head.target(self.input.pending())).is_some_and(|target| target.path.starts_with(API));
        if !is_api {
            return Err(Improper::BodyTooLarge.into());
        }
        self.identify().await.map_err(End::Refused)?;
        if self.head.info.expects_continue {
            self.output.buffer_mut().extend_from_slice(CONTINUE);
            self.flush().await?;
        }
        let patience = Patience {
            idle: BODY_TIMEOUT,
            inside_message: Some(BODY_TIMEOUT),
            read_ahead: ReadAhead::Allowed,
        };
        let (info, chunked) = (self.head.info, &mut self.chunked);
        self.socket
            .read_message(&mut self.input, patience, |input| {
                let bytes = &input.pending()[info.len..];
                let wanted = match info.body {
                    Body::Length(len) => info.len + usize::try_from(len).unwrap_or(usize::MAX),
                    Body::Chunked => input.pending().len() + 1,
                };
                Ok::<_, End>(match wire_len_of(info.body, chunked, bytes)? {
                    Some(_) => Scan::Complete(()),
                    None => Scan::Incomplete { wanted },
                })
            })
            .await
    }

    /// Whether the whole request is there whose head was found.
    fn whole(&mut self) -> Result<Option<Whole>, Improper> {
        let info = self.head.info;
        let bytes = &self.input.pending()[info.len..];
        let len = wire_len_of(info.body, &mut self.chunked, bytes)?;
        Ok(len.map(|wire_len| Whole { wire_len }))
    }

    /// Finds out who asks. A node that stops wants to know no more of them.
    async fn identify(&mut self) -> Result<(), Problem> {
        let Some(open) = self.shared.doors.get() else {
            return Err(self.not_open());
        };
        if open.logins.registry().is_draining() {
            return Err(Problem::unavailable("the node stops"));
        }
        let headers = self.head.headers(self.input.pending());
        match self.known.is_still(headers, open) {
            true => Ok(()),
            false => self.known.identify(headers, open, &self.handle, &self.socket).await,
        }
    }

    /// The rows are not there, or never will be.
    fn not_open(&self) -> Problem {
        match self.shared.node.health() {
            crate::Health::Serving => Problem::not_implemented("a witness has no rows; ask another node"),
            crate::Health::NotServing { reason } => Problem::unavailable(reason),
        }
    }

    /// Waits behind the statements that gave way. Boxed, as it is rare and an idle connection should be small.
    fn stand_in_queue(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(schedule::turn(|| self.handle.interrupted().is_some()))
    }

    /// Runs the whole requests that have come, on a stack of their own.
    async fn run(mut self: Box<Self>) -> std::io::Result<(Box<Self>, Next)> {
        self.output.replace_buffer(pool::take_buffer());
        let fiber = Fiber::new(move |suspender: &Suspender| {
            let (handle, socket) = (self.handle.clone(), self.socket.clone());
            let host = FiberHost::new(suspender, &handle, Some(&socket));
            let before = self.buffer_size();
            let next = host.governor().run(|| {
                let next = self.run_requests(&host);
                // The thread takes the buffer back, with what it has grown by.
                governor::disown(self.buffer_size() - before);
                next
            });
            self.long_turns.note(host.had_long_turns(), Instant::now);
            (self, next)
        })?;
        Ok(fiber.await)
    }

    /// What the allocator counts for the output's buffer, which is the thread's.
    fn buffer_size(&self) -> i64 {
        governor::allocated_size(self.output.capacity())
    }

    fn run_requests(&mut self, host: &FiberHost<'_>) -> Next {
        // What comes after a KILL is not run.
        if let Some(interrupt @ (Interrupt::KillConnection | Interrupt::Shutdown)) = self.handle.interrupted() {
            self.say_why(SocketEnd::Interrupted(interrupt).into());
            return Next::Close;
        }
        loop {
            let whole = match self.whole() {
                Ok(Some(whole)) => whole,
                // Its rest is waited for without a stack.
                Ok(None) => return Next::Request,
                Err(improper) => {
                    self.say_why(improper.into());
                    return Next::Close;
                }
            };
            let next = match catch_unwind(AssertUnwindSafe(|| self.answer(whole, host))) {
                Ok(next) => next,
                Err(panic) if is_unwinding() => resume_unwind(panic),
                Err(_) => self.recover(host),
            };
            self.input.consume(self.head.info.len + whole.wire_len);
            if next != Next::Request {
                return next;
            }
            // Many small requests in one piece are long work, too.
            governor::pause();
            match self.handle.interrupted() {
                None | Some(Interrupt::KillQuery | Interrupt::Timeout) => {}
                Some(Interrupt::KillConnection | Interrupt::Shutdown) => return Next::Close,
            }
            if self.output.len() >= FLUSH_LEN {
                let before = self.buffer_size();
                let flushed = host.wait_for(self.flush());
                governor::disown(before - self.buffer_size());
                if flushed.is_err() {
                    return Next::Broken;
                }
            }
            match self.head.scan(self.input.pending()) {
                Ok(http_wire::Scan::Complete(())) => self.chunked.clear(),
                Ok(http_wire::Scan::Incomplete) => return Next::Request,
                Err(improper) => {
                    self.say_why(improper.into());
                    return Next::Close;
                }
            }
        }
    }

    /// Answers the request that begins the input.
    fn answer(&mut self, whole: Whole, host: &FiberHost<'_>) -> Next {
        let target = Target::parse(self.head.target(self.input.pending()));
        match target {
            Some(target) if target.path.starts_with(API) => {}
            Some(target) => {
                let is_read = matches!(self.head.method(self.input.pending()), b"GET" | b"HEAD");
                return match ::console::find(target.path).filter(|_| is_read) {
                    Some(asset) => self.answer_with_file(asset),
                    None => self.answer_with_page(host),
                };
            }
            None => {
                self.say_why(End::Refused(Problem::bad_request(
                    "the target is no path of this server",
                )));
                return Next::Close;
            }
        }
        // Nobody waits for it in most cases.
        let is_known = {
            let open = self.shared.doors.get();
            open.is_some_and(|open| self.known.is_still(self.head.headers(self.input.pending()), open))
        };
        if !is_known && let Err(problem) = host.wait_for(self.identify()) {
            self.say_why(End::Refused(problem));
            return Next::Close;
        }
        self.answer_of_api(whole, host)
    }

    fn answer_of_api(&mut self, whole: Whole, host: &FiberHost<'_>) -> Next {
        let info = self.head.info;
        if info.body == Body::Chunked {
            self.chunked.join(&mut self.input.pending_mut()[info.len..]);
        }
        let bytes = self.input.pending();
        let body_len = match info.body {
            Body::Chunked => self.chunked.joined_len(),
            Body::Length(_) => whole.wire_len,
        };
        let (Some(target), Some(Identified { client, .. })) =
            (Target::parse(self.head.target(bytes)), self.known.client_mut())
        else {
            return Next::Close;
        };
        let method = self.head.method(bytes);
        let request = Request {
            method,
            target,
            headers: self.head.headers(bytes),
            bytes,
            body: &bytes[info.len..info.len + body_len],
        };
        self.handle.begin("HTTP", self.head.what(bytes));
        let mut outlet = SocketOutlet::new(
            &mut self.output,
            &self.socket,
            info,
            &request,
            self.handle.is_draining(),
            &self.has_begun,
        );
        let mut answer = Answer::new(std::mem::take(&mut self.body), &mut outlet);
        client.answer(&request, host, &mut answer);
        let (head, body) = answer.into_parts();
        let next = match outlet.finish(&head, &body) {
            Ok(true) => Next::Request,
            Ok(false) => Next::Close,
            Err(()) => Next::Broken,
        };
        self.handle.end();
        if body.capacity() <= FLUSH_LEN {
            self.body = body;
            self.body.clear();
        }
        next
    }

    /// After a panic inside a request: answers 500, and goes on without the session's transaction.
    fn recover(&mut self, host: &FiberHost<'_>) -> Next {
        use sql_api::host::Host;
        host.limit_time(None);
        self.handle.end();
        let recovered = catch_unwind(AssertUnwindSafe(|| {
            if let Some(known) = self.known.client_mut() {
                known.client.recover();
            }
        }));
        if recovered.is_err() {
            self.known = Known::default();
        }
        // Nothing can be told behind a part of an answer.
        if self.has_begun.take() {
            return Next::Broken;
        }
        let error = SqlError::with_message(
            ErrorKind::UnknownError,
            "The request ran into an internal error; its transaction was rolled back",
        );
        self.say_why(End::Refused(error.into()));
        Next::Close
    }

    /// A file of the console. A browser asks for many of them.
    fn answer_with_file(&mut self, asset: &'static ::console::Asset) -> Next {
        let bytes = self.input.pending();
        let Some(target) = Target::parse(self.head.target(bytes)) else {
            return Next::Close;
        };
        let request = Request {
            method: self.head.method(bytes),
            target,
            headers: self.head.headers(bytes),
            bytes,
            body: &[],
        };
        let (head, body) = console::answer(asset, request.headers);
        let outlet = SocketOutlet::new(
            &mut self.output,
            &self.socket,
            self.head.info,
            &request,
            self.handle.is_draining(),
            &self.has_begun,
        );
        match outlet.finish(&head, body) {
            Ok(true) => Next::Request,
            Ok(false) => Next::Close,
            Err(()) => Next::Broken,
        }
    }

    /// What the token is good for that the request shows, as far as the node's own pages go.
    async fn admission_by_token(&mut self) -> Option<Admission> {
        let headers = self.head.headers(self.input.pending());
        bearer(headers.get("authorization")?)?;
        Some(match self.identify().await {
            Ok(()) => match self.known.client() {
                Some(known) if known.client.may_see_server() => Admission::Welcome,
                _ => Admission::Forbidden,
            },
            Err(problem) if problem.status == 429 => Admission::Later,
            Err(_) => Admission::Login,
        })
    }

    /// One of the node's own pages, after which the connection is closed.
    fn answer_with_page(&mut self, host: &FiberHost<'_>) -> Next {
        let by_token = host.wait_for(self.admission_by_token());
        let bytes = self.input.pending();
        let Some(target) = Target::parse(self.head.target(bytes)) else {
            return Next::Close;
        };
        let method = self.head.method(bytes);
        let asked = Asked {
            method,
            target,
            headers: self.head.headers(bytes),
            line: Line {
                peer: &self.handle.peer,
                encryption: self.socket.encryption(),
                certificate: self.socket.certificate(),
            },
            by_token,
        };
        let page = host.wait_for(pages::answer(asked, &*self.shared.node));
        let is_head = method == b"HEAD";
        let out = self.output.buffer_mut();
        let mut head = ResponseHead::begin(out, page.status);
        head.header("content-type", page.content_type);
        head.header("x-content-type-options", "nosniff");
        head.header("cache-control", "no-store");
        head.header("connection", "close");
        if let Some((name, value)) = page.header {
            head.header(name, value);
        }
        head.end(Framing::Length(page.body.len()));
        if !is_head {
            out.extend_from_slice(&page.body);
        }
        Next::Close
    }

    async fn flush(&mut self) -> Result<(), SocketEnd> {
        self.socket.flush(&mut self.output, WRITE_TIMEOUT).await?;
        pool::return_buffer(self.output.replace_buffer(Vec::new()));
        Ok(())
    }

    /// Tells why the connection ends, if there is somebody to be told.
    fn say_why(&mut self, end: End) {
        let is_head = matches!(end, End::Refused(_)) && self.head.method(self.input.pending()) == b"HEAD";
        let problem = match end {
            End::Refused(problem) => problem,
            End::Improper(improper) => {
                Problem::new(improper.status(), "bad-http", "This is no request", improper.reason())
            }
            End::Socket(SocketEnd::Closed | SocketEnd::TimedOut { inside_message: false }) => return,
            End::Socket(SocketEnd::TimedOut { inside_message: true }) => Problem::new(
                408,
                "too-slow",
                "The request came too slowly",
                "nothing more came in time",
            ),
            End::Socket(SocketEnd::Interrupted(_)) if self.input.pending().is_empty() => return,
            End::Socket(SocketEnd::Interrupted(_)) => Problem::unavailable("the connection is ended"),
            End::Socket(SocketEnd::NoMemory) => Problem::new(
                507,
                "out-of-memory",
                "The node has no room for this",
                "the node's memory is used up",
            ),
        };
        let mut body = Vec::new();
        problem.write(&mut body);
        let out = self.output.buffer_mut();
        let mut head = ResponseHead::begin(out, problem.status);
        head.header("content-type", rest::problem::CONTENT_TYPE);
        head.header("connection", "close");
        for (name, value) in &problem.headers {
            head.header(name, value);
        }
        head.end(Framing::Length(body.len()));
        if !is_head {
            out.extend_from_slice(&body);
        }
    }

    /// Sends what is left, and gives the client some time to read it.
    async fn close(mut self: Box<Self>, patience: Duration) {
        if self.flush().await.is_ok() {
            self.socket.close(LAST_READ_MAX, patience).await;
        }
    }
}

/// How long a body is on the wire, if all of it is in `bytes`.
fn wire_len_of(body: Body, chunked: &mut Chunked, bytes: &[u8]) -> Result<Option<usize>, Improper> {
    match body {
        Body::Length(len) if len > BODY_MAX as u64 => Err(Improper::BodyTooLarge),
        Body::Length(len) => Ok((bytes.len() as u64 >= len).then_some(len as usize)),
        Body::Chunked => Ok(match chunked.scan(bytes, BODY_MAX)? {
            http_wire::Scan::Complete(len) => Some(len),
            http_wire::Scan::Incomplete => None,
        }),
    }
}
