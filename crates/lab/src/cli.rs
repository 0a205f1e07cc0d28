//! The commands of `latsdb lab`, from arguments to the part that does the work.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::{availability, commands, import, plan, prices, quick};

/// `latsdb lab`; the binary adds it to its own commands.
pub fn command() -> Command {
    Command::new("lab")
        .about("Measure databases: LatsDB, MySQL, MariaDB and whatever speaks their protocol")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(quick_command())
        .subcommand(
            Command::new("init")
                .about("Print a commented plan")
                .arg(path("from", "FILE", "Make it of an autobench.conf").long("from")),
        )
        .subcommand(
            Command::new("run")
                .about("Run a plan: probes, ladder, open loop, soak; results and a report in a folder")
                .arg(plan_file().required(true))
                .arg(name_flag())
                .arg(switch("reload", "Drop the workloads' tables and fill them anew")),
        )
        .subcommand(
            Command::new("availability")
                .about("Run a plan's faults under load, and check the data after them")
                .arg(plan_file().required_unless_present("matrix"))
                .arg(name_flag())
                .arg(
                    path(
                        "matrix",
                        "FILE",
                        "Draw the table of what tests/availability/suite.py has written with --results, and run nothing",
                    )
                    .long("matrix")
                    .conflicts_with("plan"),
                )
                .arg(
                    path("into", "FILE", "Put that table into a document, between its marks")
                        .long("into")
                        .requires("matrix"),
                ),
        )
        .subcommand(
            Command::new("probe")
                .about("Probe the nodes of a plan, or this machine")
                .arg(plan_file())
                .arg(switch("short", "A few seconds instead of about a minute"))
                .arg(switch("json", "Print JSON"))
                .arg(switch(
                    "cross-checks",
                    "Run sysbench, ioping and fio beside our probes, where they are installed",
                ))
                .arg(path("disk", "DIR", "Folder on the disk to probe [default: .]").long("disk")),
        )
        .subcommand(
            Command::new("report")
                .about("Write report.html, report.md and summary.json of a results folder")
                .arg(path("folder", "RESULTS", "Folder of a series").required(true)),
        )
        .subcommand(
            Command::new("compare")
                .about("What differs between series, by how much, with confidence")
                .arg(
                    path("folders", "RESULTS", "Folders of series; the first is the base")
                        .num_args(1..)
                        .required(true),
                )
                .arg(switch("force", "Compare unlike series too, and say what differs"))
                .arg(
                    Arg::new("format")
                        .long("format")
                        .value_parser(["text", "markdown", "html"])
                        .default_value("text")
                        .help("Form of the output"),
                ),
        )
        .subcommand(
            Command::new("verify")
                .about("Prove that our driver sends what sysbench sends, captured on the wire")
                .arg(text("server", "HOST:PORT", "A server to run both against").required(true))
                .arg(text("kind", "KIND", "One workload instead of all of sysbench's"))
                .arg(text("user", "USER", "Account").default_value("root"))
                .arg(text("password-env", "VARIABLE", "Variable that holds the password"))
                .arg(text("database", "DATABASE", "Database for the tables").default_value("sbtest")),
        )
        .subcommand(agent())
        .subcommand(import_sysbench())
        .subcommand(prices_command())
}

fn quick_command() -> Command {
    Command::new("quick")
        .about("Two minutes on this machine: starts a LatsDB (and a MariaDB, if installed), measures, reports")
        .arg(path("latsdb", "PATH", "The latsdb to start [default: this program]").long("latsdb"))
        .arg(switch("without-mariadb", "LatsDB alone"))
        .arg(
            Arg::new("seconds")
                .long("seconds")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..=600))
                .default_value("5")
                .help("Measured seconds of each rung"),
        )
        .arg(
            path("results", "DIR", "Where results go")
                .long("results")
                .default_value("results"),
        )
}

fn agent() -> Command {
    Command::new("agent")
        .about("Serve a coordinator on another machine: probes, samples, load")
        .arg(switch("stdio", "Talk on stdin and stdout, as over ssh"))
        .arg(text("listen", "HOST:PORT", "Listen for coordinators that know the token").conflicts_with("stdio"))
        .arg(text("token-env", "VARIABLE", "Variable that holds the token").default_value("LAB_AGENT_TOKEN"))
        .arg(switch("allow-commands", "Run commands that the coordinator asks for"))
        .arg(text(
            "cgroup",
            "PATH",
            "The node is this control group, not the machine",
        ))
}

