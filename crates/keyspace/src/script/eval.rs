//! EVAL, EVALSHA, SCRIPT.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use redis_wire::Protocol;
use redis_wire::number::parse_i64;

use super::cache::{Script, lower, sha_of};
use super::machine::{Kind, Machine};
use super::run::{Runner, limits, run, why};
use super::running::Runs;
use crate::call::is_word;
use crate::failure::{Failure, Outcome, not_integer};
use crate::session::SessionCall;
use crate::work::Work;

/// Whether a script may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum May {
    Write,
    Read,
}

pub fn eval(call: &mut SessionCall, work: &mut Work<'_>) -> Outcome {
    eval_source(call, work, May::Write)
}

pub fn eval_ro(call: &mut SessionCall, work: &mut Work<'_>) -> Outcome {
    eval_source(call, work, May::Read)
}

pub fn evalsha(call: &mut SessionCall, work: &mut Work<'_>) -> Outcome {
    eval_known(call, work, May::Write)
}

pub fn evalsha_ro(call: &mut SessionCall, work: &mut Work<'_>) -> Outcome {
    eval_known(call, work, May::Read)
}

fn eval_source(call: &mut SessionCall, work: &mut Work<'_>, may: May) -> Outcome {
    let keys = number_of_keys(call.args)?;
    let sha = sha_of(call.args[1]);
    let known = call.session.keyspace.scripts.cache.lock().find(&sha);
    let script = match known {
        Some(script) => script,
        None => Arc::new(Script::new(sha, call.args[1])?),
    };
    run_script(call, work, may, &script, keys)
}

fn eval_known(call: &mut SessionCall, work: &mut Work<'_>, may: May) -> Outcome {
    let sha = lower(call.args[1]);
    let script = sha.and_then(|sha| call.session.keyspace.scripts.cache.lock().find(&sha));
    let script = script.ok_or_else(|| Failure::reply("NOSCRIPT No matching script. Please use EVAL."))?;
    let keys = number_of_keys(call.args)?;
    run_script(call, work, may, &script, keys)
}

fn number_of_keys(args: &[&[u8]]) -> Outcome<usize> {
    let keys = parse_i64(args[2]).ok_or_else(not_integer)?;
    match usize::try_from(keys) {
        Err(_) => Err(Failure::reply("ERR Number of keys can't be negative")),
        Ok(keys) if keys > args.len() - 3 => Err(Failure::reply(
            "ERR Number of keys can't be greater than number of args",
        )),
        Ok(keys) => Ok(keys),
    }
}

/// Has a machine compile a script, unless it has before. The function is on its stack then, and others can run it by its SHA-1.
fn compile(call: &SessionCall, script: &Arc<Script>, killed: Arc<AtomicBool>) -> Outcome<Machine> {
    let cache = &call.session.keyspace.scripts.cache;
    let (generation, is_known) = {
        let cache = cache.lock();
        (cache.generation, cache.contains(&script.sha))
    };
    let mut machine = Machine::take(Kind::Scripts);
    machine.begin(limits(call.session, killed));
    if machine.push_script(script, generation).is_err() {
        let text = machine.frame().bytes(-1).unwrap_or_default().to_vec();
        return Err(match machine.lua.ended() {
            Some(ended) => why(ended, ""),
            None => Failure::naming("ERR Error compiling script (new function): {}", &[&text]),
        });
    }
    if !is_known {
        cache.lock().add(script.clone());
    }
    Ok(machine)
}

