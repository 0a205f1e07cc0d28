//! The other nodes of the cluster, as statements see them. The binary implements [`OtherNodes`].
//!
//! A statement hands the future to its host, which runs other sessions meanwhile. Each of them is ready within a bound, whatever the
//! other nodes do.

use std::pin::Pin;

use crate::processes::{Kill, Process};

/// What a session can ask of the other nodes.
pub trait OtherNodes: Send + Sync {
    /// Their connections.
    fn processes(&self, wanted: Wanted) -> Asked<Gathered<Process>>;

    /// Whose connection it is, as the process list says. `Ok(None)`: there is none.
    fn user_of(&self, connection_id: u32) -> Asked<Result<Option<String>, Silent>>;

    /// Interrupts a connection if it is that user's still; false where it is not. Who may do it is the caller's to decide.
    fn kill(&self, connection_id: u32, what: Kill, user: String) -> Asked<Result<bool, Silent>>;

    /// The connections of theirs that hold a lock of GET_LOCK.
    fn holders_of(&self, lock: &str) -> Asked<Gathered<u32>>;

    /// For each of them, whether it serves, or is about to (`Engine::enter_cluster` of the crate `sql` has come to its end).
    fn serving(&self) -> Asked<Gathered<bool>>;
}

/// An answer on its way. It may be waited for on any thread.
pub type Asked<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What of each connection is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// Statements, perhaps cut; no attributes.
    Statements,
    /// Attributes; no statements.
    Attributes,
}

/// What the nodes have answered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered<T> {
    /// In the order of the nodes.
    pub found: Vec<T>,
    /// Nodes that did not answer in time, or not with everything.
    pub silent: Vec<u32>,
}

/// The node does not answer, so that it may or may not have been done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent {
    pub node: u32,
}
