//! FUNCTION and FCALL.

use std::sync::Arc;

use redis_wire::Protocol;
use redis_wire::number::parse_i64;

use super::eval::{May, not_busy, push_strings, write_help};
use super::libraries::{self, Function, Library, Others, all, metadata_of, run_code};
use super::machine::{Kind, Machine};
use super::run::{Runner, limits, run};
use super::running::Runs;
use super::{dump, libraries::is_name};
use crate::call::is_word;
use crate::failure::{Failure, Outcome};
use crate::glob::Glob;
use crate::session::SessionCall;
use crate::work::Work;

pub fn fcall(call: &mut SessionCall, work: &mut Work<'_>) -> Outcome {
    call_function(call, work, May::Write)
}

pub fn fcall_ro(call: &mut SessionCall, work: &mut Work<'_>) -> Outcome {
    call_function(call, work, May::Read)
}

fn call_function(call: &mut SessionCall, work: &mut Work<'_>, may: May) -> Outcome {
    let name = call.args[1];
    let keyspace = call.session.keyspace.clone();
    let listed = keyspace.scripts.running.list(Runs::Function, name, call.args);
    let mut machine = Machine::take(Kind::Functions);
    machine.load_libraries(work, || limits(call.session, Arc::default()))?;
    let Some(flags) = machine.function(name) else {
        machine.give_back();
        return Err(Failure::reply("ERR Function not found"));
    };
    let keys = parse_i64(call.args[2]).ok_or_else(|| Failure::reply("ERR Bad number of keys provided"));
    let keys = keys.and_then(|keys| match usize::try_from(keys) {
        Err(_) => Err(Failure::reply("ERR Number of keys can't be negative")),
        Ok(keys) if keys > call.args.len() - 3 => Err(Failure::reply(
            "ERR Number of keys can't be greater than number of args",
        )),
        Ok(_) if may == May::Read && !flags.no_writes => Err(Failure::reply(
            "ERR Can not execute a script with write flag using *_ro command.",
        )),
        Ok(keys) => Ok(keys),
    });
    let keys = match keys {
        Ok(keys) => keys,
        Err(failure) => {
            machine.give_back();
            return Err(failure);
        }
    };
    machine.begin(limits(call.session, listed.running.killed.clone()));
    machine.push_function(name);
    let (keys, args) = call.args[3..].split_at(keys);
    let mut frame = machine.frame();
    push_strings(&mut frame, keys);
    push_strings(&mut frame, args);
    let mut runner = Runner {
        only_reads: may == May::Read || flags.no_writes,
        session: call.session,
        work,
        host: call.host,
        protocol: Protocol::Resp2,
        ends: None,
    };
    run(machine, 2, name, &mut runner, call.reply)
}

/// Runs libraries aside, and tells what each has registered.
fn inspect(call: &SessionCall, libraries: &[Library]) -> Outcome<Vec<Vec<(Vec<u8>, Function)>>> {
    let mut inspected = Vec::with_capacity(libraries.len());
    for library in libraries {
        let mut machine = Machine::new(Kind::Functions);
        // The callbacks stay in the machine, which is nobody else's.
        inspected.push(run_code(
            &mut machine,
            &library.code,
            limits(call.session, Arc::default()),
        )?);
    }
    Ok(inspected)
}

fn current(call: &SessionCall) -> Outcome<Vec<Library>> {
    let keyspace = call.session.keyspace.clone();
    let work = Work::begin(&keyspace, call.session.durability, call.host);
    work.catch_up()?;
    all(&work)
}

/// Whether all libraries together have each function once.
fn check_names(call: &SessionCall, libraries: &[Library]) -> Outcome {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for functions in inspect(call, libraries)? {
        names.extend(functions.into_iter().map(|(name, _)| name.to_ascii_lowercase()));
    }
    names.sort_unstable();
    match names.windows(2).find(|two| two[0] == two[1]) {
        None => Ok(()),
        Some(two) => Err(Failure::naming("ERR Function {} already exists", &[&two[0]])),
    }
}

