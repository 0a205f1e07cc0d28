//! The send buffer: packets framed and numbered one behind the other.

use crate::frame::{FRAME_PAYLOAD_MAX, HEADER_LEN};

/// Bytes of a long payload that are moved in one go.
pub(crate) const MOVED_AT_ONCE: usize = 64 << 10;

/// Collects the packets of one or more answers in a single buffer.
#[derive(Debug, Default)]
pub struct Output {
    buffer: Vec<u8>,
    /// What is before this was sent.
    start: usize,
    /// Where the packets that were ended end.
    packets_end: usize,
    sequence: u8,
}

/// A packet begun and not yet ended: where its header is.
#[derive(Debug)]
#[must_use = "a packet is ended or abandoned"]
pub struct Packet {
    at: usize,
}

impl Output {
    pub fn new(buffer: Vec<u8>) -> Self {
        Output {
            packets_end: buffer.len(),
            start: 0,
            buffer,
            sequence: 0,
        }
    }

    pub fn into_bytes(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    /// The frames collected so far.
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    pub fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets what was collected (because it was sent); numbering goes on.
    pub fn clear(&mut self) {
        self.buffer.clear();
        self.start = 0;
        self.packets_end = 0;
    }

    /// Forgets the first `len` bytes because they were sent. What is behind them stays where it is.
    pub fn drop_front(&mut self, len: usize) {
        self.start += len;
        debug_assert!(self.start <= self.buffer.len());
        if self.start == self.buffer.len() {
            self.clear();
        }
    }

    /// Forgets the packet that was begun and not ended, if there is one.
    pub fn drop_begun(&mut self) {
        self.buffer.truncate(self.packets_end);
    }

    /// The buffer, for the payload of a begun packet.
    pub fn payload_mut(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
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

    /// The number of the next packet.
    pub fn sequence(&self) -> u8 {
        self.sequence
    }

    pub fn set_sequence(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Appends one packet with the payload that `write` appends.
    #[inline]
    pub fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let packet = self.begin();
        write(&mut self.buffer);
        self.end(packet);
    }

    /// Begins a packet whose payload is appended through [`Output::payload_mut`].
    #[inline]
    pub fn begin(&mut self) -> Packet {
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_LEN]);
        Packet { at }
    }

    #[inline]
    pub fn end(&mut self, packet: Packet) {
        self.end_in_pieces(packet, || ());
    }

    /// As [`end`](Self::end); calls `between` now and then where much has to be moved.
    #[inline]
    pub fn end_in_pieces(&mut self, packet: Packet, between: impl FnMut()) {
        let len = self.buffer.len() - packet.at - HEADER_LEN;
        if len < FRAME_PAYLOAD_MAX {
            self.buffer[packet.at..packet.at + HEADER_LEN].copy_from_slice(&header(len, self.sequence));
            self.sequence = self.sequence.wrapping_add(1);
        } else {
            self.split(packet.at, len, between);
        }
        self.packets_end = self.buffer.len();
    }

    /// Appends packets that were framed before, with the numbers that they have here.
    #[inline]
    pub fn framed(&mut self, packets: &[u8]) {
        let mut at = self.buffer.len();
        self.buffer.extend_from_slice(packets);
        while let Some([a, b, c, number]) = self.buffer[at..].first_chunk_mut::<HEADER_LEN>() {
            *number = self.sequence;
            at += HEADER_LEN + (usize::from(*a) | usize::from(*b) << 8 | usize::from(*c) << 16);
            self.sequence = self.sequence.wrapping_add(1);
        }
        debug_assert_eq!(at, self.buffer.len(), "whole frames");
        self.packets_end = self.buffer.len();
    }

    /// Takes a begun packet back.
    pub fn abandon(&mut self, packet: Packet) {
        self.buffer.truncate(packet.at);
    }

    /// Puts the inner headers into a payload of `len` bytes that does not fit one frame, moving it from the end.
    #[cold]
    fn split(&mut self, at: usize, len: usize, mut between: impl FnMut()) {
        let frames = len / FRAME_PAYLOAD_MAX + 1;
        let headers = (frames - 1) * HEADER_LEN;
        // Not twice the room for a few bytes.
        self.buffer.reserve_exact(headers);
        self.buffer.resize(self.buffer.len() + headers, 0);
        for frame in (0..frames).rev() {
            let payload_len = FRAME_PAYLOAD_MAX.min(len - frame * FRAME_PAYLOAD_MAX);
            let from = at + HEADER_LEN + frame * FRAME_PAYLOAD_MAX;
            let to = from + frame * HEADER_LEN;
            let mut left = if frame == 0 { 0 } else { payload_len };
            while left > 0 {
                let moved = left.min(MOVED_AT_ONCE);
                left -= moved;
                self.buffer.copy_within(from + left..from + left + moved, to + left);
                between();
            }
            let number = self.sequence.wrapping_add(frame as u8);
            self.buffer[to - HEADER_LEN..to].copy_from_slice(&header(payload_len, number));
        }
        self.sequence = self.sequence.wrapping_add(frames as u8);
    }
}

#[inline]
fn header(len: usize, sequence: u8) -> [u8; HEADER_LEN] {
    [len as u8, (len >> 8) as u8, (len >> 16) as u8, sequence]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_numbered_in_order_and_may_be_abandoned() {
        let mut output = Output::new(Vec::new());
        output.set_sequence(255);
        output.packet(|out| out.push(1));
        let abandoned = output.begin();
        output.payload_mut().extend_from_slice(b"half a row");
        output.abandon(abandoned);
        output.packet(|out| out.extend_from_slice(&[2, 3]));
        assert_eq!(output.as_slice(), [1, 0, 0, 255, 1, 2, 0, 0, 0, 2, 3]);
    }

    #[test]
    fn framed_packets_get_new_numbers() {
        let mut cached = Output::new(Vec::new());
        cached.packet(|out| out.extend_from_slice(b"ab"));
        cached.packet(|_| ());
        let mut output = Output::new(Vec::new());
        output.set_sequence(7);
        output.framed(cached.as_slice());
        assert_eq!(output.as_slice(), [2, 0, 0, 7, b'a', b'b', 0, 0, 0, 8]);
        assert_eq!(output.sequence(), 9);
    }

    #[test]
    fn a_packet_of_many_frames_takes_the_room_that_it_needs() {
        let payload = vec![7; 2 * FRAME_PAYLOAD_MAX];
        let mut output = Output::new(Vec::with_capacity(HEADER_LEN + payload.len()));
        let packet = output.begin();
        output.payload_mut().extend_from_slice(&payload);
        output.end(packet);
        assert_eq!(output.len(), payload.len() + 3 * HEADER_LEN);
        assert!(output.into_bytes().capacity() < payload.len() + payload.len() / 8);
    }

    #[test]
    fn what_was_sent_or_not_ended_can_be_dropped() {
        let mut output = Output::new(Vec::new());
        output.packet(|out| out.push(1));
        output.packet(|out| out.push(2));
        let _begun = output.begin();
        output.drop_begun();
        output.drop_front(5);
        output.drop_begun();
        assert_eq!(output.as_slice(), [1, 0, 0, 1, 2]);
    }
}
