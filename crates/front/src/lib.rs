//! What the fronts of a node share, whatever their protocol: the event loops, the connections and who may have them, the bytes' way in and
//! out, and the stacks that statements run on.
//!
//! One event loop per core; a connection stays on its loop. A statement is plain synchronous code on a stack of its own, so
//! that the thread that reads a message also runs it and writes the answer, and switches to other connections only
//! where the statement has to wait.
//!
//! In reading order:
//!
//! 1. [`loops`]: the threads; [`acceptor`]: the listening sockets; [`job`]: work without a client.
//! 2. [`registry`]: all connections, the process list, KILL; [`places`]: is there room; [`peer`]: which user of this machine.
//! 3. [`socket`], [`transport`], [`inside`], [`stream`], [`raw`], [`input`], [`output`], [`pool`]: bytes in and out; [`deadline`], [`clock`];
//!    [`tls`], [`certificate`].
//! 4. [`host`]: how synchronous code waits on its `fiber`; [`schedule`]: whose turn it is; [`turns`]: who takes too long.
//! 5. [`logins`] with [`passwords`], [`throttle`] and [`hashing`]: is it him, and how often may it be asked.
//! 6. [`backend`]: what the fronts need of the SQL layer.

mod acceptor;
pub mod backend;
mod certificate;
mod clock;
mod deadline;
mod hashing;
mod host;
mod input;
pub mod inside;
mod job;
pub mod logins;
pub mod loops;
mod output;
pub mod passwords;
mod peer;
mod places;
pub mod pool;
mod raw;
mod registry;
pub mod schedule;
pub mod socket;
pub mod stream;
mod throttle;
mod tls;
mod transport;
mod turns;

pub use acceptor::Acceptor;
pub use host::FiberHost;
pub use input::Input;
pub use job::Job;
pub use logins::Logins;
pub use loops::{EventLoops, Load, Loops};
pub use output::{Outgoing, Output};
pub use peer::{Channel, Peer};
pub use raw::RawStream;
pub use registry::{Handle, NODE_ID_MAX, Registry, Statistics};
pub use socket::Socket;
pub use tls::Tls;
pub use transport::{Accepted, Transport};

/// Bytes that nobody can foretell.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has random numbers");
    bytes
}
