//! The command line: `latsdb serve | sql | status | admin | backup | restore | lab`. The flags of `serve` come from the table of settings.

use anyhow::Result;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::config::{Config, SETTINGS, Setting, given_flags, layers};
use crate::{admin, backup, serve, shell, status};

pub fn run() -> Result<()> {
    let matches = command().get_matches();
    let (name, matches) = matches.subcommand().expect("clap insists on a subcommand");
    match name {
        "serve" => serve::run(&config(matches)?),
        "sql" => shell::run(&shell_options(matches)?),
        "status" => status::run(config(matches)?.http_addr, matches.get_flag("json")),
        "admin" => admin::run(matches),
        "backup" => backup::backup(matches),
        "restore" => backup::restore(matches),
        "lab" => lab::run(matches),
        _ => unreachable!("clap knows the subcommands"),
    }
}

pub fn config(matches: &ArgMatches) -> Result<Config> {
    let file = matches.get_one::<String>("config").map(String::as_str);
    Ok(Config::from_layers(&layers(file, given_flags(matches))?)?)
}

/// The address comes from flags, or is the one that `serve` would listen on.
fn shell_options(matches: &ArgMatches) -> Result<shell::Options> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let default = config(matches)?.mysql_addr;
    let socket = text("socket").map(|path| match path.contains('/') {
        true => path,
        false => format!("./{path}"),
    });
    let host = text("host").unwrap_or_else(|| default.ip().to_string());
    let port = matches.get_one::<u16>("port").copied().unwrap_or(default.port());
    let asked = matches.contains_id("password");
    Ok(shell::Options {
        address: match socket {
            Some(path) => path,
            None if host.contains(':') => format!("[{host}]:{port}"),
            None => format!("{host}:{port}"),
        },
        user: text("user").unwrap_or_else(|| "root".to_owned()),
        password: text("password").or_else(|| {
            if asked {
                None
            } else {
                Some(std::env::var("MYSQL_PWD").unwrap_or_default())
            }
        }),
        database: text("database"),
        execute: text("execute"),
    })
}

fn command() -> Command {
    Command::new("latsdb")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A MySQL-compatible database: rows in memory, every commit on disk")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("serve")
                .about("Run a node")
                .after_help("Each setting is also a variable (LATSDB_DATA_DIR) and a key of latsdb.toml (data_dir); flags win over variables, variables over the file.")
                .args(SETTINGS.iter().map(flag))
                .arg(config_flag()),
        )
        .subcommand(
            Command::new("status")
                .about("Show nodes, shards, leaders and lag")
                .arg(flag(setting("http_addr")))
                .arg(config_flag())
                .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the node's answer as it is")),
        )
        .subcommand(shell_command())
        .subcommand(admin::command())
        .subcommand(backup::backup_command())
        .subcommand(backup::restore_command())
        .subcommand(lab::command())
}

/// The flags that every MySQL client has; `-h` is the host there, so help is `--help` alone.
fn shell_command() -> Command {
    let text = |name: &'static str, short: char, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).short(short).value_name(value).help(help)
    };
    Command::new("sql")
        .about("A small SQL shell")
        .disable_help_flag(true)
        .arg(Arg::new("help").long("help").action(ArgAction::Help).help("Print help"))
        .arg(text(
            "host",
            'h',
            "HOST",
            "Server's address [default: that of mysql_addr]",
        ))
        .arg(
            text("port", 'P', "PORT", "Server's port [default: that of mysql_addr]")
                .value_parser(clap::value_parser!(u16)),
        )
        .arg(
            text(
                "socket",
                'S',
                "PATH",
                "Server's Unix socket, in place of an address (latsdb.sock in its data directory)",
            )
            .conflicts_with_all(["host", "port"]),
        )
        .arg(text("user", 'u', "USER", "Account [default: root]"))
        .arg(
            text(
                "password",
                'p',
                "PASSWORD",
                "Password; without a value, asks for it [default: MYSQL_PWD]",
            )
            .num_args(0..=1),
        )
        .arg(text("database", 'D', "DATABASE", "Database to use"))
        .arg(text("execute", 'e', "SQL", "Run these statements and leave").allow_hyphen_values(true))
        .arg(config_flag())
}

/// A command that is carried out by a running node.
pub fn of_node(name: &'static str, about: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .arg(flag(setting("http_addr")))
        .arg(config_flag())
}

fn setting(key: &str) -> &'static Setting {
    SETTINGS
        .iter()
        .find(|setting| setting.key == key)
        .expect("the command line names settings that exist")
}

fn flag(setting: &Setting) -> Arg {
    let help = match setting.default {
        Some(default) => format!("{} [default: {default}]", setting.help),
        None => setting.help.to_owned(),
    };
    let arg = Arg::new(setting.key).long(setting.flag()).help(help);
    match setting.value {
        Some(placeholder) => arg.value_name(placeholder),
        None => arg.action(ArgAction::SetTrue),
    }
}

pub fn config_flag() -> Arg {
    Arg::new("config")
        .long("config")
        .value_name("FILE")
        .help("Configuration file [default: latsdb.toml, if there is one]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn only_given_flags_count() {
        let matches = command().get_matches_from(["latsdb", "serve", "--mysql-addr", "127.0.0.1:1", "--witness"]);
        let (_, matches) = matches.subcommand().unwrap();
        let error = Config::from_layers(&[given_flags(matches)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--witness needs --join: a witness has no rows, so that it cannot found a cluster"
        );
    }

    #[test]
    fn later_commands_take_any_arguments() {
        command()
            .try_get_matches_from(["latsdb", "admin", "rebuild", "--to", "x"])
            .unwrap();
        assert!(
            command()
                .try_get_matches_from(["latsdb", "serve", "--no-such-flag"])
                .is_err()
        );
    }
}
