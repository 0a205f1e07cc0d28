//! What the user sees while it runs: one line that changes on a terminal, a line per rung elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use lab_results::rung::{Bottleneck, Second};
use lab_results::{Latency, Rung};

use crate::terminal;

pub struct Progress {
    terminal: bool,
    /// When the first rung began: what is left is told by the time that rungs take, not by that of filling tables.
    started: Option<Instant>,
    /// Rungs in all, as far as that is known, and done.
    pub planned: usize,
    pub done: usize,
    rung: String,
    /// Of the longest rung's name so far, so that figures stand below each other.
    width: usize,
    /// The changing line that is on the screen now.
    drawn: Option<String>,
}

const BAR: usize = 20;

impl Progress {
    pub fn new() -> Progress {
        Progress {
            terminal: std::io::stderr().is_terminal(),
            started: None,
            planned: 0,
            done: 0,
            rung: String::new(),
            width: 0,
            drawn: None,
        }
    }

    /// A line that stays.
    pub fn say(&mut self, text: &str) {
        self.clear();
        terminal::tell(text);
    }

    /// A line for what takes a while and has no figures; replaced by the next one on a terminal.
    pub fn doing(&mut self, text: &str) {
        if self.terminal {
            self.draw(&format!("{} {text} …", self.bar()));
        } else {
            terminal::tell(&format!("{text} …"));
        }
    }

    /// The same, but only where lines can be replaced: it changes too often to be printed.
    pub fn detail(&mut self, text: &str) {
        if self.terminal {
            self.draw(&format!("{} {text}", self.bar()));
        }
    }

    pub fn begin(&mut self, rung: &str) {
        self.started.get_or_insert_with(Instant::now);
        self.width = self.width.max(rung.chars().count());
        self.rung = format!("{rung:<width$}", width = self.width);
        if self.terminal {
            self.draw(&format!("{} {rung}  connecting", self.bar()));
        }
    }

    pub fn second(&mut self, second: &Second) {
        if !self.terminal {
            return;
        }
        let phase = if second.second < 0 {
            format!("warming up, {:>3} s to go", -second.second)
        } else {
            format!("measuring, {:>3} s", second.second + 1)
        };
        let line = format!(
            "{} {}  {phase}  {:>8} tps  p95 {}{}",
            self.bar(),
            self.rung,
            second.transactions,
            milliseconds(&second.latency, 0.95),
            if second.errors > 0 {
                format!("  {} errors", second.errors)
            } else {
                String::new()
            },
        );
        self.draw(&line);
    }

    pub fn end(&mut self, rung: &Rung) {
        self.done += 1;
        let line = format!(
            "{:>4}/{:<4} {}  {}",
            self.done,
            self.planned.max(self.done),
            self.rung,
            summary(rung)
        );
        self.say(&line);
    }

    /// Instead of [`Progress::end`], for a rung that gave nothing.
    pub fn not_run(&mut self, what: &str, why: &str) {
        self.done += 1;
        self.say(&format!(
            "{:>4}/{:<4} {what}  not run: {why}",
            self.done,
            self.planned.max(self.done)
        ));
    }

    fn bar(&self) -> String {
        if self.planned == 0 {
            return String::new();
        }
        let full = (BAR * self.done / self.planned).min(BAR);
        let left = match (self.done, self.started) {
            (0, _) | (_, None) => String::new(),
            (done, Some(started)) => {
                let each = started.elapsed() / u32::try_from(done).unwrap_or(u32::MAX);
                let rungs = u32::try_from(self.planned.saturating_sub(done)).unwrap_or(0);
                format!(" {} left", clock(each * rungs))
            }
        };
        format!("{}{}{left} ", "━".repeat(full), "┄".repeat(BAR - full))
    }

    fn draw(&mut self, line: &str) {
        let columns = columns();
        let shown: String = line.chars().take(columns.saturating_sub(1)).collect();
        if self.drawn.as_ref() != Some(&shown) {
            terminal::draw(&format!("\r\x1b[2K{shown}"));
            self.drawn = Some(shown);
        }
    }

    /// For whoever prints something else.
    pub fn clear(&mut self) {
        if self.drawn.take().is_some() {
            terminal::draw("\r\x1b[2K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Width of the terminal, as far as shells tell; a line that wraps could not be replaced.
fn columns() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 20)
        .unwrap_or(100)
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds >= 3600 {
        format!("{}:{:02} h", seconds / 3600, seconds / 60 % 60)
    } else {
        format!("{}:{:02}", seconds / 60, seconds % 60)
    }
}

/// A quantile in milliseconds with three significant digits, or a dash.
pub fn milliseconds(latency: &Latency, quantile: f64) -> String {
    match latency.quantile_us(quantile) {
        None => "-".to_owned(),
        Some(us) => {
            if us < 1000 {
                return format!("{us} µs");
            }
            let ms = us as f64 / 1000.0;
            let digits = match ms {
                100.0.. => 0,
                10.0.. => 1,
                _ => 2,
            };
            format!("{ms:.digits$} ms")
        }
    }
}

/// TPS, p95, errors, verdict.
fn summary(rung: &Rung) -> String {
    let tps = rung.totals.transactions as f64 / rung.measured_s.max(1e-9);
    let mut line = format!("{tps:>8.1} tps  p95 {:>8}", milliseconds(&rung.latency, 0.95));
    let errors: u64 = rung.errors.iter().map(|error| error.count).sum();
    if errors > 0 {
        line += &format!("  {errors} errors");
    }
    if rung.totals.backlog > 0 {
        line += &format!("  backlog {}", rung.totals.backlog);
    }
    if let Some(verdict) = &rung.verdict {
        line += &format!("  {}", bottleneck(verdict.bottleneck));
        if let Some(node) = &verdict.node {
            line += &format!(" of {node}");
        }
    }
    if let Some(void) = &rung.void {
        line += &format!("  VOID: {void}");
    }
    line
}

/// A verdict in a word or two.
pub fn bottleneck(bottleneck: Bottleneck) -> &'static str {
    match bottleneck {
        Bottleneck::LoadGenerator => "limit: load generator",
        Bottleneck::SqlCpu => "limit: SQL CPU",
        Bottleneck::DataCpu => "limit: data CPU",
        Bottleneck::NetworkBandwidth => "limit: network bandwidth",
        Bottleneck::NetworkPackets => "limit: network packets",
        Bottleneck::Disk => "limit: disk",
        Bottleneck::Locks => "limit: locks",
        Bottleneck::None => "no limit seen",
    }
}
