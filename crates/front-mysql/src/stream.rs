//! The bytes under the protocol: plain, or encrypted from the middle of the login on, and compressed from its end on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::ServerConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::compressed::Compressed;
use crate::transport::Transport;

pub enum Stream {
    Plain(Transport),
    Encrypted(Box<TlsStream<Transport>>),
    Compressed(Box<Compressed>),
    /// Taken out for the TLS handshake, and for good if that fails.
    Gone,
}

impl Stream {
    /// The socket itself.
    pub fn transport(&self) -> Option<&Transport> {
        match self {
            Stream::Plain(stream) => Some(stream),
            Stream::Encrypted(stream) => Some(stream.get_ref().0),
            Stream::Compressed(stream) => stream.inner().transport(),
            Stream::Gone => None,
        }
    }

    /// The encryption, if there is one.
    pub fn tls(&self) -> Option<&ServerConnection> {
        match self {
            Stream::Encrypted(stream) => Some(stream.get_ref().1),
            Stream::Compressed(stream) => stream.inner().tls(),
            Stream::Plain(_) | Stream::Gone => None,
        }
    }
}

fn gone<T>() -> Poll<io::Result<T>> {
    Poll::Ready(Err(io::ErrorKind::NotConnected.into()))
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Encrypted(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Compressed(stream) => Pin::new(&mut **stream).poll_read(cx, buf),
            Stream::Gone => gone(),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Encrypted(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Compressed(stream) => Pin::new(&mut **stream).poll_write(cx, buf),
            Stream::Gone => gone(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Compressed(stream) => Pin::new(&mut **stream).poll_flush(cx),
            Stream::Gone => gone(),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Encrypted(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Compressed(stream) => Pin::new(&mut **stream).poll_shutdown(cx),
            Stream::Gone => gone(),
        }
    }
}
