//! Keys as Redis has them, over tables.
//!
//! A command on keys is a transaction on the rows of `redis.db0` and its neighbours ([`tables`]): the same rows, locks, snapshots, log and
//! replicas that SQL has. So a key that SET has written is a row that SELECT finds, and both can be in one transaction's way.
//!
//! In reading order:
//!
//! 1. [`session`]: a client's connection as commands see it: its database, MULTI, WATCH; [`batch`]: commands of several clients at once;
//! 2. [`command`]: what commands there are, and who runs them; [`call`]: one that runs; [`failure`]: what its client is told;
//! 3. [`work`]: the transaction that it runs in; [`tables`], [`head`] and [`collection`]: the rows;
//! 4. [`types`]: what the commands do; [`expiry`], [`glob`], [`chance`], [`cursors`];
//! 5. [`script`]: scripts in Lua, and libraries of functions;
//! 6. [`acl`]: what accounts may do;
//! 7. [`keyspace`]: what the sessions of a node share; [`hub`]: who waits for keys, and who listens to channels; [`neighbours`]: those on other nodes; [`notify`]; [`tracking`]: who has read what; [`monitor`], [`latency`];
//!    [`purge`].

mod acl;
mod batch;
pub mod call;
mod chance;
pub mod clients;
pub mod collection;
pub mod command;
pub mod cursors;
pub mod errors;
mod expiry;
pub mod failure;
mod glob;
pub mod head;
pub mod hub;
pub mod keyspace;
mod latency;
mod monitor;
pub mod neighbours;
mod notify;
pub mod purge;
pub mod script;
mod server;
pub mod session;
mod slowlog;
mod spikes;
pub mod tables;
mod tracking;
mod types;
pub mod work;

pub use keyspace::Keyspace;
pub use session::Session;
