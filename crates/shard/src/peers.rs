//! The way to the other replicas: consensus on one side, bytes on the other.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use env::{Feature, File};
use futures_util::future::{Either, select};
use journal::Role;
use openraft::error::{NetworkError, RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{SnapshotResponse, TransferLeaderResponse};
use openraft::{AnyError, OptionalSend, RaftNetworkFactory, RaftNetworkV2};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::time::Instant;

use crate::api::Member;
use crate::checkpoint::{Handle, file_without_rows};
use crate::consensus::{Consensus, Vote, entry_id};
use crate::log::{MESSAGE_BYTES, payload_bytes};
use crate::machine::Replicated;
use crate::message::{Append, Appended, Ballot, Part, Piece, Request, Response, Transfer, Verdict};
use crate::pieces::{PIECE_BYTES, WHOLE_BYTES};
use crate::progress::Progress;

/// Bytes of a checkpoint in a message.
const PART_BYTES: u64 = 256 << 10;
/// Former versions answer the last part when all of the rows have been read.
const PART_TIMEOUT: Duration = Duration::from_secs(120);
/// After a part, or a message of old entries, the sender rests three times as long as it took, so that a machine or a network that is busy
/// has most of its time for others.
const RESTS: u32 = 3;
/// Long enough for that, and short beside the way to a node that is far.
const REST_MAX: Duration = Duration::from_millis(12);
/// A replica that has not caught up after so long gets its entries as fast as it goes: the log may grow faster than with rests.
const RESTS_FOR: Duration = Duration::from_secs(120);

/// How long entries may take to the disk of another replica. To send them again earlier would only add to what it has to do.
const APPEND: Duration = Duration::from_secs(1);
/// Of a slow disk that others use, too.
const DISK_BYTES_PER_MICROSECOND: u64 = 4;
/// The other replica has lost the pieces so often that something else is wrong.
const PIECES_LOST_MAX: u32 = 8;

/// What a call is about. Those of one kind do not wait for those of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Votes, the log, checkpoints: [`Shard::receive`](crate::Shard::receive) answers.
    Consensus,
    /// Locks, commits, timestamps for sessions: [`Shard::serve`](crate::Shard::serve) answers.
    Storage,
}

/// The answer to a call, or none.
pub type Answered = Pin<Box<dyn Future<Output = Result<Vec<u8>, NoAnswer>> + Send>>;

/// Carries calls to replicas of the same shard on other nodes. It knows nothing of what is in them.
pub trait Peers: Send + Sync + 'static {
    /// Has the call answered there, and brings the answer within this time. Dropping the future gives the call up; it may have
    /// arrived all the same, and so may one that ended with [`NoAnswer`].
    fn call(&self, to: u32, lane: Lane, request: Vec<u8>, within: Duration) -> Answered;
}

/// No answer came from a peer: it is down, or far, or the way to it is broken.
#[derive(Debug, Clone, Error)]
#[error("node {node} does not answer: {reason}")]
pub struct NoAnswer {
    pub node: u32,
    pub reason: String,
    /// Otherwise nobody there has heard of the call, and nobody will.
    pub may_have_arrived: bool,
}

/// Of a shard with one replica.
#[derive(Debug, Clone, Copy)]
pub struct NoPeers;

impl Peers for NoPeers {
    fn call(&self, node: u32, _lane: Lane, _request: Vec<u8>, _within: Duration) -> Answered {
        let reason = "this node knows no way to others".into();
        Box::pin(std::future::ready(Err(NoAnswer {
            node,
            reason,
            may_have_arrived: false,
        })))
    }
}

/// What the consensus library asks for a way to a replica.
pub(crate) struct Ways {
    pub peers: Arc<dyn Peers>,
    /// At which checkpoints are sent at most; 0: as fast as it goes.
    pub bytes_per_second: u64,
    pub progress: Arc<Progress>,
    /// Has the cluster's level.
    pub replicated: Arc<Mutex<Replicated>>,
    /// Whether there may be threads for what takes long.
    pub has_threads: bool,
}

/// The way to one replica.
pub(crate) struct Way {
    peers: Arc<dyn Peers>,
    to: u32,
    /// What that one keeps.
    role: Role,
    bytes_per_second: u64,
    progress: Arc<Progress>,
    replicated: Arc<Mutex<Replicated>>,
    has_threads: bool,
    catching_up: CatchingUp,
}

