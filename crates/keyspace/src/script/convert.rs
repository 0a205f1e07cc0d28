//! Values of Lua and replies, each as Redis makes them of the other.

use lua::{Frame, Kind, Raised};
use redis_wire::number::parse_f64;
use redis_wire::{Protocol, Reply};

/// An integer as C makes it of a floating-point number.
fn integer_of(value: f64) -> i64 {
    match (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        true => value as i64,
        false => i64::MIN,
    }
}

/// Writes the value on the top. `protocol` is the form that the script has chosen, which decides about booleans.
pub fn write_value(frame: &mut Frame<'_>, protocol: Protocol, reply: &mut Reply) -> Result<(), Raised> {
    frame.tick()?;
    frame.ensure(reply.bytes.len())?;
    match frame.kind(-1) {
        Kind::String => {
            let bytes = frame.bytes(-1).unwrap_or_default();
            frame.ensure(reply.bytes.len() + bytes.len())?;
            reply.bulk(bytes);
        }
        Kind::Number => reply.integer(integer_of(frame.number(-1).unwrap_or_default())),
        Kind::Boolean => match (frame.boolean(-1), protocol) {
            (value, Protocol::Resp3) => reply.boolean(value),
            (true, Protocol::Resp2) => reply.integer(1),
            (false, Protocol::Resp2) => reply.null(),
        },
        Kind::Table => match frame.reserve(4).is_err() || governor::descend().is_err() {
            true => reply.error("ERR reached lua stack limit"),
            false => write_table(frame, protocol, reply)?,
        },
        _ => reply.null(),
    }
    Ok(())
}

fn write_table(frame: &mut Frame<'_>, protocol: Protocol, reply: &mut Reply) -> Result<(), Raised> {
    let is_text = |kind: Kind| kind == Kind::String;
    if field(frame, "err", is_text) {
        write_line(b'-', frame.bytes(-1).unwrap_or_default(), reply);
    } else if field(frame, "ok", is_text) {
        write_line(b'+', frame.bytes(-1).unwrap_or_default(), reply);
    } else if field(frame, "double", |kind| kind == Kind::Number) {
        double(frame.number(-1).unwrap_or_default(), reply);
    } else if field(frame, "big_number", is_text) {
        reply.big_number(&on_one_line(frame.bytes(-1).unwrap_or_default()));
    } else if field(frame, "verbatim_string", |kind| kind == Kind::Table) {
        verbatim(frame, reply);
    } else if field(frame, "map", |kind| kind == Kind::Table) {
        let map = reply.open();
        let mut len = 0;
        let walked = frame.for_each(-1, |frame| {
            len += 1;
            frame.push_copy(-2);
            write_value(frame, protocol, reply)?;
            frame.pop(1);
            write_value(frame, protocol, reply)
        });
        reply.close(map, |reply| reply.map(len));
        walked?;
    } else if field(frame, "set", |kind| kind == Kind::Table) {
        let set = reply.open();
        let mut len = 0;
        let walked = frame.for_each(-1, |frame| {
            len += 1;
            frame.push_copy(-2);
            write_value(frame, protocol, reply)?;
            frame.pop(1);
            Ok(())
        });
        reply.close(set, |reply| reply.set(len));
        walked?;
    } else {
        // The first nil ends an array.
        let mut len = 0;
        loop {
            frame.get_index(-1, len + 1);
            let is_over = frame.kind(-1) == Kind::Nil;
            frame.pop(1);
            if is_over {
                break;
            }
            frame.tick()?;
            len += 1;
        }
        reply.array(len as usize);
        for index in 1..=len {
            frame.get_index(-1, index);
            write_value(frame, protocol, reply)?;
            frame.pop(1);
        }
        return Ok(());
    }
    frame.pop(1);
    Ok(())
}

/// Writes a line of text, whatever bytes are in it.
pub fn write_line(kind: u8, text: &[u8], reply: &mut Reply) {
    reply.bytes.push(kind);
    reply.bytes.extend_from_slice(&on_one_line(text));
    reply.bytes.extend_from_slice(b"\r\n");
}

fn on_one_line(text: &[u8]) -> Vec<u8> {
    let shown = |byte: &u8| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte };
    text.iter().map(shown).collect()
}

/// Pushes a field of the table on the top, if it is of such a type.
fn field(frame: &mut Frame<'_>, name: &str, is_such: impl Fn(Kind) -> bool) -> bool {
    frame.get_field(-1, name);
    let is_such = is_such(frame.kind(-1));
    if !is_such {
        frame.pop(1);
    }
    is_such
}

