//! What replicas of a shard say to each other, as bytes (drawn in `docs/formats/peers.md`).
//!
//! Whatever comes from a peer is read with bounds: an error, never a panic, and nothing is set aside for a length before the bytes are there.

use std::sync::Arc;

use journal::EntryId;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, TransferLeaderRequest, VoteRequest, VoteResponse};
use thiserror::Error;

use crate::bytes::{Bytes, put_bytes, put_id, put_u32, put_u64};
use crate::consensus::{Consensus, RaftEntry, Vote, entry_id, from_journal_entry, log_id, to_journal_entry};
use crate::log::payload_bytes;

pub(crate) type Append = AppendEntriesRequest<Consensus>;
pub(crate) type Appended = AppendEntriesResponse<Consensus>;
pub(crate) type Ballot = VoteRequest<Consensus>;
pub(crate) type Verdict = VoteResponse<Consensus>;
pub(crate) type Transfer = TransferLeaderRequest<Consensus>;

/// A call of one replica on another.
#[derive(Debug)]
pub(crate) enum Request {
    Append(Append),
    Vote(Ballot),
    /// Asks whether a vote would be given, before a term is begun.
    PreVote(Ballot),
    /// Tells a follower to take the lead.
    Transfer(Transfer),
    /// A part of a checkpoint's file.
    Part(Part),
    /// A witness asks a data replica which entries it will need no more.
    Covered,
    /// A piece of an append that is too long for one call.
    Piece(Piece),
}

/// A piece of an encoded append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The leader's.
    pub vote: Vote,
    /// The index of the last entry in it.
    pub last: u64,
    /// Of all of it.
    pub length: u64,
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// A part of a checkpoint's file, on its way to a replica that lacks entries which are in no log any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// The leader's.
    pub vote: Vote,
    /// The entry that the checkpoint covers.
    pub applied: EntryId,
    /// Of the whole file.
    pub length: u64,
    pub offset: u64,
    pub bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum Response {
    Append(Appended),
    Vote(Verdict),
    /// Whether the follower takes the lead.
    Transfer(bool),
    /// The replica's vote, and from where on it lacks bytes of the checkpoint; the file's length: it has taken it over.
    Part(Vote, u64),
    /// The entry of the replica's newest checkpoint; 0: there is none.
    Covered(u64),
    /// From where on a message that comes in pieces is missing.
    Piece(u64),
    /// The replica cannot answer.
    Refused(String),
}

/// Bytes that are no message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("what a peer sent is no message of this version")]
pub(crate) struct Garbled;

const APPEND: u8 = 1;
const VOTE: u8 = 2;
const PRE_VOTE: u8 = 3;
const TRANSFER: u8 = 4;
const REFUSED: u8 = 5;
const PART: u8 = 6;
const COVERED: u8 = 7;
const PIECE: u8 = 8;

/// More than what an append, or an entry in it, has beside payloads.
const HEADER_BYTES_MAX: usize = 64;

// How an append ended.
const SUCCESS: u8 = 0;
const PARTIAL: u8 = 1;
const CONFLICT: u8 = 2;
const HIGHER_VOTE: u8 = 3;

