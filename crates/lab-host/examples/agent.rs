//! The agent alone, as `latsdb lab agent` starts it:
//! `agent --stdio`, or `agent --listen ADDRESS --token-file FILE`, with `--cgroup PATH` and `--allow-commands`.

use std::process::ExitCode;

use lab_host::agent::{AgentOptions, serve_stdio, serve_tcp};

fn main() -> ExitCode {
    let mut options = AgentOptions::default();
    let (mut listen, mut token) = (None, String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--stdio" => options.allow_commands = true,
            "--listen" => listen = Some(value()),
            "--token-file" => token = std::fs::read_to_string(value()).unwrap_or_default().trim().to_owned(),
            "--cgroup" => options.cgroup = Some(value()),
            "--allow-commands" => options.allow_commands = true,
            other => {
                eprintln!("unknown argument {other}");
                return ExitCode::FAILURE;
            }
        }
    }
    let served = match listen {
        Some(address) => serve_tcp(&address, &token, &options, |address| println!("listening on {address}")),
        None => serve_stdio(&options),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
