//! What a node's network is started with: who the node is, where it listens, how much it takes.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use env::{Level, Levels};
use thiserror::Error;

use crate::hello::Refused;
use crate::tls::Tls;

/// What a call is about. Each lane has a connection of its own, so that a call never waits behind those of another lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Votes, entries of the log, parts of checkpoints.
    Consensus,
    /// Locks and commits.
    Storage,
    /// Joining, status, administration. The only one that is open to nodes of no cluster.
    Control,
}

impl Lane {
    pub const ALL: [Lane; 3] = [Lane::Consensus, Lane::Storage, Lane::Control];

    /// In frames and handshakes.
    pub(crate) fn code(self) -> u8 {
        self.index() as u8 + 1
    }

    pub(crate) fn of_code(code: u8) -> Option<Lane> {
        Lane::ALL.into_iter().find(|lane| lane.code() == code)
    }

    pub(crate) fn index(self) -> usize {
        match self {
            Lane::Consensus => 0,
            Lane::Storage => 1,
            Lane::Control => 2,
        }
    }
}

impl std::fmt::Display for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Lane::Consensus => "consensus",
            Lane::Storage => "storage",
            Lane::Control => "control",
        })
    }
}

#[derive(Debug, Clone)]
pub struct Config {
    /// 0: the node has no id yet. Only without a cluster.
    pub node: u32,
    /// How often the node has been started; a node of a cluster never comes twice with the same.
    pub incarnation: u32,
    /// `None`: the node belongs to none yet, and may only call on [`Lane::Control`].
    pub cluster: Option<u128>,
    /// Nodes with the highest incarnations that were seen of them before this start ([`Net::incarnations`](crate::Net::incarnations)).
    pub known_incarnations: Vec<(u32, u32)>,
    pub listen: SocketAddr,
    /// `None`: connections are not encrypted, and nobody proves who he is.
    pub tls: Option<Tls>,
    /// Without TLS, a node listens on addresses of its own machine only, unless this is set.
    pub allow_plain_beyond_loopback: bool,
    pub limits: Limits,
    /// What this node speaks.
    pub speaks: Levels,
    /// The cluster's, as far as the node knows; [`Net::set_level`](crate::Net::set_level).
    pub level: Level,
}

impl Config {
    /// Of a node that belongs to no cluster, with the usual limits.
    pub fn new(node: u32, incarnation: u32, listen: SocketAddr) -> Config {
        Config {
            node,
            incarnation,
            cluster: None,
            known_incarnations: Vec::new(),
            listen,
            tls: None,
            allow_plain_beyond_loopback: false,
            limits: Limits::default(),
            speaks: Levels::spoken(),
            level: Level::FIRST,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Limits {
    pub consensus: LaneLimits,
    pub storage: LaneLimits,
    pub control: LaneLimits,
    /// Accepted connections that have not said who they are, or belong to no member. The next one ends the oldest of them.
    pub strangers: usize,
    /// Of a request of a node that is no member, and of all those of it that are being answered.
    pub stranger_bytes: usize,
    /// Nodes of which something is remembered. More are refused.
    pub nodes: usize,
    pub connect_timeout: Duration,
    /// From the connection on, for both sides; with TLS its handshake is within.
    pub handshake_timeout: Duration,
    /// Each side of a connection sends at least one frame in this time.
    pub beat: Duration,
    /// After so many beats without a byte from the other side a connection is dead.
    pub silent_beats: u32,
    /// The longest pause between two attempts to reach a peer.
    pub retry: Duration,
}

/// Of one peer on one lane.
#[derive(Debug, Clone, Copy)]
pub struct LaneLimits {
    /// Of a request or an answer.
    pub frame_bytes: usize,
    /// Calls that this node makes and waits for; also, calls of the peer that this node answers at a time.
    pub calls: usize,
    /// Requests that wait to be written; also, requests that are being answered and answers that wait to be written.
    pub buffered_bytes: usize,
}

impl Limits {
    pub fn lane(&self, lane: Lane) -> LaneLimits {
        match lane {
            Lane::Consensus => self.consensus,
            Lane::Storage => self.storage,
            Lane::Control => self.control,
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        let lane = |frame_bytes, calls, buffered_bytes| LaneLimits {
            frame_bytes,
            calls,
            buffered_bytes,
        };
        Limits {
            consensus: lane(65 << 20, 1024, 130 << 20),
            storage: lane(65 << 20, 4096, 130 << 20),
            control: lane(4 << 20, 128, 8 << 20),
            strangers: 64,
            stranger_bytes: 64 << 10,
            nodes: 256,
            connect_timeout: Duration::from_millis(300),
            handshake_timeout: Duration::from_secs(1),
            beat: Duration::from_millis(250),
            silent_beats: 4,
            retry: Duration::from_millis(60),
        }
    }
}

/// Why a node's network does not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("cannot listen on {addr}: {error}")]
    Listen { addr: SocketAddr, error: io::Error },
    #[error(
        "without TLS, peers are not to be let in from other machines: listen on a loopback address instead of {0}, set up TLS between \
         nodes, or allow plain connections by name"
    )]
    PlainBeyondLoopback(SocketAddr),
    #[error("node id 0 stands for none; a member of a cluster has one from 1 on")]
    MemberWithoutId,
    #[error("a lane's limit of {0} bytes in a frame is not below 4 GiB")]
    FrameLimit(usize),
    #[error("a connection needs a beat, and at least one of silence")]
    Beat,
    #[error("{0}")]
    Certificate(Refused),
    #[error("cannot start the thread of the network: {0}")]
    Thread(io::Error),
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), StartError> {
        if self.tls.is_none() && !self.listen.ip().is_loopback() && !self.allow_plain_beyond_loopback {
            return Err(StartError::PlainBeyondLoopback(self.listen));
        }
        if self.node == 0 && self.cluster.is_some() {
            return Err(StartError::MemberWithoutId);
        }
        if self.limits.beat.is_zero() || self.limits.silent_beats == 0 {
            return Err(StartError::Beat);
        }
        if let Some(tls) = &self.tls {
            tls.judge_own(self.node).map_err(StartError::Certificate)?;
        }
        let frames = Lane::ALL.map(|lane| self.limits.lane(lane).frame_bytes);
        match frames.into_iter().find(|bytes| u32::try_from(*bytes).is_err()) {
            Some(bytes) => Err(StartError::FrameLimit(bytes)),
            None => Ok(()),
        }
    }
}
