//! A way for bytes inside the process. A connection that carries several exchanges at once gives each of them one, and whoever serves it
//! sees a connection as any other.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use sql_api::login::Certificate;
use sql_api::session::Encryption;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

/// What is known of the connection that the bytes come from.
#[derive(Debug, Clone, Default)]
pub struct Outer {
    pub encryption: Option<Encryption>,
    pub certificate: Option<Certificate>,
}

/// The end of whoever serves.
pub struct Inside {
    stream: RefCell<DuplexStream>,
    /// A byte that was looked at, and is read first.
    peeked: Cell<Option<u8>>,
    is_gone: Arc<AtomicBool>,
    outer: Outer,
}

/// The client's end. Dropping it is hanging up.
pub struct Far {
    stream: DuplexStream,
    is_gone: Arc<AtomicBool>,
}

/// A way that holds so many bytes in each direction.
pub fn inside(capacity: usize, outer: Outer) -> (Inside, Far) {
    let (near, far) = duplex(capacity);
    let is_gone = Arc::<AtomicBool>::default();
    let near = Inside {
        stream: RefCell::new(near),
        peeked: Cell::new(None),
        is_gone: is_gone.clone(),
        outer,
    };
    (near, Far { stream: far, is_gone })
}

impl Inside {
    pub fn outer(&self) -> &Outer {
        &self.outer
    }

    /// Looks at the next byte without taking it: none once the other end is gone.
    pub fn poll_peek(&self, context: &mut Context<'_>) -> Poll<io::Result<Option<u8>>> {
        if self.peeked.get().is_none() {
            let mut byte = [0];
            let mut buffer = ReadBuf::new(&mut byte);
            ready!(Pin::new(&mut *self.stream.borrow_mut()).poll_read(context, &mut buffer))?;
            self.peeked.set(buffer.filled().first().copied());
        }
        Poll::Ready(Ok(self.peeked.get()))
    }

    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Relaxed)
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.is_gone.store(true, Relaxed);
    }
}

impl AsyncRead for Inside {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if buf.remaining() > 0
            && let Some(byte) = this.peeked.take()
        {
            buf.put_slice(&[byte]);
            return Poll::Ready(Ok(()));
        }
        Pin::new(this.stream.get_mut()).poll_read(cx, buf)
    }
}

impl AsyncWrite for Inside {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_shutdown(cx)
    }
}

impl AsyncRead for Far {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Far {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(flavor = "current_thread")]
    async fn what_was_looked_at_is_read() {
        let (mut near, mut far) = inside(16, Outer::default());
        let mut context = Context::from_waker(Waker::noop());
        assert!(near.poll_peek(&mut context).is_pending());
        far.write_all(b"abc").await.expect("room");
        for _ in 0..2 {
            assert!(matches!(near.poll_peek(&mut context), Poll::Ready(Ok(Some(b'a')))));
        }
        let mut read = [0; 3];
        near.read_exact(&mut read).await.expect("bytes");
        assert_eq!(&read, b"abc");
        assert!(!near.is_gone());
        drop(far);
        assert!(near.is_gone());
        assert!(matches!(near.poll_peek(&mut context), Poll::Ready(Ok(None))));
    }
}
