//! How a script runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lua::{Callee, Ended, Frame, Kind, Limits, Raised};
use redis_wire::{Protocol, Reply};
use sql_api::host::Host;

use super::api::{self, push_error, raise};
use super::convert::{push_reply, write_line, write_value};
use super::machine::Machine;
use crate::acl::Context;
use crate::call::{Call, is_word};
use crate::command::{Command, Commands, Handler};
use crate::failure::{Failure, Outcome};
use crate::session::{Session, SessionCall, rows, run_call, written_keys};
use crate::work::Work;

/// Commands that a script which only reads may not use, though they write nothing.
const MAY_REPLICATE: &[&str] = &["pfcount", "publish", "spublish"];

/// Answers what a running script asks of Redis.
pub struct Runner<'r, 'w> {
    pub session: &'r mut Session,
    pub work: &'r mut Work<'w>,
    pub host: &'r dyn Host,
    /// The form of replies that the script has chosen.
    pub protocol: Protocol,
    pub only_reads: bool,
    /// Why the script has to end, as its transaction does.
    pub ends: Option<Failure>,
}

/// Bytes that a script may hold.
pub fn limits(session: &Session, killed: Arc<AtomicBool>) -> Limits {
    Limits {
        memory: usize::try_from(session.statement_memory()).unwrap_or(usize::MAX),
        killed: Some(killed),
        deadline: None,
    }
}

/// Runs the function under its arguments on the machine's stack, and writes its reply. `name` is what errors call it.
pub fn run(mut machine: Machine, args: i32, name: &[u8], runner: &mut Runner<'_, '_>, reply: &mut Reply) -> Outcome {
    let (db, protocol) = (runner.session.db, runner.session.protocol);
    let ran = machine.lua.run(args, 1, runner);
    (runner.session.db, runner.session.protocol) = (db, protocol);
    if let Some(ended) = machine.lua.ended() {
        let place = place_of(&mut machine.frame(), name);
        return Err(runner.ends.take().unwrap_or_else(|| why(ended, &place)));
    }
    let mut frame = machine.frame();
    runner.session.error_is_counted = is_counted(&mut frame);
    match ran {
        Ok(()) => {
            if write_value(&mut frame, runner.protocol, reply).is_err() {
                return Err(machine.lua.ended().map_or_else(too_much, |ended| why(ended, "")));
            }
        }
        Err(Raised) => write_error(&mut frame, name, reply),
    }
    machine.give_back();
    Ok(())
}

/// Whether the value on the top is the error of a command, which was counted when it was answered.
fn is_counted(frame: &mut Frame<'_>) -> bool {
    if frame.top() == 0 || frame.kind(-1) != Kind::Table {
        return false;
    }
    frame.get_field(-1, "ignore_error_stats_update");
    let is_counted = frame.kind(-1) == Kind::Boolean && frame.boolean(-1);
    frame.pop(1);
    is_counted
}

/// What the client is told of a script that had to end.
pub fn why(ended: Ended, place: &str) -> Failure {
    match ended {
        Ended::Stop(stop) => stop.into(),
        Ended::Killed => Failure::Reply(format!("ERR Script killed by user with SCRIPT KILL...{place}").into()),
        Ended::Memory => too_much(),
        Ended::Late | Ended::Callee | Ended::Panic => Failure::reply("ERR the script has been ended"),
    }
}

fn too_much() -> Failure {
    Failure::reply("OOM the script takes more memory than it may")
}

/// Writes the error on the top, which has its text and its place with it.
fn write_error(frame: &mut Frame<'_>, name: &[u8], reply: &mut Reply) {
    let mut text = match frame.kind(-1) {
        Kind::Table => {
            frame.get_field(-1, "err");
            let text = frame.bytes(-1).unwrap_or(b"ERR unknown error").to_vec();
            frame.pop(1);
            text
        }
        // Errors that came where no table could be made.
        _ => [b"ERR ", frame.bytes(-1).unwrap_or(b"unknown error")].concat(),
    };
    text.extend_from_slice(place_of(frame, name).as_bytes());
    write_line(b'-', &text, reply);
}

