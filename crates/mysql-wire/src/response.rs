//! OK, ERR and EOF: how every answer ends.

use crate::{Capabilities, Malformed, Reader, Status, put};

pub const OK: u8 = 0x00;
pub const EOF: u8 = 0xfe;
pub const ERR: u8 = 0xff;
pub const LOCAL_FILE: u8 = 0xfb;

/// Asks the client for a file of its own: it sends packets until an empty one.
pub fn local_file(out: &mut Vec<u8>, path: &[u8]) {
    out.push(LOCAL_FILE);
    out.extend_from_slice(path);
}

/// The end of a statement without rows, and, for clients with DEPRECATE_EOF, of the rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OkPacket<'a> {
    pub affected_rows: u64,
    pub last_insert_id: u64,
    pub status: Status,
    pub warnings: u16,
    /// Text for people, as "Rows matched: 1  Changed: 1  Warnings: 0".
    pub info: &'a [u8],
    /// What changed in the session; sent to clients with SESSION_TRACK when not empty.
    pub changes: &'a [SessionChange<'a>],
}

/// One change of the session's state that a client asked to be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange<'a> {
    SystemVariable {
        name: &'a [u8],
        value: &'a [u8],
    },
    Schema(&'a [u8]),
    State(&'a [u8]),
    TransactionCharacteristics(&'a [u8]),
    TransactionState(&'a [u8]),
    /// A kind that this crate does not know, with its data.
    Other {
        kind: u8,
        data: &'a [u8],
    },
}

/// Whether an OK packet ends a statement or a result set: the header byte differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OkKind {
    Statement,
    EndOfRows,
}

impl<'a> OkPacket<'a> {
    pub fn encode(&self, out: &mut Vec<u8>, kind: OkKind, capabilities: Capabilities) {
        out.push(match kind {
            OkKind::Statement => OK,
            OkKind::EndOfRows => EOF,
        });
        let tracked = capabilities.contains(Capabilities::SESSION_TRACK);
        let changed = tracked && !self.changes.is_empty();
        put::lenenc_int(out, self.affected_rows);
        put::lenenc_int(out, self.last_insert_id);
        put::u16(out, self.status.with(Status::SESSION_STATE_CHANGED, changed).0);
        put::u16(out, self.warnings);
        // With its length for every client, as servers do it (the documentation says otherwise).
        if changed || !self.info.is_empty() {
            put::lenenc_bytes(out, self.info);
        }
        if changed {
            put::lenenc_with(out, |out| self.changes.iter().for_each(|change| change.encode(out)));
        }
    }

    /// The fields up to the session changes, which [`OkPacket::decode_changes`] reads from the rest.
    pub fn decode(payload: &'a [u8]) -> Result<(Self, Reader<'a>), Malformed> {
        let mut reader = Reader::new(payload);
        if !matches!(reader.u8("OK")?, OK | EOF) {
            return Err(Malformed("OK"));
        }
        let affected_rows = reader.lenenc_int("affected rows")?;
        let last_insert_id = reader.lenenc_int("last insert id")?;
        let status = Status(reader.u16("status")?);
        let warnings = reader.u16("warnings")?;
        let info = if reader.is_empty() {
            &[]
        } else {
            reader.lenenc_bytes("info")?
        };
        Ok((
            OkPacket {
                affected_rows,
                last_insert_id,
                status,
                warnings,
                info,
                changes: &[],
            },
            reader,
        ))
    }

    pub fn decode_changes(mut rest: Reader<'a>) -> Result<Vec<SessionChange<'a>>, Malformed> {
        let mut changes = Vec::new();
        if !rest.is_empty() {
            let mut reader = Reader::new(rest.lenenc_bytes("session changes")?);
            while !reader.is_empty() {
                changes.push(SessionChange::read(&mut reader)?);
            }
        }
        Ok(changes)
    }
}

impl<'a> SessionChange<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        let (kind, single) = match *self {
            SessionChange::SystemVariable { name, value } => {
                out.push(0);
                put::lenenc_with(out, |out| {
                    put::lenenc_bytes(out, name);
                    put::lenenc_bytes(out, value);
                });
                return;
            }
            SessionChange::Other { kind, data } => {
                out.push(kind);
                put::lenenc_bytes(out, data);
                return;
            }
            SessionChange::Schema(name) => (1, name),
            SessionChange::State(flag) => (2, flag),
            SessionChange::TransactionCharacteristics(text) => (4, text),
            SessionChange::TransactionState(text) => (5, text),
        };
        out.push(kind);
        put::lenenc_with(out, |out| put::lenenc_bytes(out, single));
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let what = "session change";
        let kind = reader.u8(what)?;
        let data = reader.lenenc_bytes(what)?;
        let fields = &mut Reader::new(data);
        Ok(match kind {
            0 => SessionChange::SystemVariable {
                name: fields.lenenc_bytes(what)?,
                value: fields.lenenc_bytes(what)?,
            },
            1 => SessionChange::Schema(fields.lenenc_bytes(what)?),
            2 => SessionChange::State(fields.lenenc_bytes(what)?),
            4 => SessionChange::TransactionCharacteristics(fields.lenenc_bytes(what)?),
            5 => SessionChange::TransactionState(fields.lenenc_bytes(what)?),
            kind => SessionChange::Other { kind, data },
        })
    }
}

/// An error, with the five characters of its SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrPacket<'a> {
    pub code: u16,
    pub sqlstate: [u8; 5],
    pub message: &'a [u8],
}

impl<'a> ErrPacket<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        put::u16(out, self.code);
        out.push(b'#');
        out.extend_from_slice(&self.sqlstate);
        out.extend_from_slice(self.message);
    }

    /// Before the client's login its abilities are unknown and the SQLSTATE is left out.
    pub fn encode_without_sqlstate(&self, out: &mut Vec<u8>) {
        out.push(ERR);
        put::u16(out, self.code);
        out.extend_from_slice(self.message);
    }

    pub fn decode(payload: &'a [u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if reader.u8("error")? != ERR {
            return Err(Malformed("error"));
        }
        let code = reader.u16("error code")?;
        let mut sqlstate = *b"HY000";
        if reader.peek() == Some(b'#') {
            reader.u8("#")?;
            sqlstate = reader.array("sqlstate")?;
        }
        Ok(ErrPacket {
            code,
            sqlstate,
            message: reader.take_rest(),
        })
    }
}

/// The end of definitions or rows, for clients without DEPRECATE_EOF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EofPacket {
    pub warnings: u16,
    pub status: Status,
}

impl EofPacket {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(EOF);
        put::u16(out, self.warnings);
        put::u16(out, self.status.0);
    }

    pub fn decode(payload: &[u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(payload);
        if payload.len() > 8 || reader.u8("EOF")? != EOF {
            return Err(Malformed("EOF"));
        }
        Ok(EofPacket {
            warnings: reader.u16("warnings")?,
            status: Status(reader.u16("status")?),
        })
    }
}
