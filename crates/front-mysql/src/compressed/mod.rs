//! The compressed protocol: the protocol's bytes in frames, each packed where that makes it shorter.
//!
//! ```text
//!   ┌──────────────┬──────────┬─────────────────┬─────────┐
//!   │ length: 3    │ number: 1│ plain length: 3 │ payload │     plain length 0: the payload is as it is
//!   └──────────────┴──────────┴─────────────────┴─────────┘
//! ```
//!
//! Packets know nothing of frames: one frame may hold many, and one packet may go over many frames. What comes is unpacked straight into the
//! reader's buffer, so that a frame costs no memory for what it claims to hold, and a client that sends a few bytes which become
//! megabytes fills its own limit of a packet, at the pace of its reader. What is sent is framed in pieces of [`FRAME_PLAIN`].

mod packing;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use packing::Unpacker;
use sql_api::session::Compression;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use front::pool;
use front::stream::{Layer, Stream};

const HEADER: usize = 7;
/// Bytes of the protocol in one frame that we send.
const FRAME_PLAIN: usize = 16 << 10;
/// Shorter ones are not worth it (MySQL's `MIN_COMPRESS_LENGTH`).
const PACKED_MIN: usize = 50;
/// Bytes that are sent before others have their turn.
const SENT_PER_TURN: usize = 128 << 10;
/// Bytes that are unpacked at once.
const UNPACKED_AT_ONCE: usize = 16 << 10;
/// Bytes of frames that are looked at before others have their turn, though nothing has come of them.
const LOOKED_AT: usize = 64 << 10;

/// A stream whose bytes are compressed.
pub struct Compressed {
    inner: Stream,
    compression: Compression,
    /// What has come and was not looked at yet, from `start` on.
    raw: Vec<u8>,
    start: usize,
    frame: Frame,
    /// Of the next frame to send: they are numbered on from those that came.
    number: u8,
    /// Frames on their way, of which `sent` bytes have left.
    out: Vec<u8>,
    sent: usize,
}

/// What is left of the frame that is read.
enum Frame {
    None,
    Plain {
        left: usize,
    },
    Packed {
        left: usize,
        plain_left: usize,
        unpacker: Unpacker,
    },
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Compressed {
    pub fn new(inner: Stream, compression: Compression) -> Compressed {
        Compressed {
            inner,
            compression,
            raw: Vec::new(),
            start: 0,
            frame: Frame::None,
            number: 0,
            out: Vec::new(),
            sent: 0,
        }
    }

    /// Begins the next frame, if its header has come.
    fn begin_frame(&mut self) -> io::Result<()> {
        let Some(header) = self.raw[self.start..].first_chunk::<HEADER>() else {
            return Ok(());
        };
        let number = |bytes: &[u8]| usize::from(bytes[0]) | usize::from(bytes[1]) << 8 | usize::from(bytes[2]) << 16;
        let (left, plain_left) = (number(&header[..3]), number(&header[4..]));
        if left == 0 {
            return Err(malformed("an empty frame"));
        }
        self.number = header[3].wrapping_add(1);
        self.start += HEADER;
        self.frame = match plain_left {
            0 => Frame::Plain { left },
            plain_left => Frame::Packed {
                left,
                plain_left,
                unpacker: Unpacker::take(self.compression),
            },
        };
        Ok(())
    }

    /// Gives what it can of the frame to `buf`. Returns how many bytes of the frame that took.
    fn take_from_frame(&mut self, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
        let came = &self.raw[self.start..];
        let (taken, is_over) = match &mut self.frame {
            Frame::None => (0, false),
            Frame::Plain { left } => {
                let taken = came.len().min(*left).min(buf.remaining());
                buf.put_slice(&came[..taken]);
                *left -= taken;
                (taken, *left == 0)
            }
            Frame::Packed {
                left,
                plain_left,
                unpacker,
            } => {
                let came = &came[..came.len().min(*left)];
                // Where all of it has come, there may still be bytes to make.
                if came.is_empty() && *left > 0 {
                    return Ok(0);
                }
                let mut too_much = [0];
                let room = (*plain_left).min(buf.remaining()).min(UNPACKED_AT_ONCE);
                let target = match *plain_left {
                    0 => &mut too_much[..],
                    _ => buf.initialize_unfilled_to(room),
                };
                let step = unpacker.unpack(came, target)?;
                if step.made > *plain_left {
                    return Err(malformed("a frame of more bytes than it claims"));
                }
                *left -= step.taken;
                *plain_left -= step.made;
                let is_stuck = *left == 0 && step.made == 0 || step.taken + step.made == 0;
                if step.is_over && (*left, *plain_left) != (0, 0) || !step.is_over && is_stuck {
                    return Err(malformed("a frame of other lengths than it claims"));
                }
                // Who is told of an error gets no bytes.
                buf.advance(step.made);
                (step.taken, step.is_over)
            }
        };
        self.start += taken;
        if is_over && let Frame::Packed { unpacker, .. } = std::mem::replace(&mut self.frame, Frame::None) {
            unpacker.keep();
        }
        Ok(taken)
    }

    /// Reads more of the frames; false at the end of the stream.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        self.raw.drain(..self.start);
        self.start = 0;
        if self.raw.capacity() == 0 {
            self.raw = pool::take_buffer();
        }
        let held = self.raw.len();
        self.raw.resize(held + UNPACKED_AT_ONCE, 0);
        let mut piece = ReadBuf::new(&mut self.raw[held..]);
        let read = Pin::new(&mut self.inner).poll_read(cx, &mut piece);
        let came = piece.filled().len();
        self.raw.truncate(held + came);
        if self.raw.is_empty() {
            // A connection that waits holds no buffer.
            pool::return_buffer(std::mem::take(&mut self.raw));
        }
        ready!(read)?;
        Poll::Ready(Ok(came > 0))
    }

