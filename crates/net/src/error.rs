//! How a call can end without an answer.

use std::time::Duration;

use thiserror::Error;

use crate::hello::Refused;

/// Who was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    Node(u32),
    /// Of a node whose id is not known yet.
    Address(String),
}

impl std::fmt::Display for To {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            To::Node(node) => write!(f, "node {node}"),
            To::Address(addr) => f.write_str(addr),
        }
    }
}

/// A call brought no answer. [`CallError::may_have_arrived`] tells whether it may have been answered all the same.
#[derive(Debug, Clone, Error)]
pub enum CallError {
    /// Nothing of it was sent: there is no connection, or it ended first. The request comes back.
    #[error("{to} cannot be reached: {reason}")]
    NotSent { to: To, reason: String, request: Vec<u8> },
    /// One of the two nodes does not want to talk to the other. Nothing was sent.
    #[error("{to}: {refused}")]
    Refused { to: To, refused: Refused },
    /// Too many calls, or too many bytes, wait for this node already. Nothing was sent.
    #[error("too much waits for {to} already: {what}")]
    Busy { to: To, what: &'static str },
    /// A lane takes no requests of this length. Nothing was sent.
    #[error("a request of {bytes} bytes; the lane takes at most {limit}")]
    TooLong { bytes: usize, limit: usize },
    /// It was sent, or a part of it, and the connection ended.
    #[error("the connection to {to} is lost: {reason}")]
    Lost { to: To, reason: String },
    /// It was sent, and its deadline has passed.
    #[error("{to} has not answered within {after:?}")]
    Late { to: To, after: Duration },
    /// It arrived, and the other node says that there will be no answer.
    #[error("{to} has no answer: {reason}")]
    Failed { to: To, reason: String },
    /// This node's network has ended.
    #[error("this node's network has ended")]
    Ended { may_have_arrived: bool },
}

impl CallError {
    pub fn may_have_arrived(&self) -> bool {
        match self {
            CallError::NotSent { .. }
            | CallError::Refused { .. }
            | CallError::Busy { .. }
            | CallError::TooLong { .. } => false,
            CallError::Lost { .. } | CallError::Late { .. } | CallError::Failed { .. } => true,
            CallError::Ended { may_have_arrived } => *may_have_arrived,
        }
    }
}
