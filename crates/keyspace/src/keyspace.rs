//! What all Redis sessions of a node share.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use sql::engine::Engine;
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql_api::host::Host;

use crate::acl::Refusals;
use crate::clients::Clients;
use crate::command::{Command, Commands};
use crate::cursors::Cursors;
use crate::errors::{Errors, error_of};
use crate::failure::{Failure, Outcome};
use crate::hub::{Called, Hub};
use crate::latency::Latencies;
use crate::monitor::Monitors;
use crate::neighbours::Neighbours;
use crate::notify;
use crate::script::Scripts;
use crate::slowlog::Slowlog;
use crate::spikes::Spikes;
use crate::tables::{self, DATABASES, Db};
use crate::tracking::Tracking;
use crate::work::{Class, Events};

/// How long a client goes on later, so that those who wait for what it has brought take it first.
const LOOKED_WITHIN: Duration = Duration::from_millis(20);

/// How long a subscription waits for the other nodes to know of it. One that does not answer at all is given up earlier.
const TOLD_WITHIN: Duration = Duration::from_secs(1);

/// What clients have read is noted in this part of the memory at most.
const TRACKING_SHARE: u64 = 32;

/// How many there have been in this process.
static PLACES: AtomicUsize = AtomicUsize::new(0);

/// The keys of a node.
pub struct Keyspace {
    engine: Arc<Engine>,
    place: usize,
    dbs: RwLock<Vec<Option<Arc<Db>>>>,
    next_id: AtomicU64,
    pub hub: Hub,
    pub neighbours: Neighbours,
    pub clients: Clients,
    pub slowlog: Slowlog,
    pub refusals: Refusals,
    pub tracking: Arc<Tracking>,
    pub monitors: Monitors,
    pub latencies: Latencies,
    pub errors: Errors,
    pub spikes: Spikes,
    pub cursors: Cursors,
    pub scripts: Scripts,
}

impl Keyspace {
    /// Of clients, since the start.
    pub fn commands_so_far(&self) -> u64 {
        self.latencies.all_calls()
    }

    /// Counts a command whose reply is an error.
    pub fn note_reply(&self, command: &Command, reply: &[u8]) {
        if let Some(text) = error_of(reply) {
            self.errors.failed(command);
            self.errors.told(text);
        }
    }

    /// Counts one that was refused: the command, if there is such a one.
    pub fn note_refused(&self, args: &[&[u8]], failure: &Failure) {
        let command = args.first().and_then(|name| Commands::get().find(name));
        if let Some(command) = command {
            self.errors.refused(command.meant_by(args).unwrap_or(command));
        }
        self.errors.told(&failure.text());
    }

