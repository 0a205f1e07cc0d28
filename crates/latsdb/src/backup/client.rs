//! Calls to the node that a backup is drawn of.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use shard::EntryId;
use thiserror::Error;
use types::Timestamp;

use super::peer;

/// Until a node answers that is being restarted.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);
/// Longer than the node lets a connection live.
const ANSWER: Duration = Duration::from_secs(12);
/// A log entry, and what stands around it.
const ANSWER_BYTES_MAX: u64 = (4 << 30) + (1 << 20);

/// A node, and the way to it.
pub struct Client {
    way: Way,
    /// By which the node knows this backup.
    backup: u64,
    rate: Rate,
}

enum Way {
    Http {
        address: SocketAddr,
        /// The header line of a login, or nothing.
        authorization: String,
    },
    Peer(peer::Way),
}

/// Why an answer did not come. It may come another time.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Gone(pub String);

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Gone {
        Gone(error.to_string())
    }
}

/// Keeps the bytes per second within a bound; 0: there is none.
struct Rate {
    bytes_per_second: u64,
    begun: Instant,
    bytes: u64,
}

impl Client {
    /// By the HTTP address of a node.
    pub fn of_node(address: SocketAddr, login: Option<(&str, &str)>, bytes_per_second: u64) -> Client {
        let authorization = login.map_or_else(String::new, |(user, password)| {
            let text = format!("{user}:{password}");
            format!("authorization: Basic {}\r\n", base64(text.as_bytes()))
        });
        let way = Way::Http { address, authorization };
        Client::new(way, bytes_per_second)
    }

    /// By the address at which other nodes find it.
    pub fn of_peer(way: peer::Way, bytes_per_second: u64) -> Client {
        Client::new(Way::Peer(way), bytes_per_second)
    }

    fn new(way: Way, bytes_per_second: u64) -> Client {
        Client {
            way,
            backup: env::Env::real().random.next_u64(),
            rate: Rate {
                bytes_per_second,
                begun: Instant::now(),
                bytes: 0,
            },
        }
    }

    /// The records that a backup begins with; waits until the node has written its checkpoint.
    pub fn begin(&mut self, earlier: Option<u64>) -> Result<Vec<u8>> {
        let earlier = earlier.map_or_else(String::new, |index| format!("&earlier={index}"));
        loop {
            let target = format!("begin?backup={}{earlier}", self.backup);
            if let Some(records) = self.call(&target)? {
                return Ok(records);
            }
            std::thread::sleep(PAUSE);
        }
    }

    pub fn chunk(&mut self, number: u64) -> Result<Vec<u8>> {
        self.records(&format!("chunk?backup={}&number={number}", self.backup))
    }

    pub fn log_head(&mut self, cluster: u128, after: EntryId, newest: Timestamp) -> Result<Vec<u8>> {
        let (EntryId { term, index }, Timestamp(newest)) = (after, newest);
        self.records(&format!(
            "log-head?cluster={cluster}&term={term}&index={index}&newest={newest}"
        ))
    }

    pub fn log(&mut self, after: EntryId) -> Result<Vec<u8>> {
        self.records(&format!("log?term={}&index={}", after.term, after.index))
    }

    pub fn mark(&mut self) -> Result<()> {
        self.records("mark").map(drop)
    }

    /// The node need not keep anything any more.
    pub fn end(&mut self) {
        // It finds out by itself, too.
        let _ = self.once(&format!("end?backup={}", self.backup));
    }

    fn records(&mut self, target: &str) -> Result<Vec<u8>> {
        self.call(target)?
            .with_context(|| format!("{} does not answer as a LatsDB node of this version", self.way))
    }

    /// `None`: ask again. What does not reach the node is tried again for a while.
    fn call(&mut self, target: &str) -> Result<Option<Vec<u8>>> {
        let begun = Instant::now();
        loop {
            match self.once(target) {
                Ok(answer) => return answer,
                Err(error) if begun.elapsed() > PATIENCE => {
                    return Err(error).with_context(|| {
                        format!("no answer from a node at {} for {} s", self.way, PATIENCE.as_secs())
                    });
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The outer error is the connection's.
    fn once(&mut self, target: &str) -> Result<Result<Option<Vec<u8>>>, Gone> {
        let answer = match &self.way {
            Way::Http { address, authorization } => ask(*address, authorization, target)?,
            Way::Peer(way) => way.once(self.backup, target)?,
        };
        if let Ok(Some(records)) = &answer {
            self.rate.keep(records.len() as u64);
        }
        Ok(answer)
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Http { address, .. } => write!(f, "http://{address}"),
            Way::Peer(way) => f.write_str(way.addr()),
        }
    }
}

/// The outer error is the connection's.
fn ask(address: SocketAddr, authorization: &str, target: &str) -> io::Result<Result<Option<Vec<u8>>>> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(ANSWER))?;
    write!(
        stream,
        "POST /admin/backup/{target} HTTP/1.1\r\nhost: {address}\r\n{authorization}content-length: 0\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    let cut_off = || io::Error::new(io::ErrorKind::UnexpectedEof, "the answer is cut off");
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    let end = end.ok_or_else(cut_off)? + 4;
    let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    if length != Some(answer.len() - end) {
        return Err(cut_off());
    }
    let status = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let body = answer.split_off(end);
    Ok(match &*status {
        "200" => Ok(Some(body)),
        "202" => Ok(None),
        "404" | "405" => Err(anyhow!("http://{address} is no LatsDB node of this version")),
        _ => refusal(&body, &status),
    })
}

fn refusal(body: &[u8], status: &str) -> Result<Option<Vec<u8>>> {
    let answer: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    match answer.get("error").and_then(serde_json::Value::as_str) {
        Some(error) => bail!("the node refuses: {error}"),
        None => bail!("the node answers with HTTP status {status}"),
    }
}

impl Rate {
    fn keep(&mut self, bytes: u64) {
        self.bytes += bytes;
        let Some(micros) = (self.bytes * 1_000_000).checked_div(self.bytes_per_second) else {
            return;
        };
        let due = self.begun + Duration::from_micros(micros);
        let ahead = due.saturating_duration_since(Instant::now());
        std::thread::sleep(ahead);
        // What was not used is not saved up: a pause is no leave for a burst.
        if ahead.is_zero() {
            (self.begun, self.bytes) = (Instant::now(), 0);
        }
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            match place <= three.len() {
                true => text.push(char::from(LETTERS[(word >> (18 - 6 * place)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn logins_are_written_as_everybody_does() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("a:\u{e4}", "YTrDpA=="),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