    /// Sends frames that were made, all of them.
    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.out.len() {
            match ready!(Pin::new(&mut self.inner).poll_write(cx, &self.out[self.sent..]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                sent => self.sent += sent,
            }
        }
        pool::return_buffer(std::mem::take(&mut self.out));
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Makes a frame of the bytes.
    fn frame(&mut self, bytes: &[u8]) {
        if self.out.capacity() == 0 {
            self.out = pool::take_buffer();
        }
        let start = self.out.len();
        self.out.extend_from_slice(&[0; HEADER]);
        let is_packed = bytes.len() >= PACKED_MIN && packing::pack(self.compression, bytes, &mut self.out);
        if !is_packed {
            self.out.truncate(start + HEADER);
            self.out.extend_from_slice(bytes);
        }
        let length = (self.out.len() - start - HEADER) as u32;
        let plain = if is_packed { bytes.len() as u32 } else { 0 };
        let header = &mut self.out[start..start + HEADER];
        header[..3].copy_from_slice(&length.to_le_bytes()[..3]);
        header[3] = self.number;
        header[4..].copy_from_slice(&plain.to_le_bytes()[..3]);
        self.number = self.number.wrapping_add(1);
    }
}

impl Layer for Compressed {
    fn inner(&self) -> &Stream {
        &self.inner
    }

