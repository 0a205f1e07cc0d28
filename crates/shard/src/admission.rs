//! From when on a replica whose directory is new takes part in elections.
//!
//! Such a directory does not know which votes a node of its number has given before, nor what that node has stored. It reads the log from its beginning, and
//! with it who belonged to the shard long ago. Where that was its own number alone, or with others that came anew as well, they would elect each other
//! with a log that lacks nearly everything.
//!
//! ```text
//!   new directory ──"admit me"──▶ leader: an entry takes it in, as one that listens
//!        │ ◀──── that entry ────────┘
//!        ▼
//!   on the disk ──log has the entry──▶ takes part ──"admit me"──▶ leader: it votes
//! ```
//!
//! Until its log has the entry that took it in, it asks for no votes, gives none, and takes no lead. From there on its log has everything that was
//! committed before it came, and the usual rule is enough: a vote goes to nobody whose log is shorter. It is told the entry before it is made a voter, so
//! nobody waits for a vote of it that it does not give.
//!
//! The file `admission` (drawn in `docs/formats/identity.md`) keeps where it is. A directory without one takes part.

use std::path::{Path, PathBuf};
use std::time::Duration;

use env::{Env, failpoints};
use journal::{Admission, EntryId, Journal, OpenError};
use parking_lot::Mutex;

use crate::consensus::Raft;
use crate::replica::Shared;

/// What the file says, and what became of it since.
pub(crate) struct Standing {
    env: Env,
    dir: PathBuf,
    admission: Mutex<Admission>,
}

impl Standing {
    /// Of a directory with this log.
    pub fn read(env: &Env, dir: &Path, journal: &mut Journal) -> Result<Standing, OpenError> {
        let admission = match Admission::read(env, dir)? {
            Admission::TakenIn(entry) if journal.reader().last() >= Some(entry) => {
                let synced = journal.sync().map_err(|error| OpenError::Io {
                    file: dir.join("log"),
                    error: error.into(),
                });
                synced.map(|()| Admission::Belongs)?
            }
            other => other,
        };
        Ok(Standing {
            env: env.clone(),
            dir: dir.to_owned(),
            admission: Mutex::new(admission),
        })
    }

    pub fn admission(&self) -> Admission {
        *self.admission.lock()
    }

    /// Whether it votes, and may be voted for.
    pub fn takes_part(&self) -> bool {
        self.admission() == Admission::Belongs || failpoints::goes_wrong("admission.early")
    }

    /// Notes, on the disk, which entry has taken it in. One that belongs knows better.
    pub fn is_taken_in(&self, by: EntryId) -> Result<(), OpenError> {
        if self.admission() == Admission::Asks {
            // Whoever is asked for a vote meanwhile does not wait for the disk.
            Admission::note(&self.env, &self.dir, by)?;
            *self.admission.lock() = Admission::TakenIn(by);
        }
        Ok(())
    }

    fn belongs(&self) {
        *self.admission.lock() = Admission::Belongs;
    }
}

/// Lets a new replica take part once its log has the entry that took it in. Until then, or until dropped.
pub(crate) async fn take_part_in_time(shared: Shared, raft: Raft, pause: Duration) {
    while !shared.standing.takes_part() {
        if let Admission::TakenIn(entry) = shared.standing.admission()
            && shared.log.last() >= Some(entry)
        {
            // A failure stops the shard at the next entry.
            match shared.journal.lock().sync() {
                Ok(()) => shared.standing.belongs(),
                Err(error) => return shared.failure.set(error.to_string()),
            }
        }
        tokio::time::sleep(pause).await;
    }
    raft.runtime_config().elect(true);
}
