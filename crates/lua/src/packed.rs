//! `struct`: numbers and strings in a form that a format describes, as the library lua_struct 0.2 does it.
//!
//! ```text
//!   > <        big, little endian            b/B h/H l/L T   integers of 1, 2, 8, 8 bytes
//!   ![n]       alignment                     i[n] I[n]       integers of n bytes
//!   x          a byte of padding             f d             floating-point numbers
//!   c[n]       n bytes; c0: as many as the last number says    s   a string that ends with a zero
//! ```

use crate::frame::{Frame, Native, Raised};
use crate::library::add;

/// The widest integer.
const INTEGER_MAX: usize = 32;
const ALIGN_MAX: usize = 8;

const FUNCTIONS: &[(&str, Native)] = &[("pack", pack), ("unpack", unpack), ("size", size)];

pub(crate) fn fill(frame: &mut Frame<'_>) {
    add(frame, FUNCTIONS);
}

/// A format that is read option by option.
struct Format<'f> {
    rest: &'f [u8],
    is_big: bool,
    align: usize,
}

impl<'f> Format<'f> {
    fn of(frame: &Frame<'f>) -> Result<Format<'f>, Raised> {
        Ok(Format {
            rest: frame.check_bytes(1)?,
            is_big: cfg!(target_endian = "big"),
            align: 1,
        })
    }

    /// The next option and its size.
    fn next(&mut self, frame: &Frame<'_>) -> Result<Option<(u8, usize)>, Raised> {
        // C's string ends here.
        let Some((&option, rest)) = self.rest.split_first().filter(|(option, _)| **option != 0) else {
            return Ok(None);
        };
        self.rest = rest;
        let size = match option {
            b'B' | b'b' | b'x' => 1,
            b'H' | b'h' => 2,
            b'L' | b'l' | b'T' | b'd' => 8,
            b'f' => 4,
            b'c' => self.number(frame, 1)?,
            b'i' | b'I' => {
                let size = self.number(frame, 4)?;
                if size > INTEGER_MAX {
                    let text = format!("integral size {size} is larger than limit of {INTEGER_MAX}");
                    return Err(frame.raise_here(&text));
                }
                size
            }
            _ => 0,
        };
        Ok(Some((option, size)))
    }

    fn number(&mut self, frame: &Frame<'_>, default: usize) -> Result<usize, Raised> {
        let len = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if len == 0 {
            return Ok(default);
        }
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        let value = digits.iter().try_fold(0i32, |value, digit| {
            value.checked_mul(10)?.checked_add(i32::from(digit - b'0'))
        });
        match value {
            Some(value) => Ok(value as usize),
            None => Err(frame.raise_here("integral size overflow")),
        }
    }

    fn padding(&self, at: usize, option: u8, size: usize) -> usize {
        if size == 0 || option == b'c' {
            return 0;
        }
        let size = size.min(self.align);
        // Alignments are powers of two; so is what is smaller, or C computes this nonsense.
        (size.wrapping_sub(at & size.wrapping_sub(1))) & size.wrapping_sub(1)
    }

    fn control(&mut self, frame: &Frame<'_>, option: u8) -> Result<(), Raised> {
        match option {
            b' ' => {}
            b'>' => self.is_big = true,
            b'<' => self.is_big = false,
            b'!' => {
                let align = self.number(frame, ALIGN_MAX)?;
                if !align.is_power_of_two() {
                    return Err(frame.raise_here(&format!("alignment {align} is not a power of 2")));
                }
                self.align = align;
            }
            other => {
                let text = format!("invalid format option '{}'", char::from(other));
                return Err(frame.bad_argument(1, &text));
            }
        }
        Ok(())
    }
}

fn pack(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    let mut format = Format::of(frame)?;
    let mut out: Vec<u8> = Vec::new();
    let mut at = 2;
    while let Some((option, size)) = format.next(frame)? {
        frame.tick()?;
        let padding = format.padding(out.len(), option, size);
        out.resize(out.len() + padding, 0);
        match option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                put_integer(number(frame, at)?, size, format.is_big, &mut out);
                at += 1;
            }
            b'x' => out.push(0),
            b'f' => {
                let value = number(frame, at)? as f32;
                let bytes = if format.is_big {
                    value.to_be_bytes()
                } else {
                    value.to_le_bytes()
                };
                out.extend_from_slice(&bytes);
                at += 1;
            }
            b'd' => {
                let value = number(frame, at)?;
                let bytes = if format.is_big {
                    value.to_be_bytes()
                } else {
                    value.to_le_bytes()
                };
                out.extend_from_slice(&bytes);
                at += 1;
            }
            b'c' | b's' => {
                let bytes = frame.check_bytes(at)?;
                at += 1;
                let size = if size == 0 { bytes.len() } else { size };
                if bytes.len() < size {
                    return Err(frame.bad_argument(at, "string too short"));
                }
                frame.ensure(out.len() + size)?;
                governor::bulk::append(&mut out, &bytes[..size]);
                if option == b's' {
                    out.push(0);
                }
            }
            control => format.control(frame, control)?,
        }
    }
    frame.push_bytes(&out);
    Ok(1)
}

