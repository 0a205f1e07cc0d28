//! A client's socket, as the way of packets.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use front::socket::{self, Patience, SocketEnd};
use front::{Handle, Input, Outgoing, Transport};
use mysql_wire::Output;
use mysql_wire::frame::{self, FrameError};
use sql_api::session::Compression;

use crate::compressed::Compressed;

/// The packets' way to and from one client. Shared by the connection's task and the statement that runs for it, both on
/// one thread.
pub struct PacketSocket {
    pub bytes: front::Socket,
    is_compressed: Cell<bool>,
}

/// Why no packet came.
#[derive(Debug)]
pub enum ReadEnd {
    Socket(SocketEnd),
    /// The client's bytes are not the protocol.
    Frame(FrameError),
}

impl From<SocketEnd> for ReadEnd {
    fn from(end: SocketEnd) -> Self {
        ReadEnd::Socket(end)
    }
}

/// Packets on their way.
struct Packets<'a>(&'a mut Output);

impl Outgoing for Packets<'_> {
    fn unsent(&self) -> &[u8] {
        self.0.as_slice()
    }

    fn drop_front(&mut self, len: usize) {
        self.0.drop_front(len);
    }
}

impl PacketSocket {
    pub fn new(stream: Transport, handle: Arc<Handle>) -> Self {
        PacketSocket {
            bytes: front::Socket::new(stream, handle),
            is_compressed: Cell::new(false),
        }
    }

    /// Waits until `input` begins with a whole packet of at most `len_max` bytes whose first frame is numbered `sequence`.
    pub fn read_packet(
        &self,
        input: &mut Input,
        sequence: u8,
        len_max: usize,
        patience: Patience,
    ) -> impl Future<Output = Result<(), ReadEnd>> {
        self.bytes.read_message(input, patience, move |input| {
            self.number(input, sequence);
            match frame::scan(input.pending(), sequence, len_max) {
                Ok(frame::Scan::Complete(_)) => Ok(socket::Scan::Complete(())),
                Ok(frame::Scan::Incomplete { wanted }) => Ok(socket::Scan::Incomplete { wanted }),
                Err(error) => Err(ReadEnd::Frame(error)),
            }
        })
    }

    /// Sends everything collected in `output`. On an early end, also one by dropping the future, the rest stays there.
    pub fn flush(&self, output: &mut Output, timeout: Duration) -> impl Future<Output = Result<(), SocketEnd>> {
        self.bytes.flush(Packets(output), timeout)
    }

    /// Goes on compressed: what is sent from here on, and what comes. Nothing of that has been read yet.
    pub fn start_compression(&self, compression: Compression) {
        self.bytes.put_on(|stream| Compressed::new(stream, compression));
        self.is_compressed.set(true);
    }

    /// Within compressed frames, which have numbers of their own, those of packets say nothing: MariaDB's clients begin anew with each 16 MB.
    pub fn number(&self, input: &mut Input, sequence: u8) {
        if self.is_compressed.get() {
            number_from(input.pending_mut(), sequence);
        }
    }
}

/// Numbers the frames of the first packet anew, from `sequence` on.
fn number_from(bytes: &mut [u8], sequence: u8) {
    let (mut at, mut number) = (0, sequence);
    while let Some(header) = bytes.get_mut(at..at + frame::HEADER_LEN) {
        let len = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
        header[3] = number;
        if len < frame::FRAME_PAYLOAD_MAX {
            return;
        }
        (at, number) = (at + frame::HEADER_LEN + len, number.wrapping_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_numbered_as_far_as_they_have_come() {
        let mut input = Vec::new();
        let long = [vec![0xff, 0xff, 0xff, 9], vec![7; frame::FRAME_PAYLOAD_MAX]].concat();
        let rest = [1, 0, 0, 9, 7, 1, 0, 0, 9, 7];
        let mut come = |bytes: &[u8]| {
            input.extend_from_slice(bytes);
            number_from(&mut input, 255);
            let second = input.get(long.len() + 3).copied();
            let third = input.get(long.len() + 8).copied();
            (input[3], second, third)
        };
        assert_eq!(come(&long), (255, None, None));
        assert_eq!(come(&rest[..2]), (255, None, None));
        // The next packet is another command.
        assert_eq!(come(&rest[2..]), (255, Some(0), Some(9)));
    }
}
