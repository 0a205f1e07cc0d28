//! Values to JSON.

use super::{Invalid, JsonSettings};
use crate::frame::{Frame, Kind, Raised};
use crate::number::write_g;

pub fn encode(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if frame.args() != 1 {
        return Err(frame.bad_argument(1, "expected 1 argument"));
    }
    let mut encoder = Encoder {
        settings: frame.context().json.get(),
        out: Vec::new(),
        depth: 0,
    };
    frame.push_copy(1);
    encoder.value(frame)?;
    frame.push_bytes(&encoder.out);
    Ok(1)
}

struct Encoder {
    settings: JsonSettings,
    out: Vec<u8>,
    depth: i32,
}

impl Encoder {
    /// Writes the value on the top.
    fn value(&mut self, frame: &mut Frame<'_>) -> Result<(), Raised> {
        frame.tick()?;
        frame.ensure(self.out.len())?;
        match frame.kind(-1) {
            Kind::String => self.string(frame, frame.bytes(-1).unwrap_or_default())?,
            Kind::Number => self.number(frame)?,
            Kind::Boolean if frame.boolean(-1) => self.out.extend_from_slice(b"true"),
            Kind::Boolean => self.out.extend_from_slice(b"false"),
            Kind::Nil => self.out.extend_from_slice(b"null"),
            Kind::LightUserdata if frame.pointer(-1).is_null() => self.out.extend_from_slice(b"null"),
            Kind::Table => {
                self.depth += 1;
                if self.depth > self.settings.encode_depth || frame.reserve(4).is_err() || governor::descend().is_err()
                {
                    let text = format!("Cannot serialise, excessive nesting ({})", self.depth);
                    return Err(frame.raise_here(&text));
                }
                match self.array_len(frame)? {
                    Some(len) => self.array(frame, len)?,
                    None => self.object(frame)?,
                }
                self.depth -= 1;
            }
            kind => return Err(refuse(frame, kind, "type not supported")),
        }
        Ok(())
    }

    /// How long a table is as an array; none: it is an object.
    fn array_len(&self, frame: &mut Frame<'_>) -> Result<Option<i32>, Raised> {
        let (mut max, mut items) = (0.0f64, 0i64);
        let mut is_array = true;
        frame.for_each(-1, |frame| {
            frame.tick()?;
            let key = match frame.kind(-2) {
                Kind::Number => frame.number(-2).filter(|key| key.fract() == 0.0 && *key >= 1.0),
                _ => None,
            };
            match key {
                Some(key) => {
                    max = max.max(key);
                    items += 1;
                }
                None => is_array = false,
            }
            Ok::<(), Raised>(())
        })?;
        if !is_array || items == 0 {
            return Ok(None);
        }
        let ratio = i64::from(self.settings.sparse_ratio);
        if ratio > 0 && max > (items * ratio) as f64 && max > f64::from(self.settings.sparse_safe) {
            return match self.settings.sparse_to_object {
                true => Ok(None),
                false => Err(refuse(frame, Kind::Table, "excessively sparse array")),
            };
        }
        Ok(Some(max.min(f64::from(i32::MAX)) as i32))
    }

    fn array(&mut self, frame: &mut Frame<'_>, len: i32) -> Result<(), Raised> {
        self.out.push(b'[');
        for index in 1..=len {
            if index > 1 {
                self.out.push(b',');
            }
            frame.get_index(-1, index);
            self.value(frame)?;
            frame.pop(1);
        }
        self.out.push(b']');
        Ok(())
    }

    fn object(&mut self, frame: &mut Frame<'_>) -> Result<(), Raised> {
        self.out.push(b'{');
        let mut is_first = true;
        frame.for_each(-1, |frame| {
            if !std::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            frame.push_copy(-2);
            match frame.kind(-1) {
                Kind::Number => {
                    self.out.push(b'"');
                    self.number(frame)?;
                    self.out.push(b'"');
                }
                Kind::String => self.string(frame, frame.bytes(-1).unwrap_or_default())?,
                kind => return Err(refuse(frame, kind, "table key must be a number or string")),
            }
            frame.pop(1);
            self.out.push(b':');
            self.value(frame)
        })?;
        self.out.push(b'}');
        Ok(())
    }

    fn number(&mut self, frame: &Frame<'_>) -> Result<(), Raised> {
        let value = frame.number(-1).unwrap_or_default();
        if value.is_finite() {
            write_g(value, self.settings.precision as usize, &mut self.out);
            return Ok(());
        }
        match self.settings.encodes_invalid {
            Invalid::Error => return Err(refuse(frame, Kind::Number, "must not be NaN or Inf")),
            Invalid::Null => self.out.extend_from_slice(b"null"),
            Invalid::Written if value.is_nan() => self.out.extend_from_slice(b"nan"),
            Invalid::Written => write_g(value, self.settings.precision as usize, &mut self.out),
        }
        Ok(())
    }

    fn string(&mut self, frame: &Frame<'_>, bytes: &[u8]) -> Result<(), Raised> {
        frame.ensure(self.out.len() + bytes.len())?;
        self.out.push(b'"');
        for piece in bytes.chunks(governor::bulk::PIECE) {
            frame.tick()?;
            for &byte in piece {
                match byte {
                    b'"' | b'\\' | b'/' => self.out.extend_from_slice(&[b'\\', byte]),
                    8 => self.out.extend_from_slice(b"\\b"),
                    b'\t' => self.out.extend_from_slice(b"\\t"),
                    b'\n' => self.out.extend_from_slice(b"\\n"),
                    12 => self.out.extend_from_slice(b"\\f"),
                    b'\r' => self.out.extend_from_slice(b"\\r"),
                    0..32 | 127 => self.out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                    _ => self.out.push(byte),
                }
            }
        }
        self.out.push(b'"');
        Ok(())
    }
}

fn refuse(frame: &Frame<'_>, kind: Kind, why: &str) -> Raised {
    frame.raise_here(&format!("Cannot serialise {}: {why}", kind.name()))
}
