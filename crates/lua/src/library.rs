//! What scripts are offered: Lua's own libraries, less what reaches out of the state or past its protection, and Redis's others.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::frame::{Frame, Kind, Native, Raised};
use crate::raw;
use crate::state::context_of;
use crate::{bits, json, msgpack, packed};

/// What the globals keep; everything else that the libraries bring is taken away.
const GLOBALS: &[&str] = &[
    "_G",
    "_VERSION",
    "assert",
    "bit",
    "cjson",
    "cmsgpack",
    "collectgarbage",
    "coroutine",
    "error",
    "gcinfo",
    "getmetatable",
    "ipairs",
    "load",
    "loadstring",
    "math",
    "next",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawset",
    "select",
    "setmetatable",
    "string",
    "struct",
    "table",
    "tonumber",
    "tostring",
    "type",
    "unpack",
    "xpcall",
];

/// Fills the globals of a new state.
pub(crate) fn open(frame: &mut Frame<'_>) {
    for library in [
        raw::luaopen_base,
        raw::luaopen_table,
        raw::luaopen_string,
        raw::luaopen_math,
    ] {
        frame.push_c(library);
        call(frame);
    }
    for (name, fill) in [
        ("bit", bits::fill as fn(&mut Frame<'_>)),
        ("cjson", json::fill),
        ("cmsgpack", msgpack::fill),
        ("struct", packed::fill),
    ] {
        frame.new_table(0, 16);
        fill(frame);
        frame.push_globals();
        frame.push_copy(-2);
        frame.set_field(-2, name);
        frame.pop(2);
    }
    frame.push_globals();
    let mut unknown: Vec<Vec<u8>> = Vec::new();
    let _ = frame.for_each(-1, |frame| {
        frame.push_copy(-2);
        let name = frame.bytes(-1).unwrap_or_default().to_vec();
        if !GLOBALS.iter().any(|known| known.as_bytes() == name) {
            unknown.push(name);
        }
        frame.pop(1);
        Ok::<(), Raised>(())
    });
    for name in unknown {
        frame.push_bytes(&name);
        frame.push_nil();
        frame.set(-3);
    }
    frame.push_native(collect_garbage);
    frame.set_field(-2, "collectgarbage");
    frame.push_c(pcall);
    frame.set_field(-2, "pcall");
    // What is not there is an error.
    frame.new_table(0, 1);
    frame.push_native(no_such_global);
    frame.set_field(-2, "__index");
    frame.set_metatable(-2);
    frame.pop(1);
}

/// Calls one of Lua's functions that open a library; it fails only without memory, and there is some.
fn call(frame: &mut Frame<'_>) {
    let state = frame.state();
    // SAFETY: a function is on the stack; under `in_rust` nothing fails.
    let status = unsafe { raw::lua_pcall(state, 0, 0, 0) };
    assert_eq!(status, 0, "a library opens");
}

/// Keeps the table on the top, and all that it leads to, from being changed.
pub fn protect(frame: &mut Frame<'_>) {
    if frame.is_readonly(-1) || frame.kind(-1) != Kind::Table {
        return;
    }
    frame.set_readonly(-1, true);
    let _ = frame.reserve(8);
    let _ = frame.for_each(-1, |frame| {
        if frame.kind(-1) == Kind::Table {
            protect(frame);
        }
        Ok::<(), Raised>(())
    });
    if frame.push_metatable(-1) {
        protect(frame);
        frame.pop(1);
    }
}

/// Keeps the globals and the strings' metatable from being changed.
pub fn protect_all(frame: &mut Frame<'_>) {
    frame.push_globals();
    protect(frame);
    frame.pop(1);
    frame.push_bytes(b"");
    if frame.push_metatable(-1) {
        protect(frame);
        frame.pop(1);
    }
    frame.pop(1);
}

/// Adds native functions to the table on the top.
pub(crate) fn add(frame: &mut Frame<'_>, functions: &[(&str, Native)]) {
    for (name, native) in functions {
        frame.push_native(*native);
        frame.set_field(-2, name);
    }
}

pub fn no_such_global(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    let name = frame.argument(2).unwrap_or_default();
    let name = String::from_utf8_lossy(name);
    Err(frame.raise_here(&format!(
        "Script attempted to access nonexistent global variable '{name}'"
    )))
}

/// `collectgarbage`, which cannot stop the collector: it is the next script's, too.
fn collect_garbage(frame: &mut Frame<'_>) -> Result<i32, Raised> {
    let option = match frame.kind(1) {
        Kind::None | Kind::Nil => b"collect",
        _ => frame.check_bytes(1)?,
    };
    match option {
        b"count" => frame.push_number(frame.context().held() as f64 / 1024.0),
        b"collect" | b"step" => {
            let state = frame.state();
            // SAFETY: nothing runs when values are freed. A step at a time, with ticks between.
            while unsafe { raw::lua_gc(state, raw::GC_STEP, 1 << 10) } == 0 {
                frame.tick()?;
            }
            match option {
                b"collect" => frame.push_number(0.0),
                _ => frame.push_boolean(true),
            }
        }
        b"stop" | b"restart" => frame.push_number(0.0),
        b"setpause" | b"setstepmul" => frame.push_number(200.0),
        other => {
            let other = String::from_utf8_lossy(other);
            return Err(frame.bad_argument(1, &format!("invalid option '{other}'")));
        }
    }
    Ok(1)
}

/// `pcall`, for which an error that has a text under `err` is that text.
unsafe extern "C-unwind" fn pcall(state: *mut raw::State) -> c_int {
    // SAFETY: C gives a state of ours. Errors pass that are none of the script's matter: then each instruction fails.
    unsafe {
        let args = raw::lua_gettop(state);
        if args == 0 {
            return fail_without_value(state);
        }
        raw::lua_pushboolean(state, 1);
        raw::lua_insert(state, 1);
        if raw::lua_pcall(state, args - 1, raw::MULTRET, 0) != 0 {
            raw::lua_remove(state, 1);
            simplify(state);
            raw::lua_pushboolean(state, 0);
            raw::lua_insert(state, -2);
            return 2;
        }
        raw::lua_gettop(state)
    }
}

/// # Safety
/// Called from C, with nothing of Rust's to be dropped.
unsafe fn fail_without_value(state: *mut raw::State) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        context_of(state).as_rust(|| {
            Frame::of(state, context_of(state)).bad_argument(1, "value expected");
        });
        raw::lua_error(state)
    }
}

