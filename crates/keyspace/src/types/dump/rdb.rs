//! Values as bytes of an RDB file (`rdb.c`).

use redis_wire::number::parse_f64;

use super::packed::{intset, listpack, unlzf, ziplist};
use super::streams::{self, Form};
use super::{Field, Value};
use crate::failure::{Failure, Outcome};

/// What is written: Redis 7.0's, and 7.4's where fields expire.
pub const VERSION: u16 = 10;
const VERSION_OF_FIELD_EXPIRY: u16 = 12;
/// The last version that is read.
const VERSION_MAX: u16 = 12;
const FOOTER: usize = 10;

mod kind {
    pub const STRING: u8 = 0;
    pub const LIST: u8 = 1;
    pub const SET: u8 = 2;
    pub const ZSET: u8 = 3;
    pub const HASH: u8 = 4;
    pub const ZSET_2: u8 = 5;
    pub const LIST_ZIPLIST: u8 = 10;
    pub const SET_INTSET: u8 = 11;
    pub const ZSET_ZIPLIST: u8 = 12;
    pub const HASH_ZIPLIST: u8 = 13;
    pub const LIST_QUICKLIST: u8 = 14;
    pub const STREAM: u8 = 15;
    pub const HASH_LISTPACK: u8 = 16;
    pub const ZSET_LISTPACK: u8 = 17;
    pub const LIST_QUICKLIST_2: u8 = 18;
    pub const STREAM_2: u8 = 19;
    pub const SET_LISTPACK: u8 = 20;
    pub const STREAM_3: u8 = 21;
    pub const HASH_METADATA: u8 = 24;
    pub const HASH_LISTPACK_EX: u8 = 25;
}

pub fn bad_format() -> Failure {
    Failure::reply("ERR Bad data format")
}

/// What a payload holds, its version and its sum apart, if they are right.
pub fn unseal(payload: &[u8]) -> Outcome<Reader<'_>> {
    let wrong = || Failure::reply("ERR DUMP payload version or checksum are wrong");
    let begin = payload.len().checked_sub(FOOTER).ok_or_else(wrong)?;
    let version = u16::from_le_bytes([payload[begin], payload[begin + 1]]);
    let (summed, sum) = payload.split_at(begin + 2);
    if version > VERSION_MAX || crc64(summed)?.to_le_bytes() != sum {
        return Err(wrong());
    }
    Ok(Reader {
        bytes: &payload[..begin],
    })
}

/// Adds the version and the sum.
pub fn seal(out: &mut Vec<u8>, version: u16) -> Outcome {
    out.extend_from_slice(&version.to_le_bytes());
    let sum = crc64(out)?;
    out.extend_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// The value in a payload.
pub fn read(payload: &[u8]) -> Outcome<Value> {
    let mut reader = unseal(payload)?;
    let value = reader.value()?;
    match reader.bytes.is_empty() {
        true => Ok(value),
        false => Err(bad_format()),
    }
}

/// Reads what RDB files are made of.
pub struct Reader<'b> {
    pub bytes: &'b [u8],
}

/// A length, or how a string is encoded instead.
enum Len {
    Plain(u64),
    Special(u8),
}

