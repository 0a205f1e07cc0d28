//! The decoders of what nodes say to each other about messages, for the fuzzers.

use super::interest::{Channels, Interest};
use super::words::{Answer, Frame, Message, Piece};
use super::{Heard, Neighbours, Speaker};
use crate::hub::Hub;

/// Reads any bytes as a frame or an answer, and hears them. What can be read is written, and read again, as it is.
pub fn words(bytes: &[u8]) {
    if let Some(frame) = Frame::decode(bytes) {
        assert_eq!(Frame::decode(&frame.encode()).as_ref(), Some(&frame));
    }
    if let Some(answer) = Answer::decode(bytes) {
        assert_eq!(Answer::decode(&answer.encode()), Some(answer));
    }
    let (neighbours, hub) = (Neighbours::default(), Hub::default());
    neighbours.know(&[2]);
    let speaker = Speaker {
        node: 2,
        incarnation: 1,
    };
    if let Some(Heard::Telling(mut telling)) = neighbours.hear(speaker, bytes) {
        while neighbours.tell(&mut telling, &hub) {}
    }
    neighbours.publish(Channels::Plain, b"channel", b"text", 0);
}

/// Some of what nodes say.
pub fn corpus() -> Vec<Vec<u8>> {
    let mut few = Interest::default();
    few.notified = 3;
    few.add(Channels::Plain, b"channel");
    few.add_pattern(b"__keyevent@*__:*");
    let mut many = Interest::default();
    (0..3000).for_each(|n: u32| many.add(Channels::Shard, &n.to_le_bytes()));
    (0..40).for_each(|n: u32| many.add_pattern(&n.to_le_bytes()));
    let message = Message {
        to: Channels::Plain,
        channel: b"channel",
        text: b"text",
    };
    let word = message.encode().to_vec();
    let frames = [
        Frame::Interest {
            version: 1,
            interest: few,
        },
        Frame::Interest {
            version: 2,
            interest: many,
        },
        Frame::Check { version: 2 },
        Frame::Words {
            sequence: 1,
            words: [word.clone(), word.clone()].concat(),
        },
        Frame::Piece {
            sequence: 2,
            piece: Piece {
                word_bytes: word.len() as u32,
                offset: 0,
                bytes: word,
            },
        },
    ];
    let answers = [Answer::Holds(7), Answer::Heard, Answer::Busy];
    let answers = answers.into_iter().map(Answer::encode);
    frames.iter().map(Frame::encode).chain(answers).collect()
}