/// ` script: NAME, on SOURCE:LINE.`, where the error on the top says so.
fn place_of(frame: &mut Frame<'_>, name: &[u8]) -> String {
    if frame.top() == 0 || frame.kind(-1) != Kind::Table {
        return String::new();
    }
    frame.get_field(-1, "source");
    frame.get_field(-2, "line");
    let place = match (frame.bytes(-2), frame.number(-1)) {
        (Some(source), Some(line)) => {
            let (name, source) = (String::from_utf8_lossy(name), String::from_utf8_lossy(source));
            format!(" script: {name}, on {source}:{line}.")
        }
        _ => String::new(),
    };
    frame.pop(2);
    place
}

impl Callee for Runner<'_, '_> {
    fn call(&mut self, operation: u32, frame: &mut Frame<'_>) -> Result<i32, Raised> {
        match operation {
            api::CALL | api::PCALL => {
                let raises = operation == api::CALL;
                if self.command(frame)? && raises {
                    return Err(Raised);
                }
                Ok(1)
            }
            api::SETRESP => {
                if frame.args() != 1 {
                    return Err(raise(frame, "redis.setresp() requires one argument."));
                }
                self.protocol = match frame.number(1) {
                    Some(2.0) => Protocol::Resp2,
                    Some(3.0) => Protocol::Resp3,
                    _ => return Err(raise(frame, "RESP version must be 2 or 3.")),
                };
                Ok(0)
            }
            api::ACL_CHECK_CMD => {
                let Some(args) = arguments(frame) else {
                    return Err(Raised);
                };
                let args: Vec<&[u8]> = args.iter().map(AsRef::as_ref).collect();
                match Commands::get()
                    .find(args[0])
                    .and_then(|command| command.meant_by(&args))
                {
                    None => Err(raise(frame, "Invalid command passed to redis.acl_check_cmd()")),
                    Some(command) => {
                        frame.push_boolean(self.session.has_rights(command, &args));
                        Ok(1)
                    }
                }
            }
            _ => Err(raise(
                frame,
                "redis.register_function can only be called on FUNCTION LOAD command",
            )),
        }
    }
}

/// The words of a command. None: an error is on the stack.
fn arguments<'f>(frame: &mut Frame<'f>) -> Option<Vec<Word<'f>>> {
    if frame.args() == 0 {
        push_error(frame, b"Please specify at least one argument for this redis lib call");
        return None;
    }
    let mut words = Vec::with_capacity(frame.args() as usize);
    for at in 1..=frame.args() {
        let word = match frame.kind(at) {
            Kind::String => Word::Borrowed(frame.argument(at).unwrap_or_default()),
            Kind::Number => Word::Number(written(frame.number(at).unwrap_or_default())),
            _ => {
                push_error(frame, b"Lua redis lib command arguments must be strings or integers");
                return None;
            }
        };
        words.push(word);
    }
    Some(words)
}

enum Word<'f> {
    Borrowed(&'f [u8]),
    Number(Vec<u8>),
}

impl AsRef<[u8]> for Word<'_> {
    fn as_ref(&self) -> &[u8] {
        match self {
            Word::Borrowed(bytes) => bytes,
            Word::Number(digits) => digits,
        }
    }
}

/// A whole number as such, another with 17 digits.
fn written(value: f64) -> Vec<u8> {
    let mut out = Vec::new();
    match value.fract() == 0.0 && value.abs() < 1e17 {
        true => out.extend_from_slice((value as i64).to_string().as_bytes()),
        false => lua::number::write_g(value, 17, &mut out),
    }
    out
}

