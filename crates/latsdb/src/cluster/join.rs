//! A new directory becomes one of a cluster's.
//!
//! One of the nodes named by `--join` says which cluster it belongs to and who is in it. The directory gets that cluster's identity; from
//! there on the node is known to the others, and asks to be a replica ([`keep_up`](super::keep_up)).

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use env::Env;
use net::{Answering, Caller, Introduction, Lane, Net, Service};
use shard::Identity;

use super::{Request, Response, tls};
use crate::config::{Config, PeerConfig};

/// How long the nodes to join are looked for.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(200);
const CALL: Duration = Duration::from_secs(2);

/// Nobody calls a node that does not belong to a cluster yet.
struct Nobody;

impl Service for Nobody {
    fn receive(&self, _from: Caller, _lane: Lane, _request: Vec<u8>) -> Answering {
        Box::pin(std::future::ready(Vec::new()))
    }
}

/// Gives a directory without an identity that of the cluster to join. Blocks; waits for the others to come up.
pub fn join(config: &Config, peer: &PeerConfig, env: &Env) -> Result<()> {
    if Identity::read(env, &config.data_dir)?.is_some() {
        // It belongs somewhere. Where, the others will say.
        return Ok(());
    }
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let stranger = net::Config {
        tls: tls(peer)?,
        ..net::Config::new(config.node_id, 0, nowhere)
    };
    let net = Net::start(stranger, Arc::new(Nobody)).context("cannot start the network between nodes")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let (introduction, nodes) = runtime.block_on(find(&net, &peer.join))?;
    net.shutdown();
    let Some(cluster) = introduction.cluster else {
        bail!("node {} belongs to no cluster yet", introduction.node);
    };
    if let Some((node, addr)) = nodes.iter().find(|(node, _)| *node == config.node_id) {
        bail!(
            "node {node} of the cluster exists already, at {addr}, and {} is empty: choose another --node-id, or, if that node is lost, \
             first take it out (latsdb admin remove-node {node})",
            config.data_dir.display()
        );
    }
    let identity = Identity {
        cluster,
        node: config.node_id,
        incarnation: 0,
    };
    identity.write(env, &config.data_dir)?;
    tracing::info!(through = introduction.node, "joining the cluster");
    Ok(())
}

async fn find(net: &Net, seeds: &[String]) -> Result<(Introduction, Vec<(u32, String)>)> {
    let deadline = Instant::now() + PATIENCE;
    let request = serde_json::to_vec(&Request::WhoIsThere)?;
    loop {
        let mut last = None;
        for seed in seeds {
            let introduction = match net.call_address(seed, request.clone(), CALL).await {
                Ok(introduction) => introduction,
                Err(error) => {
                    last = Some(format!("{seed}: {error}"));
                    continue;
                }
            };
            match serde_json::from_slice(&introduction.answer) {
                Ok(Response::Nodes(nodes)) => return Ok((introduction, nodes)),
                Ok(other) => last = Some(format!("{seed}: {other:?}")),
                Err(_) => last = Some(format!("{seed}: an answer of another version")),
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
