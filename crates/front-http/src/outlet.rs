//! The way of an answer into the connection's send buffer: whole with its length, or in chunks while it comes to be.

use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

use front::socket::SocketEnd;
use front::{Output, Socket};
use governor::{Stop, memory};
use http_wire::request::Info;
use http_wire::response::{Framing, LAST_CHUNK, ResponseHead, chunk};
use http_wire::{Version, field};
use rest::{Head, Outlet, Request};
use sql_api::host::{Host, Interrupt, WaitEnd};
use types::{ErrorKind, SqlResult};

use crate::compression::{Coding, Encoder};

/// The time after which a client that takes no answer is cut.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Shorter bodies are not packed.
const PACKED_MIN: usize = 1 << 10;
/// More than this is not kept for a client that does not read when the node needs the memory.
const UNSENT_MAX: usize = 128 << 10;

pub struct SocketOutlet<'a> {
    output: &'a mut Output,
    socket: &'a Socket,
    version: Version,
    keep_alive: bool,
    is_head: bool,
    coding: Option<Coding>,
    /// Once a part of the body has been sent.
    begun: Option<Option<Encoder>>,
    /// Told to whoever is left if the request panics.
    has_begun: &'a Cell<bool>,
    is_broken: bool,
}

impl<'a> SocketOutlet<'a> {
    pub fn new(
        output: &'a mut Output,
        socket: &'a Socket,
        info: Info,
        request: &Request<'_>,
        is_draining: bool,
        has_begun: &'a Cell<bool>,
    ) -> SocketOutlet<'a> {
        has_begun.set(false);
        let accepted = request.headers.get("accept-encoding");
        SocketOutlet {
            output,
            socket,
            version: info.version,
            keep_alive: info.keep_alive && !is_draining,
            is_head: request.method == b"HEAD",
            coding: accepted
                .and_then(|accepted| field::preferred(accepted, &Coding::NAMES))
                .and_then(Coding::of),
            begun: None,
            has_begun,
            is_broken: false,
        }
    }

    /// Sends the rest, or all of it. Whether another request may follow; `Err`: the client cannot be reached.
    pub fn finish(mut self, head: &Head, body: &[u8]) -> Result<bool, ()> {
        if self.is_broken || head.is_cut {
            return Err(());
        }
        if self.begun.is_some() {
            self.append(body, true);
            return Ok(self.keep_alive && self.version == Version::Http11);
        }
        let packed = match self.coding {
            Some(coding) if body.len() >= PACKED_MIN => coding.pack(body),
            _ => None,
        };
        let framing = match head.status {
            204 | 304 => Framing::None,
            _ => Framing::Length(packed.as_deref().unwrap_or(body).len()),
        };
        self.begin(head, framing, packed.is_some());
        if !self.is_head && framing != Framing::None {
            self.output
                .buffer_mut()
                .extend_from_slice(packed.as_deref().unwrap_or(body));
        }
        Ok(self.keep_alive)
    }

    fn begin(&mut self, head: &Head, framing: Framing, is_packed: bool) {
        let out = self.output.buffer_mut();
        let mut lines = ResponseHead::begin(out, head.status);
        if !head.content_type.is_empty() && framing != Framing::None {
            lines.header("content-type", head.content_type);
        }
        lines.lines(&head.headers);
        if let Some(coding) = self.coding.filter(|_| is_packed) {
            lines.header("content-encoding", coding.name());
            lines.header("vary", "accept-encoding");
        }
        if !self.keep_alive || framing == Framing::Close {
            lines.header("connection", "close");
        } else if self.version == Version::Http10 {
            lines.header("connection", "keep-alive");
        }
        lines.end(framing);
    }

    /// A piece of a body that is told no length.
    fn append(&mut self, body: &[u8], is_last: bool) {
        let Some(encoder) = &mut self.begun else { return };
        if self.is_head {
            return;
        }
        let packed;
        let piece = match encoder {
            None => body,
            Some(encoder) => {
                packed = encoder.write(body, is_last);
                &packed
            }
        };
        let out = self.output.buffer_mut();
        match self.version {
            Version::Http11 => {
                chunk(piece, out);
                if is_last {
                    out.extend_from_slice(LAST_CHUNK);
                }
            }
            Version::Http10 => out.extend_from_slice(piece),
        }
    }
}

impl Outlet for SocketOutlet<'_> {
    fn send(&mut self, head: &Head, body: &mut Vec<u8>, host: &dyn Host) -> SqlResult<()> {
        if self.begun.is_none() {
            let framing = match self.version {
                Version::Http11 => Framing::Chunked,
                Version::Http10 => Framing::Close,
            };
            self.begin(head, framing, self.coding.is_some());
            self.has_begun.set(true);
            self.begun = Some(self.coding.map(Coding::encoder));
        }
        self.append(body, false);
        body.clear();
        let mut end = Ok(());
        let mut flush = Box::pin(async { end = self.socket.flush(&mut *self.output, WRITE_TIMEOUT).await });
        let waited = host.wait_interruptible(pin!(&mut flush), None);
        drop(flush);
        match waited {
            WaitEnd::Interrupted(interrupt @ (Interrupt::KillQuery | Interrupt::Timeout)) => {
                return Err(Stop::Interrupt(interrupt).into());
            }
            WaitEnd::Interrupted(Interrupt::KillConnection | Interrupt::Shutdown) => {
                self.is_broken = true;
                return Err(ErrorKind::NetErrorOnWrite.into());
            }
            WaitEnd::Done | WaitEnd::TimedOut => {}
        }
        let unsent = self.output.len();
        end.map_err(|end| {
            if matches!(end, SocketEnd::NoMemory) && unsent <= UNSENT_MAX {
                return Stop::Memory(memory::node_is_full(governor::current::held())).into();
            }
            self.is_broken = true;
            match end {
                SocketEnd::TimedOut { .. } => ErrorKind::NetWriteInterrupted.into(),
                _ => ErrorKind::NetErrorOnWrite.into(),
            }
        })
    }
}