/// How a replica gets the entries that the others have long had.
#[derive(Default)]
struct CatchingUp {
    /// Since when its messages are full.
    since: Option<Instant>,
    /// What was committed at the last message.
    committed: u64,
}

impl CatchingUp {
    /// How long to rest after a message that took so long. Nobody waits for one that rests: all that is in the message has been committed, and
    /// more is committed without this replica meanwhile.
    fn rest(&mut self, message: &Sizes, took: Duration, now: Instant) -> Option<Duration> {
        let advances = message.committed > self.committed;
        self.committed = message.committed;
        if message.bytes < MESSAGE_BYTES {
            self.since = None;
            return None;
        }
        let since = *self.since.get_or_insert(now);
        let is_old = message.last <= message.committed;
        (is_old && advances && now < since + RESTS_FOR).then(|| (took * RESTS).min(REST_MAX))
    }
}

/// Of a message with entries.
struct Sizes {
    bytes: usize,
    /// Its last entry.
    last: u64,
    committed: u64,
}

impl Sizes {
    fn of(append: &Append) -> Option<Sizes> {
        Some(Sizes {
            bytes: append.entries.iter().map(payload_bytes).sum(),
            last: append.entries.last()?.log_id.index,
            committed: append.leader_commit.map_or(0, |id| id.index),
        })
    }
}

impl RaftNetworkFactory<Consensus> for Ways {
    type Network = Way;

    async fn new_client(&mut self, target: u64, member: &Member) -> Way {
        Way {
            peers: self.peers.clone(),
            to: u32::try_from(target).expect("node ids have 32 bits"),
            role: member.role,
            bytes_per_second: self.bytes_per_second,
            progress: self.progress.clone(),
            replicated: self.replicated.clone(),
            has_threads: self.has_threads,
            catching_up: CatchingUp::default(),
        }
    }
}

type CallError = RPCError<Consensus>;

impl Way {
    async fn call(&self, request: Request, option: &RPCOption) -> Result<Response, CallError> {
        self.call_within(request, option.hard_ttl()).await
    }

    async fn call_within(&self, request: Request, limit: Duration) -> Result<Response, CallError> {
        let call = self.peers.call(self.to, Lane::Consensus, request.encode(), limit);
        let answer = tokio::time::timeout(limit, call);
        // A replica that is not reached is left alone for a while. One that is only late is not: it may be the one that makes the majority.
        let unreachable = |error: String| RPCError::Unreachable(Unreachable::new(&AnyError::error(error)));
        let late = |error: String| RPCError::Network(NetworkError::new(&AnyError::error(error)));
        match answer.await {
            Ok(Ok(answer)) => match Response::decode(&answer) {
                Ok(Response::Refused(reason)) => Err(unreachable(reason)),
                Ok(response) => Ok(response),
                Err(garbled) => Err(unreachable(garbled.to_string())),
            },
            Ok(Err(no_answer)) if no_answer.may_have_arrived => Err(late(no_answer.to_string())),
            Ok(Err(no_answer)) => Err(unreachable(no_answer.to_string())),
            Err(_) => Err(late(format!("no answer of node {} within {limit:?}", self.to))),
        }
    }
}

impl Way {
    /// Sends entries: in pieces, if they are long.
    async fn send_entries(&self, request: Append, limit: Duration) -> Result<Response, CallError> {
        let Some(last) = request.entries.last().map(|entry| entry.log_id.index) else {
            return self.call_within(Request::Append(request), limit).await;
        };
        let bytes: usize = request.entries.iter().map(payload_bytes).sum();
        if bytes <= WHOLE_BYTES || !self.replicated.lock().level.has(Feature::LongEntries) {
            return self.call_within(Request::Append(request), limit + writing(bytes)).await;
        }
        let vote = request.vote;
        let bytes = Request::Append(request).encode();
        let (length, mut offset, mut lost) = (bytes.len() as u64, 0, 0);
        loop {
            let piece = &bytes[offset..bytes.len().min(offset + PIECE_BYTES)];
            let end = offset + piece.len();
            let limit = match end == bytes.len() {
                true => limit + writing(end),
                false => limit,
            };
            let piece = Request::Piece(Piece {
                vote,
                last,
                length,
                offset: offset as u64,
                bytes: piece.to_vec(),
            });
            match self.call_within(piece, limit).await? {
                Response::Piece(missing_from) if missing_from < length => {
                    lost += u32::from(missing_from != end as u64);
                    if lost > PIECES_LOST_MAX {
                        return Err(astray());
                    }
                    offset = missing_from as usize;
                }
                response => return Ok(response),
            }
        }
    }
}

