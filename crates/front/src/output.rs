//! What is to be sent to a client.

/// Bytes on their way to a client, the first of them first. Whoever frames answers by itself flushes its own buffer this way, without
/// a copy.
pub trait Outgoing {
    fn unsent(&self) -> &[u8];

    /// Forgets the first `len` bytes because they were sent.
    fn drop_front(&mut self, len: usize);
}

impl<O: Outgoing> Outgoing for &mut O {
    fn unsent(&self) -> &[u8] {
        (**self).unsent()
    }

    fn drop_front(&mut self, len: usize) {
        (**self).drop_front(len);
    }
}

/// The plain send buffer: answers one behind the other.
#[derive(Debug, Default)]
pub struct Output {
    buffer: Vec<u8>,
    /// What is before this was sent.
    start: usize,
}

impl Output {
    /// For appending answers.
    pub fn buffer_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the buffer has room for.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Exchanges the buffer of an empty output.
    pub fn replace_buffer(&mut self, buffer: Vec<u8>) -> Vec<u8> {
        debug_assert!(self.is_empty() && buffer.is_empty());
        std::mem::replace(&mut self.buffer, buffer)
    }
}

impl Outgoing for Output {
    fn unsent(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// What is behind them stays where it is.
    fn drop_front(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.buffer.len());
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_leaves_from_the_front() {
        let mut output = Output::default();
        output.buffer_mut().extend_from_slice(b"answers");
        output.drop_front(3);
        assert_eq!((output.unsent(), output.len()), (&b"wers"[..], 4));
        output.buffer_mut().push(b'!');
        output.drop_front(5);
        assert!(output.is_empty() && output.buffer_mut().is_empty());
    }
}
