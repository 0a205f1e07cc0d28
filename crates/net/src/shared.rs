//! What all connections of a node share.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use env::{Level, Levels};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::Lane;
use crate::config::{Config, Limits};
use crate::dial::Peer;
use crate::hello::{Hello, Identity, Refusal, Refused, Standing, VERSION, Verdict, judge, judge_levels};
use crate::names::NodeNames;
use crate::news::News;
use crate::roster::{Coming, Roster};
use crate::service::Service;
use crate::tls::Tls;

pub struct Shared {
    node: u32,
    incarnation: u32,
    instance: u64,
    pub cluster: watch::Sender<Option<u128>>,
    speaks: Levels,
    level: Mutex<Level>,
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
            speaks: config.speaks,
            level: Mutex::new(config.level),
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
            verdict: Verdict::Welcome { speaks: self.speaks },
        }
    }

    /// Judges what the other side has said, and what its certificate says of it. Returns whether it is a member of this node's cluster.
    pub fn meet(&self, expected: u32, theirs: &Hello, names: Option<&NodeNames>) -> Result<bool, Refused> {
        let own = self.identity();
        judge(&own, expected, theirs)?;
        if let (Some(tls), Some(names)) = (&self.tls, names) {
            tls.judge(names, theirs.who.node)?;
        }
        let is_member = self.is_fellow(&theirs.who);
        let levels = judge_levels(&own, self.standing(), theirs);
        if is_member {
            // Whoever is refused for its levels is known to speak them.
            self.meet_member(theirs)?;
        }
        levels?;
        Ok(is_member)
    }

    /// Of the cluster that this node is a member of.
    pub fn is_fellow(&self, who: &Identity) -> bool {
        let cluster = *self.cluster.borrow();
        cluster.is_some() && who.cluster == cluster
    }

    pub fn meet_member(&self, theirs: &Hello) -> Result<(), Refused> {
        let who = &theirs.who;
        let speaks = match theirs.verdict {
            Verdict::Welcome { speaks } => Some(speaks),
            Verdict::Refused { .. } => None,
        };
        let coming = self.roster.lock().meet(who, speaks)?;
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
        self.is_fellow(&theirs.who) != is_member
            || self.roster.lock().is_old(&theirs.who)
            || judge_levels(&self.identity(), self.standing(), theirs).is_err()
    }

    pub fn standing(&self) -> Standing {
        Standing {
            speaks: self.speaks,
            level: *self.level.lock(),
        }
    }

    /// The cluster's level has risen: connections of those who do not speak it end.
    pub fn set_level(&self, level: Level) {
        let before = std::mem::replace(&mut *self.level.lock(), level);
        if before == level {
            return;
        }
        let left_behind = self.roster.lock().end_those_below(level);
        let peers = self.peers.read();
        for peer in left_behind.iter().filter_map(|node| peers.get(node)) {
            peer.lines.iter().for_each(|line| line.restart.notify_one());
        }
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
