//! ACL: the accounts of SQL as Redis would show them. They are changed by SQL alone.

use std::sync::Arc;

use catalog::AccountDef;
use redis_wire::number::parse_i64;
use sql_api::session::SessionAccount;

use crate::acl::{Context, Denied, Rights, needs_no_password, sees_accounts};
use crate::call::is_word;
use crate::command::{Command, Commands};
use crate::failure::{Failure, Outcome, not_integer, wrong_number_of_arguments, wrong_subcommand};
use crate::session::SessionCall;
use crate::types::help;

/// In the order in which Redis names them.
const CATEGORIES: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// Commands that only read, and are in no category that says so.
const READING_SCRIPTS: &str = " -eval_ro -evalsha_ro -fcall_ro";

/// The name that stands for the account of those who name none.
const DEFAULT: &str = "default";
const FIRST_USER: &str = "root";

pub fn whoami(call: &mut SessionCall) -> Outcome {
    let user = call.session.user();
    call.reply.bulk(user.as_bytes());
    Ok(())
}

pub fn help(call: &mut SessionCall) -> Outcome {
    help::answer(call.reply, help::ACL)
}

pub fn cat(call: &mut SessionCall) -> Outcome {
    match call.args[2..] {
        [] => {
            call.reply.array(CATEGORIES.len());
            CATEGORIES.iter().for_each(|name| call.reply.bulk(name.as_bytes()));
            Ok(())
        }
        [category] => {
            let found = CATEGORIES.iter().find(|known| is_word(category, known));
            let Some(category) = found else {
                return Err(Failure::naming("ERR Unknown category '{}'", &[category]));
            };
            let names = names_of(&format!("@{category}"));
            call.reply.array(names.len());
            names.iter().for_each(|name| call.reply.bulk(name.as_bytes()));
            Ok(())
        }
        _ => Err(wrong_subcommand("ACL", call.args[1])),
    }
}

/// The commands and subcommands of a category.
fn names_of(category: &str) -> Vec<&'static str> {
    let is_in = |command: &&Command| command.fact.acl_categories.iter().any(|known| known == category);
    let all = Commands::get().all().iter();
    all.flat_map(|command| std::iter::once(command).chain(&command.subcommands))
        .filter(is_in)
        .map(Command::name)
        .collect()
}

pub fn genpass(call: &mut SessionCall) -> Outcome {
    let bits = match call.args[2..] {
        [] => 256,
        [bits] => match parse_i64(bits).ok_or_else(not_integer)? {
            bits @ 1..=4096 => bits as usize,
            _ => {
                return Err(Failure::reply(
                    "ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096",
                ));
            }
        },
        _ => return Err(wrong_subcommand("ACL", call.args[1])),
    };
    // A digit for four bits.
    let digits = bits.div_ceil(4);
    let mut bytes = vec![0; digits.div_ceil(2)];
    call.session.keyspace.engine().random_bytes(&mut bytes);
    let mut password: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    password.truncate(digits);
    call.reply.bulk(password.as_bytes());
    Ok(())
}

/// SETUSER and its kin: accounts are SQL's.
pub fn by_sql(call: &mut SessionCall) -> Outcome {
    let name = String::from_utf8_lossy(call.args[1]).to_ascii_uppercase();
    let text = format!(
        "ERR ACL {name} is not there: accounts are those of SQL, and are changed by it (CREATE USER, ALTER USER, GRANT, REVOKE, DROP USER)"
    );
    Err(Failure::Reply(text.into()))
}

// --- accounts ---

/// The accounts that the client may see, and what they are called here.
fn visible(call: &SessionCall) -> Vec<(String, Arc<AccountDef>)> {
    let engine = call.session.keyspace.engine();
    let catalog = engine.catalog();
    let Some(mine) = &call.session.account else {
        return Vec::new();
    };
    let sees_all = sees_accounts(engine, mine);
    let is_visible = |account: &AccountDef| sees_all || is_of(mine, account);
    let accounts: Vec<&Arc<AccountDef>> = catalog.accounts().collect();
    let mut shown = Vec::new();
    for &account in accounts.iter().filter(|account| is_visible(account)) {
        // Where several hosts have an account of the name, the name alone means none of them.
        let namesakes = accounts.iter().filter(|other| other.user == account.user).count();
        let name = match namesakes > 1 || account.user.is_empty() {
            true => format!("{}@{}", account.user, account.host),
            false => account.user.clone(),
        };
        shown.push((name, account.clone()));
    }
    shown
}

fn is_of(mine: &SessionAccount, account: &AccountDef) -> bool {
    match mine {
        SessionAccount::Server => false,
        SessionAccount::Account { user, host } => *user == account.user && *host == account.host,
    }
}

/// The account that a name means: as it is shown, or the client's own, or for `default` the one of those who name none.
pub(super) fn named(call: &SessionCall, name: &[u8]) -> Option<Arc<AccountDef>> {
    let visible = visible(call);
    let find = |name: &[u8]| visible.iter().find(|(shown, _)| shown.as_bytes() == name);
    let own = || {
        let mine = call.session.account.as_ref()?;
        let is_own = |account: &AccountDef| is_of(mine, account) && account.user.as_bytes() == name;
        visible.iter().find(|(_, account)| is_own(account))
    };
    let default = || match name == DEFAULT.as_bytes() {
        true => visible.iter().find(|(_, account)| account.user == FIRST_USER),
        false => None,
    };
    let found = find(name).or_else(own).or_else(default);
    found.map(|(_, account)| account.clone())
}

