//! What scripts find under `redis`.

use lua::{Frame, Kind, Lua, Native, Raised, Reference};

use super::cache::sha_of;
use super::machine;
use crate::server::REDIS_VERSION;

/// What a runner answers: see [`super::run::Runner`].
pub const CALL: u32 = 0;
pub const PCALL: u32 = 1;
pub const SETRESP: u32 = 2;
pub const ACL_CHECK_CMD: u32 = 3;
pub const REGISTER_FUNCTION: u32 = 4;

const LOG_LEVELS: &[(&str, f64)] = &[
    ("LOG_DEBUG", 0.0),
    ("LOG_VERBOSE", 1.0),
    ("LOG_NOTICE", 2.0),
    ("LOG_WARNING", 3.0),
];
const REPLICATION: &[(&str, f64)] = &[
    ("REPL_NONE", 0.0),
    ("REPL_AOF", 1.0),
    ("REPL_SLAVE", 2.0),
    ("REPL_REPLICA", 2.0),
    ("REPL_ALL", 3.0),
];

const FUNCTIONS: &[(&str, Native)] = &[
    ("error_reply", error_reply),
    ("log", log),
    ("set_repl", set_repl),
    ("sha1hex", sha1hex),
    ("status_reply", status_reply),
];
/// Those of scripts alone.
const FUNCTIONS_OF_SCRIPTS: &[(&str, Native)] = &[
    // There is no debugger.
    ("breakpoint", |frame| {
        frame.push_boolean(false);
        Ok(1)
    }),
    ("debug", |_| Ok(0)),
    // Effects have always been what is replicated.
    ("replicate_commands", |frame| {
        frame.push_boolean(true);
        Ok(1)
    }),
];

/// Adds the table `redis` to the globals.
pub fn open(lua: &mut Lua, kind: machine::Kind) {
    let mut frame = lua.frame();
    frame.push_globals();
    frame.new_table(0, 32);
    add_log(&mut frame);
    for (name, native) in FUNCTIONS {
        frame.push_native(*native);
        frame.set_field(-2, name);
    }
    if kind == machine::Kind::Scripts {
        for (name, native) in FUNCTIONS_OF_SCRIPTS {
            frame.push_native(*native);
            frame.set_field(-2, name);
        }
    }
    for (name, operation) in [
        ("call", CALL),
        ("pcall", PCALL),
        ("setresp", SETRESP),
        ("acl_check_cmd", ACL_CHECK_CMD),
    ] {
        frame.push_operation(operation);
        frame.set_field(-2, name);
    }
    for (name, value) in REPLICATION {
        frame.push_number(*value);
        frame.set_field(-2, name);
    }
    frame.set_field(-2, "redis");
    frame.pop(1);
}

/// What loading a library has, too.
fn add_log(frame: &mut Frame<'_>) {
    for (name, value) in LOG_LEVELS {
        frame.push_number(*value);
        frame.set_field(-2, name);
    }
    frame.push_native(log);
    frame.set_field(-2, "log");
    frame.push_bytes(REDIS_VERSION.as_bytes());
    frame.set_field(-2, "REDIS_VERSION");
    let parts = REDIS_VERSION.split('.').filter_map(|part| part.parse::<u32>().ok());
    let number = parts.fold(0u32, |number, part| number << 8 | part);
    frame.push_number(f64::from(number));
    frame.set_field(-2, "REDIS_VERSION_NUM");
}

/// The globals of libraries: an empty table, whose metatable says where they are. While a library is loaded, that is a table with little
/// more than `redis.register_function`; when its functions run, the globals of the state.
pub struct LibraryGlobals {
    pub globals: Reference,
    metatable: Reference,
    loading: Reference,
}

pub fn make_library_globals(lua: &mut Lua) -> LibraryGlobals {
    let mut frame = lua.frame();
    // What is there while a library is loaded.
    frame.new_table(0, 1);
    frame.new_table(0, 16);
    add_log(&mut frame);
    frame.push_operation(REGISTER_FUNCTION);
    frame.set_field(-2, "register_function");
    refuse_others(&mut frame);
    frame.set_field(-2, "redis");
    refuse_others(&mut frame);
    lua::library::protect(&mut frame);
    let loading = lua.keep();
    let mut frame = lua.frame();
    // The globals, and their metatable.
    frame.new_table(0, 0);
    frame.new_table(0, 1);
    frame.push_copy(-1);
    frame.insert(-3);
    frame.set_metatable(-2);
    frame.set_readonly(-1, true);
    let globals = lua.keep();
    lua.frame().set_readonly(-1, true);
    let metatable = lua.keep();
    let made = LibraryGlobals {
        globals,
        metatable,
        loading,
    };
    made.use_for(lua, Use::Running);
    made
}

