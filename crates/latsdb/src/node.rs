//! One node's parts, wired: rows and log, SQL, and the connections of its clients.
//!
//! The fronts ask small questions through traits of their own (`front::backend::Backend`, `front_http::Node`);
//! this is where they are answered.

pub mod events;
pub mod expiry;
mod figures;
pub mod messages;

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use catalog::{AccountDef, AuthenticationPlugin};
use env::{Env, Level, Levels};
use front::backend::{Account, Backend, ClientHost, Limits, Plugin};
use front::{Logins, Registry};
use front_http::{
    Admission, BackupAnswer, BackupCall, Credentials, Figures, Health, History, MemoryStatus, NodeStatus, Order,
    Purpose, ShardStatus, Status, Visitor,
};
use keyspace::Keyspace;
use parking_lot::Mutex;
use shard::{Founding, NoPeers, Role, Shard};
use sql::engine::{Engine, Surroundings};
use sql::neighbours::Neighbours;
use sql::schema::Schema;
use sql_api::host::BlockingHost;
use sql_api::login::{Client, Standing};
use sql_api::nodes::OtherNodes;
use sql_api::session::SessionOptions;
use store::MemoryBudget;
use types::{ErrorKind, SqlResult};

use crate::allocator;
use crate::backup::Serving;
use crate::cluster::{self, Cluster, Presence};
use crate::config::{Config, ROLES, WITNESS_ROLES};
use crate::data_dir;

const SHARD_ID: u64 = 1;

/// A node from its start to its stop. Before the rows are recovered it has a phase and little else.
pub struct Node {
    config: Config,
    started: Instant,
    registry: Arc<Registry>,
    /// Where MySQL clients are really listened to: the configured port may have been 0.
    mysql_addr: OnceLock<SocketAddr>,
    redis_addr: OnceLock<SocketAddr>,
    logins: OnceLock<Arc<Logins>>,
    phase: Mutex<Phase>,
    /// Load balancers are to send nobody.
    is_draining: AtomicBool,
    backups: Arc<Serving>,
    history: History,
    keyspace: OnceLock<Arc<Keyspace>>,
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
    /// `None`: a witness, which has nothing for sessions.
    pub engine: Option<Arc<Engine>>,
    pub cluster: Option<Arc<Cluster>>,
    /// Once clients may come.
    pub keyspace: Option<Arc<Keyspace>>,
}

impl Parts {
    /// Recovers the rows and reads the catalog. Blocks for as long as that takes; of a cluster, until there is somebody to get them from.
    pub fn open(config: &Config, registry: &Arc<Registry>, cluster: Option<Arc<Cluster>>) -> Result<Self> {
        data_dir::prepare(&config.data_dir)?;
        let files = config.secure_file_priv.as_deref();
        let files = files.map(|files| data_dir::files_beside(files, &config.data_dir));
        let files = files.transpose()?.map(Arc::new);
        let env = Env::real();
        let joins = config.peer.as_ref().filter(|peer| !peer.join.is_empty());
        let memory = MemoryBudget::new(config.memory_limit_bytes);
        governor::memory::set_node_limit(config.memory_limit_bytes);
        allocator::take_small_steps()?;
        let settings = shard::Config {
            node_id: config.node_id,
            role: config.role,
            log_keep_bytes: config.log_keep_bytes,
            peers: match &cluster {
                Some(cluster) => cluster.clone(),
                None => Arc::new(NoPeers),
            },
            founding: match joins {
                Some(_) => Founding::Joins,
                None => Founding::Alone,
            },
            ..shard::Config::new(env.clone(), &config.data_dir, memory)
        };
        let schema = Schema::new();
        let settings = match config.role {
            Role::Data => schema.followed_by(settings),
            Role::Witness => settings,
        };
        if let Some(peer) = joins {
            cluster::join(config, peer, &settings)?;
        }
        let shard = match (Shard::open(settings.clone()), &config.peer) {
            (Err(damage), Some(peer)) if damage.is_damage() => {
                cluster::rejoin(config, peer, &settings, &damage)?;
                Shard::open(settings)
            }
            (opened, _) => opened,
        };
        let shard = Arc::new(shard?);
        if let Some(cluster) = &cluster {
            cluster.start(shard.clone())?;
        }
        if joins.is_none() && schema.is_empty() {
            begin_at_highest_level(&shard)?;
        }
        if config.role == Role::Witness {
            return Ok(Self {
                shard,
                engine: None,
                cluster,
                keyspace: None,
            });
        }
        let engine = Engine::open(env, shard.clone(), schema, &BlockingHost)?;
        if let Some(cluster) = &cluster {
            cluster.is_served_by(&engine);
        }
        let surroundings = Surroundings {
            processes: registry.clone(),
            nodes: cluster
                .clone()
                .map(|cluster| Arc::new(Neighbours(cluster)) as Arc<dyn OtherNodes>),
            durability: config.durability,
            data_dir: Some(config.data_dir.clone()),
            files,
        };
        engine.begin_to_serve(surroundings, &BlockingHost)?;
        Ok(Self {
            shard,
            engine: Some(engine),
            cluster,
            keyspace: None,
        })
    }
}

