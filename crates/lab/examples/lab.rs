//! The lab as a program of its own, without the database: quick to build.

use std::process::ExitCode;

fn main() -> ExitCode {
    match lab::run(&lab::command().get_matches()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lab: {error:#}");
            ExitCode::FAILURE
        }
    }
}
