//! The life of one connection.
//!
//! ```text
//!   accepted ─▶ wait for a request, or a message ─▶ run what has come, on a fiber ─▶ send the answers ─┐
//!                      ▲──────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! One read takes all that has come; all whole requests in it are run in their order; one write sends their answers. While it waits,
//! a connection holds no buffer and no stack.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use fiber::{Fiber, Suspender, is_unwinding};
use front::schedule::{self, LongTurns};
use front::socket::{Patience, ReadAhead, Scan, SocketEnd};
use front::{FiberHost, Handle, Input, Output, Socket, Transport, pool};
use keyspace::Session;
use keyspace::command::Commands;
use keyspace::hub::Subscriber;
use redis_wire::{ProtocolError, Reply, Requests};
use sql_api::host::Interrupt;

use crate::server::Shared;
use crate::surroundings::Around;

/// Requests that run in one go, of a client that sends many at once.
const REQUESTS_AT_ONCE: usize = 1024;
/// Answers are sent when there are so many bytes of them.
const FLUSH_LEN: usize = 64 << 10;
/// A client may be silent for ever. One that has not logged in has a place only as long as nobody else wants it.
const IDLE: Duration = Duration::from_secs(365 * 86_400);
/// What a client that is turned away may still send and be read, so that it gets to see why.
const LAST_READ_MAX: usize = 1 << 20;
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(3);

struct Connection {
    shared: Arc<Shared>,
    handle: Arc<Handle>,
    socket: Rc<Socket>,
    session: Session,
    requests: Requests,
    input: Input,
    output: Output,
    long_turns: LongTurns,
}

/// Why no request came.
enum ReadEnd {
    Socket(SocketEnd),
    Protocol(ProtocolError),
}

impl From<SocketEnd> for ReadEnd {
    fn from(end: SocketEnd) -> ReadEnd {
        ReadEnd::Socket(end)
    }
}

/// What a connection has waited for.
enum Come {
    Request,
    Messages,
}

/// How a connection goes on after its requests have run.
enum Next {
    Wait,
    /// There are more whole requests.
    Run,
    Close,
    Broken,
}

/// Serves one client until the end of its connection.
pub async fn serve(stream: Transport, shared: Arc<Shared>, handle: Arc<Handle>) {
    let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
    handle.set_waker(waker);
    let socket = Rc::new(Socket::new(stream, handle.clone()));
    let around = Around {
        shared: shared.clone(),
        handle: handle.clone(),
        socket: socket.clone(),
    };
    if let Some(tls) = &shared.tls
        && socket.start_tls_if_asked(tls, IDLE, LAST_READ_TIMEOUT).await.is_err()
    {
        return;
    }
    let account = around.account_without_login();
    let is_stranger = account.is_none();
    let keyspace = shared.keyspace.clone();
    let session = Session::new(keyspace, u64::from(handle.id), account, Box::new(around));
    let mut connection = Box::new(Connection {
        shared,
        handle,
        socket,
        session,
        requests: Requests::of(is_stranger),
        input: Input::default(),
        output: Output::default(),
        long_turns: LongTurns::default(),
    });
    if !is_stranger {
        connection.handle.end();
    }
    loop {
        match connection.wait().await {
            Ok(Come::Messages) => {
                if !connection.take_messages() {
                    return connection.close().await;
                }
            }
            Ok(Come::Request) => loop {
                if connection.long_turns.are_recent(Instant::now) {
                    connection.stand_in_queue().await;
                }
                let (back, next) = match connection.run().await {
                    Ok(done) => done,
                    Err(error) => return tracing::error!(%error, "no memory for a command's stack"),
                };
                connection = back;
                if !connection.take_messages() {
                    return connection.close().await;
                }
                match next {
                    Next::Run => {
                        if connection.flush().await.is_err() {
                            return;
                        }
                    }
                    Next::Wait => break,
                    Next::Broken => return,
                    Next::Close => return connection.close().await,
                }
            },
            Err(end) => {
                connection.say_why(&end);
                return connection.close().await;
            }
        }
        if connection.flush().await.is_err() {
            return;
        }
    }
}

