//! A world whose clients speak SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use shard::Role;

use super::World;
use crate::invariants::keys::Kept;
use crate::node::{Clients, Follower};
use crate::sql::Side;
use crate::sql::client::Who;
use crate::sql::keys::{DONE, JOBS};
use crate::sql::tables::{Rows, list_of};
use crate::sql::work::{self, Mix};
use crate::trace::hash;

impl World {
    /// The clients of a node that is about to start.
    pub(super) fn speakers(&mut self, id: u32, seed: u64) -> Clients {
        let random = &self.random;
        let mixes = self.sql_mixes.get_or_insert_default();
        let mix = mixes.entry(id).or_insert_with(|| Mix::draw(random)).clone();
        let (bench, count) = (self.bench.clone(), self.clients);
        let life = self.node(id).life + 1;
        Clients::Sql(Box::new(move |keyspace, side| {
            for client in 0..count {
                let who = Who {
                    keyspace: keyspace.clone(),
                    bench: bench.clone(),
                    node: id,
                    name: format!("client {id}.{life}.{client}"),
                    seed: seed ^ hash(client, b"client"),
                };
                let connections = side.connections.clone();
                tokio::task::spawn_local(work::client(who, connections, mix.clone(), client == 0));
            }
        }))
    }

    /// The SQL side of a node that serves clients.
    fn side(&self, id: u32) -> Option<Arc<Side>> {
        let node = self.nodes.iter().find(|node| node.id == id)?;
        node.shard()?;
        match &node.process.as_ref()?.observer {
            Follower::Sql(side) if side.engine()?.is_in_cluster() => Some(side.clone()),
            _ => None,
        }
    }

    fn who(&self, id: u32, side: &Side, name: String) -> Option<Who> {
        Some(Who {
            keyspace: side.keyspace()?,
            bench: self.bench.clone(),
            node: id,
            name,
            seed: u64::from(id),
        })
    }

    fn speak(&self, id: u32, task: impl Future<Output = ()> + 'static) {
        let node = self.nodes.iter().find(|node| node.id == id);
        if let Some(process) = node.and_then(|node| node.process.as_ref()) {
            process.spawn_local(task);
        }
    }

    /// Has a client make the tables; false where the node does not serve yet.
    pub(super) fn set_up(&self, id: u32, made: Arc<Mutex<Option<bool>>>) -> bool {
        let Some(side) = self.side(id) else { return false };
        let Some(who) = self.who(id, &side, format!("founder {id}")) else {
            return false;
        };
        let connections = side.connections.clone();
        self.speak(
            id,
            async move { *made.lock() = Some(work::set_up(who, connections).await) },
        );
        true
    }

    /// Asks each node once in each of its lives to serve a client.
    pub(super) fn probe(&self, served: &Arc<Mutex<BTreeMap<u32, u64>>>, has_asked: &mut BTreeMap<u32, u64>) {
        for node in self.nodes.iter().filter(|node| node.role == Role::Data) {
            let (id, life) = (node.id, node.life);
            let Some(side) = self.side(id) else { continue };
            let Some(who) = self.who(id, &side, format!("probe {id}.{life}")) else {
                continue;
            };
            if has_asked.insert(id, life) == Some(life) {
                continue;
            }
            let (connections, served) = (side.connections.clone(), served.clone());
            self.speak(id, async move {
                work::until_served(who, connections).await;
                served.lock().insert(id, life);
            });
        }
    }

    /// What the clients were told, beside what is there at the end.
    pub(super) fn check_spoken(&self) {
        let there = self.nodes.iter().find_map(|node| {
            let side = self.side(node.id)?;
            Some((node.shard()?.store().clone(), side.schema.catalog()))
        });
        let Some((store, catalog)) = there else { return };
        let read = |name| Rows::read(&store, &catalog, name);
        if let Some(lists) = read("lists") {
            let lists = lists
                .rows
                .iter()
                .filter_map(|row| Some((row[0].parse().ok()?, list_of(&row[2]))));
            self.bench.history.check(&lists.collect(), &self.report);
        }
        if let (Some(jobs), Some(done)) = (read("jobs"), read("done")) {
            self.bench.jobs.check(&jobs, &done, &self.report);
        }
        let kept = Kept::read(&store, &catalog);
        self.bench.key_history.check(&kept.lists(), &self.report);
        self.bench
            .key_jobs
            .check(&kept.queue(JOBS), &kept.queue(DONE), &self.report);
        if let Some(tiles) = read("tiles") {
            self.bench.tiles.check(&tiles, &self.report);
        }
    }
}