    pub fn new(engine: Arc<Engine>) -> Arc<Keyspace> {
        engine.leave_purge_of(tables::has_keys);
        let first_id = first_id(engine.participant().incarnation());
        let memory = engine.participant().store().memory().limit();
        let tracking = Arc::new(Tracking::new(
            usize::try_from(memory / TRACKING_SHARE).unwrap_or(usize::MAX),
        ));
        engine.set_row_follower(tracking.clone());
        Arc::new(Keyspace {
            engine,
            place: PLACES.fetch_add(1, Ordering::Relaxed),
            dbs: RwLock::new(vec![None; DATABASES as usize]),
            next_id: AtomicU64::new(first_id),
            hub: Hub::default(),
            neighbours: Neighbours::default(),
            clients: Clients::default(),
            slowlog: Slowlog::default(),
            refusals: Refusals::default(),
            tracking,
            monitors: Monitors::default(),
            latencies: Latencies::default(),
            errors: Errors::default(),
            spikes: Spikes::default(),
            cursors: Cursors::default(),
            scripts: Scripts::default(),
        })
    }

    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Among those of this process.
    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.engine.clock_micros().div_euclid(1000)
    }

    /// An id for the elements of a new hash, set, ….
    pub fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The tables of a database, which are made when it is used for the first time.
    pub fn db(&self, number: u32, host: &dyn Host) -> Outcome<Arc<Db>> {
        if let Some(Some(db)) = self.dbs.read().get(number as usize)
            && db.version == self.engine.catalog_version()
        {
            return Ok(db.clone());
        }
        if number >= DATABASES {
            return Err(Failure::reply("ERR DB index is out of range"));
        }
        let db = match Db::find(number, &self.engine)? {
            Some(db) => db,
            None => {
                self.make_tables(number, host)?;
                let found = Db::find(number, &self.engine)?;
                found.ok_or_else(|| Failure::reply("ERR the tables of the database are being dropped"))?
            }
        };
        let db = Arc::new(db);
        self.dbs.write()[number as usize] = Some(db.clone());
        Ok(db)
    }

    /// Whether there are tables of any database.
    pub fn is_used(&self) -> bool {
        self.engine.catalog().database(tables::DATABASE).is_some()
    }

    /// As [`existing_db`](Self::existing_db); where a former version has made the tables, those that it did not know are made.
    pub fn completed_db(&self, number: u32, host: &dyn Host) -> Outcome<Option<Arc<Db>>> {
        let keys = tables::Part::Keys.name(number);
        match self.existing_db(number)? {
            None if self.engine.catalog().table(tables::DATABASE, &keys).is_some() => self.db(number, host).map(Some),
            found => Ok(found),
        }
    }

    /// The tables of a database that has been used.
    pub fn existing_db(&self, number: u32) -> Outcome<Option<Arc<Db>>> {
        Ok(Db::find(number, &self.engine)?.map(Arc::new))
    }

    /// Whether the catalog still has the tables, whatever else has changed in it.
    pub fn is_current(&self, db: &Db) -> Outcome<bool> {
        let found = Db::find(db.number, &self.engine)?;
        Ok(found.is_some_and(|found| {
            tables::Part::ALL
                .iter()
                .all(|&part| Arc::ptr_eq(&found.table(part).rows, &db.table(part).rows))
        }))
    }

    /// Whether anybody is to be told of changes, on any node. Asked while a change is made.
    #[inline]
    pub fn wants_events(&self) -> bool {
        self.hub.wants_events() || self.neighbours.notified() > 0
    }

    /// Whether notifications of a class are wanted, on any node.
    pub fn notifies(&self, class: Class) -> bool {
        (self.hub.notified() | self.neighbours.notified()) & notify::bit_of(class) != 0
    }

    /// Sets `notify-keyspace-events`, on this node: of changes on every node.
    pub fn set_notified(&self, bits: u32, host: &dyn Host) {
        self.hub.set_notified(bits);
        self.neighbours.set_notified(bits);
        self.tell_neighbours(host);
    }

    /// Waits until the other nodes know what this node's clients listen to. One that does not answer is not waited for.
    pub fn tell_neighbours(&self, host: &dyn Host) {
        if !self.neighbours.is_told() {
            host.wait_interruptible(pin!(self.neighbours.told()), Some(TOLD_WITHIN));
        }
    }

    /// Tells others what has been committed. Whoever has waited for it takes it before the client that has brought it goes on, as where all
    /// commands run one after the other.
    pub fn publish(&self, events: &Events, host: &dyn Host) {
        let mut called = Called::default();
        for event in &events.known {
            self.hub.changed(event.db, &event.key, &mut called);
            notify::tell(&self.hub, &self.neighbours, event);
        }
        // Somebody may have begun to wait since they happened, and have looked before they could be seen.
        if events.has_others {
            self.hub.changed_any(&mut called);
        }
        if !called.is_empty() {
            // It may be slow, or gone.
            host.wait_interruptible(pin!(called.have_looked()), Some(LOOKED_WITHIN));
        }
    }

    fn make_tables(&self, number: u32, host: &dyn Host) -> Outcome {
        let mut session = SqlSession::new(self.engine.clone(), SessionOptions::default())?;
        for definition in tables::definitions(number) {
            session.query(definition.as_bytes(), host, &mut BufferedRows::default())?;
        }
        Ok(())
    }
}

/// Ids of two nodes, or of two starts of one, never meet: the highest byte is the node, three count its starts, and four are left for the ids. Those that former
/// versions gave have no node.
fn first_id(incarnation: u64) -> u64 {
    let (node, start) = (incarnation >> 32, incarnation & u64::from(u32::MAX));
    node << 56 | start << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_nodes_and_starts_are_apart() {
        let incarnation = |node: u64, start: u64| node << 32 | start;
        let firsts = [(1, 1), (1, 2), (2, 1), (255, 1), (255, (1 << 24) - 1)]
            .map(|(node, start)| first_id(incarnation(node, start)));
        let mut ids: Vec<u64> = firsts.iter().map(|first| first >> 32).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), firsts.len());
        assert!(
            firsts.iter().all(|first| first >> 56 > 0),
            "apart from those of former versions"
        );
    }
}
