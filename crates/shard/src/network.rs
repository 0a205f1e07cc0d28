//! The way to other replicas, of which there are none yet.

use openraft::error::{RPCError, ReplicationClosed, StreamingError, Unreachable};
use openraft::network::RPCOption;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse};
use openraft::{AnyError, BasicNode, OptionalSend, RaftNetworkFactory, RaftNetworkV2};

use crate::checkpoint::Handle;
use crate::consensus::{Consensus, Vote};

/// Reaches nobody.
pub(crate) struct NoPeers;

impl RaftNetworkFactory<Consensus> for NoPeers {
    type Network = NoPeers;

    async fn new_client(&mut self, _target: u64, _node: &BasicNode) -> NoPeers {
        NoPeers
    }
}

fn unreachable() -> Unreachable<Consensus> {
    Unreachable::new(&AnyError::error("shards do not talk to each other yet"))
}

impl RaftNetworkV2<Consensus> for NoPeers {
    type SnapshotData = Handle;

    async fn append_entries(
        &mut self,
        _request: AppendEntriesRequest<Consensus>,
        _option: RPCOption,
    ) -> Result<AppendEntriesResponse<Consensus>, RPCError<Consensus>> {
        Err(RPCError::Unreachable(unreachable()))
    }

    async fn vote(
        &mut self,
        _request: VoteRequest<Consensus>,
        _option: RPCOption,
    ) -> Result<VoteResponse<Consensus>, RPCError<Consensus>> {
        Err(RPCError::Unreachable(unreachable()))
    }

    async fn full_snapshot(
        &mut self,
        _vote: Vote,
        _snapshot: openraft::alias::SnapshotOf<Consensus, Handle>,
        _cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _option: RPCOption,
    ) -> Result<SnapshotResponse<Consensus>, StreamingError<Consensus>> {
        Err(StreamingError::Unreachable(unreachable()))
    }
}
