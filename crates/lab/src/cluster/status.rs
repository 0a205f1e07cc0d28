//! The page `/status` of a node, asked over a connection of its own.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde::Deserialize;

/// A node that takes longer does not answer.
pub const PATIENCE: Duration = Duration::from_secs(1);
const ANSWER_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    #[error("{0}")]
    Io(#[from] std::io::Error),
    #[error("there is no such host")]
    NoHost,
    #[error(
        "it wants a login, which the lab does not send over HTTP: give it the address of the node as the user who runs it (through `ssh -L`, say)"
    )]
    Login,
    #[error("{0}")]
    Refused(String),
    #[error("this is not the status of a LatsDB node: {0}")]
    Strange(String),
}

/// Of the answer, what the lab looks at.
#[derive(Debug, Clone, Deserialize)]
pub struct Status {
    pub version: String,
    pub node_id: u64,
    pub nodes: Vec<Node>,
    /// Empty while the node recovers.
    pub shards: Vec<Shard>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Node {
    pub id: u64,
    pub roles: Vec<String>,
    pub mysql_addr: String,
    #[serde(default)]
    pub peer_addr: String,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Shard {
    pub leader: Option<u64>,
    pub term: u64,
    pub voters: Vec<u64>,
    pub last_log_index: u64,
    pub applied_index: u64,
}

impl Status {
    pub fn term(&self) -> u64 {
        self.shards.first().map_or(0, |shard| shard.term)
    }

    pub fn leader(&self) -> Option<u64> {
        self.shards.first().and_then(|shard| shard.leader)
    }

    pub fn voters(&self) -> &[u64] {
        self.shards.first().map_or(&[], |shard| &shard.voters)
    }
}

pub fn ask(address: &str) -> Result<Status, StatusError> {
    let resolved = address.to_socket_addrs()?.next().ok_or(StatusError::NoHost)?;
    let mut stream = TcpStream::connect_timeout(&resolved, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET /status HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    parsed(&String::from_utf8_lossy(&answer))
}

fn parsed(answer: &str) -> Result<Status, StatusError> {
    let strange = |text: &str| StatusError::Strange(text.chars().take(100).collect());
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| strange(answer))?;
    let first = head.lines().next().unwrap_or_default();
    match first.split_whitespace().nth(1) {
        Some("200") => serde_json::from_str(body).map_err(|error| strange(&error.to_string())),
        Some("401" | "403") => Err(StatusError::Login),
        Some(_) => Err(StatusError::Refused(first.to_owned())),
        None => Err(strange(first)),
    }
}

/// On how many machines the nodes are, by the addresses at which they find each other; addresses of the loopback are one machine.
pub fn machines(nodes: &[Node]) -> usize {
    let host = |node: &Node| {
        let (host, _) = node.peer_addr.rsplit_once(':').unwrap_or_default();
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) if address.is_loopback() => "localhost".to_owned(),
            _ => host.to_owned(),
        }
    };
    nodes.iter().map(host).collect::<BTreeSet<String>>().len()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Of a node of three, on machines of their own, of which the first leads.
    pub fn status(node_id: u64, term: u64) -> Status {
        let node = |id: u64| Node {
            id,
            roles: vec!["data".into()],
            mysql_addr: format!("10.0.0.{id}:3306"),
            peer_addr: format!("10.0.0.{id}:7306"),
        };
        Status {
            version: "0.1.0".into(),
            node_id,
            nodes: (1..=3).map(node).collect(),
            shards: vec![Shard {
                leader: Some(1),
                term,
                voters: vec![1, 2, 3],
                last_log_index: 100,
                applied_index: 90,
            }],
        }
    }

    const BODY: &str = r#"{"version":"0.1.0","node_id":2,"uptime_seconds":5,"state":"serving","nodes":[{"id":2,"roles":["data"],"mysql_addr":"a:1",
        "http_addr":"a:2","state":"up"}],"shards":[{"id":1,"leader":null,"term":3,"voters":[2],"last_log_index":9,"applied_index":8,"log_bytes":1}]}"#;

    #[test]
    fn the_page_is_read_and_what_is_not_it_is_told() {
        let status = parsed(&format!("HTTP/1.1 200 OK\r\na: b\r\n\r\n{BODY}")).unwrap();
        assert_eq!((status.node_id, status.term(), status.leader()), (2, 3, None));
        assert!(matches!(
            parsed("HTTP/1.1 401 Unauthorized\r\n\r\n"),
            Err(StatusError::Login)
        ));
        assert!(matches!(
            parsed("HTTP/1.1 503 Busy\r\n\r\n"),
            Err(StatusError::Refused(_))
        ));
        for strange in [
            "",
            "5.5.5-MariaDB",
            "HTTP/1.1 200 OK\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\n\r\n<html>",
        ] {
            assert!(matches!(parsed(strange), Err(StatusError::Strange(_))), "{strange}");
        }
    }

    #[test]
    fn nodes_on_one_machine_are_one_machine() {
        let mut nodes = status(1, 1).nodes;
        assert_eq!(machines(&nodes), 3);
        for (node, address) in nodes.iter_mut().zip(["127.0.0.1:7306", "127.0.0.2:7306", "[::1]:7306"]) {
            node.peer_addr = address.into();
        }
        assert_eq!(machines(&nodes), 1);
        // A node alone has no such address.
        nodes.truncate(1);
        nodes[0].peer_addr.clear();
        assert_eq!(machines(&nodes), 1);
    }
}
