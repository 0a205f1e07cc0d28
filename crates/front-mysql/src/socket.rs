//! A client's socket with its deadline.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mysql_wire::Output;
use mysql_wire::frame::{self, FrameError, Scan};
use sql::host::Interrupt;
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::pool;
use crate::registry::Handle;

/// A packet that made this much progress is given the whole read timeout again.
const PROGRESS_BYTES: usize = 16 << 10;

/// The bytes' way to and from one client. Shared by the connection's task and the statement that runs for it, both on
/// one thread.
pub struct Socket {
    stream: RefCell<TcpStream>,
    deadline: Deadline,
    handle: Arc<Handle>,
}

/// Why no packet came, or no bytes could be sent.
#[derive(Debug)]
pub enum SocketEnd {
    /// The client closed the connection, or it broke.
    Closed,
    /// Nothing came, or nothing was taken, for too long; whether a packet had begun.
    TimedOut {
        inside_packet: bool,
    },
    Interrupted(Interrupt),
    /// The client's bytes are not the protocol.
    Frame(FrameError),
}

/// What came from the client and was not looked at yet. Holds a buffer only while there is something in it.
#[derive(Default)]
pub struct Input {
    buffer: Vec<u8>,
    start: usize,
}

/// How long to wait for a packet and how large it may be.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For its first byte; for all of it where `inside_packet` is none.
    pub idle: Duration,
    /// For progress once it has begun.
    pub inside_packet: Option<Duration>,
    pub packet_len_max: usize,
}

impl Socket {
    pub fn new(stream: TcpStream, handle: Arc<Handle>) -> Self {
        Socket {
            stream: RefCell::new(stream),
            deadline: Deadline::default(),
            handle,
        }
    }

    /// Waits until `input` begins with a whole packet whose first frame is numbered `sequence`.
    pub async fn read_packet(&self, input: &mut Input, sequence: u8, patience: Patience) -> Result<(), SocketEnd> {
        // The bytes that were there when the deadline was last set.
        let mut granted_at = None;
        loop {
            let held = input.pending().len();
            match frame::scan(input.pending(), sequence, patience.packet_len_max).map_err(SocketEnd::Frame)? {
                Scan::Complete(_) => return Ok(()),
                Scan::Incomplete { wanted } => input.make_room(wanted),
            }
            let renewed = match granted_at {
                None => true,
                Some(0) => held > 0 && patience.inside_packet.is_some(),
                Some(granted) => held >= granted + PROGRESS_BYTES && patience.inside_packet.is_some(),
            };
            if renewed {
                let inside_packet = patience.inside_packet.filter(|_| held > 0);
                self.deadline.set(inside_packet.unwrap_or(patience.idle));
                granted_at = Some(held);
            }
            poll_fn(|context| self.poll_fill(context, input)).await?;
        }
    }

    /// Reads what is there, at least a byte.
    fn poll_fill(&self, context: &mut Context<'_>, input: &mut Input) -> Poll<Result<(), SocketEnd>> {
        let read = input.fill_with(|buffer| self.poll_read(context, buffer));
        match read {
            Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => Poll::Ready(Err(SocketEnd::Closed)),
            Poll::Ready(Ok(_)) => Poll::Ready(Ok(())),
            Poll::Pending => {
                let inside_packet = !input.pending().is_empty();
                match self.end_of_connection() {
                    Some(interrupt) => Poll::Ready(Err(SocketEnd::Interrupted(interrupt))),
                    None if self.handle.is_draining() && !inside_packet => {
                        Poll::Ready(Err(SocketEnd::Interrupted(Interrupt::Shutdown)))
                    }
                    None => self.poll_deadline(context, inside_packet),
                }
            }
        }
    }

    /// An interrupt that ends more than the running statement.
    fn end_of_connection(&self) -> Option<Interrupt> {
        self.handle
            .interrupted()
            .filter(|interrupt| *interrupt != Interrupt::KillQuery)
    }

    fn poll_read(&self, context: &mut Context<'_>, buffer: &mut Vec<u8>) -> Poll<io::Result<usize>> {
        let mut stream = self.stream.borrow_mut();
        pin!(stream.read_buf(buffer)).poll(context)
    }

    fn poll_deadline(&self, context: &mut Context<'_>, inside_packet: bool) -> Poll<Result<(), SocketEnd>> {
        ready!(self.deadline.poll(context));
        Poll::Ready(Err(SocketEnd::TimedOut { inside_packet }))
    }

