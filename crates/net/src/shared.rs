//! What all connections of a node share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Lane;
use crate::config::{Config, Limits};
use crate::dial::Peer;
use crate::hello::{Hello, Identity, Refusal, Refused, VERSION, Verdict, judge};
use crate::news::News;
use crate::roster::{Coming, Roster};
use crate::service::Service;
use crate::tls::Tls;

pub struct Shared {
    node: u32,
    incarnation: u32,
    instance: u64,
    pub cluster: watch::Sender<Option<u128>>,
    pub limits: Limits,
    pub tls: Option<Tls>,
    /// Without TLS, nodes of any machine and user are believed.
    pub trusts_all: bool,
    pub service: Arc<dyn Service>,
    pub roster: Mutex<Roster>,
    pub peers: RwLock<BTreeMap<u32, Arc<Peer>>>,
    /// Connections that were accepted and refused, or ended before they said who they are.
    pub turned_away: AtomicU64,
    news: Mutex<News>,
}

impl Shared {
    pub fn new(config: Config, instance: u64, service: Arc<dyn Service>) -> Shared {
        Shared {
            node: config.node,
            incarnation: config.incarnation,
            instance,
            cluster: watch::Sender::new(config.cluster),
            roster: Mutex::new(Roster::new(&config.known_incarnations, config.limits.nodes)),
            limits: config.limits,
            tls: config.tls,
            trusts_all: config.allow_plain_beyond_loopback,
            service,
            peers: RwLock::default(),
            turned_away: AtomicU64::new(0),
            news: Mutex::default(),
        }
    }

    pub fn node(&self) -> u32 {
        self.node
    }

    pub fn identity(&self) -> Identity {
        Identity {
            cluster: *self.cluster.borrow(),
            node: self.node,
            incarnation: self.incarnation,
            instance: self.instance,
        }
    }

    /// What this node says first.
    pub fn hello(&self, lane: Lane, expected: u32) -> Hello {
        Hello {
            version: VERSION,
            lane,
            who: self.identity(),
            expected,
            verdict: Verdict::Welcome,
        }
    }

    /// Judges what the other side has said. Returns whether it is a member of this node's cluster.
    pub fn meet(&self, expected: u32, theirs: &Hello) -> Result<bool, Refused> {
        let own = self.identity();
        judge(&own, expected, theirs)?;
        let is_member = self.is_fellow(&theirs.who);
        if is_member {
            self.meet_member(&theirs.who)?;
        }
        Ok(is_member)
    }

    /// Of the cluster that this node is a member of.
    pub fn is_fellow(&self, who: &Identity) -> bool {
        let cluster = *self.cluster.borrow();
        cluster.is_some() && who.cluster == cluster
    }

    pub fn meet_member(&self, who: &Identity) -> Result<(), Refused> {
        let coming = self.roster.lock().meet(who)?;
        if coming == Coming::Renewed {
            // Connections to the process before it are dead, whether or not they know.
            if let Some(peer) = self.peers.read().get(&who.node) {
                peer.leave_older(who.incarnation);
            }
            self.service.renewed(who.node, who.incarnation);
        }
        Ok(())
    }

    /// Whether a handshake of a moment ago would be another one now.
    pub fn is_out_of_date(&self, theirs: &Hello, is_member: bool) -> bool {
        self.is_fellow(&theirs.who) != is_member || self.roster.lock().is_old(&theirs.who)
    }

    pub fn not_member(&self) -> Refused {
        Refused {
            refusal: Refusal::NotMember,
            reason: format!("node {} is no member of a cluster yet: let it join first", self.node),
        }
    }

    /// Whether a line in the log says something new ([`News`]).
    pub fn is_news(&self, subject: &str, what: &str) -> bool {
        self.news.lock().is_news(subject, what, Instant::now())
    }

    pub fn is_over(&self, subject: &str) -> bool {
        self.news.lock().is_over(subject)
    }
}
