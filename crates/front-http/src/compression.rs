//! Bodies packed for the way, where the client says that it can unpack them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, InBuffer, OutBuffer};

/// Quick rather than small: the answer is waited for.
const ZSTD_LEVEL: i32 = 1;
const GZIP_LEVEL: u32 = 1;
/// Bytes that are packed before others have their turn.
const AT_ONCE: usize = 64 << 10;

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Zstd,
    Gzip,
}

impl Coding {
    /// The ones that are liked better come first.
    pub const NAMES: [&str; 2] = ["zstd", "gzip"];

    pub fn of(name: &str) -> Option<Coding> {
        match name {
            "zstd" => Some(Coding::Zstd),
            "gzip" => Some(Coding::Gzip),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Coding::Zstd => "zstd",
            Coding::Gzip => "gzip",
        }
    }

    /// A whole body; `None` where it would not become smaller.
    pub fn pack(self, body: &[u8]) -> Option<Vec<u8>> {
        let packed = self.encoder().write(body, true);
        (packed.len() < body.len()).then_some(packed)
    }

    pub fn encoder(self) -> Encoder {
        match self {
            Coding::Zstd => {
                let mut context = CCtx::create();
                // A parameter of the library that every version of it knows.
                let _ = context.set_parameter(zstd_safe::CParameter::CompressionLevel(ZSTD_LEVEL));
                Encoder::Zstd(Box::new(context))
            }
            Coding::Gzip => Encoder::Gzip(Some(GzEncoder::new(Vec::new(), Compression::new(GZIP_LEVEL)))),
        }
    }
}

/// Packs a body piece by piece.
pub enum Encoder {
    Zstd(Box<CCtx<'static>>),
    /// None once it has ended.
    Gzip(Option<GzEncoder<Vec<u8>>>),
}

impl Encoder {
    /// Packs a piece so that the client can read it at once.
    pub fn write(&mut self, mut piece: &[u8], is_last: bool) -> Vec<u8> {
        let mut packed = Vec::with_capacity(piece.len() / 2 + 64);
        loop {
            let (now, rest) = piece.split_at(piece.len().min(AT_ONCE));
            piece = rest;
            self.write_some(now, piece.is_empty(), is_last && piece.is_empty(), &mut packed);
            if piece.is_empty() {
                return packed;
            }
            governor::pause();
        }
    }

    fn write_some(&mut self, piece: &[u8], flushes: bool, ends: bool, packed: &mut Vec<u8>) {
        match self {
            Encoder::Zstd(context) => {
                let directive = match (flushes, ends) {
                    (_, true) => ZSTD_EndDirective::ZSTD_e_end,
                    (true, _) => ZSTD_EndDirective::ZSTD_e_flush,
                    _ => ZSTD_EndDirective::ZSTD_e_continue,
                };
                let mut input = InBuffer::around(piece);
                loop {
                    packed.reserve(piece.len() + 64);
                    let at = packed.len();
                    let mut output = OutBuffer::around_pos(packed, at);
                    // It fails for wrong parameters and for want of memory alone.
                    let left = context
                        .compress_stream2(&mut output, &mut input, directive)
                        .expect("the context is whole");
                    let is_taken = input.pos == piece.len();
                    if is_taken && (left == 0 || directive == ZSTD_EndDirective::ZSTD_e_continue) {
                        return;
                    }
                }
            }
            Encoder::Gzip(encoder) => {
                let Some(open) = encoder else { return };
                // Writing into a vector does not fail.
                let _ = open.write_all(piece);
                if flushes && !ends {
                    let _ = open.flush();
                }
                packed.append(open.get_mut());
                if ends && let Some(open) = encoder.take() {
                    packed.extend_from_slice(&open.finish().unwrap_or_default());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_packed_comes_back() {
        let body: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        for coding in [Coding::Zstd, Coding::Gzip] {
            let mut encoder = coding.encoder();
            let (first, second) = body.split_at(100_001);
            let packed = [encoder.write(first, false), encoder.write(second, true)].concat();
            assert!(packed.len() < body.len());
            let mut back = Vec::with_capacity(body.len());
            match coding {
                Coding::Zstd => drop(zstd_safe::decompress(&mut back, &packed).expect("a frame")),
                Coding::Gzip => drop(
                    flate2::read::GzDecoder::new(&packed[..])
                        .read_to_end(&mut back)
                        .expect("a stream"),
                ),
            }
            assert!(back == body, "{coding:?}");
        }
        assert_eq!(Coding::Gzip.pack(b"x"), None);
    }
}