impl<'b> Reader<'b> {
    pub fn take(&mut self, len: usize) -> Outcome<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len).ok_or_else(bad_format)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Outcome<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| bad_format())
    }

    fn any_len(&mut self) -> Outcome<Len> {
        let [first] = self.array()?;
        Ok(match first >> 6 {
            0 => Len::Plain(u64::from(first)),
            1 => {
                let [low] = self.array()?;
                Len::Plain(u64::from(first & 63) << 8 | u64::from(low))
            }
            2 if first == 0x80 => Len::Plain(u64::from(u32::from_be_bytes(self.array()?))),
            2 if first == 0x81 => Len::Plain(u64::from_be_bytes(self.array()?)),
            3 => Len::Special(first & 63),
            _ => return Err(bad_format()),
        })
    }

    pub fn number(&mut self) -> Outcome<u64> {
        match self.any_len()? {
            Len::Plain(number) => Ok(number),
            Len::Special(_) => Err(bad_format()),
        }
    }

    /// How many elements follow, of at least a byte each.
    pub fn count(&mut self) -> Outcome<usize> {
        let count = usize::try_from(self.number()?).map_err(|_| bad_format())?;
        match count <= self.bytes.len() {
            true => Ok(count),
            false => Err(bad_format()),
        }
    }

    /// As [`count`](Self::count), of what must not be empty.
    fn some(&mut self) -> Outcome<usize> {
        match self.count()? {
            0 => Err(bad_format()),
            count => Ok(count),
        }
    }

    pub fn milliseconds(&mut self) -> Outcome<i64> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    pub fn string(&mut self) -> Outcome<Vec<u8>> {
        governor::tick()?;
        let integer = |value: i64| Ok(value.to_string().into_bytes());
        match self.any_len()? {
            Len::Plain(len) => {
                let len = usize::try_from(len).map_err(|_| bad_format())?;
                let bytes = self.take(len)?;
                governor::ensure(len)?;
                Ok(bytes.to_vec())
            }
            Len::Special(0) => integer(i64::from(i8::from_le_bytes(self.array()?))),
            Len::Special(1) => integer(i64::from(i16::from_le_bytes(self.array()?))),
            Len::Special(2) => integer(i64::from(i32::from_le_bytes(self.array()?))),
            Len::Special(3) => {
                let packed = usize::try_from(self.number()?).map_err(|_| bad_format())?;
                let len = usize::try_from(self.number()?).map_err(|_| bad_format())?;
                unlzf(self.take(packed)?, len)
            }
            Len::Special(_) => Err(bad_format()),
        }
    }

    fn strings(&mut self, count: usize) -> Outcome<Vec<Vec<u8>>> {
        let mut strings = Vec::new();
        for _ in 0..count {
            strings.push(self.string()?);
        }
        Ok(strings)
    }

    /// A number as text behind its length, which has values for what is no number.
    fn text_score(&mut self) -> Outcome<f64> {
        match self.array()? {
            [255] => Ok(f64::NEG_INFINITY),
            [254] => Ok(f64::INFINITY),
            [253] => Err(bad_format()),
            [len] => parse_f64(self.take(usize::from(len))?).ok_or_else(bad_format),
        }
    }

    fn value(&mut self) -> Outcome<Value> {
        let [kind] = self.array()?;
        Ok(match kind {
            kind::STRING => Value::String(self.string()?),
            kind::LIST => {
                let count = self.some()?;
                Value::List(self.strings(count)?)
            }
            kind::SET => {
                let count = self.some()?;
                Value::Set(self.strings(count)?)
            }
            kind::ZSET | kind::ZSET_2 => {
                let mut members = Vec::new();
                for _ in 0..self.some()? {
                    let member = self.string()?;
                    let score = match kind {
                        kind::ZSET => self.text_score()?,
                        _ => f64::from_le_bytes(self.array()?),
                    };
                    if score.is_nan() {
                        return Err(bad_format());
                    }
                    members.push((member, score));
                }
                Value::SortedSet(members)
            }
            kind::HASH => {
                let mut fields = Vec::new();
                for _ in 0..self.some()? {
                    fields.push(Field {
                        name: self.string()?,
                        value: self.string()?,
                        expires_at: None,
                    });
                }
                Value::Hash(fields)
            }
            kind::HASH_METADATA => {
                let earliest = self.milliseconds()?;
                let mut fields = Vec::new();
                for _ in 0..self.some()? {
                    // Relative to the earliest one, and one more: 0 is none.
                    let ttl = i64::try_from(self.number()?).map_err(|_| bad_format())?;
                    fields.push(Field {
                        name: self.string()?,
                        value: self.string()?,
                        expires_at: (ttl > 0).then(|| earliest.saturating_add(ttl - 1)),
                    });
                }
                Value::Hash(fields)
            }
            kind::HASH_LISTPACK_EX => {
                self.milliseconds()?;
                let elements = some(listpack(&self.string()?)?)?;
                let (triples, []) = elements.as_chunks::<3>() else {
                    return Err(bad_format());
                };
                let mut fields = Vec::new();
                for [name, value, at] in triples {
                    governor::tick()?;
                    let at = redis_wire::number::parse_i64(at).ok_or_else(bad_format)?;
                    fields.push(Field {
                        name: name.clone(),
                        value: value.clone(),
                        expires_at: (at > 0).then_some(at),
                    });
                }
                Value::Hash(fields)
            }
            kind::LIST_ZIPLIST => Value::List(some(ziplist(&self.string()?)?)?),
            kind::SET_INTSET => Value::Set(some(intset(&self.string()?)?)?),
            kind::SET_LISTPACK => Value::Set(some(listpack(&self.string()?)?)?),
            kind::ZSET_ZIPLIST => scored(ziplist(&self.string()?)?)?,
            kind::ZSET_LISTPACK => scored(listpack(&self.string()?)?)?,
            kind::HASH_ZIPLIST => hash(ziplist(&self.string()?)?)?,
            kind::HASH_LISTPACK => hash(listpack(&self.string()?)?)?,
            kind::LIST_QUICKLIST => {
                let mut values = Vec::new();
                for _ in 0..self.some()? {
                    values.extend(ziplist(&self.string()?)?);
                }
                Value::List(some(values)?)
            }
            kind::LIST_QUICKLIST_2 => {
                let mut values = Vec::new();
                for _ in 0..self.some()? {
                    match self.number()? {
                        1 => values.push(self.string()?),
                        2 => values.extend(listpack(&self.string()?)?),
                        _ => return Err(bad_format()),
                    }
                }
                Value::List(some(values)?)
            }
            kind::STREAM => streams::read(self, Form::First)?,
            kind::STREAM_2 => streams::read(self, Form::Second)?,
            kind::STREAM_3 => streams::read(self, Form::Third)?,
            _ => return Err(bad_format()),
        })
    }
}