impl Request {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Request::Append(append) => {
                let payloads = append.entries.iter().map(payload_bytes);
                to.reserve(HEADER_BYTES_MAX + payloads.map(|bytes| bytes + HEADER_BYTES_MAX).sum::<usize>());
                to.push(APPEND);
                put_vote(&mut to, &append.vote);
                put_id(&mut to, append.prev_log_id.as_ref().map(entry_id));
                put_id(&mut to, append.leader_commit.as_ref().map(entry_id));
                put_u32(&mut to, append.entries.len() as u32);
                for entry in &append.entries {
                    put_entry(&mut to, entry);
                }
            }
            Request::Vote(ballot) => put_ballot(&mut to, VOTE, ballot),
            Request::PreVote(ballot) => put_ballot(&mut to, PRE_VOTE, ballot),
            Request::Transfer(transfer) => {
                to.push(TRANSFER);
                put_vote(&mut to, transfer.from_leader());
                put_u64(&mut to, *transfer.to_node_id());
                put_id(&mut to, transfer.last_log_id().map(entry_id));
            }
            Request::Part(part) => {
                to.push(PART);
                put_vote(&mut to, &part.vote);
                for number in [part.applied.term, part.applied.index, part.length, part.offset] {
                    put_u64(&mut to, number);
                }
                put_bytes(&mut to, &part.bytes);
            }
            Request::Covered => to.push(COVERED),
            Request::Piece(piece) => {
                to.push(PIECE);
                put_vote(&mut to, &piece.vote);
                for number in [piece.last, piece.length, piece.offset] {
                    put_u64(&mut to, number);
                }
                put_bytes(&mut to, &piece.bytes);
            }
        }
        to
    }

    pub fn decode(bytes: &[u8]) -> Result<Request, Garbled> {
        let bytes = &mut Bytes::new(bytes);
        let request = Request::take(bytes).ok_or(Garbled)?;
        bytes.is_empty().then_some(request).ok_or(Garbled)
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Request> {
        Some(match bytes.u8()? {
            APPEND => {
                let vote = take_vote(bytes)?;
                let prev_log_id = bytes.id()?.map(log_id);
                let leader_commit = bytes.id()?.map(log_id);
                let mut entries = Vec::new();
                for _ in 0..bytes.u32()? {
                    entries.push(take_entry(bytes)?);
                }
                Request::Append(Append {
                    vote,
                    prev_log_id,
                    entries,
                    leader_commit,
                })
            }
            VOTE => Request::Vote(take_ballot(bytes)?),
            PRE_VOTE => Request::PreVote(take_ballot(bytes)?),
            TRANSFER => {
                let from = take_vote(bytes)?;
                let to = bytes.u64()?;
                Request::Transfer(Transfer::new(from, to, bytes.id()?.map(log_id)))
            }
            PART => Request::Part(Part {
                vote: take_vote(bytes)?,
                applied: EntryId {
                    term: bytes.u64()?,
                    index: bytes.u64()?,
                },
                length: bytes.u64()?,
                offset: bytes.u64()?,
                bytes: bytes.bytes()?.to_vec(),
            }),
            COVERED => Request::Covered,
            PIECE => Request::Piece(Piece {
                vote: take_vote(bytes)?,
                last: bytes.u64()?,
                length: bytes.u64()?,
                offset: bytes.u64()?,
                bytes: bytes.bytes()?.to_vec(),
            }),
            _ => return None,
        })
    }
}

impl Response {
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Response::Append(appended) => {
                to.push(APPEND);
                match appended {
                    Appended::Success => to.push(SUCCESS),
                    Appended::PartialSuccess(upto) => {
                        to.push(PARTIAL);
                        put_id(&mut to, upto.as_ref().map(entry_id));
                    }
                    Appended::Conflict => to.push(CONFLICT),
                    Appended::HigherVote(vote) => {
                        to.push(HIGHER_VOTE);
                        put_vote(&mut to, vote);
                    }
                }
            }
            Response::Vote(verdict) => {
                to.push(VOTE);
                put_vote(&mut to, &verdict.vote);
                to.push(u8::from(verdict.vote_granted));
                put_id(&mut to, verdict.last_log_id.as_ref().map(entry_id));
            }
            Response::Transfer(takes) => to.extend([TRANSFER, u8::from(*takes)]),
            Response::Part(vote, missing_from) => {
                to.push(PART);
                put_vote(&mut to, vote);
                put_u64(&mut to, *missing_from);
            }
            Response::Covered(index) => {
                to.push(COVERED);
                put_u64(&mut to, *index);
            }
            Response::Piece(missing_from) => {
                to.push(PIECE);
                put_u64(&mut to, *missing_from);
            }
            Response::Refused(reason) => {
                to.push(REFUSED);
                put_bytes(&mut to, reason.as_bytes());
            }
        }
        to
    }

    pub fn decode(bytes: &[u8]) -> Result<Response, Garbled> {
        let bytes = &mut Bytes::new(bytes);
        let response = Response::take(bytes).ok_or(Garbled)?;
        bytes.is_empty().then_some(response).ok_or(Garbled)
    }

    fn take(bytes: &mut Bytes<'_>) -> Option<Response> {
        Some(match bytes.u8()? {
            APPEND => Response::Append(match bytes.u8()? {
                SUCCESS => Appended::Success,
                PARTIAL => Appended::PartialSuccess(bytes.id()?.map(log_id)),
                CONFLICT => Appended::Conflict,
                HIGHER_VOTE => Appended::HigherVote(take_vote(bytes)?),
                _ => return None,
            }),
            VOTE => {
                let vote = take_vote(bytes)?;
                let granted = bytes.flag()?;
                Response::Vote(Verdict::new(vote, bytes.id()?.map(log_id), granted))
            }
            TRANSFER => Response::Transfer(bytes.flag()?),
            PART => Response::Part(take_vote(bytes)?, bytes.u64()?),
            COVERED => Response::Covered(bytes.u64()?),
            PIECE => Response::Piece(bytes.u64()?),
            REFUSED => Response::Refused(String::from_utf8_lossy(bytes.bytes()?).into_owned()),
            _ => return None,
        })
    }
}

