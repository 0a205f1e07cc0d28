//! The LatsDB binary: one program that is a server, a shell and a status line.
//!
//! `cli` reads the command line, `config` merges the three sources, `serve` wires the crates into a node and runs it,
//! `status`, `backup` and `shell` are clients that talk to a node over its addresses like anybody else.

mod admin;
mod allocator;
mod backup;
mod cli;
mod cluster;
mod config;
mod data_dir;
mod lasting;
mod logging;
mod node;
mod panics;
mod serve;
mod shell;
mod status;
mod table;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("latsdb: {error:#}");
            ExitCode::FAILURE
        }
    }
}
