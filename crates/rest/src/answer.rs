//! What a request is answered with.

use sql_api::host::Host;
use types::SqlResult;

use crate::problem::Problem;

pub const JSON: &str = "application/json";
pub const NDJSON: &str = "application/x-ndjson";

/// A body is sent once this much of it is collected.
pub const SENT_AT_ONCE: usize = 64 << 10;

/// The way of an answer that is too long to be collected.
pub trait Outlet {
    /// Sends what has been collected of a body that goes on, and empties it; suspends the statement while the client is slow. With the first
    /// piece goes the head.
    fn send(&mut self, head: &Head, body: &mut Vec<u8>, host: &dyn Host) -> SqlResult<()>;
}

/// What stands before the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    /// Empty: there is no body.
    pub content_type: &'static str,
    /// Lines, each with its end.
    pub headers: Vec<u8>,
    /// The body ends before its end, and says nothing of it: the connection has to.
    pub is_cut: bool,
}

impl Head {
    pub fn new(status: u16) -> Head {
        Head {
            status,
            content_type: JSON,
            headers: Vec::new(),
            is_cut: false,
        }
    }

    /// Neither may hold what ends a line.
    pub fn header(&mut self, name: &str, value: &str) {
        for part in [name, ": ", value, "\r\n"] {
            self.headers.extend_from_slice(part.as_bytes());
        }
    }
}

/// An answer as it comes to be.
pub struct Answer<'o> {
    pub head: Head,
    /// What has not been sent yet.
    pub body: Vec<u8>,
    outlet: &'o mut dyn Outlet,
    has_begun: bool,
}

impl<'o> Answer<'o> {
    /// `body` is empty, and lent for its memory.
    pub fn new(body: Vec<u8>, outlet: &'o mut dyn Outlet) -> Answer<'o> {
        Answer {
            head: Head::new(200),
            body,
            outlet,
            has_begun: false,
        }
    }

    /// Whether something has been sent, so that the status cannot be changed any more.
    pub fn has_begun(&self) -> bool {
        self.has_begun
    }

    pub fn is_full(&self) -> bool {
        self.body.len() >= SENT_AT_ONCE
    }

    /// What has not been sent yet.
    pub fn into_parts(self) -> (Head, Vec<u8>) {
        (self.head, self.body)
    }

    /// Sends what there is; more comes.
    pub fn flush(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.has_begun = true;
        self.outlet.send(&self.head, &mut self.body, host)
    }

    /// Puts a problem in the place of all that was written. The caller has seen to it that nothing was sent.
    pub fn refuse(&mut self, problem: &Problem) {
        debug_assert!(!self.has_begun);
        self.body.clear();
        self.head = Head {
            content_type: crate::problem::CONTENT_TYPE,
            ..Head::new(problem.status)
        };
        for (name, value) in &problem.headers {
            self.head.header(name, value);
        }
        problem.write(&mut self.body);
    }
}
