//! AES_ENCRYPT and AES_DECRYPT: the cipher's modes, and keys that are derived.
//!
//! Source: the MySQL manual, "Encryption and Compression Functions"; NIST SP 800-38A for the modes; RFC 5869 (HKDF) and RFC 8018
//! (PBKDF2), both with HMAC-SHA-512.

use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use governor::bulk;
use sha2::{Digest, Sha512};
use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, Value};

use super::args::{Args, Inference, string_type};
use super::{Function, between};

/// What they give depends on `block_encryption_mode`.
pub const FUNCTIONS: &[Function] = &[
    Function::nullable("AES_ENCRYPT", between(2, 6), infer_encrypt, encrypt).per_session(),
    Function::nullable("AES_DECRYPT", between(2, 6), infer_decrypt, decrypt).per_session(),
];

/// `block_encryption_mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mode {
    key_bytes: usize,
    chain: Chain,
}

/// How the blocks depend on each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chain {
    Ecb,
    Cbc,
    /// A bit, a byte or a block of the cipher's text at a time goes into what is encrypted next.
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

fn mode(args: &Args<'_>) -> SqlResult<Mode> {
    let name = &*args.ctx.settings.block_encryption_mode;
    let mut parts = name.split('-').skip(1);
    let unknown = || SqlError::not_supported(format!("block_encryption_mode {name}"));
    let key_bytes = match parts.next() {
        Some("128") => 16,
        Some("192") => 24,
        Some("256") => 32,
        _ => return Err(unknown()),
    };
    let chain = match parts.next() {
        Some("ecb") => Chain::Ecb,
        Some("cbc") => Chain::Cbc,
        Some("cfb1") => Chain::Cfb1,
        Some("cfb8") => Chain::Cfb8,
        Some("cfb128") => Chain::Cfb128,
        Some("ofb") => Chain::Ofb,
        _ => return Err(unknown()),
    };
    Ok(Mode { key_bytes, chain })
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
        let cipher = C::new_from_slice(key).expect("the key has the cipher's length");
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
        let cipher = C::new_from_slice(key).expect("the key has the cipher's length");
        Box::new(move |block| cipher.decrypt_block(block.into()))
    }
    match key.len() {
        16 => with::<aes::Aes128>(key),
        24 => with::<aes::Aes192>(key),
        _ => with::<aes::Aes256>(key),
    }
}

/// The initialisation vector: 16 bytes (1882 for fewer), unless each block is encrypted by itself.
fn vector(args: &Args<'_>, mode: Mode) -> SqlResult<Block> {
    if mode.chain == Chain::Ecb {
        return Ok([0; BLOCK]);
    }
    let function = args.name.to_ascii_lowercase();
    if args.len() < 3 {
        return Err(SqlError::new(ErrorKind::WrongParamcountToNativeFct, &[&function]));
    }
    let short = || SqlError::new(ErrorKind::AesInvalidIv, &[&function, &BLOCK]);
    if args.is_null(2) {
        return Err(short());
    }
    let given = args.encoded(2);
    let first = given.get(..BLOCK).and_then(|first| first.try_into().ok());
    first.ok_or_else(short)
}

/// The cipher's key: the given one folded, or one derived from it by the method and the options behind the vector. 3235, 3236, 3238 for
/// those.
fn key(args: &Args<'_>, mode: Mode) -> SqlResult<Vec<u8>> {
    const OPTION_BYTES: usize = 256;
    let given = args.encoded(1);
    if args.len() < 4 {
        return Ok(fold_key(&given, mode.key_bytes));
    }
    let option = |at: usize, most: usize| -> SqlResult<Vec<u8>> {
        if at >= args.len() {
            return Ok(Vec::new());
        }
        let text = (!args.is_null(at)).then(|| args.encoded(at).into_owned());
        let text = text.filter(|text| text.len() < most);
        text.ok_or_else(|| SqlError::new(ErrorKind::AesInvalidKdfOptionSize, &[&most]))
    };
    let method = option(3, OPTION_BYTES)?;
    match method.as_slice() {
        b"hkdf" => {
            let (salt, info) = (option(4, OPTION_BYTES)?, option(5, OPTION_BYTES)?);
            Ok(hkdf(&given, &salt, &info, mode.key_bytes))
        }
        b"pbkdf2_hmac" => {
            let salt = option(4, OPTION_BYTES)?;
            let rounds = match option(5, 6)? {
                _ if args.len() < 6 => Some(1000),
                text => std::str::from_utf8(&text)
                    .ok()
                    .and_then(|text| text.parse::<u32>().ok()),
            };
            let rounds = rounds.filter(|rounds| (1000..=65535).contains(rounds));
            let rounds = rounds.ok_or(ErrorKind::AesInvalidKdfIterations)?;
            pbkdf2(&given, &salt, rounds, mode.key_bytes)
        }
        _ => Err(ErrorKind::AesInvalidKdfName.into()),
    }
}

