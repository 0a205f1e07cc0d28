//! CLIENT TRACKING and what belongs to it.

use std::sync::Arc;

use redis_wire::number::parse_i64;

use crate::call::is_word;
use crate::clients::Client;
use crate::failure::{Failure, Outcome, not_integer, syntax};
use crate::session::SessionCall;
use crate::tracking::Mode;

pub fn tracking(call: &mut SessionCall) -> Outcome {
    let is_on = match call.args[2] {
        word if is_word(word, "ON") => Some(true),
        word if is_word(word, "OFF") => Some(false),
        _ => None,
    };
    let mut mode = Mode::default();
    let (mut redirect, mut prefixes) = (None, Vec::new());
    let mut options = call.args[3..].iter().copied();
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "REDIRECT") => {
                let id = options.next().ok_or_else(syntax)?;
                if redirect.is_some() {
                    return Err(Failure::reply(
                        "ERR A client can only redirect to a single other client",
                    ));
                }
                redirect = Some(client(call, id)?);
            }
            option if is_word(option, "BCAST") => mode.broadcasts = true,
            option if is_word(option, "OPTIN") => mode.opt_in = true,
            option if is_word(option, "OPTOUT") => mode.opt_out = true,
            option if is_word(option, "NOLOOP") => mode.no_loop = true,
            option if is_word(option, "PREFIX") => prefixes.push(options.next().ok_or_else(syntax)?),
            _ => return Err(syntax()),
        }
    }
    match is_on {
        None => return Err(syntax()),
        Some(false) => call.session.stop_tracking(),
        Some(true) => begin(call, mode, redirect.as_ref(), prefixes)?,
    }
    call.reply.ok();
    Ok(())
}

fn client(call: &SessionCall, id: &[u8]) -> Outcome<Arc<Client>> {
    let id = parse_i64(id).ok_or_else(not_integer)?;
    let found = u64::try_from(id)
        .ok()
        .and_then(|id| call.session.keyspace.clients.find(id));
    found.ok_or_else(|| Failure::reply("ERR The client ID you want redirect to does not exist"))
}

fn begin(call: &mut SessionCall, mode: Mode, redirect: Option<&Arc<Client>>, mut prefixes: Vec<&[u8]>) -> Outcome {
    let session = &mut *call.session;
    let before = session.tracks.mode;
    if !mode.broadcasts && !prefixes.is_empty() {
        return Err(Failure::reply("ERR PREFIX option requires BCAST mode to be enabled"));
    }
    if before.is_some_and(|before| before.broadcasts != mode.broadcasts) {
        return Err(Failure::reply(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a \
             different mode.",
        ));
    }
    if mode.broadcasts && (mode.opt_in || mode.opt_out) {
        return Err(Failure::reply("ERR OPTIN and OPTOUT are not compatible with BCAST"));
    }
    if mode.opt_in && mode.opt_out {
        return Err(Failure::reply("ERR You can't specify both OPTIN mode and OPTOUT mode"));
    }
    if before.is_some_and(|before| mode.opt_in && before.opt_out || mode.opt_out && before.opt_in) {
        return Err(Failure::reply(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a \
             different mode.",
        ));
    }
    let keyspace = session.keyspace.clone();
    check_prefixes(&keyspace.tracking.prefixes(session.id), &prefixes)?;
    if mode.broadcasts && prefixes.is_empty() {
        prefixes.push(b"");
    }
    session.client.open_outbox(session.protocol);
    keyspace
        .tracking
        .begin(&session.client, mode, redirect, &prefixes)
        .map_err(|_| Failure::reply("ERR the clients of this node have named as many prefixes as it keeps"))?;
    session.tracks.mode = Some(mode);
    let redirect = redirect.map_or(0, |target| target.id);
    session.client.set_tracking(Some((redirect, mode.broadcasts)));
    Ok(())
}

/// No prefix of a client may begin with another one.
fn check_prefixes(known: &[Vec<u8>], given: &[&[u8]]) -> Outcome {
    let overlap = |one: &[u8], other: &[u8]| one.starts_with(other) || other.starts_with(one);
    let refuse = |prefix: &[u8], what: &str, other: &[u8]| {
        let text = format!(
            "ERR Prefix '{{}}' overlaps with {what} prefix '{{}}'. Prefixes for a single client must not overlap."
        );
        Err(Failure::naming(&text, &[prefix, other]))
    };
    for (at, prefix) in given.iter().enumerate() {
        governor::tick()?;
        if let Some(other) = known.iter().find(|other| overlap(other, prefix)) {
            return refuse(prefix, "an existing", other);
        }
        if let Some(other) = given[at + 1..].iter().find(|other| overlap(other, prefix)) {
            return refuse(prefix, "another provided", other);
        }
    }
    Ok(())
}

pub fn caching(call: &mut SessionCall) -> Outcome {
    let mode = call.session.tracks.mode.unwrap_or_default();
    if !mode.opt_in && !mode.opt_out {
        return Err(Failure::reply(
            "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
        ));
    }
    match call.args[2] {
        word if is_word(word, "YES") => {
            if !mode.opt_in {
                return Err(Failure::reply(
                    "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
                ));
            }
        }
        word if is_word(word, "NO") => {
            if !mode.opt_out {
                return Err(Failure::reply(
                    "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
                ));
            }
        }
        _ => return Err(syntax()),
    }
    call.session.tracks.is_told = true;
    call.reply.ok();
    Ok(())
}

/// Whom invalidations go to: 0 for the client itself, -1 where it does not track.
fn redirect(call: &SessionCall) -> i64 {
    call.session
        .client
        .tracking()
        .map_or(-1, |(redirect, ..)| redirect as i64)
}

pub fn getredir(call: &mut SessionCall) -> Outcome {
    call.reply.integer(redirect(call));
    Ok(())
}

pub fn trackinginfo(call: &mut SessionCall) -> Outcome {
    let tracks = &call.session.tracks;
    let mode = tracks.mode.unwrap_or_default();
    let is_broken = call
        .session
        .client
        .tracking()
        .is_some_and(|(_, _, is_broken)| is_broken);
    let flags = [
        (tracks.mode.is_some(), "on"),
        (tracks.mode.is_none(), "off"),
        (mode.broadcasts, "bcast"),
        (mode.opt_in, "optin"),
        (mode.opt_in && tracks.is_told, "caching-yes"),
        (mode.opt_out, "optout"),
        (mode.opt_out && tracks.is_told, "caching-no"),
        (mode.no_loop, "noloop"),
        (is_broken, "broken_redirect"),
    ];
    let flags: Vec<&str> = flags
        .iter()
        .filter(|(is_set, _)| *is_set)
        .map(|(_, name)| *name)
        .collect();
    let prefixes = call.session.keyspace.tracking.prefixes(call.session.id);
    let redirect = redirect(call);
    let reply = &mut *call.reply;
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(redirect);
    reply.bulk(b"prefixes");
    reply.array(prefixes.len());
    prefixes.iter().for_each(|prefix| reply.bulk(prefix));
    Ok(())
}
