//! A statement and its parameters, as either protocol sends them.
//!
//! A workload has a [`Catalog`]: every statement that it will ever send, known before the first connection opens, so that each
//! connection prepares all of them up front and an execution is a few bytes copied into one packet.

use mysql_wire::command::code;
use mysql_wire::{Output, put};

/// The wire's code of an eight-byte integer and of a string, with the flags byte that follows it.
const TYPE_INT: [u8; 2] = [0x08, 0];
const TYPE_TEXT: [u8; 2] = [0xfd, 0];

/// What a workload may send.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Names under which latencies and errors are kept.
    pub kinds: Vec<&'static str>,
    pub statements: Vec<Statement>,
}

#[derive(Debug, Clone)]
pub struct Statement {
    /// Index in [`Catalog::kinds`].
    pub kind: usize,
    /// With `?` for each parameter.
    pub sql: String,
    pub protocol: Protocol,
    /// Keys that one execution looks up.
    pub key_lookups: u32,
    pub rows: RowUse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Text,
    Prepared,
}

/// What becomes of the rows of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowUse {
    /// Counted and skipped.
    Count,
    /// Kept until the next statement: the script reads them.
    Keep,
}

impl Catalog {
    /// The index of `name` among the kinds, added if it is new.
    pub fn kind(&mut self, name: &'static str) -> usize {
        match self.kinds.iter().position(|kind| *kind == name) {
            Some(index) => index,
            None => {
                self.kinds.push(name);
                self.kinds.len() - 1
            }
        }
    }

    /// Adds a statement whose rows are counted; gives its index.
    pub fn add(&mut self, kind: &'static str, sql: String, protocol: Protocol) -> usize {
        let kind = self.kind(kind);
        self.statements.push(Statement {
            kind,
            sql,
            protocol,
            key_lookups: 0,
            rows: RowUse::Count,
        });
        self.statements.len() - 1
    }
}

/// The parameters of one execution, in order. One buffer serves all executions of a worker.
#[derive(Debug, Default)]
pub struct Arguments {
    values: Vec<Argument>,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum Argument {
    Int(i64),
    /// Ends at this place of `text`, begins where the one before ended.
    Text {
        start: usize,
        end: usize,
    },
}

impl Arguments {
    pub fn clear(&mut self) {
        self.values.clear();
        self.text.clear();
    }

    pub fn int(&mut self, value: i64) {
        self.values.push(Argument::Int(value));
    }

    /// The bytes that `write` appends.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        let end = self.text.len();
        self.values.push(Argument::Text { start, end });
    }
}

/// How a connection sends one statement of the catalog.
#[derive(Debug, Clone)]
pub(crate) enum Handle {
    /// The text between the parameters: one more than there are parameters.
    Text { pieces: Vec<Vec<u8>> },
    /// `bound`: the server knows the parameters' types from an earlier execution.
    Prepared { id: u32, parameters: usize, bound: bool },
}

impl Handle {
    pub fn text(sql: &str) -> Handle {
        Handle::Text {
            pieces: sql.split('?').map(|piece| piece.as_bytes().to_vec()).collect(),
        }
    }

    /// Replaces `out` by the packet of one execution.
    pub fn encode(&mut self, arguments: &Arguments, out: &mut Vec<u8>) {
        out.clear();
        let mut output = Output::new(std::mem::take(out));
        output.packet(|out| match self {
            Handle::Text { pieces } => text_command(pieces, arguments, out),
            Handle::Prepared { id, parameters, bound } => {
                debug_assert_eq!(*parameters, arguments.values.len());
                execute(*id, std::mem::replace(bound, true), arguments, out);
            }
        });
        *out = output.into_bytes();
    }
}

fn text_command(pieces: &[Vec<u8>], arguments: &Arguments, out: &mut Vec<u8>) {
    debug_assert_eq!(pieces.len(), arguments.values.len() + 1);
    out.push(code::QUERY);
    let mut values = arguments.values.iter();
    for piece in pieces {
        out.extend_from_slice(piece);
        match values.next() {
            None => {}
            Some(Argument::Int(value)) => put::decimal_i64(out, *value),
            Some(Argument::Text { start, end }) => quoted(&arguments.text[*start..*end], out),
        }
    }
}

fn quoted(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if matches!(byte, b'\'' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

fn execute(id: u32, bound: bool, arguments: &Arguments, out: &mut Vec<u8>) {
    out.push(code::STMT_EXECUTE);
    put::u32(out, id);
    out.push(0);
    put::u32(out, 1);
    if arguments.values.is_empty() {
        return;
    }
    out.resize(out.len() + arguments.values.len().div_ceil(8), 0);
    out.push(u8::from(!bound));
    if !bound {
        for value in &arguments.values {
            out.extend_from_slice(match value {
                Argument::Int(_) => &TYPE_INT,
                Argument::Text { .. } => &TYPE_TEXT,
            });
        }
    }
    for value in &arguments.values {
        match value {
            Argument::Int(value) => put::u64(out, *value as u64),
            Argument::Text { start, end } => put::lenenc_bytes(out, &arguments.text[*start..*end]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_wire::Capabilities;
    use mysql_wire::column::ColumnType;
    use mysql_wire::command::Command;
    use mysql_wire::statement::ParameterType;
    use mysql_wire::value::BinaryValue;

    fn arguments() -> Arguments {
        let mut arguments = Arguments::default();
        arguments.int(-7);
        arguments.text(|out| out.extend_from_slice(b"it's"));
        arguments
    }

    #[test]
    fn text_carries_literals() {
        let mut out = Vec::new();
        Handle::text("UPDATE t SET c=? WHERE id=?").encode(
            &{
                let mut swapped = Arguments::default();
                swapped.text(|out| out.extend_from_slice(b"it's"));
                swapped.int(-7);
                swapped
            },
            &mut out,
        );
        assert_eq!(&out[4..], b"\x03UPDATE t SET c='it\\'s' WHERE id=-7");
        assert_eq!(out[..4], [out.len() as u8 - 4, 0, 0, 0]);
    }

    #[test]
    fn types_go_with_the_first_execution_only() {
        let mut handle = Handle::Prepared {
            id: 9,
            parameters: 2,
            bound: false,
        };
        let int = ParameterType {
            ty: ColumnType::LongLong,
            unsigned: false,
        };
        let text = ParameterType {
            ty: ColumnType::VarString,
            unsigned: false,
        };
        let mut out = Vec::new();
        for binds in [true, false, false] {
            handle.encode(&arguments(), &mut out);
            let Command::StmtExecute(execute) = Command::decode(&out[4..], Capabilities::default()).unwrap() else {
                panic!("an execution")
            };
            assert_eq!(execute.statement_id, 9);
            let mut values = execute.parameters(2).unwrap();
            let types: Option<Vec<_>> = values.types().map(|types| types.map(Result::unwrap).collect());
            assert_eq!(types, binds.then(|| vec![int, text]));
            assert_eq!(values.read(0, int).unwrap(), BinaryValue::Int(-7));
            assert_eq!(values.read(1, text).unwrap(), BinaryValue::Bytes(b"it's"));
        }
    }
}
