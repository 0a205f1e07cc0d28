//! The consensus library's types, and how they look on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use env::{Feature, Level, Levels};
use journal::EntryId;
use openraft::raft::responder::Responder;
use openraft::vote::leader_id_std::{CommittedLeaderId, LeaderId};
use openraft::{EntryPayload, OptionalSend, RaftTypeConfig};
use types::Timestamp;

use crate::api::{Member, Role};
use crate::batch::Batch;
use crate::bytes::{Bytes, put_bytes, put_u32, put_u64};

/// The library's types, chosen. (Its own macro cannot choose a responder.)
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Consensus;

impl RaftTypeConfig for Consensus {
    type D = Batch;
    type R = Applied;
    type NodeId = u64;
    type Node = Member;
    type Term = u64;
    type LeaderId = LeaderId<u64, u64>;
    type Vote = openraft::Vote<Self::LeaderId>;
    type Payload = EntryPayload<Batch, u64, Member>;
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
pub(crate) type Membership = openraft::Membership<u64, Member>;
pub(crate) type StoredMembership = openraft::alias::StoredMembershipOf<Consensus>;
pub(crate) type SnapshotMeta = openraft::alias::SnapshotMetaOf<Consensus>;

/// Whether there are no other voters.
pub(crate) fn is_alone(raft: &Raft) -> bool {
    raft.voter_ids().eq([*raft.node_id()])
}

/// What applying a batch answers: what became of each of its transactions.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub verdicts: Vec<Verdict>,
    /// It was applied before, and whoever waited has been answered ([`alone`](crate::alone)).
    pub is_answered: bool,
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
/// A membership of former versions.
const TAG_ADDRESSES: u8 = 2;
const TAG_MEMBERSHIP: u8 = 3;
/// Of members of which some have said what they speak.
const TAG_LEVELS: u8 = 4;

const DATA: u8 = 0;
const WITNESS: u8 = 1;

pub(crate) fn to_journal_entry(entry: &RaftEntry) -> journal::Entry {
    let (tag, payload) = match &entry.payload {
        EntryPayload::Blank => (TAG_BLANK, Arc::default()),
        EntryPayload::Normal(batch) => (TAG_BATCH, batch.bytes().clone()),
        EntryPayload::Membership(membership) => {
            let form = Form::needed_by(membership);
            let tag = match form {
                Form::Roles => TAG_MEMBERSHIP,
                Form::Levels => TAG_LEVELS,
            };
            (tag, Arc::new(encode_membership(membership, form)))
        }
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
        tag @ (TAG_MEMBERSHIP | TAG_ADDRESSES | TAG_LEVELS) => {
            let membership = match tag {
                TAG_ADDRESSES => decode_addresses(&entry.payload),
                TAG_LEVELS => decode_membership(&entry.payload, Form::Levels),
                _ => decode_membership(&entry.payload, Form::Roles),
            };
            let membership =
                membership.ok_or_else(|| invalid(format!("log entry {} is not a membership", entry.id)))?;
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

/// How a membership is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Each member with its role and addresses.
    Roles,
    /// And with what it speaks, if it has said so.
    Levels,
}

impl Form {
    /// What some member says of levels is written down at levels that have that: whoever takes it in has asked.
    pub fn needed_by(membership: &Membership) -> Form {
        match membership.nodes().any(|(_, member)| member.levels.is_some()) {
            true => Form::Levels,
            false => Form::Roles,
        }
    }

    /// Where all members can read what that level has brought.
    pub fn at(level: Level) -> Form {
        match level.has(Feature::LevelsOnDisk) {
            true => Form::Levels,
            false => Form::Roles,
        }
    }
}

/// Number of voter sets, each a counted list of ids; then a counted list of members: id, role, levels (by form), address for peers, address for
/// clients.
pub(crate) fn encode_membership(membership: &Membership, form: Form) -> Vec<u8> {
    let mut bytes = Vec::new();
    let configs = membership.get_joint_config();
    put_u32(&mut bytes, count(configs.len()));
    for config in configs {
        put_u32(&mut bytes, count(config.len()));
        for &id in config {
            put_u64(&mut bytes, id);
        }
    }
    let nodes: Vec<_> = membership.nodes().collect();
    put_u32(&mut bytes, count(nodes.len()));
    for (&id, member) in nodes {
        put_u64(&mut bytes, id);
        bytes.push(match member.role {
            Role::Data => DATA,
            Role::Witness => WITNESS,
        });
        if form == Form::Levels {
            let levels = member
                .levels
                .map_or([0; 2], |levels| [levels.lowest.0, levels.highest.0]);
            bytes.extend_from_slice(&levels);
        }
        put_bytes(&mut bytes, member.peer_addr.as_bytes());
        put_bytes(&mut bytes, member.sql_addr.as_bytes());
    }
    bytes
}

fn count(length: usize) -> u32 {
    u32::try_from(length).expect("a cluster has few nodes")
}

pub(crate) fn decode_membership(bytes: &[u8], form: Form) -> Option<Membership> {
    decode_members(bytes, |bytes| {
        let role = match bytes.u8()? {
            DATA => Role::Data,
            WITNESS => Role::Witness,
            _ => return None,
        };
        let levels = match form {
            Form::Roles => None,
            Form::Levels => decode_levels(bytes)?,
        };
        Some(Member {
            role,
            levels,
            peer_addr: bytes.text()?.to_owned(),
            sql_addr: bytes.text()?.to_owned(),
        })
    })
}

/// `None` within: nothing is known.
fn decode_levels(bytes: &mut Bytes<'_>) -> Option<Option<Levels>> {
    match (bytes.u8()?, bytes.u8()?) {
        (0, 0) => Some(None),
        (lowest @ 1.., highest) if lowest <= highest => Some(Some(Levels {
            lowest: Level(lowest),
            highest: Level(highest),
        })),
        _ => None,
    }
}

/// As former versions wrote it: a node had one address, and all had rows.
pub(crate) fn decode_addresses(bytes: &[u8]) -> Option<Membership> {
    decode_members(bytes, |bytes| {
        Some(Member {
            peer_addr: bytes.text()?.to_owned(),
            ..Member::default()
        })
    })
}

fn decode_members(bytes: &[u8], member: impl Fn(&mut Bytes<'_>) -> Option<Member>) -> Option<Membership> {
    let bytes = &mut Bytes::new(bytes);
    let mut configs = Vec::new();
    for _ in 0..bytes.u32()? {
        let mut config = BTreeSet::new();
        for _ in 0..bytes.u32()? {
            config.insert(bytes.u64()?);
        }
        configs.push(config);
    }
    let mut nodes = BTreeMap::new();
    for _ in 0..bytes.u32()? {
        nodes.insert(bytes.u64()?, member(bytes)?);
    }
    match bytes.is_empty() {
        true => Membership::new(configs, nodes).ok(),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn membership() -> Membership {
        let member = |role, peer: &str, sql: &str| Member {
            role,
            levels: None,
            peer_addr: peer.into(),
            sql_addr: sql.into(),
        };
        let nodes = [
            (1, member(Role::Data, "a:1", "a:2")),
            (2, Member::default()),
            (3, member(Role::Witness, "c:3", "")),
        ];
        Membership::new(
            vec![BTreeSet::from([1, 2]), BTreeSet::from([2, 3])],
            BTreeMap::from(nodes),
        )
        .unwrap()
    }

    fn membership_with_levels() -> Membership {
        let member = Member {
            levels: Some(Levels::FIRST),
            ..Member::default()
        };
        let nodes = BTreeMap::from([(1, member), (2, Member::default())]);
        Membership::new(vec![BTreeSet::from([1, 2])], nodes).unwrap()
    }

    #[test]
    fn memberships_come_back() {
        for (membership, form) in [(membership(), Form::Roles), (membership_with_levels(), Form::Levels)] {
            assert_eq!(Form::needed_by(&membership), form);
            let bytes = encode_membership(&membership, form);
            assert_eq!(decode_membership(&bytes, form), Some(membership));
            for length in 0..bytes.len() {
                assert_eq!(decode_membership(&bytes[..length], form), None);
            }
        }
    }

    #[test]
    fn memberships_of_former_versions_are_read() {
        let mut bytes = Vec::new();
        for number in [1, 1] {
            put_u32(&mut bytes, number);
        }
        put_u64(&mut bytes, 4);
        put_u32(&mut bytes, 1);
        put_u64(&mut bytes, 4);
        put_bytes(&mut bytes, b"a:1");
        let payload = Arc::new(bytes);
        let entry = journal::Entry {
            id: EntryId { term: 1, index: 0 },
            tag: TAG_ADDRESSES,
            payload,
        };
        let EntryPayload::Membership(read) = from_journal_entry(entry).unwrap().payload else {
            panic!("another payload")
        };
        let peer_addr = "a:1".to_owned();
        assert_eq!(
            read.get_node(&4),
            Some(&Member {
                peer_addr,
                ..Member::default()
            })
        );
    }

    #[test]
    fn entries_come_back() {
        let id = log_id(EntryId { term: 4, index: 9 });
        let batch = Batch::from_bytes(Arc::new(vec![1, 2, 3]));
        for payload in [
            EntryPayload::Blank,
            EntryPayload::Normal(batch),
            EntryPayload::Membership(membership()),
            EntryPayload::Membership(membership_with_levels()),
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
