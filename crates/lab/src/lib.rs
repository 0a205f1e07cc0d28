//! The lab: measures any MySQL-compatible database, from a plan to a report, in one command.
//!
//! ```text
//!   plan.toml ──▶ Plan ──▶ preflight ──▶ probes ──▶ series ──▶ results/<name>/ ──▶ report
//!                                                     │
//!                             schedule: which rung next, which again
//!                             lab-driver: the load      lab-host: the machines, the verdict
//! ```
//!
//! In reading order:
//!
//! 1. [`cli`]: the commands; [`plan`]: what a plan can say.
//! 2. `series`: the coordinator; `schedule`: the order of rungs; `interrupt`: how it ends early; `fleet`: load from several machines.
//! 3. `availability`: faults under load, and the check of every acknowledged write.
//! 4. `cluster`: the nodes of a LatsDB cluster, looked at and watched.
//! 4. [`servers`]: databases that the lab starts by itself.

mod availability;
pub mod cli;
mod clock;
mod cluster;
mod commands;
mod fleet;
mod import;
pub mod interrupt;
mod machines;
pub mod plan;
mod preflight;
mod prices;
mod progress;
mod quick;
mod schedule;
mod series;
pub mod servers;
mod subject;
mod table;
mod terminal;

pub use cli::{command, run};
