//! The command line of both.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use clap::{Arg, ArgAction, ArgMatches, Command};
use shard::backup::Until;
use tokio::signal::unix::{SignalKind, signal};
use types::Timestamp;

use super::client::Client;
use super::restore::Order;
use super::{draw, moment, peer, restore as restoring};
use crate::config::parse_bytes;
use crate::{cli, data_dir};

pub fn backup_command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("backup")
        .about("Draw a backup of a running node or cluster, or its log; or check one")
        .after_help(
            "The node is asked over loopback, by the user who runs it, or by an account with BACKUP_ADMIN. Of another machine: \
             --from-peer, or ssh HOST latsdb backup --to - > FILE",
        )
        .arg(text("from", "HOST:PORT", "HTTP address of a node [default: that of http_addr]"))
        .arg(
            text("from-peer", "HOST:PORT", "Peer address of a node, instead: from another machine, by a certificate of the nodes' authority")
                .conflicts_with_all(["from", "user"]),
        )
        .arg(text("peer-tls-ca", "FILE", "Certificate (PEM) by which nodes prove who they are").requires_all(["peer-tls-cert", "peer-tls-key"]))
        .arg(text("peer-tls-cert", "FILE", "Certificate chain (PEM) to show them").requires("peer-tls-ca"))
        .arg(text("peer-tls-key", "FILE", "Its private key (PEM)").requires("peer-tls-ca"))
        .arg(text("to", "DIR|-", "Directory for it, or - for a pipe"))
        .arg(
            Arg::new("log")
                .long("log")
                .action(ArgAction::SetTrue)
                .help("Add what the log has more than the directory"),
        )
        .arg(
            Arg::new("follow")
                .long("follow")
                .action(ArgAction::SetTrue)
                .requires("log")
                .help("Go on adding it until SIGTERM or Ctrl-C"),
        )
        .arg(text("rate", "SIZE", "Bytes a second at most; 0: as fast as it goes").default_value("32MiB"))
        .arg(text("verify", "DIR|-", "Check a directory or a pipe, and name what is damaged").conflicts_with_all([
            "from", "from-peer", "to", "log",
        ]))
        .arg(text("user", "USER", "Account with BACKUP_ADMIN; its password is MYSQL_PWD [default: the user who runs the node]"))
        .arg(cli::config_flag())
}

pub fn restore_command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("restore")
        .about("Make a data directory of a backup: that of the first node of a new cluster")
        .arg(text("from", "DIR|-", "Directory of backups, or - for a pipe").required(true))
        .arg(
            text(
                "data-dir",
                "NEW",
                "Data directory to make; it must not be there, or be empty",
            )
            .required(true),
        )
        .arg(text(
            "until",
            "TIMESTAMP",
            "Everything committed up to then (UTC), such as '2026-11-24 14:05:00.250'",
        ))
        .arg(
            text("until-position", "N", "Everything up to this log entry")
                .value_parser(clap::value_parser!(u64))
                .conflicts_with("until"),
        )
        .arg(
            text("node-id", "N", "The node's number in the new cluster")
                .value_parser(clap::value_parser!(u32).range(1..))
                .default_value("1"),
        )
}

pub fn backup(matches: &ArgMatches) -> Result<()> {
    data_dir::keep_others_out();
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    if let Some(what) = text("verify") {
        return verify(what);
    }
    let Some(to) = text("to") else {
        bail!("where to? --to DIR, --to - for a pipe; or --verify DIR");
    };
    let rate = text("rate").unwrap_or_default();
    let rate = match rate {
        "0" => 0,
        rate => parse_bytes(rate).with_context(|| format!("--rate: {rate:?} is not a size such as 32MiB"))?,
    };
    let mut client = client(matches, rate)?;
    let (is_log, follows) = (matches.get_flag("log"), matches.get_flag("follow"));
    match to {
        "-" if is_log => bail!("a log follows what is in a directory: --log needs --to DIR"),
        // What is said goes where the backup does not.
        "-" => eprintln!("{}", draw::pipe(&mut client)?),
        dir if is_log => {
            let stop = follows.then(stops_at_signals).transpose()?;
            println!("{}", draw::log(&mut client, Path::new(dir), stop.as_ref())?);
        }
        dir => println!("{}", draw::full(&mut client, Path::new(dir))?),
    }
    Ok(())
}

/// The way to the node that is asked.
fn client(matches: &ArgMatches, rate: u64) -> Result<Client> {
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    if let Some(addr) = text("from-peer") {
        let tls = match (text("peer-tls-ca"), text("peer-tls-cert"), text("peer-tls-key")) {
            (Some(ca), Some(cert), Some(key)) => {
                let tls = net::Tls::load(Path::new(cert), Path::new(key), Path::new(ca), None);
                Some(tls.context("cannot use the files of --peer-tls-*")?)
            }
            _ => None,
        };
        return Ok(Client::of_peer(peer::Way::new(addr, tls)?, rate));
    }
    let address = match text("from") {
        Some(address) => crate::config::parse_address(address)
            .with_context(|| format!("--from: {address:?} is not an address such as 127.0.0.1:8306"))?,
        None => cli::config(matches)?.http_addr,
    };
    let password = std::env::var("MYSQL_PWD").unwrap_or_default();
    let login = text("user").map(|user| (user, &*password));
    Ok(Client::of_node(address, login, rate))
}

fn verify(what: &str) -> Result<()> {
    if what == "-" {
        println!("in order: {}", restoring::verify_pipe()?);
        return Ok(());
    }
    let (lines, problems) = restoring::verify(Path::new(what))?;
    for line in lines {
        println!("{line}");
    }
    for problem in &problems {
        println!("{problem}");
    }
    match problems.len() {
        0 => Ok(()),
        count => bail!("{what}: {count} problems"),
    }
}

pub fn restore(matches: &ArgMatches) -> Result<()> {
    data_dir::keep_others_out();
    let text = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let until = match (text("until"), matches.get_one::<u64>("until-position")) {
        (Some(text), _) => {
            let ms = moment::parse(text)
                .with_context(|| format!("--until: {text:?} is not a moment such as '2026-11-24 14:05:00' (UTC)"))?;
            // All of that millisecond.
            Until::Moment(Timestamp(Timestamp::at_wall_ms(ms + 1).0 - 1))
        }
        (None, Some(&index)) => Until::Index(index),
        (None, None) => Until::End,
    };
    let data_dir = text("data-dir").unwrap_or_default();
    let order = Order {
        from: text("from").unwrap_or_default(),
        data_dir: Path::new(data_dir),
        node: matches.get_one("node-id").copied().unwrap_or(1),
        until,
    };
    let restored = restoring::restore(&order)?;
    println!(
        "{data_dir}: as of {} UTC, log entry {}; node {} of a new cluster. Start it: latsdb serve --data-dir {data_dir} --node-id {2} …",
        moment::show(restored.newest.wall_ms()),
        restored.applied.index,
        restored.identity.node
    );
    Ok(())
}

/// Set by SIGTERM and SIGINT.
fn stops_at_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _entered = runtime.enter();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    drop(_entered);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        set.store(true, Ordering::Relaxed);
    })?;
    Ok(stop)
}
