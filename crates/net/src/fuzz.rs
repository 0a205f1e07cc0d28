//! What a connection gets, for the fuzzers.

use env::{Level, Levels};

use crate::Lane;
use crate::frame::{Decoder, Encoding, HEADER_BYTES, Kind};
use crate::hello::{HELLO_BYTES, Hello, Identity, Standing, VERSION, Verdict, judge, judge_levels};

const OWN: Identity = Identity {
    cluster: Some(7),
    node: 1,
    incarnation: 1,
    instance: 1,
};

/// Reads any bytes as a handshake and frames. Checksums are made to fit, so that what lies behind them is reached.
pub fn connection(bytes: &[u8]) {
    let Some((hello, frames)) = bytes.split_first_chunk::<HELLO_BYTES>() else {
        return;
    };
    let mut hello = *hello;
    let checksum = crc32fast::hash(&hello[..52]);
    hello[52..].copy_from_slice(&checksum.to_le_bytes());
    if let Ok(theirs) = Hello::decode(&hello) {
        let _ = judge(&OWN, theirs.expected, &theirs);
        let standing = Standing {
            speaks: Levels::spoken(),
            level: Level::FIRST,
        };
        let _ = judge_levels(&OWN, standing, &theirs);
        assert_eq!(Hello::decode(&theirs.encode()), Ok(theirs));
    }

    let mut frames = frames.to_vec();
    fit_checksums(&mut frames);
    let mut decoder = Decoder::new(Lane::Storage, 64 << 20);
    for mut piece in frames.chunks(usize::from(bytes[0]) + 1) {
        loop {
            match decoder.take(&mut piece) {
                Ok(Some(frame)) => assert!(frame.body.capacity() <= frames.len() + (4 << 10)),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn fit_checksums(mut frames: &mut [u8]) {
    while let Some((header, rest)) = frames.split_at_mut_checked(HEADER_BYTES) {
        let length = u32::from_le_bytes(header[..4].try_into().expect("four bytes")) as usize;
        let checksum = crc32fast::hash(&header[..16]);
        header[16..].copy_from_slice(&checksum.to_le_bytes());
        let Some((body, rest)) = rest.split_at_mut_checked(length) else {
            return;
        };
        let Some((trailer, rest)) = rest.split_at_mut_checked(4) else {
            return;
        };
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&header[..16]);
        checksum.update(body);
        trailer.copy_from_slice(&checksum.finalize().to_le_bytes());
        frames = rest;
    }
}

/// A handshake, a ping and two requests.
pub fn connections() -> Vec<Vec<u8>> {
    let hello = Hello {
        version: VERSION,
        lane: Lane::Storage,
        who: Identity {
            node: 2,
            instance: 2,
            ..OWN
        },
        expected: 1,
        verdict: Verdict::Welcome {
            speaks: Levels::spoken(),
        },
    };
    let mut bytes = hello.encode().to_vec();
    let frames = [
        (Kind::Ping, Vec::new()),
        (Kind::Request, b"a request".to_vec()),
        (Kind::Request, vec![1; 1000]),
    ];
    for (call, (kind, body)) in (1..).zip(frames) {
        Encoding::new(kind, Lane::Storage, call, body).pour(&mut bytes, usize::MAX);
    }
    vec![bytes]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_is_read_to_its_end() {
        let corpus = connections().remove(0);
        connection(&corpus);
        let mut frames = corpus[HELLO_BYTES..].to_vec();
        frames[16..20].fill(0);
        fit_checksums(&mut frames);
        assert_eq!(frames, corpus[HELLO_BYTES..]);
    }
}
