//! A client's socket, TCP or Unix, as one type: what is above them does not care which it is.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

pub enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
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
        };
        seen.map_ok(|len| (len > 0).then_some(byte[0]))
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Transport::Tcp(stream) => stream.as_fd(),
            Transport::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Transport::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Transport::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Transport::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Transport::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Transport::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
