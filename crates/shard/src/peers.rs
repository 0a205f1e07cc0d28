//! The way to the other replicas: consensus on one side, bytes on the other.

use std::pin::Pin;
use std::sync::Arc;

use openraft::error::{NetworkError, RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{SnapshotResponse, TransferLeaderResponse};
use openraft::{AnyError, OptionalSend, RaftNetworkFactory, RaftNetworkV2};
use thiserror::Error;

use crate::api::Member;
use crate::checkpoint::Handle;
use crate::consensus::{Consensus, Vote};
use crate::message::{Append, Appended, Ballot, Request, Response, Transfer, Verdict};

/// Carries calls to replicas of the same shard on other nodes. It knows nothing of what is in them.
pub trait Peers: Send + Sync + 'static {
    /// Has [`Shard::receive`](crate::Shard::receive) called there, and brings its answer. Dropping the future gives the call up; it may have
    /// arrived all the same, and so may one that ended with [`NoAnswer`].
    fn call(&self, to: u32, request: Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NoAnswer>> + Send>>;
}

/// No answer came from a peer: it is down, or far, or the way to it is broken.
#[derive(Debug, Clone, Error)]
#[error("node {node} does not answer: {reason}")]
pub struct NoAnswer {
    pub node: u32,
    pub reason: String,
}

/// Of a shard with one replica.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoPeers;

impl Peers for NoPeers {
    fn call(&self, node: u32, _request: Vec<u8>) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, NoAnswer>> + Send>> {
        let reason = "this node knows no way to others".into();
        Box::pin(std::future::ready(Err(NoAnswer { node, reason })))
    }
}

/// What the consensus library asks for a way to a replica.
pub(crate) struct Ways {
    peers: Arc<dyn Peers>,
}

impl Ways {
    pub fn new(peers: Arc<dyn Peers>) -> Ways {
        Ways { peers }
    }
}

/// The way to one replica.
pub(crate) struct Way {
    peers: Arc<dyn Peers>,
    to: u32,
}

impl RaftNetworkFactory<Consensus> for Ways {
    type Network = Way;

    async fn new_client(&mut self, target: u64, _member: &Member) -> Way {
        Way {
            peers: self.peers.clone(),
            to: u32::try_from(target).expect("node ids have 32 bits"),
        }
    }
}

type CallError = RPCError<Consensus>;

impl Way {
    async fn call(&self, request: Request, option: &RPCOption) -> Result<Response, CallError> {
        let answer = tokio::time::timeout(option.hard_ttl(), self.peers.call(self.to, request.encode()));
        let unreachable = |error: String| RPCError::Unreachable(Unreachable::new(&AnyError::error(error)));
        match answer.await {
            Ok(Ok(answer)) => match Response::decode(&answer) {
                Ok(Response::Refused(reason)) => Err(unreachable(reason)),
                Ok(response) => Ok(response),
                Err(garbled) => Err(unreachable(garbled.to_string())),
            },
            Ok(Err(no_answer)) => Err(unreachable(no_answer.to_string())),
            Err(_late) => {
                let late = format!("no answer of node {} within {:?}", self.to, option.hard_ttl());
                Err(RPCError::Network(NetworkError::new(&AnyError::error(late))))
            }
        }
    }
}

/// An answer to another question.
fn astray() -> CallError {
    RPCError::Unreachable(Unreachable::new(&AnyError::error("an answer to another question")))
}

impl RaftNetworkV2<Consensus> for Way {
    type SnapshotData = Handle;

    async fn append_entries(&mut self, request: Append, option: RPCOption) -> Result<Appended, CallError> {
        match self.call(Request::Append(request), &option).await? {
            Response::Append(appended) => Ok(appended),
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
        _vote: Vote,
        _snapshot: openraft::alias::SnapshotOf<Consensus, Handle>,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<Consensus>, StreamingError<Consensus>> {
        let reason = AnyError::error("checkpoints are not sent to other replicas");
        Err(StreamingError::Unreachable(Unreachable::new(&reason)))
    }
}