/// Makes a name an error that is not in the table on the top.
fn refuse_others(frame: &mut Frame<'_>) {
    frame.new_table(0, 1);
    frame.push_native(lua::library::no_such_global);
    frame.set_field(-2, "__index");
    frame.set_metatable(-2);
}

/// What the globals of libraries are used for.
pub enum Use {
    Loading,
    Running,
}

impl LibraryGlobals {
    pub fn use_for(&self, lua: &mut Lua, what: Use) {
        lua.push_kept(&self.metatable);
        match what {
            Use::Loading => lua.push_kept(&self.loading),
            Use::Running => lua.frame().push_globals(),
        }
        let mut frame = lua.frame();
        frame.set_readonly(-2, false);
        frame.set_field(-2, "__index");
        frame.set_readonly(-1, true);
        frame.pop(1);
    }
}

/// Raises an error of Redis's: a table with its text, its code in front.
pub fn raise(frame: &mut Frame<'_>, text: &str) -> Raised {
    push_error(frame, text.as_bytes());
    Raised
}

/// Pushes an error: `-CODE text` has its code with it, all others are of code ERR.
pub fn push_error(frame: &mut Frame<'_>, text: &[u8]) {
    let (code, text) = match text.strip_prefix(b"-") {
        None => (&b"ERR"[..], text),
        Some(text) => match text.iter().position(|byte| *byte == b' ') {
            Some(space) => (&text[..space], &text[space + 1..]),
            None => (&b"ERR"[..], text),
        },
    };
    let mut whole = [code, b" "].concat();
    whole.extend_from_slice(text.trim_ascii_end_of_lines());
    frame.new_table(0, 1);
    frame.push_bytes(&whole);
    frame.set_field(-2, "err");
}

trait TrimLines {
    fn trim_ascii_end_of_lines(&self) -> &[u8];
}

impl TrimLines for [u8] {
    fn trim_ascii_end_of_lines(&self) -> &[u8] {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let begin = self.iter().position(|byte| !is_end(byte)).unwrap_or(self.len());
        let end = self.iter().rposition(|byte| !is_end(byte)).map_or(begin, |at| at + 1);
        &self[begin..end]
    }
}

/// The argument of a function that takes one string; none: an error is on the stack, which is its result.
fn single_string<'f>(frame: &mut Frame<'f>) -> Option<&'f [u8]> {
    if frame.args() == 1 && frame.kind(1) == Kind::String {
        return frame.argument(1);
    }
    push_error(frame, b"wrong number or type of arguments");
    None
}

fn error_reply(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if let Some(text) = single_string(frame) {
        match text.starts_with(b"-") {
            true => push_error(frame, text),
            false => push_error(frame, &[b"-", text].concat()),
        }
    }
    Ok(1)
}

fn status_reply(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if let Some(text) = single_string(frame) {
        frame.new_table(0, 1);
        frame.push_bytes(text);
        frame.set_field(-2, "ok");
    }
    Ok(1)
}

fn sha1hex(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if frame.args() != 1 {
        return Err(raise(frame, "wrong number of arguments"));
    }
    let text = frame.argument(1).unwrap_or_default();
    frame.push_bytes(&sha_of(text));
    Ok(1)
}

fn log(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if frame.args() < 2 {
        return Err(raise(frame, "redis.log() requires two arguments or more."));
    }
    let Some(level) = frame.number(1) else {
        return Err(raise(frame, "First argument must be a number (log level)."));
    };
    if !(0.0..=3.0).contains(&level) {
        return Err(raise(frame, "Invalid debug level."));
    }
    const SHOWN_MAX: usize = 1024;
    let mut text = Vec::new();
    for at in 2..=frame.args() {
        if let Some(word) = frame.argument(at) {
            if at > 2 {
                text.push(b' ');
            }
            text.extend_from_slice(&word[..word.len().min(SHOWN_MAX)]);
        }
        text.truncate(SHOWN_MAX);
    }
    let text = text.escape_ascii();
    match level as u32 {
        0 | 1 => tracing::debug!("a script says: {text}"),
        2 => tracing::info!("a script says: {text}"),
        _ => tracing::warn!("a script says: {text}"),
    }
    Ok(0)
}

/// What is to be replicated: here always all.
fn set_repl(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    if frame.args() != 1 {
        return Err(raise(frame, "redis.set_repl() requires two arguments."));
    }
    let flags = frame.number(1).unwrap_or_default() as i64;
    if flags & !3 != 0 {
        return Err(raise(
            frame,
            "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.",
        ));
    }
    Ok(0)
}
