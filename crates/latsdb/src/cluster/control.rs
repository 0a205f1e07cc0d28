//! What nodes say to each other beside the shard's own calls, as JSON: it is little, and read by people, too.

use env::{Level, Levels};
use net::{Answering, Caller, Net};
use serde::{Deserialize, Serialize};
use shard::{Admitted, EntryId, Member, MembershipError, Role, Shard};
use sql::neighbours::{self, Question, Reply};

use super::Cluster;
use super::levels::Spoken;
use crate::backup::Asked;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// Of a node that is looking for a cluster, too.
    WhoIsThere,
    /// Of a node that belongs to the cluster: it wants to be one of the shard's replicas, reached there.
    Admit {
        peer_addr: String,
        sql_addr: String,
        /// It has no rows; at levels that have a place for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        witness: bool,
        /// What it speaks, from where to where; at levels that have a place for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        levels: Option<(u8, u8)>,
        /// Its directory is new, and it does not know yet which entry takes it in.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new: bool,
    },
    /// How the node is.
    HowAreYou,
    MoveLeader {
        to: u32,
    },
    Remove {
        node: u32,
    },
    /// Which levels the node speaks, and those that it has met.
    WhoSpeaksWhat,
    /// Raises the cluster's feature level.
    Raise {
        level: u8,
    },
    /// A part of a backup. Of whoever has come as a node does; the answer is no [`Response`], but records.
    BackUp(Asked),
    #[serde(untagged)]
    OfSessions(Question),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// The cluster's nodes with their peer addresses, and the newest life of the node that has asked, should there have been one by its number
    /// (0: none).
    Nodes {
        nodes: Vec<(u32, String)>,
        incarnation: u32,
        /// The cluster's feature level.
        #[serde(default = "first_level")]
        level: u8,
    },
    Spoken(Vec<Spoken>),
    Presence(Box<Presence>),
    Done,
    /// By this entry, or one before it, the node listens now. It is to ask again.
    TakenIn {
        term: u64,
        index: u64,
    },
    /// It is none of the cluster's nodes.
    Unknown {
        node: u32,
    },
    /// Ask that node.
    NotLeader {
        leader: Option<(u32, String)>,
    },
    Refused {
        reason: String,
    },
    #[serde(untagged)]
    OfSessions(Reply),
}

/// What a node says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    pub node: u32,
    /// It has no rows.
    #[serde(default, rename = "witness")]
    pub is_witness: bool,
    pub version: String,
    pub mysql_addr: String,
    pub http_addr: String,
    pub peer_addr: String,
    /// `up`, or why it cannot be said.
    pub state: String,
    pub votes: bool,
    pub leads: bool,
    pub disk_is_full: bool,
    pub term: u64,
    pub last_log_index: u64,
    pub applied_index: u64,
}

fn votes(shard: &Shard, node: u32) -> bool {
    shard
        .replicas()
        .iter()
        .any(|replica| replica.node == node && replica.votes)
}

impl Cluster {
    pub(super) fn answer(&self, from: Caller, request: &[u8]) -> Answering {
        let answer = match serde_json::from_slice(request) {
            Ok(Request::BackUp(asked)) => return self.back_up(asked),
            Ok(request) => self.answer_to(from, request),
            Err(error) => now(Response::Refused {
                reason: format!("not a request of this version: {error}"),
            }),
        };
        Box::pin(async move { serde_json::to_vec(&answer.await).unwrap_or_default() })
    }

    /// No answer at all: the node is starting.
    fn back_up(&self, asked: Asked) -> Answering {
        let Some(shard) = self.shard.get().cloned() else {
            return Box::pin(std::future::ready(Vec::new()));
        };
        let (serving, parts) = (self.backups.clone(), self.parts.clone());
        Box::pin(async move { parts.answer(&serving, shard, &asked).await })
    }

