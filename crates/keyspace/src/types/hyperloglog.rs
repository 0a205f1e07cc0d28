//! PFADD, PFCOUNT, PFMERGE: how many different elements there were, about, in 12 KB at most.
//!
//! The value of a string, byte for byte as Redis keeps it (`hyperloglog.c`), so that GET and SET carry one from server to server:
//!
//! ```text
//!   "HYLL" │ 0 dense, 1 sparse │ 3 × 0 │ count, 8 bytes, the highest bit: it is out of date │ registers
//!   dense:  16384 × 6 bits, from the lowest bit on
//!   sparse: 00xxxxxx  x+1 registers are 0      01xxxxxx yyyyyyyy  xy+1 are 0      1vvvvvxx  x+1 have the value v+1
//! ```
//!
//! A register holds the longest run of zeros that a hash of its elements ended with. The estimate is Ertl's (arXiv:1702.01284).

use crate::call::Call;
use crate::failure::{Failure, Outcome};
use crate::work::Class;

const MAGIC: &[u8; 4] = b"HYLL";
const HEADER: usize = 16;
const INDEX_BITS: u32 = 14;
const REGISTERS: usize = 1 << INDEX_BITS;
/// The bits of a hash beside the index.
const HASH_BITS: u32 = 64 - INDEX_BITS;
const DENSE: usize = HEADER + REGISTERS * 6 / 8;
/// What is longer in the sparse form takes the dense one (`hll-sparse-max-bytes`).
const SPARSE_MAX: usize = 3000;
/// The greatest value that the sparse form has.
const SPARSE_VALUE_MAX: u8 = 32;
const ALPHA: f64 = 0.721_347_520_444_481_7;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Dense,
    Sparse,
}

struct Registers {
    values: Vec<u8>,
    form: Form,
}

fn corrupt() -> Failure {
    Failure::reply("INVALIDOBJ Corrupted HLL object detected")
}

fn no_hyperloglog() -> Failure {
    Failure::reply("WRONGTYPE Key is not a valid HyperLogLog string value.")
}

impl Registers {
    fn new() -> Registers {
        Registers {
            values: vec![0; REGISTERS],
            form: Form::Sparse,
        }
    }

    fn read(bytes: &[u8]) -> Outcome<Registers> {
        if bytes.len() < HEADER || !bytes.starts_with(MAGIC) {
            return Err(no_hyperloglog());
        }
        match bytes[4] {
            0 if bytes.len() == DENSE => Ok(Registers::read_dense(&bytes[HEADER..])),
            1 => Registers::read_sparse(&bytes[HEADER..]),
            _ => Err(no_hyperloglog()),
        }
    }

    fn read_dense(bytes: &[u8]) -> Registers {
        let mut values = Vec::with_capacity(REGISTERS);
        // Four registers in three bytes.
        for three in bytes.chunks_exact(3) {
            let word = u32::from_le_bytes([three[0], three[1], three[2], 0]);
            values.extend((0..4).map(|at| (word >> (6 * at) & 63) as u8));
        }
        Registers {
            values,
            form: Form::Dense,
        }
    }

    fn read_sparse(mut bytes: &[u8]) -> Outcome<Registers> {
        let mut values = Vec::with_capacity(REGISTERS);
        while let Some((&code, rest)) = bytes.split_first() {
            bytes = rest;
            let (value, len) = match code >> 6 {
                0 => (0, usize::from(code) + 1),
                1 => {
                    let (&low, rest) = bytes.split_first().ok_or_else(corrupt)?;
                    bytes = rest;
                    (0, (usize::from(code & 63) << 8 | usize::from(low)) + 1)
                }
                _ => ((code >> 2 & 31) + 1, usize::from(code & 3) + 1),
            };
            if values.len() + len > REGISTERS {
                return Err(corrupt());
            }
            values.resize(values.len() + len, value);
        }
        match values.len() == REGISTERS {
            true => Ok(Registers {
                values,
                form: Form::Sparse,
            }),
            false => Err(corrupt()),
        }
    }

