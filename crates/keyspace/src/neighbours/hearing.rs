//! What another node says: how much of it is new, and what comes of it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::interest::{Channels, Interest};
use super::words::{Answer, Frame, Message, Piece, WORD_BYTES_MAX};
use super::{Neighbour, Neighbours};
use crate::hub::Hub;

/// Messages are told in steps of about so many bytes, counted once for each client that gets them.
const STEP_BYTES: usize = 64 << 10;
/// What telling one client costs beside the bytes.
const TELL_OVERHEAD: usize = 256;

/// A node, in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speaker {
    pub node: u32,
    pub incarnation: u32,
}

/// What has been heard of a node.
#[derive(Default)]
pub(super) struct Hearing {
    incarnation: u32,
    /// Of its interest.
    version: u64,
    /// Of its last frame of words.
    sequence: u64,
    /// A word whose end has not come yet.
    piece: Vec<u8>,
    is_telling: bool,
}

/// What comes of a frame.
pub enum Heard {
    Answer(Answer),
    /// Clients are to be told first.
    Telling(Telling),
}

/// Messages that are being told to the clients of this node.
pub struct Telling {
    from: Arc<Neighbour>,
    incarnation: u32,
    words: Vec<u8>,
    at: usize,
}

impl Neighbours {
    /// A frame of another node. `None`: it is no neighbour, or this version does not know what it says.
    pub fn hear(&self, speaker: Speaker, bytes: &[u8]) -> Option<Heard> {
        let frame = Frame::decode(bytes)?;
        let from = self.find(speaker.node)?;
        let mut hearing = from.hearing.lock();
        if speaker.incarnation < hearing.incarnation {
            return None;
        }
        if speaker.incarnation > hearing.incarnation {
            *hearing = Hearing {
                incarnation: speaker.incarnation,
                ..Hearing::default()
            };
            self.begins_anew(&from);
        }
        let answer = match frame {
            Frame::Interest { version, interest } => {
                // One that was overtaken on its way counts for nothing.
                if version > hearing.version || hearing.version == 0 {
                    hearing.version = version;
                    self.wants(&from, interest);
                }
                Answer::Holds(hearing.version)
            }
            Frame::Check { .. } => Answer::Holds(hearing.version),
            Frame::Words { sequence, .. } | Frame::Piece { sequence, .. } if sequence <= hearing.sequence => {
                Answer::Heard
            }
            Frame::Words { .. } | Frame::Piece { .. } if hearing.is_telling => Answer::Busy,
            Frame::Words { sequence, words } => {
                hearing.sequence = sequence;
                hearing.piece = Vec::new();
                return Some(hearing.tell(&from, words));
            }
            Frame::Piece { sequence, piece } => {
                hearing.sequence = sequence;
                match hearing.join(piece) {
                    Ok(Some(word)) => return Some(hearing.tell(&from, word)),
                    Ok(None) => Answer::Heard,
                    Err(NoPlace) => Answer::Busy,
                }
            }
        };
        Some(Heard::Answer(answer))
    }

    /// Its process is another one: what the one before wanted, and what that one knew, is gone.
    fn begins_anew(&self, neighbour: &Neighbour) {
        *neighbour.wants.write() = None;
        let mut told = neighbour.told.lock();
        told.version = 0;
        told.is_silent = false;
        drop(told);
        self.sum_up();
        self.telling.ring();
    }

    fn wants(&self, neighbour: &Neighbour, interest: Interest) {
        *neighbour.wants.write() = Some(interest);
        self.sum_up();
    }

    /// Tells some of the messages; true: there are more. Whoever calls gives way to others in between.
    pub fn tell(&self, telling: &mut Telling, hub: &Hub) -> bool {
        let mut told = 0;
        while told < STEP_BYTES {
            let Some((message, bytes)) = Message::decode(&telling.words[telling.at..]) else {
                return false;
            };
            telling.at += bytes;
            self.counts.heard.fetch_add(1, Ordering::Relaxed);
            let clients = match message.to {
                Channels::Plain => hub.publish(message.channel, message.text),
                Channels::Shard => hub.publish_to_shard(message.channel, message.text),
            };
            told += (clients + 1) * (TELL_OVERHEAD + bytes);
        }
        true
    }
}

/// A piece that does not follow what has come of its word.
struct NoPlace;

impl Hearing {
    /// Puts a piece behind those before it. A word that is whole now.
    fn join(&mut self, piece: Piece) -> Result<Option<Vec<u8>>, NoPlace> {
        let before = std::mem::take(&mut self.piece);
        let mut word = match piece.offset {
            0 => Vec::new(),
            _ => before,
        };
        let (word_bytes, end) = (piece.word_bytes as usize, word.len() + piece.bytes.len());
        if word.len() != piece.offset as usize || end > word_bytes || word_bytes > WORD_BYTES_MAX {
            return Err(NoPlace);
        }
        word.extend_from_slice(&piece.bytes);
        if end == word_bytes {
            return Ok(Some(word));
        }
        self.piece = word;
        Ok(None)
    }

    fn tell(&mut self, from: &Arc<Neighbour>, words: Vec<u8>) -> Heard {
        self.is_telling = true;
        Heard::Telling(Telling {
            from: from.clone(),
            incarnation: self.incarnation,
            words,
            at: 0,
        })
    }
}

impl Telling {
    /// For when all have been told.
    pub fn answer(self) -> Answer {
        Answer::Heard
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        let mut hearing = self.from.hearing.lock();
        // The node may have begun another life, whose words are being told.
        if hearing.incarnation == self.incarnation {
            hearing.is_telling = false;
        }
    }
}
