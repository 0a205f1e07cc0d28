//! Connections: [`link`] is a socket with whole packets, [`login`] the conversation that opens it, [`Control`] runs single
//! statements and waits; [`session`] is the one that carries load.

mod control;
mod link;
mod login;

pub use control::{Answer, Control};
pub(crate) use link::Link;
