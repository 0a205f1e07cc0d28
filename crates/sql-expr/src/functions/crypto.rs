//! Hashes, ciphers, compression.

use std::io::{Read, Write};

use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
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
use super::{Function, between, exactly};

pub const FUNCTIONS: &[Function] = &[
    Function::strict("MD5", exactly(1), |i| infer_digest(i, 32), digest::<Md5>),
    Function::strict("SHA1", exactly(1), |i| infer_digest(i, 40), digest::<Sha1>),
    Function::strict("SHA", exactly(1), |i| infer_digest(i, 40), digest::<Sha1>),
    Function::strict("SHA2", exactly(2), infer_sha2, sha2),
    Function::nullable("AES_ENCRYPT", between(2, 3), infer_aes_encrypt, aes_encrypt),
    Function::nullable("AES_DECRYPT", between(2, 3), infer_aes_decrypt, aes_decrypt),
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

/// `block_encryption_mode`.
struct Mode {
    key_bytes: usize,
    chained: bool,
}

fn mode(args: &Args<'_>) -> SqlResult<Mode> {
    let name = &*args.ctx.settings.block_encryption_mode;
    let mut parts = name.split('-').skip(1);
    let key_bytes = match parts.next() {
        Some("128") => 16,
        Some("192") => 24,
        Some("256") => 32,
        _ => return Err(SqlError::not_supported(format!("block_encryption_mode {name}"))),
    };
    let chained = match parts.next() {
        Some("ecb") => false,
        Some("cbc") => true,
        _ => return Err(SqlError::not_supported(format!("block_encryption_mode {name}"))),
    };
    Ok(Mode { key_bytes, chained })
}

const BLOCK: usize = 16;
type Block = [u8; BLOCK];

/// One block in place.
type Cipher = Box<dyn Fn(&mut Block)>;

/// The key's bytes folded by XOR to the length of the cipher's.
fn fold_key(key: &[u8], bytes: usize) -> Vec<u8> {
    let mut folded = vec![0; bytes];
    for (i, byte) in bulk::pieces(key).flatten().enumerate() {
        folded[i % bytes] ^= byte;
    }
    folded
}

fn encryptor(key: &[u8]) -> Cipher {
    fn with<C: BlockEncrypt<BlockSize = aes::cipher::consts::U16> + KeyInit + 'static>(key: &[u8]) -> Cipher {
        let cipher = C::new_from_slice(key).expect("the key was folded to its length");
        Box::new(move |block| cipher.encrypt_block(block.into()))
    }
    match key.len() {
        16 => with::<aes::Aes128>(key),
        24 => with::<aes::Aes192>(key),
        _ => with::<aes::Aes256>(key),
    }
}

fn decryptor(key: &[u8]) -> Cipher {
    fn with<C: BlockDecrypt<BlockSize = aes::cipher::consts::U16> + KeyInit + 'static>(key: &[u8]) -> Cipher {
        let cipher = C::new_from_slice(key).expect("the key was folded to its length");
        Box::new(move |block| cipher.decrypt_block(block.into()))
    }
    match key.len() {
        16 => with::<aes::Aes128>(key),
        24 => with::<aes::Aes192>(key),
        _ => with::<aes::Aes256>(key),
    }
}

/// The initialisation vector: 16 bytes where blocks are chained, else unused (warning 1618 when given).
fn vector(args: &Args<'_>, mode: &Mode, function: &str) -> SqlResult<Block> {
    if !mode.chained {
        return Ok([0; BLOCK]);
    }
    if args.len() < 3 || args.is_null(2) {
        return Err(SqlError::new(ErrorKind::WrongParamcountToNativeFct, &[&function]));
    }
    let given = args.encoded(2);
    given
        .get(..BLOCK)
        .and_then(|first| first.try_into().ok())
        .ok_or_else(|| {
            SqlError::with_message(
                ErrorKind::WrongArguments,
                format!(
                    "The initialization vector supplied to {function} is too short. Must be at least 16 bytes long"
                ),
            )
        })
}

fn infer_aes_encrypt(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let bytes = inference.chars(0) * u64::from(inference.args[0].ty.charset().max_bytes_per_char());
    Ok(string_type(
        (bytes / BLOCK as u64 + 1) * BLOCK as u64,
        CollationId::BINARY,
    ))
}

fn infer_aes_decrypt(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(string_type(inference.chars(0), CollationId::BINARY))
}

fn xor(block: &mut Block, other: &[u8]) {
    block.iter_mut().zip(other).for_each(|(a, b)| *a ^= b);
}

fn aes_encrypt(args: &Args<'_>) -> SqlResult<Value> {
    let mode = mode(args)?;
    if args.is_null(0) || args.is_null(1) {
        return Ok(Value::Null);
    }
    let mut previous = vector(args, &mode, "aes_encrypt")?;
    let cipher = encryptor(&fold_key(&args.encoded(1), mode.key_bytes));
    let plain = args.encoded(0);
    let mut out = Vec::with_capacity(plain.len() + BLOCK);
    bulk::append(&mut out, &plain);
    // PKCS 7: always at least one byte.
    let padding = BLOCK - out.len() % BLOCK;
    out.resize(out.len() + padding, padding as u8);
    for chunk in out.chunks_exact_mut(BLOCK) {
        governor::tick()?;
        let mut block: Block = (&*chunk).try_into().expect("chunks are blocks");
        if mode.chained {
            xor(&mut block, &previous);
        }
        cipher(&mut block);
        chunk.copy_from_slice(&block);
        previous = block;
    }
    Ok(Value::Bytes(out.into()))
}

/// NULL for what was not encrypted with this key.
fn aes_decrypt(args: &Args<'_>) -> SqlResult<Value> {
    let mode = mode(args)?;
    if args.is_null(0) || args.is_null(1) {
        return Ok(Value::Null);
    }
    let mut previous = vector(args, &mode, "aes_decrypt")?;
    let cipher = decryptor(&fold_key(&args.encoded(1), mode.key_bytes));
    let mut out = bulk::copy(&args.encoded(0));
    if out.is_empty() || !out.len().is_multiple_of(BLOCK) {
        return Ok(Value::Null);
    }
    for chunk in out.chunks_exact_mut(BLOCK) {
        governor::tick()?;
        let encrypted: Block = (&*chunk).try_into().expect("chunks are blocks");
        let mut block = encrypted;
        cipher(&mut block);
        if mode.chained {
            xor(&mut block, &previous);
        }
        chunk.copy_from_slice(&block);
        previous = encrypted;
    }
    let padding = out.last().copied().map_or(0, usize::from);
    let valid =
        (1..=BLOCK).contains(&padding) && out.iter().rev().take(padding).all(|byte| usize::from(*byte) == padding);
    if !valid {
        return Ok(Value::Null);
    }
    out.truncate(out.len() - padding);
    Ok(Value::Bytes(out.into()))
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
