//! `latsdb serve`: one node from start to stop.
//!
//! ```text
//!   event loops and HTTP up (503: recovering) ─▶ rows recovered ─▶ MySQL, Redis, tables over HTTP up ─▶ banner
//!        ─▶ SIGTERM or SIGINT (503: stopping) ─▶ statements finish ─▶ checkpoint ─▶ HTTP down ─▶ end     (a second signal: end at once)
//! ```

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use front::{EventLoops, Logins, Tls};
use front_http::Doors;
use keyspace::Keyspace;
use rest::Rest;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sql::engine::Engine;
use sql::purge::Purge;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing::{info, warn};

use crate::cluster::{Cluster, keep_up};
use crate::config::{Config, RedisAddr, format_bytes};
use crate::data_dir;
use crate::node::{Node, Parts, Sessions, events, expiry, messages};
use crate::{lasting, logging, panics};

/// How long an automatic id may be known to the node alone.
const BETWEEN_COMMITS_OF_COUNTERS: Duration = Duration::from_secs(1);
/// How long a table whose rows expire, or a new leader, may wait to be seen.
const BETWEEN_PURGES: Duration = Duration::from_millis(250);
const BETWEEN_STEPS_OF_PURGES: Duration = Duration::from_millis(1);

/// What a running statement gets after SIGTERM before it is interrupted.
const STATEMENT_GRACE: Duration = Duration::from_secs(10);

pub fn run(config: &Config) -> Result<()> {
    logging::start(config.log_level, config.log_format);
    panics::watch();
    data_dir::keep_others_out();
    allow_many_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the event loop")?;
    let served = runtime.block_on(serve(config.clone()));
    // Whatever still runs in the background has nothing left to say.
    runtime.shutdown_background();
    served
}

async fn serve(mut config: Config) -> Result<()> {
    let mut stop = StopSignals::listen()?;
    let http = listen(config.http_addr)?;
    config.http_addr = http.local_addr()?;
    let node = Node::new(config.clone());
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let loops =
        EventLoops::start(cores, config.report_turns, node.registry().clone()).context("cannot start a thread")?;
    let doors = Arc::new(Doors::default());
    let start_http = |listener| {
        front_http::Server::start(listener, loops.loops(), node.clone(), doors.clone()).context("cannot start a thread")
    };
    // On another address than loopback, HTTP waits for the same condition as MySQL.
    let (mut waiting, mut http) = (Some(http), None);
    if config.http_addr.ip().is_loopback() {
        http = waiting.take().map(start_http).transpose()?;
    }

    let historian = node.clone();
    lasting::start(move || historian.clone().keep_history());
    let registry = node.registry().clone();
    let cluster = config
        .peer
        .as_ref()
        .map(|peer| Cluster::new(&config, peer, registry.clone(), node.backups().clone()));
    if let Some(cluster) = &cluster {
        let cluster = cluster.clone();
        lasting::start(move || keep_up(cluster.clone()));
    }
    let opened = {
        let (config, registry, cluster) = (config.clone(), registry.clone(), cluster.clone());
        tokio::task::spawn_blocking(move || Parts::open(&config, &registry, cluster))
    };
    let parts = tokio::select! {
        opened = opened => opened.context("recovery panicked")??,
        // Recovery changes nothing that a restart would not find again.
        () = stop.first() => return Ok(()),
    };
    // A witness has no accounts: nobody is let in over the network.
    if let Some(engine) = &parts.engine {
        refuse_open_doors(&config, engine)?;
    }
    if let Some(listener) = waiting {
        http = Some(start_http(listener)?);
    }
    let open = match &parts.engine {
        Some(engine) => Some(open_to_clients(&mut config, &node, &parts, engine, &loops, &doors)?),
        None => {
            node.bears_witness(parts.clone());
            say(&witness_banner(&config));
            None
        }
    };

    stop.first().await;
    info!("stopping: running statements may finish; a second signal stops at once");
    node.stops();
    let graceful = async {
        // Clients of the other nodes go on without a gap.
        if let Some(cluster) = &cluster
            && let Err(reason) = cluster.give_up_lead().await
        {
            info!(%reason, "the lead stays here to the end");
        }
        if let Some(open) = open {
            open.mysql.stop().await;
            if let Some(redis) = open.redis {
                redis.stop().await;
            }
        }
        loops.drain(STATEMENT_GRACE).await;
        let shard = parts.shard.clone();
        tokio::task::spawn_blocking(move || shard.shutdown()).await
    };
    tokio::select! {
        stopped = graceful => stopped.context("the last checkpoint panicked")?,
        () = stop.first() => {
            warn!("stopped at once; the log has every commit");
            process::exit(1);
        }
    }
    if let Some(cluster) = &cluster {
        cluster.stop();
    }
    if let Some(http) = http {
        http.stop().await;
    }
    loops.end().await;
    info!("stopped");
    Ok(())
}

/// Where clients with sessions of SQL or of Redis come in.
struct Open {
    mysql: front_mysql::Server,
    redis: Option<front_redis::Server>,
}