pub fn load(call: &mut SessionCall) -> Outcome {
    let (options, code) = call.args[2..].split_at(call.args.len() - 3);
    let mut replaces = false;
    for option in options {
        match is_word(option, "REPLACE") {
            true => replaces = true,
            false => {
                return Err(Failure::naming("ERR Unknown option given: {}", &[option]));
            }
        }
    }
    let code = code[0];
    let name = metadata_of(code)?.name;
    let library = Library {
        name: name.clone(),
        code: code.to_vec(),
    };
    let mut libraries = current(call)?;
    let is_there = libraries.iter().any(|other| other.name == name);
    if is_there && !replaces {
        return Err(Failure::Reply(format!("ERR Library '{name}' already exists").into()));
    }
    inspect(call, std::slice::from_ref(&library))?;
    libraries.retain(|other| other.name != name);
    libraries.push(library.clone());
    check_names(call, &libraries)?;
    libraries::store(&call.session.keyspace, &[library], Others::Stay, call.host)?;
    call.reply.bulk(name.as_bytes());
    Ok(())
}

pub fn delete(call: &mut SessionCall) -> Outcome {
    let name = call.args[2];
    let libraries = current(call)?;
    let found = libraries.iter().find(|library| library.name.as_bytes() == name);
    let Some(library) = found.filter(|_| is_name(name)) else {
        return Err(Failure::reply("ERR Library not found"));
    };
    libraries::delete(&call.session.keyspace, &library.name, call.host)?;
    call.reply.ok();
    Ok(())
}

/// To who gives a subcommand more than it takes.
fn wrong_form(args: &[&[u8]]) -> Failure {
    let text = "ERR unknown subcommand or wrong number of arguments for '{}'. Try FUNCTION HELP.";
    Failure::naming(text, &[args[1]])
}

pub fn flush(call: &mut SessionCall) -> Outcome {
    match call.args {
        [_, _] => {}
        [_, _, how] if is_word(how, "SYNC") || is_word(how, "ASYNC") => {}
        [_, _, _] => return Err(Failure::reply("ERR FUNCTION FLUSH only supports SYNC|ASYNC option")),
        _ => return Err(wrong_form(call.args)),
    }
    if !current(call)?.is_empty() {
        libraries::store(&call.session.keyspace, &[], Others::Go, call.host)?;
    }
    call.reply.ok();
    Ok(())
}

pub fn list(call: &mut SessionCall) -> Outcome {
    let (mut pattern, mut with_code) = (None, false);
    let mut options = call.args[2..].iter();
    while let Some(option) = options.next() {
        if !with_code && is_word(option, "WITHCODE") {
            with_code = true;
        } else if pattern.is_none() && is_word(option, "LIBRARYNAME") {
            let name = options.next();
            pattern = Some(*name.ok_or_else(|| Failure::reply("ERR library name argument was not given"))?);
        } else {
            return Err(Failure::naming("ERR Unknown argument {}", &[option]));
        }
    }
    let mut libraries = current(call)?;
    if let Some(glob) = pattern.map(Glob::new) {
        libraries.retain(|library| glob.takes(library.name.as_bytes()));
    }
    let functions = inspect(call, &libraries)?;
    let reply = &mut *call.reply;
    reply.array(libraries.len());
    for (library, functions) in libraries.iter().zip(functions) {
        reply.map(if with_code { 4 } else { 3 });
        reply.bulk(b"library_name");
        reply.bulk(library.name.as_bytes());
        reply.bulk(b"engine");
        reply.bulk(b"LUA");
        reply.bulk(b"functions");
        reply.array(functions.len());
        for (name, function) in functions {
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(&name);
            reply.bulk(b"description");
            match &function.description {
                Some(text) => reply.bulk(text),
                None => reply.null(),
            }
            reply.bulk(b"flags");
            reply.set(function.flags.names().count());
            function.flags.names().for_each(|name| reply.simple(name));
        }
        if with_code {
            reply.bulk(b"library_code");
            reply.bulk(&library.code);
        }
    }
    Ok(())
}

