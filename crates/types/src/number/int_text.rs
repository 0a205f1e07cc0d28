//! Integers as decimal text, two digits at a time.

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// Appends the decimal text.
#[inline]
pub fn write_u64(mut v: u64, out: &mut Vec<u8>) {
    let mut buffer = [0; 20];
    let mut at = buffer.len();
    while v >= 100 {
        let pair = (v % 100) as usize * 2;
        v /= 100;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if v >= 10 {
        let pair = v as usize * 2;
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        buffer[at] = b'0' + v as u8;
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Appends the decimal text.
#[inline]
pub fn write_i64(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    write_u64(v.unsigned_abs(), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_the_standard_library(v: i64, shift in 0u32..64) {
            let mut out = Vec::new();
            write_i64(v >> shift, &mut out);
            out.push(b' ');
            write_u64(v as u64 >> shift, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{} {}", v >> shift, v as u64 >> shift));
        }
    }
}
