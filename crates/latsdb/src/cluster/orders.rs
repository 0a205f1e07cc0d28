//! What an operator asks of the cluster through one of its nodes.

use std::time::{Duration, Instant};

use shard::Role;

use super::{Cluster, Request, Response};

/// A lead that has not moved by then stays.
const MOVES_WITHIN: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(2);
const AGAIN: Duration = Duration::from_millis(100);
const REMOVAL: Duration = Duration::from_secs(30);
/// How long it may take until the others have noticed that a node is gone.
const NOTICED_WITHIN: Duration = Duration::from_secs(5);

impl Cluster {
    /// Another node takes the lead, if this one has it and there is another one.
    pub async fn give_up_lead(&self) -> Result<(), String> {
        let Some(shard) = self.shard.get() else { return Ok(()) };
        if !shard.status().is_leader {
            return Ok(());
        }
        match self.furthest() {
            Some(to) => self.move_lead(to).await,
            None => Err("there is no other node to lead".to_owned()),
        }
    }

    /// The voter with rows, other than this node, that has the most of the log.
    fn furthest(&self) -> Option<u32> {
        let others = self.others();
        let able = others
            .iter()
            .filter(|other| other.votes && !other.is_witness && other.state == "up" && !other.disk_is_full);
        able.max_by_key(|other| other.last_log_index).map(|other| other.node)
    }

    /// Hands the lead over, and waits until the other one has it.
    async fn move_lead(&self, to: u32) -> Result<(), String> {
        let Some(shard) = self.shard.get() else {
            return Err("the node is starting".to_owned());
        };
        shard.move_leader(to).map_err(|error| error.to_string())?;
        self.see_lead(to).await
    }

    /// Until this node hears that one leads.
    async fn see_lead(&self, to: u32) -> Result<(), String> {
        let Some(shard) = self.shard.get() else {
            return Err("the node is starting".to_owned());
        };
        let leads = async {
            while shard.status().leader != Some(to) {
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(MOVES_WITHIN, leads)
            .await
            .map_err(|_| match shard.status().leader {
                Some(other) => format!("node {to} has not taken the lead: node {other} leads"),
                None => format!("node {to} has not taken the lead, and no other node has"),
            })
    }

    /// `latsdb admin move-leader`
    pub async fn order_leader(&self, to: Option<u32>) -> Result<String, String> {
        let leads = self.shard.get().is_some_and(|shard| shard.status().is_leader);
        let to = match to {
            Some(to) if leads && to == self.node => return Ok(format!("node {to} leads already")),
            Some(to) => to,
            None if leads => self.furthest().ok_or("there is no other node to lead")?,
            None => self.node,
        };
        self.may_lead(to)?;
        if leads {
            self.move_lead(to).await?;
            return Ok(format!("node {to} takes the lead"));
        }
        match self.ask_leader(&Request::MoveLeader { to }, MOVES_WITHIN).await? {
            Response::Done => self.see_lead(to).await.map(|()| format!("node {to} takes the lead")),
            Response::Refused { reason } => Err(reason),
            other => Err(format!("no node leads: {other:?}")),
        }
    }

    /// As far as this node knows; the one that leads looks at the rest. The error is for a person.
    fn may_lead(&self, node: u32) -> Result<(), String> {
        let replicas = self.shard.get().map(|shard| shard.replicas()).unwrap_or_default();
        match replicas.iter().find(|replica| replica.node == node) {
            Some(replica) if replica.member.role == Role::Witness => {
                Err(format!("node {node} is a witness: it has no rows, and leads nobody"))
            }
            Some(replica) if replica.votes => Ok(()),
            _ => Err(format!("node {node} is no voter of the cluster")),
        }
    }

    /// `latsdb admin remove-node`
    pub async fn order_removal(&self, node: u32) -> Result<String, String> {
        if self.leader().is_some_and(|(leader, _)| leader == node) {
            return Err(format!(
                "node {node} leads: first hand the lead to another one (latsdb admin move-leader)"
            ));
        }
        match self.ask_until_led(&Request::Remove { node }).await? {
            Response::Done => Ok(format!(
                "node {node} is none of the cluster's any more{}",
                self.what_is_left(node)
            )),
            Response::Unknown { node } => Err(format!("node {node} is none of the cluster's")),
            Response::Refused { reason } => Err(reason),
            other => Err(format!("no node leads: {other:?}")),
        }
    }

    /// A warning, where one node with rows is left without the one that goes, and a witness makes that look like more.
    fn what_is_left(&self, gone: u32) -> String {
        let replicas = self.shard.get().map(|shard| shard.replicas()).unwrap_or_default();
        let left = || replicas.iter().filter(|replica| replica.votes && replica.node != gone);
        let mut with_rows = left().filter(|replica| replica.member.role == Role::Data);
        match (with_rows.next(), with_rows.next()) {
            (Some(last), None) if left().count() > 1 => {
                let node = last.node;
                format!(
                    "; node {node} alone has the rows now: while it is down nobody serves, and what it loses is lost"
                )
            }
            _ => String::new(),
        }
    }

    /// Asks whoever leads, and waits for a while until somebody does.
    pub(super) async fn ask_until_led(&self, request: &Request) -> Result<Response, String> {
        let deadline = Instant::now() + NOTICED_WITHIN;
        loop {
            match self.ask_leader(request, REMOVAL).await {
                Ok(Response::NotLeader { .. }) | Err(_) if Instant::now() < deadline => {
                    tokio::time::sleep(AGAIN).await;
                }
                answer => return answer,
            }
        }
    }

    /// `latsdb admin replace-node`
    pub async fn order_replacement(&self, node: u32) -> Result<String, String> {
        if node == self.node {
            return Err(format!("node {node} is this one, and it has its rows"));
        }
        let led_by_it = || self.leader().is_some_and(|(leader, _)| leader == node);
        let is_up = || {
            let others = self.others();
            others.iter().any(|other| other.node == node && other.state != "down")
        };
        let gone = async {
            while led_by_it() || is_up() {
                tokio::time::sleep(AGAIN).await;
            }
        };
        if tokio::time::timeout(NOTICED_WITHIN, gone).await.is_err() {
            return Err(match is_up() {
                true => {
                    format!("node {node} runs: it has its rows (latsdb admin remove-node takes out a node that runs)")
                }
                false => format!("node {node} led, and no other node does: too few of them are up to take it out"),
            });
        }
        let may_come = format!(
            "node {node} may come back: start it with --join and an empty directory, or with the damaged one, which is set aside"
        );
        match self.ask_until_led(&Request::Remove { node }).await? {
            Response::Done => Ok(may_come + &self.what_is_left(node)),
            Response::Unknown { .. } => Ok(format!(
                "node {node} is none of the cluster's: start it with --join and an empty directory"
            )),
            Response::Refused { reason } => Err(reason),
            other => Err(format!("no node leads: {other:?}")),
        }
    }
}
