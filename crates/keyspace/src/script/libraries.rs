//! Libraries of functions: rows of a table, `redis.functions`, which each state of Lua loads anew when they have changed.
//!
//! So they are as durable as keys, are on all nodes, and SQL may look at them. Whether rows have changed is seen by a hash of all of them,
//! which takes microseconds.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::hashing::FastHashing;
use lua::{Callee, Ended, Frame, Kind, Limits, Lua, Raised, Reference};
use sql::result::BufferedRows;
use sql::session::{Session as SqlSession, SessionOptions};
use sql::table::Table;
use sql_api::host::Host;
use store::{Direction, KeyRange};
use types::{IndexId, ValueRef};

use super::Flags;
use super::api::{self, Use, raise};
use super::machine::Machine;
use crate::call::is_word;
use crate::failure::{Failure, Outcome};
use crate::keyspace::Keyspace;
use crate::tables::DATABASE;
use crate::work::Work;

const TABLE: &str = "functions";
/// A library has so long to register its functions.
const LOADING: Duration = Duration::from_millis(500);

/// A library as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Library {
    pub name: String,
    pub code: Vec<u8>,
}

/// A function that a library has registered.
pub struct Function {
    pub description: Option<Vec<u8>>,
    pub flags: Flags,
    callback: Reference,
}

/// The functions that a state has loaded.
#[derive(Default)]
pub struct Loaded {
    version: Option<u64>,
    hashing: FastHashing,
    /// By their names in lower case.
    functions: BTreeMap<Vec<u8>, Function>,
}

// --- rows ---

fn table(keyspace: &Keyspace) -> Option<Arc<Table>> {
    let engine = keyspace.engine();
    engine
        .catalog()
        .table(DATABASE, TABLE)
        .and_then(|def| engine.table(def))
}

/// Visits the name and the code of each library.
fn scan(work: &Work<'_>, mut visit: impl FnMut(&str, &[u8])) -> Outcome {
    let Some(table) = table(work.keyspace) else {
        return Ok(());
    };
    work.scan_table(
        &table,
        IndexId::PRIMARY,
        KeyRange::all(),
        Direction::Forward,
        |layout, row, _| {
            if let (ValueRef::Bytes(name), ValueRef::Bytes(code)) = (layout.column(row, 0), layout.column(row, 1))
                && let Ok(name) = std::str::from_utf8(name)
            {
                visit(name, code);
            }
            Ok(ControlFlow::Continue(()))
        },
    )
}

pub fn all(work: &Work<'_>) -> Outcome<Vec<Library>> {
    let mut libraries = Vec::new();
    scan(work, |name, code| {
        libraries.push(Library {
            name: name.to_owned(),
            code: code.to_vec(),
        });
    })?;
    Ok(libraries)
}

/// Another one when a library has changed.
fn version(work: &Work<'_>, hashing: &FastHashing) -> Outcome<u64> {
    let mut hasher = hashing.build_hasher();
    scan(work, |name, code| (name, code).hash(&mut hasher))?;
    Ok(hasher.finish())
}

/// What becomes of the libraries that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    Stay,
    Go,
}

