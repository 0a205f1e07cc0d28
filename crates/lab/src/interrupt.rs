//! Ctrl-C: the first one ends the series in order and keeps what was measured, the second one leaves at once.
//!
//! A thread of its own waits for the signals, so whoever works looks at a flag when it suits him. Leaving at once still
//! ends the servers that the lab started itself: they have their own process groups and would live on.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lab_driver::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::servers;

/// Exit code of a series that was stopped: 128 + SIGINT, as shells count.
pub const EXIT_INTERRUPTED: i32 = 130;
const LOOK: Duration = Duration::from_millis(50);

/// Whether the user wants to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Stop);

impl Interrupt {
    /// From now on SIGINT and SIGTERM mean what the module says.
    pub fn install() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        let stop = interrupt.0.clone();
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot take signals")?;
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for _ in signals.forever() {
                    if stop.is_requested() {
                        servers::kill_all();
                        std::process::exit(EXIT_INTERRUPTED);
                    }
                    stop.request();
                    eprintln!("\nstopping: what was measured is kept (Ctrl-C again leaves at once)");
                }
            })
            .context("cannot start a thread")?;
        Ok(interrupt)
    }

    pub fn asked(&self) -> bool {
        self.0.is_requested()
    }

    /// For loops that look by themselves.
    pub fn stop(&self) -> &Stop {
        &self.0
    }

    /// Waits, but not on after a Ctrl-C.
    pub fn sleep(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.asked() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(LOOK));
        }
    }
}