/// How much longer so many bytes may take to the disk of another replica than those of most messages.
fn writing(bytes: usize) -> Duration {
    let more = bytes.saturating_sub(WHOLE_BYTES) as u64;
    Duration::from_micros(more / DISK_BYTES_PER_MICROSECOND)
}

/// An answer to another question.
fn astray() -> CallError {
    RPCError::Unreachable(Unreachable::new(&AnyError::error("an answer to another question")))
}

impl RaftNetworkV2<Consensus> for Way {
    type SnapshotData = Handle;

    async fn append_entries(&mut self, request: Append, option: RPCOption) -> Result<Appended, CallError> {
        let next = request.prev_log_id.map_or(0, |id| id.index + 1);
        let sent = request.entries.len() as u64;
        if sent > 0 && !self.progress.keeps(next) {
            let error = AnyError::error(format!("node {} lacks more of the log than is kept for it", self.to));
            return Err(RPCError::Unreachable(Unreachable::new(&error)));
        }
        let (sizes, begun) = (Sizes::of(&request), Instant::now());
        match self.send_entries(request, option.hard_ttl().max(APPEND)).await? {
            Response::Append(appended) => {
                let rest = sizes.and_then(|sizes| self.catching_up.rest(&sizes, begun.elapsed(), Instant::now()));
                if let Some(rest) = rest {
                    tokio::time::sleep(rest).await;
                }
                match &appended {
                    Appended::Success => self.progress.reached(self.to, next + sent),
                    Appended::PartialSuccess(Some(matching)) => self.progress.reached(self.to, matching.index + 1),
                    _ => {}
                }
                Ok(appended)
            }
            _ => Err(astray()),
        }
    }

    async fn vote(&mut self, request: Ballot, option: RPCOption) -> Result<Verdict, CallError> {
        match self.call(Request::Vote(request), &option).await? {
            Response::Vote(verdict) => Ok(verdict),
            _ => Err(astray()),
        }
    }

    async fn pre_vote(&mut self, request: Ballot, option: RPCOption) -> Result<Verdict, CallError> {
        match self.call(Request::PreVote(request), &option).await? {
            Response::Vote(verdict) => Ok(verdict),
            _ => Err(astray()),
        }
    }

    async fn transfer_leader(
        &mut self,
        request: Transfer,
        option: RPCOption,
    ) -> Result<TransferLeaderResponse<Consensus>, CallError> {
        match self.call(Request::Transfer(request), &option).await? {
            Response::Transfer(true) => Ok(Ok(())),
            _ => Err(astray()),
        }
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: openraft::alias::SnapshotOf<Consensus, Handle>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<Consensus>, StreamingError<Consensus>> {
        let sending = std::pin::pin!(self.send(vote, snapshot));
        match select(sending, std::pin::pin!(cancel)).await {
            Either::Left((sent, _)) => Ok(SnapshotResponse::new(sent?)),
            Either::Right((closed, _)) => Err(closed.into()),
        }
    }
}

/// What a checkpoint is read from on its way.
enum Sent {
    File(Opened<Arc<dyn File>>),
    Bytes(Vec<u8>),
}

impl Sent {
    /// So many bytes, which are there.
    fn part(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        match self {
            Sent::File(Opened { file, .. }) => {
                let mut bytes = vec![0; length];
                let file = file.as_ref().expect("it is open");
                file.read_exact_at(&mut bytes, offset)?;
                Ok(bytes)
            }
            Sent::Bytes(bytes) => Ok(bytes[offset as usize..][..length].to_vec()),
        }
    }
}

/// The file of a checkpoint. By its end there may be a newer one, and this one removed: whoever closes it last gives its blocks back, which takes
/// longer for some gigabytes than the others wait for their leader. So another thread does that.
struct Opened<F: Send + 'static> {
    file: Option<F>,
    has_threads: bool,
}

impl<F: Send + 'static> Drop for Opened<F> {
    fn drop(&mut self) {
        let file = self.file.take();
        if self.has_threads {
            // Without a thread it is closed here.
            let _ = std::thread::Builder::new()
                .name("closer".into())
                .spawn(move || drop(file));
        }
    }
}

