//! One node's parts, wired: rows and log, SQL, and the connections of its clients.
//!
//! The fronts ask small questions through traits of their own (`front_mysql::backend::Backend`, `front_http::Node`);
//! this is where they are answered.

mod figures;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use anyhow::{Context, Result};
use catalog::AuthenticationPlugin;
use env::Env;
use front_http::{Figures, Health, MemoryStatus, NodeStatus, ShardStatus, Status};
use front_mysql::backend::{Account, Backend, ClientHost};
use front_mysql::{Plugin, Registry};
use parking_lot::Mutex;
use shard::Shard;
use sql::engine::Engine;
use sql::schema::Schema;
use sql_api::session::SessionOptions;
use store::MemoryBudget;
use types::SqlResult;

use crate::config::{Config, ROLES};

pub const NODE_ID: u64 = 1;
const SHARD_ID: u64 = 1;

/// A node from its start to its stop. Before the rows are recovered it has a phase and little else.
pub struct Node {
    config: Config,
    started: Instant,
    registry: Arc<Registry>,
    /// Where MySQL clients are really listened to: the configured port may have been 0.
    mysql_addr: OnceLock<SocketAddr>,
    phase: Mutex<Phase>,
}

#[derive(Clone)]
enum Phase {
    Recovering,
    Serving(Parts),
    Stopping(Parts),
}

/// What exists once the rows are recovered.
#[derive(Clone)]
pub struct Parts {
    pub shard: Arc<Shard>,
    pub engine: Arc<Engine>,
}

impl Parts {
    /// Recovers the rows and reads the catalog. Blocks for as long as that takes.
    pub fn open(config: &Config, registry: &Arc<Registry>) -> Result<Self> {
        std::fs::create_dir_all(&config.data_dir)
            .with_context(|| format!("cannot create the data directory {}", config.data_dir.display()))?;
        let env = Env::real();
        let memory = MemoryBudget::new(config.memory_limit_bytes);
        let schema = Schema::new();
        let shard = Arc::new(Shard::open(shard::Config {
            observer: Some(schema.clone()),
            ..shard::Config::new(env.clone(), &config.data_dir, memory)
        })?);
        let engine = Engine::open(env, shard.clone(), schema)?;
        engine.set_processes(registry.clone());
        Ok(Self { shard, engine })
    }
}

impl Node {
    pub fn new(config: Config) -> Arc<Self> {
        Arc::new(Self {
            config,
            started: Instant::now(),
            registry: Registry::new(),
            mysql_addr: OnceLock::new(),
            phase: Mutex::new(Phase::Recovering),
        })
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The rows are there and clients may come, at this address.
    pub fn serves(&self, parts: Parts, mysql_addr: SocketAddr) {
        self.mysql_addr.get_or_init(|| mysql_addr);
        *self.phase.lock() = Phase::Serving(parts);
    }

    /// No new work; what runs may finish.
    pub fn stops(&self) {
        let mut phase = self.phase.lock();
        if let Phase::Serving(parts) = &*phase {
            *phase = Phase::Stopping(parts.clone());
        }
    }

    fn parts(&self) -> Option<Parts> {
        match &*self.phase.lock() {
            Phase::Recovering => None,
            Phase::Serving(parts) | Phase::Stopping(parts) => Some(parts.clone()),
        }
    }
}

/// What the MySQL front asks.
pub struct Sessions(pub Arc<Engine>);

impl Backend for Sessions {
    fn find_account(&self, user: &str, host: &ClientHost) -> Option<Account> {
        let catalog = self.0.catalog();
        let account = catalog.account_for_login(user, &[&host.name(), &host.0.to_canonical().to_string()])?;
        Some(Account {
            user: account.user.clone(),
            host: account.host.clone(),
            plugin: match account.plugin {
                AuthenticationPlugin::NativePassword => Plugin::MysqlNativePassword,
                AuthenticationPlugin::CachingSha2Password => Plugin::CachingSha2Password,
            },
            authentication_string: String::from_utf8_lossy(&account.authentication).into_owned(),
            locked: account.locked,
        })
    }

    fn open_session(&self, options: SessionOptions) -> SqlResult<Box<dyn sql_api::session::Session>> {
        Ok(Box::new(sql::session::Session::new(self.0.clone(), options)?))
    }
}

impl front_http::Node for Node {
    fn health(&self) -> Health {
        let not_serving = |reason: &str| Health::NotServing {
            reason: reason.to_owned(),
        };
        let phase = self.phase.lock().clone();
        match phase {
            Phase::Recovering => not_serving("recovering rows from checkpoint and log"),
            Phase::Stopping(_) => not_serving("stopping"),
            Phase::Serving(parts) => match parts.shard.status() {
                shard::Status {
                    stopped: Some(reason), ..
                } => not_serving(&format!("no commits are taken: {reason}")),
                shard::Status { is_leader: false, .. } => not_serving("no leader"),
                _ => Health::Serving,
            },
        }
    }

    fn status(&self) -> Status {
        let state = match front_http::Node::health(self) {
            Health::Serving => "serving".to_owned(),
            Health::NotServing { reason } => format!("not serving: {reason}"),
        };
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: self.started.elapsed().as_secs(),
            state,
            durability: self.config.durability.name().to_owned(),
            data_dir: self.config.data_dir.display().to_string(),
            nodes: vec![NodeStatus {
                id: NODE_ID,
                roles: ROLES.map(str::to_owned).to_vec(),
                mysql_addr: self.mysql_addr.get().unwrap_or(&self.config.mysql_addr).to_string(),
                http_addr: self.config.http_addr.to_string(),
                state: "up".to_owned(),
            }],
            shards: Vec::new(),
            memory: MemoryStatus {
                used_bytes: 0,
                limit_bytes: self.config.memory_limit_bytes,
            },
            connections: self.registry.statistics().connected as u64,
        };
        if let Some(parts) = self.parts() {
            let shard = parts.shard.status();
            let (last, applied) = (shard.last_log_index.unwrap_or(0), shard.applied_index.unwrap_or(0));
            status.memory.used_bytes = parts.shard.store().memory().used();
            status.shards.push(ShardStatus {
                id: SHARD_ID,
                leader: shard.is_leader.then_some(NODE_ID),
                term: shard.term,
                voters: vec![NODE_ID],
                last_log_index: last,
                applied_index: applied,
                checkpoint_index: shard.checkpoint_index.unwrap_or(0),
                lag_entries: last.saturating_sub(applied),
            });
        }
        status
    }

    fn figures(&self) -> Figures {
        figures::read(self.started, &self.registry, self.parts().as_ref())
    }
}
