//! The key under which clients without TLS send their password on the full way of `caching_sha2_password`.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};

/// A key pair that lives as long as the process.
pub struct Key {
    private: OaepPrivateDecryptingKey,
    public_pem: String,
}

impl Key {
    pub const CIPHERTEXT_LEN: usize = 256;

    pub fn generate() -> Key {
        let private = PrivateDecryptingKey::generate(KeySize::Rsa2048).expect("the system has random numbers");
        let der: PublicKeyX509Der = private
            .public_key()
            .as_der()
            .expect("a generated key has a public form");
        let public_pem = pem(der.as_ref());
        let private = OaepPrivateDecryptingKey::new(private).expect("a generated key can decrypt");
        Key { private, public_pem }
    }

    /// The public key as `SubjectPublicKeyInfo` in PEM, the form that clients expect.
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// OAEP with SHA-1, as the plugin has it.
    pub fn decrypt(&self, ciphertext: &[u8]) -> Option<Vec<u8>> {
        let mut text = vec![0; self.private.min_output_size()];
        let len = self
            .private
            .decrypt(&OAEP_SHA1_MGF1SHA1, ciphertext, &mut text, None)
            .ok()?
            .len();
        text.truncate(len);
        Some(text)
    }
}

fn pem(der: &[u8]) -> String {
    let base64 = base64(der);
    let lines: Vec<&str> = (0..base64.len())
        .step_by(64)
        .map(|at| &base64[at..base64.len().min(at + 64)])
        .collect();
    format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        lines.join("\n")
    )
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=chunk.len()].copy_from_slice(chunk);
        let word = u32::from_be_bytes(word);
        for letter in 0..4 {
            let sextet = (word >> (18 - 6 * letter)) & 0x3f;
            text.push(if letter <= chunk.len() {
                ALPHABET[sextet as usize].into()
            } else {
                '='
            });
        }
    }
    text
}

/// What a client does with the key.
#[cfg(test)]
pub fn encrypt_for_test(pem: &[u8], text: &[u8]) -> Vec<u8> {
    use aws_lc_rs::rsa::{OaepPublicEncryptingKey, PublicEncryptingKey};
    let base64: String = std::str::from_utf8(pem)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('-'))
        .collect();
    let sextet = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = base64.bytes().filter(|c| *c != b'=').map(sextet).collect();
    let mut der = Vec::new();
    for chunk in digits.chunks(4) {
        let word = chunk.iter().fold(0u32, |word, digit| word << 6 | u32::from(*digit)) << (6 * (4 - chunk.len()));
        der.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    let key = OaepPublicEncryptingKey::new(PublicEncryptingKey::from_der(&der).unwrap()).unwrap();
    let mut ciphertext = vec![0; key.ciphertext_size()];
    key.encrypt(&OAEP_SHA1_MGF1SHA1, text, &mut ciphertext, None).unwrap();
    ciphertext
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_rfc() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (text, expected) in vectors {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn what_the_public_key_hides_the_private_key_shows() {
        let key = Key::generate();
        let ciphertext = encrypt_for_test(key.public_pem().as_bytes(), b"secret\0");
        assert_eq!(key.decrypt(&ciphertext).as_deref(), Some(&b"secret\0"[..]));
        assert_eq!(key.decrypt(b"garbage"), None);
    }
}
