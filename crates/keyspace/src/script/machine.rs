//! States of Lua: each thread has some, of which a script that runs has one for itself.
//!
//! There are two kinds, with different globals: those that run scripts, and those that run functions. A state keeps what it has
//! compiled. The memory that it holds between two scripts is nobody's; what a script adds while it runs is its session's.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;

use governor::hashing::FastHashing;
use lua::{Frame, Limits, Lua, Raised, Reference};

use super::api;
use super::cache::{Script, Sha};
use super::libraries::Loaded;

/// Idle states of a kind that a thread keeps.
const IDLE_MAX: usize = 4;
/// A state that holds more after a script is cleaned, or let go.
const HELD_MAX: usize = 2 << 20;
/// Compiled scripts that a state keeps.
const COMPILED_MAX: usize = 1000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Scripts,
    Functions,
}

pub struct Machine {
    pub kind: Kind,
    pub lua: Lua,
    compiled: HashMap<Sha, Reference, FastHashing>,
    /// Of the cache whose scripts these are.
    generation: u64,
    /// The libraries of functions.
    pub loaded: Loaded,
    /// Where the functions' globals come from: see [`api::make_library_globals`].
    pub library_globals: Option<api::LibraryGlobals>,
    /// What it holds that is not a session's.
    disowned: i64,
}

thread_local! {
    static IDLE: RefCell<Vec<Machine>> = const { RefCell::new(Vec::new()) };
}

impl Machine {
    pub fn new(kind: Kind) -> Machine {
        let mut lua = Lua::new();
        api::open(&mut lua, kind);
        let library_globals = (kind == Kind::Functions).then(|| api::make_library_globals(&mut lua));
        lua::library::protect_all(&mut lua.frame());
        Machine {
            kind,
            lua,
            compiled: HashMap::default(),
            generation: 0,
            loaded: Loaded::default(),
            library_globals,
            disowned: 0,
        }
    }

    /// One of this thread's, or a new one.
    pub fn take(kind: Kind) -> Machine {
        let idle = IDLE.with_borrow_mut(|idle| {
            let at = idle.iter().rposition(|machine| machine.kind == kind)?;
            Some(idle.swap_remove(at))
        });
        idle.unwrap_or_else(|| Machine::new(kind))
    }

    /// Gives it back, for the next script. Not one whose script had to end.
    pub fn give_back(mut self) {
        self.frame().set_top(0);
        if self.lua.held() > HELD_MAX {
            self.lua.collect();
        }
        let is_room =
            IDLE.with_borrow(|idle| idle.iter().filter(|machine| machine.kind == self.kind).count() < IDLE_MAX);
        if !is_room || self.lua.held() > 2 * HELD_MAX {
            return;
        }
        let held = self.lua.held() as i64;
        governor::disown(held - self.disowned);
        self.disowned = held;
        governor::given_away(|| IDLE.with_borrow_mut(|idle| idle.push(self)));
    }

    /// Pushes what a script has compiled to; an error's text is on the stack instead.
    pub fn push_script(&mut self, script: &Script, generation: u64) -> Result<(), Raised> {
        if self.generation != generation || self.compiled.len() >= COMPILED_MAX {
            self.generation = generation;
            for (_, reference) in self.compiled.drain() {
                self.lua.forget(reference);
            }
        }
        if let Some(reference) = self.compiled.get(&script.sha) {
            self.lua.push_kept(reference);
            return Ok(());
        }
        const NAME: &CStr = c"@user_script";
        self.lua.compile(&script.source[script.begin..], NAME)?;
        let reference = self.lua.keep();
        self.lua.push_kept(&reference);
        self.compiled.insert(script.sha, reference);
        Ok(())
    }

    pub fn begin(&mut self, limits: Limits) {
        self.lua.begin(limits);
    }

    pub fn frame(&self) -> Frame<'_> {
        self.lua.frame()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // What its memory is freed from was not the session's.
        governor::disown(-self.disowned);
    }
}
