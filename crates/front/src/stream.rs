//! The bytes under a protocol: plain, or encrypted from some moment on, or through a layer that the protocol puts on them.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustls::ServerConnection;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::transport::Transport;

pub enum Stream {
    Plain(Transport),
    Encrypted(Box<TlsStream<Transport>>),
    Layered(Box<dyn Layer>),
    /// Taken out for the TLS handshake, and for good if that fails.
    Gone,
}

/// What a protocol does to all bytes of a stream: compression, say.
pub trait Layer: AsyncRead + AsyncWrite + Unpin {
    /// The stream below.
    fn inner(&self) -> &Stream;

    /// Bytes that are sent before others have their turn: as many as take about as long as a plain stream's megabyte.
    fn sent_per_turn(&self) -> usize;
}

impl Stream {
    /// The socket itself.
    pub fn transport(&self) -> Option<&Transport> {
        match self {
            Stream::Plain(stream) => Some(stream),
            Stream::Encrypted(stream) => Some(stream.get_ref().0),
            Stream::Layered(layer) => layer.inner().transport(),
            Stream::Gone => None,
        }
    }

    /// The encryption, if there is one.
    pub fn tls(&self) -> Option<&ServerConnection> {
        match self {
            Stream::Encrypted(stream) => Some(stream.get_ref().1),
            Stream::Layered(layer) => layer.inner().tls(),
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
            Stream::Layered(layer) => Pin::new(&mut **layer).poll_read(cx, buf),
            Stream::Gone => gone(),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Encrypted(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Layered(layer) => Pin::new(&mut **layer).poll_write(cx, buf),
            Stream::Gone => gone(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Encrypted(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Layered(layer) => Pin::new(&mut **layer).poll_flush(cx),
            Stream::Gone => gone(),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Encrypted(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Layered(layer) => Pin::new(&mut **layer).poll_shutdown(cx),
            Stream::Gone => gone(),
        }
    }
}
