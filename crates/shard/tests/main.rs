//! A shard: commits, crashes, faults.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod abort;
mod admission;
mod backup;
mod calls;
mod cluster;
mod commit;
mod crash;
mod durability;
mod faults;
mod kill;
mod large;
mod levels;
mod prepared;
mod support;
mod witness;