fn put_ballot(to: &mut Vec<u8>, kind: u8, ballot: &Ballot) {
    to.push(kind);
    put_vote(to, &ballot.vote);
    put_id(to, ballot.last_log_id.as_ref().map(entry_id));
    to.push(u8::from(ballot.leadership_transfer));
}

fn take_ballot(bytes: &mut Bytes<'_>) -> Option<Ballot> {
    let vote = take_vote(bytes)?;
    let last_log_id = bytes.id()?.map(log_id);
    let mut ballot = Ballot::new(vote, last_log_id);
    ballot.leadership_transfer = bytes.flag()?;
    Some(ballot)
}

fn put_vote(to: &mut Vec<u8>, vote: &Vote) {
    put_u64(to, vote.leader_id.term);
    put_u64(to, vote.leader_id.voted_for);
    to.push(u8::from(vote.committed));
}

fn take_vote(bytes: &mut Bytes<'_>) -> Option<Vote> {
    let (term, node) = (bytes.u64()?, bytes.u64()?);
    Some(match bytes.flag()? {
        true => Vote::new_committed(term, node),
        false => Vote::new(term, node),
    })
}

fn put_entry(to: &mut Vec<u8>, entry: &RaftEntry) {
    let entry = to_journal_entry(entry);
    put_u64(to, entry.id.term);
    put_u64(to, entry.id.index);
    to.push(entry.tag);
    put_bytes(to, &entry.payload);
}

fn take_entry(bytes: &mut Bytes<'_>) -> Option<RaftEntry> {
    let entry = journal::Entry {
        id: EntryId {
            term: bytes.u64()?,
            index: bytes.u64()?,
        },
        tag: bytes.u8()?,
        payload: Arc::new(bytes.bytes()?.to_vec()),
    };
    from_journal_entry(entry).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use openraft::EntryPayload;

    fn id(index: u64) -> crate::consensus::LogId {
        log_id(EntryId { term: 3, index })
    }

    fn requests() -> Vec<Request> {
        let entry = |index, payload| RaftEntry {
            log_id: id(index),
            payload,
        };
        let batch = Batch::from_bytes(Arc::new(vec![1, 2, 3]));
        let mut ballot = Ballot::new(Vote::new(7, 2), Some(id(9)));
        let append = |entries| {
            Request::Append(Append {
                vote: Vote::new_committed(4, 1),
                prev_log_id: Some(id(4)),
                entries,
                leader_commit: None,
            })
        };
        let votes = [Request::PreVote(ballot.clone()), {
            ballot.leadership_transfer = true;
            Request::Vote(ballot)
        }];
        let others = [
            append(vec![]),
            append(vec![
                entry(5, EntryPayload::Blank),
                entry(6, EntryPayload::Normal(batch)),
            ]),
            Request::Transfer(Transfer::new(Vote::new_committed(4, 1), 3, None)),
            Request::Part(Part {
                vote: Vote::new_committed(4, 1),
                applied: EntryId { term: 4, index: 70 },
                length: 1000,
                offset: 10,
                bytes: vec![8; 5],
            }),
            Request::Covered,
            Request::Piece(Piece {
                vote: Vote::new_committed(4, 1),
                last: 71,
                length: 1000,
                offset: 10,
                bytes: vec![8; 5],
            }),
        ];
        votes.into_iter().chain(others).collect()
    }

    fn responses() -> Vec<Response> {
        let appended = [
            Appended::Success,
            Appended::PartialSuccess(Some(id(8))),
            Appended::Conflict,
            Appended::HigherVote(Vote::new(9, 3)),
        ];
        let others = [
            Response::Vote(Verdict::new(Vote::new(7, 2), Some(id(9)), true)),
            Response::Transfer(true),
            Response::Part(Vote::new(7, 2), 15),
            Response::Covered(70),
            Response::Piece(71),
            Response::Refused("no".into()),
        ];
        appended.map(Response::Append).into_iter().chain(others).collect()
    }

    #[test]
    fn messages_come_back_and_every_cut_is_an_error() {
        for request in requests() {
            let bytes = request.encode();
            assert_eq!(
                format!("{:?}", Request::decode(&bytes).unwrap()),
                format!("{request:?}")
            );
            for length in 0..bytes.len() {
                assert_eq!(Request::decode(&bytes[..length]).err(), Some(Garbled));
            }
        }
        for response in responses() {
            let bytes = response.encode();
            assert_eq!(
                format!("{:?}", Response::decode(&bytes).unwrap()),
                format!("{response:?}")
            );
            for length in 0..bytes.len() {
                assert_eq!(Response::decode(&bytes[..length]).err(), Some(Garbled));
            }
        }
    }
}
