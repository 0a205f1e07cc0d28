//! CLIENT.

use redis_wire::Protocol;
use sql_api::session::SessionAccount;

use crate::call::is_word;
use crate::failure::{Failure, Outcome, syntax};
use crate::session::SessionCall;

pub(super) fn check_name(name: &[u8], what: &str) -> Outcome {
    match name.iter().all(|byte| (b'!'..=b'~').contains(byte)) {
        true => Ok(()),
        false => Err(Failure::Reply(
            format!("ERR {what} cannot contain spaces, newlines or special characters.").into(),
        )),
    }
}

pub fn setname(call: &mut SessionCall) -> Outcome {
    check_name(call.args[2], "Client names")?;
    call.session.name = call.args[2].to_vec();
    call.reply.ok();
    Ok(())
}

pub fn getname(call: &mut SessionCall) -> Outcome {
    match call.session.name.is_empty() {
        true => call.reply.null(),
        false => call.reply.bulk(&call.session.name),
    }
    Ok(())
}

pub fn setinfo(call: &mut SessionCall) -> Outcome {
    let (option, value) = (call.args[2], call.args[3]);
    let shown = String::from_utf8_lossy(option).into_owned();
    let target = match option {
        option if is_word(option, "LIB-NAME") => &mut call.session.library.0,
        option if is_word(option, "LIB-VER") => &mut call.session.library.1,
        _ => return Err(Failure::Reply(format!("ERR Unrecognized option '{shown}'").into())),
    };
    check_name(value, &shown)?;
    *target = value.to_vec();
    call.reply.ok();
    Ok(())
}

pub fn id(call: &mut SessionCall) -> Outcome {
    call.reply.integer(call.session.id as i64);
    Ok(())
}

pub fn flag(call: &mut SessionCall) -> Outcome {
    match call.args[2] {
        flag if is_word(flag, "ON") || is_word(flag, "OFF") => call.reply.ok(),
        _ => return Err(syntax()),
    }
    Ok(())
}

pub fn info(call: &mut SessionCall) -> Outcome {
    let session = &*call.session;
    let user = match &session.account {
        Some(SessionAccount::Account { user, .. }) => user.as_str(),
        Some(SessionAccount::Server) | None => "default",
    };
    let line = format!(
        "id={} addr={} name={} db={} user={} resp={} lib-name={} lib-ver={}\n",
        session.id,
        session.surroundings.address(),
        String::from_utf8_lossy(&session.name),
        session.db,
        user,
        if session.protocol == Protocol::Resp3 { 3 } else { 2 },
        String::from_utf8_lossy(&session.library.0),
        String::from_utf8_lossy(&session.library.1),
    );
    call.reply.verbatim("txt", line.as_bytes());
    Ok(())
}

pub fn list(call: &mut SessionCall) -> Outcome {
    let lines = call.session.surroundings.clients().join("\n");
    call.reply.verbatim("txt", format!("{lines}\n").as_bytes());
    Ok(())
}

pub fn kill(call: &mut SessionCall) -> Outcome {
    let [_, _, filter, value] = call.args else {
        return Err(syntax());
    };
    if !is_word(filter, "ID") {
        return Err(Failure::reply("ERR the only filter of CLIENT KILL here is ID"));
    }
    let id = redis_wire::number::parse_u64(value);
    let id = id.ok_or_else(|| Failure::reply("ERR client-id should be greater than 0"))?;
    let killed = call.session.surroundings.kill(id);
    call.reply.integer(i64::from(killed));
    Ok(())
}
