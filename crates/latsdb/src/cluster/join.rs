//! A new directory becomes one of a cluster's.
//!
//! One of the nodes named by `--join` says which cluster it belongs to and who is in it. The directory gets that cluster's identity; from
//! there on the node is known to the others, and asks to be a replica ([`keep_up`](super::keep_up)).

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use env::{Env, Feature, Level};
use futures_util::future::join_all;
use net::{Answering, Caller, Introduction, Lane, Net, Service};
use shard::{Identity, OpenError, Role, Shard};

use super::{Request, Response, tls};
use crate::config::{Config, PeerConfig};

/// How long the nodes to join are looked for.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);
const CALL: Duration = Duration::from_secs(2);
/// Nodes that are up have said by then which cluster they are of.
const FOREIGN_WITHIN: Duration = Duration::from_secs(1);

/// Of a node that does not say which one it is.
const NO_NUMBER: u32 = 0;

/// Nobody calls a node that does not belong to a cluster yet.
struct Nobody;

impl Service for Nobody {
    fn receive(&self, _from: Caller, _lane: Lane, _request: Vec<u8>) -> Answering {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// Gives a directory without an identity that of the cluster to join. Blocks; waits for the others to come up.
pub fn join(config: &Config, peer: &PeerConfig, shard: &shard::Config) -> Result<()> {
    if let Some(identity) = Identity::read(&shard.env, &config.data_dir)? {
        return refuse_foreign(config, peer, identity.cluster);
    }
    let found = look(config, peer)?;
    if let Some(addr) = found.address_of(config.node_id) {
        let node = config.node_id;
        bail!(
            "node {node} of the cluster exists already, at {addr}, and {} is empty: choose another --node-id, or, if what that node had is \
             lost, say so first (latsdb admin replace-node {node})",
            config.data_dir.display()
        );
    }
    if config.role == Role::Witness && !found.level.has(Feature::Witness) {
        bail!(
            "a witness needs feature level {}, and the cluster is at level {}: raise it first (latsdb admin upgrade, on one of its nodes)",
            Feature::Witness.level(),
            found.level
        );
    }
    Shard::prepare(shard, found.identity(config))?;
    tracing::info!(through = found.through, "joining the cluster");
    Ok(())
}

/// A directory of one cluster, started with addresses of another: what is written to it would be found nowhere else. Those that do not answer at once
/// may be down.
fn refuse_foreign(config: &Config, peer: &PeerConfig, own: u128) -> Result<()> {
    // A node of the other cluster with the number of this one answers no other node of that number.
    let answers = among_strangers(NO_NUMBER, peer, async |net| {
        let asked = peer
            .join
            .iter()
            .map(|seed| tokio::time::timeout(FOREIGN_WITHIN, ask(net, seed)));
        Ok(join_all(asked).await)
    })?;
    let mut found = answers.into_iter().filter_map(|answer| answer.ok()?.ok()?);
    match found.find(|found| found.cluster != own) {
        None => Ok(()),
        Some(other) => bail!(
            "node {} of --join is of another cluster than {}. A restored backup is a cluster of its own: start it without --join. To give up what is in \
             the directory and join the others, start with an empty one",
            other.through,
            config.data_dir.display()
        ),
    }
}

/// What of a directory is damaged is lost, the node's votes among it. Once the cluster has let go of the node, what is left is set aside, and the
/// directory joins anew. Until then the error says what to do.
pub fn rejoin(config: &Config, peer: &PeerConfig, shard: &shard::Config, damage: &OpenError) -> Result<()> {
    let node = config.node_id;
    if peer.join.is_empty() {
        bail!(
            "{damage}. In a cluster this node can get its rows from the others: run `latsdb admin replace-node {node}` on one of them, and \
             start this one with --join"
        );
    }
    let found = look(config, peer).with_context(|| damage.to_string())?;
    if found.address_of(node).is_some() {
        bail!(
            "{damage}. This node takes no part, and gives no vote, with such a directory. To give it up and get its rows from the others: run \
             `latsdb admin replace-node {node}` on one of them, and start this one again"
        );
    }
    if let Ok(Some(identity)) = Identity::read(&shard.env, &config.data_dir)
        && identity.cluster != found.cluster
    {
        bail!("{damage}. The nodes of --join are of another cluster");
    }
    let aside = set_aside(&shard.env, &config.data_dir)?;
    tracing::warn!("{damage}: what is left is in {}", aside.display());
    Shard::prepare(shard, found.identity(config))?;
    tracing::info!(through = found.through, "joining the cluster anew");
    Ok(())
}

/// Moves what a shard keeps into a directory of its own beside it.
fn set_aside(env: &Env, dir: &Path) -> Result<PathBuf> {
    let aside = (1..)
        .map(|number| dir.join(format!("damaged-{number}")))
        .find(|aside| !aside.exists())
        .expect("numbers do not end");
    let cannot = || format!("cannot set the damaged files of {} aside", dir.display());
    std::fs::create_dir(&aside).with_context(cannot)?;
    // The identity last: without the log it tells that the log is lost.
    for name in ["checkpoint", "log", "identity"] {
        match std::fs::rename(dir.join(name), aside.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error).with_context(cannot),
            _ => {}
        }
    }
    env.disk.sync_dir(dir).with_context(cannot)?;
    Ok(aside)
}

/// The cluster, as its nodes tell.
struct Found {
    cluster: u128,
    nodes: Vec<(u32, String)>,
    /// Of this node by number, in its newest life that anybody knows of.
    incarnation: u32,
    level: Level,
    /// The node that has told.
    through: u32,
}

impl Found {
    fn address_of(&self, node: u32) -> Option<&str> {
        let found = self.nodes.iter().find(|(known, _)| *known == node);
        found.map(|(_, addr)| &**addr)
    }

