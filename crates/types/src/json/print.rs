//! Documents as text: `{"a": 1, "b": [true, null]}`.

use super::{JsonError, JsonRef, JsonView, parse};
use crate::number;
use crate::value::utf8_string;
use governor::bulk;

impl JsonRef<'_> {
    /// Appends the text on one line.
    pub fn write(self, out: &mut Vec<u8>) {
        write(self, out, None);
    }

    /// JSON_PRETTY: a member or element per line, indented by two spaces.
    pub fn pretty(self) -> String {
        let mut out = Vec::new();
        write(self, &mut out, Some(0));
        utf8_string(out).expect("JSON prints as UTF-8")
    }
}

/// More than a number or a time takes, with what stands around it.
const SCALAR_MAX: usize = 512;

fn write(json: JsonRef<'_>, out: &mut Vec<u8>, indent: Option<usize>) {
    // Cut short, the text is thrown away with the statement.
    if !governor::go_on() {
        return;
    }
    bulk::make_room(out, SCALAR_MAX);
    match json.view() {
        JsonView::Null => out.extend_from_slice(b"null"),
        JsonView::Bool(v) => out.extend_from_slice(if v { b"true" } else { b"false" }),
        JsonView::Int(v) => number::write_i64(v, out),
        JsonView::UInt(v) => number::write_u64(v, out),
        JsonView::Double(v) => write_json_double(v, out),
        JsonView::Decimal(v) => v.write(out),
        JsonView::Str(v) => write_quoted(v, out),
        JsonView::Date(v) => quoted(out, |out| v.write(out)),
        JsonView::Time(v) => quoted(out, |out| crate::time::Time { fsp: 6, ..v }.write(out)),
        JsonView::DateTime(v) => quoted(out, |out| crate::time::DateTime { fsp: 6, ..v }.write(out)),
        JsonView::Opaque(ty, bytes) => quoted(out, |out| {
            out.extend_from_slice(b"base64:type");
            number::write_u64(ty.into(), out);
            out.push(b':');
            write_base64(bytes, out);
        }),
        JsonView::Array(array) => {
            let items = array.iter().map(|item| (None, item));
            write_container([b'[', b']'], items, out, indent);
        }
        JsonView::Object(object) => {
            let members = object.iter().map(|(name, value)| (Some(name), value));
            write_container([b'{', b'}'], members, out, indent);
        }
    }
}

fn write_container<'a>(
    [open, close]: [u8; 2],
    parts: impl ExactSizeIterator<Item = (Option<&'a str>, JsonRef<'a>)>,
    out: &mut Vec<u8>,
    indent: Option<usize>,
) {
    let new_line = |level: usize, out: &mut Vec<u8>| {
        out.push(b'\n');
        out.resize(out.len() + 2 * level, b' ');
    };
    let empty = parts.len() == 0;
    out.push(open);
    for (i, (name, value)) in parts.enumerate() {
        match indent {
            Some(level) => {
                if i > 0 {
                    out.push(b',');
                }
                new_line(level + 1, out);
            }
            None if i > 0 => out.extend_from_slice(b", "),
            None => {}
        }
        if let Some(name) = name {
            write_quoted(name, out);
            out.extend_from_slice(b": ");
        }
        write(value, out, indent.map(|level| level + 1));
    }
    if let (Some(level), false) = (indent, empty) {
        new_line(level, out);
    }
    out.push(close);
}

/// A double stays one: 1.0, not 1.
fn write_json_double(v: f64, out: &mut Vec<u8>) {
    let start = out.len();
    number::write_double(v, out);
    if out[start..].iter().all(|b| b.is_ascii_digit() || *b == b'-') {
        out.extend_from_slice(b".0");
    }
}

fn quoted(out: &mut Vec<u8>, content: impl FnOnce(&mut Vec<u8>)) {
    out.push(b'"');
    content(out);
    out.push(b'"');
}

fn write_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    loop {
        let plain = bulk::prefix_len(rest, |b| b >= 0x20 && b != b'"' && b != b'\\');
        bulk::append(out, &rest[..plain]);
        let Some(&special) = rest.get(plain) else { break };
        rest = &rest[plain + 1..];
        governor::pause();
        match special {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', special]),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.push(b'"');
}

fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bulk::make_room(out, bytes.len() / 3 * 4 + 4);
    for chunk in bytes.chunks(3) {
        governor::pause();
        let word = chunk.iter().fold(0u32, |word, &b| word << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let sextet = word >> (18 - 6 * i) & 63;
            out.push(if i <= chunk.len() {
                ALPHABET[sextet as usize]
            } else {
                b'='
            });
        }
    }
}

/// JSON_QUOTE.
pub fn quote(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_quoted(text, &mut out);
    utf8_string(out).expect("UTF-8 with ASCII inserted")
}

/// JSON_UNQUOTE of a string: of one in quotes the content, of another itself. An error for bad escapes within quotes.
pub fn unquote(text: &str) -> Result<String, JsonError> {
    if text.len() < 2 || !text.starts_with('"') || !text.ends_with('"') {
        return Ok(bulk::copy_text(text));
    }
    let (content, consumed) = parse::parse_string(text)?;
    if consumed < text.len() {
        let message = "The document root must not be followed by other values.";
        return Err(JsonError {
            message,
            position: consumed,
        });
    }
    Ok(content)
}
