//! The border between SQL and the fronts.
//!
//! A front (MySQL, HTTP) opens a session for a client and gives it statements. It lends the thread that runs them and takes
//! the answers. So fronts are built and tested without a database, and SQL without a socket.
//!
//! * [`session`]: what a client's session takes: statements, prepared statements, a database;
//! * [`login`]: who asks for a session, and what his account allows;
//! * [`host`]: what a running statement asks of the thread that runs it;
//! * [`result`]: where its answer goes;
//! * [`processes`]: the node's connections, as statements see them;
//! * [`nodes`]: the other nodes of its cluster.

pub mod host;
pub mod login;
pub mod nodes;
pub mod processes;
pub mod result;
pub mod session;