fn some(elements: Vec<Vec<u8>>) -> Outcome<Vec<Vec<u8>>> {
    match elements.is_empty() {
        true => Err(bad_format()),
        false => Ok(elements),
    }
}

/// Elements that are pairs.
fn pairs(elements: &[Vec<u8>]) -> Outcome<&[[Vec<u8>; 2]]> {
    match elements.as_chunks::<2>() {
        ([], _) => Err(bad_format()),
        (pairs, []) => Ok(pairs),
        _ => Err(bad_format()),
    }
}

fn scored(elements: Vec<Vec<u8>>) -> Outcome<Value> {
    let mut members = Vec::new();
    for [member, score] in pairs(&elements)? {
        governor::tick()?;
        members.push((member.clone(), parse_f64(score).ok_or_else(bad_format)?));
    }
    Ok(Value::SortedSet(members))
}

fn hash(elements: Vec<Vec<u8>>) -> Outcome<Value> {
    let mut fields = Vec::new();
    for [name, value] in pairs(&elements)? {
        governor::tick()?;
        fields.push(Field {
            name: name.clone(),
            value: value.clone(),
            expires_at: None,
        });
    }
    Ok(Value::Hash(fields))
}

// --- writing ---

/// The payload of a value.
pub fn write(value: &Value) -> Outcome<Vec<u8>> {
    let mut out = Vec::new();
    let mut version = VERSION;
    match value {
        Value::String(bytes) => {
            governor::ensure(bytes.len())?;
            out.push(kind::STRING);
            write_string(&mut out, bytes);
        }
        Value::List(values) => {
            out.push(kind::LIST);
            write_strings(&mut out, values)?;
        }
        Value::Set(members) => {
            out.push(kind::SET);
            write_strings(&mut out, members)?;
        }
        Value::SortedSet(members) => {
            out.push(kind::ZSET_2);
            write_number(&mut out, members.len() as u64);
            for (member, score) in members {
                governor::tick()?;
                write_string(&mut out, member);
                out.extend_from_slice(&score.to_le_bytes());
            }
        }
        Value::Hash(fields) => {
            let earliest = fields.iter().filter_map(|field| field.expires_at).min();
            match earliest {
                None => out.push(kind::HASH),
                Some(earliest) => {
                    version = VERSION_OF_FIELD_EXPIRY;
                    out.push(kind::HASH_METADATA);
                    out.extend_from_slice(&earliest.to_le_bytes());
                }
            }
            write_number(&mut out, fields.len() as u64);
            for field in fields {
                governor::tick()?;
                if let Some(earliest) = earliest {
                    let ttl = field.expires_at.map_or(0, |at| (at - earliest + 1) as u64);
                    write_number(&mut out, ttl);
                }
                write_string(&mut out, &field.name);
                write_string(&mut out, &field.value);
            }
        }
        Value::Stream(stream) => {
            out.push(kind::STREAM_2);
            streams::write(stream, &mut out)?;
        }
    }
    seal(&mut out, version)?;
    Ok(out)
}

