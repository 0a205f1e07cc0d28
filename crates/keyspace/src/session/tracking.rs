//! What a session that tracks notes before it reads, and does not want to hear of itself.

use sql_api::host::Host;

use super::Session;
use crate::command::{Command, Handler};
use crate::tables::Db;
use crate::tracking::Mode;
use crate::work::Work;

/// How a session tracks.
#[derive(Default)]
pub(crate) struct Tracks {
    pub mode: Option<Mode>,
    /// CLIENT CACHING was said before the command that runs.
    pub is_told: bool,
}

impl Session {
    /// A transaction of the session's.
    pub(crate) fn begin_work<'w>(&self, keyspace: &'w std::sync::Arc<crate::Keyspace>, host: &'w dyn Host) -> Work<'w> {
        let mut work = Work::begin(keyspace, self.durability, host);
        if self.hides_own_changes() {
            work.keep_changed_keys(self.id);
        }
        work
    }

    fn hides_own_changes(&self) -> bool {
        self.tracks.mode.is_some_and(|mode| mode.no_loop)
    }

    /// Whether commands may not share a transaction with others.
    pub(crate) fn runs_alone(&self) -> bool {
        self.tracks.is_told || self.hides_own_changes()
    }

    /// Whether what the command reads is to be noted.
    fn notes(&self, command: &Command) -> bool {
        let Some(mode) = self.tracks.mode else { return false };
        let is_wanted = match (mode.opt_in, mode.opt_out) {
            (true, _) => self.tracks.is_told,
            (_, true) => !self.tracks.is_told,
            _ => true,
        };
        // Scripts note what they read.
        is_wanted && !mode.broadcasts && command.flags.reads && matches!(command.handler, Handler::Data(_))
    }

    /// Notes the keys that a command is about to read. The snapshot that it reads at is taken later.
    #[inline]
    pub(crate) fn note_reads(&self, db: u32, command: &Command, args: &[&[u8]]) {
        if self.tracks.mode.is_some() && self.notes(command) {
            let keys = command.keys_in(args);
            self.keyspace.tracking.note(self.id, db, keys.into_iter());
        }
    }

    /// As [`note_reads`](Self::note_reads), where there is a snapshot already: what has changed since is told at once.
    pub(crate) fn note_late_reads(&self, work: &Work<'_>, db: &Db, command: &Command, args: &[&[u8]]) {
        if self.tracks.mode.is_none() || !self.notes(command) {
            return;
        }
        let keys = command.keys_in(args);
        let tracking = &self.keyspace.tracking;
        tracking.note(self.id, db.number, keys.iter().copied());
        for key in keys {
            if work.has_changed_meanwhile(db, key) {
                tracking.note_changed(db.number, key);
            }
        }
    }

    /// CLIENT CACHING is good for one command, or one transaction.
    pub(crate) fn forget_caching(&mut self, command: &[u8]) {
        if self.tracks.is_told && self.queue.is_none() && !command.eq_ignore_ascii_case(b"client") {
            self.tracks.is_told = false;
        }
    }

    pub(crate) fn stop_tracking(&mut self) {
        self.tracks = Tracks::default();
        self.keyspace.tracking.end(self.id);
    }
}