const HASH_BLOCK: usize = 128;
type Hash = [u8; 64];

/// The inner and the outer hash of HMAC-SHA-512 under a key, before the message.
#[derive(Clone)]
struct Hmac {
    inner: Sha512,
    outer: Sha512,
}

impl Hmac {
    fn new(key: &[u8]) -> Hmac {
        let mut padded = [0; HASH_BLOCK];
        match key.len() {
            0..=HASH_BLOCK => padded[..key.len()].copy_from_slice(key),
            _ => {
                let mut digest = Sha512::new();
                bulk::pieces(key).for_each(|piece| digest.update(piece));
                padded[..64].copy_from_slice(&digest.finalize());
            }
        }
        let with = |pad: u8| {
            let mut digest = Sha512::new();
            digest.update(padded.map(|byte| byte ^ pad));
            digest
        };
        Hmac {
            inner: with(0x36),
            outer: with(0x5c),
        }
    }

    fn of(&self, parts: &[&[u8]]) -> Hash {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        for part in parts {
            bulk::pieces(part).for_each(|piece| inner.update(piece));
        }
        outer.update(inner.finalize());
        outer.finalize().into()
    }
}

/// One round of expansion is enough: a key is no longer than a hash.
fn hkdf(key: &[u8], salt: &[u8], info: &[u8], bytes: usize) -> Vec<u8> {
    let extracted = Hmac::new(salt).of(&[key]);
    let mut expanded = Hmac::new(&extracted).of(&[info, &[1]]).to_vec();
    expanded.truncate(bytes);
    expanded
}