fn number(frame: &Frame<'_>, at: i32) -> Result<f64, Raised> {
    match at <= frame.args() {
        true => frame.check_number(at),
        false => Err(frame.bad_argument(at, "number expected, got nil")),
    }
}

fn put_integer(value: f64, size: usize, is_big: bool, out: &mut Vec<u8>) {
    let value = if value < 0.0 { value as i64 as u64 } else { value as u64 };
    let begin = out.len();
    for at in 0..size {
        out.push(if at < 8 { (value >> (8 * at)) as u8 } else { 0 });
    }
    if is_big {
        out[begin..].reverse();
    }
}

fn get_integer(bytes: &[u8], is_big: bool, is_signed: bool) -> f64 {
    let append = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    let value = match is_big {
        true => bytes.iter().fold(0, append),
        false => bytes.iter().rev().fold(0, append),
    };
    if !is_signed {
        return value as f64;
    }
    let unused = 64 - 8 * bytes.len().min(8) as u32;
    (match unused {
        64.. => 0,
        unused => (value << unused) as i64 >> unused,
    }) as f64
}

fn unpack(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    let mut format = Format::of(frame)?;
    let data = frame.check_bytes(2)?;
    let begin = match frame.args() {
        0..=2 => 1,
        _ => frame.check_number(3)? as i64,
    };
    if begin < 1 {
        return Err(frame.bad_argument(3, "offset must be 1 or greater"));
    }
    let mut at = (begin - 1) as usize;
    let mut results = 0;
    let part = |frame: &Frame<'_>, at: usize, size: usize| {
        data.get(at..)
            .and_then(|rest| rest.get(..size))
            .ok_or_else(|| frame.bad_argument(2, "data string too short"))
    };
    while let Some((option, mut size)) = format.next(frame)? {
        frame.tick()?;
        at = at.saturating_add(format.padding(at, option, size));
        let bytes = part(frame, at, size)?;
        frame.reserve(2)?;
        match option {
            b'b' | b'B' | b'h' | b'H' | b'l' | b'L' | b'T' | b'i' | b'I' => {
                frame.push_number(get_integer(bytes, format.is_big, option.is_ascii_lowercase()));
                results += 1;
            }
            b'x' => {}
            b'f' => {
                let bytes: [u8; 4] = bytes.try_into().expect("as many as it has");
                let value = if format.is_big {
                    f32::from_be_bytes(bytes)
                } else {
                    f32::from_le_bytes(bytes)
                };
                frame.push_number(f64::from(value));
                results += 1;
            }
            b'd' => {
                let bytes: [u8; 8] = bytes.try_into().expect("as many as it has");
                frame.push_number(if format.is_big {
                    f64::from_be_bytes(bytes)
                } else {
                    f64::from_le_bytes(bytes)
                });
                results += 1;
            }
            b'c' => {
                if size == 0 {
                    let Some(len) = frame.number(-1).filter(|_| results > 0) else {
                        return Err(frame.raise_here("format 'c0' needs a previous size"));
                    };
                    frame.pop(1);
                    results -= 1;
                    size = if len < 0.0 { usize::MAX } else { len as usize };
                }
                frame.push_bytes(part(frame, at, size)?);
                results += 1;
            }
            b's' => {
                let rest = &data[at..];
                let Some(len) = rest.iter().position(|byte| *byte == 0) else {
                    return Err(frame.raise_here("unfinished string in data"));
                };
                frame.push_bytes(&rest[..len]);
                size = len + 1;
                results += 1;
            }
            control => format.control(frame, control)?,
        }
        at += size;
    }
    frame.push_number((at + 1) as f64);
    Ok(results + 1)
}

fn size(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    let mut format = Format::of(frame)?;
    let mut at = 0usize;
    while let Some((option, size)) = format.next(frame)? {
        frame.tick()?;
        at = at.saturating_add(format.padding(at, option, size));
        match (option, size) {
            (b's', _) => return Err(frame.bad_argument(1, "option 's' has no fixed size")),
            (b'c', 0) => return Err(frame.bad_argument(1, "option 'c0' has no fixed size")),
            _ => {}
        }
        if !option.is_ascii_alphanumeric() {
            format.control(frame, option)?;
        }
        at = at.saturating_add(size);
    }
    frame.push_number(at as f64);
    Ok(1)
}
