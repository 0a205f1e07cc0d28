//! Lua's interface, as its headers declare it (`c/lua.h`, `c/lauxlib.h`).

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

#[repr(C)]
pub struct State {
    _private: [u8; 0],
}

pub type Function = unsafe extern "C-unwind" fn(state: *mut State) -> c_int;
pub type Hook = unsafe extern "C-unwind" fn(state: *mut State, debug: *mut Debug);
pub type Allocate = unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void;
pub type Reader = unsafe extern "C-unwind" fn(*mut State, *mut c_void, *mut usize) -> *const c_char;

pub const REGISTRY: c_int = -10000;
pub const GLOBALS: c_int = -10002;
pub const MULTRET: c_int = -1;
pub const MASK_COUNT: c_int = 1 << 3;
pub const GC_COLLECT: c_int = 2;
pub const GC_STEP: c_int = 5;
pub const ERROR_OF_MEMORY: c_int = 4;

pub const fn upvalue(at: c_int) -> c_int {
    GLOBALS - at
}

/// `lua_Debug`
#[repr(C)]
pub struct Debug {
    pub event: c_int,
    pub name: *const c_char,
    pub namewhat: *const c_char,
    pub what: *const c_char,
    pub source: *const c_char,
    pub currentline: c_int,
    pub nups: c_int,
    pub linedefined: c_int,
    pub lastlinedefined: c_int,
    pub short_src: [c_char; 60],
    pub i_ci: c_int,
}

unsafe extern "C-unwind" {
    pub fn lua_newstate(allocate: Allocate, data: *mut c_void) -> *mut State;
    pub fn lua_close(state: *mut State);
    pub fn lua_atpanic(state: *mut State, panic: Function) -> Option<Function>;
    pub fn lua_getallocf(state: *mut State, data: *mut *mut c_void) -> Allocate;

    pub fn lua_gettop(state: *mut State) -> c_int;
    pub fn lua_settop(state: *mut State, at: c_int);
    pub fn lua_pushvalue(state: *mut State, at: c_int);
    pub fn lua_remove(state: *mut State, at: c_int);
    pub fn lua_insert(state: *mut State, at: c_int);
    pub fn lua_checkstack(state: *mut State, more: c_int) -> c_int;

    pub fn lua_type(state: *mut State, at: c_int) -> c_int;
    pub fn lua_isnumber(state: *mut State, at: c_int) -> c_int;
    pub fn lua_tonumber(state: *mut State, at: c_int) -> f64;
    pub fn lua_toboolean(state: *mut State, at: c_int) -> c_int;
    pub fn lua_tolstring(state: *mut State, at: c_int, len: *mut usize) -> *const c_char;
    pub fn lua_touserdata(state: *mut State, at: c_int) -> *mut c_void;
    pub fn lua_objlen(state: *mut State, at: c_int) -> usize;

    pub fn lua_pushnil(state: *mut State);
    pub fn lua_pushnumber(state: *mut State, number: f64);
    pub fn lua_pushlstring(state: *mut State, bytes: *const c_char, len: usize);
    pub fn lua_pushboolean(state: *mut State, value: c_int);
    pub fn lua_pushlightuserdata(state: *mut State, pointer: *mut c_void);
    pub fn lua_pushcclosure(state: *mut State, function: Function, upvalues: c_int);

    pub fn lua_createtable(state: *mut State, array: c_int, records: c_int);
    pub fn lua_rawget(state: *mut State, at: c_int);
    pub fn lua_rawgeti(state: *mut State, at: c_int, index: c_int);
    pub fn lua_rawset(state: *mut State, at: c_int);
    pub fn lua_rawseti(state: *mut State, at: c_int, index: c_int);
    pub fn lua_getmetatable(state: *mut State, at: c_int) -> c_int;
    pub fn lua_setmetatable(state: *mut State, at: c_int) -> c_int;
    pub fn lua_setfenv(state: *mut State, at: c_int) -> c_int;
    pub fn lua_next(state: *mut State, at: c_int) -> c_int;
    pub fn lua_setreadonly(state: *mut State, at: c_int, readonly: c_int);
    pub fn lua_isreadonly(state: *mut State, at: c_int) -> c_int;

    pub fn lua_pcall(state: *mut State, args: c_int, results: c_int, handler: c_int) -> c_int;
    pub fn lua_load(state: *mut State, reader: Reader, data: *mut c_void, name: *const c_char) -> c_int;
    pub fn lua_error(state: *mut State) -> c_int;
    pub fn lua_gc(state: *mut State, what: c_int, data: c_int) -> c_int;

    pub fn lua_sethook(state: *mut State, hook: Option<Hook>, mask: c_int, count: c_int) -> c_int;
    pub fn lua_allowhook(state: *mut State);
    pub fn lua_getstack(state: *mut State, level: c_int, debug: *mut Debug) -> c_int;
    pub fn lua_getinfo(state: *mut State, what: *const c_char, debug: *mut Debug) -> c_int;

    pub fn luaL_where(state: *mut State, level: c_int);
    pub fn luaL_ref(state: *mut State, at: c_int) -> c_int;
    pub fn luaL_unref(state: *mut State, at: c_int, reference: c_int);

    pub fn luaopen_base(state: *mut State) -> c_int;
    pub fn luaopen_table(state: *mut State) -> c_int;
    pub fn luaopen_string(state: *mut State) -> c_int;
    pub fn luaopen_math(state: *mut State) -> c_int;
}
