//! The unsigned integers behind a wide decimal: 256 bits for coefficients, 512 bits for products and dividends.
//!
//! Slow paths only: whatever fits in 128 bits is computed natively in the parent module.

use std::cmp::Ordering;

/// 256 bits, least significant word first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wide(pub [u64; 4]);

/// 512 bits, least significant word first.
pub type Double = [u64; 8];

/// The largest power of ten in a word.
const CHUNK: u64 = 10_000_000_000_000_000_000;
pub const CHUNK_DIGITS: u32 = 19;

const fn powers() -> [Wide; 78] {
    let mut table = [Wide([1, 0, 0, 0]); 78];
    let mut i = 1;
    while i < 78 {
        let mut words = table[i - 1].0;
        let mut carry = 0u128;
        let mut w = 0;
        while w < 4 {
            let product = words[w] as u128 * 10 + carry;
            words[w] = product as u64;
            carry = product >> 64;
            w += 1;
        }
        table[i] = Wide(words);
        i += 1;
    }
    table
}

/// `10^n` for `n <= 77`.
static POWERS_OF_TEN: [Wide; 78] = powers();

impl Wide {
    pub const ZERO: Wide = Wide([0; 4]);

    pub fn pow10(n: u32) -> Wide {
        POWERS_OF_TEN[n as usize]
    }

    pub fn from_u128(v: u128) -> Wide {
        Wide([v as u64, (v >> 64) as u64, 0, 0])
    }

    pub fn to_u128(self) -> Option<u128> {
        (self.0[2] | self.0[3] == 0).then(|| u128::from(self.0[0]) | u128::from(self.0[1]) << 64)
    }

    pub fn is_zero(self) -> bool {
        self.0 == [0; 4]
    }

    pub fn compare(self, other: Wide) -> Ordering {
        self.0.iter().rev().cmp(other.0.iter().rev())
    }

    /// Number of significant bits.
    pub fn bits(self) -> u32 {
        self.0
            .iter()
            .rposition(|&w| w != 0)
            .map_or(0, |i| i as u32 * 64 + 64 - self.0[i].leading_zeros())
    }

    /// Number of decimal digits; 0 has none.
    pub fn digits(self) -> u32 {
        // 1233 / 4096 is log10(2) from below: the estimate is right or one too small.
        let estimate = (self.bits() * 1233) >> 12;
        if estimate <= 77 && self.compare(Wide::pow10(estimate)).is_ge() {
            estimate + 1
        } else {
            estimate
        }
    }

    /// Sum; both are below 2^255.
    pub fn add(self, other: Wide) -> Wide {
        let mut out = [0; 4];
        let mut carry = false;
        for (o, (&a, &b)) in out.iter_mut().zip(self.0.iter().zip(&other.0)) {
            let (sum, c1) = a.overflowing_add(b);
            let (sum, c2) = sum.overflowing_add(u64::from(carry));
            *o = sum;
            carry = c1 | c2;
        }
        debug_assert!(!carry);
        Wide(out)
    }

    /// Difference; `self >= other`.
    pub fn sub(self, other: Wide) -> Wide {
        let mut out = [0; 4];
        let mut borrow = false;
        for (o, (&a, &b)) in out.iter_mut().zip(self.0.iter().zip(&other.0)) {
            let (diff, b1) = a.overflowing_sub(b);
            let (diff, b2) = diff.overflowing_sub(u64::from(borrow));
            *o = diff;
            borrow = b1 | b2;
        }
        debug_assert!(!borrow);
        Wide(out)
    }

    pub fn mul(self, other: Wide) -> Double {
        let mut out = [0; 8];
        for (i, &a) in self.0.iter().enumerate() {
            let mut carry = 0u128;
            for (j, &b) in other.0.iter().enumerate() {
                let t = u128::from(a) * u128::from(b) + u128::from(out[i + j]) + carry;
                out[i + j] = t as u64;
                carry = t >> 64;
            }
            out[i + 4] = carry as u64;
        }
        out
    }

    /// `self * 10^n`, or `None` beyond 256 bits.
    pub fn mul_pow10(self, n: u32) -> Option<Wide> {
        if self.is_zero() {
            return Some(self);
        }
        let power = POWERS_OF_TEN.get(n as usize)?;
        narrow(self.mul(*power))
    }

    /// Quotient and remainder by a divisor that is not zero.
    pub fn div_rem(self, divisor: Wide) -> (Wide, Wide) {
        let (quotient, remainder) = div_rem(widen(self), divisor);
        (
            narrow(quotient).expect("a quotient is not above its dividend"),
            remainder,
        )
    }

