//! What is said to the user. The macros of the standard library end the program when nobody takes the words any more: a terminal
//! that was closed in the middle of a series, a pipe whose reader has seen enough. Neither may cost what was measured.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// A line for whoever watches; of no consequence if nobody does.
pub fn tell(line: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{line}").and_then(|()| stderr.flush());
}

/// As [`tell`], exactly these characters.
pub fn draw(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// What a command was asked for, with a line's end. Whoever reads only the beginning has what he wanted; a full disk is an error.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot print the result"),
        _ => Ok(()),
    }
}
