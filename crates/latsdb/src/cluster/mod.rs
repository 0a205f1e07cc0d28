//! This node among others: the way between its shard and theirs, and what keeps the membership true.
//!
//! ```text
//!   shard ──Peers──▶ net ═════ other nodes ═════ net ──Service──▶ shard, control
//! ```
//!
//! * `control`: what nodes say to each other beside the shard's own calls: who is there, who wants to join;
//! * `join`: a new directory becomes one of the cluster's;
//! * `levels`: which formats all nodes can read, and raising that;
//! * `orders`: what the operator asks for;
//! * `relay`: the way round a cut between two nodes;
//! * `sessions`: the sessions of the other nodes, as statements ask for them;
//! * `words`: what layers above the shard say to their like on other nodes;
//! * `upkeep`: peers follow the membership, and the membership follows where nodes are.

mod control;
mod join;
mod levels;
mod orders;
mod relay;
mod sessions;
mod upkeep;
pub mod words;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use env::{Feature, Levels};
use front::Registry;
use net::{Answering, CallError, Caller, Net, Service};
use parking_lot::Mutex;
use shard::{Answered, Identity, Issuer, Lane, Member, NoAnswer, Peers, Role, Shard};
use sql::engine::Engine;

use crate::backup::{Parts, Serving};
use crate::config::{Config, PeerConfig};

pub use control::{Presence, Request, Response};
pub use join::{join, rejoin};
pub use levels::{has_risen, is_there_already};
use relay::{Carried, DeadEnds};
pub use upkeep::keep_up;
use words::Listeners;

/// The other nodes, for as long as this one runs.
pub struct Cluster {
    config: PeerConfig,
    node: u32,
    role: Role,
    http_addr: SocketAddr,
    registry: Arc<Registry>,
    backups: Arc<Serving>,
    parts: Arc<Parts>,
    /// Once the rows are recovered.
    shard: OnceLock<Arc<Shard>>,
    /// It has the other nodes, too.
    engine: OnceLock<Weak<Engine>>,
    net: OnceLock<Net>,
    mysql_addr: SocketAddr,
    /// Where clients really come in; the configured port may have been 0.
    sql_addr: OnceLock<SocketAddr>,
    /// What the others have said of themselves last.
    others: Mutex<Vec<Presence>>,
    dead_ends: DeadEnds,
    listeners: Listeners,
    /// For calls that outlast a borrow.
    this: Weak<Cluster>,
}

impl Cluster {
    pub fn new(config: &Config, peer: &PeerConfig, registry: Arc<Registry>, backups: Arc<Serving>) -> Arc<Cluster> {
        Arc::new_cyclic(|this| Cluster {
            this: this.clone(),
            dead_ends: DeadEnds::default(),
            listeners: Listeners::default(),
            config: peer.clone(),
            node: config.node_id,
            role: config.role,
            http_addr: config.http_addr,
            registry,
            backups,
            parts: Arc::default(),
            mysql_addr: config.mysql_addr,
            shard: OnceLock::new(),
            engine: OnceLock::new(),
            net: OnceLock::new(),
            sql_addr: OnceLock::new(),
            others: Mutex::default(),
        })
    }

    /// From now on this node talks to the others.
    pub fn start(self: &Arc<Cluster>, shard: Arc<Shard>) -> Result<()> {
        let Identity {
            cluster,
            node,
            incarnation,
            level,
            role: _,
        } = shard.identity();
        let replicas = shard.replicas();
        self.shard.get_or_init(|| shard);
        let config = net::Config {
            cluster: Some(cluster),
            tls: tls(&self.config)?,
            allow_plain_beyond_loopback: self.config.plaintext,
            level,
            ..net::Config::new(node, incarnation, self.config.addr)
        };
        let net = Net::start(config, self.clone()).context("cannot start the network between nodes")?;
        let net = self.net.get_or_init(|| net);
        for replica in replicas {
            net.set_peer(replica.node, &replica.member.peer_addr);
        }
        Ok(())
    }

    /// The SQL side is there.
    pub fn is_served_by(&self, engine: &Arc<Engine>) {
        self.engine.get_or_init(|| Arc::downgrade(engine));
    }

    fn engine(&self) -> Option<Arc<Engine>> {
        self.engine.get()?.upgrade()
    }

