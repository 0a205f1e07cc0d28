//! Commands on the connection and the server.
//!
//! * this file: the connection, logging in;
//! * [`acl`], [`client`], [`tracking`], [`describe`] (COMMAND), [`config`], [`info`], [`watching`]: SLOWLOG, LATENCY, MEMORY, DEBUG.

pub mod acl;
pub mod client;
pub mod config;
pub mod describe;
pub mod info;
pub mod swapdb;
pub mod tracking;
pub mod watching;

use redis_wire::Protocol;
use sql_api::session::SessionAccount;

use crate::acl::Denied;
use crate::call::is_word;
use crate::failure::{Failure, Outcome, not_integer, syntax, wrong_number_of_arguments};
use crate::session::{ReplyMode, SessionCall};
use crate::types::generic::database;

/// The version of Redis whose commands these are.
pub const REDIS_VERSION: &str = "7.2.0";

/// CLUSTER and its kin: clients that know of slots go to one node.
pub fn no_cluster(_: &mut SessionCall) -> Outcome {
    Err(Failure::reply("ERR This instance has cluster support disabled"))
}

pub fn ping(call: &mut SessionCall) -> Outcome {
    let text = match call.args {
        [_] => None,
        [_, text] => Some(*text),
        _ => return Err(wrong_number_of_arguments("ping")),
    };
    match text {
        // Among messages, the answer looks like one.
        text if call.session.only_listens() => {
            call.reply.array(2);
            call.reply.bulk(b"pong");
            call.reply.bulk(text.unwrap_or_default());
        }
        Some(text) => call.reply.bulk(text),
        None => call.reply.simple("PONG"),
    }
    Ok(())
}

pub fn echo(call: &mut SessionCall) -> Outcome {
    call.reply.bulk(call.args[1]);
    Ok(())
}

pub fn quit(call: &mut SessionCall) -> Outcome {
    call.session.ends = true;
    call.reply.ok();
    Ok(())
}

pub fn select(call: &mut SessionCall) -> Outcome {
    call.session.db = database(call.args[1])?;
    call.reply.ok();
    Ok(())
}

pub fn reset(call: &mut SessionCall) -> Outcome {
    let session = &mut *call.session;
    session.forget_transaction();
    session.stop_listening();
    session.stop_tracking();
    session.stop_monitoring();
    (session.reply_mode, session.skips_reply) = (ReplyMode::On, false);
    session.tell_messages(call.reply);
    session.forget_login();
    session.db = 0;
    session.protocol = Protocol::Resp2;
    if let Some(outbox) = session.client.outbox() {
        outbox.set_protocol(Protocol::Resp2);
    }
    session.client.set_name(b"");
    call.reply.protocol = Protocol::Resp2;
    call.reply.simple("RESET");
    Ok(())
}

pub fn time(call: &mut SessionCall) -> Outcome {
    let micros = call.session.keyspace.engine().clock_micros();
    call.reply.array(2);
    call.reply.bulk((micros / 1_000_000).to_string().as_bytes());
    call.reply.bulk((micros % 1_000_000).to_string().as_bytes());
    Ok(())
}

pub fn lastsave(call: &mut SessionCall) -> Outcome {
    // Every answered change is on disk.
    call.reply.integer(call.session.keyspace.now_ms() / 1000);
    Ok(())
}

pub fn role(call: &mut SessionCall) -> Outcome {
    call.reply.array(3);
    call.reply.bulk(b"master");
    call.reply.integer(0);
    call.reply.array(0);
    Ok(())
}

/// How many replicas have all that was answered: a majority has, so all others that it takes for one.
pub fn wait(call: &mut SessionCall) -> Outcome {
    for arg in &call.args[1..] {
        let value = redis_wire::number::parse_i64(arg).ok_or_else(not_integer)?;
        if value < 0 {
            return Err(Failure::reply("ERR timeout is negative"));
        }
    }
    let nodes = call.session.keyspace.engine().participant().nodes().len();
    // Of n nodes with n / 2 + 1 a majority, one of which is asked.
    call.reply.integer((nodes / 2) as i64);
    Ok(())
}