    /// Divides in place by 10^19, the remainder being the lowest 19 digits.
    pub fn take_chunk(&mut self) -> u64 {
        let mut remainder = 0u128;
        for word in self.0.iter_mut().rev() {
            let t = remainder << 64 | u128::from(*word);
            *word = (t / u128::from(CHUNK)) as u64;
            remainder = t % u128::from(CHUNK);
        }
        remainder as u64
    }
}

pub fn widen(v: Wide) -> Double {
    let [a, b, c, d] = v.0;
    [a, b, c, d, 0, 0, 0, 0]
}

pub fn narrow(v: Double) -> Option<Wide> {
    let [a, b, c, d, high @ ..] = v;
    (high == [0; 4]).then_some(Wide([a, b, c, d]))
}

/// Long division (Knuth, volume 2, algorithm D) in 32-bit digits.
pub fn div_rem(dividend: Double, divisor: Wide) -> (Double, Wide) {
    let n = (divisor.bits() as usize).div_ceil(32);
    debug_assert!(n > 0, "division by zero is the caller's to refuse");
    let mut u = [0u32; 17];
    for (i, w) in dividend.iter().enumerate() {
        (u[2 * i], u[2 * i + 1]) = (*w as u32, (*w >> 32) as u32);
    }
    let mut v = [0u32; 8];
    for (i, w) in divisor.0.iter().enumerate() {
        (v[2 * i], v[2 * i + 1]) = (*w as u32, (*w >> 32) as u32);
    }
    let mut q = [0u32; 16];
    if n == 1 {
        let d = u64::from(v[0]);
        let mut remainder = 0u64;
        for i in (0..16).rev() {
            let t = remainder << 32 | u64::from(u[i]);
            q[i] = (t / d) as u32;
            remainder = t % d;
        }
        return (pack(&q), Wide([remainder, 0, 0, 0]));
    }
    // Normalise so that the divisor's highest digit has its highest bit set: the guess is then at most two too large.
    let shift = v[n - 1].leading_zeros();
    shift_left(&mut v[..n], shift);
    shift_left(&mut u, shift);
    for j in (0..=16 - n).rev() {
        let head = u64::from(u[j + n]) << 32 | u64::from(u[j + n - 1]);
        let mut guess = head / u64::from(v[n - 1]);
        let mut rest = head % u64::from(v[n - 1]);
        while guess >> 32 != 0 || guess * u64::from(v[n - 2]) > (rest << 32 | u64::from(u[j + n - 2])) {
            guess -= 1;
            rest += u64::from(v[n - 1]);
            if rest >> 32 != 0 {
                break;
            }
        }
        if subtract_multiple(&mut u[j..=j + n], &v[..n], guess) {
            guess -= 1;
            add_back(&mut u[j..=j + n], &v[..n]);
        }
        if j < 16 {
            q[j] = guess as u32;
        }
    }
    let mut remainder = [0u32; 16];
    for i in 0..n {
        remainder[i] = (u64::from(u[i] >> shift) | u64::from(u[i + 1]) << 32 >> shift) as u32;
    }
    (
        pack(&q),
        narrow(pack(&remainder)).expect("a remainder is below its divisor"),
    )
}

fn shift_left(digits: &mut [u32], shift: u32) {
    let mut carry = 0;
    for d in digits {
        let t = u64::from(*d) << shift | carry;
        *d = t as u32;
        carry = t >> 32;
    }
}

/// `u -= v * factor`; true if it went below zero.
fn subtract_multiple(u: &mut [u32], v: &[u32], factor: u64) -> bool {
    let mut carry = 0u64;
    let mut borrow = 0i64;
    for (i, digit) in u.iter_mut().enumerate() {
        let product = factor * v.get(i).map_or(0, |&d| u64::from(d)) + carry;
        carry = product >> 32;
        let t = i64::from(*digit) - borrow - (product & 0xffff_ffff) as i64;
        *digit = t as u32;
        borrow = i64::from(t < 0);
    }
    borrow != 0
}

fn add_back(u: &mut [u32], v: &[u32]) {
    let mut carry = 0u64;
    for (i, digit) in u.iter_mut().enumerate() {
        let t = u64::from(*digit) + v.get(i).map_or(0, |&d| u64::from(d)) + carry;
        *digit = t as u32;
        carry = t >> 32;
    }
}

fn pack(digits: &[u32; 16]) -> Double {
    let mut out = [0; 8];
    for (o, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        *o = u64::from(pair[0]) | u64::from(pair[1]) << 32;
    }
    out
}
