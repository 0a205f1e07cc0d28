//! The receive buffer of a connection.

use std::io;
use std::task::Poll;

use mysql_wire::frame;

use crate::pool;

/// What came from the client and was not looked at yet. Holds a buffer only while there is something in it.
#[derive(Default)]
pub struct Input {
    buffer: Vec<u8>,
    start: usize,
}

impl Input {
    /// The bytes not consumed yet.
    pub fn pending(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    pub fn pending_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..]
    }

    /// Numbers the frames of the first packet anew, from `sequence` on.
    pub fn number_from(&mut self, sequence: u8) {
        let bytes = self.pending_mut();
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

    pub fn consume(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.buffer.len());
        if self.start == self.buffer.len() {
            self.release();
        }
    }

    /// Gives the buffer back; what it holds is forgotten. It came from the thread, so no session is credited with it.
    pub fn release(&mut self) {
        governor::given_away(|| pool::return_buffer(std::mem::take(&mut self.buffer)));
        self.start = 0;
    }

    /// Prepares for a packet of which `wanted` bytes are announced. Room grows with what has come, not with what was
    /// announced, so that announcing costs the client as much as it costs the server.
    pub fn make_room(&mut self, wanted: usize) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        let held = self.buffer.len();
        if held > 0 && wanted > self.buffer.capacity() {
            self.buffer.reserve((wanted - held).min(held.max(pool::BUFFER_LEN)));
        }
    }

    /// Lets `read` append to the buffer, which is the thread's while nothing has come.
    pub fn fill_with(&mut self, read: impl FnOnce(&mut Vec<u8>) -> Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() == 0 {
            self.buffer = pool::take_buffer();
        } else if self.buffer.len() == self.buffer.capacity() {
            self.buffer.reserve(pool::BUFFER_LEN);
        }
        let read = read(&mut self.buffer);
        if read.is_pending() {
            self.park();
        }
        read
    }

    /// Nothing more is coming for now: keeps no more memory than the part of a packet that is there.
    fn park(&mut self) {
        if self.buffer.is_empty() {
            self.release();
        } else if self.buffer.len() < pool::BUFFER_LEN / 8 && self.buffer.capacity() >= pool::BUFFER_LEN {
            let part = self.buffer.as_slice().into();
            pool::return_buffer(std::mem::replace(&mut self.buffer, part));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_numbered_as_far_as_they_have_come() {
        let mut input = Input::default();
        let long = [vec![0xff, 0xff, 0xff, 9], vec![7; frame::FRAME_PAYLOAD_MAX]].concat();
        let rest = [1, 0, 0, 9, 7, 1, 0, 0, 9, 7];
        let mut come = |bytes: &[u8]| {
            input.buffer.extend_from_slice(bytes);
            input.number_from(255);
            let second = input.pending().get(long.len() + 3).copied();
            let third = input.pending().get(long.len() + 8).copied();
            (input.pending()[3], second, third)
        };
        assert_eq!(come(&long), (255, None, None));
        assert_eq!(come(&rest[..2]), (255, None, None));
        // The next packet is another command.
        assert_eq!(come(&rest[2..]), (255, Some(0), Some(9)));
    }
}
