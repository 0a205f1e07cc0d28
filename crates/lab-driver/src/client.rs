//! Connections. [`link`] is a socket with whole packets and [`login`] the conversation that opens it, under [`tls`] if the target says
//! so; [`Control`] runs single statements and waits. [`session`] carries the load, and [`scan`] reads its answers.

mod control;
mod link;
mod login;
mod scan;
mod session;
mod tls;

pub use control::{Answer, Control};
pub(crate) use link::{OpenLimits, greets};
pub use scan::Kept;
pub(crate) use scan::Summary;
pub(crate) use session::{Sent, Session};
pub(crate) use tls::{Dialer, TlsFailure};