    /// Compressing takes its time, too.
    fn sent_per_turn(&self) -> usize {
        SENT_PER_TURN
    }
}

impl AsyncRead for Compressed {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let mut looked_at = 0;
        loop {
            if matches!(this.frame, Frame::None) {
                this.begin_frame()?;
            }
            let taken = this.take_from_frame(buf)?;
            if buf.filled().len() > before || buf.remaining() == 0 {
                return Poll::Ready(Ok(()));
            }
            looked_at += taken;
            if looked_at >= LOOKED_AT {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if taken > 0 {
                continue;
            }
            let is_between = matches!(this.frame, Frame::None) && this.start == this.raw.len();
            if !ready!(this.poll_more(cx))? {
                return Poll::Ready(match is_between {
                    true => Ok(()),
                    false => Err(io::ErrorKind::UnexpectedEof.into()),
                });
            }
        }
    }
}

impl AsyncWrite for Compressed {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_sent(cx))?;
        let bytes = &buf[..buf.len().min(FRAME_PLAIN)];
        this.frame(bytes);
        // What does not go now goes before the next frame, or at the flush.
        match this.poll_sent(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_sent(cx))?;
        Pin::new(&mut this.inner).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_sent(cx))?;
        Pin::new(&mut this.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;
    use front::Transport;

    const ZSTD: Compression = Compression::Zstd { level: 3 };

    fn pair(compression: Compression) -> (Compressed, UnixStream) {
        let (ours, client) = UnixStream::pair().expect("a pair of sockets");
        (
            Compressed::new(Stream::Plain(Transport::Unix(ours)), compression),
            client,
        )
    }

    fn packed(compression: Compression, bytes: &[u8]) -> Vec<u8> {
        match compression {
            Compression::Zlib => zlib(bytes),
            Compression::Zstd { .. } => zstd(bytes, 19),
        }
    }

    fn unpacked(compression: Compression, packed: &[u8], plain: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        match compression {
            Compression::Zlib => {
                let mut decoder = flate2::write::ZlibDecoder::new(&mut bytes);
                decoder.write_all(packed).expect("deflated");
                decoder.finish().expect("whole");
            }
            Compression::Zstd { .. } => {
                bytes.reserve(plain);
                zstd_safe::decompress(&mut bytes, packed).expect("a frame");
            }
        }
        assert_eq!(bytes.len(), plain);
        bytes
    }

    fn zstd(bytes: &[u8], level: i32) -> Vec<u8> {
        let mut packed = Vec::with_capacity(zstd_safe::compress_bound(bytes.len()));
        zstd_safe::compress(&mut packed, bytes, level).expect("room");
        packed
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).expect("room");
        encoder.finish().expect("room")
    }

    fn frame(number: u8, plain_length: usize, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_le_bytes();
        let plain = (plain_length as u32).to_le_bytes();
        [&length[..3], &[number], &plain[..3], payload].concat()
    }

    #[tokio::test(flavor = "current_thread")]
    async fn frames_of_both_kinds_are_read_in_any_pieces() {
        let long: Vec<u8> = (0..200_000_u32).map(|at| (at / 100) as u8).collect();
        let wanted = [b"plain", &long[..], b"x", b"end"].concat();
        for (compression, piece) in [Compression::Zlib, ZSTD]
            .into_iter()
            .flat_map(|compression| [1, 7, 100, usize::MAX].map(|piece| (compression, piece)))
        {
            let sent = [
                frame(0, 0, b"plain"),
                frame(1, long.len(), &packed(compression, &long)),
                frame(2, 1, &packed(compression, b"x")),
                frame(3, 0, b"end"),
            ]
            .concat();
            let (mut ours, mut client) = pair(compression);
            let mut read = vec![0; wanted.len()];
            let send = async {
                for piece in sent.chunks(piece) {
                    client.write_all(piece).await.expect("room");
                    tokio::task::yield_now().await;
                }
            };
            let ((), read_all) = tokio::join!(send, ours.read_exact(&mut read));
            read_all.expect("all of it");
            assert!(read == wanted);
            assert_eq!(ours.number, 4);
            drop(client);
            assert_eq!(ours.read(&mut read).await.expect("the end"), 0);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_sent_can_be_read_and_is_numbered_on() {
        for compression in [Compression::Zlib, ZSTD, Compression::Zstd { level: 22 }] {
            what_is_sent_can_be_read(compression).await;
        }
    }

    async fn what_is_sent_can_be_read(compression: Compression) {
        let (mut ours, mut client) = pair(compression);
        client.write_all(&frame(0, 0, b"command")).await.expect("room");
        ours.read_exact(&mut [0; 7]).await.expect("the command");
        let long: Vec<u8> = (0..100_000_u32).map(|at| (at / 10) as u8).collect();
        let noise: Vec<u8> = (0..5000_u64)
            .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8)
            .collect();
        let wanted = [b"short", &long[..], &noise].concat();
        let send = async {
            for part in [&b"short"[..], &long, &noise] {
                ours.write_all(part).await.expect("room");
            }
            ours.flush().await.expect("room");
            ours.shutdown().await.expect("room");
        };
        let mut sent = Vec::new();
        let ((), received) = tokio::join!(send, client.read_to_end(&mut sent));
        received.expect("all of it");
        assert!(sent.len() < wanted.len() / 4, "{}", sent.len());
        let (mut read, mut at, mut number) = (Vec::new(), 0, 1);
        while at < sent.len() {
            let field = |from: usize| usize::from(sent[from]) | usize::from(sent[from + 1]) << 8;
            let (length, plain) = (field(at), field(at + 4));
            assert_eq!(sent[at + 3], number);
            number += 1;
            let payload = &sent[at + HEADER..][..length];
            match plain {
                0 => read.extend_from_slice(payload),
                plain => read.extend_from_slice(&unpacked(compression, payload, plain)),
            }
            at += HEADER + length;
        }
        assert!(read == wanted);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn frames_that_lie_end_the_stream() {
        for compression in [Compression::Zlib, ZSTD] {
            frames_that_lie_end(compression).await;
        }
    }

    async fn frames_that_lie_end(compression: Compression) {
        let whole = packed(compression, &[b'x'; 1000]);
        let cut = &whole[..whole.len() - 1];
        for lie in [
            frame(0, 0, b""),
            frame(0, 5, b""),
            frame(0, 1000, b"not deflated at all"),
            frame(0, 999, &whole),
            frame(0, 1001, &whole),
            frame(0, 1000, cut),
            frame(0, 1000, &[&whole[..], b"more"].concat()),
            frame(0, 1000, &[&whole[..], &whole[..]].concat()),
        ] {
            let (mut ours, mut client) = pair(compression);
            client.write_all(&lie).await.expect("room");
            drop(client);
            let mut read = Vec::new();
            assert!(ours.read_to_end(&mut read).await.is_err(), "{lie:?}");
            assert!(read.len() <= 1001);
        }
    }

    /// Sixteen megabytes in a few kilobytes: what is not read is not made.
    #[tokio::test(flavor = "current_thread")]
    async fn a_bomb_takes_no_more_memory_than_its_reader_asks_for() {
        const PLAIN: usize = (1 << 24) - 1;
        for compression in [Compression::Zlib, ZSTD] {
            let (mut ours, mut client) = pair(compression);
            let bomb = frame(0, PLAIN, &packed(compression, &vec![0; PLAIN]));
            client.write_all(&bomb).await.expect("room");
            let mut piece = vec![1; 1000];
            for _ in 0..10 {
                let read = ours.read(&mut piece).await.expect("some of it");
                assert!(read > 0 && piece[..read].iter().all(|byte| *byte == 0));
            }
            assert!(ours.raw.capacity() <= 2 * pool::BUFFER_LEN);
        }
    }

    /// A frame of empty blocks gives nothing, however long it is.
    #[tokio::test(flavor = "current_thread")]
    async fn frames_of_nothing_give_way() {
        let blocks = [&[0x78, 0x01][..], &[0, 0, 0, 0xff, 0xff].repeat(20_000)].concat();
        let (mut ours, mut client) = pair(Compression::Zlib);
        client.write_all(&frame(0, 1, &blocks)).await.expect("room");
        let mut buffer = [0; 10];
        let mut read = std::pin::pin!(ours.read(&mut buffer));
        let polled = std::future::poll_fn(|cx| Poll::Ready(std::future::Future::poll(read.as_mut(), cx))).await;
        assert!(polled.is_pending());
    }
}
