//! The life of one connection: log in, then answer commands until the end.
//!
//! ```text
//!   accepted ─▶ login ─▶ wait for a packet ─▶ run what has come, on a fiber ─▶ send the answers ─┐
//!                              ▲─────────────────────────────────────────────────────────────────┘
//! ```
//!
//! While it waits, a connection holds no buffer and no stack. One read takes all that has come; all whole packets in it are run;
//! one write sends their answers.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use fiber::{Fiber, Suspender, is_unwinding};
use front::schedule::{self, LongTurns};
use front::socket::{Patience, ReadAhead, SocketEnd};
use front::{FiberHost, Handle, Input, Transport, pool};
use mysql_wire::Capabilities;
use mysql_wire::auth::Nonce;
use mysql_wire::frame::{FrameError, Scan, scan};
use sql_api::host::Interrupt;
use types::{ErrorKind, SqlError};

use crate::commands::{Dialog, Next};
use crate::login::{LoggedIn, LoginDialog, LoginEnd, Request};
use crate::prepared::Statements;
use crate::server::Shared;
use crate::sink::{Answer, FLUSH_LEN};
use crate::socket::{PacketSocket, ReadEnd};

/// What a client that is turned away may still send and be read, so that it gets to see why.
const LAST_READ_MAX: usize = 128 << 20;
const LAST_READ_TIMEOUT: Duration = Duration::from_secs(3);

/// A logged-in connection.
struct Connection {
    input: Input,
    dialog: Dialog,
    nonce: Nonce,
    packet_len_max: usize,
    long_turns: LongTurns,
}

/// Serves one client until the end of its connection.
pub async fn serve(stream: Transport, shared: Arc<Shared>, handle: Arc<Handle>) {
    let waker = std::future::poll_fn(|context| std::task::Poll::Ready(context.waker().clone())).await;
    handle.set_waker(waker);
    let socket = Rc::new(PacketSocket::new(stream, handle.clone()));
    let Some(mut connection) = log_in(&shared, &handle, &socket).await else {
        return;
    };
    handle.end();
    loop {
        if let Err(end) = connection.wait_for_packet().await {
            connection.say_why(end);
            return connection.close().await;
        }
        if connection.long_turns.are_recent(Instant::now) {
            connection.stand_in_queue().await;
        }
        let (back, next) = match connection.run().await {
            Ok(done) => done,
            Err(error) => return tracing::error!(%error, "no memory for a statement's stack"),
        };
        connection = back;
        match next {
            Next::Command => {}
            Next::Broken => return,
            Next::Close => return connection.close().await,
            Next::ChangeUser(request) => match connection.change_user(*request).await {
                Ok(()) => {}
                Err(()) => return,
            },
        }
        if connection.flush().await.is_err() {
            return;
        }
    }
}

/// None once the client has been turned away.
async fn log_in(shared: &Arc<Shared>, handle: &Arc<Handle>, socket: &Rc<PacketSocket>) -> Option<Box<Connection>> {
    let mut input = Input::default();
    let mut answer = Answer::new(Capabilities::default());
    let deadline = Instant::now() + shared.backend().limits().login_timeout;
    let dialog = LoginDialog {
        shared,
        handle,
        socket,
        input: &mut input,
        answer: &mut answer,
        deadline,
    };
    match unless_ended(handle, dialog.greet()).await {
        Ok(LoggedIn { session, nonce }) => {
            let packet_len_max = usize::try_from(session.max_allowed_packet()).unwrap_or(usize::MAX);
            let dialog = Dialog {
                shared: shared.clone(),
                handle: handle.clone(),
                socket: socket.clone(),
                session,
                answer,
                statements: Statements::default(),
                parameters: Vec::new(),
            };
            let mut connection = Box::new(Connection {
                input,
                dialog,
                nonce,
                packet_len_max,
                long_turns: LongTurns::default(),
            });
            connection.flush().await.ok()?;
            // The OK of the login is the last that goes as it is.
            if let Some(compression) = connection.dialog.answer.compression {
                socket.start_compression(compression);
            }
            Some(connection)
        }
        Err(end) => {
            turn_away(shared, socket, &mut answer, end).await;
            None
        }
    }
}

