//! The do-nothing MySQL server: the physical limit for sysbench on one machine.
//!
//! It speaks just enough of the MySQL protocol for sysbench's OLTP scripts with prepared statements,
//! looks nothing up and answers every statement with canned bytes of the right shape (1 row for a
//! point select, 100 for a range, OK for a write). What a real server loses against it is what its
//! database work costs; nobody can be faster than it over the same sockets and the same client.
//!
//! Usage: `ceiling [ADDR] [THREADS]`, by default 127.0.0.1:3400 and one thread per core.

use std::collections::HashMap;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

/// What an EXECUTE of a prepared statement is answered with.
#[derive(Clone, Copy)]
enum Answer {
    Ok,
    Rows(usize),
}

#[derive(Default)]
struct Connection {
    statements: HashMap<u32, Answer>,
    last_id: u32,
}

fn packet(out: &mut Vec<u8>, seq: &mut u8, body: &[u8]) {
    let n = body.len();
    out.extend_from_slice(&[n as u8, (n >> 8) as u8, (n >> 16) as u8, *seq]);
    *seq = seq.wrapping_add(1);
    out.extend_from_slice(body);
}

fn push_string(body: &mut Vec<u8>, s: &[u8]) {
    body.push(s.len() as u8);
    body.extend_from_slice(s);
}

fn column_definition() -> Vec<u8> {
    let mut body = Vec::new();
    for s in [&b"def"[..], b"sbtest", b"sbtest1", b"sbtest1", b"c", b"c"] {
        push_string(&mut body, s);
    }
    body.push(12);
    body.extend_from_slice(&[33, 0, 0x68, 1, 0, 0, 254, 1, 0, 0, 0, 0]);
    body
}

fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x80000;
    let mut body = vec![10];
    body.extend_from_slice(b"8.0.36-ceiling\0");
    body.extend_from_slice(&[1, 0, 0, 0]);
    body.extend_from_slice(b"abcdefgh\0");
    body.extend_from_slice(&(capabilities as u16).to_le_bytes());
    body.push(33);
    body.extend_from_slice(&[2, 0]);
    body.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    body.push(21);
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    body
}

impl Connection {
    /// Answers one command into `out`; false when the client quits.
    fn handle(&mut self, command: &[u8], out: &mut Vec<u8>) -> bool {
        let mut seq = 1;
        match command.first() {
            Some(0x01) | None => return false,
            Some(0x16) => self.prepare(&command[1..], &mut seq, out),
            Some(0x17) if command.len() >= 5 => {
                let id = u32::from_le_bytes(command[1..5].try_into().unwrap());
                match self.statements.get(&id) {
                    Some(Answer::Rows(n)) => rows(*n, &mut seq, out),
                    _ => packet(out, &mut seq, OK),
                }
            }
            Some(0x19) => {}
            Some(_) => packet(out, &mut seq, OK),
        }
        true
    }

    fn prepare(&mut self, sql: &[u8], seq: &mut u8, out: &mut Vec<u8>) {
        let sql = String::from_utf8_lossy(sql);
        let parameters = sql.bytes().filter(|c| *c == b'?').count() as u16;
        let is_select = sql
            .trim_start()
            .get(..6)
            .is_some_and(|s| s.eq_ignore_ascii_case("select"));
        let answer = match () {
            _ if !is_select => Answer::Ok,
            _ if sql.contains("SUM") => Answer::Rows(1),
            _ if sql.contains("BETWEEN") => Answer::Rows(100),
            _ => Answer::Rows(1),
        };
        self.last_id += 1;
        self.statements.insert(self.last_id, answer);
        let mut body = vec![0];
        body.extend_from_slice(&self.last_id.to_le_bytes());
        body.extend_from_slice(&u16::from(is_select).to_le_bytes());
        body.extend_from_slice(&parameters.to_le_bytes());
        body.extend_from_slice(&[0, 0, 0]);
        packet(out, seq, &body);
        if parameters > 0 {
            (0..parameters).for_each(|_| packet(out, seq, &column_definition()));
            packet(out, seq, EOF);
        }
        if is_select {
            packet(out, seq, &column_definition());
            packet(out, seq, EOF);
        }
    }
}

fn rows(n: usize, seq: &mut u8, out: &mut Vec<u8>) {
    packet(out, seq, &[1]);
    packet(out, seq, &column_definition());
    packet(out, seq, EOF);
    let mut row = vec![0, 0];
    push_string(&mut row, &[b'7'; 119]);
    (0..n).for_each(|_| packet(out, seq, &row));
    packet(out, seq, EOF);
}

async fn serve(mut socket: TcpStream) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut out = Vec::new();
    packet(&mut out, &mut 0, &greeting());
    socket.write_all(&out).await?;
    let mut connection = Connection::default();
    let mut input = Vec::with_capacity(1 << 16);
    let mut logged_in = false;
    loop {
        if socket.read_buf(&mut input).await? == 0 {
            return Ok(());
        }
        out.clear();
        let mut at = 0;
        while let Some(header) = input.get(at..at + 4) {
            let n = usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16;
            let Some(body) = input.get(at + 4..at + 4 + n) else {
                break;
            };
            if !logged_in {
                logged_in = true;
                packet(&mut out, &mut 2, OK);
            } else if !connection.handle(body, &mut out) {
                return Ok(());
            }
            at += 4 + n;
        }
        input.drain(..at);
        if !out.is_empty() {
            socket.write_all(&out).await?;
        }
    }
}

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let addr = args.next().unwrap_or_else(|| "127.0.0.1:3400".into());
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = args.next().and_then(|s| s.parse().ok()).unwrap_or(cores);
    let queues: Vec<_> = (0..threads)
        .map(|_| {
            let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel::<std::net::TcpStream>();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(tokio::task::LocalSet::new().run_until(async move {
                    while let Some(socket) = rx.recv().await {
                        socket.set_nonblocking(true).unwrap();
                        tokio::task::spawn_local(serve(TcpStream::from_std(socket).unwrap()));
                    }
                }))
            });
            tx
        })
        .collect();
    let listener = std::net::TcpListener::bind(&addr)?;
    for (i, socket) in listener.incoming().enumerate() {
        let _ = queues[i % threads].send(socket?);
    }
    Ok(())
}
