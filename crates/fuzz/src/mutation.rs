//! Variations of a corpus from a seed: bits, bytes, lengths, pieces of others.

/// SplitMix64: a seed names a run.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.number() % n as u64) as usize }
    }
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
pub fn mutated(chance: &mut Chance, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[chance.below(corpus.len())].clone();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        match chance.below(9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << chance.below(8),
            1 if !bytes.is_empty() => bytes[at] = chance.number() as u8,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, chance.number() as u8),
            4 if !bytes.is_empty() => {
                bytes.drain(at..at + 1 + chance.below((bytes.len() - at).min(8)));
            }
            5 => {
                let edge = EDGES[chance.below(EDGES.len())].to_le_bytes();
                let width = [1, 2, 3, 4, 8][chance.below(5)];
                for (byte, edge) in bytes[at..].iter_mut().zip(&edge[..width]) {
                    *byte = *edge;
                }
            }
            6 => {
                let other = &corpus[chance.below(corpus.len())];
                let from = chance.below(other.len());
                let len = chance.below(other.len() - from).min(64);
                let piece: Vec<u8> = other[from..from + len].to_vec();
                bytes.splice(at..at, piece);
            }
            7 if !bytes.is_empty() => {
                let len = chance.below(bytes.len() - at).min(64);
                let piece: Vec<u8> = bytes[at..at + len].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.extend_from_slice(&chance.number().to_le_bytes()),
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
            let mut chance = Chance::new(seed);
            (0..1000).map(|_| mutated(&mut chance, &corpus)).collect::<Vec<_>>()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