/// How many disks have all that was answered: this one, and those of a majority of the others.
pub fn waitaof(call: &mut SessionCall) -> Outcome {
    let number = |arg: &[u8]| redis_wire::number::parse_i64(arg).ok_or_else(not_integer);
    let (local, replicas) = (number(call.args[1])?, number(call.args[2])?);
    let timeout = number(call.args[3])?;
    if !(0..=1).contains(&local) || replicas < 0 {
        return Err(Failure::reply("ERR value is out of range, must be positive"));
    }
    if timeout < 0 {
        return Err(Failure::reply("ERR timeout is negative"));
    }
    let nodes = call.session.keyspace.engine().participant().nodes().len();
    call.reply.array(2);
    call.reply.integer(1);
    call.reply.integer((nodes / 2) as i64);
    Ok(())
}

// --- logging in ---

pub fn auth(call: &mut SessionCall) -> Outcome {
    let (user, password) = match call.args {
        [_, password] => (None, *password),
        [_, user, password] => (Some(*user), *password),
        _ => return Err(syntax()),
    };
    log_in(call, user, password)?;
    call.reply.ok();
    Ok(())
}

fn log_in(call: &mut SessionCall, user: Option<&[u8]>, password: &[u8]) -> Outcome {
    let denied = || Failure::reply("WRONGPASS invalid username-password pair or user is disabled.");
    let user = user
        .map(|user| std::str::from_utf8(user).map_err(|_| denied()))
        .transpose()?;
    if call.session.surroundings.needs_no_password() {
        match user {
            // As Redis where the default user has no password: any is right.
            Some("default") => return Ok(()),
            None => {
                return Err(Failure::reply(
                    "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is \
                     correct?",
                ));
            }
            Some(_) => {}
        }
    }
    // `default` is whom clients name that name nobody.
    let user = user.filter(|user| *user != "default");
    match call.session.surroundings.log_in(user, password, call.host) {
        Ok(account) => {
            if let SessionAccount::Account { user, .. } = &account {
                call.session.client.set_user(user);
            }
            call.session.set_account(account);
            Ok(())
        }
        Err(_) => {
            let object = call.args[0];
            let named = user.unwrap_or("default");
            let session = &*call.session;
            session.refused(Denied::Login, session.context(), object, named.as_bytes());
            Err(denied())
        }
    }
}

pub fn hello(call: &mut SessionCall) -> Outcome {
    let mut protocol = call.session.protocol;
    let mut options = call.args[1..].iter().copied();
    if let Some(version) = options.next() {
        protocol = match redis_wire::number::parse_i64(version) {
            Some(2) => Protocol::Resp2,
            Some(3) => Protocol::Resp3,
            Some(_) => return Err(Failure::reply("NOPROTO unsupported protocol version")),
            None => return Err(Failure::reply("ERR Protocol version is not an integer or out of range")),
        };
    }
    let (mut name, mut login) = (None, None);
    while let Some(option) = options.next() {
        let unknown = || Failure::naming("ERR Syntax error in HELLO option '{}'", &[option]);
        match option {
            option if is_word(option, "AUTH") => {
                let (Some(user), Some(password)) = (options.next(), options.next()) else {
                    return Err(unknown());
                };
                login = Some((user, password));
            }
            option if is_word(option, "SETNAME") => {
                let value = options.next().ok_or_else(unknown)?;
                client::check_name(value, "Client names")?;
                name = Some(value);
            }
            _ => return Err(unknown()),
        }
    }
    if let Some((user, password)) = login {
        log_in(call, Some(user), password)?;
    }
    if call.session.account.is_none() {
        return Err(Failure::reply(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option \
             can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(name) = name {
        call.session.client.set_name(name);
    }
    call.session.protocol = protocol;
    // In RESP3 others may redirect to the client.
    if protocol == Protocol::Resp3 || call.session.client.outbox().is_some() {
        call.session.client.open_outbox(protocol);
    }
    let reply = &mut *call.reply;
    reply.protocol = protocol;
    reply.map(7);
    reply.bulk(b"server");
    reply.bulk(b"redis");
    reply.bulk(b"version");
    reply.bulk(REDIS_VERSION.as_bytes());
    reply.bulk(b"proto");
    reply.integer(if protocol == Protocol::Resp3 { 3 } else { 2 });
    reply.bulk(b"id");
    reply.integer(call.session.id as i64);
    reply.bulk(b"mode");
    reply.bulk(b"standalone");
    reply.bulk(b"role");
    reply.bulk(b"master");
    reply.bulk(b"modules");
    reply.array(0);
    Ok(())
}