    /// Sends everything collected in `output`. On an early end the rest stays there.
    pub async fn flush(&self, output: &mut Output, timeout: Duration) -> Result<(), SocketEnd> {
        let mut sent = 0;
        let mut waiting = false;
        let end = poll_fn(|context| {
            while sent < output.len() {
                match Pin::new(&mut *self.stream.borrow_mut()).poll_write(context, &output.as_slice()[sent..]) {
                    Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => return Poll::Ready(Err(SocketEnd::Closed)),
                    Poll::Ready(Ok(len)) => {
                        sent += len;
                        waiting = false;
                    }
                    Poll::Pending => {
                        if let Some(interrupt) = self.end_of_connection() {
                            return Poll::Ready(Err(SocketEnd::Interrupted(interrupt)));
                        }
                        if !waiting {
                            self.deadline.set(timeout);
                            waiting = true;
                        }
                        return self.poll_deadline(context, true);
                    }
                }
            }
            Poll::Ready(Ok(()))
        })
        .await;
        output.drop_front(sent);
        end
    }

    /// Ready once the client has closed its side. Looked at while a statement waits, so that nobody's locks outlive him.
    pub fn poll_gone(&self, context: &mut Context<'_>) -> Poll<()> {
        let stream = self.stream.borrow();
        let mut byte = [0];
        match ready!(stream.poll_peek(context, &mut tokio::io::ReadBuf::new(&mut byte))) {
            Ok(0) | Err(_) => Poll::Ready(()),
            // A pipelined command: it has to wait, and so nothing more can be seen of the client.
            Ok(_) => Poll::Pending,
        }
    }

    /// Ends the conversation so that the client can read what was sent last: closes our side, then takes and drops what
    /// is still coming, within bounds. Closing at once would make the system discard our last words.
    pub async fn close(&self, bytes_max: usize, timeout: Duration) {
        self.deadline.set(timeout);
        let mut left = bytes_max;
        let mut buffer = pool::take_buffer();
        poll_fn(|context| {
            Pin::new(&mut *self.stream.borrow_mut())
                .poll_shutdown(context)
                .map(|_| ())
        })
        .await;
        poll_fn(|context| {
            loop {
                buffer.clear();
                match self.poll_read(context, &mut buffer) {
                    Poll::Ready(Ok(len)) if 0 < len && len < left => left -= len,
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending => return self.deadline.poll(context),
                }
            }
        })
        .await;
        pool::return_buffer(buffer);
    }
}

impl Input {
    /// The bytes not consumed yet.
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    pub fn pending_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    pub fn consume(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.buffer.len());
        if self.start == self.buffer.len() {
            self.release();
        }
    }

    /// Gives the buffer back; what it holds is forgotten.
    pub fn release(&mut self) {
        pool::return_buffer(std::mem::take(&mut self.buffer));
        self.start = 0;
    }

    /// Prepares for a packet of which `wanted` bytes are announced. Room grows with what has come, not with what was
    /// announced, so that announcing costs the client as much as it costs the server.
    fn make_room(&mut self, wanted: usize) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let held = self.buffer.len();
        if held > 0 && wanted > self.buffer.capacity() {
            self.buffer.reserve((wanted - held).min(held.max(pool::BUFFER_LEN)));
        }
    }

    /// Lets `read` append to the buffer, which is the thread's while nothing has come.
    fn fill_with(&mut self, read: impl FnOnce(&mut Vec<u8>) -> Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() == 0 {
            self.buffer = pool::take_buffer();
        } else if self.buffer.len() == self.buffer.capacity() {
            self.buffer.reserve(pool::BUFFER_LEN);
        }
        let read = read(&mut self.buffer);
        if read.is_pending() {
            self.park();
        }
        read
    }

    /// Nothing more is coming for now: keeps no more memory than the part of a packet that is there.
    fn park(&mut self) {
        if self.buffer.is_empty() {
            self.release();
        } else if self.buffer.len() < pool::BUFFER_LEN / 8 && self.buffer.capacity() >= pool::BUFFER_LEN {
            let part = self.buffer.as_slice().into();
            pool::return_buffer(std::mem::replace(&mut self.buffer, part));
        }
    }
}

/// A deadline that is set for every command and hardly ever reached: setting it is a store, and the timer behind it is
/// moved only when it fires too early.
#[derive(Default)]
struct Deadline {
    at: Cell<Option<Instant>>,
    timer: RefCell<Option<Pin<Box<Sleep>>>>,
}

impl Deadline {
    fn set(&self, after: Duration) {
        // A year is for ever; more would overflow the clock.
        let at = Instant::now() + after.min(Duration::from_secs(365 * 86_400));
        self.at.set(Some(at));
        let mut timer = self.timer.borrow_mut();
        if let Some(sleep) = timer.as_mut().filter(|sleep| sleep.deadline() > at) {
            sleep.as_mut().reset(at);
        }
    }

    /// Ready once the deadline has passed.
    fn poll(&self, context: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.at.get() else { return Poll::Pending };
        let mut timer = self.timer.borrow_mut();
        let sleep = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        while sleep.as_mut().poll(context).is_ready() {
            if Instant::now() >= at {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(at);
        }
        Poll::Pending
    }
}
