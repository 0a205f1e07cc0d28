//! From the greeting to the plugin switch.
//!
//! ```text
//!   server                            client
//!     │ ── Greeting (nonce, plugin) ──▶ │
//!     │ ◀── SslRequest, then TLS ────── │  if it wants TLS
//!     │ ◀── Login (user, answer, …) ─── │
//!     │ ── AuthSwitch (plugin) ───────▶ │  if the account uses another plugin
//!     │ ◀── answer ──────────────────── │
//!     │ ── AuthMoreData … ────────────▶ │  the plugin's own conversation
//!     │ ── OK or ERR ─────────────────▶ │
//! ```

use crate::auth::Nonce;
use crate::{Capabilities, Malformed, Reader, Status, put};

pub const PROTOCOL_VERSION: u8 = 10;
const AUTH_SWITCH: u8 = 0xfe;
const AUTH_MORE_DATA: u8 = 0x01;

/// The server's first packet (`HandshakeV10`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting<'a> {
    pub server_version: &'a [u8],
    pub connection_id: u32,
    pub nonce: Nonce,
    pub capabilities: Capabilities,
    /// The low byte of the default collation's number.
    pub collation: u8,
    pub status: Status,
    pub plugin: &'a [u8],
}

impl<'a> Greeting<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (nonce_head, nonce_tail) = self.nonce.0.split_at(8);
        out.push(PROTOCOL_VERSION);
        put::nul_bytes(out, self.server_version);
        put::u32(out, self.connection_id);
        put::nul_bytes(out, nonce_head);
        put::u16(out, self.capabilities.0 as u16);
        out.push(self.collation);
        put::u16(out, self.status.0);
        put::u16(out, (self.capabilities.0 >> 16) as u16);
        out.push(Nonce::LEN as u8 + 1);
        out.extend_from_slice(&[0; 10]);
        put::nul_bytes(out, nonce_tail);
        put::nul_bytes(out, self.plugin);
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8("protocol version")? != PROTOCOL_VERSION {
            return Err(Malformed("protocol version"));
        }
        let server_version = reader.nul_bytes("server version")?;
        let connection_id = reader.u32("connection id")?;
        let nonce_head = reader.bytes(8, "nonce")?;
        reader.u8("filler")?;
        let capabilities_low = reader.u16("capabilities")?;
        let collation = reader.u8("collation")?;
        let status = Status(reader.u16("status")?);
        let capabilities_high = reader.u16("capabilities")?;
        let nonce_len = usize::from(reader.u8("nonce length")?);
        reader.bytes(10, "filler")?;
        let nonce_tail = reader.bytes(nonce_len.saturating_sub(8).max(13), "nonce")?;
        let nonce = Nonce::from_parts(nonce_head, nonce_tail)?;
        let capabilities = Capabilities(u32::from(capabilities_high) << 16 | u32::from(capabilities_low));
        let plugin = if capabilities.contains(Capabilities::PLUGIN_AUTH) {
            reader.nul_or_rest()
        } else {
            b""
        };
        Ok(Greeting {
            server_version,
            connection_id,
            nonce,
            capabilities,
            collation,
            status,
            plugin,
        })
    }
}

/// The short login that asks for TLS: the first 32 bytes of a [`Login`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SslRequest {
    pub capabilities: Capabilities,
    pub packet_len_max: u32,
    pub collation: u8,
}

impl SslRequest {
    pub fn encode(&self, out: &mut Vec<u8>) {
        put::u32(out, (self.capabilities | Capabilities::SSL).0);
        put::u32(out, self.packet_len_max);
        out.push(self.collation);
        out.extend_from_slice(&[0; 23]);
    }

    /// The request, if `payload` is one and not a whole [`Login`].
    pub fn decode(payload: &[u8]) -> Option<Self> {
        let reader = &mut Reader::new(payload);
        let fixed = read_fixed(reader).ok()?;
        (reader.is_empty() && fixed.capabilities.contains(Capabilities::SSL)).then_some(fixed)
    }
}

/// The part that both forms of the client's first packet begin with.
fn read_fixed(reader: &mut Reader) -> Result<SslRequest, Malformed> {
    let capabilities = Capabilities(reader.u32("capabilities")?);
    let packet_len_max = reader.u32("max packet size")?;
    let collation = reader.u8("collation")?;
    reader.bytes(23, "filler")?;
    Ok(SslRequest {
        capabilities,
        packet_len_max,
        collation,
    })
}

