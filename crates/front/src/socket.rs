//! A client's socket with its deadline. What the bytes mean is the front's to know.

use std::cell::{RefCell, RefMut};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use governor::memory;
use governor::unread::{Cut, Unread};
use sql_api::host::Interrupt;
use sql_api::login::Certificate;
use sql_api::session::Encryption;
use tokio::io::{AsyncReadExt, AsyncWrite};

use crate::certificate;
use crate::clock::CoarseInstant;
use crate::deadline::Deadline;
use crate::input::Input;
use crate::inside::Outer;
use crate::output::Outgoing;
use crate::peer::{Channel, Peer};
use crate::pool;
use crate::registry::Handle;
use crate::schedule;
use crate::stream::{Layer, Stream};
use crate::tls::{self, Tls};
use crate::transport::Transport;

/// Bytes that one system call copies: some ten microseconds.
const AT_ONCE: usize = 128 << 10;
/// Bytes that a connection sends before others have their turn.
const SENT_PER_TURN: usize = 1 << 20;
/// Bytes that a connection takes in before others have their turn. Many connections may have as much waiting, each with memory that is
/// touched for the first time: a quarter of a millisecond each.
const RECEIVED_PER_TURN: usize = 256 << 10;
/// Of a long message, bytes that are taken in when more have come: all who send one are woken at about the same time, and before anybody's
/// statement goes on. The rest is taken in by turns.
const RECEIVED_WHEN_WOKEN: usize = 16 << 10;

/// A message that made this much progress is given the whole read timeout again.
const PROGRESS_BYTES: usize = 16 << 10;

/// The bytes' way to and from one client. Shared by the connection's task and the statement that runs for it, both on
/// one thread.
pub struct Socket {
    stream: RefCell<Stream>,
    deadline: Deadline,
    handle: Arc<Handle>,
}

/// Why no message came, or no bytes could be sent.
#[derive(Debug)]
pub enum SocketEnd {
    /// The client closed the connection, or it broke.
    Closed,
    /// Nothing came, or nothing was taken, for too long; whether a message had begun.
    TimedOut {
        inside_message: bool,
    },
    Interrupted(Interrupt),
    /// The node cannot hold the rest of a large message, or what is there for a client that does not read.
    NoMemory,
}

/// Of a message, as much may come when the node's memory is used up.
const LARGE_MESSAGE: usize = memory::SMALL as usize;

/// How long to wait for a message.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For its first byte; for all of it where `inside_message` is none.
    pub idle: Duration,
    /// For progress once it has begun.
    pub inside_message: Option<Duration>,
    pub read_ahead: ReadAhead,
}

/// What a front finds at the beginning of what has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scan<T> {
    /// Not a whole message yet: look again once there are `wanted` bytes, at least one more than now.
    Incomplete {
        wanted: usize,
    },
    Complete(T),
}

/// Whether bytes behind the message may be taken along. During a login they may be meant for TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadAhead {
    Allowed,
    Forbidden,
}

/// What of an output has been sent, which leaves it when this is dropped.
struct Sending<'a, O: Outgoing> {
    output: O,
    sent: usize,
    handle: &'a Handle,
    /// Since it waits for the client for the first time, and what was sent by then: that may all lie in the system's buffers.
    unread: Option<(Unread, usize)>,
    has_waited: bool,
}

/// How often a statement that waits for its client looks whether the node needs its memory.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

impl<O: Outgoing> Drop for Sending<'_, O> {
    fn drop(&mut self) {
        self.handle.count_sent(self.sent);
        self.output.drop_front(self.sent);
    }
}

impl Socket {
    pub fn new(stream: Transport, handle: Arc<Handle>) -> Self {
        Socket {
            stream: RefCell::new(Stream::Plain(stream)),
            deadline: Deadline::default(),
            handle,
        }
    }

