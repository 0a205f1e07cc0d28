//! Why a statement has to end.

/// Who asked the statement to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// `KILL QUERY`: error 1317, the session goes on.
    KillQuery,
    /// `KILL [CONNECTION]`, or the client is gone: error 1317 and the end of the session.
    KillConnection,
    /// `max_execution_time` has passed: error 3024.
    Timeout,
    /// The server is stopping: error 1053.
    Shutdown,
}

/// Why a statement has to end before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Interrupt(Interrupt),
    Memory(MemoryStop),
    Stack(StackStop),
}

/// A statement needs more memory than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryStop {
    /// Above `query_memory_limit`: what it holds or asked for, and the limit.
    Statement { bytes: u64, limit: u64 },
    /// The node's memory is used up, and the session holds more than its share.
    Node { bytes: u64, limit: u64 },
}

/// A recursion goes deeper than the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackStop {
    pub used: usize,
    pub size: usize,
    pub needed: usize,
}