    fn answer_to(&self, from: Caller, request: Request) -> Later {
        let Some(shard) = self.shard.get() else {
            return now(Response::Refused {
                reason: "the node is starting".into(),
            });
        };
        match request {
            Request::BackUp(_) => now(Response::Refused {
                reason: "a backup is no answer of this kind".into(),
            }),
            Request::WhoIsThere => {
                let replicas = shard.replicas().into_iter();
                let nodes = replicas.map(|replica| (replica.node, replica.member.peer_addr));
                let seen = self.net.get().map(Net::incarnations).unwrap_or_default();
                let lives = seen.into_iter().filter(|(node, _)| *node == from.node);
                now(Response::Nodes {
                    nodes: nodes.collect(),
                    level: shard.level().0,
                    incarnation: lives
                        .map(|(_, incarnation)| incarnation)
                        .chain(shard.newest_incarnation(from.node))
                        .max()
                        .unwrap_or(0),
                })
            }
            _ if !from.is_member => now(Response::Refused {
                reason: "only nodes of the cluster are answered".into(),
            }),
            Request::HowAreYou => now(Response::Presence(Box::new(self.presence()))),
            Request::Admit { .. } if shard.newest_incarnation(from.node) > Some(from.incarnation) => {
                // Its transactions would have names that were given already.
                now(Response::Refused {
                    reason: format!(
                        "node {} has had a later life: start it anew with an empty directory",
                        from.node
                    ),
                })
            }
            // Nobody sends the log of the node before to one that has nothing of it.
            Request::Admit { new: true, .. } if votes(shard, from.node) => now(Response::Refused {
                reason: MembershipError::Exists(from.node).to_string(),
            }),
            Request::Admit {
                peer_addr,
                sql_addr,
                witness,
                levels,
                new,
            } => {
                if let Some(net) = self.net.get() {
                    net.set_peer(from.node, &peer_addr);
                }
                let member = Member {
                    role: match witness {
                        true => Role::Witness,
                        false => Role::Data,
                    },
                    levels: levels.map(|(lowest, highest)| Levels {
                        lowest: Level(lowest),
                        highest: Level(highest),
                    }),
                    peer_addr,
                    sql_addr,
                };
                self.answered(shard.admit(from.node, member, new), |admitted| match admitted {
                    Admitted::Votes => Response::Done,
                    Admitted::Listens(EntryId { term, index }) => Response::TakenIn { term, index },
                })
            }
            Request::MoveLeader { to } => self.move_leader(to),
            Request::Remove { node } => self.changed(shard.dismiss(node)),
            Request::WhoSpeaksWhat => now(Response::Spoken(self.spoken())),
            Request::Raise { level } => self.raise(Level(level)),
            Request::OfSessions(question) => {
                let engine = self.engine();
                let reply = neighbours::reply(question, engine.as_deref(), self.registry.as_ref());
                now(Response::OfSessions(reply))
            }
        }
    }

    fn move_leader(&self, to: u32) -> Later {
        let Some(shard) = self.shard.get() else {
            return now(Response::NotLeader { leader: None });
        };
        if !shard.status().is_leader {
            return now(Response::NotLeader { leader: self.leader() });
        }
        now(match shard.move_leader(to) {
            Ok(()) => Response::Done,
            Err(error) => Response::Refused {
                reason: error.to_string(),
            },
        })
    }

    pub(super) fn changed(
        &self,
        changing: impl Future<Output = Result<(), MembershipError>> + Send + 'static,
    ) -> Later {
        self.answered(changing, |()| Response::Done)
    }

    fn answered<T>(
        &self,
        changing: impl Future<Output = Result<T, MembershipError>> + Send + 'static,
        answer: impl FnOnce(T) -> Response + Send + 'static,
    ) -> Later {
        let leader = self.leader();
        Box::pin(async move {
            match changing.await {
                Ok(changed) => answer(changed),
                Err(MembershipError::NotLeader) => Response::NotLeader { leader },
                Err(MembershipError::Unknown(node)) => Response::Unknown { node },
                Err(error) => Response::Refused {
                    reason: error.to_string(),
                },
            }
        })
    }

    /// Who leads, as far as this node has heard, and where it is reached.
    pub(super) fn leader(&self) -> Option<(u32, String)> {
        let shard = self.shard.get()?;
        let leader = shard.status().leader?;
        let replicas = shard.replicas();
        let replica = replicas.into_iter().find(|replica| replica.node == leader)?;
        Some((leader, replica.member.peer_addr))
    }

    /// What this node says of itself.
    pub fn presence(&self) -> Presence {
        let Some(shard) = self.shard.get() else {
            return Presence::default();
        };
        let status = shard.status();
        let member = self.member().unwrap_or_default();
        Presence {
            node: self.node,
            is_witness: self.role == Role::Witness,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            mysql_addr: member.sql_addr,
            http_addr: self.http_addr.to_string(),
            peer_addr: member.peer_addr,
            state: match (&status.stopped, self.sql_addr.get(), self.role) {
                (Some(_), _, _) => "stopped".to_owned(),
                (None, None, Role::Data) => "starting".to_owned(),
                (None, Some(_), _) | (None, None, Role::Witness) => "up".to_owned(),
            },
            votes: votes(shard, self.node),
            leads: status.is_leader,
            disk_is_full: status.disk_is_full,
            term: status.term,
            last_log_index: status.last_log_index.unwrap_or(0),
            applied_index: status.applied_index.unwrap_or(0),
        }
    }
}

/// Whoever says nothing of it is at the first.
fn first_level() -> u8 {
    Level::FIRST.0
}

pub type Later = std::pin::Pin<Box<dyn Future<Output = Response> + Send>>;

pub fn now(response: Response) -> Later {
    Box::pin(std::future::ready(response))
}
