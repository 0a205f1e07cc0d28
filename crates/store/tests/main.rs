//! The store against a model, and with many threads.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod fit;
mod model;
mod past;
mod threads;
