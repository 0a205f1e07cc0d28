//! Greeting to OK, with both password plugins; under TLS also with the password as it is.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use mysql_wire::Capabilities;
use mysql_wire::auth::{answer, known_plugin, native, sha2};
use mysql_wire::handshake::{Attributes, AuthSwitch, Greeting, Login, SslRequest, decode_auth_more_data};
use mysql_wire::response::{EOF, ERR, OK};

use super::link::{Link, PACKET_LEN_MAX};
use super::tls::{Dialer, TlsFailure, shake_hands};
use crate::error::LinkError;
use crate::target::TlsMode;

/// MariaDB's flag for clients that keep the columns of a prepared statement: an execution then comes without them. sysbench's client
/// library uses it, and so a server has less to do.
const CACHE_METADATA: u32 = 1 << 4;
/// Where a login has MariaDB's flags: in the last four of the bytes that MySQL leaves at zero.
const MARIADB_FLAGS_AT: usize = 4 + 4 + 1 + 19;

/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;

/// What servers say to those whose connection should have been encrypted: an account's (1045), the server's own wish (MySQL's 3159,
/// MariaDB's 1835).
const NOT_WITHOUT_TLS: [u16; 3] = [1045, 3159, 1835];

/// Sends the password as it is: where the server asks somebody else (LDAP, PAM, a cloud's token service) whether it is right.
const CLEAR_PASSWORD: &[u8] = b"mysql_clear_password";

