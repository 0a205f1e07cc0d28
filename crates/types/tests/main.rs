//! Values against independent implementations.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod charset_differential;
mod collation_differential;
mod collations;
mod formats;
mod json_differential;
mod language_differential;
mod scalar_differential;
mod server;