/// Puts the text of an error in the place of its table.
///
/// # Safety
/// There is an error on the top of the stack.
unsafe fn simplify(state: *mut raw::State) {
    // SAFETY: the caller's promise.
    let context = unsafe { context_of(state) };
    context.as_rust(|| {
        let frame = Frame::of(state, context);
        if frame.kind(-1) != Kind::Table {
            return;
        }
        frame.get_field(-1, "err");
        // SAFETY: the table is below the field.
        unsafe {
            match frame.kind(-1) {
                Kind::String | Kind::Number => raw::lua_remove(state, -2),
                _ => raw::lua_settop(state, -2),
            }
        }
    });
}

/// Makes of an error a table with its text and its place. Called where the error is raised.
pub(crate) unsafe extern "C-unwind" fn explain(state: *mut raw::State) -> c_int {
    // SAFETY: C gives a state of ours.
    let context = unsafe { context_of(state) };
    context.as_rust(|| {
        let mut frame = Frame::of(state, context);
        if frame.reserve(8).is_err() {
            return 1;
        }
        let mut place = frame.place(1);
        if place.as_ref().is_some_and(|place| place.is_c) {
            place = frame.place(2);
        }
        match frame.kind(1) {
            Kind::Table => frame.push_copy(1),
            kind => {
                let text = match kind {
                    Kind::String | Kind::Number => frame.argument(1).unwrap_or_default().to_vec(),
                    Kind::Boolean => frame.boolean(1).to_string().into_bytes(),
                    other => other.name().as_bytes().to_vec(),
                };
                frame.new_table(0, 3);
                frame.push_bytes(&[b"ERR ", text.as_slice()].concat());
                frame.set_field(-2, "err");
            }
        }
        if let Some(place) = place.filter(|_| !frame.is_readonly(-1)) {
            frame.push_bytes(&place.source);
            frame.set_field(-2, "source");
            frame.push_number(f64::from(place.line));
            frame.set_field(-2, "line");
        }
        1
    })
}
