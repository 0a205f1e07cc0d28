//! Greeting to OK, with both password plugins.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use mysql_wire::auth::{Nonce, native, sha2};
use mysql_wire::handshake::{Attributes, AuthSwitch, Greeting, Login, decode_auth_more_data};
use mysql_wire::response::{EOF, ERR, OK};
use mysql_wire::{Capabilities, Malformed};

use super::link::{Link, PACKET_LEN_MAX};
use crate::error::LinkError;

/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;

impl Link {
    pub(super) fn login(&mut self, user: &str, password: &str, database: Option<&str>) -> Result<(), LinkError> {
        let packet = self.receive()?;
        if packet.first() == Some(&ERR) {
            return Err(LinkError::refused(&packet));
        }
        let greeting = Greeting::decode(&packet)?;
        self.server_version = String::from_utf8_lossy(greeting.server_version).into_owned();
        let mut wanted = Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::CONNECT_ATTRS
            | Capabilities::DEPRECATE_EOF;
        if database.is_some() {
            wanted |= Capabilities::CONNECT_WITH_DB;
        }
        self.capabilities = greeting.capabilities & wanted;

        let mut nonce = greeting.nonce;
        let mut plugin = known_plugin(greeting.plugin).unwrap_or(native::NAME);
        let mut buffer = Vec::new();
        let login = Login {
            capabilities: self.capabilities,
            packet_len_max: PACKET_LEN_MAX as u32,
            collation: COLLATION,
            user: user.as_bytes(),
            auth_answer: &answer(plugin, password, &nonce),
            database: database.map(str::as_bytes),
            plugin: Some(plugin.as_bytes()),
            attributes: Attributes::from_pairs(&[("program_name", "latsdb lab")], &mut buffer),
        };
        self.send(|out| login.encode(out))?;
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(&OK) => return Ok(()),
                Some(&ERR) => return Err(LinkError::refused(&packet)),
                Some(&EOF) => {
                    let switch = AuthSwitch::decode(&packet)?;
                    plugin = known_plugin(switch.plugin)
                        .ok_or_else(|| LinkError::Plugin(String::from_utf8_lossy(switch.plugin).into_owned()))?;
                    nonce = switch.nonce;
                    let answer = answer(plugin, password, &nonce);
                    self.send(|out| out.extend_from_slice(&answer))?;
                }
                _ => match decode_auth_more_data(&packet)? {
                    [sha2::FAST_AUTHENTICATION_DONE] => {}
                    [sha2::FULL_AUTHENTICATION] => self.send(|out| out.push(sha2::REQUEST_PUBLIC_KEY))?,
                    pem => {
                        let obscured = sha2::obscure(&[password.as_bytes(), b"\0"].concat(), &nonce);
                        let secret = encrypted(pem, &obscured)?;
                        self.send(|out| out.extend_from_slice(&secret))?;
                    }
                },
            }
        }
    }
}

fn answer(plugin: &str, password: &str, nonce: &Nonce) -> Vec<u8> {
    match plugin {
        sha2::NAME => sha2::answer(password.as_bytes(), nonce),
        _ => native::answer(password.as_bytes(), nonce),
    }
}

fn known_plugin(name: &[u8]) -> Option<&'static str> {
    [native::NAME, sha2::NAME]
        .into_iter()
        .find(|known| known.as_bytes() == name)
}

/// `secret` under the server's public key, which comes as PEM.
fn encrypted(pem: &[u8], secret: &[u8]) -> Result<Vec<u8>, LinkError> {
    let key = PublicEncryptingKey::from_der(&der(pem)?).map_err(|_| LinkError::PublicKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| LinkError::PublicKey)?;
    let mut sealed = vec![0; key.ciphertext_size()];
    let len = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, secret, &mut sealed, None)
        .map_err(|_| LinkError::PublicKey)?
        .len();
    sealed.truncate(len);
    Ok(sealed)
}

/// The bytes between the dashed lines of a PEM text.
fn der(pem: &[u8]) -> Result<Vec<u8>, Malformed> {
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

    #[test]
    fn pem_is_base64_between_dashes() {
        let pem = b"-----BEGIN PUBLIC KEY-----\nZm9v\r\nYmFyIQ==\n-----END PUBLIC KEY-----\n";
        assert_eq!(der(pem).unwrap(), b"foobar!");
        assert!(der(b"Zm9v*").is_err());
        assert!(der(b"\xff").is_err());
    }

    #[test]
    fn a_key_that_is_none_is_an_error() {
        assert!(matches!(encrypted(b"Zm9v", b"secret"), Err(LinkError::PublicKey)));
    }
}
