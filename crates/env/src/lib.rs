//! The only door to clock, disk and randomness.
//!
//! Code that reads the clock or writes a file directly can be tested only by waiting and by luck. Code that takes an
//! [`Env`] can be run against a [`SimDisk`] that loses unsynced data at a power cut, tears writes, fills up and fails
//! on demand; the same code then runs unchanged on the real one.
//!
//! Reading order:
//!
//! * [`Disk`] and [`File`]: what a disk promises, and what it does not;
//! * [`Clock`] and [`Random`]: time and chance;
//! * [`real`](Env::real): the operating system's;
//! * [`SimDisk`]: a disk in memory with power cuts and faults;
//! * [`FaultyDisk`]: faults on top of any disk;
//! * [`OverlayDisk`]: any disk, read only: what is written is kept in memory;
//! * [`failpoints`]: named steps at which a test makes the process panic, fail or die.
//! * [`Levels`]: which formats this program writes and reads, beside others of other versions;
//! * [`Directory`]: files that SQL statements may read and make;
//! * [`OsUser`]: which user of this machine is at the other end of a connection.

pub mod failpoints;

mod chance;
mod directory;
mod disk;
mod faults;
mod levels;
mod overlay;
mod peer;
mod real;
mod sim;

use std::sync::Arc;

pub use chance::{Clock, ManualClock, Random, SeededRandom};
pub use directory::{Directory, NewFile, OldFile, OpenError};
pub use disk::{Access, DirLock, Disk, File, LockError};
pub use faults::{Fault, FaultyDisk};
pub use levels::{Feature, Level, Levels};
pub use overlay::OverlayDisk;
pub use peer::{NotKnown, OsUser};
pub use sim::SimDisk;

/// The outside world as one process sees it. Cheap to clone.
#[derive(Clone)]
pub struct Env {
    pub disk: Arc<dyn Disk>,
    pub clock: Arc<dyn Clock>,
    pub random: Arc<dyn Random>,
}

impl Env {
    /// The operating system's disk, clock and randomness.
    pub fn real() -> Env {
        Env {
            disk: faults::from_environment(Arc::new(real::RealDisk)),
            clock: Arc::new(real::RealClock::new()),
            random: Arc::new(real::RealRandom),
        }
    }

    /// The same, but nothing that is written reaches the disk.
    pub fn read_only(&self) -> Env {
        Env {
            disk: Arc::new(OverlayDisk::new(self.disk.clone())),
            ..self.clone()
        }
    }

    /// A simulated world around `disk`; everything left to chance follows from `seed`.
    pub fn simulated(disk: Arc<SimDisk>, seed: u64) -> Env {
        Env {
            disk,
            clock: Arc::new(ManualClock::default()),
            random: Arc::new(SeededRandom::new(seed)),
        }
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Env")
    }
}
