//! The binary as an operator meets it.
//!
//! One binary for all of the crate's integration tests: it links once.

#![allow(clippy::unwrap_used, reason = "a test fails where it fails")]

mod admin;
mod backup;
mod bulk;
mod circles;
mod cluster;
mod columns;
mod compaction;
mod durability;
mod events;
mod files;
mod full_text;
mod indexes;
mod limits;
mod logins;
mod long_rows;
mod multi_valued;
mod newest;
mod operators;
mod past;
mod programs;
mod recovery;
mod redis;
mod serve;
mod statement_logs;
mod support;
mod table_locks;
mod upgrade;
mod witness;
mod xa;
