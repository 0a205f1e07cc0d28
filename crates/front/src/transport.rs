//! A client's socket, TCP or Unix, or a way inside the process, as one type: what is above them does not care which it is.

use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::inside::Inside;

pub enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    Inside(Box<Inside>),
}

/// An accepted socket, before the event loop that will serve it knows it.
pub enum Accepted {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl Accepted {
    /// Hands the socket to the event loop of this thread.
    pub fn register(self) -> io::Result<Transport> {
        Ok(match self {
            Accepted::Tcp(stream) => Transport::Tcp(TcpStream::from_std(stream)?),
            Accepted::Unix(stream) => Transport::Unix(UnixStream::from_std(stream)?),
        })
    }

    /// Writes to a socket whose buffer is still empty, and so takes it at once, or not at all.
    pub fn write_now(&mut self, bytes: &[u8]) -> io::Result<()> {
        use std::io::Write;
        match self {
            Accepted::Tcp(stream) => stream.write_all(bytes),
            Accepted::Unix(stream) => stream.write_all(bytes),
        }
    }
}

impl Transport {
    /// Looks at the next byte without taking it: none once the client has closed its side.
    pub fn poll_peek(&self, context: &mut Context<'_>) -> Poll<io::Result<Option<u8>>> {
        let mut byte = [0];
        let seen = match self {
            Transport::Tcp(stream) => stream.poll_peek(context, &mut ReadBuf::new(&mut byte)),
            Transport::Unix(stream) => loop {
                ready!(stream.poll_read_ready(context))?;
                let peeked = stream.try_io(Interest::READABLE, || {
                    Ok(recv(stream, &mut byte[..], RecvFlags::PEEK)?.0)
                });
                match peeked {
                    // Not ready after all: asks to be woken.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    peeked => break Poll::Ready(peeked),
                }
            },
            Transport::Inside(inside) => return inside.poll_peek(context),
        };
        seen.map_ok(|len| (len > 0).then_some(byte[0]))
    }

    /// Whether the client has closed its side, seen behind what it has sent and nobody has read yet.
    pub fn is_gone(&self) -> bool {
        match self {
            Transport::Tcp(stream) => has_hung_up(stream),
            Transport::Unix(stream) => has_hung_up(stream),
            Transport::Inside(inside) => inside.is_gone(),
        }
    }
}

/// Whether the other end has closed its side, seen behind bytes that nobody has read yet.
fn has_hung_up(socket: impl AsFd) -> bool {
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    let mut polled = [PollFd::new(&socket, PollFlags::RDHUP)];
    // An interrupted or failed look tells nothing; there will be another one.
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(gone)
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Transport::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
            Transport::Inside(inside) => Pin::new(&mut **inside).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Transport::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
            Transport::Inside(inside) => Pin::new(&mut **inside).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Unix(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Inside(inside) => Pin::new(&mut **inside).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Inside(inside) => Pin::new(&mut **inside).poll_shutdown(cx),
        }
    }
}
