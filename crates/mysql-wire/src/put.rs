//! Writers for the protocol's elements; each appends to `out`.

pub fn u16(out: &mut Vec<u8>, n: u16) {
    out.extend_from_slice(&n.to_le_bytes());
}

pub fn u24(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&n.to_le_bytes()[..3]);
}

pub fn u32(out: &mut Vec<u8>, n: u32) {
    out.extend_from_slice(&n.to_le_bytes());
}

pub fn u64(out: &mut Vec<u8>, n: u64) {
    out.extend_from_slice(&n.to_le_bytes());
}

pub fn lenenc_int(out: &mut Vec<u8>, n: u64) {
    match n {
        0..=0xfa => out.push(n as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            u16(out, n as u16);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            u24(out, n as u32);
        }
        _ => {
            out.push(0xfe);
            u64(out, n);
        }
    }
}

#[inline]
pub fn lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// The bytes that `write` appends, with their length before them, without knowing the length beforehand.
#[inline]
pub fn lenenc_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.push(0);
    write(out);
    let len = out.len() - at - 1;
    if len <= 0xfa {
        out[at] = len as u8;
    } else {
        widen_length(out, at, len);
    }
}

/// As [`lenenc_with`] for what will be long: nothing moves afterwards, as the length takes all of its nine bytes.
pub fn long_lenenc_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(0xfe);
    let at = out.len();
    u64(out, 0);
    write(out);
    let len = (out.len() - at - 8) as u64;
    out[at..at + 8].copy_from_slice(&len.to_le_bytes());
}

/// Makes room for a length that needs more than the one byte reserved at `at`.
#[cold]
fn widen_length(out: &mut Vec<u8>, at: usize, len: usize) {
    let mut prefix = Vec::with_capacity(9);
    lenenc_int(&mut prefix, len as u64);
    out.splice(at..=at, prefix);
}

pub fn nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

pub use crate::number::{decimal_i64, decimal_u64, padded2, padded4, padded6};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn lenenc_int_reads_back() {
        for n in [0, 250, 251, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            lenenc_int(&mut out, n);
            assert_eq!(Reader::new(&out).lenenc_int("n"), Ok(n));
        }
    }

    #[test]
    fn a_long_value_reads_back_whatever_its_length() {
        for len in [0, 1, 300, 70_000] {
            let mut out = vec![1];
            long_lenenc_with(&mut out, |out| out.resize(out.len() + len, b'x'));
            let mut reader = Reader::new(&out[1..]);
            assert_eq!(reader.lenenc_bytes("value").unwrap().len(), len);
        }
    }

    #[test]
    fn lenenc_with_equals_lenenc_bytes() {
        for len in [0, 1, 250, 251, 65_535, 65_536] {
            let text = vec![b'x'; len];
            let (mut known, mut unknown) = (vec![7], vec![7]);
            lenenc_bytes(&mut known, &text);
            lenenc_with(&mut unknown, |out| out.extend_from_slice(&text));
            assert_eq!(known, unknown);
        }
    }
}
