//! What is read from and written to a connection, whatever carries it: frames over any pair of byte streams.
//!
//! Frames that wait are written together. Many MiB are moved in pieces, and everybody else on the thread has a turn between two.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::MissedTickBehavior;

use crate::frame::{Decoder, Encoding, Frame, Garbled};
use crate::names::NodeNames;

/// Bytes that are read or written at once.
const PIECE: usize = 64 << 10;

pub type Reader = Box<dyn AsyncRead + Send + Unpin>;
pub type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// The two directions of a connection.
pub struct Socket {
    pub reader: Reader,
    pub writer: Writer,
    /// By the other end's certificate; `None`: the connection has none.
    pub names: Option<NodeNames>,
}

impl Socket {
    pub fn plain(stream: TcpStream) -> Socket {
        let (reader, writer) = stream.into_split();
        Socket {
            reader: Box::new(reader),
            writer: Box::new(writer),
            names: None,
        }
    }

    pub fn encrypted(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, names: NodeNames) -> Socket {
        let (reader, writer) = tokio::io::split(stream);
        Socket {
            reader: Box::new(reader),
            writer: Box::new(writer),
            names: Some(names),
        }
    }
}

/// Why a connection has ended.
#[derive(Debug, Error)]
pub enum Broken {
    #[error("the other end has closed the connection")]
    Closed,
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("what comes is damaged: {0}")]
    Garbled(#[from] Garbled),
    #[error("nothing has been heard for {0:?}")]
    Silent(Duration),
    #[error("a frame came that this side of a connection never gets")]
    Astray,
    #[error("another connection takes its place")]
    Replaced,
}

/// Takes frames off a connection.
pub struct Reading<'a> {
    reader: &'a mut Reader,
    decoder: Decoder,
    buffer: Box<[u8]>,
    /// Bytes of the buffer that have been read, and not decoded.
    from: usize,
    to: usize,
    pulse: &'a Pulse,
    received: &'a AtomicU64,
}

impl<'a> Reading<'a> {
    pub fn new(reader: &'a mut Reader, decoder: Decoder, pulse: &'a Pulse, received: &'a AtomicU64) -> Reading<'a> {
        Reading {
            reader,
            decoder,
            buffer: vec![0; PIECE].into(),
            from: 0,
            to: 0,
            pulse,
            received,
        }
    }

    pub async fn next(&mut self) -> Result<Frame, Broken> {
        loop {
            let mut input = &self.buffer[self.from..self.to];
            let frame = self.decoder.take(&mut input)?;
            self.from = self.to - input.len();
            if let Some(frame) = frame {
                return Ok(frame);
            }
            if self.to == PIECE {
                tokio::task::yield_now().await;
            }
            (self.from, self.to) = (0, 0);
            self.to = self.reader.read(&mut self.buffer).await?;
            if self.to == 0 {
                return Err(Broken::Closed);
            }
            self.pulse.heard.store(true, Relaxed);
            self.received.fetch_add(self.to as u64, Relaxed);
        }
    }
}

/// Writes what `next` gives, whenever `wake` says that there is something; ends with the connection.
pub async fn write_frames(
    writer: &mut Writer,
    wake: &Notify,
    mut next: impl FnMut() -> Option<Encoding>,
    sent: &AtomicU64,
) -> Broken {
    let mut buffer = Vec::new();
    let mut begun: Option<Encoding> = None;
    loop {
        buffer.clear();
        while buffer.len() < PIECE {
            if let Some(encoding) = &mut begun {
                if encoding.pour(&mut buffer, PIECE) {
                    begun = None;
                }
            } else {
                begun = next();
                if begun.is_none() {
                    break;
                }
            }
        }
        if buffer.is_empty() {
            wake.notified().await;
            continue;
        }
        if let Err(error) = write(writer, &buffer).await {
            return error.into();
        }
        sent.fetch_add(buffer.len() as u64, Relaxed);
        if buffer.len() >= PIECE {
            tokio::task::yield_now().await;
        }
    }
}

async fn write(writer: &mut Writer, bytes: &[u8]) -> io::Result<()> {
    writer.write_all(bytes).await?;
    writer.flush().await
}

/// Whether the other side lives.
#[derive(Debug, Default)]
pub struct Pulse {
    /// Since the last beat.
    pub heard: AtomicBool,
    /// This side does not read at present, so it cannot hear.
    pub is_deaf: AtomicBool,
}

impl Pulse {
    /// Has `beat` called in even intervals, and ends when nothing was heard in `silent` of them in a row. It counts beats rather than time,
    /// so that a process that was stopped for a while listens before it judges.
    pub async fn beat(&self, interval: Duration, silent: u32, mut beat: impl FnMut()) -> Broken {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        let mut missed = 0;
        loop {
            ticks.tick().await;
            if self.heard.swap(false, Relaxed) || self.is_deaf.load(Relaxed) {
                missed = 0;
            } else {
                missed += 1;
                if missed >= silent {
                    return Broken::Silent(interval * missed);
                }
            }
            beat();
        }
    }
}