    /// Waits until `scan` finds a whole message at the beginning of what has come, which stays in `input`. What it says the message still
    /// wants decides how much room is made, and how much is read where that may not be more.
    pub async fn read_message<T, E: From<SocketEnd>>(
        &self,
        input: &mut Input,
        patience: Patience,
        mut scan: impl FnMut(&mut Input) -> Result<Scan<T>, E>,
    ) -> Result<T, E> {
        // The bytes that were there when the deadline was last set.
        let mut granted_at = None;
        let mut turn_end = input.pending().len() + RECEIVED_PER_TURN;
        loop {
            let held = input.pending().len();
            let missing = match scan(input)? {
                Scan::Complete(message) => return Ok(message),
                Scan::Incomplete { wanted } => {
                    let missing = wanted - held;
                    if held >= LARGE_MESSAGE && memory::is_used_up(missing.min(held)) {
                        return Err(SocketEnd::NoMemory.into());
                    }
                    input.make_room(wanted);
                    missing
                }
            };
            let renewed = match granted_at {
                None => true,
                Some(0) => held > 0 && patience.inside_message.is_some(),
                Some(granted) => held >= granted + PROGRESS_BYTES && patience.inside_message.is_some(),
            };
            if renewed {
                let inside_message = patience.inside_message.filter(|_| held > 0);
                self.deadline.set(inside_message.unwrap_or(patience.idle));
                granted_at = Some(held);
            }
            let read_max = match patience.read_ahead {
                ReadAhead::Allowed => usize::MAX,
                ReadAhead::Forbidden => missing,
            };
            let is_long = held >= RECEIVED_PER_TURN;
            let mut has_waited = false;
            poll_fn(|context| {
                let at_once = match is_long && has_waited {
                    true => RECEIVED_WHEN_WOKEN,
                    false => AT_ONCE,
                };
                let filled = self.poll_fill(context, input, read_max.min(at_once));
                has_waited |= filled.is_pending();
                filled
            })
            .await?;
            let held = input.pending().len();
            if held >= turn_end || is_long && has_waited {
                turn_end = held + RECEIVED_PER_TURN;
                self.give_way().await;
            }
        }
    }