/// Clients may come: opens what they come by, and says so.
fn open_to_clients(
    config: &mut Config,
    node: &Arc<Node>,
    parts: &Parts,
    engine: &Arc<Engine>,
    loops: &EventLoops,
    doors: &Doors,
) -> Result<Open> {
    let registry = node.registry().clone();
    let backend = Arc::new(Sessions(engine.clone()));
    let tls = Tls::load_or_generate(&config.data_dir).context("cannot set up TLS")?;
    let logins = Logins::start(tls.secret(), registry.clone(), backend).context("cannot start a thread")?;
    let mysql = front_mysql::Config {
        socket: socket_of(config)?,
        tls: Some(tls.clone()),
        ..front_mysql::Config::new(config.mysql_addr)
    };
    let socket = mysql.socket.clone();
    let mysql = front_mysql::Server::start(mysql, loops.loops(), logins.clone())
        .with_context(|| cannot_listen("MySQL", config.mysql_addr, "--mysql-addr"))?;
    config.mysql_addr = mysql.addr();
    let port = config.mysql_addr.port().to_string();
    engine.globals().describe("port", &port);
    if let Some(cluster) = &parts.cluster {
        cluster.serves(mysql.addr());
    }
    let keyspace = Keyspace::new(engine.clone());
    if let Some(cluster) = &parts.cluster {
        messages::start(cluster, &keyspace);
    }
    node.counts_commands_of(keyspace.clone());
    let redis = open_to_redis(config, &keyspace, loops, &logins, tls.clone())?;
    let rest = Rest::new(engine.clone(), front_http::jobs(loops.loops()));
    doors.open(front_http::Open {
        logins: logins.clone(),
        tls,
        rest,
    });
    let parts = Parts {
        keyspace: Some(keyspace.clone()),
        ..parts.clone()
    };
    let redis_addr = redis.as_ref().map(front_redis::Server::addr);
    node.serves(parts.clone(), mysql.addr(), redis_addr, logins);
    let (shard, loops) = (parts.shard.clone(), loops.loops());
    let of = engine.clone();
    lasting::start(move || log_automatic_ids(of.clone()));
    let (of, on, at) = (engine.clone(), shard.clone(), loops.clone());
    lasting::start(move || events::keep_time(of.clone(), on.clone(), at.clone()));
    lasting::start(move || expiry::keep_time(keyspace.clone(), shard.clone(), loops.clone()));
    let of = engine.clone();
    lasting::start(move || purge_expired(of.clone()));
    say(&banner(config, socket.as_deref(), redis_addr));
    Ok(Open { mysql, redis })
}

fn open_to_redis(
    config: &Config,
    keyspace: &Arc<Keyspace>,
    loops: &EventLoops,
    logins: &Arc<Logins>,
    tls: Tls,
) -> Result<Option<front_redis::Server>> {
    let (RedisAddr::Usual(addr) | RedisAddr::At(addr)) = config.redis else {
        return Ok(None);
    };
    match front_redis::Server::start(addr, loops.loops(), logins.clone(), keyspace.clone(), Some(tls)) {
        Ok(server) => Ok(Some(server)),
        // Nobody has asked for it.
        Err(error) if matches!(config.redis, RedisAddr::Usual(_)) => {
            warn!(%error, %addr, "no Redis clients: their usual address is taken; --redis-addr names another one");
            Ok(None)
        }
        Err(error) => Err(error).with_context(|| cannot_listen("Redis", addr, "--redis-addr")),
    }
}

fn say(banner: &str) {
    // Whoever started the node may have closed its output; that is no reason to stop.
    let _ = writeln!(std::io::stdout(), "{banner}");
}

/// Raises the limit of open files as far as it goes: each connection is one.
fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    ) {
        warn!(%error, "the limit of open files stays at {:?}", limit.current);
    }
}

fn listen(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address).with_context(|| cannot_listen("HTTP", address, "--http-addr"))
}

fn cannot_listen(protocol: &str, address: SocketAddr, flag: &str) -> String {
    format!("cannot listen on {address} for {protocol} (another server there? choose an address with {flag})")
}

/// The longest path that a socket's address holds.
const SOCKET_PATH_LEN_MAX: usize = 107;

/// Where the Unix socket goes. A data directory with a path too long for one has none, unless it is put elsewhere.
fn socket_of(config: &Config) -> Result<Option<PathBuf>> {
    let path = match &config.socket {
        Some(path) => path.clone(),
        None => std::path::absolute(&config.data_dir)?.join("latsdb.sock"),
    };
    if path.as_os_str().len() <= SOCKET_PATH_LEN_MAX {
        return Ok(Some(path));
    }
    let why = format!("the path {} is too long for a Unix socket", path.display());
    if config.socket.is_some() {
        bail!("--socket: {why} ({SOCKET_PATH_LEN_MAX} bytes at most)");
    }
    warn!("{why}: there is none; --socket names another place");
    Ok(None)
}

