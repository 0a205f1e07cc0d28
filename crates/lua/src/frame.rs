//! What native functions work with: the state's stack.
//!
//! A native function finds its arguments at 1 and up, and leaves its results on the top. Arguments stay where they are until it
//! returns, so their bytes may be held meanwhile. Positions below zero count from the top.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;
use std::ptr;

use crate::raw;
use crate::state::{Context, Reference, enter, enter_operation};

/// A function in Rust: how many results it has left on the stack.
pub type Native = fn(&mut Frame<'_>) -> Result<i32, Raised>;

/// An error is on the top of the stack.
#[derive(Debug)]
pub struct Raised;

/// The types of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// There is no value.
    None,
    Nil,
    Boolean,
    LightUserdata,
    Number,
    String,
    Table,
    Function,
    Userdata,
    Thread,
}

impl Kind {
    fn of(tag: i32) -> Kind {
        match tag {
            0 => Kind::Nil,
            1 => Kind::Boolean,
            2 => Kind::LightUserdata,
            3 => Kind::Number,
            4 => Kind::String,
            5 => Kind::Table,
            6 => Kind::Function,
            7 => Kind::Userdata,
            8 => Kind::Thread,
            _ => Kind::None,
        }
    }

    /// As error messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::None => "no value",
            Kind::Nil => "nil",
            Kind::Boolean => "boolean",
            Kind::LightUserdata | Kind::Userdata => "userdata",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Table => "table",
            Kind::Function => "function",
            Kind::Thread => "thread",
        }
    }
}

/// The stack, from the arguments of a function on.
pub struct Frame<'f> {
    state: *mut raw::State,
    context: &'f Context,
    args: i32,
    /// Its arguments may be held as long.
    held: PhantomData<&'f [u8]>,
}

/// Room on the stack that every function has.
const ROOM: i32 = 20;

// Of the functions of C called here none raises an error: the allocator does not fail (`Context::in_rust`), values are of the type
// that a function wants, and there is room on the stack, as callers ask for it where they push more than `ROOM` values.
impl<'f> Frame<'f> {
    pub(crate) fn of(state: *mut raw::State, context: &'f Context) -> Frame<'f> {
        // SAFETY: the state is the context's.
        let args = unsafe { raw::lua_gettop(state) };
        Frame {
            state,
            context,
            args,
            held: PhantomData,
        }
    }

    /// Outside of any function: nothing on the stack has to stay.
    pub(crate) fn outside(state: *mut raw::State, context: &'f Context) -> Frame<'f> {
        Frame {
            args: 0,
            ..Frame::of(state, context)
        }
    }

    pub(crate) fn context(&self) -> &'f Context {
        self.context
    }

    pub(crate) fn state(&self) -> *mut raw::State {
        self.state
    }

    /// How many arguments there are.
    pub fn args(&self) -> i32 {
        self.args
    }

    // --- the stack ---

    pub fn top(&self) -> i32 {
        // SAFETY: see above.
        unsafe { raw::lua_gettop(self.state) }
    }

    /// Takes values off until so many are left, all arguments among them.
    pub fn set_top(&mut self, top: i32) {
        assert!(top >= self.args, "arguments stay");
        // SAFETY: see above.
        unsafe { raw::lua_settop(self.state, top) }
    }

    pub fn pop(&mut self, count: i32) {
        let top = self.top() - count;
        assert!(top >= self.args, "arguments stay");
        // SAFETY: see above.
        unsafe { raw::lua_settop(self.state, top) }
    }

    /// Makes room for so many more values.
    pub fn reserve(&self, more: i32) -> Result<(), Raised> {
        // SAFETY: see above.
        match unsafe { raw::lua_checkstack(self.state, more + ROOM) } {
            0 => Err(self.raise(b"stack overflow")),
            _ => Ok(()),
        }
    }

    /// Pushes a copy of a value.
    pub fn push_copy(&self, at: i32) {
        // SAFETY: see above.
        unsafe { raw::lua_pushvalue(self.state, at) }
    }

    /// Moves the value on the top to a place, those above it up.
    pub fn insert(&mut self, at: i32) {
        assert!(self.absolute(at) > self.args, "arguments stay");
        // SAFETY: see above.
        unsafe { raw::lua_insert(self.state, at) }
    }

    fn absolute(&self, at: i32) -> i32 {
        if at < 0 { self.top() + 1 + at } else { at }
    }

    // --- values ---

    pub fn kind(&self, at: i32) -> Kind {
        // SAFETY: any position will do.
        Kind::of(unsafe { raw::lua_type(self.state, at) })
    }

    pub fn boolean(&self, at: i32) -> bool {
        // SAFETY: see above.
        unsafe { raw::lua_toboolean(self.state, at) != 0 }
    }

    /// A number, or a string that looks like one.
    pub fn number(&self, at: i32) -> Option<f64> {
        // SAFETY: see above.
        unsafe { (raw::lua_isnumber(self.state, at) != 0).then(|| raw::lua_tonumber(self.state, at)) }
    }

    /// The bytes of a string, or of a number, which becomes a string.
    pub fn bytes(&self, at: i32) -> Option<&[u8]> {
        self.bytes_of(at)
    }

    /// The bytes of an argument.
    pub fn argument(&self, at: i32) -> Option<&'f [u8]> {
        assert!(
            (1..=self.args).contains(&at) || self.kind(at) == Kind::None,
            "an argument"
        );
        self.bytes_of(at)
    }

