//! SQL: from a statement's text to its answer.
//!
//! A [`Session`](session::Session) belongs to one client. It parses, binds, plans and runs statements against the
//! node's [`Engine`](engine::Engine), pushes their answers into a [`ResultSink`](result::ResultSink) and waits, where it must,
//! through its [`Host`](host::Host). Nothing here knows sockets or Raft.

pub mod engine;
pub mod expr;
pub mod host;
pub mod processes;
pub mod result;
pub mod session;
pub mod sql_mode;
