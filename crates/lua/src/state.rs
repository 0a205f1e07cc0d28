//! States: their memory, the scripts that run in them, and how those end.
//!
//! Lua's errors jump over whatever frames are between (`longjmp`). Rust's must not be among them. So native functions run with
//! [`Context::in_rust`] set: then the allocator does not fail and nothing ticks, which leaves no function of C that they call a reason
//! to raise an error; and they return their own errors, which [`enter`] raises when all of their values are gone. The other way
//! round, a panic (among them the end of a fiber that is dropped while it waits) is caught before it reaches C, and goes on when the
//! script has ended.

#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::hash_map::RandomState;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::hash::BuildHasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use governor::Stop;

use crate::frame::{Frame, Native, Raised};
use crate::json::JsonSettings;
use crate::raw;

/// Instructions between two ticks.
const STRIDE: c_int = 100;
/// A block of more is asked for: Lua will copy it, or fill it, without a tick.
const LARGE: usize = 16 << 10;
/// Source that the parser gets in one go.
const PIECE: usize = 16 << 10;
/// All of Lua's values may stand here.
const ALIGN: usize = 16;

/// Why a script had to end. It cannot catch that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By its governor.
    Stop(Stop),
    /// Its state holds more than it may.
    Memory,
    /// Somebody has set [`Limits::killed`].
    Killed,
    /// [`Limits::deadline`] has passed.
    Late,
    /// By its runner ([`Frame::end`]).
    Callee,
    /// A panic, which goes on.
    Panic,
}

/// What a script may take, and how others end it.
#[derive(Default)]
pub struct Limits {
    /// Bytes that the state may hold.
    pub memory: usize,
    pub killed: Option<Arc<AtomicBool>>,
    pub deadline: Option<Instant>,
}

/// Who answers the functions that a runner adds to a state ([`Frame::push_operation`]).
pub trait Callee {
    /// Does what the operation stands for: arguments and results are as for a [`Native`].
    fn call(&mut self, operation: u32, frame: &mut Frame<'_>) -> Result<i32, Raised>;
}

/// What belongs to a state, besides what Lua keeps.
pub(crate) struct Context {
    held: Cell<usize>,
    limit: Cell<usize>,
    in_rust: Cell<bool>,
    ended: Cell<Option<Ended>>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
    killed: RefCell<Option<Arc<AtomicBool>>>,
    deadline: Cell<Option<Instant>>,
    callee: Cell<Option<NonNull<dyn Callee>>>,
    random: Cell<u64>,
    /// Where scripts' first random numbers come from.
    seeds: Cell<u64>,
    pub json: Cell<JsonSettings>,
}

impl Context {
    /// Whether the script may go on. Lets others run if it is time.
    fn tick(&self) -> bool {
        self.in_rust.get() || self.look()
    }

    /// As [`tick`](Self::tick), from Rust too.
    pub(crate) fn look(&self) -> bool {
        if self.ended.get().is_none() {
            let is_killed = |killed: &Arc<AtomicBool>| killed.load(Ordering::Relaxed);
            if self.killed.borrow().as_ref().is_some_and(is_killed) {
                self.ended.set(Some(Ended::Killed));
            } else if self.deadline.get().is_some_and(|deadline| Instant::now() > deadline) {
                self.ended.set(Some(Ended::Late));
            } else if self.held.get() > self.limit.get() {
                self.ended.set(Some(Ended::Memory));
            } else {
                self.guard(governor::tick);
            }
        }
        self.ended.get().is_none()
    }

    /// Whether so much more may be held, by Rust.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        let has_room = self.held.get().saturating_add(more) <= self.limit.get();
        if !has_room && self.ended.get().is_none() {
            self.ended.set(Some(Ended::Memory));
        }
        has_room
    }

