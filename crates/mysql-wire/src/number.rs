//! Integers as decimal text, two digits at a time from a table.

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

#[inline]
fn pair(n: usize) -> [u8; 2] {
    [PAIRS[2 * n], PAIRS[2 * n + 1]]
}

/// Writes `n` at the end of `digits` and returns where it starts. 20 digits hold `u64::MAX`.
#[inline]
fn fill(digits: &mut [u8; 20], mut n: u64) -> usize {
    let mut at = digits.len();
    while n >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&pair((n % 100) as usize));
        n /= 100;
    }
    if n >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&pair(n as usize));
    } else {
        at -= 1;
        digits[at] = b'0' + n as u8;
    }
    at
}

#[inline]
pub fn decimal_u64(out: &mut Vec<u8>, n: u64) {
    let mut digits = [0; 20];
    let at = fill(&mut digits, n);
    out.extend_from_slice(&digits[at..]);
}

#[inline]
pub fn decimal_i64(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    decimal_u64(out, n.unsigned_abs());
}

/// Two digits with a leading zero; `n` below 100.
#[inline]
pub fn padded2(out: &mut Vec<u8>, n: u8) {
    out.extend_from_slice(&pair(usize::from(n % 100)));
}

/// Four digits with leading zeros; `n` below 10,000.
#[inline]
pub fn padded4(out: &mut Vec<u8>, n: u16) {
    padded2(out, (n / 100 % 100) as u8);
    padded2(out, (n % 100) as u8);
}

/// Six digits with leading zeros; `n` below 1,000,000.
#[inline]
pub fn padded6(out: &mut Vec<u8>, n: u32) {
    padded2(out, (n / 10_000 % 100) as u8);
    padded2(out, (n / 100 % 100) as u8);
    padded2(out, (n % 100) as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        #[test]
        fn unsigned_as_std(n in any::<u64>(), shift in 0..64u32) {
            let n = n >> shift;
            prop_assert_eq!(text(|out| decimal_u64(out, n)), n.to_string());
        }

        #[test]
        fn signed_as_std(n in any::<i64>(), shift in 0..64u32) {
            let n = n >> shift;
            prop_assert_eq!(text(|out| decimal_i64(out, n)), n.to_string());
        }
    }

    #[test]
    fn extremes_and_padding() {
        assert_eq!(text(|out| decimal_i64(out, i64::MIN)), i64::MIN.to_string());
        assert_eq!(text(|out| decimal_u64(out, u64::MAX)), u64::MAX.to_string());
        assert_eq!(text(|out| padded2(out, 7)), "07");
        assert_eq!(text(|out| padded4(out, 321)), "0321");
        assert_eq!(text(|out| padded6(out, 45)), "000045");
    }
}
