//! What the connections to the peers look like, for `SHOW`, `/status` and metrics.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use tokio::time::Instant;

use crate::Lane;
use crate::dial::Peer;

#[derive(Debug, Clone)]
pub struct PeerStatus {
    pub node: u32,
    pub addr: String,
    /// Of the process that has answered last.
    pub incarnation: Option<u32>,
    /// In the order of [`Lane::ALL`].
    pub lanes: Vec<LaneStatus>,
}

#[derive(Debug, Clone)]
pub struct LaneStatus {
    pub lane: Lane,
    /// `None`: there is no connection.
    pub connected_for: Option<Duration>,
    /// Why there is none, or why the last one ended.
    pub last_error: Option<String>,
    pub last_heard_ago: Option<Duration>,
    /// Of pings, smoothed.
    pub round_trip: Option<Duration>,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Calls of this node that wait for their answers.
    pub calls: usize,
    /// Bytes of requests that wait to be written.
    pub queued_bytes: usize,
    /// Connections that were made since the peer is known.
    pub connections: u64,
}

impl PeerStatus {
    /// On all lanes.
    pub fn is_connected(&self) -> bool {
        self.lanes.iter().all(|lane| lane.connected_for.is_some())
    }

    /// Of a lane that has no connection.
    pub fn error(&self) -> Option<&str> {
        let apart = self.lanes.iter().filter(|lane| lane.connected_for.is_none());
        apart.filter_map(|lane| lane.last_error.as_deref()).next()
    }

    pub fn last_heard_ago(&self) -> Option<Duration> {
        self.lanes.iter().filter_map(|lane| lane.last_heard_ago).min()
    }
}

pub fn status(peer: &Peer, now: Instant) -> PeerStatus {
    let lanes = peer.lines.iter().map(|line| {
        let look = line.look();
        LaneStatus {
            lane: line.lane,
            connected_for: look.connected_since.map(|since| now.saturating_duration_since(since)),
            last_error: look.last_error,
            last_heard_ago: look.last_heard.map(|at| now.saturating_duration_since(at)),
            round_trip: look.round_trip,
            bytes_in: line.counters.bytes_in.load(Relaxed),
            bytes_out: line.counters.bytes_out.load(Relaxed),
            calls: look.calls,
            queued_bytes: look.queued_bytes,
            connections: look.connections,
        }
    });
    PeerStatus {
        node: peer.node,
        addr: peer.addr.clone(),
        incarnation: peer.incarnation(),
        lanes: lanes.collect(),
    }
}