pub fn write_number(out: &mut Vec<u8>, number: u64) {
    match number {
        0..0x40 => out.push(number as u8),
        0x40..0x4000 => out.extend_from_slice(&[0x40 | (number >> 8) as u8, number as u8]),
        _ => match u32::try_from(number) {
            Ok(number) => {
                out.push(0x80);
                out.extend_from_slice(&number.to_be_bytes());
            }
            Err(_) => {
                out.push(0x81);
                out.extend_from_slice(&number.to_be_bytes());
            }
        },
    }
}

pub fn write_string(out: &mut Vec<u8>, bytes: &[u8]) {
    write_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_strings(out: &mut Vec<u8>, strings: &[Vec<u8>]) -> Outcome {
    write_number(out, strings.len() as u64);
    for string in strings {
        governor::tick()?;
        write_string(out, string);
    }
    Ok(())
}

/// CRC-64 of Jones, as Redis has it: reflected, from 0 on.
fn crc64(bytes: &[u8]) -> Outcome<u64> {
    const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let (mut sum, mut bit) = (at as u64, 0);
            while bit < 8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
                bit += 1;
            }
            table[at] = sum;
            at += 1;
        }
        table
    };
    let mut sum = 0u64;
    for piece in bytes.chunks(4096) {
        governor::tick()?;
        for &byte in piece {
            sum = TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_redis_s() {
        assert_eq!(crc64(b"123456789").unwrap(), 0xe9c6_d914_c4b8_d9ca);
    }

    /// A payload of these bytes with a right sum.
    fn sealed(bytes: &[u8]) -> Vec<u8> {
        let mut payload = bytes.to_vec();
        payload.extend_from_slice(&VERSION.to_le_bytes());
        let sum = crc64(&payload).unwrap();
        payload.extend_from_slice(&sum.to_le_bytes());
        payload
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(kind in 0u8..27, bytes: Vec<u8>) {
            let _ = read(&sealed(&[&[kind], &bytes[..]].concat()));
            let _ = listpack(&bytes);
            let _ = ziplist(&bytes);
            let _ = intset(&bytes);
            let _ = unlzf(&bytes, bytes.len());
            // In a listpack of the right length.
            let mut pack = vec![0; 6];
            pack.extend_from_slice(&bytes);
            pack.push(0xff);
            let len = pack.len() as u32;
            pack[..4].copy_from_slice(&len.to_le_bytes());
            let _ = listpack(&pack);
            let mut hash = vec![kind];
            write_string(&mut hash, &pack);
            let _ = read(&sealed(&hash));
        }

        #[test]
        fn what_is_written_is_read(words: Vec<Vec<u8>>, score: f64) {
            if words.is_empty() || score.is_nan() {
                return Ok(());
            }
            for value in [
                Value::String(words[0].clone()),
                Value::List(words.clone()),
                Value::Set(words.clone()),
                Value::SortedSet(words.iter().map(|word| (word.clone(), score)).collect()),
                Value::Hash(
                    words
                        .iter()
                        .enumerate()
                        .map(|(at, word)| Field {
                            name: word.clone(),
                            value: word.clone(),
                            expires_at: (at % 2 == 1).then_some(at as i64 + 1),
                        })
                        .collect(),
                ),
            ] {
                proptest::prop_assert_eq!(&read(&write(&value).unwrap()).unwrap(), &value);
            }
        }
    }
}
