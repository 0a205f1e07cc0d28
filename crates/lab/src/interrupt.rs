//! Ctrl-C: the first one ends the series in order and keeps what was measured, the second one leaves at once. SIGTERM means the
//! same. So does SIGHUP, the terminal's end, but as often as it comes: shells send it on to their jobs a second time.
//!
//! A thread of its own waits for the signals, so whoever works looks at a flag when it suits him. Leaving at once still
//! ends the servers that the lab started itself: they have their own process groups and would live on.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use lab_driver::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{servers, terminal};

const LOOK: Duration = Duration::from_millis(50);

/// Whether the user wants to stop.
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    stop: Stop,
    /// The first signal's number.
    signal: Arc<AtomicI32>,
    /// What was done to somebody's machine, and how it is undone.
    owed: Arc<Mutex<Vec<(String, String)>>>,
}

impl Interrupt {
    /// From now on SIGINT, SIGTERM and SIGHUP mean what the module says.
    pub fn install() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        let heard = interrupt.clone();
        let mut wanted = vec![SIGINT, SIGTERM];
        // What `nohup` started is to outlive its terminal.
        if !is_ignored(SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut signals = Signals::new(wanted).context("cannot take signals")?;
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    heard.hear(signal);
                }
            })
            .context("cannot start a thread")?;
        Ok(interrupt)
    }

    fn hear(&self, signal: i32) {
        if !self.asked() {
            self.signal.store(signal, Ordering::Relaxed);
            self.stop.request();
            terminal::tell("\nstopping: what was measured is kept (Ctrl-C again leaves at once)");
        } else if signal != SIGHUP {
            servers::kill_all();
            for (what, remedy) in self.owed().drain(..) {
                terminal::tell(&format!("{what}: this was not ended: {remedy}"));
            }
            std::process::exit(self.exit_code());
        }
    }

    /// 128 and the signal's number, as shells count: 130 after a Ctrl-C.
    pub fn exit_code(&self) -> i32 {
        match self.signal.load(Ordering::Relaxed) {
            0 => 128 + SIGINT,
            signal => 128 + signal,
        }
    }

    /// From now on whoever leaves at once is told that `what` has not ended, and the `remedy`.
    pub fn owe(&self, what: &str, remedy: &str) {
        self.owed().push((what.to_owned(), remedy.to_owned()));
    }

    /// `what` has ended.
    pub fn settle(&self, what: &str) {
        self.owed().retain(|(owed, _)| owed != what);
    }

    fn owed(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn asked(&self) -> bool {
        self.stop.is_requested()
    }

    /// For loops that look by themselves.
    pub fn stop(&self) -> &Stop {
        &self.stop
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

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
