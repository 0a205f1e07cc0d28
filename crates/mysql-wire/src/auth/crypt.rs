//! SHA-256 crypt, the slow hash under `caching_sha2_password`.
//!
//! The algorithm is Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512" (public domain specification). MySQL's
//! text form differs from crypt's in its frame only: `$A$`, rounds in thousands as three hexadecimal digits, `$`, a salt
//! of 20 bytes and the digest in crypt's base 64.

use sha2::{Digest, Sha256};

use super::equal_in_constant_time;

pub const SALT_LEN: usize = 20;
const ROUNDS: u32 = 5_000;
const DIGEST_LEN: usize = 32;
const DIGEST_TEXT_LEN: usize = 43;

/// A parsed `authentication_string`.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    rounds: u32,
    salt: [u8; SALT_LEN],
    digest_text: [u8; DIGEST_TEXT_LEN],
}

impl Stored {
    pub fn new(password: &[u8], salt: [u8; SALT_LEN]) -> Self {
        Stored {
            rounds: ROUNDS,
            salt,
            digest_text: to_text(&sha256_crypt(password, &salt, ROUNDS)),
        }
    }

    pub fn parse(text: &[u8]) -> Option<Self> {
        let (thousands, rest) = text.strip_prefix(b"$A$")?.split_first_chunk::<3>()?;
        let thousands = u32::from_str_radix(std::str::from_utf8(thousands).ok()?, 16).ok()?;
        let (salt, digest_text) = rest.strip_prefix(b"$")?.split_first_chunk::<SALT_LEN>()?;
        let digest_text = digest_text.try_into().ok()?;
        (thousands > 0).then_some(Stored {
            rounds: thousands * 1_000,
            salt: *salt,
            digest_text,
        })
    }

    pub fn to_text(&self) -> String {
        let (salt, digest) = (
            String::from_utf8_lossy(&self.salt),
            String::from_utf8_lossy(&self.digest_text),
        );
        format!("$A${:03X}${salt}{digest}", self.rounds / 1_000)
    }

    pub fn verify(&self, password: &[u8]) -> bool {
        equal_in_constant_time(
            &to_text(&sha256_crypt(password, &self.salt, self.rounds)),
            &self.digest_text,
        )
    }
}

/// `digest` repeated to `len` bytes, fed to `hasher`.
fn update_repeated(hasher: &mut Sha256, digest: &[u8; DIGEST_LEN], len: usize) {
    for _ in 0..len / DIGEST_LEN {
        hasher.update(digest);
    }
    hasher.update(&digest[..len % DIGEST_LEN]);
}

fn repeated(digest: &[u8; DIGEST_LEN], len: usize) -> Vec<u8> {
    digest.iter().copied().cycle().take(len).collect()
}

/// The specification's steps 1 to 21; their numbers stand at the code.
fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; DIGEST_LEN] {
    // 4-8: digest B.
    let b: [u8; DIGEST_LEN] = Sha256::new()
        .chain_update(password)
        .chain_update(salt)
        .chain_update(password)
        .finalize()
        .into();
    // 1-3, 9-12: digest A, B mixed in by the bits of the password's length.
    let mut hasher = Sha256::new().chain_update(password).chain_update(salt);
    update_repeated(&mut hasher, &b, password.len());
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            hasher.update(b);
        } else {
            hasher.update(password);
        }
        bits >>= 1;
    }
    let a: [u8; DIGEST_LEN] = hasher.finalize().into();
    // 13-16: sequence P from the password.
    let mut hasher = Sha256::new();
    (0..password.len()).for_each(|_| hasher.update(password));
    let p = repeated(&hasher.finalize().into(), password.len());
    // 17-20: sequence S from the salt.
    let mut hasher = Sha256::new();
    (0..16 + usize::from(a[0])).for_each(|_| hasher.update(salt));
    let s = repeated(&hasher.finalize().into(), salt.len());
    // 21: the rounds.
    (0..rounds).fold(a, |digest, round| {
        let odd = round % 2 == 1;
        let mut hasher = Sha256::new();
        hasher.update(if odd { &p[..] } else { &digest });
        if round % 3 != 0 {
            hasher.update(&s);
        }
        if round % 7 != 0 {
            hasher.update(&p);
        }
        hasher.update(if odd { &digest } else { &p[..] });
        hasher.finalize().into()
    })
}

/// Step 22: crypt's base 64, which takes the digest's bytes in its own order.
fn to_text(digest: &[u8; DIGEST_LEN]) -> [u8; DIGEST_TEXT_LEN] {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const ORDER: [(usize, usize, usize); 10] = [
        (0, 10, 20),
        (21, 1, 11),
        (12, 22, 2),
        (3, 13, 23),
        (24, 4, 14),
        (15, 25, 5),
        (6, 16, 26),
        (27, 7, 17),
        (18, 28, 8),
        (9, 19, 29),
    ];
    let mut text = [0; DIGEST_TEXT_LEN];
    let mut put = |at: usize, count: usize, mut word: u32| {
        for letter in &mut text[at..at + count] {
            *letter = ALPHABET[(word & 0x3f) as usize];
            word >>= 6;
        }
    };
    for (i, (a, b, c)) in ORDER.into_iter().enumerate() {
        put(
            4 * i,
            4,
            u32::from(digest[a]) << 16 | u32::from(digest[b]) << 8 | u32::from(digest[c]),
        );
    }
    put(40, 3, u32::from(digest[31]) << 8 | u32::from(digest[30]));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of the specification.
    #[test]
    fn the_specifications_vectors() {
        let cases = [
            (
                "Hello world!",
                "saltstring",
                5_000,
                "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "Hello world!",
                "saltstringsaltst",
                10_000,
                "3xv.VbSHBb41AL9AvLeujZkZRBAwqFMz2.opqey6IcA",
            ),
            (
                "This is just a test",
                "toolongsaltstrin",
                5_000,
                "Un/5jzAHMgOGZ5.mWJpuVolil07guHPvOW8mGRcvxa5",
            ),
            (
                "we have a short salt string but not a short password",
                "short",
                77_777,
                "JiO1O3ZpDAxGJeaDIuqCoEFysAe1mZNJRs3pw0KQRd/",
            ),
        ];
        for (password, salt, rounds, expected) in cases {
            let text = to_text(&sha256_crypt(password.as_bytes(), salt.as_bytes(), rounds));
            assert_eq!(std::str::from_utf8(&text), Ok(expected));
        }
    }

    #[test]
    fn parse_refuses_what_is_not_the_form() {
        let stored = Stored::new(b"secret", [b'x'; SALT_LEN]).to_text();
        assert!(Stored::parse(stored.as_bytes()).is_some());
        for text in [
            "",
            "$A$",
            "$A$005$short",
            "$5$005$",
            "$A$000$",
            &stored[1..],
            &stored[..69],
        ] {
            assert!(Stored::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