/// A login, unless the connection is ended meanwhile: by KILL, or because a new one needs its place. Whatever the login waits
/// for, this is noticed.
async fn unless_ended<T>(handle: &Handle, login: impl Future<Output = Result<T, LoginEnd>>) -> Result<T, LoginEnd> {
    let mut login = std::pin::pin!(login);
    std::future::poll_fn(|context| match (login.as_mut().poll(context), handle.interrupted()) {
        (Poll::Ready(end), _) => Poll::Ready(end),
        (Poll::Pending, Some(interrupt @ (Interrupt::KillConnection | Interrupt::Shutdown))) => {
            Poll::Ready(Err(SocketEnd::Interrupted(interrupt).into()))
        }
        (Poll::Pending, _) => Poll::Pending,
    })
    .await
}

async fn turn_away(shared: &Shared, socket: &PacketSocket, answer: &mut Answer, end: LoginEnd) {
    let error = match end {
        LoginEnd::Refused(error) => error,
        LoginEnd::Unread(end) => match error_of(&end) {
            Some(error) => error,
            None => return,
        },
    };
    shared
        .registry()
        .counters()
        .logins_denied
        .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    answer.error(&error, None);
    if socket.flush(&mut answer.output, LAST_READ_TIMEOUT).await.is_ok() {
        socket
            .bytes
            .close(shared.config.login_bytes_max, LAST_READ_TIMEOUT)
            .await;
    }
}

/// What the client is told when its connection ends, if it can be told anything.
fn error_of(end: &ReadEnd) -> Option<SqlError> {
    let kind = match end {
        ReadEnd::Frame(FrameError::TooLarge { .. }) => ErrorKind::NetPacketTooLarge,
        ReadEnd::Frame(FrameError::OutOfOrder { .. }) => ErrorKind::NetPacketsOutOfOrder,
        ReadEnd::Socket(end) => match end {
            SocketEnd::Closed => return None,
            SocketEnd::TimedOut { inside_message: true } => ErrorKind::NetReadInterrupted,
            SocketEnd::TimedOut { inside_message: false } => ErrorKind::ClientInteractionTimeout,
            SocketEnd::Interrupted(Interrupt::Shutdown) => ErrorKind::ServerShutdown,
            SocketEnd::Interrupted(_) => ErrorKind::SessionWasKilled,
            SocketEnd::NoMemory => ErrorKind::OutOfResources,
        },
    };
    Some(kind.into())
}

impl Connection {
    async fn wait_for_packet(&mut self) -> Result<(), ReadEnd> {
        let Dialog { session, socket, .. } = &self.dialog;
        let patience = Patience {
            idle: Duration::from_secs(session.wait_timeout_seconds()),
            inside_message: Some(session.net_read_timeout()),
            read_ahead: ReadAhead::Allowed,
        };
        socket
            .read_packet(&mut self.input, 0, self.packet_len_max, patience)
            .await
    }

    /// Waits behind the statements that gave way. Boxed, as it is rare and an idle connection should be small.
    fn stand_in_queue(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(schedule::turn(|| self.dialog.handle.interrupted().is_some()))
    }

    /// Runs the whole packets that have come, on a stack of their own.
    async fn run(mut self: Box<Self>) -> std::io::Result<(Box<Self>, Next)> {
        self.dialog.answer.output.replace_buffer(pool::take_buffer());
        let fiber = Fiber::new(move |suspender: &Suspender| {
            let (handle, socket) = (self.dialog.handle.clone(), self.dialog.socket.clone());
            let host = FiberHost::new(suspender, &handle, Some(&socket.bytes));
            let before = self.output_size();
            let next = host.governor().run(|| {
                let next = self.run_packets(&host);
                // The thread takes the buffer back, with what it has grown by.
                governor::disown(self.output_size() - before);
                next
            });
            self.long_turns.note(host.had_long_turns(), Instant::now);
            (self, next)
        })?;
        Ok(fiber.await)
    }