    fn bytes_of<'b>(&self, at: i32) -> Option<&'b [u8]> {
        let mut len = 0;
        // SAFETY: Lua keeps a string as it is while it can be reached. The callers say for how long that is.
        unsafe {
            let begin = raw::lua_tolstring(self.state, at, &mut len);
            (!begin.is_null()).then(|| std::slice::from_raw_parts(begin.cast(), len))
        }
    }

    /// The length of a table, or a string.
    pub fn len(&self, at: i32) -> usize {
        // SAFETY: see above.
        unsafe { raw::lua_objlen(self.state, at) }
    }

    pub fn pointer(&self, at: i32) -> *mut c_void {
        // SAFETY: see above.
        unsafe { raw::lua_touserdata(self.state, at) }
    }

    pub fn push_nil(&self) {
        // SAFETY: see above.
        unsafe { raw::lua_pushnil(self.state) }
    }

    pub fn push_boolean(&self, value: bool) {
        // SAFETY: see above.
        unsafe { raw::lua_pushboolean(self.state, i32::from(value)) }
    }

    pub fn push_number(&self, value: f64) {
        // SAFETY: see above.
        unsafe { raw::lua_pushnumber(self.state, value) }
    }

    pub fn push_bytes(&self, bytes: &[u8]) {
        // SAFETY: see above.
        unsafe { raw::lua_pushlstring(self.state, bytes.as_ptr().cast(), bytes.len()) }
    }

    /// A pointer to nothing: what stands for null where nil cannot.
    pub fn push_null(&self) {
        // SAFETY: see above.
        unsafe { raw::lua_pushlightuserdata(self.state, ptr::null_mut()) }
    }

    pub fn push_native(&self, native: Native) {
        // SAFETY: `enter` takes the function out again.
        unsafe {
            raw::lua_pushlightuserdata(self.state, native as *mut c_void);
            raw::lua_pushcclosure(self.state, enter, 1);
        }
    }

    pub fn push_operation(&self, operation: u32) {
        // SAFETY: `enter_operation` takes the number out again.
        unsafe {
            raw::lua_pushnumber(self.state, f64::from(operation));
            raw::lua_pushcclosure(self.state, enter_operation, 1);
        }
    }

    pub(crate) fn push_c(&self, function: raw::Function) {
        // SAFETY: see above.
        unsafe { raw::lua_pushcclosure(self.state, function, 0) }
    }

    // --- tables, without metatables' say ---

    pub fn new_table(&self, array: usize, records: usize) {
        let count = |count: usize| i32::try_from(count.min(1 << 20)).unwrap_or(0);
        // SAFETY: see above.
        unsafe { raw::lua_createtable(self.state, count(array), count(records)) }
    }

    /// Pushes the value of the key on the top of the stack, in its place.
    pub fn get(&mut self, table: i32) {
        self.assert_table(table);
        // SAFETY: a table, and a key on the stack.
        unsafe { raw::lua_rawget(self.state, table) }
    }

    pub fn get_field(&self, table: i32, name: &str) {
        self.assert_table(table);
        let table = self.absolute(table);
        self.push_bytes(name.as_bytes());
        // SAFETY: a table, and a key on the stack.
        unsafe { raw::lua_rawget(self.state, table) }
    }

