//! The consensus library's types, and how they look on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use journal::EntryId;
use openraft::raft::responder::Responder;
use openraft::vote::leader_id_std::{CommittedLeaderId, LeaderId};
use openraft::{BasicNode, EntryPayload, OptionalSend, RaftTypeConfig};
use types::Timestamp;

use crate::batch::Batch;

/// The library's types, chosen. (Its own macro cannot choose a responder.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Consensus;

impl RaftTypeConfig for Consensus {
    type D = Batch;
    type R = Applied;
    type NodeId = u64;
    type Node = BasicNode;
    type Term = u64;
    type LeaderId = LeaderId<u64, u64>;
    type Vote = openraft::Vote<Self::LeaderId>;
    type Payload = EntryPayload<Batch, u64, BasicNode>;
    type Entry = openraft::Entry<CommittedLeaderId<u64>, Self::Payload>;
    type AsyncRuntime = openraft::TokioRuntime;
    type Responder<T: OptionalSend + 'static> = Callback<T>;
    type Batch<T: OptionalSend + 'static> = openraft::impls::InlineBatch<T>;
    type ErrorSource = openraft::impls::BoxedErrorSource;
}

pub(crate) type Raft = openraft::Raft<Consensus, crate::machine::Machine>;
pub(crate) type RaftEntry = openraft::alias::EntryOf<Consensus>;
pub(crate) type LogId = openraft::alias::LogIdOf<Consensus>;
pub(crate) type Vote = openraft::alias::VoteOf<Consensus>;
pub(crate) type Membership = openraft::Membership<u64, BasicNode>;
pub(crate) type StoredMembership = openraft::alias::StoredMembershipOf<Consensus>;
pub(crate) type SnapshotMeta = openraft::alias::SnapshotMetaOf<Consensus>;

/// What applying a batch answers: what became of each of its transactions.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub verdicts: Vec<Verdict>,
}

/// A transaction's commit timestamp, or why nothing of it was applied.
pub(crate) type Verdict = Result<Timestamp, Abort>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Abort {
    /// It does not fit the rows, for this reason.
    Unfit(Arc<str>),
    /// Another leader has led since it took its locks.
    LocksLost,
    /// Its issuer has had its answer, which is not known any more.
    Forgotten,
}

/// Takes an answer of the consensus library by calling back, on its thread.
pub(crate) struct Callback<T>(Box<dyn FnOnce(T) + Send>);

impl<T> Callback<T> {
    pub fn new(call: impl FnOnce(T) + Send + 'static) -> Callback<T> {
        Callback(Box::new(call))
    }
}

impl<T: Send + 'static> Responder<Consensus, T> for Callback<T> {
    fn on_complete(self, result: T) {
        (self.0)(result);
    }
}

pub(crate) fn entry_id(id: &LogId) -> EntryId {
    EntryId {
        term: *id.leader_id,
        index: id.index,
    }
}

pub(crate) fn log_id(id: EntryId) -> LogId {
    LogId {
        leader_id: CommittedLeaderId::new(id.term),
        index: id.index,
    }
}

pub(crate) fn to_journal_vote(vote: &Vote) -> journal::Vote {
    journal::Vote {
        term: vote.leader_id.term,
        node: vote.leader_id.voted_for,
        committed: vote.committed,
    }
}

pub(crate) fn from_journal_vote(vote: journal::Vote) -> Vote {
    Vote {
        leader_id: LeaderId {
            term: vote.term,
            voted_for: vote.node,
        },
        committed: vote.committed,
    }
}

// Tags of journal entries.
const TAG_BLANK: u8 = 0;
const TAG_BATCH: u8 = 1;
const TAG_MEMBERSHIP: u8 = 2;

pub(crate) fn to_journal_entry(entry: &RaftEntry) -> journal::Entry {
    let (tag, payload) = match &entry.payload {
        EntryPayload::Blank => (TAG_BLANK, Arc::default()),
        EntryPayload::Normal(batch) => (TAG_BATCH, batch.bytes().clone()),
        EntryPayload::Membership(membership) => (TAG_MEMBERSHIP, Arc::new(encode_membership(membership))),
    };
    journal::Entry {
        id: entry_id(&entry.log_id),
        tag,
        payload,
    }
}