impl Connection {
    /// Waits until there is a whole request, or a message for the client.
    async fn wait(&mut self) -> Result<Come, ReadEnd> {
        let Connection {
            shared,
            socket,
            session,
            requests,
            input,
            ..
        } = self;
        let patience = Patience {
            idle: IDLE,
            inside_message: Some(shared.read_timeout),
            read_ahead: ReadAhead::Allowed,
        };
        let scan = |input: &mut Input| match requests.scan(input.pending()) {
            Ok(redis_wire::Scan::Complete { .. }) => Ok(Scan::Complete(Come::Request)),
            Ok(redis_wire::Scan::Incomplete { wanted }) => Ok(Scan::Incomplete { wanted }),
            Err(error) => Err(ReadEnd::Protocol(error)),
        };
        let read = socket.read_message(input, patience, scan);
        match session.subscriber() {
            None => read.await,
            Some(subscriber) => {
                let messages = Subscriber::has_messages(subscriber);
                tokio::select! {
                    read = read => read,
                    () = messages => Ok(Come::Messages),
                }
            }
        }
    }

    /// Waits behind the commands that gave way. Boxed, as it is rare and an idle connection should be small.
    fn stand_in_queue(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(schedule::turn(|| self.handle.interrupted().is_some()))
    }

    /// Runs the whole requests that have come, on a stack of their own.
    async fn run(mut self: Box<Self>) -> std::io::Result<(Box<Self>, Next)> {
        if self.output.is_empty() {
            self.output.replace_buffer(pool::take_buffer());
        }
        let fiber = Fiber::new(move |suspender: &Suspender| {
            let (handle, socket) = (self.handle.clone(), self.socket.clone());
            let host = FiberHost::new(suspender, &handle, Some(&socket));
            let before = governor::allocated_size(self.output.capacity());
            let next = host.governor().run(|| {
                let next = self.run_requests(&host);
                // The thread takes the buffer back, with what it has grown by.
                governor::disown(governor::allocated_size(self.output.capacity()) - before);
                next
            });
            self.long_turns.note(host.had_long_turns(), Instant::now);
            (self, next)
        })?;
        Ok(fiber.await)
    }

    fn run_requests(&mut self, host: &FiberHost<'_>) -> Next {
        if let Some(Interrupt::KillConnection | Interrupt::Shutdown) = self.handle.interrupted() {
            return Next::Close;
        }
        let input = std::mem::take(&mut self.input);
        let (next, taken) = self.run_pending(input.pending(), host);
        self.input = input;
        self.input.consume(taken);
        self.handle.end();
        next
    }

    /// Runs the requests at the beginning of some bytes; how to go on, and how many bytes they took.
    fn run_pending(&mut self, bytes: &[u8], host: &FiberHost<'_>) -> (Next, usize) {
        // Words with quotes are copies; everything else refers to what has come.
        let mut quoted: Vec<Vec<Vec<u8>>> = Vec::new();
        let mut places: Vec<Place> = Vec::new();
        let (mut at, mut next) = (0, Next::Wait);
        let mut broken = None;
        loop {
            if places.len() == REQUESTS_AT_ONCE {
                next = Next::Run;
                break;
            }
            match self.requests.scan(&bytes[at..]) {
                Ok(redis_wire::Scan::Incomplete { .. }) => break,
                Ok(redis_wire::Scan::Complete { len }) => {
                    let here = &bytes[at..at + len];
                    match self.requests.ranges() {
                        Some([]) => {}
                        Some(ranges) => places.push(Place::Here(
                            ranges
                                .iter()
                                .map(|range| &here[range.start as usize..range.end as usize])
                                .collect(),
                        )),
                        None if self.requests.args(here).len() == 0 => {}
                        None => {
                            quoted.push(self.requests.args(here).map(<[u8]>::to_vec).collect());
                            places.push(Place::Quoted(quoted.len() - 1));
                        }
                    }
                    at += len;
                    // A client that is nobody yet may send more once it is somebody.
                    if self.requests.is_stranger && !places.is_empty() {
                        next = Next::Run;
                        break;
                    }
                }
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            }
        }
        let requests: Vec<Vec<&[u8]>> = places
            .into_iter()
            .map(|place| match place {
                Place::Here(args) => args,
                Place::Quoted(at) => quoted[at].iter().map(Vec::as_slice).collect(),
            })
            .collect();
        let run = match requests.is_empty() {
            true => Next::Wait,
            false => self.run_all(&requests, host),
        };
        let next = match (run, broken) {
            (Next::Wait, None) => next,
            (Next::Wait, Some(error)) => {
                self.tell(&error.to_string());
                Next::Close
            }
            (other, _) => other,
        };
        (next, at)
    }

