//! Lua 5.1 for code that clients send.
//!
//! ```text
//!   source ──▶ Lua::compile ──▶ Lua::run ──▶ … VM … ── every 100 instructions ──▶ governor::tick
//!                                    │          └─── a large block ─────────────▶ governor::ensure, tick
//!                                    └── native functions, in Rust: arguments and results on the state's stack (Frame)
//! ```
//!
//! A state is used by one statement at a time, which may be suspended in its middle: the frames of C are on the statement's own stack.
//! A script that has to end ends whatever it catches ([`Ended`]): from then on each instruction fails.
//!
//! What scripts share, the tables of the libraries and the globals, cannot be changed. So the next script finds a state as the one
//! before has found it.
//!
//! In reading order:
//!
//! 1. [`state`]: states, their memory, their end; [`frame`]: what native functions work with;
//! 2. [`library`]: what scripts are offered; [`json`], [`msgpack`], [`packed`], [`bits`];
//! 3. [`number`]: how C writes numbers; [`raw`]: the interface of C.

pub mod bits;
pub mod frame;
pub mod json;
pub mod library;
pub mod msgpack;
pub mod number;
pub mod packed;
mod raw;
pub mod state;

pub use frame::{Frame, Kind, Native, Raised};
pub use state::{Callee, Ended, Limits, Lua, Reference};
