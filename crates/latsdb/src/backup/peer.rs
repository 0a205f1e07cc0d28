//! Backups over the way between nodes: from other machines, encrypted, for whoever has a certificate of the nodes' authority.
//!
//! The calls are those of the HTTP address (`docs/formats/backup.md`). An answer that is longer than a call between nodes may be comes in
//! parts.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use front_http::{BackupAnswer, BackupCall};
use net::{Answering, Caller, Lane, Net, Service};
use serde::{Deserialize, Serialize};
use shard::Shard;

use super::client::Gone;
use super::kept::Kept;
use super::serving::Serving;
use crate::cluster;

/// Of an answer in one call.
const PART_BYTES: usize = 2 << 20;
const CALL: Duration = Duration::from_secs(10);

const RECORDS: u8 = 0;
const NOT_YET: u8 = 1;
const REFUSED: u8 = 2;

/// A call for a backup, from a byte of its answer on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Asked {
    pub backup: u64,
    pub target: String,
    pub from: u64,
}

/// Long answers, kept for those who ask for the rest.
#[derive(Default)]
pub struct Parts {
    kept: Arc<Kept<Arc<Vec<u8>>>>,
}

impl Parts {
    /// What kind of answer it is (1), the length of all of it (8), and a part of it.
    pub async fn answer(&self, serving: &Arc<Serving>, shard: Arc<Shard>, asked: &Asked) -> Vec<u8> {
        let whole = match asked.from {
            0 => match call_of(&asked.target) {
                Some(call) => serving.answer(shard, call).await,
                None => Err("no call for a backup, of this version".to_owned()),
            }
            .map(|answer| match answer {
                BackupAnswer::Records(records) => Some(Arc::new(records)),
                BackupAnswer::NotYet => None,
            }),
            _ => match self.kept.heard(asked.backup) {
                Some(records) => Ok(Some(records)),
                None => Err("the rest of the answer is gone".to_owned()),
            },
        };
        let (kind, length, part) = match &whole {
            Ok(Some(records)) => {
                let from = usize::try_from(asked.from).unwrap_or(usize::MAX);
                let rest = records.get(from..).unwrap_or_default();
                match rest.len() > PART_BYTES {
                    // Without room the rest is refused.
                    true => _ = self.kept.keep(asked.backup, records.clone()),
                    false => self.kept.forget(asked.backup),
                }
                (RECORDS, records.len(), &rest[..rest.len().min(PART_BYTES)])
            }
            Ok(None) => (NOT_YET, 0, &[][..]),
            Err(reason) => (REFUSED, reason.len(), reason.as_bytes()),
        };
        let mut answer = vec![kind];
        answer.extend_from_slice(&(length as u64).to_le_bytes());
        answer.extend_from_slice(part);
        answer
    }
}

fn call_of(target: &str) -> Option<BackupCall> {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    BackupCall::of(path, Some(query))
}

/// Nobody calls whoever draws a backup.
struct Nobody;

impl Service for Nobody {
    fn receive(&self, _from: Caller, _lane: Lane, _request: Vec<u8>) -> Answering {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// The way to a node's peer address.
pub struct Way {
    net: Net,
    runtime: tokio::runtime::Runtime,
    addr: String,
}

impl Way {
    pub fn new(addr: &str, tls: Option<net::Tls>) -> Result<Way> {
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let stranger = net::Config {
            tls,
            ..net::Config::new(0, 0, nowhere)
        };
        Ok(Way {
            net: Net::start(stranger, Arc::new(Nobody)).context("cannot start the network between nodes")?,
            runtime: tokio::runtime::Builder::new_current_thread().enable_time().build()?,
            addr: addr.to_owned(),
        })
    }

    pub fn addr(&self) -> &str {
        &self.addr
    }

    /// The outer error is the connection's.
    pub fn once(&self, backup: u64, target: &str) -> Result<Result<Option<Vec<u8>>>, Gone> {
        let gone = |error: &dyn std::fmt::Display| Gone(error.to_string());
        let mut records = Vec::new();
        loop {
            let request = cluster::Request::BackUp(Asked {
                backup,
                target: target.to_owned(),
                from: records.len() as u64,
            });
            let request = serde_json::to_vec(&request).map_err(|error| gone(&error))?;
            let called = self.net.call_address(&self.addr, request, CALL);
            let answer = self.runtime.block_on(called).map_err(|error| gone(&error))?.answer;
            let Some(([kind, length @ ..], part)) = answer.split_first_chunk::<9>() else {
                return Err(gone(&"the node is starting, or is of another version"));
            };
            let length = u64::from_le_bytes(*length);
            match *kind {
                RECORDS => records.extend_from_slice(part),
                NOT_YET => return Ok(Ok(None)),
                REFUSED => return Ok(Err(anyhow!("the node refuses: {}", String::from_utf8_lossy(part)))),
                _ => return Ok(Err(anyhow!("node {} is of another version", self.addr))),
            }
            if records.len() as u64 >= length {
                return Ok(Ok(Some(records)));
            }
            if part.is_empty() {
                return Err(gone(&"an answer is cut off"));
            }
        }
    }
}
