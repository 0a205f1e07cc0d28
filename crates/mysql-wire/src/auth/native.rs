//! `mysql_native_password`.
//!
//! stored = SHA1(SHA1(password)); answer = SHA1(password) XOR SHA1(nonce ‖ stored). The server finds SHA1(password)
//! by the same XOR and checks that its SHA1 is what it stored.

use sha1::{Digest, Sha1};

use super::{Nonce, equal_in_constant_time, xor};

pub const NAME: &str = "mysql_native_password";

type Hash = [u8; 20];

fn sha1(parts: &[&[u8]]) -> Hash {
    let mut hasher = Sha1::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize().into()
}

/// What an account with this password stores: `*` and 40 hexadecimal digits, or nothing for no password.
pub fn authentication_string(password: &[u8]) -> String {
    if password.is_empty() {
        return String::new();
    }
    sha1(&[&sha1(&[password])])
        .iter()
        .fold(String::from("*"), |text, byte| text + &format!("{byte:02X}"))
}

/// The stored hash out of its text form.
pub fn parse(authentication_string: &[u8]) -> Option<Hash> {
    let digits = authentication_string.strip_prefix(b"*")?;
    let mut hash = Hash::default();
    if digits.len() != 2 * hash.len() || !digits.is_ascii() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(hash)
}

/// The client's side: what to send for `password`.
pub fn answer(password: &[u8], nonce: &Nonce) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    xor(once, &sha1(&[&nonce.0, &sha1(&[&once])])).to_vec()
}

/// The server's side: whether `answer` proves the password of `authentication_string`.
pub fn verify(authentication_string: &[u8], nonce: &Nonce, answer: &[u8]) -> bool {
    if authentication_string.is_empty() {
        return answer.is_empty();
    }
    let (Some(stored), Ok(answer)) = (parse(authentication_string), Hash::try_from(answer)) else {
        return false;
    };
    let once = xor(answer, &sha1(&[&nonce.0, &stored]));
    equal_in_constant_time(&sha1(&[&once]), &stored)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONCE: Nonce = Nonce(*b"01234567890123456789");

    #[test]
    fn the_stored_form_is_mysqls() {
        assert_eq!(
            authentication_string(b"mypass"),
            "*6C8989366EAF75BB670AD8EA7A7FC1176A95CEF4"
        );
        assert_eq!(authentication_string(b""), "");
    }

    #[test]
    fn only_the_password_proves_itself() {
        let stored = authentication_string(b"secret");
        assert!(verify(stored.as_bytes(), &NONCE, &answer(b"secret", &NONCE)));
        assert!(!verify(stored.as_bytes(), &NONCE, &answer(b"Secret", &NONCE)));
        assert!(!verify(
            stored.as_bytes(),
            &Nonce(*b"x1234567890123456789"),
            &answer(b"secret", &NONCE)
        ));
        assert!(!verify(stored.as_bytes(), &NONCE, b""));
        assert!(!verify(stored.as_bytes(), &NONCE, b"short"));
    }

    #[test]
    fn no_password_means_no_answer() {
        assert!(verify(b"", &NONCE, b""));
        assert!(!verify(b"", &NONCE, &answer(b"secret", &NONCE)));
    }

    #[test]
    fn damaged_stored_forms_let_nobody_in() {
        for stored in [
            "*",
            "x",
            "*6C",
            "*ZZ8989366EAF75BB670AD8EA7A7FC1176A95CEF4",
            "*é8989366EAF75BB670AD8EA7A7FC1176A95CEF",
        ] {
            assert!(
                !verify(stored.as_bytes(), &NONCE, &answer(b"mypass", &NONCE)),
                "{stored}"
            );
        }
    }
}