impl Runner<'_, '_> {
    /// Runs a command, and pushes what its reply stands for. True: that is an error.
    fn command(&mut self, frame: &mut Frame<'_>) -> Result<bool, Raised> {
        let Some(words) = arguments(frame) else {
            return Ok(true);
        };
        let args: Vec<&[u8]> = words.iter().map(AsRef::as_ref).collect();
        let command = match self.look_up(&args) {
            Ok(command) => command,
            Err(failure) => {
                self.session.note_denied(&failure, &args, Context::Script);
                self.session.keyspace.note_refused(&args, &failure);
                push_failure(frame, &failure.text());
                return Ok(true);
            }
        };
        let monitors = &self.session.keyspace.monitors;
        if !monitors.is_empty() && !command.flags.is_hidden {
            let micros = self.session.keyspace.engine().clock_micros();
            monitors.show(micros, self.session.db, "lua", &args);
        }
        let (mut reply, begun) = (Reply::new(self.protocol), Instant::now());
        if let Err(failure) = self.run(command, &args, &mut reply) {
            self.ends = Some(failure);
            return Err(frame.end());
        }
        let keyspace = &self.session.keyspace;
        keyspace.latencies.add(std::iter::once(command), begun.elapsed());
        if !matches!(command.handler, Handler::Data(_)) {
            keyspace.note_reply(command, &reply.bytes);
        }
        push_reply(frame, &reply.bytes)?;
        Ok(reply.bytes.first() == Some(&b'-'))
    }

    /// Who runs a command, and whether a script may use it.
    fn look_up(&mut self, args: &[&[u8]]) -> Outcome<&'static Command> {
        let command = Commands::get().find(args[0]);
        let meant = command.and_then(|command| Some((command, command.meant_by(args)?)));
        let Some((command, meant)) = meant else {
            return Err(Failure::reply("ERR Unknown Redis command called from script"));
        };
        if !meant.takes(args.len()) || !command.takes(args.len()) {
            return Err(Failure::reply(
                "ERR Wrong number of args calling Redis command from script",
            ));
        }
        if meant.flags.not_in_scripts {
            return Err(Failure::reply("ERR This Redis command is not allowed from script"));
        }
        if self.only_reads && (meant.flags.writes || MAY_REPLICATE.contains(&meant.name())) {
            return Err(Failure::reply(
                "ERR Write commands are not allowed from read-only scripts.",
            ));
        }
        if matches!(meant.name(), "xread" | "xreadgroup") && args.iter().any(|arg| is_word(arg, "BLOCK")) {
            let name = meant.name();
            return Err(Failure::Reply(
                format!("ERR {name} command is not allowed with BLOCK option from scripts").into(),
            ));
        }
        if rows::names_rows(meant, args, &self.session.keyspace) {
            return Err(rows::refused_in_transaction());
        }
        self.session.check_rights(meant, args)?;
        Ok(meant)
    }

    /// Runs a command in the script's transaction. Fails only where that ends.
    fn run(&mut self, command: &'static Command, args: &[&[u8]], reply: &mut Reply) -> Outcome {
        let result = match command.handler {
            Handler::Data(run) => self.run_data(command, run, args, reply),
            Handler::Session(run) => {
                self.session.protocol = self.protocol;
                run(&mut SessionCall {
                    session: self.session,
                    args,
                    reply,
                    host: self.host,
                })
            }
            Handler::Script(_) => Err(Failure::reply("ERR This Redis command is not allowed from script")),
            Handler::Nobody => Err(Failure::Reply(
                format!("ERR the command '{}' is not implemented", command.name()).into(),
            )),
        };
        match result {
            Err(failure) if failure.ends_transaction() => Err(failure),
            Err(failure) => {
                reply.bytes.clear();
                reply.error_bytes(&failure.text());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn run_data(
        &mut self,
        command: &'static Command,
        run: crate::session::Run,
        args: &[&[u8]],
        reply: &mut Reply,
    ) -> Outcome {
        let db = self.work.db(self.session.db)?;
        let keys = written_keys(command, args);
        for key in &keys {
            self.session.late_keys.insert((self.session.db, key.to_vec()));
        }
        // Nothing is waited for where the keys were declared.
        self.work.lock_keys(&db, keys)?;
        self.session.note_late_reads(self.work, &db, command, args);
        run_call(
            &mut Call {
                work: self.work,
                db,
                args,
                reply,
                may_block: false,
            },
            (command, run),
        )
    }
}

/// Pushes an error that no command has answered, but who looked it up.
fn push_failure(frame: &mut Frame<'_>, text: &[u8]) {
    frame.new_table(0, 2);
    frame.push_bytes(text);
    frame.set_field(-2, "err");
    frame.push_boolean(true);
    frame.set_field(-2, "ignore_error_stats_update");
}
