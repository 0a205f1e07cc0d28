//! The receive buffer of a connection.

use std::io;
use std::task::Poll;

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

    /// Prepares for a message of which `wanted` bytes are announced. Room grows with what has come, not with what was
    /// announced, so that announcing costs the client as much as it costs the server.
    pub(crate) fn make_room(&mut self, wanted: usize) {
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
    pub(crate) fn fill_with(
        &mut self,
        read: impl FnOnce(&mut Vec<u8>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
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

    /// Nothing more is coming for now: keeps no more memory than the part of a message that is there.
    fn park(&mut self) {
        if self.buffer.is_empty() {
            self.release();
        } else if self.buffer.len() < pool::BUFFER_LEN / 8 && self.buffer.capacity() >= pool::BUFFER_LEN {
            let part = self.buffer.as_slice().into();
            pool::return_buffer(std::mem::replace(&mut self.buffer, part));
        }
    }
}