impl Node {
    pub fn new(config: Config) -> Arc<Self> {
        let registry = match config.peer {
            Some(_) => Registry::of_node(u8::try_from(config.node_id).expect("the configuration was checked")),
            None => Registry::new(),
        };
        Arc::new(Self {
            config,
            started: Instant::now(),
            registry,
            mysql_addr: OnceLock::new(),
            redis_addr: OnceLock::new(),
            logins: OnceLock::new(),
            phase: Mutex::new(Phase::Recovering),
            is_draining: AtomicBool::new(false),
            backups: Arc::default(),
            history: History::default(),
            keyspace: OnceLock::new(),
        })
    }

    /// From here on, commands of Redis clients are counted in the history.
    pub fn counts_commands_of(&self, keyspace: Arc<Keyspace>) {
        let _ = self.keyspace.set(keyspace);
    }

    /// Notes the node's figures each second, for as long as it is there.
    pub async fn keep_history(self: Arc<Self>) {
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        seconds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            seconds.tick().await;
            if let Some(parts) = self.parts() {
                let redis_commands = self.keyspace.get().map_or(0, |keyspace| keyspace.commands_so_far());
                let sample = figures::sample(&self.registry, &parts, redis_commands);
                self.history.note(Instant::now(), &sample);
            }
        }
    }

    pub fn backups(&self) -> &Arc<Serving> {
        &self.backups
    }

    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The rows are there and clients may come, at this address.
    pub fn serves(&self, parts: Parts, mysql_addr: SocketAddr, redis_addr: Option<SocketAddr>, logins: Arc<Logins>) {
        self.mysql_addr.get_or_init(|| mysql_addr);
        if let Some(redis_addr) = redis_addr {
            self.redis_addr.get_or_init(|| redis_addr);
        }
        self.logins.get_or_init(|| logins);
        *self.phase.lock() = Phase::Serving(parts);
    }

    /// As [`serves`](Self::serves), of a node without rows: the other nodes may rely on it.
    pub fn bears_witness(&self, parts: Parts) {
        *self.phase.lock() = Phase::Serving(parts);
    }

    /// No new work; what runs may finish.
    pub fn stops(&self) {
        let mut phase = self.phase.lock();
        if let Phase::Serving(parts) = &*phase {
            *phase = Phase::Stopping(parts.clone());
        }
    }

    async fn carry_out(&self, order: Order) -> Result<String, String> {
        match order {
            Order::Drain => self.is_draining.store(true, Ordering::Relaxed),
            Order::Resume => self.is_draining.store(false, Ordering::Relaxed),
            Order::MoveLeader { .. } | Order::RemoveNode { .. } | Order::ReplaceNode { .. } | Order::Upgrade => {}
        }
        let parts = self.parts();
        let cluster = parts.as_ref().and_then(|parts| parts.cluster.clone());
        match (order, cluster) {
            (Order::Resume, _) => Ok("the node takes clients".to_owned()),
            (Order::Drain, None) => Ok("load balancers are told to send nobody".to_owned()),
            (Order::Upgrade, None) => match parts {
                Some(parts) => upgrade_alone(&parts.shard).await,
                None => Err("the node is recovering its rows".to_owned()),
            },
            (_, None) if parts.is_none() => Err("the node is recovering its rows".to_owned()),
            (_, None) => Err("the node is alone: it was started without --peer-addr".to_owned()),
            (Order::Drain, Some(cluster)) => {
                cluster.give_up_lead().await?;
                Ok("the node does not lead; load balancers are told to send nobody".to_owned())
            }
            (Order::MoveLeader { to }, Some(cluster)) => cluster.order_leader(to).await,
            (Order::Upgrade, Some(cluster)) => cluster.order_upgrade().await,
            (Order::RemoveNode { node }, Some(cluster)) => cluster.order_removal(node).await,
            (Order::ReplaceNode { node }, Some(cluster)) => cluster.order_replacement(node).await,
        }
    }

    /// The user who runs the node needs no login on this machine; others are accounts that may see the server.
    async fn admit_visitor(&self, visitor: Visitor, purpose: Purpose) -> Admission {
        let peer = visitor.peer;
        let Some(Credentials { user, password }) = visitor.credentials else {
            return match peer.is_owner() {
                Ok(true) => Admission::Welcome,
                Ok(false) | Err(_) => Admission::Login,
            };
        };
        // A witness knows no accounts.
        let engine = self.parts().and_then(|parts| parts.engine);
        let (Some(logins), Some(engine)) = (self.logins.get(), engine) else {
            return Admission::Login;
        };
        // All rows never leave the machine this way.
        let is_secret = visitor.encryption.is_some() || !engine.is_on("require_secure_transport");
        let stays_here = purpose == Purpose::BackUp || !is_secret;
        if stays_here && !peer.host().is_local() {
            return Admission::Forbidden;
        }
        let client = Client {
            user,
            host: peer.host().name(),
            using_password: true,
            encryption: visitor.encryption,
            certificate: visitor.certificate,
            handles_expired_password: false,
        };
        match logins.check_password(&client, &password, &peer).await {
            Ok(account) => {
                let is_allowed = match purpose {
                    Purpose::Look => engine.may_see_server(&account.user, &account.host),
                    Purpose::BackUp => engine.may_back_up(&account.user, &account.host),
                };
                match is_allowed {
                    true => Admission::Welcome,
                    false => Admission::Forbidden,
                }
            }
            Err(denied) if denied.kind() == ErrorKind::ConCount => Admission::Later,
            Err(_) => Admission::Login,
        }
    }

    /// This node and those that it knows of.
    fn nodes(&self) -> Vec<NodeStatus> {
        let cluster = self.parts().and_then(|parts| parts.cluster);
        let mut known = match &cluster {
            Some(cluster) => cluster.others(),
            None => Vec::new(),
        };
        let levels = cluster
            .as_ref()
            .map(|cluster| cluster.known_levels())
            .unwrap_or_default();
        let spoken = |node| match node == self.config.node_id {
            true => Levels::spoken().to_string(),
            false => levels.get(&node).map(Levels::to_string).unwrap_or_default(),
        };
        let this = cluster.map(|cluster| cluster.presence());
        let is_witness = self.config.role == Role::Witness;
        known.push(Presence {
            node: self.config.node_id,
            is_witness,
            mysql_addr: match is_witness {
                true => String::new(),
                false => self.mysql_addr.get().unwrap_or(&self.config.mysql_addr).to_string(),
            },
            http_addr: self.config.http_addr.to_string(),
            state: "up".to_owned(),
            ..this.unwrap_or_default()
        });
        known.sort_by_key(|presence| presence.node);
        let newest = known.iter().map(|presence| presence.last_log_index).max().unwrap_or(0);
        let node = |presence: Presence| NodeStatus {
            id: u64::from(presence.node),
            roles: match presence.is_witness {
                true => WITNESS_ROLES.map(str::to_owned).to_vec(),
                false => ROLES.map(str::to_owned).to_vec(),
            },
            levels: spoken(presence.node),
            mysql_addr: presence.mysql_addr,
            http_addr: presence.http_addr,
            peer_addr: presence.peer_addr,
            applied_index: presence.applied_index,
            lag_entries: newest.saturating_sub(presence.applied_index),
            state: presence.state,
        };
        known.into_iter().map(node).collect()
    }

    fn parts(&self) -> Option<Parts> {
        match &*self.phase.lock() {
            Phase::Recovering => None,
            Phase::Serving(parts) | Phase::Stopping(parts) => Some(parts.clone()),
        }
    }
}

