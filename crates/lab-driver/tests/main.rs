//! The driver against servers that answer as a test wants it, and against a real one.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod loops;
mod mariadb;
mod support;
mod tls;