fn run_script(call: &mut SessionCall, work: &mut Work<'_>, may: May, script: &Arc<Script>, keys: usize) -> Outcome {
    if may == May::Read && script.flags.is_some_and(|flags| !flags.no_writes) {
        return Err(Failure::reply(
            "ERR Can not execute a script with write flag using *_ro command.",
        ));
    }
    let keyspace = call.session.keyspace.clone();
    let listed = keyspace.scripts.running.list(Runs::Script, &script.sha, call.args);
    let machine = compile(call, script, listed.running.killed.clone())?;
    let (keys, argv) = call.args[3..].split_at(keys);
    let mut frame = machine.frame();
    frame.push_globals();
    frame.set_readonly(-1, false);
    for (name, values) in [("KEYS", keys), ("ARGV", argv)] {
        push_strings(&mut frame, values);
        frame.set_field(-2, name);
    }
    frame.set_readonly(-1, true);
    frame.pop(1);
    let mut runner = Runner {
        only_reads: may == May::Read || script.flags.is_some_and(|flags| flags.no_writes),
        session: call.session,
        work,
        host: call.host,
        protocol: Protocol::Resp2,
        ends: None,
    };
    run(machine, 0, &script.sha, &mut runner, call.reply)
}

/// Pushes a table of strings.
pub fn push_strings(frame: &mut lua::Frame<'_>, strings: &[&[u8]]) {
    frame.new_table(strings.len(), 0);
    for (at, string) in strings.iter().enumerate() {
        frame.push_bytes(string);
        frame.set_index(-2, at as i32 + 1);
    }
}

// --- SCRIPT ---

pub fn load(call: &mut SessionCall) -> Outcome {
    let source = call.args[2];
    let script = Arc::new(Script::new(sha_of(source), source)?);
    compile(call, &script, Arc::default())?.give_back();
    call.reply.bulk(&script.sha);
    Ok(())
}

pub fn exists(call: &mut SessionCall) -> Outcome {
    let cache = call.session.keyspace.scripts.cache.lock();
    call.reply.array(call.args.len() - 2);
    for sha in &call.args[2..] {
        call.reply.integer(i64::from(cache.contains(sha)));
    }
    Ok(())
}

pub fn flush(call: &mut SessionCall) -> Outcome {
    match call.args {
        [_, _] => {}
        [_, _, how] if is_word(how, "SYNC") || is_word(how, "ASYNC") => {}
        _ => return Err(Failure::reply("ERR SCRIPT FLUSH only support SYNC|ASYNC option")),
    }
    call.session.keyspace.scripts.cache.lock().clear();
    call.reply.ok();
    Ok(())
}

pub fn kill(call: &mut SessionCall) -> Outcome {
    match call.session.keyspace.scripts.running.kill(Runs::Script) {
        true => call.reply.ok(),
        false => return Err(not_busy()),
    }
    Ok(())
}

pub fn not_busy() -> Failure {
    Failure::reply("NOTBUSY No scripts in execution right now.")
}

pub fn debug(call: &mut SessionCall) -> Outcome {
    match call.args[2] {
        how if is_word(how, "NO") => call.reply.ok(),
        how if is_word(how, "YES") || is_word(how, "SYNC") => {
            return Err(Failure::reply("ERR this server has no debugger of scripts"));
        }
        _ => return Err(Failure::reply("ERR Use SCRIPT DEBUG YES/SYNC/NO")),
    }
    Ok(())
}

const HELP: &[&str] = &[
    "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "DEBUG (YES|SYNC|NO)",
    "    Set the debug mode for subsequent scripts executed.",
    "EXISTS <sha1> [<sha1> ...]",
    "    Return information about the existence of the scripts in the script cache.",
    "FLUSH [ASYNC|SYNC]",
    "    Flush the Lua scripts cache. Very dangerous on replicas.",
    "    When called without the optional mode argument, the behavior is determined by the",
    "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
    "    * ASYNC: Asynchronously flush the scripts cache.",
    "    * SYNC: Synchronously flush the scripts cache.",
    "KILL",
    "    Kill the currently executing Lua script.",
    "LOAD <script>",
    "    Load a script into the scripts cache without executing it.",
    "HELP",
    "    Prints this help.",
];

pub fn help(call: &mut SessionCall) -> Outcome {
    write_help(call, HELP);
    Ok(())
}

pub fn write_help(call: &mut SessionCall, lines: &[&str]) {
    call.reply.array(lines.len());
    lines.iter().for_each(|line| call.reply.simple(line));
}
