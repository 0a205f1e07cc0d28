//! Calls between the nodes of a cluster: bytes go there, bytes come back.
//!
//! ```text
//!   Net::call ── line ── dial ── socket ═══ frames ═══ socket ── accept, serve ── Service::receive
//!             calls of one     connection                        of the other node
//!             peer and lane    and handshake
//! ```
//!
//! A node calls over connections that it has made itself, one for each peer and lane, and answers on those that it has accepted. It has one
//! thread for all of them. What may arrive twice, late, or never is the caller's to handle; each call says whether it may have arrived.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod config;
mod error;
mod net;
mod service;
mod status;

mod accept;
mod dial;
mod line;
mod news;
mod owner;
mod roster;
mod serve;
mod shared;

mod frame;
mod hello;
mod names;
mod socket;
mod tls;

#[doc(hidden)]
pub mod fuzz;

pub use config::{Config, Lane, LaneLimits, Limits, StartError};
pub use error::{CallError, To};
pub use hello::{Refusal, Refused};
pub use names::Naming;
pub use net::{Introduction, Net};
pub use roster::Met;
pub use service::{Answering, Caller, Service};
pub use status::{LaneStatus, PeerStatus};
pub use tls::Tls;
