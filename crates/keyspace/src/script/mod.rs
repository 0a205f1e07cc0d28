//! Scripts in Lua: EVAL and its kin, and libraries of functions, FCALL.
//!
//! ```text
//!   EVAL ──▶ keys locked ──▶ [`run`]: a machine of this thread ──▶ redis.call ──▶ commands, in the same transaction ──▶ commit
//! ```
//!
//! A script is one transaction, which nobody sees the half of. The keys that it declares are locked before it begins; others, when a
//! command of it changes them. If the transaction has to begin anew, so does the whole script. As with Redis, what a script has written
//! before an error of its own stays. But one that has to end, as it was killed or takes too much memory, has done nothing.
//!
//! Each thread has states of Lua for itself ([`machine`]), one per script that runs at the same time: a script that waits keeps its own,
//! and the next one finds a state as new, since what scripts share in it cannot be changed. A state per call would be as safe, but costs
//! ten times what a small script does.
//!
//! * [`cache`]: the scripts that EVALSHA knows; [`running`]: those that run, for SCRIPT KILL;
//! * [`machine`]: states of Lua; [`api`]: what scripts find under `redis`; [`convert`]: values and replies; [`run`]: how a script runs;
//! * [`eval`]: the commands EVAL, SCRIPT, …; [`functions`]: FUNCTION and FCALL; [`libraries`]: where libraries are kept; [`dump`]: FUNCTION
//!   DUMP's form.

pub mod api;
pub mod cache;
pub mod convert;
pub mod dump;
pub mod eval;
pub mod functions;
pub mod libraries;
pub mod machine;
pub mod run;
pub mod running;

use parking_lot::Mutex;

use cache::Cache;
use running::RunningScripts;

/// What the scripts of a node share.
#[derive(Default)]
pub struct Scripts {
    pub cache: Mutex<Cache>,
    pub running: RunningScripts,
}

/// What a script, or a function, says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    pub no_writes: bool,
    pub allow_oom: bool,
    pub allow_stale: bool,
    pub no_cluster: bool,
    pub allow_cross_slot_keys: bool,
}

impl Flags {
    pub const NAMES: [&str; 5] = [
        "no-writes",
        "allow-oom",
        "allow-stale",
        "no-cluster",
        "allow-cross-slot-keys",
    ];

    /// Sets a flag by its name; false: there is none of that name.
    pub fn set(&mut self, name: &[u8]) -> bool {
        let flag = match name {
            b"no-writes" => &mut self.no_writes,
            b"allow-oom" => &mut self.allow_oom,
            b"allow-stale" => &mut self.allow_stale,
            b"no-cluster" => &mut self.no_cluster,
            b"allow-cross-slot-keys" => &mut self.allow_cross_slot_keys,
            _ => return false,
        };
        *flag = true;
        true
    }

    /// The names of those that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let set = [
            self.no_writes,
            self.allow_oom,
            self.allow_stale,
            self.no_cluster,
            self.allow_cross_slot_keys,
        ];
        Flags::NAMES
            .into_iter()
            .zip(set)
            .filter(|(_, set)| *set)
            .map(|(name, _)| name)
    }
}
