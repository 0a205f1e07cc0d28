//! The journal: formats, damage, crashes, faults.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod checkpoint;
mod crash;
mod damage;
mod faults;
mod formats;
mod log;
mod support;