    pub fn get_index(&self, table: i32, index: i32) {
        self.assert_table(table);
        // SAFETY: a table.
        unsafe { raw::lua_rawgeti(self.state, table, index) }
    }

    /// Sets the value on the top under the key below it; both are taken off. The key is neither nil nor NaN, the table can be changed.
    pub fn set(&mut self, table: i32) {
        self.assert_table(table);
        self.assert_writable(table);
        let is_key = match self.kind(-2) {
            Kind::Nil | Kind::None => false,
            Kind::Number => self.number(-2).is_some_and(|number| !number.is_nan()),
            _ => true,
        };
        assert!(is_key && self.top() - 2 >= self.args, "a key and a value");
        // SAFETY: a table that can be changed, a key, a value.
        unsafe { raw::lua_rawset(self.state, table) }
    }

    /// Sets a field to the value on the top, which is taken off.
    pub fn set_field(&mut self, table: i32, name: &str) {
        self.assert_table(table);
        self.assert_writable(table);
        assert!(self.top() > self.args, "a value");
        let table = self.absolute(table);
        self.push_bytes(name.as_bytes());
        // SAFETY: a table that can be changed, a value, and a key that is put below it.
        unsafe {
            raw::lua_insert(self.state, -2);
            raw::lua_rawset(self.state, table);
        }
    }

    /// As [`set_field`](Self::set_field), under a number.
    pub fn set_index(&mut self, table: i32, index: i32) {
        self.assert_table(table);
        self.assert_writable(table);
        assert!(self.top() > self.args, "a value");
        // SAFETY: a table that can be changed, and a value.
        unsafe { raw::lua_rawseti(self.state, table, index) }
    }

    /// Walks a table. `visit` finds the key at -2 and the value at -1, leaves the stack as it was, and does not change the table. It may
    /// not make the key a string if it is a number: [`push_copy`](Self::push_copy) it first.
    pub fn for_each<E>(&mut self, table: i32, mut visit: impl FnMut(&mut Self) -> Result<(), E>) -> Result<(), E> {
        self.assert_table(table);
        let table = self.absolute(table);
        self.push_nil();
        // SAFETY: a table that is not changed, and the key that it gave before.
        while unsafe { raw::lua_next(self.state, table) } != 0 {
            visit(self)?;
            self.pop(1);
        }
        Ok(())
    }

    pub fn set_metatable(&mut self, table: i32) {
        self.assert_table(-1);
        self.assert_writable(table);
        // SAFETY: a table on the top.
        unsafe {
            raw::lua_setmetatable(self.state, table);
        }
    }

    /// Pushes a value's metatable; false: it has none, and nothing is pushed.
    pub fn push_metatable(&self, at: i32) -> bool {
        // SAFETY: see above.
        unsafe { raw::lua_getmetatable(self.state, at) != 0 }
    }

    /// Keeps a table from being changed, or lets it again.
    pub fn set_readonly(&mut self, table: i32, is_readonly: bool) {
        self.assert_table(table);
        // SAFETY: a table.
        unsafe { raw::lua_setreadonly(self.state, table, i32::from(is_readonly)) }
    }

    pub fn is_readonly(&self, at: i32) -> bool {
        // SAFETY: any value will do.
        unsafe { raw::lua_isreadonly(self.state, at) != 0 }
    }

    /// Gives a function the table on the top for its globals; it is taken off.
    pub fn set_globals_of(&mut self, function: i32) {
        self.assert_table(-1);
        // SAFETY: a table on the top.
        unsafe {
            raw::lua_setfenv(self.state, function);
        }
    }

    pub fn push_globals(&self) {
        // SAFETY: see above.
        unsafe { raw::lua_pushvalue(self.state, raw::GLOBALS) }
    }

    /// Keeps a value in the state.
    pub fn keep(&self, at: i32) -> Reference {
        self.push_copy(at);
        // SAFETY: a value is on the stack, which is taken off.
        Reference::new(unsafe { raw::luaL_ref(self.state, raw::REGISTRY) })
    }

    fn assert_table(&self, at: i32) {
        assert!(self.kind(at) == Kind::Table, "a table");
    }

    fn assert_writable(&self, at: i32) {
        assert!(!self.is_readonly(at), "a table that can be changed");
    }

    // --- errors ---

    /// Leaves an error's text, as it is.
    pub fn raise(&self, text: &[u8]) -> Raised {
        self.push_bytes(text);
        Raised
    }

