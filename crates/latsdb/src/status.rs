//! `latsdb status`: asks a node's HTTP address and shows the answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use front_http::Status;

use crate::config::format_bytes;
use crate::table;

const TIMEOUT: Duration = Duration::from_secs(5);
/// What is ordered waits for the cluster, which gives it up itself before.
const ORDER_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_BYTES_MAX: u64 = 16 << 20;

pub fn run(address: SocketAddr, as_json: bool) -> Result<()> {
    let body = get(address, "/status").with_context(|| format!("no answer from a node at http://{address}"))?;
    if as_json {
        println!("{body}");
    } else {
        let status = serde_json::from_str(&body)
            .with_context(|| format!("http://{address} is not a LatsDB node of this version"))?;
        print!("{}", shown(&status));
    }
    Ok(())
}

/// Has a node carry out an order; returns what it says.
pub fn order(address: SocketAddr, target: &str) -> Result<String> {
    let (head, body) =
        ask(address, "POST", target).with_context(|| format!("no answer from a node at http://{address}"))?;
    let answer: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
    let said = |key: &str| answer.get(key).and_then(serde_json::Value::as_str).map(str::to_owned);
    match (said("done"), said("error")) {
        (Some(done), _) => Ok(done),
        (None, Some(error)) => bail!("{error}"),
        (None, None) => bail!("{}", head.lines().next().unwrap_or_default()),
    }
}

/// The body of a 200.
fn get(address: SocketAddr, path: &str) -> Result<String> {
    let (head, body) = ask(address, "GET", path)?;
    let first = head.lines().next().unwrap_or_default();
    if !first.contains(" 200 ") {
        bail!("{first}");
    }
    Ok(body)
}

/// One request over one connection.
fn ask(address: SocketAddr, method: &str, path: &str) -> Result<(String, String)> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    let patience = match method {
        "GET" => TIMEOUT,
        _ => ORDER_WITHIN,
    };
    stream.set_read_timeout(Some(patience))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").context("not an HTTP answer")?;
    Ok((head.to_owned(), body.to_owned()))
}

fn shown(status: &Status) -> String {
    let memory = format!(
        "{} of {}",
        format_bytes(status.memory.used_bytes),
        format_bytes(status.memory.limit_bytes)
    );
    let level = match status.level {
        0 => String::new(),
        level => format!("feature level {level}\n"),
    };
    let nodes: Vec<Vec<String>> = status
        .nodes
        .iter()
        .map(|node| {
            vec![
                node.id.to_string(),
                node.state.clone(),
                node.roles.join(","),
                dash(&node.mysql_addr),
                node.http_addr.clone(),
                dash(&node.peer_addr),
                node.applied_index.to_string(),
                node.lag_entries.to_string(),
                dash(&node.levels),
            ]
        })
        .collect();
    let shards: Vec<Vec<String>> = status
        .shards
        .iter()
        .map(|shard| {
            let voters: Vec<String> = shard.voters.iter().map(u64::to_string).collect();
            vec![
                shard.id.to_string(),
                shard
                    .leader
                    .map_or_else(|| "none".to_owned(), |leader| leader.to_string()),
                shard.term.to_string(),
                voters.join(","),
                shard.last_log_index.to_string(),
                shard.applied_index.to_string(),
                shard.checkpoint_index.to_string(),
                shard.lag_entries.to_string(),
                format_bytes(shard.log_bytes),
                format_bytes(shard.log_keep_bytes),
            ]
        })
        .collect();
    format!(
        "LatsDB {}, {}, up {}\ndurability {}, data in {}\n{}memory {memory}, {} connections\n\n{}\n{}",
        status.version,
        status.state,
        duration(status.uptime_seconds),
        status.durability,
        status.data_dir,
        level,
        status.connections,
        table::plain(
            &[
                "node", "state", "roles", "mysql", "http", "peer", "applied", "lag", "speaks"
            ],
            &nodes
        ),
        table::plain(
            &[
                "shard",
                "leader",
                "term",
                "voters",
                "last",
                "applied",
                "checkpoint",
                "lag",
                "log",
                "keep"
            ],
            &shards
        ),
    )
}

/// What stands for nothing in a table.
fn dash(text: &str) -> String {
    match text {
        "" => "-".to_owned(),
        text => text.to_owned(),
    }
}

fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if days > 0 => format!("{days} d {} h", hours % 24),
        () if hours > 0 => format!("{hours} h {} min", minutes % 60),
        () if minutes > 0 => format!("{minutes} min {} s", seconds % 60),
        () => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use front_http::{MemoryStatus, NodeStatus, ShardStatus};

    #[test]
    fn a_status_reads_well() {
        let status = Status {
            version: "0.1.0".into(),
            node_id: 1,
            uptime_seconds: 3_725,
            state: "serving".into(),
            durability: "majority_disk".into(),
            data_dir: "./latsdb-data".into(),
            redis_addr: String::new(),
            level: 1,
            nodes: vec![NodeStatus {
                id: 1,
                roles: vec!["data".into(), "manager".into(), "sql".into()],
                mysql_addr: "127.0.0.1:3306".into(),
                http_addr: "127.0.0.1:8306".into(),
                peer_addr: "127.0.0.1:7306".into(),
                applied_index: 99,
                lag_entries: 1,
                levels: "1 to 2".into(),
                state: "up".into(),
            }],
            shards: vec![ShardStatus {
                id: 1,
                leader: Some(1),
                term: 2,
                voters: vec![1],
                last_log_index: 100,
                applied_index: 99,
                checkpoint_index: 50,
                lag_entries: 1,
                log_bytes: 5 << 20,
                log_keep_bytes: 256 << 20,
            }],
            memory: MemoryStatus {
                used_bytes: 3 << 29,
                limit_bytes: 4 << 30,
            },
            connections: 3,
        };
        assert_eq!(
            shown(&status),
            "LatsDB 0.1.0, serving, up 1 h 2 min\n\
             durability majority_disk, data in ./latsdb-data\n\
             feature level 1\n\
             memory 1.5 GiB of 4 GiB, 3 connections\n\
             \n\
             node  state  roles             mysql           http            peer            applied  lag  speaks\n\
             1     up     data,manager,sql  127.0.0.1:3306  127.0.0.1:8306  127.0.0.1:7306  99       1    1 to 2\n\
             \n\
             shard  leader  term  voters  last  applied  checkpoint  lag  log    keep\n\
             1      1       2     1       100   99       50          1    5 MiB  256 MiB\n"
        );
    }
}
