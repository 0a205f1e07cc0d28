//! Who connects: the conversation before the first statement, with both password plugins.

use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use mysql_wire::Capabilities;
use mysql_wire::auth::{answer, known_plugin, native, sha2};
use mysql_wire::handshake::{Attributes, AuthSwitch, Greeting, Login as LoginPacket, decode_auth_more_data};
use mysql_wire::response::{EOF, ERR, OK};

use crate::client::{Client, PACKET_LEN_MAX};
use crate::error::ClientError;

/// utf8mb4_general_ci, which every server knows.
const COLLATION: u8 = 45;

/// Where to connect, and as whom.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// `host:port`, or the path of a Unix socket: what holds a slash.
    pub address: &'a str,
    pub user: &'a str,
    /// Empty for an account without one.
    pub password: &'a str,
    pub database: Option<&'a str>,
    /// Shown in the server's process list.
    pub program_name: &'a str,
}

impl Login<'_> {
    /// Greeting to OK, on a fresh connection.
    pub(crate) fn talk(&self, client: &mut Client) -> Result<(), ClientError> {
        let packet = client.receive()?;
        if packet.first() == Some(&ERR) {
            return Err(ClientError::refused(&packet));
        }
        let greeting = Greeting::decode(&packet)?;
        client.server_version = String::from_utf8_lossy(greeting.server_version).into_owned();
        client.connection_id = greeting.connection_id;
        let mut wanted = Capabilities::LONG_PASSWORD
            | Capabilities::PROTOCOL_41
            | Capabilities::TRANSACTIONS
            | Capabilities::SECURE_CONNECTION
            | Capabilities::PLUGIN_AUTH
            | Capabilities::MULTI_RESULTS
            | Capabilities::PS_MULTI_RESULTS
            | Capabilities::CONNECT_ATTRS
            | Capabilities::DEPRECATE_EOF;
        if self.database.is_some() {
            wanted |= Capabilities::CONNECT_WITH_DB;
        }
        client.capabilities = greeting.capabilities & (wanted | client.capabilities);

        let mut nonce = greeting.nonce;
        let mut plugin = known_plugin(greeting.plugin).unwrap_or(native::NAME);
        let mut buffer = Vec::new();
        let login = LoginPacket {
            capabilities: client.capabilities,
            packet_len_max: PACKET_LEN_MAX as u32,
            collation: COLLATION,
            user: self.user.as_bytes(),
            auth_answer: &answer(plugin, self.password.as_bytes(), &nonce),
            database: self.database.map(str::as_bytes),
            plugin: Some(plugin.as_bytes()),
            attributes: Attributes::from_pairs(&[("program_name", self.program_name)], &mut buffer),
            zstd_level: None,
        };
        client.send(|out| login.encode(out))?;
        loop {
            let packet = client.receive()?;
            match packet.first() {
                Some(&OK) => return Ok(()),
                Some(&ERR) => return Err(ClientError::refused(&packet)),
                Some(&EOF) => {
                    let switch = AuthSwitch::decode(&packet)?;
                    plugin = known_plugin(switch.plugin).ok_or_else(|| {
                        ClientError::UnknownPlugin(String::from_utf8_lossy(switch.plugin).into_owned())
                    })?;
                    nonce = switch.nonce;
                    let answer = answer(plugin, self.password.as_bytes(), &nonce);
                    client.send(|out| out.extend_from_slice(&answer))?;
                }
                _ => match decode_auth_more_data(&packet)? {
                    [sha2::FAST_AUTHENTICATION_DONE] => {}
                    [sha2::FULL_AUTHENTICATION] if client.is_private() => {
                        let secret = [self.password.as_bytes(), b"\0"].concat();
                        client.send(|out| out.extend_from_slice(&secret))?;
                    }
                    [sha2::FULL_AUTHENTICATION] => client.send(|out| out.push(sha2::REQUEST_PUBLIC_KEY))?,
                    pem => {
                        let secret =
                            encrypted(pem, &sha2::obscure(&[self.password.as_bytes(), b"\0"].concat(), &nonce))?;
                        client.send(|out| out.extend_from_slice(&secret))?;
                    }
                },
            }
        }
    }
}

/// `secret` under the server's public key, which comes as PEM.
fn encrypted(pem: &[u8], secret: &[u8]) -> Result<Vec<u8>, ClientError> {
    let key = PublicEncryptingKey::from_der(&sha2::public_key(pem)?).map_err(|_| ClientError::PublicKey)?;
    let key = OaepPublicEncryptingKey::new(key).map_err(|_| ClientError::PublicKey)?;
    let mut secret_text = vec![0; key.ciphertext_size()];
    let len = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, secret, &mut secret_text, None)
        .map_err(|_| ClientError::PublicKey)?
        .len();
    secret_text.truncate(len);
    Ok(secret_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_none_is_an_error() {
        assert!(matches!(encrypted(b"Zm9v", b"secret"), Err(ClientError::PublicKey)));
    }
}