fn import_sysbench() -> Command {
    Command::new("import-sysbench")
        .about("Turn sysbench's printed results into a results folder")
        .arg(
            path("files", "FILE", "What sysbench printed, one file per rung")
                .num_args(1..)
                .required(true),
        )
        .arg(
            path("into", "RESULTS", "The folder to make")
                .long("into")
                .required(true),
        )
        .arg(text("target", "NAME", "Name of what was measured").default_value("imported"))
        .arg(text("workload", "KIND", "What was run, such as oltp_read_write").required(true))
        .arg(text("option", "NAME=VALUE", "An option it was run with (several times)").action(ArgAction::Append))
}

fn prices_command() -> Command {
    Command::new("prices")
        .about("Price files")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("import")
                .about("Fill a price file out of lists that AWS, Azure or Google publish, fetched before; nothing is fetched")
                .arg(
                    path("from", "FILE", "AWS's offer file, pages of Azure's Retail Prices API or of Google's Billing Catalog")
                        .long("from")
                        .num_args(1..)
                        .required(true),
                )
                .arg(
                    path("into", "PRICES", "The price file; entries of other machines, and comments, stay")
                        .long("into")
                        .required(true),
                )
                .arg(text("region", "REGION", "Only of this region (several times)").action(ArgAction::Append))
                .arg(
                    text("type", "TYPE", "Only this machine type (several times) [default: all that the price files know]")
                        .action(ArgAction::Append),
                )
                .arg(text("dated", "YYYY-MM-DD", "When a list without a date was fetched [default: the file's own date]")),
        )
}

fn plan_file() -> Arg {
    path("plan", "PLAN", "The plan, as `lab init` prints one")
}

fn name_flag() -> Arg {
    text("name", "NAME", "Name of the results folder [default: the plan's name]")
}

fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .value_name(value)
        .value_parser(value_parser!(PathBuf))
        .help(help)
}

fn text(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

/// Runs what `matches` (of [`command`]) asks for. Ends the process by itself only with an exit code that says more than
/// success or failure: 130 after a Ctrl-C.
pub fn run(matches: &ArgMatches) -> Result<()> {
    asked(matches).map_err(|error| anyhow::Error::msg(sentence(&error)))
}

/// An error with its causes, each once: many say their cause in their own words.
fn sentence(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if said.is_empty() {
            said = cause;
        } else if !said.contains(&cause) {
            said = format!("{said}: {cause}");
        }
    }
    said
}

fn asked(matches: &ArgMatches) -> Result<()> {
    let (name, matches) = matches.subcommand().expect("clap insists on a subcommand");
    match name {
        "init" => init(matches.get_one::<PathBuf>("from").map(PathBuf::as_path)),
        "quick" => quick::run(matches),
        "run" => commands::run_plan(matches),
        "report" => commands::report(matches),
        "compare" => commands::compare(matches),
        "probe" => commands::probe(matches),
        "agent" => commands::agent(matches),
        "availability" => availability::run(matches),
        "verify" => commands::verify(matches),
        "import-sysbench" => import::run(matches),
        "prices" => prices::run(matches),
        _ => unreachable!("clap knows the commands"),
    }
}

fn init(from: Option<&Path>) -> Result<()> {
    let plan = match from {
        None => plan::template::TEMPLATE.to_owned(),
        Some(path) => plan::autobench::import(path)?,
    };
    match std::io::stdout().write_all(plan.as_bytes()) {
        // Whoever reads only the beginning has what he wanted.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("cannot print the plan"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let inner = std::io::Error::other("no route");
        let outer = lab_driver::DriverError::Connect {
            server: "h:1".to_owned(),
            source: inner,
        };
        let error = anyhow::Error::new(outer).context("target a");
        let said = sentence(&error);
        assert_eq!(said.matches("no route").count(), 1, "{said}");
        assert!(said.starts_with("target a: cannot connect to h:1"), "{said}");
    }

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
