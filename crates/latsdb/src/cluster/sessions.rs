//! The ways to the sessions of the other nodes ([`sql::neighbours`]).

use std::time::Duration;

use net::Lane;
use shard::Role;
use sql::neighbours::{Heard, Question, Ways};
use sql_api::nodes::Asked;

use super::{Cluster, Request, Response};

/// A node that has not answered by then is left out.
const CALL: Duration = Duration::from_secs(1);

impl Ways for Cluster {
    fn others(&self) -> Vec<u32> {
        let replicas = self.shard.get().map_or_else(Vec::new, |shard| shard.replicas());
        let others = replicas
            .into_iter()
            .filter(|replica| replica.member.role == Role::Data)
            .map(|replica| replica.node)
            .filter(|&node| node != self.node);
        others.collect()
    }

    fn ask(&self, node: u32, question: Question) -> Asked<Heard> {
        let request = serde_json::to_vec(&Request::OfSessions(question));
        let (Some(net), Ok(request)) = (self.net.get(), request) else {
            return Box::pin(std::future::ready(Heard::Nothing));
        };
        let call = net.call(node, Lane::Control, request, CALL);
        Box::pin(async move {
            let answer = call.await.ok();
            match answer.and_then(|answer| serde_json::from_slice(&answer).ok()) {
                Some(Response::OfSessions(reply)) => Heard::Reply(reply),
                Some(_) => Heard::Starting,
                None => Heard::Nothing,
            }
        })
    }
}
