//! What other replicas say to this one: entries of the log, votes, the lead.

use openraft::async_runtime::WatchReceiver;

use crate::consensus::{Raft, entry_id};
use crate::log::payload_bytes;
use crate::message::{Append, Appended, Piece, Request, Response};
use crate::pieces::Taken;
use crate::replica::Shared;
use crate::witness;

/// What an entry needs in the log beside its payload, at most.
const RECORD_BYTES: usize = 64;

/// Takes a piece of entries, and with the last one all of them.
pub(crate) async fn take_piece(raft: &Raft, shared: &Shared, piece: Piece) -> Response {
    let whole = match shared.pieces.take(piece) {
        Taken::Whole(bytes) => bytes,
        Taken::MissingFrom(offset) => return Response::Piece(offset),
        Taken::TooLong => return Response::Refused("no message is as long".into()),
    };
    match Request::decode(&whole) {
        Ok(Request::Append(entries)) => append(raft, shared, entries).await,
        Ok(_) => Response::Refused("only entries come in pieces".into()),
        Err(garbled) => Response::Refused(garbled.to_string()),
    }
}

/// Takes entries, if there is room for them. A log that finds none in the middle of it takes nothing more, for good.
pub(crate) async fn append(raft: &Raft, shared: &Shared, append: Append) -> Response {
    let bytes = append
        .entries
        .iter()
        .map(|entry| payload_bytes(entry) + RECORD_BYTES)
        .sum();
    match shared.reserve(bytes) {
        Ok(()) => append_to_log(raft, shared, append).await,
        Err(error) => Response::Refused(error.to_string()),
    }
}

async fn append_to_log(raft: &Raft, shared: &Shared, append: Append) -> Response {
    if let Some(entry) = contradicted(raft, shared, &append) {
        shared.failure.set(format!(
            "the leader has another log entry {entry} than was committed here: one of the nodes was started with an old copy of its directory, and \
             what was acknowledged since is lost there. What this node has is in its directory (latsdb admin dump)"
        ));
        return Response::Refused("what is committed here contradicts it".into());
    }
    match raft.append_entries(append).await {
        Ok(appended) => {
            if !matches!(appended, Appended::HigherVote(_)) {
                shared.contact.heard();
            }
            Response::Append(appended)
        }
        Err(error) => Response::Refused(error.to_string()),
    }
}

/// An entry that was applied here, and is another one for whoever leads now.
fn contradicted(raft: &Raft, shared: &Shared, append: &Append) -> Option<u64> {
    let applied = {
        let metrics = raft.metrics();
        let metrics = metrics.borrow_watched();
        // One that led before may have entries that never were committed.
        let is_now = append.vote >= metrics.vote;
        metrics.last_applied.filter(|_| is_now)?.index
    };
    let sent = append
        .prev_log_id
        .iter()
        .chain(append.entries.iter().map(|entry| &entry.log_id));
    let mut old = sent.take_while(|id| id.index <= applied);
    let other = old.find(|id| shared.log.id_at(id.index).is_some_and(|here| here != entry_id(id)));
    other.map(|id| id.index)
}

/// What this replica says to another one.
pub(crate) async fn answer(raft: &Raft, shared: &Shared, request: Request) -> Response {
    let refused = |error: &dyn std::fmt::Display| Response::Refused(error.to_string());
    match request {
        Request::Append(append) => append_to_log(raft, shared, append).await,
        Request::Vote(ballot) => match raft.vote(ballot).await {
            Ok(verdict) => Response::Vote(verdict),
            Err(error) => refused(&error),
        },
        Request::PreVote(ballot) => match raft.pre_vote(ballot).await {
            Ok(verdict) => Response::Vote(verdict),
            Err(error) => refused(&error),
        },
        Request::Transfer(transfer) => match raft.handle_transfer_leader(transfer).await {
            Ok(answer) => Response::Transfer(answer.is_ok()),
            Err(error) => refused(&error),
        },
        Request::Covered => Response::Covered(witness::covered(shared)),
        Request::Part(_) | Request::Piece(_) => refused(&"checkpoints and pieces are taken elsewhere"),
    }
}
