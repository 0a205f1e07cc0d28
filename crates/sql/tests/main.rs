//! SQL as sessions see it.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod answers;
mod columns;
mod common;
mod explain_analyze;
mod expressions;
mod foreign_keys;
mod full_memory;
mod full_text;
mod golden;
mod index_against_scan;
mod isolation;
mod multi_valued;
mod nesting;
mod prepared;
mod processes;
mod scaling;
mod stretches;
mod support;
mod time_limits;
mod ttl;
mod window_frames;
