//! The parser: corpus, limits, random trees and token soup.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod common;
mod corpus;
mod limits;
mod round_trip;
mod soup;