    /// Leaves an error's text, with the place in front that has called this function.
    pub fn raise_here(&self, text: &str) -> Raised {
        // SAFETY: see above.
        unsafe { raw::luaL_where(self.state, 1) };
        let mut whole = self.bytes_of(-1).unwrap_or_default().to_vec();
        whole.extend_from_slice(text.as_bytes());
        self.push_bytes(&whole);
        Raised
    }

    /// Says what is wrong with an argument.
    pub fn bad_argument(&self, at: i32, what: &str) -> Raised {
        let mut at = at;
        let mut debug = new_debug();
        // SAFETY: the running function is level 0; its names are strings of C's, or null.
        let (name, is_method) = unsafe {
            if raw::lua_getstack(self.state, 0, &mut debug) == 0 {
                return self.raise_here(&format!("bad argument #{at} ({what})"));
            }
            raw::lua_getinfo(self.state, c"n".as_ptr(), &mut debug);
            (
                text_of(debug.name).unwrap_or("?"),
                text_of(debug.namewhat) == Some("method"),
            )
        };
        if is_method {
            at -= 1;
            if at == 0 {
                return self.raise_here(&format!("calling '{name}' on bad self ({what})"));
            }
        }
        self.raise_here(&format!("bad argument #{at} to '{name}' ({what})"))
    }

    pub fn wrong_type(&self, at: i32, wanted: &str) -> Raised {
        self.bad_argument(at, &format!("{wanted} expected, got {}", self.kind(at).name()))
    }

    /// A number that has to be there.
    pub fn check_number(&self, at: i32) -> Result<f64, Raised> {
        self.number(at).ok_or_else(|| self.wrong_type(at, "number"))
    }

    /// A string that has to be there.
    pub fn check_bytes(&self, at: i32) -> Result<&'f [u8], Raised> {
        match at <= self.args {
            true => self.bytes_of(at).ok_or_else(|| self.wrong_type(at, "string")),
            false => Err(self.wrong_type(at, "string")),
        }
    }

    /// Gives way, and fails where the script has to end.
    pub fn tick(&self) -> Result<(), Raised> {
        match self.context.look() {
            true => Ok(()),
            false => Err(self.raise(b"the script has been ended")),
        }
    }

    /// Fails where the script may not hold so much more, outside of its state.
    pub fn ensure(&self, more: usize) -> Result<(), Raised> {
        if let Err(stop) = governor::ensure(more) {
            return Err(self.stopped(stop));
        }
        match self.context.has_room(more) {
            true => Ok(()),
            false => Err(self.raise(b"not enough memory")),
        }
    }

    /// Ends the script, for a reason that its runner knows.
    pub fn end(&self) -> Raised {
        self.context.end();
        self.raise(b"the script has been ended")
    }

    /// Ends the script.
    pub fn stopped(&self, stop: governor::Stop) -> Raised {
        self.context.note(stop);
        self.raise(b"the script has been ended")
    }

    /// Where the function at a level is: its source and the line that runs.
    pub fn place(&self, level: i32) -> Option<Place> {
        let mut debug = new_debug();
        // SAFETY: a level that is there; its names are strings of C's.
        unsafe {
            if raw::lua_getstack(self.state, level, &mut debug) == 0 {
                return None;
            }
            raw::lua_getinfo(self.state, c"Sl".as_ptr(), &mut debug);
            let bytes = |text: *const _| CStr::from_ptr(text).to_bytes();
            Some(Place {
                source: bytes(debug.source).to_vec(),
                line: debug.currentline,
                is_c: bytes(debug.what) == b"C",
            })
        }
    }
}

/// A place in a script.
pub struct Place {
    pub source: Vec<u8>,
    pub line: i32,
    pub is_c: bool,
}

fn new_debug() -> raw::Debug {
    raw::Debug {
        event: 0,
        name: ptr::null(),
        namewhat: ptr::null(),
        what: ptr::null(),
        source: ptr::null(),
        currentline: 0,
        nups: 0,
        linedefined: 0,
        lastlinedefined: 0,
        short_src: [0; 60],
        i_ci: 0,
    }
}

/// # Safety
/// A string of C's that lives long enough, or null.
unsafe fn text_of<'t>(text: *const std::ffi::c_char) -> Option<&'t str> {
    // SAFETY: the caller's promise.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("?"))
}
