//! Both ends of a TCP line prove that they know the token, without sending it:
//!
//! ```text
//!   agent        {"lab_agent":1,"nonce":a}
//!   coordinator  {"nonce":c,"proof":HMAC-SHA-256(token, "coordinator" a c)}
//!   agent        {"proof":HMAC-SHA-256(token, "agent" a c)}          or nothing, and the line ends
//! ```

use std::io::{self, BufRead, BufReader, Read, Write};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::line::{read_json, write_json};
use super::protocol::VERSION;
use super::{random_bytes, same_bytes};
use crate::{Context, HostError};

pub const TIME_LIMIT: Duration = Duration::from_secs(10);
const LONGEST: usize = 1024;
const BLOCK: usize = 64;

#[derive(Serialize, Deserialize)]
struct Challenge {
    lab_agent: u32,
    nonce: [u8; 32],
}

#[derive(Serialize, Deserialize)]
struct Answer {
    nonce: [u8; 32],
    proof: [u8; 32],
}

#[derive(Serialize, Deserialize)]
struct Proof {
    proof: [u8; 32],
}

/// The agent's side.
pub fn admit<S>(stream: &S, token: &str) -> Result<(), HostError>
where
    for<'a> &'a S: Read + Write,
{
    let what = || "proving the token".to_owned();
    let mut reader = one_byte_at_a_time(stream);
    let nonce = random_bytes().context(what)?;
    let challenge = Challenge {
        lab_agent: VERSION,
        nonce,
    };
    write_json(&mut { stream }, &challenge).context(what)?;
    let answer: Answer = read_json(&mut reader, LONGEST)
        .context(what)?
        .ok_or_else(|| refused("the coordinator hung up"))?;
    if !same_bytes(&answer.proof, &proof(token, "coordinator", &nonce, &answer.nonce)) {
        return Err(refused("wrong token"));
    }
    let own = Proof {
        proof: proof(token, "agent", &nonce, &answer.nonce),
    };
    write_json(&mut { stream }, &own).context(what)
}

/// The coordinator's side.
pub fn enter<S>(stream: &S, token: &str) -> Result<(), HostError>
where
    for<'a> &'a S: Read + Write,
{
    let what = || "proving the token".to_owned();
    let mut reader = one_byte_at_a_time(stream);
    let hung_up = || refused("the agent hung up: another token there, or too many connections");
    let challenge: Challenge = read_json(&mut reader, LONGEST).context(what)?.ok_or_else(hung_up)?;
    if challenge.lab_agent != VERSION {
        return Err(refused(&format!(
            "the agent there speaks version {}, this one {VERSION}: use the same latsdb on both",
            challenge.lab_agent
        )));
    }
    let nonce = random_bytes().context(what)?;
    let answer = Answer {
        nonce,
        proof: proof(token, "coordinator", &challenge.nonce, &nonce),
    };
    write_json(&mut { stream }, &answer).context(what)?;
    let theirs: Proof = read_json(&mut reader, LONGEST).context(what)?.ok_or_else(hung_up)?;
    if !same_bytes(&theirs.proof, &proof(token, "agent", &challenge.nonce, &nonce)) {
        return Err(refused("what answers there does not know the token"));
    }
    Ok(())
}

fn refused(why: &str) -> HostError {
    HostError::Refused {
        node: "agent".to_owned(),
        why: why.to_owned(),
    }
}

/// The lines that follow belong to another reader: nothing may be read ahead. The whole proof has one time limit, however
/// slowly its bytes drip in.
fn one_byte_at_a_time<'a, S>(stream: &'a S) -> impl BufRead
where
    &'a S: Read,
{
    let until = Instant::now() + TIME_LIMIT;
    BufReader::with_capacity(1, Until { stream, until })
}

struct Until<R> {
    stream: R,
    until: Instant,
}

impl<R: Read> Read for Until<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.until {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.read(buffer)
    }
}

fn proof(token: &str, who: &str, agent: &[u8; 32], coordinator: &[u8; 32]) -> [u8; 32] {
    hmac(token.as_bytes(), &[who.as_bytes(), agent, coordinator])
}

/// RFC 2104.
fn hmac(key: &[u8], message: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| Sha256::new_with_prefix(block.map(|byte| byte ^ pad));
    let mut inner = padded(0x36);
    for part in message {
        inner.update(part);
    }
    padded(0x5c).chain_update(inner.finalize()).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn hmac_is_the_standards() {
        // RFC 4231, test cases 2 and 6.
        assert_eq!(
            hex(&hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"])),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(&hmac(
                &[0xaa; 131],
                &[b"Test Using Larger Than Block-Size Key - Hash Key First"]
            )),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn bytes_that_drip_in_meet_the_limit() {
        let mut late = Until {
            stream: &b"more"[..],
            until: Instant::now() - Duration::from_millis(1),
        };
        assert_eq!(late.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_proof_is_of_one_side_and_one_line() {
        let one = proof("token", "agent", &[1; 32], &[2; 32]);
        assert_ne!(one, proof("token", "coordinator", &[1; 32], &[2; 32]));
        assert_ne!(one, proof("token", "agent", &[1; 32], &[3; 32]));
        assert_ne!(one, proof("other", "agent", &[1; 32], &[2; 32]));
    }
}
