//! What a session shares with the parts of its running statement ([`part_of_statement`](super::Session::part_of_statement)).
//!
//! A session moves from thread to thread between statements. While one runs, its parts have what is shared, too; they borrow the session, so
//! that it cannot move, and end with the statement.
#![allow(unsafe_code)]

use std::ops::Deref;
use std::rc::Rc;

/// A value of a session that the parts of its statements have, too.
#[derive(Default)]
pub struct Shared<T>(Rc<T>);

// SAFETY: The counter is touched by one thread at a time. Whoever holds the same value beside the session is a part of its running statement: it
// lives in `ProgramsOfStatement`, which borrows the session. So a session that moves to another thread is the only holder.
unsafe impl<T: Send> Send for Shared<T> {}

impl<T> Shared<T> {
    pub fn new(value: T) -> Shared<T> {
        Shared(Rc::new(value))
    }

    /// The same value for a part of the running statement.
    pub(crate) fn for_part(&self) -> Shared<T> {
        Shared(Rc::clone(&self.0))
    }

    /// The value alone; `None` while a part has it.
    pub(super) fn into_inner(self) -> Option<T> {
        Rc::into_inner(self.0)
    }

    /// As [`into_inner`](Self::into_inner), to change it.
    pub(super) fn get_mut(&mut self) -> Option<&mut T> {
        Rc::get_mut(&mut self.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}