pub(crate) fn from_journal_entry(entry: journal::Entry) -> io::Result<RaftEntry> {
    let payload = match entry.tag {
        TAG_BLANK => EntryPayload::Blank,
        TAG_BATCH => EntryPayload::Normal(Batch::from_bytes(entry.payload)),
        TAG_MEMBERSHIP => {
            let membership = decode_membership(&entry.payload)
                .ok_or_else(|| invalid(format!("log entry {} is not a membership", entry.id)))?;
            EntryPayload::Membership(membership)
        }
        tag => return Err(invalid(format!("log entry {} has the unknown tag {tag}", entry.id))),
    };
    Ok(RaftEntry {
        log_id: log_id(entry.id),
        payload,
    })
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Number of voter sets, each a counted list of ids; then a counted list of nodes, each an id and an address.
pub(crate) fn encode_membership(membership: &Membership) -> Vec<u8> {
    let mut bytes = Vec::new();
    let configs = membership.get_joint_config();
    put_count(&mut bytes, configs.len());
    for config in configs {
        put_count(&mut bytes, config.len());
        for id in config {
            bytes.extend_from_slice(&id.to_le_bytes());
        }
    }
    let nodes: Vec<_> = membership.nodes().collect();
    put_count(&mut bytes, nodes.len());
    for (id, node) in nodes {
        bytes.extend_from_slice(&id.to_le_bytes());
        put_count(&mut bytes, node.addr.len());
        bytes.extend_from_slice(node.addr.as_bytes());
    }
    bytes
}

pub(crate) fn decode_membership(mut bytes: &[u8]) -> Option<Membership> {
    let bytes = &mut bytes;
    let mut configs = Vec::new();
    for _ in 0..take_count(bytes)? {
        let mut config = BTreeSet::new();
        for _ in 0..take_count(bytes)? {
            config.insert(take_u64(bytes)?);
        }
        configs.push(config);
    }
    let mut nodes = BTreeMap::new();
    for _ in 0..take_count(bytes)? {
        let id = take_u64(bytes)?;
        let length = take_count(bytes)?;
        let address = bytes.split_off(..length)?;
        nodes.insert(id, BasicNode::new(std::str::from_utf8(address).ok()?));
    }
    if bytes.is_empty() {
        Membership::new(configs, nodes).ok()
    } else {
        None
    }
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&u32::try_from(count).expect("a cluster has few nodes").to_le_bytes());
}

fn take_count(bytes: &mut &[u8]) -> Option<usize> {
    let (count, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u32::from_le_bytes(*count) as usize)
}

fn take_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership() -> Membership {
        let nodes = [
            (1, BasicNode::new("a:1")),
            (2, BasicNode::new("")),
            (3, BasicNode::new("c:3")),
        ];
        Membership::new(
            vec![BTreeSet::from([1, 2]), BTreeSet::from([2, 3])],
            BTreeMap::from(nodes),
        )
        .unwrap()
    }

    #[test]
    fn memberships_come_back() {
        let bytes = encode_membership(&membership());
        assert_eq!(decode_membership(&bytes), Some(membership()));
        for length in 0..bytes.len() {
            assert_eq!(decode_membership(&bytes[..length]), None);
        }
    }

    #[test]
    fn entries_come_back() {
        let id = log_id(EntryId { term: 4, index: 9 });
        let batch = Batch::from_bytes(Arc::new(vec![1, 2, 3]));
        for payload in [
            EntryPayload::Blank,
            EntryPayload::Normal(batch),
            EntryPayload::Membership(membership()),
        ] {
            let entry = RaftEntry { log_id: id, payload };
            assert_eq!(from_journal_entry(to_journal_entry(&entry)).unwrap(), entry);
        }
        let unknown = journal::Entry {
            id: EntryId { term: 1, index: 1 },
            tag: 77,
            payload: Arc::default(),
        };
        assert!(from_journal_entry(unknown).is_err());
    }
}
