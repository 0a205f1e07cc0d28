//! Hashes, compression, random bytes.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use governor::bulk;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::args::{Args, Inference, string_type};
use super::text_format::lower_hex;
use super::{Function, exactly};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("MD5", exactly(1), |i| infer_digest(i, 32), digest::<Md5>),
    Function::strict("SHA1", exactly(1), |i| infer_digest(i, 40), digest::<Sha1>),
    Function::strict("SHA", exactly(1), |i| infer_digest(i, 40), digest::<Sha1>),
    Function::strict("SHA2", exactly(2), infer_sha2, sha2),
    Function::strict("COMPRESS", exactly(1), infer_compress, compress),
    Function::strict(
        "UNCOMPRESS",
        exactly(1),
        |_| Ok(SqlType::blob(TypeKind::LongBlob)),
        uncompress,
    ),
    Function::strict(
        "UNCOMPRESSED_LENGTH",
        exactly(1),
        infer_uncompressed_length,
        uncompressed_length,
    ),
    Function::strict(
        "RANDOM_BYTES",
        exactly(1),
        |_| Ok(SqlType::varbinary(1024)),
        random_bytes,
    )
    .volatile(),
];

fn infer_digest(inference: &mut Inference<'_>, chars: u64) -> SqlResult<SqlType> {
    let ty = inference.connection_text(chars);
    Ok(inference.nullable_as_args(ty))
}

fn digest<D: Digest>(args: &Args<'_>) -> SqlResult<Value> {
    let mut digest = D::new();
    bulk::pieces(&args.encoded(0)).for_each(|piece| digest.update(piece));
    Ok(args.text_result(lower_hex(&digest.finalize())))
}

fn infer_sha2(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.connection_text(128))
}

fn sha2(args: &Args<'_>) -> SqlResult<Value> {
    let bits = args.int(1)?;
    match bits {
        224 => digest::<Sha224>(args),
        0 | 256 => digest::<Sha256>(args),
        384 => digest::<Sha384>(args),
        512 => digest::<Sha512>(args),
        _ => {
            args.ctx
                .warn(SqlError::new(ErrorKind::WrongParametersToNativeFct, &[&"sha2"]))?;
            Ok(Value::Null)
        }
    }
}

fn infer_compress(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let bytes = inference.chars(0) * u64::from(inference.args[0].ty.charset().max_bytes_per_char());
    Ok(inference.nullable_as_args(string_type(bytes * 120 / 100 + 12, CollationId::BINARY)))
}

/// The length in four bytes, little end first, then zlib's stream; a space at the end would be lost in CHAR columns, so a
/// point follows it.
fn compress(args: &Args<'_>) -> SqlResult<Value> {
    let plain = args.encoded(0);
    if plain.is_empty() {
        return Ok(Value::bytes(&[]));
    }
    let mut encoder = ZlibEncoder::new((plain.len() as u32).to_le_bytes().to_vec(), Compression::default());
    let written = bulk::pieces(&plain).try_for_each(|piece| encoder.write_all(piece));
    governor::check()?;
    let compressed = written.and_then(|()| encoder.finish());
    let mut out = compressed.map_err(|_| SqlError::from(ErrorKind::ZlibZBufError))?;
    if out.last() == Some(&b' ') {
        out.push(b'.');
    }
    Ok(Value::Bytes(out.into()))
}

/// The length that the first four bytes tell; the two high bits are not part of it.
fn told_length(bytes: &[u8]) -> Option<u64> {
    let head = bytes.get(..4)?.try_into().ok()?;
    Some(u64::from(u32::from_le_bytes(head) & 0x3FFF_FFFF))
}

fn uncompress(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    if bytes.is_empty() {
        return Ok(Value::bytes(&[]));
    }
    let corrupt = || {
        args.ctx.warn(ErrorKind::ZlibZDataError.into())?;
        Ok(Value::Null)
    };
    let Some(length) = told_length(&bytes).filter(|_| bytes.len() > 4) else {
        return corrupt();
    };
    let most = args.ctx.settings.max_allowed_packet;
    if length > most {
        args.ctx.warn(SqlError::new(ErrorKind::TooBigForUncompress, &[&most]))?;
        return Ok(Value::Null);
    }
    governor::ensure(length as usize)?;
    let mut out = Vec::new();
    let mut decoder = ZlibDecoder::new(&bytes[4..]).take(length + 1);
    let mut piece = [0; 4096];
    loop {
        governor::tick()?;
        match decoder.read(&mut piece) {
            Ok(0) => break,
            Ok(len) => bulk::append(&mut out, &piece[..len]),
            Err(_) => return corrupt(),
        }
    }
    if out.len() as u64 > length {
        args.ctx.warn(ErrorKind::ZlibZBufError.into())?;
        return Ok(Value::Null);
    }
    Ok(Value::Bytes(out.into()))
}

fn infer_uncompressed_length(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.nullable_as_args(SqlType {
        length: 10,
        ..SqlType::bigint()
    }))
}

fn uncompressed_length(args: &Args<'_>) -> SqlResult<Value> {
    let bytes = args.encoded(0);
    if bytes.is_empty() {
        return Ok(Value::Int(0));
    }
    match told_length(&bytes).filter(|_| bytes.len() > 4) {
        Some(length) => Ok(Value::Int(length as i64)),
        None => {
            args.ctx.warn(ErrorKind::ZlibZDataError.into())?;
            Ok(Value::Null)
        }
    }
}

fn random_bytes(args: &Args<'_>) -> SqlResult<Value> {
    let length = args.int(0)?;
    if !(1..=1024).contains(&length) {
        return Err(SqlError::new(ErrorKind::DataOutOfRange, &[&"length", &"random_bytes"]));
    }
    let mut bytes = vec![0; length as usize];
    args.ctx.services.random_bytes(&mut bytes);
    Ok(Value::Bytes(bytes.into()))
}
