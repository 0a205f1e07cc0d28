//! The MySQL front: sockets, logins, commands, and the event loops that statements run on.
//!
//! One event loop per core; a connection stays on its loop. A statement is plain synchronous code on a stack of its own, so
//! that the thread that reads a packet also runs it and writes the answer, and switches to other connections only
//! where the statement has to wait.
//!
//! In reading order:
//!
//! 1. [`server`]: the listening socket and the threads; [`connection`]: the life of one connection.
//! 2. [`login`] and [`authentication`]: who is it, [`logins`] with [`throttle`] and [`hashing`]: how often may it be asked,
//!    [`peer`]: which user of this machine, [`places`]: is there room; [`commands`]: what does it want.
//! 3. [`host`]: how synchronous code waits on its `fiber`; [`job`]: work without a client; [`socket`], [`stream`], [`input`]: bytes in and out; [`deadline`];
//!    [`transport`], [`tls`], [`certificate`].
//! 4. [`sink`], [`columns`], [`cells`]: answers straight into the send buffer; [`prepared`]: parameters.
//! 5. [`registry`]: all connections, the process list, KILL; [`turns`]: who takes too long.
//! 6. [`backend`]: what the front needs of the SQL layer.

mod authentication;
pub mod backend;
mod cells;
mod certificate;
mod clock;
mod columns;
mod commands;
mod compressed;
mod config;
mod connection;
mod deadline;
mod hashing;
mod host;
mod input;
mod job;
mod login;
mod logins;
mod peer;
mod places;
mod pool;
mod prepared;
mod registry;
mod rsa;
mod schedule;
mod server;
mod sink;
mod socket;
mod stream;
mod throttle;
mod tls;
mod transport;
mod turns;

pub use config::{Config, Plugin};
pub use job::{Job, Jobs};
pub use logins::Logins;
pub use peer::Peer;
pub use registry::{NODE_ID_MAX, Registry, Statistics};
pub use server::Server;
pub use tls::Tls;

/// Bytes that nobody can foretell.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    bytes
}
