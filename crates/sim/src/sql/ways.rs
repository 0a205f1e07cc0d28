//! Questions to the sessions of other nodes, over the simulated network.

use std::sync::Arc;
use std::time::Duration;

use shard::{Role, Shard};
use sql::neighbours::{Heard, Question, Ways};
use sql_api::nodes::Asked;

use crate::net::Door;

/// A node that has not answered by then is left out.
const CALL: Duration = Duration::from_secs(1);

pub struct SimWays {
    pub door: Arc<Door>,
    pub shard: Arc<Shard>,
}

impl Ways for SimWays {
    fn others(&self) -> Vec<u32> {
        let others = self.shard.replicas().into_iter().filter(|replica| {
            let has_sessions = replica.member.role == Role::Data;
            has_sessions && replica.node != self.door.node
        });
        others.map(|replica| replica.node).collect()
    }

    fn ask(&self, node: u32, question: Question) -> Asked<Heard> {
        let bytes = serde_json::to_vec(&question).expect("a question is plain data");
        let answer = self.door.ask(node, bytes, CALL);
        Box::pin(async move {
            match answer.await {
                Ok(bytes) => serde_json::from_slice(&bytes).map_or(Heard::Starting, Heard::Reply),
                Err(_) => Heard::Nothing,
            }
        })
    }
}