    /// Reads what is there, at least a byte and at most `read_max`.
    fn poll_fill(&self, context: &mut Context<'_>, input: &mut Input, read_max: usize) -> Poll<Result<(), SocketEnd>> {
        let read = input.fill_with(|buffer| self.poll_read(context, buffer, read_max));
        match read {
            Poll::Ready(Ok(0)) | Poll::Ready(Err(_)) => Poll::Ready(Err(SocketEnd::Closed)),
            Poll::Ready(Ok(len)) => {
                self.handle.count_received(len);
                Poll::Ready(Ok(()))
            }
            Poll::Pending => {
                let inside_message = !input.pending().is_empty();
                match self.end_of_connection() {
                    Some(interrupt) => Poll::Ready(Err(SocketEnd::Interrupted(interrupt))),
                    None if self.handle.is_draining() && !inside_message => {
                        Poll::Ready(Err(SocketEnd::Interrupted(Interrupt::Shutdown)))
                    }
                    None => self.poll_deadline(context, inside_message),
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

    fn poll_read(&self, context: &mut Context<'_>, buffer: &mut Vec<u8>, read_max: usize) -> Poll<io::Result<usize>> {
        let mut stream = self.stream.borrow_mut();
        let mut piece = (&mut *stream).take(read_max as u64);
        pin!(piece.read_buf(buffer)).poll(context)
    }

    fn poll_deadline(&self, context: &mut Context<'_>, inside_message: bool) -> Poll<Result<(), SocketEnd>> {
        ready!(self.deadline.poll(context));
        Poll::Ready(Err(SocketEnd::TimedOut { inside_message }))
    }

    /// Sends everything collected in `output`. On an early end, also one by dropping the future, the rest stays there.
    pub async fn flush(&self, output: impl Outgoing, timeout: Duration) -> Result<(), SocketEnd> {
        let mut sending = Sending {
            output,
            sent: 0,
            handle: &self.handle,
            unread: None,
            has_waited: false,
        };
        while !self.send_some(&mut sending, timeout).await? {
            // A client that reads as fast as we write is not the only one.
            self.give_way().await;
        }
        if sending.has_waited {
            // Statements with long answers are woken by their clients all the time; that makes none of them a fresh one.
            self.give_way().await;
        }
        Ok(())
    }

    /// Lets others have their turn. Boxed, as it is rare and an idle connection should be small.
    fn give_way(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(schedule::turn(|| self.end_of_connection().is_some()))
    }

    /// Sends as much as goes into a turn; whether that was all.
    async fn send_some(&self, sending: &mut Sending<'_, impl Outgoing>, timeout: Duration) -> Result<bool, SocketEnd> {
        let mut give_up_at = None;
        let turn_end = sending.sent + self.sent_per_turn();
        poll_fn(|context| {
            loop {
                let unsent = &sending.output.unsent()[sending.sent..];
                match self.poll_send(context, &unsent[..unsent.len().min(AT_ONCE)]) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Ok(true)),
                    Poll::Ready(Ok(len)) => {
                        sending.sent += len;
                        give_up_at = None;
                        if sending.sent >= turn_end {
                            return Poll::Ready(Ok(false));
                        }
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(Err(SocketEnd::Closed)),
                    Poll::Pending => {
                        if let Some(interrupt) = self.end_of_connection() {
                            return Poll::Ready(Err(SocketEnd::Interrupted(interrupt)));
                        }
                        sending.has_waited = true;
                        if sending.unread.is_none() {
                            let unread = Unread::begin(self.handle.account.bytes());
                            sending.unread = unread.map(|unread| (unread, sending.sent));
                        }
                        let give_up = *give_up_at.get_or_insert_with(|| CoarseInstant::now().after(timeout));
                        return self.poll_unread(context, sending, give_up).map(Err);
                    }
                }
            }
        })
        .await
    }

    /// Why a client is waited for no longer: it takes nothing until `give_up`, or the node needs what it makes it hold.
    fn poll_unread(
        &self,
        context: &mut Context<'_>,
        sending: &Sending<'_, impl Outgoing>,
        give_up: CoarseInstant,
    ) -> Poll<SocketEnd> {
        loop {
            let left = give_up.left();
            if left.is_zero() {
                Cut::Timeout.note();
                return Poll::Ready(SocketEnd::TimedOut { inside_message: true });
            }
            let Some((unread, sent_before)) = &sending.unread else {
                self.deadline.set(left);
                ready!(self.deadline.poll(context));
                continue;
            };
            if unread.must_end(sending.sent - sent_before) {
                Cut::Memory.note();
                return Poll::Ready(SocketEnd::NoMemory);
            }
            self.deadline.set(left.min(BETWEEN_LOOKS));
            ready!(self.deadline.poll(context));
        }
    }

    /// Sends a part of `bytes`; 0 once there are none and encryption holds none back.
    fn poll_send(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut stream = self.stream.borrow_mut();
        let stream = Pin::new(&mut *stream);
        if bytes.is_empty() {
            return stream.poll_flush(context).map_ok(|()| 0);
        }
        match ready!(stream.poll_write(context, bytes)) {
            Ok(0) => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
            sent => Poll::Ready(sent),
        }
    }

    /// Goes on encrypted. The client's last message was read alone, so nothing of its handshake is missing.
    pub async fn start_tls(&self, tls: &Tls, timeout: Duration) -> Result<(), SocketEnd> {
        let Stream::Plain(stream) = self.stream.replace(Stream::Gone) else {
            return Err(SocketEnd::Closed);
        };
        match tokio::time::timeout(timeout, tls.acceptor.accept(stream)).await {
            Ok(Ok(stream)) => {
                self.stream.replace(Stream::Encrypted(Box::new(stream)));
                Ok(())
            }
            Ok(Err(_)) | Err(_) => Err(SocketEnd::Closed),
        }
    }

    /// Goes on through a layer of the protocol's own: what is sent from here on, and what comes. Nothing of that has been read yet.
    pub fn put_on<L: Layer + 'static>(&self, layer: impl FnOnce(Stream) -> L) {
        let stream = self.stream.replace(Stream::Gone);
        self.stream.replace(Stream::Layered(Box::new(layer(stream))));
    }

    /// The other end.
    pub fn peer(&self) -> &Peer {
        &self.handle.peer
    }

    /// Who can read what is sent.
    pub fn channel(&self) -> Channel {
        match self.peer() {
            Peer::Unix { .. } | Peer::Inside => Channel::Private,
            Peer::Tcp { .. } if self.encryption().is_some() => Channel::Private,
            peer if peer.host().is_local() => Channel::Loopback,
            Peer::Tcp { .. } => Channel::Open,
        }
    }

    /// How the bytes travel; none where they do as they are.
    pub fn encryption(&self) -> Option<Encryption> {
        let stream = self.stream.borrow();
        match stream.transport() {
            Some(Transport::Inside(inside)) => inside.outer().encryption.clone(),
            _ => stream.tls().map(tls::encryption_of),
        }
    }

    /// The names in the certificate that the client has shown, if it has.
    pub fn certificate(&self) -> Option<Certificate> {
        let stream = self.stream.borrow();
        if let Some(Transport::Inside(inside)) = stream.transport() {
            return inside.outer().certificate.clone();
        }
        let shown = stream.tls()?.peer_certificates()?;
        certificate::names(shown.first()?)
    }

    /// What a connection inside this one is told of it.
    pub fn outer(&self) -> Outer {
        Outer {
            encryption: self.encryption(),
            certificate: self.certificate(),
        }
    }

    /// Whether the client has asked, while encryption began, for this protocol (RFC 7301).
    pub fn is_for(&self, protocol: &[u8]) -> bool {
        let stream = self.stream.borrow();
        stream.tls().is_some_and(|tls| tls.alpn_protocol() == Some(protocol))
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The bytes below, for who drives them himself.
    pub(crate) fn stream_mut(&self) -> RefMut<'_, Stream> {
        self.stream.borrow_mut()
    }

    /// Bytes that are sent before others have their turn.
    fn sent_per_turn(&self) -> usize {
        match &*self.stream.borrow() {
            Stream::Layered(layer) => layer.sent_per_turn(),
            Stream::Plain(_) | Stream::Encrypted(_) | Stream::Gone => SENT_PER_TURN,
        }
    }

    /// Goes on encrypted where the client's first byte says so. For protocols whose clients speak first, and never begin with it.
    pub async fn start_tls_if_asked(&self, tls: &Tls, idle: Duration, handshake: Duration) -> Result<(), SocketEnd> {
        match self.first_byte(idle).await {
            None => Err(SocketEnd::Closed),
            Some(tls::HANDSHAKE) => self.start_tls(tls, handshake).await,
            Some(_) => Ok(()),
        }
    }

    /// The first byte that the client sends, which stays where it is; none where it sends nothing and goes, or has to.
    async fn first_byte(&self, timeout: Duration) -> Option<u8> {
        self.deadline.set(timeout);
        poll_fn(|context| {
            let stream = self.stream.borrow();
            let Some(transport) = stream.transport() else {
                return Poll::Ready(None);
            };
            match transport.poll_peek(context) {
                Poll::Ready(byte) => Poll::Ready(byte.ok().flatten()),
                Poll::Pending if self.end_of_connection().is_some() || self.handle.is_draining() => Poll::Ready(None),
                Poll::Pending => self.deadline.poll(context).map(|()| None),
            }
        })
        .await
    }

    /// Ready once the client has closed its side. Looked at while a statement waits, so that nobody's locks outlive him.
    pub fn poll_gone(&self, context: &mut Context<'_>) -> Poll<()> {
        let stream = self.stream.borrow();
        let Some(stream) = stream.transport() else {
            return Poll::Ready(());
        };
        match ready!(stream.poll_peek(context)) {
            Ok(None) | Err(_) => Poll::Ready(()),
            // A pipelined command: it has to wait, and so nothing more can be seen of the client.
            Ok(_) => Poll::Pending,
        }
    }

    /// Whether the client has closed its side, seen behind commands that it has sent and nobody has read yet.
    pub fn is_gone(&self) -> bool {
        self.stream.borrow().transport().is_none_or(Transport::is_gone)
    }

    /// Ends the conversation so that the client can read what was sent last: closes our side, then takes and drops what
    /// is still coming, within bounds. Closing at once would make the system discard our last words.
    pub async fn close(&self, bytes_max: usize, timeout: Duration) {
        self.deadline.set(timeout);
        let mut left = bytes_max;
        let mut buffer = pool::take_buffer();
        poll_fn(|context| {
            let shut_down = Pin::new(&mut *self.stream.borrow_mut()).poll_shutdown(context);
            if shut_down.is_ready() {
                Poll::Ready(())
            } else {
                self.deadline.poll(context)
            }
        })
        .await;
        loop {
            let mut turn_end = left.saturating_sub(RECEIVED_PER_TURN);
            let is_end = poll_fn(|context| {
                while left > turn_end {
                    buffer.clear();
                    match self.poll_read(context, &mut buffer, AT_ONCE) {
                        Poll::Ready(Ok(len)) if 0 < len && len < left => left -= len,
                        Poll::Ready(_) => return Poll::Ready(true),
                        Poll::Pending => {
                            turn_end = left.saturating_sub(RECEIVED_WHEN_WOKEN);
                            return self.deadline.poll(context).map(|()| true);
                        }
                    }
                }
                Poll::Ready(false)
            })
            .await;
            if is_end {
                break;
            }
            self.give_way().await;
        }
        pool::return_buffer(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use crate::registry::Registry;
    use std::sync::atomic::Ordering::Relaxed;
    use std::task::Waker;
    use tokio::io::AsyncWriteExt;
    use tokio::net::UnixStream;

    fn handle() -> Arc<Handle> {
        let peer = Peer::Tcp {
            client: ([127, 0, 0, 1], 4711).into(),
            server: ([127, 0, 0, 1], 3306).into(),
        };
        Registry::new().enter(peer).expect("a place")
    }

    /// Who has waited for his client goes on behind those who gave way.
    #[tokio::test(flavor = "current_thread")]
    async fn a_client_that_reads_on_does_not_make_a_statement_fresh() {
        let (ours, mut client) = UnixStream::pair().expect("a pair of sockets");
        let socket = Socket::new(Transport::Unix(ours), handle());
        let mut output = Output::default();
        output.buffer_mut().resize(SENT_PER_TURN / 2, 1);
        let mut left = output.len();
        let mut flush = pin!(socket.flush(&mut output, Duration::from_secs(60)));
        let mut poll = || flush.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(
            poll().is_pending() && !schedule::is_waiting(),
            "it waits for its client"
        );
        let mut buffer = vec![0; AT_ONCE];
        while left > 0 {
            left -= client.read(&mut buffer).await.expect("more");
            tokio::task::yield_now().await;
            assert!(poll().is_pending());
        }
        assert!(schedule::is_waiting());
        schedule::wake_next();
        assert!(matches!(poll(), Poll::Ready(Ok(()))));
    }

    /// Long messages are taken in by turns. What comes for all of them at once holds up nobody's short command.
    #[tokio::test(flavor = "current_thread")]
    async fn of_a_long_message_little_is_taken_in_out_of_turn() {
        const LEN: usize = 4 << 20;
        const MORE: usize = 128 << 10;
        let (ours, mut client) = UnixStream::pair().expect("a pair of sockets");
        let handle = handle();
        let socket = Socket::new(Transport::Unix(ours), handle.clone());
        let patience = Patience {
            idle: Duration::from_secs(60),
            inside_message: Some(Duration::from_secs(60)),
            read_ahead: ReadAhead::Allowed,
        };
        let mut input = Input::default();
        let scan = |input: &mut Input| match input.pending().len() {
            LEN => Ok(Scan::Complete(())),
            _ => Ok::<_, SocketEnd>(Scan::Incomplete { wanted: LEN }),
        };
        let mut read = pin!(socket.read_message(&mut input, patience, scan));
        let mut poll = || read.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let received = || handle.bytes_received.load(Relaxed) as usize;

        let mut sent = 0;
        while sent < RECEIVED_PER_TURN + MORE {
            client.write_all(&[1; MORE]).await.expect("room");
            sent += MORE;
            while received() < sent {
                tokio::task::yield_now().await;
                assert!(poll().is_pending());
                schedule::wake_next();
            }
        }
        assert!(poll().is_pending() && !schedule::is_waiting());

        client.write_all(&[1; MORE]).await.expect("room");
        while received() == sent {
            tokio::task::yield_now().await;
            assert!(poll().is_pending());
        }
        assert!((1..=RECEIVED_WHEN_WOKEN).contains(&(received() - sent)));
        assert!(
            poll().is_pending() && schedule::is_waiting(),
            "the rest waits for its turn"
        );
        schedule::wake_next();
        assert!(poll().is_pending());
        assert_eq!(received(), sent + MORE);
    }
}