fn pbkdf2(key: &[u8], salt: &[u8], rounds: u32, bytes: usize) -> SqlResult<Vec<u8>> {
    let hmac = Hmac::new(key);
    let mut last = hmac.of(&[salt, &1u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..rounds {
        governor::tick()?;
        last = hmac.of(&[&last]);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    let mut derived = all.to_vec();
    derived.truncate(bytes);
    Ok(derived)
}

fn infer_encrypt(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    let bytes = inference.chars(0) * u64::from(inference.args[0].ty.charset().max_bytes_per_char());
    Ok(string_type(
        (bytes / BLOCK as u64 + 1) * BLOCK as u64,
        CollationId::BINARY,
    ))
}

fn infer_decrypt(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(string_type(inference.chars(0), CollationId::BINARY))
}

fn xor(block: &mut Block, other: &[u8]) {
    block.iter_mut().zip(other).for_each(|(a, b)| *a ^= b);
}

fn encrypt(args: &Args<'_>) -> SqlResult<Value> {
    let mode = mode(args)?;
    if args.is_null(0) || args.is_null(1) {
        return Ok(Value::Null);
    }
    let previous = vector(args, mode)?;
    let cipher = encryptor(&key(args, mode)?);
    let plain = args.encoded(0);
    let mut out = Vec::with_capacity(plain.len() + BLOCK);
    bulk::append(&mut out, &plain);
    match mode.chain {
        Chain::Ecb | Chain::Cbc => encrypt_blocks(&mut out, mode, previous, &cipher)?,
        _ => stream(&mut out, mode, previous, &cipher, Direction::Encrypt)?,
    }
    Ok(Value::Bytes(out.into()))
}

fn encrypt_blocks(out: &mut Vec<u8>, mode: Mode, mut previous: Block, cipher: &dyn Fn(&mut Block)) -> SqlResult<()> {
    // PKCS 7: always at least one byte.
    let padding = BLOCK - out.len() % BLOCK;
    out.resize(out.len() + padding, padding as u8);
    for chunk in out.chunks_exact_mut(BLOCK) {
        governor::tick()?;
        let mut block: Block = (&*chunk).try_into().expect("chunks are blocks");
        if mode.chain == Chain::Cbc {
            xor(&mut block, &previous);
        }
        cipher(&mut block);
        chunk.copy_from_slice(&block);
        previous = block;
    }
    Ok(())
}

/// NULL for what was not encrypted with this key.
fn decrypt(args: &Args<'_>) -> SqlResult<Value> {
    let mode = mode(args)?;
    if args.is_null(0) || args.is_null(1) {
        return Ok(Value::Null);
    }
    let previous = vector(args, mode)?;
    let key = key(args, mode)?;
    let mut out = bulk::copy(&args.encoded(0));
    match mode.chain {
        Chain::Ecb | Chain::Cbc => {
            if !decrypt_blocks(&mut out, mode, previous, &decryptor(&key))? {
                return Ok(Value::Null);
            }
        }
        _ => stream(&mut out, mode, previous, &encryptor(&key), Direction::Decrypt)?,
    }
    Ok(Value::Bytes(out.into()))
}

/// Whether it ends as what is encrypted does.
fn decrypt_blocks(out: &mut Vec<u8>, mode: Mode, mut previous: Block, cipher: &dyn Fn(&mut Block)) -> SqlResult<bool> {
    if out.is_empty() || !out.len().is_multiple_of(BLOCK) {
        return Ok(false);
    }
    for chunk in out.chunks_exact_mut(BLOCK) {
        governor::tick()?;
        let encrypted: Block = (&*chunk).try_into().expect("chunks are blocks");
        let mut block = encrypted;
        cipher(&mut block);
        if mode.chain == Chain::Cbc {
            xor(&mut block, &previous);
        }
        chunk.copy_from_slice(&block);
        previous = encrypted;
    }
    let padding = out.last().copied().map_or(0, usize::from);
    let valid =
        (1..=BLOCK).contains(&padding) && out.iter().rev().take(padding).all(|byte| usize::from(*byte) == padding);
    out.truncate(out.len() - if valid { padding } else { 0 });
    Ok(valid)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Encrypt,
    Decrypt,
}

/// The modes in which the cipher makes a stream of bits that the text is combined with.
fn stream(
    text: &mut [u8],
    mode: Mode,
    vector: Block,
    cipher: &dyn Fn(&mut Block),
    direction: Direction,
) -> SqlResult<()> {
    let mut register = vector;
    let step = match mode.chain {
        Chain::Cfb1 | Chain::Cfb8 => 1,
        _ => BLOCK,
    };
    for chunk in text.chunks_mut(step) {
        governor::tick()?;
        if mode.chain == Chain::Cfb1 {
            chunk[0] = stream_bits(chunk[0], &mut register, cipher, direction);
            continue;
        }
        let mut bits = register;
        cipher(&mut bits);
        let before: Vec<u8> = chunk.to_vec();
        chunk.iter_mut().zip(bits).for_each(|(byte, bit)| *byte ^= bit);
        let encrypted = match direction {
            Direction::Encrypt => &*chunk,
            Direction::Decrypt => &before[..],
        };
        match mode.chain {
            Chain::Ofb => register = bits,
            _ => {
                register.copy_within(encrypted.len().., 0);
                register[BLOCK - encrypted.len()..].copy_from_slice(encrypted);
            }
        }
    }
    Ok(())
}

/// A byte bit by bit, the highest first.
fn stream_bits(byte: u8, register: &mut Block, cipher: &dyn Fn(&mut Block), direction: Direction) -> u8 {
    let mut out = 0;
    for at in (0..8).rev() {
        let mut bits = *register;
        cipher(&mut bits);
        let given = byte >> at & 1;
        let made = given ^ (bits[0] >> 7);
        out |= made << at;
        let encrypted = match direction {
            Direction::Encrypt => made,
            Direction::Decrypt => given,
        };
        let shifted = u128::from_be_bytes(*register) << 1 | u128::from(encrypted);
        *register = shifted.to_be_bytes();
    }
    out
}