/// With as many digits as it takes to read the same number again, of 17.
fn double(value: f64, reply: &mut Reply) {
    let mut text = Vec::with_capacity(24);
    lua::number::write_g(value, 17, &mut text);
    match reply.protocol {
        Protocol::Resp2 => reply.bulk(&text),
        Protocol::Resp3 => {
            reply.bytes.push(b',');
            reply.bytes.extend_from_slice(&text);
            reply.bytes.extend_from_slice(b"\r\n");
        }
    }
}

fn verbatim(frame: &mut Frame<'_>, reply: &mut Reply) {
    frame.get_field(-1, "format");
    frame.get_field(-2, "string");
    match (frame.bytes(-2), frame.bytes(-1)) {
        (Some(format), Some(text)) => {
            let mut short = [b' '; 3];
            format.iter().zip(&mut short).for_each(|(byte, place)| *place = *byte);
            reply.verbatim(&String::from_utf8_lossy(&short), text);
        }
        _ => reply.null(),
    }
    frame.pop(2);
}

// --- replies to values ---

/// Pushes what a reply stands for; how long it is.
pub fn push_reply(frame: &mut Frame<'_>, bytes: &[u8]) -> Result<usize, Raised> {
    frame.tick()?;
    frame.reserve(4)?;
    if let Err(stop) = governor::descend() {
        return Err(frame.stopped(stop));
    }
    let end = bytes.windows(2).position(|two| two == b"\r\n").unwrap_or(bytes.len());
    let (kind, line) = (bytes.first().copied().unwrap_or_default(), &bytes[1.min(end)..end]);
    let behind = (end + 2).min(bytes.len());
    let len = || std::str::from_utf8(line).ok().and_then(|line| line.parse::<i64>().ok());
    match kind {
        b'+' => table_of(frame, "ok", line),
        b'-' => {
            frame.new_table(0, 2);
            frame.push_bytes(line);
            frame.set_field(-2, "err");
            frame.push_boolean(true);
            frame.set_field(-2, "ignore_error_stats_update");
        }
        b':' => frame.push_number(len().unwrap_or_default() as f64),
        b'$' | b'=' => {
            let Some(len) = len().and_then(|len| usize::try_from(len).ok()) else {
                frame.push_boolean(false);
                return Ok(behind);
            };
            let text = &bytes[behind..behind + len];
            match kind {
                b'$' => frame.push_bytes(text),
                _ => {
                    frame.new_table(0, 1);
                    frame.new_table(0, 2);
                    frame.push_bytes(&text[..3]);
                    frame.set_field(-2, "format");
                    frame.push_bytes(&text[4..]);
                    frame.set_field(-2, "string");
                    frame.set_field(-2, "verbatim_string");
                }
            }
            return Ok(behind + len + 2);
        }
        b'_' => frame.push_nil(),
        b'#' => frame.push_boolean(line == b"t"),
        b',' => {
            frame.new_table(0, 1);
            frame.push_number(parse_f64(line).unwrap_or(f64::NAN));
            frame.set_field(-2, "double");
        }
        b'(' => table_of(frame, "big_number", line),
        b'*' | b'>' | b'~' | b'%' => {
            let Some(len) = len().and_then(|len| usize::try_from(len).ok()) else {
                frame.push_boolean(false);
                return Ok(behind);
            };
            return push_elements(frame, kind, len, bytes, behind);
        }
        _ => frame.push_nil(),
    }
    Ok(behind)
}

fn push_elements(frame: &mut Frame<'_>, kind: u8, len: usize, bytes: &[u8], mut at: usize) -> Result<usize, Raised> {
    if matches!(kind, b'~' | b'%') {
        frame.new_table(0, 1);
    }
    match kind {
        b'*' | b'>' => frame.new_table(len, 0),
        _ => frame.new_table(0, len),
    }
    for index in 1..=len {
        at += push_reply(frame, &bytes[at..])?;
        match kind {
            b'*' | b'>' => frame.set_index(-2, index as i32),
            b'~' => {
                frame.push_boolean(true);
                set_unless_nil(frame);
            }
            _ => {
                at += push_reply(frame, &bytes[at..])?;
                set_unless_nil(frame);
            }
        }
    }
    match kind {
        b'~' => frame.set_field(-2, "set"),
        b'%' => frame.set_field(-2, "map"),
        _ => {}
    }
    Ok(at)
}

fn set_unless_nil(frame: &mut Frame<'_>) {
    let is_key = match frame.kind(-2) {
        Kind::Nil => false,
        Kind::Number => frame.number(-2).is_some_and(|key| !key.is_nan()),
        _ => true,
    };
    match is_key {
        true => frame.set(-3),
        false => frame.pop(2),
    }
}

fn table_of(frame: &mut Frame<'_>, name: &str, text: &[u8]) {
    frame.new_table(0, 1);
    frame.push_bytes(text);
    frame.set_field(-2, name);
}
