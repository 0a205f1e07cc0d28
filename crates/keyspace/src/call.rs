//! One command that works on keys, and how it reads its arguments.

use std::sync::Arc;

use redis_wire::Reply;
use redis_wire::number::{parse_f64, parse_i64};

use crate::failure::{Outcome, not_float, not_integer, syntax};
use crate::tables::Db;
use crate::work::{Class, Work};

/// A running command.
pub struct Call<'c, 'w> {
    pub work: &'c mut Work<'w>,
    pub db: Arc<Db>,
    /// Its name first.
    pub args: &'c [&'c [u8]],
    pub reply: &'c mut Reply,
    /// Whether it may wait for keys. Not in a transaction or a script.
    pub may_block: bool,
}

impl<'c> Call<'c, '_> {
    pub fn arg(&self, at: usize) -> &'c [u8] {
        self.args[at]
    }

    pub fn integer(&self, at: usize) -> Outcome<i64> {
        parse_i64(self.args[at]).ok_or_else(not_integer)
    }

    pub fn float(&self, at: usize) -> Outcome<f64> {
        parse_f64(self.args[at]).ok_or_else(not_float)
    }

    /// Whether an argument is this word, in any case.
    pub fn is(&self, at: usize, word: &str) -> bool {
        is_word(self.args[at], word)
    }

    /// The arguments from one on, to be looked through for options.
    pub fn options(&self, from: usize) -> Options<'c> {
        Options {
            args: self.args,
            at: from,
        }
    }

    pub fn note(&mut self, class: Class, name: &'static str, key: &[u8]) {
        let db = self.db.clone();
        self.work.note(class, name, &db, key);
    }
}

pub fn is_word(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

/// Options, one after the other.
pub struct Options<'c> {
    args: &'c [&'c [u8]],
    at: usize,
}

impl<'c> Iterator for Options<'c> {
    type Item = &'c [u8];

    fn next(&mut self) -> Option<&'c [u8]> {
        let arg = self.args.get(self.at).copied();
        self.at += usize::from(arg.is_some());
        arg
    }
}

impl<'c> Options<'c> {
    /// The next argument, without which the option before it makes no sense.
    pub fn value(&mut self) -> Outcome<&'c [u8]> {
        self.next().ok_or_else(syntax)
    }

    pub fn integer(&mut self) -> Outcome<i64> {
        parse_i64(self.value()?).ok_or_else(not_integer)
    }

    pub fn float(&mut self) -> Outcome<f64> {
        parse_f64(self.value()?).ok_or_else(not_float)
    }

    /// What is left.
    pub fn rest(&self) -> &'c [&'c [u8]] {
        &self.args[self.at..]
    }

    pub fn is_empty(&self) -> bool {
        self.at >= self.args.len()
    }
}
