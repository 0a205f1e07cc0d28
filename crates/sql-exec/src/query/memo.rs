//! Rows of correlated aggregates, kept by what of the rows around decides them.

use governor::stepwise::Map;
use sql_expr::Expr;
use sql_expr::aggregate::write_group_key;
use types::{CollationId, SqlResult, Value};

use super::{QueryContext, row_bytes};
use crate::runtime::QueryMemory;

/// It is looked at after so many questions whether enough of them were asked before.
const TRIED: u64 = 16 << 10;
/// One of so many must have been.
const LEAST_SHARE: u64 = 8;

/// The memory is looked at after so many bytes, and so many are left to others.
const STEP: usize = 64 << 10;
const BESIDE: usize = 256 << 10;

/// What was computed for the rows around so far.
pub struct Memo {
    rows: Map<Vec<u8>, Vec<Value>>,
    memory: QueryMemory,
    /// About what it holds, and held when the memory was looked at last.
    bytes: usize,
    looked_at: usize,
    asked: u64,
    known: u64,
    /// It does not pay, or there is no memory for it.
    is_given_up: bool,
}

impl Memo {
    pub fn new(ctx: &QueryContext<'_>) -> Memo {
        Memo {
            rows: Map::new(),
            memory: ctx.runtime.query_memory(),
            bytes: 0,
            looked_at: 0,
            asked: 0,
            known: 0,
            is_given_up: false,
        }
    }

    pub fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    pub fn find(&mut self, key: &Vec<u8>) -> Option<&[Value]> {
        self.asked += 1;
        if self.asked >= TRIED && self.known * LEAST_SHARE < self.asked {
            self.give_up();
        }
        let found = self.rows.get(key).map(Vec::as_slice);
        self.known += u64::from(found.is_some());
        found
    }

    pub fn keep(&mut self, key: Vec<u8>, row: Vec<Value>) {
        let more = key.len() + row_bytes(&row) + 48;
        self.bytes += more;
        let mut has_room = self.memory.grow(more).is_ok();
        if self.bytes - self.looked_at >= STEP {
            self.looked_at = self.bytes;
            // The table doubles as it grows.
            has_room &= governor::ensure(self.bytes / 2 + BESIDE).is_ok();
        }
        if has_room {
            self.rows.insert(key, row);
        } else {
            self.give_up();
        }
    }

    fn give_up(&mut self) {
        self.rows = Map::new();
        self.is_given_up = true;
    }
}

/// The values of the columns of the rows around, byte by byte.
pub fn key_of(columns: &[Expr], ctx: &QueryContext<'_>) -> SqlResult<Vec<u8>> {
    let mut key = Vec::new();
    for column in columns {
        write_group_key(&column.eval(&[], ctx)?, CollationId::BINARY, &mut key);
    }
    Ok(key)
}