    /// Clients are served at this address.
    pub fn serves(&self, sql_addr: SocketAddr) {
        self.sql_addr.get_or_init(|| sql_addr);
    }

    pub fn stop(&self) {
        if let Some(net) = self.net.get() {
            net.shutdown();
        }
    }

    /// What this node is to be called by.
    fn member(&self) -> Option<Member> {
        Some(Member {
            role: self.role,
            levels: self.levels_to_note(),
            peer_addr: self.net.get()?.local_addr().to_string(),
            sql_addr: match self.role {
                Role::Data => self.sql_addr.get().unwrap_or(&self.mysql_addr).to_string(),
                Role::Witness => String::new(),
            },
        })
    }

    /// What the membership is to have of this node's levels: nothing, where others could not read it.
    fn levels_to_note(&self) -> Option<Levels> {
        let level = self.shard.get()?.level();
        level.has(Feature::LevelsOnDisk).then(Levels::spoken)
    }

    /// Of calls for sessions, in microseconds, to the nodes that can be reached.
    pub fn round_trips(&self) -> Vec<(u32, u64)> {
        let peers = self.net.get().map(Net::peers).unwrap_or_default();
        let trip = |peer: &net::PeerStatus| {
            let lane = peer.lanes.iter().find(|lane| lane.lane == net::Lane::Storage)?;
            lane.connected_for?;
            Some((peer.node, u64::try_from(lane.round_trip?.as_micros()).ok()?))
        };
        peers.iter().filter_map(trip).collect()
    }

    /// What the other nodes have said of themselves, and whether they can be reached.
    pub fn others(&self) -> Vec<Presence> {
        self.others.lock().clone()
    }
}

fn tls(config: &PeerConfig) -> Result<Option<net::Tls>> {
    let load = |files: &crate::config::PeerTls| {
        let tls =
            net::Tls::load(&files.cert, &files.key, &files.ca, None).context("cannot use the files of --peer-tls-*")?;
        Ok(tls.with_naming(files.naming))
    };
    config.tls.as_ref().map(load).transpose()
}

impl Peers for Cluster {
    fn call(&self, to: u32, lane: Lane, request: Vec<u8>, within: Duration) -> Answered {
        let Some(net) = self.net.get() else {
            let reason = "the network is not up yet".into();
            return Box::pin(std::future::ready(Err(NoAnswer {
                node: to,
                reason,
                may_have_arrived: false,
            })));
        };
        let by = match lane {
            Lane::Consensus => net::Lane::Consensus,
            Lane::Storage => net::Lane::Storage,
        };
        let (began, this) = (Instant::now(), self.this.clone());
        let call = net.call(to, by, request, within);
        Box::pin(async move {
            let error = match call.await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let left = within.saturating_sub(began.elapsed());
            if let (CallError::NotSent { request, .. }, Some(this)) = (&error, this.upgrade())
                && let Some(answer) = this.call_round(to, Carried::Call(lane), request, left).await
            {
                return answer;
            }
            Err(no_answer(to, &error))
        })
    }
}

fn no_answer(node: u32, error: &CallError) -> NoAnswer {
    NoAnswer {
        node,
        reason: error.to_string(),
        may_have_arrived: error.may_have_arrived(),
    }
}

impl Service for Cluster {
    fn receive(&self, from: Caller, lane: net::Lane, request: Vec<u8>) -> Answering {
        match lane {
            net::Lane::Control => match self.answer_relayed(from, &request) {
                Some(answer) => answer,
                None if words::is_one(&request) => self.answer_words(from, &request),
                None => self.answer(from, &request),
            },
            net::Lane::Consensus => self.answer_on(from, Lane::Consensus, &request),
            net::Lane::Storage => self.answer_on(from, Lane::Storage, &request),
        }
    }
}

impl Cluster {
    /// A call of the shard's.
    fn answer_on(&self, from: Caller, lane: Lane, request: &[u8]) -> Answering {
        let Some(shard) = self.shard.get() else {
            return Box::pin(std::future::ready(Vec::new()));
        };
        match lane {
            Lane::Consensus => Box::pin(shard.receive(request)),
            Lane::Storage => {
                let from = Issuer {
                    node: from.node,
                    incarnation: from.incarnation,
                };
                Box::pin(shard.serve(from, request))
            }
        }
    }
}
