//! What a session tells of its commands: to those who monitor, to histograms, to the slow log.

use std::time::Duration;

use super::{Meant, Member, Request, Session, multi};
use crate::command::{Command, Handler};
use crate::failure::{Failure, Outcome};

impl Meant {
    pub(super) fn command(&self) -> Option<&'static Command> {
        match self {
            Meant::Data { command, .. }
            | Meant::Script { command, .. }
            | Meant::Rows { command }
            | Meant::Session { command, .. } => Some(command),
            Meant::Refused(_) => None,
        }
    }
}

/// What is shown of commands that are about to run. What they select, or have queued, is known afterwards.
fn is_shown_later(command: &Command) -> bool {
    matches!(command.name(), "select" | "exec" | "reset")
}

impl Session {
    /// Whether a command runs now, and is not put off by MULTI.
    pub(super) fn runs_now(&self, command: &Command) -> bool {
        self.queue.is_none() || multi::runs_at_once(command)
    }

    /// Shows commands that are about to run to those who monitor.
    pub(super) fn show_before(&self, command: Option<&Command>, group: &[Member], requests: &[Request<'_>]) {
        if self.keyspace.monitors.is_empty() {
            return;
        }
        match command {
            None => {
                for ((command, _), args) in group.iter().zip(requests) {
                    self.show(command, self.db, args);
                }
            }
            Some(command) if !is_shown_later(command) && self.runs_now(command) => {
                self.show(command, self.db, &requests[0]);
            }
            Some(_) => {}
        }
    }

    /// The same of one that has run. `was_queued`: a transaction had begun.
    pub(super) fn show_after(&self, command: &Command, was_queued: bool, args: &[&[u8]]) {
        if is_shown_later(command) && (!was_queued || multi::runs_at_once(command)) {
            self.show(command, self.db, args);
        }
    }

    pub(super) fn show(&self, command: &Command, db: u32, args: &[&[u8]]) {
        if !self.keyspace.monitors.is_empty() && !command.flags.is_hidden {
            let micros = self.keyspace.engine().clock_micros();
            self.keyspace.monitors.show(micros, db, &self.client.address, args);
        }
    }

    /// Keeps a command, or the first of several that ran as one, if that took long, and counts all of them.
    pub(super) fn note_time(&self, command: Option<&Command>, group: &[Member], args: &[&[u8]], took: Duration) {
        let latencies = &self.keyspace.latencies;
        match command {
            Some(command) => latencies.add(std::iter::once(command), took),
            None => latencies.add(group.iter().map(|(command, _)| *command), took),
        }
        // How long one waits for others is not its own time.
        if command.is_some_and(|command| command.flags.blocks) {
            return;
        }
        if self.keyspace.spikes.is_one(took) {
            let first = command.or(group.first().map(|(command, _)| *command));
            let is_fast = first.is_some_and(|command| command.fact.flags.iter().any(|flag| flag == "fast"));
            let kind = if is_fast { "fast-command" } else { "command" };
            self.keyspace.spikes.add(kind, self.keyspace.now_ms() / 1000, took);
        }
        let slowlog = &self.keyspace.slowlog;
        if slowlog.is_slow(took) {
            let at = self.keyspace.now_ms() / 1000;
            slowlog.add(args, took, at, &self.client.address, self.client.name());
        }
    }

    /// Counts a command whose reply is an error. What a script passes on is counted where it came from.
    pub(crate) fn note_reply(&mut self, command: &Command, reply: &[u8]) {
        match std::mem::take(&mut self.error_is_counted) {
            true => self.keyspace.errors.failed(command),
            false => self.keyspace.note_reply(command, reply),
        }
    }

    /// Whoever monitors may not use keys, as what he is sent would be told from replies by nobody.
    pub(super) fn check_monitoring(&self, command: &Command) -> Outcome {
        let uses_keys = command.flags.reads || command.flags.writes || matches!(command.handler, Handler::Script(_));
        let sends = matches!(command.name(), "publish" | "spublish");
        match self.monitors && (uses_keys || sends) {
            true => Err(Failure::reply("ERR Replica can't interact with the keyspace")),
            false => Ok(()),
        }
    }

    pub(crate) fn begin_monitoring(&mut self) {
        self.monitors = true;
        self.client.open_outbox(self.protocol);
        self.client.set_monitors(true);
        self.keyspace.monitors.begin(&self.client);
    }

    pub(crate) fn stop_monitoring(&mut self) {
        self.monitors = false;
        self.client.set_monitors(false);
        self.keyspace.monitors.end(self.id);
    }
}
