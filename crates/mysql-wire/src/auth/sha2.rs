//! `caching_sha2_password`.
//!
//! Fast: answer = SHA256(password) XOR SHA256(SHA256(SHA256(password)) ‖ nonce), checked against the cached
//! [`Digest`] SHA256(SHA256(password)). Full: the server sends [`FULL_AUTHENTICATION`], the client sends the password
//! itself over TLS, or asks for the RSA key ([`REQUEST_PUBLIC_KEY`]) and sends it [`obscure`]d and encrypted.

use sha2::{Digest as _, Sha256};

use super::crypt::{SALT_LEN, Stored};
use super::{Nonce, equal_in_constant_time, xor};
use crate::Malformed;

pub const NAME: &str = "caching_sha2_password";

/// The server's messages in the plugin's conversation.
pub const FAST_AUTHENTICATION_DONE: u8 = 3;
pub const FULL_AUTHENTICATION: u8 = 4;
/// The client's, on a plain connection.
pub const REQUEST_PUBLIC_KEY: u8 = 2;

/// SHA256(SHA256(password)), what a server may cache of an account that has logged in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 32]);

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

impl Digest {
    pub fn of(password: &[u8]) -> Self {
        Digest(sha256(&[&sha256(&[password])]))
    }

    /// Whether `answer` proves the password that this digest was made from.
    pub fn verify(&self, nonce: &Nonce, answer: &[u8]) -> bool {
        let Ok(answer) = <[u8; 32]>::try_from(answer) else {
            return false;
        };
        let once = xor(answer, &sha256(&[&self.0, &nonce.0]));
        equal_in_constant_time(&sha256(&[&once]), &self.0)
    }
}

/// The client's side: what to send for `password` at first.
pub fn answer(password: &[u8], nonce: &Nonce) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    xor(once, &sha256(&[&sha256(&[&once]), &nonce.0])).to_vec()
}

/// What an account with this password stores: `$A$005$`, the salt and the slow hash; nothing for no password.
/// The salt's bytes are made printable.
pub fn authentication_string(password: &[u8], random: [u8; SALT_LEN]) -> String {
    if password.is_empty() {
        return String::new();
    }
    const PRINTABLE: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let salt = random.map(|byte| PRINTABLE[usize::from(byte) % PRINTABLE.len()]);
    Stored::new(password, salt).to_text()
}

/// Whether `authentication_string` has this plugin's form.
pub fn is_well_formed(authentication_string: &[u8]) -> bool {
    authentication_string.is_empty() || Stored::parse(authentication_string).is_some()
}

/// The server's side of the full way: whether the password is the account's. Slow by design (milliseconds).
pub fn verify_password(authentication_string: &[u8], password: &[u8]) -> bool {
    if authentication_string.is_empty() {
        return password.is_empty();
    }
    Stored::parse(authentication_string).is_some_and(|stored| stored.verify(password))
}

/// The password, ended by NUL and XORed with the nonce, as it is put under RSA. The same turns it back.
pub fn obscure(text: &[u8], nonce: &Nonce) -> Vec<u8> {
    text.iter()
        .zip(nonce.0.iter().cycle())
        .map(|(text, nonce)| text ^ nonce)
        .collect()
}

/// The server's public key, DER, out of the PEM text that answers [`REQUEST_PUBLIC_KEY`]: the bytes between the dashed lines.
pub fn public_key(pem: &[u8]) -> Result<Vec<u8>, Malformed> {
    let text = std::str::from_utf8(pem).map_err(|_| Malformed("public key"))?;
    let digits = text
        .lines()
        .filter(|line| !line.starts_with('-'))
        .flat_map(str::bytes)
        .filter(|c| *c != b'=' && !c.is_ascii_whitespace());
    let mut bytes = Vec::new();
    let (mut bits, mut held) = (0_u32, 0);
    for digit in digits {
        let sextet = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return Err(Malformed("public key")),
        };
        bits = bits << 6 | u32::from(sextet);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: Nonce = Nonce(*b"01234567890123456789");

    /// Computed apart from this code, by the documentation's formula.
    #[test]
    fn pem_is_base64_between_dashes() {
        let pem = b"-----BEGIN PUBLIC KEY-----\nZm9v\r\nYmFyIQ==\n-----END PUBLIC KEY-----\n";
        assert_eq!(public_key(pem).unwrap(), b"foobar!");
        assert!(public_key(b"Zm9v*").is_err());
        assert!(public_key(b"\xff").is_err());
    }

    #[test]
    fn the_answer_is_the_protocols() {
        let hex: String = answer(b"secret", &NONCE)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(hex, "1a2da2573c2faa367e2afddb54cdfd11a95ed22eef0167151196a6fc8e3d3813");
    }

    #[test]
    fn fast_way() {
        let digest = Digest::of(b"secret");
        assert!(digest.verify(&NONCE, &answer(b"secret", &NONCE)));
        assert!(!digest.verify(&NONCE, &answer(b"Secret", &NONCE)));
        assert!(!digest.verify(&Nonce(*b"x1234567890123456789"), &answer(b"secret", &NONCE)));
        assert!(!digest.verify(&NONCE, b""));
    }

    #[test]
    fn full_way() {
        let stored = authentication_string(b"secret", [200; SALT_LEN]);
        assert!(stored.starts_with("$A$005$") && stored.len() == 70, "{stored}");
        assert!(is_well_formed(stored.as_bytes()));
        assert!(verify_password(stored.as_bytes(), b"secret"));
        assert!(!verify_password(stored.as_bytes(), b"secret "));
        assert!(verify_password(b"", b"") && !verify_password(b"", b"x") && !verify_password(stored.as_bytes(), b""));
    }

    #[test]
    fn obscuring_twice_gives_the_text() {
        let text = b"a password longer than the nonce of twenty bytes\0";
        assert_eq!(obscure(&obscure(text, &NONCE), &NONCE), text);
    }
}
