//! Scripts on fibers: they take turns, hear that they have to end, and can be dropped in their middle.

use std::cell::Cell;
use std::future::Future as _;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use fiber::{Fiber, Suspender};
use governor::{Governor, Interrupt, Runner, Stop, turn};
use lua::{Callee, Ended, Frame, Limits, Lua, Raised};

struct Nobody;

impl Callee for Nobody {
    fn call(&mut self, _operation: u32, frame: &mut Frame<'_>) -> Result<i32, Raised> {
        frame.tick()?;
        Ok(0)
    }
}

struct Turns<'s> {
    suspender: &'s Suspender<'s>,
    taken: Rc<Cell<u32>>,
    is_interrupted: Rc<Cell<bool>>,
}

impl Runner for Turns<'_> {
    fn yield_now(&self) {
        self.taken.set(self.taken.get() + 1);
        let mut has_yielded = false;
        self.suspender.wait(pin!(std::future::poll_fn(|_| {
            match std::mem::replace(&mut has_yielded, true) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })));
    }

    fn interrupted(&self) -> Option<Interrupt> {
        self.is_interrupted.get().then_some(Interrupt::KillQuery)
    }
}

fn limits() -> Limits {
    Limits {
        memory: 16 << 20,
        ..Limits::default()
    }
}

/// A script as it runs on a fiber of its own; what it came to.
struct Running {
    fiber: Fiber<(Option<Ended>, String)>,
    taken: Rc<Cell<u32>>,
    is_interrupted: Rc<Cell<bool>>,
}

fn run(script: &'static str, held: Option<Rc<()>>) -> Running {
    let (taken, is_interrupted) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let (taken_inside, interrupted_inside) = (taken.clone(), is_interrupted.clone());
    let fiber = Fiber::new(move |suspender: &Suspender| {
        let _held = held;
        let turns = Turns {
            suspender,
            taken: taken_inside,
            is_interrupted: interrupted_inside,
        };
        let governor = Governor::new(&turns).with_stack(suspender.bounds);
        governor.run(|| {
            governor::begin_statement(1 << 30);
            let mut lua = Lua::new();
            let mut frame = lua.frame();
            frame.push_globals();
            frame.push_operation(0);
            frame.set_field(-2, "operation");
            lua::library::protect_all(&mut frame);
            lua.begin(limits());
            lua.compile(script.as_bytes(), c"@test").expect("it compiles");
            let ran = lua.run(0, 1, &mut Nobody);
            let ended = lua.ended();
            let frame = lua.frame();
            if ran.is_err() && frame.kind(-1) == lua::Kind::Table {
                frame.get_field(-1, "err");
            }
            let text = String::from_utf8_lossy(frame.bytes(-1).unwrap_or_default()).into_owned();
            (ended, text)
        })
    });
    Running {
        fiber: fiber.expect("a stack"),
        taken,
        is_interrupted,
    }
}

impl Running {
    fn poll(&mut self) -> Poll<(Option<Ended>, String)> {
        Pin::new(&mut self.fiber).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn finish(mut self) -> (Option<Ended>, String) {
        loop {
            if let Poll::Ready(end) = self.poll() {
                return end;
            }
        }
    }
}

const ENDLESS: &[&str] = &[
    "while true do end",
    "while true do pcall(function() while true do end end) end",
    "while true do operation() end",
    "while true do pcall(operation) end",
    "local co = coroutine.wrap(function() while true do end end) co()",
    "while true do coroutine.resume(coroutine.create(function() while true do pcall(error) end end)) end",
    "return string.find(string.rep('a', 100000), '.-.-.-.-b')",
    "return string.gsub('x', 'x', function() while true do end end)",
    "while true do local s = string.rep('x', 1000000) .. 'y' end",
    "local t = {} for i = 1, 100000 do t[i] = i end while true do table.sort(t) end",
    "local t = {} for i = 1, 10000 do t[i] = i end while true do cjson.decode(cjson.encode(t)) end",
    "local s = 'return 1' .. string.rep('+1', 100000) while true do loadstring(s) end",
    "setmetatable({}, {__index = function() while true do end end}).x()",
    "xpcall(function() while true do end end, function() while true do end end)",
    "while true do collectgarbage() end",
];

#[test]
fn a_script_takes_turns_and_hears_that_it_has_to_end() {
    turn::watch_this_thread();
    for script in ENDLESS {
        let mut running = run(script, None);
        while running.taken.get() < 5 {
            assert!(running.poll().is_pending(), "{script}");
        }
        running.is_interrupted.set(true);
        let (ended, _) = running.finish();
        assert_eq!(
            ended,
            Some(Ended::Stop(Stop::Interrupt(Interrupt::KillQuery))),
            "{script}"
        );
    }
}

#[test]
fn a_script_that_is_dropped_in_its_middle_leaves_nothing() {
    turn::watch_this_thread();
    for script in ENDLESS {
        let held = Rc::new(());
        let mut running = run(script, Some(held.clone()));
        while running.taken.get() < 3 {
            assert!(running.poll().is_pending(), "{script}");
        }
        assert_eq!(Rc::strong_count(&held), 2);
        drop(running);
        assert_eq!(Rc::strong_count(&held), 1, "{script}");
    }
}

#[test]
fn scripts_of_one_thread_do_not_see_each_other() {
    turn::count_on_this_thread(1);
    let counts = "local n = 0 for i = 1, 100000 do n = n + 1 end return n";
    let mut all: Vec<Running> = (0..8).map(|_| run(counts, None)).collect();
    let mut ends = Vec::new();
    while !all.is_empty() {
        all.retain_mut(|running| match running.poll() {
            Poll::Ready(end) => {
                ends.push(end);
                false
            }
            Poll::Pending => true,
        });
    }
    assert_eq!(ends, vec![(None, "100000".to_owned()); 8]);
}

#[test]
fn deep_recursion_and_too_much_memory_are_errors() {
    turn::watch_this_thread();
    for (script, text) in [
        ("local function f() return 1 + f() end return f()", "stack overflow"),
        (
            "local f f = function() return string.gsub('x', 'x', f) end return f()",
            "C stack overflow",
        ),
        (
            "return string.find(string.rep('a', 100000), string.rep('a?', 100000))",
            "pattern too complex",
        ),
        (
            "return loadstring(string.rep('(', 100000))()",
            "attempt to call a nil value",
        ),
        (
            "local p = {} for i = 1, 190 do p[i] = 'p' .. i end \
             local f = loadstring('return function(' .. table.concat(p, ',') .. ', ...) local a, b, c return select(\"#\", ...) end')() \
             for i = 1, 1000 do f() f(1, 2, 3) coroutine.wrap(f)() end error('fine')",
            "fine",
        ),
        ("return cjson.decode(string.rep('[', 100000))", "too many nested"),
        ("local t = {} t[1] = t return cjson.encode(t)", "excessive nesting"),
    ] {
        let (ended, error) = run(script, None).finish();
        assert!(ended.is_none() && error.contains(text), "{script}: {ended:?} {error}");
    }
    for script in [
        "return string.rep('x', 1e9)",
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "while true do pcall(function() local s = 'x' while true do s = s .. s end end) end",
    ] {
        let (ended, _) = run(script, None).finish();
        assert_eq!(ended, Some(Ended::Memory), "{script}");
    }
}