/// The client's answer to the greeting (`HandshakeResponse41`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login<'a> {
    /// What the client can do; the session uses what the greeting offered too.
    pub capabilities: Capabilities,
    pub packet_len_max: u32,
    pub collation: u8,
    pub user: &'a [u8],
    /// What the client's plugin computed from the nonce and the password.
    pub auth_answer: &'a [u8],
    pub database: Option<&'a [u8]>,
    /// The plugin that `auth_answer` belongs to.
    pub plugin: Option<&'a [u8]>,
    pub attributes: Attributes<'a>,
    /// How much the client wants packed, where zstd is among the ways that it knows.
    pub zstd_level: Option<u8>,
}

impl<'a> Login<'a> {
    /// `offered` is what the greeting announced: fields are present by the flags that both sides have.
    pub fn decode(payload: &'a [u8], offered: Capabilities) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        let SslRequest {
            capabilities,
            packet_len_max,
            collation,
        } = read_fixed(reader)?;
        if !capabilities.contains(Capabilities::PROTOCOL_41) {
            return Err(Malformed("protocol before 4.1"));
        }
        let has = |flag| (capabilities & offered).contains(flag);
        let user = reader.nul_bytes("user")?;
        let auth_answer = if has(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            reader.lenenc_bytes("auth answer")?
        } else if has(Capabilities::SECURE_CONNECTION) {
            let len = reader.u8("auth answer length")?;
            reader.bytes(len.into(), "auth answer")?
        } else {
            reader.nul_or_rest()
        };
        let database = (has(Capabilities::CONNECT_WITH_DB) && !reader.is_empty()).then(|| reader.nul_or_rest());
        let plugin = (has(Capabilities::PLUGIN_AUTH) && !reader.is_empty()).then(|| reader.nul_or_rest());
        let attributes = if has(Capabilities::CONNECT_ATTRS) && !reader.is_empty() {
            Attributes::read(reader)?
        } else {
            Attributes::default()
        };
        let zstd_level = (has(Capabilities::ZSTD_COMPRESSION) && !reader.is_empty())
            .then(|| reader.u8("compression level"))
            .transpose()?;
        Ok(Login {
            capabilities,
            packet_len_max,
            collation,
            user,
            auth_answer,
            database,
            plugin,
            attributes,
            zstd_level,
        })
    }

    /// Which fields are written follows from `capabilities`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let has = |flag| self.capabilities.contains(flag);
        put::u32(out, self.capabilities.0);
        put::u32(out, self.packet_len_max);
        out.push(self.collation);
        out.extend_from_slice(&[0; 23]);
        put::nul_bytes(out, self.user);
        if has(Capabilities::PLUGIN_AUTH_LENENC_DATA) {
            put::lenenc_bytes(out, self.auth_answer);
        } else {
            out.push(self.auth_answer.len() as u8);
            out.extend_from_slice(self.auth_answer);
        }
        if has(Capabilities::CONNECT_WITH_DB) {
            put::nul_bytes(out, self.database.unwrap_or_default());
        }
        if has(Capabilities::PLUGIN_AUTH) {
            put::nul_bytes(out, self.plugin.unwrap_or_default());
        }
        if has(Capabilities::CONNECT_ATTRS) {
            put::lenenc_bytes(out, self.attributes.encoded);
        }
        if has(Capabilities::ZSTD_COMPRESSION) {
            out.push(self.zstd_level.unwrap_or_default());
        }
    }
}

/// Connection attributes: pairs of names and values that a client tells about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes<'a> {
    encoded: &'a [u8],
}

impl<'a> Attributes<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let encoded = reader.lenenc_bytes("connection attributes")?;
        let attributes = Attributes { encoded };
        let pairs = &mut Reader::new(encoded);
        while !pairs.is_empty() {
            pairs.lenenc_bytes("attribute name")?;
            pairs.lenenc_bytes("attribute value")?;
        }
        Ok(attributes)
    }

    /// Encodes pairs into `buffer` and refers to it, for a client's [`Login`].
    pub fn from_pairs(pairs: &[(&str, &str)], buffer: &'a mut Vec<u8>) -> Self {
        for (name, value) in pairs {
            put::lenenc_bytes(buffer, name.as_bytes());
            put::lenenc_bytes(buffer, value.as_bytes());
        }
        Attributes { encoded: buffer }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let mut pairs = Reader::new(self.encoded);
        std::iter::from_fn(move || Some((pairs.lenenc_bytes("name").ok()?, pairs.lenenc_bytes("value").ok()?)))
    }
}

