//! The scripts that run on a node: SCRIPT KILL ends the one that has run longest, FUNCTION STATS tells of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

/// Whether a script runs by EVAL, or as a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    Script,
    Function,
}

/// One that runs.
pub struct Running {
    pub runs: Runs,
    /// Of the function, or the SHA-1.
    pub name: Vec<u8>,
    /// The command that runs it.
    pub command: Vec<Vec<u8>>,
    pub since: Instant,
    pub killed: Arc<AtomicBool>,
}

#[derive(Default)]
pub struct RunningScripts {
    all: Mutex<Vec<Arc<Running>>>,
}

/// Takes a script off the list when it has ended.
pub struct Listed<'r> {
    scripts: &'r RunningScripts,
    pub running: Arc<Running>,
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        let mut all = self.scripts.all.lock();
        all.retain(|other| !Arc::ptr_eq(other, &self.running));
    }
}

impl RunningScripts {
    pub fn list(&self, runs: Runs, name: &[u8], args: &[&[u8]]) -> Listed<'_> {
        const ARGS_SHOWN: usize = 16;
        let shown = |arg: &&[u8]| arg[..arg.len().min(128)].to_vec();
        let running = Arc::new(Running {
            runs,
            name: name.to_vec(),
            command: match runs {
                // Only functions are told of.
                Runs::Script => Vec::new(),
                Runs::Function => args.iter().take(ARGS_SHOWN).map(shown).collect(),
            },
            since: Instant::now(),
            killed: Arc::default(),
        });
        self.all.lock().push(running.clone());
        Listed { scripts: self, running }
    }

    /// The one that has run longest.
    pub fn oldest(&self, runs: Runs) -> Option<Arc<Running>> {
        let all = self.all.lock();
        all.iter()
            .filter(|running| running.runs == runs)
            .min_by_key(|running| running.since)
            .cloned()
    }

    /// Ends the one that has run longest; false: there is none.
    pub fn kill(&self, runs: Runs) -> bool {
        let oldest = self.oldest(runs);
        if let Some(running) = &oldest {
            running.killed.store(true, Ordering::Relaxed);
        }
        oldest.is_some()
    }
}