/// Writes libraries in one transaction, in the place of those of the same names.
pub fn store(keyspace: &Keyspace, libraries: &[Library], others: Others, host: &dyn Host) -> Outcome {
    let mut session = SqlSession::new(keyspace.engine().clone(), SessionOptions::default())?;
    let mut run = |text: String| session.query(text.as_bytes(), host, &mut BufferedRows::default());
    run(format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
    run(format!(
        "CREATE TABLE IF NOT EXISTS {DATABASE}.{TABLE} (`name` VARBINARY(255) NOT NULL, `code` LONGBLOB NOT NULL, \
         PRIMARY KEY (`name`))"
    ))?;
    run("START TRANSACTION".to_owned())?;
    if others == Others::Go {
        run(format!("DELETE FROM {DATABASE}.{TABLE}"))?;
    }
    for library in libraries {
        // The name has only letters, digits and underscores.
        let mut text = format!(
            "REPLACE INTO {DATABASE}.{TABLE} (`name`, `code`) VALUES ('{}', x'",
            library.name
        );
        for byte in &library.code {
            text.push_str(&format!("{byte:02x}"));
        }
        text.push_str("')");
        run(text)?;
    }
    run("COMMIT".to_owned())?;
    Ok(())
}

/// Removes a library.
pub fn delete(keyspace: &Keyspace, name: &str, host: &dyn Host) -> Outcome {
    let mut session = SqlSession::new(keyspace.engine().clone(), SessionOptions::default())?;
    let text = format!("DELETE FROM {DATABASE}.{TABLE} WHERE `name` = '{name}'");
    session.query(text.as_bytes(), host, &mut BufferedRows::default())?;
    Ok(())
}

// --- loading ---

/// What the first line of a library says.
pub struct Metadata {
    pub name: String,
    /// Where the code begins that is compiled: lines keep their numbers.
    begin: usize,
}

pub fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

fn wrong_name() -> Failure {
    Failure::reply(
        "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
    )
}

/// `#!lua name=…`
pub fn metadata_of(code: &[u8]) -> Outcome<Metadata> {
    if !code.starts_with(b"#!") {
        return Err(Failure::reply("ERR Missing library metadata"));
    }
    let Some(end) = code.iter().position(|byte| *byte == b'\n') else {
        return Err(Failure::reply("ERR Invalid library metadata"));
    };
    let words = redis_wire::split_words(&code[..end]).ok_or_else(|| Failure::reply("ERR Invalid library metadata"))?;
    let (first, rest) = words.split_first().expect("it begins with #!");
    let engine = &first[2..];
    let mut name: Option<&[u8]> = None;
    for word in rest {
        match word.split_at_checked(5) {
            Some((key, value)) if key.eq_ignore_ascii_case(b"name=") => {
                if name.is_some() {
                    return Err(Failure::reply(
                        "ERR Invalid metadata value, name argument was given multiple times",
                    ));
                }
                name = Some(value);
            }
            _ => {
                return Err(Failure::naming("ERR Invalid metadata value given: {}", &[word]));
            }
        }
    }
    let name = name.ok_or_else(|| Failure::reply("ERR Library name was not given"))?;
    if !is_name(name) || name.len() > 255 {
        return Err(wrong_name());
    }
    if !is_word(engine, "lua") {
        return Err(Failure::naming("ERR Engine '{}' not found", &[engine]));
    }
    Ok(Metadata {
        name: String::from_utf8_lossy(name).into_owned(),
        begin: end,
    })
}

/// Collects what a library registers.
#[derive(Default)]
struct Loading {
    functions: Vec<(Vec<u8>, Function)>,
}

impl Callee for Loading {
    fn call(&mut self, operation: u32, frame: &mut Frame<'_>) -> Result<i32, Raised> {
        if operation != api::REGISTER_FUNCTION {
            return Err(raise(frame, "not while a library is loaded"));
        }
        let mut flags = Flags::default();
        let mut description = None;
        let (name, callback) = match frame.args() {
            1 => {
                if frame.kind(1) != Kind::Table {
                    return Err(raise(
                        frame,
                        "calling redis.register_function with a single argument is only applicable to Lua table \
                         (representing named arguments).",
                    ));
                }
                named_arguments(frame, &mut flags, &mut description)?
            }
            2 => {
                let Some(name) = frame.argument(1).map(<[u8]>::to_vec) else {
                    return Err(raise(
                        frame,
                        "first argument to redis.register_function must be a string",
                    ));
                };
                if frame.kind(2) != Kind::Function {
                    return Err(raise(
                        frame,
                        "second argument to redis.register_function must be a function",
                    ));
                }
                (name, frame.keep(2))
            }
            _ => return Err(raise(frame, "wrong number of arguments to redis.register_function")),
        };
        let is_known = self.functions.iter().any(|(known, _)| *known == name);
        let function = Function {
            description,
            flags,
            callback,
        };
        self.functions.push((name.clone(), function));
        if !is_name(&name) {
            return Err(raise(
                frame,
                "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long",
            ));
        }
        match is_known {
            true => Err(raise(frame, "Function already exists in the library")),
            false => Ok(0),
        }
    }
}

/// `redis.register_function{function_name=…, callback=…, …}`
fn named_arguments(
    frame: &mut Frame<'_>,
    flags: &mut Flags,
    description: &mut Option<Vec<u8>>,
) -> Result<(Vec<u8>, Reference), Raised> {
    let (mut name, mut callback) = (None, None);
    frame.for_each(1, |frame| {
        let key = match frame.kind(-2) {
            Kind::String => frame.bytes(-2).unwrap_or_default().to_ascii_lowercase(),
            Kind::Number => Vec::new(),
            _ => {
                return Err(raise(
                    frame,
                    "named argument key given to redis.register_function is not a string",
                ));
            }
        };
        let text = match frame.kind(-1) {
            Kind::String | Kind::Number => {
                frame.push_copy(-1);
                let text = frame.bytes(-1).map(<[u8]>::to_vec);
                frame.pop(1);
                text
            }
            _ => None,
        };
        match key.as_slice() {
            b"function_name" => match text {
                Some(text) => name = Some(text),
                None => {
                    return Err(raise(
                        frame,
                        "function_name argument given to redis.register_function must be a string",
                    ));
                }
            },
            b"description" => match text {
                Some(text) => *description = Some(text),
                None => {
                    return Err(raise(
                        frame,
                        "description argument given to redis.register_function must be a string",
                    ));
                }
            },
            b"callback" => match frame.kind(-1) {
                Kind::Function => callback = Some(frame.keep(-1)),
                _ => {
                    return Err(raise(
                        frame,
                        "callback argument given to redis.register_function must be a function",
                    ));
                }
            },
            b"flags" => {
                if frame.kind(-1) != Kind::Table {
                    return Err(raise(
                        frame,
                        "flags argument to redis.register_function must be a table representing function flags",
                    ));
                }
                for index in 1.. {
                    frame.get_index(-1, index);
                    let is_over = frame.kind(-1) == Kind::Nil;
                    let is_known = frame.kind(-1) == Kind::String && flags.set(frame.bytes(-1).unwrap_or_default());
                    frame.pop(1);
                    match (is_over, is_known) {
                        (true, _) => break,
                        (_, true) => {}
                        (_, false) => return Err(raise(frame, "unknown flag given")),
                    }
                }
            }
            _ => return Err(raise(frame, "unknown argument given to redis.register_function")),
        }
        Ok(())
    })?;
    let Some(name) = name else {
        return Err(raise(
            frame,
            "redis.register_function must get a function name argument",
        ));
    };
    let Some(callback) = callback else {
        return Err(raise(frame, "redis.register_function must get a callback argument"));
    };
    Ok((name, callback))
}

/// Runs a library's code in a machine of functions, and tells what it has registered.
pub fn run_code(machine: &mut Machine, code: &[u8], limits: Limits) -> Outcome<Vec<(Vec<u8>, Function)>> {
    let metadata = metadata_of(code)?;
    let lua = &mut machine.lua;
    let globals = machine
        .library_globals
        .as_ref()
        .expect("a machine of functions has them");
    lua.begin(Limits {
        deadline: Some(Instant::now() + LOADING),
        ..limits
    });
    if lua.compile(&code[metadata.begin..], c"@user_function").is_err() {
        return Err(failed(lua, "Error compiling function"));
    }
    lua.push_kept(&globals.globals);
    lua.frame().set_globals_of(-2);
    globals.use_for(lua, Use::Loading);
    let mut loading = Loading::default();
    let ran = lua.run(0, 0, &mut loading);
    globals.use_for(lua, Use::Running);
    let result = match ran {
        Err(Raised) => Err(failed(lua, "Error registering functions")),
        Ok(()) if loading.functions.is_empty() => Err(Failure::reply("ERR No functions registered")),
        Ok(()) => return Ok(loading.functions),
    };
    for (_, function) in loading.functions {
        lua.forget(function.callback);
    }
    result
}

/// Why a library cannot be loaded, by the error on the top.
fn failed(lua: &Lua, what: &str) -> Failure {
    match lua.ended() {
        Some(Ended::Stop(stop)) => return stop.into(),
        Some(Ended::Late) => return Failure::reply("ERR Error registering functions: ERR FUNCTION LOAD timeout"),
        Some(_) => return Failure::reply("ERR Error registering functions: ERR the library has been ended"),
        None => {}
    }
    let frame = lua.frame();
    if frame.kind(-1) == Kind::Table {
        frame.get_field(-1, "err");
    }
    let text = frame.bytes(-1).unwrap_or_default();
    Failure::naming(&format!("ERR {what}: {{}}"), &[text])
}

impl Machine {
    /// Loads the libraries as they are now, if they have changed.
    pub fn load_libraries(&mut self, work: &Work<'_>, limits: impl Fn() -> Limits) -> Outcome {
        let version = version(work, &self.loaded.hashing)?;
        if self.loaded.version == Some(version) {
            return Ok(());
        }
        let functions = std::mem::take(&mut self.loaded.functions);
        self.loaded.version = None;
        for (_, function) in functions {
            self.lua.forget(function.callback);
        }
        for library in all(work)? {
            match run_code(self, &library.code, limits()) {
                Ok(functions) => {
                    for (name, function) in functions {
                        let before = self.loaded.functions.insert(name.to_ascii_lowercase(), function);
                        if let Some(function) = before {
                            self.lua.forget(function.callback);
                        }
                    }
                }
                Err(failure @ Failure::Sql(_)) => return Err(failure),
                // Somebody has written it there by other ways than FUNCTION LOAD.
                Err(failure) => tracing::warn!(
                    "the library {} of functions: {}",
                    library.name,
                    failure.text().escape_ascii()
                ),
            }
        }
        self.loaded.version = Some(version);
        Ok(())
    }

    /// Pushes a function that there is.
    pub fn push_function(&mut self, name: &[u8]) {
        if let Some(function) = self.loaded.functions.get(&name.to_ascii_lowercase()) {
            self.lua.push_kept(&function.callback);
        }
    }

    /// What a function says of itself, whose name may be in any case.
    pub fn function(&self, name: &[u8]) -> Option<Flags> {
        let function = self.loaded.functions.get(&name.to_ascii_lowercase());
        function.map(|function| function.flags)
    }
}
