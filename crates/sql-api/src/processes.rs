//! The node's open connections, as `SHOW PROCESSLIST` and `KILL` see them. The front implements [`Processes`].

use std::borrow::Cow;

/// An id of a node among others begins with the node's number: these bits of it are the node's own to count.
pub const NODE_SHIFT: u32 = 24;

/// A statement's text is kept for the process list up to this length.
pub const STATEMENT_TEXT_MAX: usize = 4 << 10;

/// The node that has given a connection its id; `None`: a node without others.
pub fn node_of(connection_id: u32) -> Option<u8> {
    let node = (connection_id >> NODE_SHIFT) as u8;
    (node != 0).then_some(node)
}

/// What a session can ask about the other sessions of its node.
pub trait Processes: Send + Sync {
    /// All connections, by rising id.
    fn list(&self) -> Vec<Process>;

    /// What all connections did since the node started.
    fn traffic(&self) -> Traffic;

    /// Interrupts a connection; false where there is none with that id. Who may do it is the caller's to decide.
    fn kill(&self, connection_id: u32, what: Kill) -> bool;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The running statement, if there is one; the session goes on.
    Query,
    Connection,
}

/// Counts since the start, and how many connections there are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    pub connected: u64,
    /// Of these, with a command on its way.
    pub running: u64,
    pub connections: u64,
    /// Refused at the limit.
    pub connections_refused: u64,
    pub logins_denied: u64,
    pub commands: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
}

/// One row of `SHOW PROCESSLIST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub id: u32,
    /// `unauthenticated user` before the login.
    pub user: String,
    /// `host:port` of the client.
    pub host: String,
    pub database: Option<String>,
    /// What the client told of itself at the login, perhaps cut.
    pub attributes: Vec<(String, String)>,
    /// `Sleep`, `Query`, `Execute`…
    pub command: Cow<'static, str>,
    /// Seconds since the command began or ended.
    pub seconds: u64,
    pub state: Cow<'static, str>,
    /// The running statement's text, perhaps cut.
    pub statement: Option<String>,
    /// Bytes that the session holds, with its running statement, and the most that it ever held.
    pub memory_bytes: u64,
    pub memory_bytes_max: u64,
}
