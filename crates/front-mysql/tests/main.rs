//! The front over canned answers, as its clients see it.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod commands;
mod compressed;
mod interrupts;
mod login;
mod support;
mod tls;
