//! The node's open connections, as `SHOW PROCESSLIST` and `KILL` see them. The front implements [`Processes`].

/// What a session can ask about the other sessions of its node.
pub trait Processes: Send + Sync {
    /// All connections, by rising id.
    fn list(&self) -> Vec<Process>;

    /// Interrupts a connection; false where there is none with that id. Who may do it is the caller's to decide.
    fn kill(&self, connection_id: u32, what: Kill) -> bool;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The running statement, if there is one; the session goes on.
    Query,
    Connection,
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
    /// `Sleep`, `Query`, `Execute`…
    pub command: &'static str,
    /// Seconds since the command began or ended.
    pub seconds: u64,
    pub state: &'static str,
    /// The running statement's text, perhaps cut.
    pub statement: Option<String>,
}