    /// Does what may end the script, or panic.
    fn guard(&self, work: impl FnOnce() -> Result<(), Stop>) {
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => {}
            Ok(Err(stop)) => self.ended.set(Some(Ended::Stop(stop))),
            Err(panic) => self.keep_panic(panic),
        }
    }

    fn keep_panic(&self, panic: Box<dyn Any + Send>) {
        self.ended.set(Some(Ended::Panic));
        *self.panic.borrow_mut() = Some(panic);
    }

    fn may_grow(&self, more: usize) -> bool {
        if self.in_rust.get() {
            return true;
        }
        if self.held.get().saturating_add(more) > self.limit.get() {
            // What is ending already needs a little for its error.
            if self.ended.get().is_none() {
                self.ended.set(Some(Ended::Memory));
                return false;
            }
            return more < LARGE;
        }
        if more < LARGE {
            return true;
        }
        if self.ended.get().is_none() {
            self.guard(|| {
                governor::ensure(more)?;
                governor::tick()
            });
        }
        self.ended.get().is_none()
    }

    /// The next 31 bits of the linear congruence that C calls `lrand48`.
    fn next_random(&self) -> c_int {
        let next = self.random.get().wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & ((1 << 48) - 1);
        self.random.set(next);
        (next >> 17) as c_int
    }

    /// Has a script find other numbers than the one before, whatever that did.
    fn seed_anew(&self) {
        let next = self.seeds.get().wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        self.seeds.set(next);
        self.random.set(next >> 16);
    }

    fn seed(&self, seed: i32) {
        self.random.set(u64::from(seed as u32) << 16 | 0x330E);
    }

    /// Runs a part of Rust's, in which nothing of Lua's fails.
    pub(crate) fn as_rust<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = self.in_rust.replace(true);
        let result = work();
        self.in_rust.set(before);
        result
    }

    /// Runs a part of Lua's, under a protected call.
    pub(crate) fn as_lua<R>(&self, work: impl FnOnce() -> R) -> R {
        let before = self.in_rust.replace(false);
        let result = work();
        self.in_rust.set(before);
        result
    }

    pub(crate) fn held(&self) -> usize {
        self.held.get()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.get().is_some()
    }

    pub(crate) fn end(&self) {
        self.ended.set(Some(Ended::Callee));
    }

    pub(crate) fn note(&self, stop: Stop) {
        self.ended.set(Some(Ended::Stop(stop)));
    }
}

/// The context of a state.
///
/// # Safety
/// The state is one of [`Lua`]'s, whose context lives as long.
pub(crate) unsafe fn context_of<'c>(state: *mut raw::State) -> &'c Context {
    let mut data = ptr::null_mut();
    // SAFETY: the caller's promise; a state's allocator is given its context.
    unsafe {
        raw::lua_getallocf(state, &mut data);
        &*data.cast::<Context>()
    }
}

/// # Safety
/// As Lua calls it: `data` is the context, `block` one of ours of `old` bytes, or null.
unsafe extern "C" fn allocate(data: *mut c_void, block: *mut c_void, old: usize, new: usize) -> *mut c_void {
    // SAFETY: `Lua::new` gives the context with this function.
    let context = unsafe { &*data.cast::<Context>() };
    let old = if block.is_null() { 0 } else { old };
    let size = |bytes: usize| governor::allocated_size(bytes) as usize;
    let layout = |bytes: usize| Layout::from_size_align(bytes, ALIGN).ok();
    if new == 0 {
        if let Some(layout) = layout(old).filter(|_| old > 0) {
            // SAFETY: allocated below, with this layout.
            unsafe { dealloc(block.cast(), layout) };
            context.held.set(context.held.get() - size(old));
        }
        return ptr::null_mut();
    }
    if new > old && !context.may_grow(new - old) {
        return ptr::null_mut();
    }
    let (Some(old_layout), Some(new_layout)) = (layout(old), layout(new)) else {
        return ptr::null_mut();
    };
    // SAFETY: neither layout is empty where it is used; the block has the old one.
    let moved = unsafe {
        match old {
            0 => alloc(new_layout),
            _ => realloc(block.cast(), old_layout, new),
        }
    };
    if moved.is_null() {
        if context.in_rust.get() {
            handle_alloc_error(new_layout);
        }
        return ptr::null_mut();
    }
    context.held.set(context.held.get() - size(old) + size(new));
    moved.cast()
}

/// Has a script that has ended fail: now, and at each instruction that it still comes to.
///
/// # Safety
/// Called from C, with nothing of Rust's between that has to be dropped.
unsafe fn fail(state: *mut raw::State) {
    const TEXT: &CStr = c"the script has been ended";
    // SAFETY: the caller's promise.
    unsafe {
        raw::lua_sethook(state, Some(hook), raw::MASK_COUNT, 1);
        raw::lua_allowhook(state);
        raw::lua_pushlstring(state, TEXT.as_ptr(), TEXT.count_bytes());
        raw::lua_error(state);
    }
}

unsafe extern "C-unwind" fn hook(state: *mut raw::State, _: *mut raw::Debug) {
    // SAFETY: set by `Lua::new` and `fail`, in states of ours.
    unsafe {
        if !context_of(state).tick() {
            fail(state);
        }
    }
}

