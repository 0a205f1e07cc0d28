//! Load on any MySQL-compatible server, and what came of it.
//!
//! ```text
//!   Workload ──▶ Script (one per connection) ──▶ next statement, parameters
//!                                                      │
//!   run: worker threads, each ── epoll ──▶ Session ◀───┘ ──▶ the server
//!                        │                    │ errors, rows, bytes
//!                        ▼                    ▼
//!               one Second at a time ──▶ Outcome
//! ```
//!
//! In reading order:
//!
//! 1. [`target`]: the servers and who logs in; [`client`]: the connection, [`Control`] for single statements.
//! 2. [`workload`]: what is sent: sysbench's statements, data and distributions, and what is beyond them.
//! 3. [`prepare`](mod@prepare): the tables: filled, checked, dropped.
//! 4. [`run`](mod@run): a rung: so many connections or such a rate, for so long.
//! 5. [`sysbench`]: the real one as the driver, its output read. [`verify`]: what both send, held side by side.

pub mod client;
mod error;
mod idle;
pub mod prepare;
mod recorder;
pub mod run;
mod statement;
pub mod stop;
pub mod sysbench;
pub mod target;
pub mod verify;
mod worker;
pub mod workload;

pub use client::{Answer, Control};
pub use error::DriverError;
pub use prepare::{Check, PrepareSpec, Prepared, TableCheck, check, cleanup, prepare};
pub use run::{ClientCost, Idle, Outcome, RungSpec, Share, Survive, run, run_from};
pub use stop::Stop;
pub use target::{Identity, Password, Pem, Target, Tls, TlsMode};
pub use workload::{Workload, WorkloadError};