    /// The value of the string, whose count is out of date.
    fn write(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[HEADER - 1] = 0x80;
        if self.form == Form::Sparse && self.values.iter().all(|&value| value <= SPARSE_VALUE_MAX) {
            bytes[4] = 1;
            self.write_sparse(&mut bytes);
            if bytes.len() <= SPARSE_MAX + HEADER {
                return bytes;
            }
            bytes.truncate(HEADER);
            bytes[4] = 0;
        }
        for four in self.values.chunks_exact(4) {
            let word = (0..4).fold(0u32, |word, at| word | u32::from(four[at]) << (6 * at));
            bytes.extend_from_slice(&word.to_le_bytes()[..3]);
        }
        bytes
    }

    fn write_sparse(&self, out: &mut Vec<u8>) {
        for run in self.values.chunk_by(|a, b| a == b) {
            let mut left = run.len();
            while left > 0 {
                let len = match run[0] {
                    0 if left > 64 => {
                        let len = left - 1;
                        out.extend_from_slice(&[0x40 | (len >> 8) as u8, len as u8]);
                        left
                    }
                    0 => {
                        out.push(left as u8 - 1);
                        left
                    }
                    value => {
                        let len = left.min(4);
                        out.push(0x80 | (value - 1) << 2 | (len as u8 - 1));
                        len
                    }
                };
                left -= len;
            }
        }
    }

    /// Whether a register has changed.
    fn add(&mut self, element: &[u8]) -> bool {
        let hash = murmur(element, 0xadc8_3b19);
        let index = hash as usize & (REGISTERS - 1);
        let run = (hash >> INDEX_BITS | 1 << HASH_BITS).trailing_zeros() as u8 + 1;
        let is_longer = run > self.values[index];
        if is_longer {
            self.values[index] = run;
        }
        is_longer
    }

    fn merge(&mut self, other: &Registers) {
        for (value, &other) in self.values.iter_mut().zip(&other.values) {
            *value = (*value).max(other);
        }
        if other.form == Form::Dense {
            self.form = Form::Dense;
        }
    }

    fn estimate(&self) -> i64 {
        let mut histogram = [0u32; 64];
        for &value in &self.values {
            histogram[usize::from(value & 63)] += 1;
        }
        let m = REGISTERS as f64;
        let last = HASH_BITS as usize + 1;
        let mut z = m * tau((m - f64::from(histogram[last])) / m);
        for count in histogram[1..last].iter().rev() {
            z = (z + f64::from(*count)) * 0.5;
        }
        z += m * sigma(f64::from(histogram[0]) / m);
        (ALPHA * m * m / z).round() as i64
    }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}

/// MurmurHash64A.
fn murmur(bytes: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = seed ^ (bytes.len() as u64).wrapping_mul(M);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M);
        k ^= k >> 47;
        hash = (hash ^ k.wrapping_mul(M)).wrapping_mul(M);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(M);
    hash ^ hash >> 47
}

impl Call<'_, '_> {
    fn registers(&self, key: &[u8]) -> Outcome<Option<Registers>> {
        // No form of one is long.
        self.with_short(key, Registers::read)?.transpose()
    }
}

pub fn pfadd(call: &mut Call) -> Outcome {
    let key = call.arg(1);
    let existing = call.registers(key)?;
    let mut is_changed = existing.is_none();
    let mut registers = existing.unwrap_or_else(Registers::new);
    for element in &call.args[2..] {
        governor::tick()?;
        is_changed |= registers.add(element);
    }
    if is_changed {
        call.change_string(key, &registers.write())?;
        call.note(Class::String, "pfadd", key);
    }
    call.reply.integer(i64::from(is_changed));
    Ok(())
}

pub fn pfcount(call: &mut Call) -> Outcome {
    let mut all = Registers::new();
    for key in &call.args[1..] {
        governor::tick()?;
        if let Some(registers) = call.registers(key)? {
            all.merge(&registers);
        }
    }
    call.reply.integer(all.estimate());
    Ok(())
}

pub fn pfmerge(call: &mut Call) -> Outcome {
    let target = call.arg(1);
    let mut all = Registers::new();
    for key in &call.args[1..] {
        governor::tick()?;
        if let Some(registers) = call.registers(key)? {
            all.merge(&registers);
        }
    }
    call.change_string(target, &all.write())?;
    call.note(Class::String, "pfadd", target);
    call.reply.ok();
    Ok(())
}
