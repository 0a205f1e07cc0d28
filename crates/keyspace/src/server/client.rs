//! CLIENT.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::acl;
use crate::call::is_word;
use crate::clients::{Client, Unblock};
use crate::failure::{Failure, Outcome, not_integer, syntax};
use crate::session::{ReplyMode, SessionCall};

/// The longest name. Logs keep it beside what its client did.
const NAME_MAX: usize = 1024;

pub(super) fn check_name(name: &[u8], what: &str) -> Outcome {
    if name.len() > NAME_MAX {
        let text = format!("ERR {what} are {NAME_MAX} bytes long at most.");
        return Err(Failure::Reply(text.into()));
    }
    match name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        true => Ok(()),
        false => Err(Failure::Reply(
            format!("ERR {what} cannot contain spaces, newlines or special characters.").into(),
        )),
    }
}

pub fn setname(call: &mut SessionCall) -> Outcome {
    check_name(call.args[2], "Client names")?;
    call.session.client.set_name(call.args[2]);
    call.reply.ok();
    Ok(())
}

pub fn getname(call: &mut SessionCall) -> Outcome {
    let name = call.session.client.name();
    match name.is_empty() {
        true => call.reply.null(),
        false => call.reply.bulk(&name),
    }
    Ok(())
}

pub fn setinfo(call: &mut SessionCall) -> Outcome {
    let (option, value) = (call.args[2], call.args[3]);
    let is_name = match option {
        option if is_word(option, "LIB-NAME") => true,
        option if is_word(option, "LIB-VER") => false,
        _ => {
            return Err(Failure::naming("ERR Unrecognized option '{}'", &[option]));
        }
    };
    let bad = |_| {
        let text = "ERR {} cannot contain spaces, newlines or special characters.";
        Failure::naming(text, &[option])
    };
    check_name(value, "Names of libraries").map_err(bad)?;
    call.session
        .client
        .set_library(is_name.then_some(value), (!is_name).then_some(value));
    call.reply.ok();
    Ok(())
}

pub fn id(call: &mut SessionCall) -> Outcome {
    call.reply.integer(call.session.id as i64);
    Ok(())
}

/// NO-EVICT and NO-TOUCH: nobody is evicted here, and keys have no age.
pub fn flag(call: &mut SessionCall) -> Outcome {
    match call.args[2] {
        flag if is_word(flag, "ON") || is_word(flag, "OFF") => call.reply.ok(),
        _ => return Err(syntax()),
    }
    Ok(())
}

pub fn info(call: &mut SessionCall) -> Outcome {
    let line = call
        .session
        .client
        .line(call.session.keyspace.now_ms(), len_of(call.args));
    call.reply.verbatim("txt", format!("{line}\n").as_bytes());
    Ok(())
}

/// Bytes of a request.
fn len_of(args: &[&[u8]]) -> usize {
    let header = |number: usize| format!("*{number}\r\n").len();
    let len = |arg: &&[u8]| header(arg.len()) + arg.len() + 2;
    header(args.len()) + args.iter().map(len).sum::<usize>()
}

pub fn list(call: &mut SessionCall) -> Outcome {
    let clients = call.session.keyspace.clients.all();
    let is_shown = |client: &&Arc<Client>| call.session.reaches(client, |rights| rights.watches);
    let mut wanted: Vec<_> = clients.iter().filter(is_shown).collect();
    match call.args[2..] {
        [] => {}
        [option, kind] if is_word(option, "TYPE") => {
            let listens = is_type(kind)?;
            wanted.retain(|client| listens == Some(client.listens()));
        }
        [option, ref ids @ ..] if is_word(option, "ID") && !ids.is_empty() => {
            let mut named = BTreeSet::new();
            for id in ids {
                governor::tick()?;
                let id = redis_wire::number::parse_u64(id);
                named.insert(id.ok_or_else(|| Failure::reply("ERR Invalid client ID"))?);
            }
            wanted.retain(|client| named.contains(&client.id));
        }
        _ => return Err(syntax()),
    }
    let now_ms = call.session.keyspace.now_ms();
    let line = |client: &&Arc<Client>| {
        let is_own = client.id == call.session.id;
        client.line(now_ms, if is_own { len_of(call.args) } else { 0 }) + "\n"
    };
    let lines: String = wanted.iter().map(line).collect();
    call.reply.verbatim("txt", lines.as_bytes());
    Ok(())
}

/// Whether clients of a type listen to channels; `None`: there are none of it.
fn is_type(kind: &[u8]) -> Outcome<Option<bool>> {
    match kind {
        kind if is_word(kind, "NORMAL") => Ok(Some(false)),
        kind if is_word(kind, "PUBSUB") => Ok(Some(true)),
        kind if ["MASTER", "REPLICA", "SLAVE"].iter().any(|known| is_word(kind, known)) => Ok(None),
        kind => Err(Failure::naming("ERR Unknown client type '{}'", &[kind])),
    }
}