/// Of a cluster that is founded just now: no node of an older version is in it.
fn begin_at_highest_level(shard: &Shard) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    match runtime.block_on(upgrade_alone(shard)) {
        Ok(_) => Ok(()),
        Err(error) => bail!("cannot begin at the highest feature level: {error}"),
    }
}

/// Of a node that is alone: there is nobody whom it could leave behind.
async fn upgrade_alone(shard: &Shard) -> Result<String, String> {
    let (from, to) = (shard.level(), Levels::spoken().highest);
    if from >= to {
        return Ok(cluster::is_there_already(from));
    }
    shard.raise(to).await.map_err(|error| error.to_string())?;
    Ok(cluster::has_risen(to))
}

/// What the fronts ask of accounts and sessions.
pub struct Sessions(pub Arc<Engine>);

impl Backend for Sessions {
    fn find_account(&self, user: &str, host: &ClientHost) -> Option<Account> {
        let catalog = self.0.catalog();
        let names = host.names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let account = catalog.account_for_login(user, &names)?;
        let text = |stored: &[u8]| String::from_utf8_lossy(stored).into_owned();
        Some(Account {
            user: account.user.clone(),
            host: account.host.clone(),
            plugin: plugin_of(account),
            authentication_string: text(&account.authentication),
            second_authentication_string: text(&account.policy.password.second),
            is_owners_alone: account.authentication.is_empty() && catalog.is_administrator(account),
        })
    }