    fn run_all(&mut self, requests: &[Vec<&[u8]>], host: &FiberHost<'_>) -> Next {
        self.handle.begin("Redis", &shown(requests));
        let mut reply = Reply {
            bytes: std::mem::take(self.output.buffer_mut()),
            protocol: self.session.protocol,
        };
        let mut rest = requests;
        let next = loop {
            let Some(len) = (!rest.is_empty()).then(|| rest.len().min(128)) else {
                break Next::Wait;
            };
            let (now, later) = rest.split_at(len);
            let ran = catch_unwind(AssertUnwindSafe(|| self.session.run(now, host, &mut reply)));
            match ran {
                Ok(()) => {}
                Err(panic) if is_unwinding() => resume_unwind(panic),
                // It has been told of where it happened; what the command held has gone with it.
                Err(_) => {
                    reply.error("ERR internal error");
                    break Next::Close;
                }
            }
            rest = later;
            governor::pause();
            if self.session.ends {
                break Next::Close;
            }
            match self.handle.interrupted() {
                None | Some(Interrupt::KillQuery | Interrupt::Timeout) => {}
                Some(Interrupt::KillConnection | Interrupt::Shutdown) => break Next::Close,
            }
            if reply.bytes.len() >= FLUSH_LEN && !rest.is_empty() {
                *self.output.buffer_mut() = std::mem::take(&mut reply.bytes);
                let (socket, timeout) = (self.socket.clone(), self.shared.write_timeout);
                if host.wait_for(socket.flush(&mut self.output, timeout)).is_err() {
                    return Next::Broken;
                }
                reply.bytes = std::mem::take(self.output.buffer_mut());
            }
        };
        *self.output.buffer_mut() = reply.bytes;
        self.requests.is_stranger = self.session.account.is_none();
        next
    }

    /// Appends what was published for the client. False: it has not read too much of it.
    fn take_messages(&mut self) -> bool {
        let subscriber = self.session.subscriber();
        subscriber.is_none_or(|subscriber| subscriber.take(self.output.buffer_mut()))
    }

    fn tell(&mut self, error: &str) {
        let mut reply = Reply {
            bytes: std::mem::take(self.output.buffer_mut()),
            protocol: self.session.protocol,
        };
        reply.error(&format!("ERR {error}"));
        *self.output.buffer_mut() = reply.bytes;
    }

    /// Leaves the reason of the connection's end in the output.
    fn say_why(&mut self, end: &ReadEnd) {
        match end {
            ReadEnd::Protocol(error) => self.tell(&error.to_string()),
            ReadEnd::Socket(SocketEnd::NoMemory) => self.tell("the node has no memory for what the client sends"),
            ReadEnd::Socket(_) => {}
        }
    }

    async fn flush(&mut self) -> Result<(), SocketEnd> {
        self.socket.flush(&mut self.output, self.shared.write_timeout).await?;
        governor::given_away(|| pool::return_buffer(self.output.replace_buffer(Vec::new())));
        Ok(())
    }

    /// Ends the session, then says the last words.
    async fn close(mut self: Box<Self>) {
        let mut output = std::mem::take(&mut self.output);
        let (socket, timeout) = (self.socket.clone(), self.shared.write_timeout);
        drop(self);
        if !output.is_empty() && socket.flush(&mut output, timeout).await.is_ok() {
            socket.close(LAST_READ_MAX, LAST_READ_TIMEOUT).await;
        }
    }
}

/// Where a request's words are.
enum Place<'b> {
    Here(Vec<&'b [u8]>),
    Quoted(usize),
}

/// What the process list shows of requests: the first command and its key, and how many follow. Nothing else: there may be a password in it.
fn shown(requests: &[Vec<&[u8]>]) -> Vec<u8> {
    let mut text = Vec::new();
    if let Some(args) = requests.first() {
        let command = Commands::get().find(args[0]);
        match command {
            Some(command) => {
                text.extend_from_slice(command.name().as_bytes());
                if command.fact.first_key == 1
                    && let Some(key) = args.get(1)
                {
                    text.push(b' ');
                    text.extend_from_slice(&key[..key.len().min(64)]);
                }
            }
            None => text.extend_from_slice(b"an unknown command"),
        }
    }
    if requests.len() > 1 {
        text.extend_from_slice(format!(" (and {} more)", requests.len() - 1).as_bytes());
    }
    text
}
