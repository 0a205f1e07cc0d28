//! Variations of a corpus from a seed: bits, bytes, lengths, pieces of others.

use env::{Random, SeededRandom};

/// A number below `n`; 0 where there is none.
fn below(random: &SeededRandom, n: usize) -> usize {
    if n == 0 { 0 } else { random.below(n as u64) as usize }
}

/// Numbers at which lengths and counts turn over.
const EDGES: [u64; 10] = [
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    i64::MAX as u64,
    u64::MAX,
];
const LEN_MAX: usize = 4096;

/// One of the corpus with a few changes.
pub fn mutated(random: &SeededRandom, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[below(random, corpus.len())].clone();
    for _ in 0..=below(random, 4) {
        let at = below(random, bytes.len());
        match below(random, 9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(random, 8),
            1 if !bytes.is_empty() => bytes[at] = random.next_u64() as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, random.next_u64() as u8),
            4 if !bytes.is_empty() => {
                bytes.drain(at..at + 1 + below(random, (bytes.len() - at).min(8)));
            }
            5 => {
                let edge = EDGES[below(random, EDGES.len())].to_le_bytes();
                let width = [1, 2, 3, 4, 8][below(random, 5)];
                for (byte, edge) in bytes[at..].iter_mut().zip(&edge[..width]) {
                    *byte = *edge;
                }
            }
            6 => {
                let other = &corpus[below(random, corpus.len())];
                let from = below(random, other.len());
                let len = below(random, other.len() - from).min(64);
                let piece: Vec<u8> = other[from..from + len].to_vec();
                bytes.splice(at..at, piece);
            }
            7 if !bytes.is_empty() => {
                let len = below(random, bytes.len() - at).min(64);
                let piece: Vec<u8> = bytes[at..at + len].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.extend_from_slice(&random.next_u64().to_le_bytes()),
        }
    }
    bytes.truncate(LEN_MAX);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_come_from_the_seed() {
        let corpus = vec![vec![], vec![1, 2, 3], vec![9; 40]];
        let run = |seed| {
            let random = SeededRandom::new(seed);
            (0..1000).map(|_| mutated(&random, &corpus)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