impl Way {
    /// Sends a checkpoint part by part, from where on the other replica lacks it. Returns that replica's vote when it has taken the
    /// checkpoint over, or when it has heard of another leader.
    async fn send(
        &self,
        vote: Vote,
        snapshot: openraft::alias::SnapshotOf<Consensus, Handle>,
    ) -> Result<Vote, StreamingError<Consensus>> {
        let unreachable = |error: &dyn std::fmt::Display| {
            let error = AnyError::error(error.to_string());
            StreamingError::Unreachable(Unreachable::new(&error))
        };
        // A witness has none that others could use.
        let (Handle::Sent { file, length, level }, Some(applied)) = (snapshot.snapshot, snapshot.meta.last_log_id)
        else {
            return Err(unreachable(&"there is no checkpoint to send"));
        };
        let (file, length) = match self.role {
            Role::Data => {
                let (file, has_threads) = (Some(file), self.has_threads);
                (Sent::File(Opened { file, has_threads }), length)
            }
            Role::Witness => {
                let bytes = file_without_rows(&snapshot.meta, level).map_err(|error| unreachable(&error))?;
                let length = bytes.len() as u64;
                (Sent::Bytes(bytes), length)
            }
        };
        let sending = self.progress.sends_checkpoint(self.to, applied.index + 1);
        let bytes_per_second = sending.bytes_per_second(self.bytes_per_second);
        let mut offset = 0;
        loop {
            let bytes = file
                .part(offset, PART_BYTES.min(length - offset) as usize)
                .map_err(|error| unreachable(&error))?;
            let sent = bytes.len() as u64;
            let part = Request::Part(Part {
                vote,
                applied: entry_id(&applied),
                length,
                offset,
                bytes,
            });
            let begun = Instant::now();
            let answer = self.call_within(part, PART_TIMEOUT).await;
            let took = begun.elapsed();
            match answer.map_err(|error| unreachable(&error))? {
                Response::Part(theirs, _) if theirs > vote => return Ok(theirs),
                Response::Part(theirs, missing_from) if missing_from >= length => {
                    sending.ended();
                    return Ok(theirs);
                }
                Response::Part(_, missing_from) => offset = missing_from,
                _ => return Err(unreachable(&"an answer to another question")),
            }
            if let Some(micros) = (sent * 1_000_000).checked_div(bytes_per_second) {
                let rest = (took * RESTS).min(REST_MAX);
                tokio::time::sleep(rest.max(Duration::from_micros(micros))).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SlowToClose(std::sync::mpsc::Sender<()>);

    impl Drop for SlowToClose {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_secs(2));
            self.0.send(()).unwrap();
        }
    }

    #[test]
    fn nobody_waits_for_the_end_of_a_removed_checkpoint() {
        let (closed, is_closed) = std::sync::mpsc::channel();
        let file = Some(SlowToClose(closed));
        let has_threads = true;
        let begun = Instant::now();
        drop(Opened { file, has_threads });
        assert!(begun.elapsed() < Duration::from_secs(1));
        is_closed.recv().unwrap();
    }

    const FULL: usize = MESSAGE_BYTES;
    const TOOK: Duration = Duration::from_millis(2);

    #[test]
    fn whoever_catches_up_leaves_room_for_others_but_nobody_waits_for_it() {
        let mut catching_up = CatchingUp::default();
        let begun = Instant::now();
        let mut after = |seconds, bytes, last, committed| {
            let message = Sizes { bytes, last, committed };
            catching_up.rest(&message, TOOK, begun + Duration::from_secs(seconds))
        };
        let rests = Some(TOOK * RESTS);
        assert_eq!(after(0, FULL, 10, 100), rests);
        assert_eq!(after(1, FULL, 20, 110), rests);
        assert_eq!(
            after(2, FULL, 30, 110),
            None,
            "commits stand still: they may wait for it"
        );
        assert_eq!(after(3, FULL, 40, 120), rests);
        assert_eq!(after(4, FULL, 131, 130), None, "its last entry is not committed");
        assert_eq!(after(119, FULL, 132, 140), rests);
        assert_eq!(after(121, FULL, 133, 150), None, "it does not catch up");
        assert_eq!(after(122, FULL - 1, 160, 160), None, "it has caught up");
        assert_eq!(after(123, FULL, 161, 170), rests);
    }
}
