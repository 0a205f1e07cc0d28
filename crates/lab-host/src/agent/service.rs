//! What else an agent can do: services that whoever runs the agent plugs in, each spoken to in talks of its own over the agent's
//! line.
//!
//! ```text
//!   coordinator                                  agent
//!        │  {"id":9,"do":"open","service":"load"}  │
//!        ├────────────────────────────────────────▶│  Service::serve on a thread of its own
//!        │◀────────────────────────────────────────┤  {"id":9,"ok":null}
//!        │  {"id":0,"do":"say","talk":9,"said":…}  │
//!        ├────────────────────────────────────────▶│  Talk::hear
//!        │◀────────────────────────────────────────┤  {"talk":9,"said":…}      Talk::say
//!        │◀────────────────────────────────────────┤  {"talk":9,"over":"…"}    serve returned
//! ```
//!
//! What is said is the service's own affair; here it is any JSON. A talk ends when either side ends it or the line does.

use std::fmt;
use std::io;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use lab_results::UnixMicros;
use serde::Serialize;
use serde_json::Value;

use crate::watch;

/// Plugged into an agent by [`AgentOptions::services`](super::AgentOptions).
pub trait Service: fmt::Debug + Send + Sync {
    /// By which coordinators ask for it.
    fn name(&self) -> &str;

    /// Holds one talk, on a thread of its own. The talk is over when this returns; it must return soon after [`Heard::Over`].
    fn serve(&self, talk: &Talk<'_>);
}

/// The agent's end of a talk.
pub struct Talk<'a> {
    pub(super) inbox: Mutex<Receiver<Value>>,
    pub(super) say: &'a (dyn Fn(Value) -> io::Result<()> + Sync),
    pub(super) clock: Clock,
}

/// What came of listening.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    Said(Value),
    Nothing,
    /// The coordinator ended the talk, or its line is gone.
    Over,
}

impl Talk<'_> {
    pub fn hear(&self, wait: Duration) -> Heard {
        match self.inbox.lock().expect("no holder panics").recv_timeout(wait) {
            Ok(said) => Heard::Said(said),
            Err(RecvTimeoutError::Timeout) => Heard::Nothing,
            Err(RecvTimeoutError::Disconnected) => Heard::Over,
        }
    }

    /// Errors: the line is gone, or the value is longer than a line may be.
    pub fn say(&self, value: &impl Serialize) -> io::Result<()> {
        (self.say)(serde_json::to_value(value)?)
    }

    /// The node's wall clock, whose offset the coordinator knows.
    pub fn now(&self) -> UnixMicros {
        self.clock.now()
    }
}

/// The wall clock that an agent tells the time by: the machine's, or (to see what becomes of it) one that is set wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    pub ahead_us: i64,
}

impl Clock {
    pub fn now(self) -> UnixMicros {
        self.of(watch::now())
    }

    pub(super) fn of(self, machine: UnixMicros) -> UnixMicros {
        UnixMicros(machine.0.saturating_add_signed(self.ahead_us))
    }
}
