//! Reports: what they say, how they look, and that each figure can be recomputed.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod browser;
mod compare;
mod documented;
mod fixture;
mod formula;
mod markup;
mod odd;
mod report;
mod traced;
