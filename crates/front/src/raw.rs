//! A socket as a plain stream of bytes, for protocols whose messages a library finds. Deadlines and interrupts are left to who drives it.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::input::Input;
use crate::socket::Socket;

pub struct RawStream {
    socket: Rc<Socket>,
    /// What has been read of the socket already.
    first: Input,
}

impl RawStream {
    pub fn new(socket: Rc<Socket>, first: Input) -> RawStream {
        RawStream { socket, first }
    }
}

impl AsyncRead for RawStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let pending = this.first.pending();
        if !pending.is_empty() {
            let len = pending.len().min(buf.remaining());
            buf.put_slice(&pending[..len]);
            this.first.consume(len);
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut *this.socket.stream_mut()).poll_read(cx, buf))?;
        this.socket.handle().count_received(buf.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for RawStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let sent = ready!(Pin::new(&mut *self.socket.stream_mut()).poll_write(cx, buf))?;
        self.socket.handle().count_sent(sent);
        Poll::Ready(Ok(sent))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket.stream_mut()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.socket.stream_mut()).poll_shutdown(cx)
    }
}