/// What C calls in its long loops and deep recursions.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn luai_tick(state: *mut raw::State) {
    // SAFETY: C gives the state that it runs in.
    unsafe {
        let context = context_of(state);
        if !context.tick() {
            fail(state);
        }
        if !context.in_rust.get() && governor::descend().is_err() {
            const TEXT: &CStr = c"stack overflow";
            raw::lua_pushlstring(state, TEXT.as_ptr(), TEXT.count_bytes());
            raw::lua_error(state);
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn luai_random(state: *mut raw::State) -> c_int {
    // SAFETY: as above.
    unsafe { context_of(state) }.next_random()
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn luai_randomseed(state: *mut raw::State, seed: c_int) {
    // SAFETY: as above.
    unsafe { context_of(state) }.seed(seed);
}

/// Nothing of Lua's fails outside of a protected call; see the story above.
unsafe extern "C-unwind" fn unprotected(_: *mut raw::State) -> c_int {
    std::process::abort()
}

/// A native function's way in from C: its first upvalue is the function.
pub(crate) unsafe extern "C-unwind" fn enter(state: *mut raw::State) -> c_int {
    // SAFETY: `set_native` made the closure. When `run_native` returns, all that it made is dropped, and `lua_error` jumps over this frame alone.
    unsafe {
        let function = raw::lua_touserdata(state, raw::upvalue(1));
        let native = std::mem::transmute::<*mut c_void, Native>(function);
        match run_native(state, native) {
            Some(results) => results,
            None => raw::lua_error(state),
        }
    }
}

/// An operation's way in from C: its first upvalue is its number.
pub(crate) unsafe extern "C-unwind" fn enter_operation(state: *mut raw::State) -> c_int {
    // SAFETY: as for `enter`.
    unsafe {
        let operation = raw::lua_tonumber(state, raw::upvalue(1)) as u32;
        match run_operation(state, operation) {
            Some(results) => results,
            None => raw::lua_error(state),
        }
    }
}

/// # Safety
/// Called from C in a state of ours.
unsafe fn run_native(state: *mut raw::State, native: Native) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let context = unsafe { context_of(state) };
    run_guarded(state, context, native)
}

/// # Safety
/// Called from C in a state of ours.
unsafe fn run_operation(state: *mut raw::State, operation: u32) -> Option<c_int> {
    // SAFETY: the caller's promise.
    let context = unsafe { context_of(state) };
    run_guarded(state, context, |frame| {
        // Taken away meanwhile, so that nobody else has it.
        let Some(mut callee) = context.callee.take() else {
            return Err(frame.raise(b"not now"));
        };
        // SAFETY: `Lua::run` put it there, which borrows it until the script has ended.
        let result = unsafe { callee.as_mut() }.call(operation, frame);
        context.callee.set(Some(callee));
        result
    })
}

/// Runs a function of Rust's that is called from C. None: there is an error on the stack.
fn run_guarded(
    state: *mut raw::State,
    context: &Context,
    function: impl FnOnce(&mut Frame<'_>) -> Result<i32, Raised>,
) -> Option<c_int> {
    context.as_rust(|| {
        let mut frame = Frame::of(state, context);
        if context.has_ended() {
            frame.raise(b"the script has been ended");
            return None;
        }
        if let Err(stop) = governor::descend() {
            context.note(stop);
            frame.raise(b"stack overflow");
            return None;
        }
        match catch_unwind(AssertUnwindSafe(|| function(&mut frame))) {
            Ok(Ok(results)) => Some(results),
            Ok(Err(Raised)) => None,
            Err(panic) => {
                context.keep_panic(panic);
                Frame::of(state, context).raise(b"the script has been ended");
                None
            }
        }
    })
}

/// A value that is kept in a state.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Reference(c_int);

impl Reference {
    pub(crate) fn new(reference: c_int) -> Reference {
        Reference(reference)
    }
}

/// A state.
pub struct Lua {
    state: *mut raw::State,
    context: Box<Context>,
}

impl Lua {
    /// A state with the libraries of scripts. All tables that it has can be changed until [`protect`](crate::library::protect).
    pub fn new() -> Lua {
        let context = Box::new(Context {
            held: Cell::new(0),
            limit: Cell::new(usize::MAX),
            in_rust: Cell::new(true),
            ended: Cell::new(None),
            panic: RefCell::new(None),
            killed: RefCell::new(None),
            deadline: Cell::new(None),
            callee: Cell::new(None),
            random: Cell::new(0),
            seeds: Cell::new(RandomState::new().hash_one(0)),
            json: Cell::new(JsonSettings::default()),
        });
        // SAFETY: the context stays where it is as long as the state lives.
        let state = unsafe {
            let data = ptr::from_ref(&*context).cast_mut().cast();
            let state = raw::lua_newstate(allocate, data);
            assert!(!state.is_null(), "the allocator does not fail here");
            raw::lua_atpanic(state, unprotected);
            raw::lua_sethook(state, Some(hook), raw::MASK_COUNT, STRIDE);
            state
        };
        let lua = Lua { state, context };
        crate::library::open(&mut lua.frame());
        lua
    }

    /// What works outside of scripts.
    pub fn frame(&self) -> Frame<'_> {
        Frame::outside(self.state, &self.context)
    }

    /// Bytes that the state holds.
    pub fn held(&self) -> usize {
        self.context.held.get()
    }

    /// Keeps the value on the top of the stack, which is taken off.
    pub fn keep(&mut self) -> Reference {
        // SAFETY: a value is on the stack, and the allocator does not fail here.
        Reference(unsafe { raw::luaL_ref(self.state, raw::REGISTRY) })
    }

    pub fn push_kept(&mut self, reference: &Reference) {
        // SAFETY: the registry is a table.
        unsafe { raw::lua_rawgeti(self.state, raw::REGISTRY, reference.0) }
    }

    pub fn forget(&mut self, reference: Reference) {
        // SAFETY: the reference is of this state.
        unsafe { raw::luaL_unref(self.state, raw::REGISTRY, reference.0) }
    }

    /// Compiles source; the function is on the stack then, or the error's text.
    pub fn compile(&mut self, source: &[u8], name: &CStr) -> Result<(), Raised> {
        let mut rest = source;
        let data = ptr::from_mut(&mut rest).cast();
        // SAFETY: the reader is given what it takes; errors come back as a status.
        let status = self
            .context
            .as_lua(|| unsafe { raw::lua_load(self.state, read, data, name.as_ptr()) });
        match status {
            0 => Ok(()),
            _ => Err(Raised),
        }
    }

    /// Begins a script: nothing has ended it yet, and it finds what every script does.
    pub fn begin(&mut self, limits: Limits) {
        let context = &*self.context;
        context.limit.set(limits.memory);
        *context.killed.borrow_mut() = limits.killed;
        context.deadline.set(limits.deadline);
        context.ended.set(None);
        context.seed_anew();
        context.json.set(JsonSettings::default());
        self.frame().set_top(0);
        // SAFETY: the state is ours, and no script runs in it.
        unsafe { raw::lua_sethook(self.state, Some(hook), raw::MASK_COUNT, STRIDE) };
    }

    /// Calls the function under so many arguments on the stack. Its results, or its error after [`library::explain`], are there then.
    ///
    /// [`library::explain`]: crate::library
    pub fn run(&mut self, args: i32, results: i32, callee: &mut dyn Callee) -> Result<(), Raised> {
        // SAFETY: it is taken away below, before the borrow ends.
        let callee =
            unsafe { std::mem::transmute::<NonNull<dyn Callee + '_>, NonNull<dyn Callee>>(NonNull::from(callee)) };
        let before = self.context.callee.replace(Some(callee));
        // SAFETY: the function and its arguments are on the stack.
        let status = unsafe {
            let function = raw::lua_gettop(self.state) - args;
            raw::lua_pushcclosure(self.state, crate::library::explain, 0);
            raw::lua_insert(self.state, function);
            let call = || raw::lua_pcall(self.state, args, results, function);
            let status = self.context.as_lua(call);
            raw::lua_remove(self.state, function);
            status
        };
        self.context.callee.set(before);
        if status == raw::ERROR_OF_MEMORY && self.context.ended.get().is_none() {
            self.context.ended.set(Some(Ended::Memory));
        }
        match status {
            0 => Ok(()),
            _ => Err(Raised),
        }
    }

    /// Why the script had to end, where it had to. The state should not be used any more then. A panic goes on.
    pub fn ended(&self) -> Option<Ended> {
        if let Some(panic) = self.context.panic.take() {
            resume_unwind(panic);
        }
        self.context.ended.get()
    }

    /// Frees what scripts have left, step by step.
    pub fn collect(&mut self) {
        // SAFETY: without finalizers, collecting runs no code; nothing fails.
        unsafe {
            raw::lua_gc(self.state, raw::GC_COLLECT, 0);
        }
    }
}

impl Default for Lua {
    fn default() -> Lua {
        Lua::new()
    }
}

impl Drop for Lua {
    fn drop(&mut self) {
        // SAFETY: no script runs in it; closing frees what it holds.
        unsafe { raw::lua_close(self.state) }
    }
}

/// Gives the parser its source in pieces, with a tick before each.
unsafe extern "C-unwind" fn read(state: *mut raw::State, data: *mut c_void, len: *mut usize) -> *const c_char {
    // SAFETY: `compile` gives a slice of the source, and Lua a place for the length.
    unsafe {
        let rest = &mut *data.cast::<&[u8]>();
        if !context_of(state).tick() {
            fail(state);
        }
        let (piece, behind) = rest.split_at(rest.len().min(PIECE));
        *rest = behind;
        *len = piece.len();
        piece.as_ptr().cast()
    }
}