impl Link {
    pub(super) fn login(&mut self, dialer: &Dialer, server: &str, database: Option<&str>) -> Result<(), LinkError> {
        let target = dialer.target;
        let password = target.password.reveal();
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
        self.caches_metadata =
            mariadb_flags(&packet) & CACHE_METADATA != 0 && self.capabilities.contains(Capabilities::DEPRECATE_EOF);
        if self.caches_metadata {
            self.capabilities = self.capabilities.with(Capabilities::LONG_PASSWORD, false);
        }
        let flags = if self.caches_metadata { CACHE_METADATA } else { 0 };
        let with_flags = move |out: &mut Vec<u8>, write: &dyn Fn(&mut Vec<u8>)| {
            let at = out.len() + MARIADB_FLAGS_AT;
            write(out);
            out[at..at + 4].copy_from_slice(&flags.to_le_bytes());
        };
        match (&dialer.tls, greeting.capabilities.contains(Capabilities::SSL)) {
            (Some(config), true) => {
                self.capabilities |= Capabilities::SSL;
                let request = SslRequest {
                    capabilities: self.capabilities,
                    packet_len_max: PACKET_LEN_MAX as u32,
                    collation: COLLATION,
                };
                self.send(|out| with_flags(out, &|out| request.encode(out)))?;
                let tls = shake_hands(&mut self.wire, config.clone(), server, target.tls.mode)?;
                self.tls = Some(Box::new(tls));
            }
            (Some(_), false) if target.tls.mode != TlsMode::Preferred => return Err(TlsFailure::NotOffered.into()),
            _ => {}
        }

        let may_insist = self.tls.is_none() && greeting.capabilities.contains(Capabilities::SSL);
        let refused = |packet: &[u8]| match LinkError::refused(packet) {
            LinkError::Refused(mut refusal) if may_insist && NOT_WITHOUT_TLS.contains(&refusal.code) => {
                refusal
                    .message
                    .push_str(" (if the account or the server insists on TLS: `tls = \"required\"`)");
                LinkError::Refused(refusal)
            }
            refused => refused,
        };
        let mut nonce = greeting.nonce;
        let mut plugin = known_plugin(greeting.plugin).unwrap_or(native::NAME);
        let mut buffer = Vec::new();
        let login = Login {
            capabilities: self.capabilities,
            packet_len_max: PACKET_LEN_MAX as u32,
            collation: COLLATION,
            user: target.user.as_bytes(),
            auth_answer: &answer(plugin, password.as_bytes(), &nonce),
            database: database.map(str::as_bytes),
            plugin: Some(plugin.as_bytes()),
            attributes: Attributes::from_pairs(&[("program_name", "latsdb lab")], &mut buffer),
            zstd_level: None,
        };
        self.send(|out| with_flags(out, &|out| login.encode(out)))?;
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(&OK) => return Ok(()),
                Some(&ERR) => return Err(refused(&packet)),
                Some(&EOF) if switches_to(&packet) == CLEAR_PASSWORD => {
                    if self.tls.is_none() {
                        return Err(LinkError::ClearPassword);
                    }
                    self.send(|out| with_nul(password, out))?;
                }
                Some(&EOF) => {
                    let switch = AuthSwitch::decode(&packet)?;
                    plugin = known_plugin(switch.plugin)
                        .ok_or_else(|| LinkError::Plugin(String::from_utf8_lossy(switch.plugin).into_owned()))?;
                    nonce = switch.nonce;
                    let answer = answer(plugin, password.as_bytes(), &nonce);
                    self.send(|out| out.extend_from_slice(&answer))?;
                }
                _ => match decode_auth_more_data(&packet)? {
                    [sha2::FAST_AUTHENTICATION_DONE] => {}
                    [sha2::FULL_AUTHENTICATION] if self.tls.is_some() => self.send(|out| with_nul(password, out))?,
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

/// The plugin that an AuthSwitch names.
fn switches_to(packet: &[u8]) -> &[u8] {
    let name = packet.get(1..).unwrap_or_default();
    name.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn with_nul(password: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(password.as_bytes());
    out.push(0);
}

/// What MariaDB's greeting offers beyond MySQL's flags: it leaves out LONG_PASSWORD to say that there is such a thing.
fn mariadb_flags(greeting: &[u8]) -> u32 {
    let Some(version_len) = greeting.iter().skip(1).position(|byte| *byte == 0) else {
        return 0;
    };
    // Connection, nonce, filler; then the low flags, collation, status, high flags, the nonce's length, six bytes of nothing.
    let low_at = 1 + version_len + 1 + 4 + 8 + 1;
    let flags_at = low_at + 2 + 1 + 2 + 2 + 1 + 6;
    match (greeting.get(low_at), greeting.get(flags_at..flags_at + 4)) {
        (Some(low), Some(&[a, b, c, d])) if u32::from(*low) & Capabilities::LONG_PASSWORD.0 == 0 => {
            u32::from_le_bytes([a, b, c, d])
        }
        _ => 0,
    }
}

/// `secret` under the server's public key, which comes as PEM.
fn encrypted(pem: &[u8], secret: &[u8]) -> Result<Vec<u8>, LinkError> {
    let key = PublicEncryptingKey::from_der(&sha2::public_key(pem)?).map_err(|_| LinkError::PublicKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| LinkError::PublicKey)?;
    let mut sealed = vec![0; key.ciphertext_size()];
    let len = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, secret, &mut sealed, None)
        .map_err(|_| LinkError::PublicKey)?
        .len();
    sealed.truncate(len);
    Ok(sealed)
}

#[cfg(test)]
mod tests {
    use mysql_wire::auth::Nonce;

    use super::*;

    #[test]
    fn flags_of_mariadb_are_read_where_they_are() {
        let mut greeting = Vec::new();
        let offered = Capabilities::DEPRECATE_EOF | Capabilities::PLUGIN_AUTH;
        Greeting {
            server_version: b"5.5.5-10.11.19-MariaDB",
            connection_id: 7,
            nonce: Nonce([1; 20]),
            capabilities: offered,
            collation: 45,
            status: Default::default(),
            plugin: native::NAME.as_bytes(),
        }
        .encode(&mut greeting);
        assert_eq!(mariadb_flags(&greeting), 0);
        let at = greeting.len() - native::NAME.len() - 1 - 13 - 4;
        greeting[at] = 0x1d;
        assert_eq!(mariadb_flags(&greeting), 0x1d);
        greeting[1 + 23 + 4 + 8 + 1] |= 1;
        assert_eq!(mariadb_flags(&greeting), 0);
        (0..greeting.len()).for_each(|len| assert_eq!(mariadb_flags(&greeting[..len]), 0));
    }

    #[test]
    fn a_key_that_is_none_is_an_error() {
        assert!(matches!(encrypted(b"Zm9v", b"secret"), Err(LinkError::PublicKey)));
    }
}
