//! What accounts may do here, and what was refused (ACL).
//!
//! The accounts are those of SQL. What one may do with keys follows from its privileges on the tables that they are in: SELECT for commands
//! that read; SELECT, INSERT, UPDATE and DELETE for those that write. All other commands are everybody's who has logged in, but for those
//! that show what others do: they need PROCESS; and those that hold up others or change what holds for all: they need SUPER or
//! CONNECTION_ADMIN. Clients of one's own account are no others.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use catalog::{AccountDef, Privileges};
use parking_lot::Mutex;
use sql::engine::Engine;
use sql_api::session::SessionAccount;

use crate::command::Command;
use crate::tables::{DATABASE, Part};

/// What commands that write need.
pub const WRITING: Privileges = Privileges::SELECT
    .with(Privileges::INSERT)
    .with(Privileges::UPDATE)
    .with(Privileges::DELETE);

/// Which commands an account may run, in one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rights {
    pub reads: bool,
    pub writes: bool,
    /// Whether it may see what others do.
    pub watches: bool,
    /// Whether it may end and hold up others, and change what holds for all.
    pub administers: bool,
}

impl Rights {
    const ALL: Rights = Rights {
        reads: true,
        writes: true,
        watches: true,
        administers: true,
    };

    pub fn of(engine: &Engine, account: &SessionAccount, db: u32) -> Rights {
        let SessionAccount::Account { user, host } = account else {
            return Rights::ALL;
        };
        let held = engine.privileges_on_table(user, host, DATABASE, &Part::Keys.name(db));
        Rights {
            reads: held.contains(Privileges::SELECT),
            writes: held.contains(WRITING),
            watches: engine.may_see_server(user, host),
            administers: engine.may_administer_connections(user, host),
        }
    }

    pub fn allow(self, command: &Command) -> bool {
        (self.writes || !command.flags.writes)
            && (self.reads || !command.flags.reads)
            && (self.watches || !command.flags.watches)
            && (self.administers || !command.flags.administers)
    }
}

/// Whether somebody may see the accounts of others: who may read `mysql.user`.
pub fn sees_accounts(engine: &Engine, account: &SessionAccount) -> bool {
    match account {
        SessionAccount::Server => true,
        SessionAccount::Account { user, host } => engine
            .privileges_on_table(user, host, "mysql", "user")
            .contains(Privileges::SELECT),
    }
}

/// Whether a login needs no password.
pub fn needs_no_password(account: &AccountDef) -> bool {
    account.authentication.is_empty()
}

/// Why something was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denied {
    /// A login.
    Login,
    Command,
}

/// Where the refused command was to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    TopLevel,
    Multi,
    Script,
}

/// What was refused, once or several times.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub id: u64,
    pub count: u64,
    pub denied: Denied,
    pub context: Context,
    /// The command.
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    /// The client of the last time, as CLIENT LIST shows it.
    pub client: String,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    pub updated_ms: i64,
}

/// The last commands and logins that were refused (ACL LOG), in memory.
pub struct Refusals {
    /// `acllog-max-len`
    len_max: AtomicUsize,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    next_id: u64,
    /// The newest first.
    entries: VecDeque<Refusal>,
}

/// Equal ones within this time are one.
const GROUPED_WITHIN_MS: i64 = 60_000;
/// Among so many of the newest.
const GROUPED_AMONG: usize = 10;
/// Bytes of a name that are kept.
const NAME_MAX: usize = 128;

impl Default for Refusals {
    fn default() -> Refusals {
        Refusals {
            len_max: AtomicUsize::new(128),
            kept: Mutex::default(),
        }
    }
}

impl Refusals {
    pub fn len_max(&self) -> usize {
        self.len_max.load(Ordering::Relaxed)
    }

    pub fn set_len_max(&self, len: usize) {
        self.len_max.store(len, Ordering::Relaxed);
        self.kept.lock().entries.truncate(len);
    }

    pub fn add(&self, denied: Denied, context: Context, object: &[u8], user: &[u8], client: String, now_ms: i64) {
        let len_max = self.len_max();
        if len_max == 0 {
            return;
        }
        let (object, user) = (cut(object), cut(user));
        // They are the node's, not the client's.
        governor::given_away(|| {
            let kept = &mut *self.kept.lock();
            let is_it = |entry: &Refusal| {
                entry.denied == denied
                    && entry.context == context
                    && entry.object == object
                    && entry.user == user
                    && now_ms - entry.updated_ms <= GROUPED_WITHIN_MS
            };
            let known = kept.entries.iter().take(GROUPED_AMONG).position(is_it);
            let entry = match known.and_then(|at| kept.entries.remove(at)) {
                Some(known) => Refusal {
                    count: known.count + 1,
                    client,
                    updated_ms: now_ms,
                    ..known
                },
                None => {
                    let id = kept.next_id;
                    kept.next_id += 1;
                    Refusal {
                        id,
                        count: 1,
                        denied,
                        context,
                        object: object.to_vec(),
                        user: user.to_vec(),
                        client,
                        created_ms: now_ms,
                        updated_ms: now_ms,
                    }
                }
            };
            kept.entries.push_front(entry);
            kept.entries.truncate(len_max);
        });
    }

    /// The newest first.
    pub fn newest(&self, most: usize) -> Vec<Refusal> {
        self.kept.lock().entries.iter().take(most).cloned().collect()
    }

    pub fn clear(&self) {
        self.kept.lock().entries.clear();
    }
}

fn cut(name: &[u8]) -> &[u8] {
    &name[..name.len().min(NAME_MAX)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_refusals_are_one_and_few_are_kept() {
        let log = Refusals::default();
        let add = |denied, object: &[u8], now_ms| {
            log.add(denied, Context::TopLevel, object, b"ada", "id=1".to_owned(), now_ms);
        };
        add(Denied::Command, b"set", 1_000);
        add(Denied::Login, b"AUTH", 2_000);
        add(Denied::Command, b"set", 3_000);
        add(Denied::Command, b"set", 70_000);
        let newest = log.newest(10);
        let shown: Vec<(u64, u64, i64, i64)> = newest
            .iter()
            .map(|entry| (entry.id, entry.count, entry.created_ms, entry.updated_ms))
            .collect();
        assert_eq!(
            shown,
            [(2, 1, 70_000, 70_000), (0, 2, 1_000, 3_000), (1, 1, 2_000, 2_000)]
        );
        log.set_len_max(2);
        add(Denied::Login, &[b'x'; 1000], 80_000);
        assert_eq!(log.newest(10).len(), 2);
        assert_eq!(log.newest(1)[0].object.len(), NAME_MAX);
    }
}