    fn plugin_of_nobody(&self, dice: u64) -> Plugin {
        let catalog = self.0.catalog();
        let (all, native) = catalog
            .accounts()
            .filter(|account| !account.authentication.is_empty())
            .fold((0, 0), |(all, native), account| {
                (
                    all + 1,
                    native + u64::from(plugin_of(account) == Plugin::MysqlNativePassword),
                )
            });
        match dice % u64::max(all, 1) < native {
            true => Plugin::MysqlNativePassword,
            false => Plugin::CachingSha2Password,
        }
    }

    fn login_failed(&self, account: &Account, client: &Client) -> SqlResult<()> {
        self.0.login_failed(&account.user, &account.host, client)
    }

    fn login_proved(&self, account: &Account, client: &Client) -> SqlResult<Standing> {
        self.0.login_proved(&account.user, &account.host, client)
    }

    fn open_session(&self, options: SessionOptions) -> SqlResult<Box<dyn sql_api::session::Session>> {
        Ok(Box::new(sql::session::Session::new(self.0.clone(), options)?))
    }

    fn limits(&self) -> Limits {
        let number = |name: &str| self.0.global_number(name) as usize;
        Limits {
            connections_max: number("max_connections"),
            user_connections_max: number("max_user_connections"),
            account_share_percent: number("max_account_connections_percent"),
            address_share_percent: number("max_address_connections_percent"),
            login_timeout: Duration::from_secs(self.0.global_number("connect_timeout")),
            require_secure_transport: self.0.is_on("require_secure_transport"),
        }
    }
}

fn plugin_of(account: &AccountDef) -> Plugin {
    match account.plugin {
        AuthenticationPlugin::NativePassword => Plugin::MysqlNativePassword,
        AuthenticationPlugin::CachingSha2Password => Plugin::CachingSha2Password,
    }
}

