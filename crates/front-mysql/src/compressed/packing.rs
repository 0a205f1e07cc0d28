//! How the bytes of one frame are packed: by zlib, or by zstd. The state of both is large, so a thread keeps what it can use again.

use std::cell::RefCell;
use std::io;

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use sql_api::session::Compression;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective};

use super::malformed;

/// The largest window that a frame of zstd may need: no frame of the protocol has more bytes.
const WINDOW_LOG_MAX: u32 = 24;
/// A decoder with a larger window is not kept.
const KEPT_BYTES: usize = 1 << 20;
/// Higher levels cost more than a turn of the processor for one frame. What is packed less can be read all the same.
const LEVEL_MAX: u8 = 9;

thread_local! {
    static DEFLATER: RefCell<Compress> = RefCell::new(Compress::new(flate2::Compression::fast(), true));
    static INFLATER: RefCell<Option<Decompress>> = const { RefCell::new(None) };
    static ENCODER: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECODER: RefCell<Option<DCtx<'static>>> = const { RefCell::new(None) };
}

/// Unpacks one frame.
pub enum Unpacker {
    Zlib(Decompress),
    Zstd(DCtx<'static>),
}

/// What came of a piece.
pub struct Step {
    /// Bytes that were read.
    pub taken: usize,
    /// Bytes that were written.
    pub made: usize,
    /// The frame's end was among them.
    pub is_over: bool,
}

impl Unpacker {
    pub fn take(compression: Compression) -> Unpacker {
        match compression {
            Compression::Zlib => Unpacker::Zlib(match INFLATER.take() {
                Some(mut inflater) => {
                    inflater.reset(true);
                    inflater
                }
                None => Decompress::new(true),
            }),
            Compression::Zstd { .. } => Unpacker::Zstd(DECODER.take().unwrap_or_else(|| {
                let mut decoder = DCtx::create();
                decoder
                    .set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX))
                    .expect("a window of that size is possible");
                decoder
            })),
        }
    }

    /// Gives it back, after the end of its frame.
    pub fn keep(self) {
        match self {
            Unpacker::Zlib(inflater) => INFLATER.set(Some(inflater)),
            Unpacker::Zstd(mut decoder) => {
                if decoder.sizeof() <= KEPT_BYTES && decoder.reset(ResetDirective::SessionOnly).is_ok() {
                    DECODER.set(Some(decoder));
                }
            }
        }
    }

    pub fn unpack(&mut self, from: &[u8], to: &mut [u8]) -> io::Result<Step> {
        match self {
            Unpacker::Zlib(inflater) => {
                let (read, written) = (inflater.total_in(), inflater.total_out());
                let status = inflater.decompress(from, to, FlushDecompress::None);
                let status = status.map_err(|_| malformed("a frame that is not deflated"))?;
                Ok(Step {
                    taken: (inflater.total_in() - read) as usize,
                    made: (inflater.total_out() - written) as usize,
                    is_over: status == Status::StreamEnd,
                })
            }
            Unpacker::Zstd(decoder) => {
                let (mut input, mut output) = (InBuffer::around(from), OutBuffer::around(to));
                let left = decoder
                    .decompress_stream(&mut output, &mut input)
                    .map_err(|_| malformed("a frame that is not of zstd"))?;
                Ok(Step {
                    taken: input.pos(),
                    made: output.pos(),
                    is_over: left == 0,
                })
            }
        }
    }
}

/// Appends the packed bytes; false where they are no fewer.
pub fn pack(compression: Compression, bytes: &[u8], out: &mut Vec<u8>) -> bool {
    let start = out.len();
    out.resize(start + bytes.len(), 0);
    let made = match compression {
        Compression::Zlib => DEFLATER.with_borrow_mut(|deflater| {
            deflater.reset();
            let status = deflater.compress(bytes, &mut out[start..], FlushCompress::Finish);
            matches!(status, Ok(Status::StreamEnd)).then(|| deflater.total_out() as usize)
        }),
        Compression::Zstd { level } => ENCODER.with_borrow_mut(|encoder| {
            let level = i32::from(level.clamp(1, LEVEL_MAX));
            encoder.set_parameter(CParameter::CompressionLevel(level)).ok()?;
            encoder.compress2(&mut out[start..], bytes).ok()
        }),
    };
    out.truncate(start + made.unwrap_or(0));
    made.is_some_and(|made| made < bytes.len())
}
