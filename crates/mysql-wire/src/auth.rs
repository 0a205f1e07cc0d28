//! What the two password plugins compute, on both sides.
//!
//! A plugin never sends the password itself except over TLS or encrypted with the server's RSA key: the client
//! answers the server's [`Nonce`] with a value that only a holder of the password can compute.
//!
//! * [`native`]: `mysql_native_password`. The server stores `SHA1(SHA1(password))`.
//! * [`sha2`]: `caching_sha2_password`. The server stores a salted, slow hash and caches `SHA256(SHA256(password))`
//!   of those who logged in, so that only the first login of an account pays for the slow one.

mod crypt;
pub mod native;
pub mod sha2;

use crate::Malformed;

/// The plugin of this name, if it is one of the two.
pub fn known_plugin(name: &[u8]) -> Option<&'static str> {
    [native::NAME, sha2::NAME]
        .into_iter()
        .find(|known| known.as_bytes() == name)
}

/// What a client answers for a [known](known_plugin) plugin.
pub fn answer(plugin: &str, password: &[u8], nonce: &Nonce) -> Vec<u8> {
    match plugin {
        sha2::NAME => sha2::answer(password, nonce),
        _ => native::answer(password, nonce),
    }
}

/// The 20 random bytes that a server sends to be answered. No byte is zero: some clients read them as a C string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce(pub [u8; Nonce::LEN]);

impl Nonce {
    pub const LEN: usize = 20;

    /// A nonce out of 20 random bytes. The range is MySQL's: printable enough for every client.
    pub fn from_random(random: [u8; Nonce::LEN]) -> Self {
        Nonce(random.map(|byte| match byte & 0x7f {
            0 => 1,
            b'$' => b'%',
            byte => byte,
        }))
    }

    pub(crate) fn from_parts(head: &[u8], tail: &[u8]) -> Result<Self, Malformed> {
        let mut bytes = head.iter().chain(tail);
        let mut nonce = [0; Nonce::LEN];
        for byte in &mut nonce {
            *byte = *bytes.next().ok_or(Malformed("nonce"))?;
        }
        Ok(Nonce(nonce))
    }
}

/// A nonce belongs to one login; it stays out of logs.
impl std::fmt::Debug for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonce(..)")
    }
}

fn xor<const N: usize>(mut a: [u8; N], b: &[u8; N]) -> [u8; N] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

/// Compares in a time that does not depend on where the difference is.
fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |acc, (a, b)| acc | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_has_neither_nul_nor_dollar() {
        for byte in 0..=255 {
            let Nonce(bytes) = Nonce::from_random([byte; 20]);
            assert!(bytes.iter().all(|byte| *byte != 0 && *byte != b'$' && *byte < 0x80));
        }
    }
}