impl front_http::Node for Node {
    fn admit(&self, visitor: Visitor, purpose: Purpose) -> Pin<Box<dyn Future<Output = Admission> + Send + '_>> {
        Box::pin(self.admit_visitor(visitor, purpose))
    }

    fn health(&self) -> Health {
        let not_serving = |reason: &str| Health::NotServing {
            reason: reason.to_owned(),
        };
        let phase = self.phase.lock().clone();
        match phase {
            Phase::Recovering => not_serving("recovering rows from checkpoint and log"),
            Phase::Stopping(_) => not_serving("stopping"),
            Phase::Serving(_) if self.is_draining.load(Ordering::Relaxed) => not_serving("draining"),
            Phase::Serving(parts) => match parts.shard.status() {
                shard::Status {
                    stopped: Some(reason), ..
                } => {
                    // The reason names files. Who may see the status reads it there.
                    tracing::debug!(%reason, "not serving");
                    not_serving("no commits are taken")
                }
                shard::Status { leader: None, .. } => not_serving("no leader"),
                shard::Status { is_in_touch: false, .. } => not_serving("the other nodes are silent"),
                shard::Status {
                    disk_is_full: true,
                    is_leader: false,
                    ..
                } => not_serving("the disk is full"),
                _ => Health::Serving,
            },
        }
    }

    fn leads(&self) -> bool {
        let serving = front_http::Node::health(self) == Health::Serving;
        serving && self.parts().is_some_and(|parts| parts.shard.status().is_leader)
    }

    fn act(&self, order: Order) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send + '_>> {
        Box::pin(self.carry_out(order))
    }

    fn back_up(&self, call: BackupCall) -> Pin<Box<dyn Future<Output = Result<BackupAnswer, String>> + Send + '_>> {
        Box::pin(async move {
            match self.parts() {
                Some(parts) => self.backups.answer(parts.shard, call).await,
                None => Err("the node is recovering its rows".to_owned()),
            }
        })
    }

    fn status(&self) -> Status {
        let state = match front_http::Node::health(self) {
            Health::Serving => "serving".to_owned(),
            Health::NotServing { reason } => {
                let detail = self.parts().and_then(|parts| parts.shard.stopped());
                match detail {
                    Some(detail) => format!("not serving: {reason}: {detail}"),
                    None => format!("not serving: {reason}"),
                }
            }
        };
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            node_id: u64::from(self.config.node_id),
            uptime_seconds: self.started.elapsed().as_secs(),
            state,
            durability: self
                .parts()
                .and_then(|parts| parts.engine)
                .map_or(self.config.durability, |engine| engine.durability())
                .name()
                .to_owned(),
            data_dir: self.config.data_dir.display().to_string(),
            redis_addr: self.redis_addr.get().map_or_else(String::new, SocketAddr::to_string),
            level: Level::FIRST.0,
            nodes: Vec::new(),
            shards: Vec::new(),
            memory: MemoryStatus {
                used_bytes: 0,
                limit_bytes: self.config.memory_limit_bytes,
            },
            connections: self.registry.statistics().connected as u64,
        };
        if let Some(parts) = self.parts() {
            status.level = parts.shard.level().0;
            let shard = parts.shard.status();
            let (last, applied) = (shard.last_log_index.unwrap_or(0), shard.applied_index.unwrap_or(0));
            status.memory.used_bytes = parts.shard.store().memory().used();
            let replicas = parts.shard.replicas();
            let voters = replicas.iter().filter(|replica| replica.votes);
            status.shards.push(ShardStatus {
                id: SHARD_ID,
                leader: shard.leader.map(u64::from),
                term: shard.term,
                voters: voters.map(|replica| u64::from(replica.node)).collect(),
                last_log_index: last,
                applied_index: applied,
                checkpoint_index: shard.checkpoint_index.unwrap_or(0),
                lag_entries: last.saturating_sub(applied),
                log_bytes: shard.log_kept_bytes,
                log_keep_bytes: self.config.log_keep_bytes,
            });
        }
        status.nodes = self.nodes();
        status
    }

    fn figures(&self) -> Figures {
        let this = self
            .nodes()
            .into_iter()
            .find(|node| node.id == u64::from(self.config.node_id));
        Figures {
            is_serving: front_http::Node::health(self) == Health::Serving,
            lag_entries: this.map_or(0, |node| node.lag_entries),
            disk: figures::disk_of(&self.config.data_dir),
            ..figures::read(self.started, &self.registry, self.parts().as_ref())
        }
    }

    fn history(&self) -> &History {
        &self.history
    }
}