pub fn kill(call: &mut SessionCall) -> Outcome {
    let mut clients = call.session.keyspace.clients.all();
    clients.retain(|client| call.session.reaches(client, |rights| rights.administers));
    // The old form: an address alone.
    if let [_, _, address] = *call.args {
        let found = clients.iter().find(|client| client.address.as_bytes() == address);
        let found = found.ok_or_else(|| Failure::reply("ERR No such client"))?;
        end(call, found.id);
        call.reply.ok();
        return Ok(());
    }
    let mut wanted = clients;
    let mut spares_itself = true;
    let mut filters = call.args[2..].chunks_exact(2);
    for filter in &mut filters {
        let value = filter[1];
        match filter[0] {
            name if is_word(name, "ID") => {
                let id = redis_wire::number::parse_u64(value).filter(|&id| id > 0);
                let id = id.ok_or_else(|| Failure::reply("ERR client-id should be greater than 0"))?;
                wanted.retain(|client| client.id == id);
            }
            name if is_word(name, "ADDR") => wanted.retain(|client| client.address.as_bytes() == value),
            name if is_word(name, "LADDR") => wanted.retain(|client| client.local_address.as_bytes() == value),
            name if is_word(name, "USER") => {
                if acl::named(call, value).is_none() {
                    return Err(Failure::naming("ERR No such user '{}'", &[value]));
                }
                wanted.retain(|client| client.user().as_bytes() == value);
            }
            name if is_word(name, "TYPE") => {
                let listens = is_type(value)?;
                wanted.retain(|client| listens == Some(client.listens()));
            }
            name if is_word(name, "SKIPME") => {
                spares_itself = match value {
                    value if is_word(value, "YES") => true,
                    value if is_word(value, "NO") => false,
                    _ => return Err(syntax()),
                };
            }
            _ => return Err(syntax()),
        }
    }
    if !filters.remainder().is_empty() {
        return Err(syntax());
    }
    wanted.retain(|client| !spares_itself || client.id != call.session.id);
    for client in &wanted {
        end(call, client.id);
    }
    call.reply.integer(wanted.len() as i64);
    Ok(())
}

fn end(call: &mut SessionCall, id: u64) {
    match id == call.session.id {
        true => call.session.ends = true,
        false => {
            call.session.surroundings.kill(id);
        }
    }
}

pub fn unblock(call: &mut SessionCall) -> Outcome {
    let how = match call.args.get(3) {
        None => Unblock::AsAfterTimeout,
        Some(how) if is_word(how, "TIMEOUT") => Unblock::AsAfterTimeout,
        Some(how) if is_word(how, "ERROR") => Unblock::WithError,
        Some(_) => return Err(Failure::reply("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
    };
    let id = redis_wire::number::parse_i64(call.args[2]).ok_or_else(not_integer)?;
    let found = u64::try_from(id)
        .ok()
        .and_then(|id| call.session.keyspace.clients.find(id))
        .filter(|client| call.session.reaches(client, |rights| rights.administers));
    let ended = found.is_some_and(|client| client.unblock(how));
    call.reply.integer(i64::from(ended));
    Ok(())
}

pub fn pause(call: &mut SessionCall) -> Outcome {
    let all = match call.args.get(3) {
        None => true,
        Some(what) if is_word(what, "ALL") => true,
        Some(what) if is_word(what, "WRITE") => false,
        Some(_) => return Err(syntax()),
    };
    let time = redis_wire::number::parse_i64(call.args[2]);
    let time = time.ok_or_else(|| Failure::reply("ERR timeout is not an integer or out of range"))?;
    if time < 0 {
        return Err(Failure::reply("ERR timeout is negative"));
    }
    let keyspace = &call.session.keyspace;
    keyspace.clients.pause(keyspace.now_ms().saturating_add(time), all);
    call.reply.ok();
    Ok(())
}

pub fn unpause(call: &mut SessionCall) -> Outcome {
    call.session.keyspace.clients.unpause();
    call.reply.ok();
    Ok(())
}

pub fn reply(call: &mut SessionCall) -> Outcome {
    match call.args[2] {
        how if is_word(how, "ON") => {
            call.session.reply_mode = ReplyMode::On;
            call.session.skips_reply = false;
            call.reply.ok();
        }
        how if is_word(how, "OFF") => call.session.reply_mode = ReplyMode::Off,
        how if is_word(how, "SKIP") => {
            if call.session.reply_mode == ReplyMode::On {
                call.session.reply_mode = ReplyMode::SkipNext;
            }
        }
        _ => return Err(syntax()),
    }
    Ok(())
}