pub fn stats(call: &mut SessionCall) -> Outcome {
    let libraries = current(call)?;
    let functions = inspect(call, &libraries)?;
    let running = call.session.keyspace.scripts.running.oldest(Runs::Function);
    let reply = &mut *call.reply;
    reply.map(2);
    reply.bulk(b"running_script");
    match running {
        None => reply.null(),
        Some(running) => {
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(&running.name);
            reply.bulk(b"command");
            reply.array(running.command.len());
            running.command.iter().for_each(|word| reply.bulk(word));
            reply.bulk(b"duration_ms");
            reply.integer(running.since.elapsed().as_millis() as i64);
        }
    }
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.integer(libraries.len() as i64);
    reply.bulk(b"functions_count");
    reply.integer(functions.iter().map(Vec::len).sum::<usize>() as i64);
    Ok(())
}

pub fn kill(call: &mut SessionCall) -> Outcome {
    match call.session.keyspace.scripts.running.kill(Runs::Function) {
        true => call.reply.ok(),
        false => return Err(not_busy()),
    }
    Ok(())
}

pub fn dump(call: &mut SessionCall) -> Outcome {
    let libraries = current(call)?;
    let codes: Vec<&[u8]> = libraries.iter().map(|library| library.code.as_slice()).collect();
    call.reply.bulk(&dump::write(&codes)?);
    Ok(())
}

pub fn restore(call: &mut SessionCall) -> Outcome {
    let (others, replaces) = match call.args {
        [_, _, _] => (Others::Stay, false),
        [_, _, _, how] if is_word(how, "APPEND") => (Others::Stay, false),
        [_, _, _, how] if is_word(how, "REPLACE") => (Others::Stay, true),
        [_, _, _, how] if is_word(how, "FLUSH") => (Others::Go, false),
        [_, _, _, _] => {
            return Err(Failure::reply(
                "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.",
            ));
        }
        _ => {
            return Err(wrong_form(call.args));
        }
    };
    let mut libraries = Vec::new();
    for code in dump::read(call.args[2])? {
        libraries.push(Library {
            name: metadata_of(&code)?.name,
            code,
        });
    }
    let mut together = match others {
        Others::Stay => current(call)?,
        Others::Go => Vec::new(),
    };
    for library in &libraries {
        if !replaces && let Some(other) = together.iter().find(|other| other.name == library.name) {
            return Err(Failure::Reply(
                format!("ERR Library {} already exists", other.name).into(),
            ));
        }
        together.retain(|other| other.name != library.name);
        together.push(library.clone());
    }
    check_names(call, &together)?;
    libraries::store(&call.session.keyspace, &libraries, others, call.host)?;
    call.reply.ok();
    Ok(())
}

const HELP: &[&str] = &[
    "FUNCTION <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "LOAD [REPLACE] <FUNCTION CODE>",
    "    Create a new library with the given library name and code.",
    "DELETE <LIBRARY NAME>",
    "    Delete the given library.",
    "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
    "    Return general information on all the libraries:",
    "    * Library name",
    "    * The engine used to run the Library",
    "    * Library description",
    "    * Functions list",
    "    * Library code (if WITHCODE is given)",
    "    It also possible to get only function that matches a pattern using LIBRARYNAME argument.",
    "STATS",
    "    Return information about the current function running:",
    "    * Function name",
    "    * Command used to run the function",
    "    * Duration in MS that the function is running",
    "    If no function is running, return nil",
    "    In addition, returns a list of available engines.",
    "KILL",
    "    Kill the current running function.",
    "FLUSH [ASYNC|SYNC]",
    "    Delete all the libraries.",
    "    When called without the optional mode argument, the behavior is determined by the",
    "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
    "    * ASYNC: Asynchronously flush the libraries.",
    "    * SYNC: Synchronously flush the libraries.",
    "DUMP",
    "    Return a serialized payload representing the current libraries, can be restored using FUNCTION RESTORE command",
    "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
    "    Restore the libraries represented by the given payload, it is possible to give a restore policy to",
    "    control how to handle existing libraries (default APPEND):",
    "    * FLUSH: delete all existing libraries.",
    "    * APPEND: appends the restored libraries to the existing libraries. On collision, abort.",
    "    * REPLACE: appends the restored libraries to the existing libraries, On collision, replace the old",
    "      libraries with the new libraries (notice that even on this option there is a chance of failure",
    "      in case of functions name collision with another library).",
    "HELP",
    "    Prints this help.",
];

pub fn help(call: &mut SessionCall) -> Outcome {
    write_help(call, HELP);
    Ok(())
}