    fn run_packets(&mut self, host: &FiberHost<'_>) -> Next {
        let handle = self.dialog.handle.clone();
        // What comes after a KILL is not run.
        if let Some(interrupt @ (Interrupt::KillConnection | Interrupt::Shutdown)) = handle.interrupted() {
            self.say_why(SocketEnd::Interrupted(interrupt).into());
            return Next::Close;
        }
        loop {
            self.dialog.socket.number(&mut self.input, 0);
            let frames = match scan(self.input.pending(), 0, self.packet_len_max) {
                Ok(Scan::Complete(frames)) => frames,
                Ok(Scan::Incomplete { .. }) => return Next::Command,
                Err(error) => {
                    self.say_why(ReadEnd::Frame(error));
                    return Next::Close;
                }
            };
            let packet = frames.payload_in_pieces(self.input.pending_mut(), governor::pause);
            self.dialog.answer.output.set_sequence(frames.next_sequence);
            match catch_unwind(AssertUnwindSafe(|| self.dialog.run(packet, host))) {
                Ok(Next::Command) => {}
                Ok(next) => {
                    self.input.consume(frames.len);
                    return next;
                }
                Err(panic) if is_unwinding() => resume_unwind(panic),
                // It ends the statement and its transaction; the stack below is whole.
                Err(_) => match self.dialog.recover(host) {
                    Next::Command => {}
                    next => return next,
                },
            }
            self.input.consume(frames.len);
            // Many small commands in one piece are long work, too.
            governor::pause();
            match handle.interrupted() {
                None | Some(Interrupt::KillQuery | Interrupt::Timeout) => {}
                Some(Interrupt::KillConnection | Interrupt::Shutdown) => return Next::Close,
            }
            if self.dialog.answer.output.len() >= FLUSH_LEN {
                let before = self.output_size();
                let flushed = host.wait_for(self.flush());
                // The thread has taken it.
                governor::disown(before - self.output_size());
                if flushed.is_err() {
                    return Next::Broken;
                }
            }
        }
    }

    /// What the allocator counts for the output's buffer. It is the thread's, and grows while the session's statements run.
    fn output_size(&self) -> i64 {
        governor::allocated_size(self.dialog.answer.output.capacity())
    }

    /// Logs in anew on the same connection. Err once the client has been turned away.
    async fn change_user(&mut self, request: Request) -> Result<(), ()> {
        let Connection {
            input, dialog, nonce, ..
        } = self;
        dialog.forget_statements();
        dialog.session.reset();
        let deadline = Instant::now() + dialog.shared.backend().limits().login_timeout;
        let (shared, handle, socket) = (&dialog.shared, &*dialog.handle, &*dialog.socket);
        let login = LoginDialog {
            shared,
            handle,
            socket,
            input,
            answer: &mut dialog.answer,
            deadline,
        };
        match unless_ended(handle, login.log_in(*nonce, request)).await {
            Ok(LoggedIn { session, nonce }) => {
                self.packet_len_max = usize::try_from(session.max_allowed_packet()).unwrap_or(usize::MAX);
                self.nonce = nonce;
                self.dialog.session = session;
                Ok(())
            }
            Err(end) => {
                turn_away(&dialog.shared, &dialog.socket, &mut dialog.answer, end).await;
                Err(())
            }
        }
    }

    async fn flush(&mut self) -> Result<(), SocketEnd> {
        let Dialog {
            session,
            socket,
            answer,
            ..
        } = &mut self.dialog;
        socket.flush(&mut answer.output, session.net_write_timeout()).await?;
        governor::given_away(|| pool::return_buffer(answer.output.replace_buffer(Vec::new())));
        Ok(())
    }

    /// Leaves the reason of the connection's end in the output.
    fn say_why(&mut self, end: ReadEnd) {
        if let Some(error) = error_of(&end) {
            let output = &mut self.dialog.answer.output;
            // As if it answered the command that the client is going to send or has begun.
            output.set_sequence(1);
            self.dialog.answer.error(&error, None);
        }
    }

    /// Ends the session, then says the last words: nobody waits for the locks of one that is over.
    async fn close(mut self: Box<Self>) {
        let mut output = std::mem::take(&mut self.dialog.answer.output);
        let (socket, timeout) = (self.dialog.socket.clone(), self.dialog.session.net_write_timeout());
        drop(self);
        if !output.is_empty() && socket.flush(&mut output, timeout).await.is_ok() {
            socket.bytes.close(LAST_READ_MAX, LAST_READ_TIMEOUT).await;
        }
        // A client that is gone leaves bytes that nobody took.
        output.clear();
        pool::return_buffer(output.into_bytes());
    }
}
