//! What all clients do, shown to those who want to see it (MONITOR).
//!
//! Each command is a line in the outbox of every client that monitors. Whoever does not read, and has too much in it, is sent away. While
//! nobody monitors, a command looks at one number.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::clients::Client;
use crate::hub::OUTBOX_MAX;

/// The clients of a node that monitor.
#[derive(Default)]
pub struct Monitors {
    count: AtomicUsize,
    clients: Mutex<Vec<Arc<Client>>>,
}

impl Monitors {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    pub fn begin(&self, client: &Arc<Client>) {
        let clients = &mut *self.clients.lock();
        clients.push(client.clone());
        self.count.store(clients.len(), Ordering::Relaxed);
    }

    pub fn end(&self, id: u64) {
        if self.is_empty() {
            return;
        }
        let clients = &mut *self.clients.lock();
        clients.retain(|client| client.id != id);
        self.count.store(clients.len(), Ordering::Relaxed);
    }

    /// Shows a command to all. `origin` is the address of its client, or `lua`.
    pub fn show(&self, micros: i64, db: u32, origin: &str, args: &[&[u8]]) {
        let line = line(micros, db, origin, args);
        for client in &*self.clients.lock() {
            if let Some(outbox) = client.outbox() {
                outbox.push(|reply| reply.bytes.extend_from_slice(&line));
            }
        }
    }
}

/// `+1700000000.000001 [0 127.0.0.1:50000] "SET" "k" "v"`
fn line(micros: i64, db: u32, origin: &str, args: &[&[u8]]) -> Vec<u8> {
    let mut line = format!("+{}.{:06} [{db} {origin}]", micros / 1_000_000, micros % 1_000_000).into_bytes();
    let secret = secrets(args);
    for (at, arg) in args.iter().enumerate() {
        line.extend_from_slice(b" \"");
        match secret.contains(&at) {
            true => line.extend_from_slice(b"(redacted)"),
            false => quote(arg, &mut line),
        }
        line.push(b'"');
        // No outbox takes it.
        if line.len() > OUTBOX_MAX {
            break;
        }
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// Which arguments say who somebody is, and his password.
fn secrets(args: &[&[u8]]) -> std::ops::Range<usize> {
    let is = |arg: &[u8], word: &str| arg.eq_ignore_ascii_case(word.as_bytes());
    match args {
        [name, ..] if is(name, "AUTH") => 1..args.len(),
        [name, ..] if is(name, "HELLO") => match args.iter().position(|arg| is(arg, "AUTH")) {
            Some(at) => at + 1..args.len().min(at + 3),
            None => 0..0,
        },
        _ => 0..0,
    }
}

fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        if out.len() > OUTBOX_MAX {
            return;
        }
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            7 => out.extend_from_slice(b"\\a"),
            8 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(args: &[&[u8]]) -> String {
        String::from_utf8(line(1_700_000_000_000_042, 3, "127.0.0.1:5", args)).unwrap()
    }

    #[test]
    fn lines_are_those_of_redis() {
        assert_eq!(
            shown(&[b"SET", b"k", b"v\"\n\x01\\\xff"]),
            "+1700000000.000042 [3 127.0.0.1:5] \"SET\" \"k\" \"v\\\"\\n\\x01\\\\\\xff\"\r\n"
        );
    }

    #[test]
    fn passwords_are_not_shown() {
        assert!(shown(&[b"auth", b"ada", b"pw"]).ends_with("\"auth\" \"(redacted)\" \"(redacted)\"\r\n"));
        assert!(
            shown(&[b"HELLO", b"3", b"AUTH", b"ada", b"pw", b"SETNAME", b"x"])
                .ends_with("\"HELLO\" \"3\" \"AUTH\" \"(redacted)\" \"(redacted)\" \"SETNAME\" \"x\"\r\n")
        );
    }

    #[test]
    fn long_lines_are_cut_where_nobody_takes_them() {
        let long = vec![0; OUTBOX_MAX];
        assert!(line(0, 0, "", &[b"SET", b"k", &long]).len() < OUTBOX_MAX + 100);
    }
}
