//! The lab end to end.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod cluster;
mod end_to_end;
mod fleet;
mod prices;