pub fn users(call: &mut SessionCall) -> Outcome {
    let accounts = visible(call);
    call.reply.array(accounts.len());
    for (name, _) in accounts {
        call.reply.bulk(name.as_bytes());
    }
    Ok(())
}

/// An account as Redis describes one. Passwords are never shown.
struct Described {
    flags: Vec<&'static str>,
    commands: String,
    keys: &'static str,
}

fn describe(call: &SessionCall, account: &AccountDef) -> Described {
    let mut flags = vec![if account.locked { "off" } else { "on" }];
    if needs_no_password(account) {
        flags.push("nopass");
    }
    flags.push("sanitize-payload");
    let rights = rights_of(call, account);
    let mut commands = "+@all".to_owned();
    if !rights.writes {
        commands.push_str(" -@write");
    }
    if !rights.reads {
        commands.push_str(" -@read");
        commands.push_str(READING_SCRIPTS);
    }
    if !rights.watches {
        commands.push_str(" -monitor -acl|log");
    }
    Described {
        flags,
        commands,
        keys: match (rights.reads, rights.writes) {
            (true, true) => "~*",
            (true, false) => "%R~*",
            (false, _) => "",
        },
    }
}

/// In the database that the client has selected.
fn rights_of(call: &SessionCall, account: &AccountDef) -> Rights {
    let account = SessionAccount::Account {
        user: account.user.clone(),
        host: account.host.clone(),
    };
    Rights::of(call.session.keyspace.engine(), &account, call.session.db)
}

pub fn list(call: &mut SessionCall) -> Outcome {
    let accounts = visible(call);
    call.reply.array(accounts.len());
    for (name, account) in accounts {
        governor::tick()?;
        let described = describe(call, &account);
        let mut line = format!("user {name} {}", described.flags.join(" "));
        for part in [described.keys, "&*", &described.commands] {
            if !part.is_empty() {
                line.push(' ');
                line.push_str(part);
            }
        }
        call.reply.bulk(line.as_bytes());
    }
    Ok(())
}

pub fn getuser(call: &mut SessionCall) -> Outcome {
    let Some(account) = named(call, call.args[2]) else {
        call.reply.null();
        return Ok(());
    };
    let described = describe(call, &account);
    let reply = &mut *call.reply;
    reply.map(6);
    reply.bulk(b"flags");
    reply.set(described.flags.len());
    described.flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(0);
    reply.bulk(b"commands");
    reply.bulk(described.commands.as_bytes());
    reply.bulk(b"keys");
    reply.bulk(described.keys.as_bytes());
    reply.bulk(b"channels");
    reply.bulk(b"&*");
    reply.bulk(b"selectors");
    reply.array(0);
    Ok(())
}

pub fn dryrun(call: &mut SessionCall) -> Outcome {
    let (user, args) = (call.args[2], &call.args[3..]);
    let Some(account) = named(call, user) else {
        return Err(Failure::naming("ERR User '{}' not found", &[user]));
    };
    let command = Commands::get().find(args[0]).and_then(|command| command.meant_by(args));
    let Some(command) = command else {
        return Err(Failure::naming("ERR Command '{}' not found", &[args[0]]));
    };
    if !command.takes(args.len()) {
        return Err(wrong_number_of_arguments(command.name()));
    }
    match rights_of(call, &account).allow(command) {
        true => call.reply.ok(),
        false => call.reply.bulk(
            format!(
                "User {} has no permissions to run the '{}' command",
                String::from_utf8_lossy(user),
                command.name()
            )
            .as_bytes(),
        ),
    }
    Ok(())
}

// --- what was refused ---

pub fn log(call: &mut SessionCall) -> Outcome {
    let most = match call.args[2..] {
        [] => 10,
        [word] if is_word(word, "RESET") => {
            call.session.keyspace.refusals.clear();
            call.reply.ok();
            return Ok(());
        }
        [count] => parse_i64(count).ok_or_else(not_integer)?.max(0),
        _ => return Err(wrong_subcommand("ACL", call.args[1])),
    };
    let keyspace = call.session.keyspace.clone();
    let entries = keyspace.refusals.newest(usize::try_from(most).unwrap_or(usize::MAX));
    let now_ms = keyspace.now_ms();
    let reply = &mut *call.reply;
    reply.array(entries.len());
    for entry in entries {
        reply.map(10);
        reply.bulk(b"count");
        reply.integer(entry.count as i64);
        reply.bulk(b"reason");
        reply.bulk(match entry.denied {
            Denied::Login => b"auth",
            Denied::Command => b"command",
        });
        reply.bulk(b"context");
        reply.bulk(match entry.context {
            Context::TopLevel => b"toplevel",
            Context::Multi => b"multi",
            Context::Script => b"lua",
        });
        reply.bulk(b"object");
        reply.bulk(&entry.object);
        reply.bulk(b"username");
        reply.bulk(&entry.user);
        reply.bulk(b"age-seconds");
        reply.double((now_ms - entry.updated_ms).max(0) as f64 / 1000.0);
        reply.bulk(b"client-info");
        reply.bulk(entry.client.as_bytes());
        reply.bulk(b"entry-id");
        reply.integer(entry.id as i64);
        reply.bulk(b"timestamp-created");
        reply.integer(entry.created_ms);
        reply.bulk(b"timestamp-last-updated");
        reply.integer(entry.updated_ms);
    }
    Ok(())
}
