//! The SQL side of a node: its engine, and clients that speak SQL text to sessions, as a server's fronts do.
//!
//! ```text
//!   client ── text ──▶ session ── plan ──▶ transaction ── calls ──▶ net ══ other nodes
//!     └──────── one fiber ────────┘               ▲
//!                  └── waits: the node's runtime ─┘
//! ```
//!
//! A client and its session are plain synchronous code on one fiber. Where a statement waits, its fiber is a task of the node's runtime like
//! any other, and timers go by the node's clock. A statement gives way after so many ticks, not after a time. What a server wires, the
//! same functions wire here: `Schema::followed_by`, `Engine::open`, `Engine::begin_to_serve`, `sql::neighbours`.
//!
//! * this file: how the side starts, and how code gets onto a fiber;
//! * [`host`]: how a statement waits; [`connections`]: the node's sessions, as the process list and KILL see them;
//! * [`ways`]: questions to the sessions of other nodes;
//! * [`client`]: a client's connection, and what becomes of its statements; [`prepared`]: those of its statements that it prepares;
//!   [`keys`]: the other door to the same node, for commands of Redis; [`work`]: what clients do;
//! * [`tables`]: the tables, and their rows as a replica has them.

pub mod client;
pub mod connections;
pub mod host;
pub mod keys;
mod prepared;
pub mod tables;
pub mod ways;
pub mod work;

use std::sync::Arc;

use env::Env;
use fiber::Fiber;
use governor::Governor;
use keyspace::Keyspace;
use parking_lot::Mutex;
use shard::{Durability, Shard};
use sql::engine::{Engine, StartError, Surroundings};
use sql::neighbours::{self, Neighbours};
use sql::schema::Schema;

use connections::{Connections, Handle};
use host::SimHost;
use ways::SimWays;

use crate::net::Door;

/// What of a node's process speaks SQL.
pub struct Side {
    pub schema: Arc<Schema>,
    pub connections: Arc<Connections>,
    door: Arc<Door>,
    /// With the engine below it.
    keyspace: Mutex<Option<Arc<Keyspace>>>,
}

impl Side {
    pub fn new(door: Arc<Door>) -> Arc<Side> {
        Arc::new(Side {
            schema: Schema::new(),
            connections: Connections::new(door.node),
            door,
            keyspace: Mutex::default(),
        })
    }

    /// Of a node that is there, or about to come to its cluster.
    pub fn keyspace(&self) -> Option<Arc<Keyspace>> {
        self.keyspace.lock().clone()
    }

    pub fn engine(&self) -> Option<Arc<Engine>> {
        self.keyspace().map(|keyspace| keyspace.engine().clone())
    }

    /// To a question of another node's.
    pub fn reply(&self, question: &[u8]) -> Vec<u8> {
        let Ok(question) = serde_json::from_slice(question) else {
            return Vec::new();
        };
        let reply = neighbours::reply(question, self.engine().as_deref(), self.connections.as_ref());
        serde_json::to_vec(&reply).unwrap_or_default()
    }

    /// Ready when clients may come.
    pub async fn start(self: Arc<Side>, env: Env, shard: Arc<Shard>) -> Result<Arc<Keyspace>, StartError> {
        let handle = self.connections.enter("system");
        on_fiber(handle, move |host| {
            let engine = Engine::open(env, shard.clone(), self.schema.clone(), host)?;
            let keyspace = Keyspace::new(engine.clone());
            *self.keyspace.lock() = Some(keyspace.clone());
            let ways = Arc::new(SimWays {
                door: self.door.clone(),
                shard,
            });
            let surroundings = Surroundings {
                processes: self.connections.clone(),
                nodes: Some(Arc::new(Neighbours(ways))),
                durability: Durability::MajorityDisk,
                data_dir: None,
                files: None,
            };
            engine.begin_to_serve(surroundings, host)?;
            Ok(keyspace)
        })
        .await
    }
}

/// Runs synchronous code as a future: it waits through its host.
pub async fn on_fiber<R: 'static>(handle: Arc<Handle>, body: impl FnOnce(&SimHost<'_>) -> R + 'static) -> R {
    let fiber = Fiber::new(move |suspender| {
        let host = SimHost::new(suspender, &handle);
        let governor = Governor::new(&host).with_stack(suspender.bounds);
        governor.run(|| body(&host))
    });
    fiber.expect("there is memory for a stack").await
}