    /// Of a node that comes now: its transactions are to have other names than those of any node before it that had its number.
    fn identity(&self, config: &Config) -> Identity {
        Identity {
            cluster: self.cluster,
            node: config.node_id,
            role: config.role,
            incarnation: self.incarnation,
            level: self.level,
        }
    }
}

/// Asks nodes as one that belongs to no cluster.
fn among_strangers<T>(node: u32, peer: &PeerConfig, ask: impl AsyncFnOnce(&Net) -> Result<T>) -> Result<T> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let stranger = net::Config {
        tls: tls(peer)?,
        ..net::Config::new(node, 0, nowhere)
    };
    let net = Net::start(stranger, Arc::new(Nobody)).context("cannot start the network between nodes")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let answer = runtime.block_on(ask(&net));
    net.shutdown();
    answer
}

fn look(config: &Config, peer: &PeerConfig) -> Result<Found> {
    among_strangers(config.node_id, peer, async |net| {
        let mut found = find(net, &peer.join).await?;
        // One that lags behind may not know of its newest life.
        for (node, addr) in found.nodes.clone() {
            if node != config.node_id
                && let Ok(Some(other)) = ask(net, &addr).await
            {
                found.incarnation = found.incarnation.max(other.incarnation);
                found.level = found.level.max(other.level);
            }
        }
        Ok(found)
    })
}

/// Asks the node at an address. `None`: it belongs to no cluster. The error is for a person.
async fn ask(net: &Net, addr: &str) -> Result<Option<Found>, String> {
    let request = serde_json::to_vec(&Request::WhoIsThere).map_err(|error| error.to_string())?;
    let introduction = net.call_address(addr, request, CALL).await;
    let Introduction { node, cluster, answer } = introduction.map_err(|error| error.to_string())?;
    let (nodes, incarnation, level) = match serde_json::from_slice(&answer) {
        Ok(Response::Nodes {
            nodes,
            incarnation,
            level,
        }) => (nodes, incarnation, level),
        Ok(other) => return Err(format!("{other:?}")),
        Err(_) => return Err("an answer of another version".to_owned()),
    };
    Ok(cluster.map(|cluster| Found {
        cluster,
        nodes,
        incarnation,
        level: Level(level),
        through: node,
    }))
}

async fn find(net: &Net, seeds: &[String]) -> Result<Found> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut last = None;
        for seed in seeds {
            match ask(net, seed).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => last = Some(format!("{seed}: it belongs to no cluster yet")),
                Err(error) => last = Some(format!("{seed}: {error}")),
            }
        }
        if Instant::now() >= deadline {
            bail!(
                "no node of the cluster answers (--join): {}",
                last.unwrap_or_else(|| "none is named".to_owned())
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}
