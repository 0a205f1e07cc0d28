//! Lines with a longest length: what the other end sends never decides how much memory this end takes.

use std::io::{self, BufRead, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The next line without its end; `None` when the other end has closed.
pub fn read_line(reader: &mut impl BufRead, longest: usize) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let available = reader.fill_buf()?;
        if available.is_empty() {
            return match line.is_empty() {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        let (taken, ended) = match available.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end, true),
            None => (available.len(), false),
        };
        if line.len() + taken > longest {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("a line of more than {longest} bytes"),
            ));
        }
        line.extend_from_slice(&available[..taken]);
        reader.consume(taken + usize::from(ended));
        if ended {
            return Ok(Some(line));
        }
    }
}

pub fn read_json<T: DeserializeOwned>(reader: &mut impl BufRead, longest: usize) -> io::Result<Option<T>> {
    match read_line(reader, longest)? {
        Some(line) => Ok(Some(serde_json::from_slice(&line)?)),
        None => Ok(None),
    }
}

pub fn write_json(writer: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_and_have_a_longest_length() {
        let mut reader = &b"one\ntwo\nthree"[..];
        assert_eq!(read_line(&mut reader, 3).unwrap(), Some(b"one".to_vec()));
        assert_eq!(read_line(&mut reader, 3).unwrap(), Some(b"two".to_vec()));
        assert_eq!(
            read_line(&mut reader, 3).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
        assert_eq!(
            read_line(&mut &b"cut"[..], 9).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert_eq!(read_line(&mut &b""[..], 9).unwrap(), None);
    }
}