/// The server asks for the answer of another plugin, or for a new answer under COM_CHANGE_USER.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthSwitch<'a> {
    pub plugin: &'a [u8],
    pub nonce: Nonce,
}

impl<'a> AuthSwitch<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(AUTH_SWITCH);
        put::nul_bytes(out, self.plugin);
        put::nul_bytes(out, &self.nonce.0);
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8("auth switch")? != AUTH_SWITCH {
            return Err(Malformed("auth switch"));
        }
        let plugin = reader.nul_bytes("plugin")?;
        let nonce = Nonce::from_parts(reader.bytes(Nonce::LEN, "nonce")?, &[])?;
        Ok(AuthSwitch { plugin, nonce })
    }
}

/// A message of the plugin's own conversation, from the server.
pub fn encode_auth_more_data(out: &mut Vec<u8>, data: &[u8]) {
    out.push(AUTH_MORE_DATA);
    out.extend_from_slice(data);
}

pub fn decode_auth_more_data(payload: &[u8]) -> Result<&[u8], Malformed> {
    match payload {
        [AUTH_MORE_DATA, data @ ..] => Ok(data),
        _ => Err(Malformed("auth data")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nonce() -> Nonce {
        Nonce(*b"abcdefghijklmnopqrst")
    }

    #[test]
    fn greeting_reads_back() {
        let greeting = Greeting {
            server_version: b"8.0.36-LatsDB-0.1.0",
            connection_id: 0x0102_0304,
            nonce: nonce(),
            capabilities: Capabilities::PLUGIN_AUTH | Capabilities::PROTOCOL_41,
            collation: 255,
            status: Status::AUTOCOMMIT,
            plugin: b"caching_sha2_password",
        };
        let mut out = Vec::new();
        greeting.encode(&mut out);
        assert_eq!(Greeting::decode(&out), Ok(greeting));
    }

    #[test]
    fn login_reads_back_with_every_field() {
        let mut buffer = Vec::new();
        let login = Login {
            capabilities: Capabilities::PROTOCOL_41
                | Capabilities::CONNECT_WITH_DB
                | Capabilities::PLUGIN_AUTH
                | Capabilities::PLUGIN_AUTH_LENENC_DATA
                | Capabilities::CONNECT_ATTRS
                | Capabilities::ZSTD_COMPRESSION,
            packet_len_max: 1 << 24,
            collation: 45,
            user: b"root",
            auth_answer: &[7; 32],
            database: Some(b"test"),
            plugin: Some(b"mysql_native_password"),
            attributes: Attributes::from_pairs(&[("_os", "Linux"), ("_pid", "7")], &mut buffer),
            zstd_level: Some(7),
        };
        let mut out = Vec::new();
        login.encode(&mut out);
        let decoded = Login::decode(&out, Capabilities(u32::MAX)).unwrap();
        assert_eq!(decoded, login);
        let pairs: Vec<_> = decoded.attributes.iter().collect();
        assert_eq!(pairs, [(&b"_os"[..], &b"Linux"[..]), (b"_pid", b"7")]);
    }

    #[test]
    fn ssl_request_is_told_from_a_login() {
        let request = SslRequest {
            capabilities: Capabilities::SSL,
            packet_len_max: 5,
            collation: 45,
        };
        let mut out = Vec::new();
        request.encode(&mut out);
        assert_eq!(SslRequest::decode(&out), Some(request));
        out.push(0);
        assert_eq!(SslRequest::decode(&out), None);
    }

    #[test]
    fn switch_and_more_data_read_back() {
        let switch = AuthSwitch {
            plugin: b"mysql_native_password",
            nonce: nonce(),
        };
        let mut out = Vec::new();
        switch.encode(&mut out);
        assert_eq!(AuthSwitch::decode(&out), Ok(switch));
        out.clear();
        encode_auth_more_data(&mut out, &[4]);
        assert_eq!(decode_auth_more_data(&out), Ok(&[4][..]));
    }
}