/// What is rolled back is known to the log a second later, as in InnoDB.
async fn log_automatic_ids(engine: Arc<Engine>) {
    loop {
        tokio::time::sleep(BETWEEN_COMMITS_OF_COUNTERS).await;
        if let Some(commit) = engine.log_automatic_ids() {
            commit.await;
        }
    }
}

/// Rows that have expired go in small steps, which take a fifth of a core's time at most.
async fn purge_expired(engine: Arc<Engine>) {
    let mut purge = Purge::default();
    loop {
        let begun = Instant::now();
        let rest = match engine.purge_expired(&mut purge) {
            None => BETWEEN_PURGES,
            Some(commit) => {
                let worked = begun.elapsed();
                commit.await;
                worked * 4
            }
        };
        tokio::time::sleep(rest.max(BETWEEN_STEPS_OF_PURGES)).await;
    }
}

/// An open address needs a password for everybody who may take over the server; the first start has none.
fn refuse_open_doors(config: &Config, engine: &Engine) -> Result<()> {
    let redis = match config.redis {
        RedisAddr::Usual(addr) | RedisAddr::At(addr) => Some(("--redis-addr", addr)),
        RedisAddr::Nowhere => None,
    };
    let open = [("--mysql-addr", config.mysql_addr), ("--http-addr", config.http_addr)]
        .into_iter()
        .chain(redis)
        .find(|(_, address)| !address.ip().is_loopback());
    let Some((flag, address)) = open else { return Ok(()) };
    let catalog = engine.catalog();
    let without: Vec<String> = catalog
        .administrators_without_password()
        .map(|account| {
            format!(
                "'{}'@'{}'",
                account.user.replace('\'', "''"),
                account.host.replace('\'', "''")
            )
        })
        .collect();
    if without.is_empty() {
        return Ok(());
    }
    bail!(
        "refusing to listen on {address} ({flag}): administrators without a password: {}. Start on 127.0.0.1, then for each: \
         latsdb sql -e \"ALTER USER {} IDENTIFIED BY '...'\"",
        without.join(", "),
        without[0]
    )
}

fn banner(config: &Config, socket: Option<&Path>, redis: Option<SocketAddr>) -> String {
    let (mysql, http) = (config.mysql_addr, config.http_addr);
    let port = match mysql.port() {
        3306 => String::new(),
        port => format!(" -P {port}"),
    };
    let socket = socket.map_or_else(String::new, |path| {
        format!("\x20 socket  {0}    mariadb -S {0} -u root\n", path.display())
    });
    let redis = redis.map_or_else(String::new, |redis| {
        let port = match redis.port() {
            6379 => String::new(),
            port => format!(" -p {port}"),
        };
        format!("\x20 Redis   {redis}    redis-cli -h {}{port}\n", reachable(redis.ip()))
    });
    format!(
        "LatsDB {} is ready: data in {}, up to {} of memory, every commit on disk\n\
         \n\
         \x20 MySQL   {mysql}    mariadb -h {}{port} -u root\n\
         {socket}\
         {redis}\
         \x20 HTTP    http://{http}    the console in a browser; /v1/… for programs\n\
         \x20 shell   latsdb sql{}\n\
         \n\
         Stop with Ctrl-C.",
        env!("CARGO_PKG_VERSION"),
        config.data_dir.display(),
        format_bytes(config.memory_limit_bytes),
        reachable(mysql.ip()),
        port.replace("-P", "--port"),
    )
}

fn witness_banner(config: &Config) -> String {
    format!(
        "LatsDB {} bears witness: the log in {}, no rows, no MySQL clients\n\
         \n\
         \x20 HTTP    http://{}    the console in a browser; /health /status /metrics\n\
         \n\
         Stop with Ctrl-C.",
        env!("CARGO_PKG_VERSION"),
        config.data_dir.display(),
        config.http_addr,
    )
}

/// Where this machine's clients find a server that listens on `ip`.
fn reachable(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// SIGTERM and SIGINT mean the same.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn listen() -> Result<Self> {
        let signal = |kind| signal(kind).context("cannot listen to signals");
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn first(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_says_how_to_connect() {
        let config = Config::from_layers(&[]).unwrap();
        let text = banner(&config, None, None);
        assert!(
            text.contains("127.0.0.1:3306    mariadb -h 127.0.0.1 -u root\n"),
            "{text}"
        );
        let mut config = config;
        config.mysql_addr.set_port(3500);
        let text = banner(&config, None, None);
        assert!(text.contains("mariadb -h 127.0.0.1 -P 3500 -u root\n"), "{text}");
        assert!(text.contains("latsdb sql --port 3500\n"), "{text}");
        config.mysql_addr.set_ip(Ipv4Addr::UNSPECIFIED.into());
        let text = banner(&config, None, None);
        assert!(
            text.contains("MySQL   0.0.0.0:3500    mariadb -h 127.0.0.1 -P 3500"),
            "{text}"
        );
    }
}
