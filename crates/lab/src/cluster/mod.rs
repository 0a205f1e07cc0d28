//! A target that is a LatsDB cluster: its nodes are looked at before the load, and watched during it.
//!
//! ```text
//!   plan: status = ["host:port", …] ──▶ look: who there is, who leads ──▶ run.json
//!                                 └──▶ watch: a thread for each node, five times a second
//!                                        └──▶ judge: lag of each second, changes ──▶ rung.json, availability.json
//! ```
//!
//! A node is asked for `/status`, as `latsdb status` does.

mod judge;
mod status;
mod watch;

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use lab_results::cluster::{Cluster, ClusterNode};

pub use judge::Watched;
use status::Status;
pub use watch::Watch;

/// A node that has just been started has yet to hear of the others.
const SETTLE_LIMIT: Duration = Duration::from_secs(5);
const SETTLE_LOOK: Duration = Duration::from_millis(200);

/// Who there is. Whatever keeps the cluster from being watched, or its price from being whole, goes to `problems`, with what to do.
///
/// `priced` is the number of machines in the price, if that is made of machines.
pub fn look(target: &str, addresses: &[String], priced: Option<usize>, problems: &mut Vec<String>) -> Option<Cluster> {
    if addresses.is_empty() {
        return None;
    }
    let deadline = Instant::now() + SETTLE_LIMIT;
    loop {
        match looked(addresses, priced) {
            Ok(cluster) => return Some(cluster),
            Err(found) if Instant::now() >= deadline => {
                problems.extend(found.iter().map(|problem| format!("target {target}: {problem}")));
                return None;
            }
            Err(_) => thread::sleep(SETTLE_LOOK),
        }
    }
}

fn looked(addresses: &[String], priced: Option<usize>) -> Result<Cluster, Vec<String>> {
    let mut answers = Vec::new();
    let mut problems = Vec::new();
    for address in addresses {
        match status::ask(address) {
            Ok(status) => answers.push((address.as_str(), status)),
            Err(error) => problems.push(format!("`status`: {address} does not tell of its node: {error}")),
        }
    }
    match problems.is_empty() {
        true => described(&answers, priced),
        false => Err(problems),
    }
}

fn described(answers: &[(&str, Status)], priced: Option<usize>) -> Result<Cluster, Vec<String>> {
    let mut problems = Vec::new();
    let asked: BTreeSet<u64> = answers.iter().map(|(_, status)| status.node_id).collect();
    if asked.len() < answers.len() {
        problems.push("`status`: two of the addresses are of one node: name each node once".to_owned());
    }
    let newest = answers.iter().max_by_key(|(_, status)| status.term());
    let Some((_, newest)) = newest else {
        return Err(problems);
    };
    for node in &newest.nodes {
        if !asked.contains(&node.id) {
            problems.push(format!(
                "`status`: node {} of the cluster ({}) is not among the addresses: add its HTTP address",
                node.id, node.mysql_addr
            ));
        }
    }
    for (address, status) in answers {
        if !newest.nodes.iter().any(|node| node.id == status.node_id) {
            problems.push(format!("`status`: {address} is of another cluster than the others"));
        }
    }
    let machines = status::machines(&newest.nodes);
    if let Some(priced) = priced
        && priced < machines
    {
        problems.push(format!(
            "the cluster is on {machines} machines, and its price would be that of {priced}: name all of them in `nodes`, or give `usd_per_hour`"
        ));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut nodes: Vec<ClusterNode> = answers
        .iter()
        .filter_map(|(address, status)| {
            let own = newest.nodes.iter().find(|node| node.id == status.node_id)?;
            Some(ClusterNode {
                id: own.id,
                roles: own.roles.clone(),
                votes: newest.voters().contains(&own.id),
                mysql_addr: own.mysql_addr.clone(),
                status_addr: (*address).to_owned(),
                version: status.version.clone(),
            })
        })
        .collect();
    nodes.sort_by_key(|node| node.id);
    Ok(Cluster {
        nodes,
        leader: newest.leader(),
        term: newest.term(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use status::tests::status;

    fn said(answers: &[(&str, Status)], priced: Option<usize>) -> String {
        described(answers, priced).unwrap_err().join("; ")
    }

    #[test]
    fn a_cluster_is_described_by_what_all_its_nodes_say() {
        let cluster = described(
            &[("a:1", status(2, 5)), ("b:1", status(1, 7)), ("c:1", status(3, 7))],
            Some(3),
        )
        .unwrap();
        assert_eq!((cluster.leader, cluster.term), (Some(1), 7));
        let nodes: Vec<(u64, &str, bool)> = cluster
            .nodes
            .iter()
            .map(|node| (node.id, node.status_addr.as_str(), node.votes))
            .collect();
        assert_eq!(nodes, [(1, "b:1", true), (2, "a:1", true), (3, "c:1", true)]);
    }

    #[test]
    fn nodes_that_nobody_would_watch_or_pay_are_told() {
        let two = [("a:1", status(1, 7)), ("b:1", status(2, 7))];
        assert!(said(&two, None).contains("node 3 of the cluster (10.0.0.3:3306) is not among the addresses"));
        let twice = [("a:1", status(1, 7)), ("b:1", status(1, 7)), ("c:1", status(2, 7))];
        assert!(said(&twice, None).contains("name each node once"));
        let three = [("a:1", status(1, 7)), ("b:1", status(2, 7)), ("c:1", status(3, 7))];
        assert!(said(&three, Some(1)).contains("is on 3 machines, and its price would be that of 1"));
        assert!(described(&three, None).is_ok());
        let strange = [three.as_slice(), &[("d:1", status(9, 1))]].concat();
        assert!(said(&strange, None).contains("d:1 is of another cluster"));
    }
}
