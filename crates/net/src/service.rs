//! What a node does with the calls of others: the trait that its owner implements.

use std::pin::Pin;

use crate::Lane;

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller {
    /// 0: a node that has no id yet.
    pub node: u32,
    pub incarnation: u32,
    /// Of this node's cluster. Whoever is not calls on [`Lane::Control`] only.
    pub is_member: bool,
}

/// The answer to a call, when it is there.
pub type Answering = Pin<Box<dyn Future<Output = Vec<u8>> + Send>>;

/// Answers calls of other nodes. A service that holds the [`Net`](crate::Net) keeps it alive. Everything here runs on the thread of the network and must not block it.
pub trait Service: Send + Sync + 'static {
    /// The future runs to its end, even if the caller has given up or is gone; its answer is dropped then. If it panics, the caller is told
    /// that there is no answer.
    fn receive(&self, from: Caller, lane: Lane, request: Vec<u8>) -> Answering;

    /// The connection on which the node called is gone. That is no proof of its death.
    fn left(&self, _from: Caller, _lane: Lane) {}

    /// A member has come with an incarnation that was not seen before: its earlier process is dead, or an old copy that nobody
    /// talks to any more.
    fn renewed(&self, _node: u32, _incarnation: u32) {}
}
