//! A session for tests of expressions: everything that functions ask for, from memory.

pub mod long_calls;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use parser::ast::VarScope;
use sql::expr::context::{RandomState, UserVariable};
use sql::expr::{EvalContext, Services};
use types::error::{ErrorKind, SqlError};
use types::{SqlResult, SqlType, Value};

#[derive(Debug)]
pub struct TestSession {
    random: RandomState,
    last_insert_id: Cell<u64>,
    variables: RefCell<HashMap<String, UserVariable>>,
    locks: RefCell<HashMap<String, u64>>,
    uuid_short: Cell<u64>,
}

impl Default for TestSession {
    fn default() -> TestSession {
        TestSession {
            random: RandomState::new(1, 2),
            last_insert_id: Cell::new(0),
            variables: RefCell::default(),
            locks: RefCell::default(),
            uuid_short: Cell::new(1),
        }
    }
}

impl Services for TestSession {
    fn connection_id(&self) -> u64 {
        7
    }

    fn user(&self) -> String {
        "root@localhost".to_owned()
    }

    fn current_user(&self) -> String {
        "root@%".to_owned()
    }

    fn database(&self) -> Option<String> {
        None
    }

    fn version(&self) -> String {
        "8.0.36".to_owned()
    }

    fn last_insert_id(&self) -> u64 {
        self.last_insert_id.get()
    }

    fn set_last_insert_id(&self, id: u64) {
        self.last_insert_id.set(id);
    }

    fn row_count(&self) -> i64 {
        -1
    }

    fn found_rows(&self) -> u64 {
        1
    }

    fn user_variable(&self, name: &str) -> Option<UserVariable> {
        self.variables.borrow().get(name).cloned()
    }

    fn set_user_variable(&self, name: &str, variable: UserVariable) {
        self.variables.borrow_mut().insert(name.to_owned(), variable);
    }

    fn system_variable(&self, _scope: Option<VarScope>, name: &str) -> SqlResult<(Value, SqlType)> {
        match name {
            "autocommit" => Ok((Value::Int(1), SqlType::bigint().not_null())),
            "max_allowed_packet" => Ok((Value::UInt(64 << 20), SqlType::bigint_unsigned().not_null())),
            _ => Err(SqlError::new(ErrorKind::UnknownSystemVariable, &[&name])),
        }
    }

    fn random(&self) -> &RandomState {
        &self.random
    }

    fn clock_micros(&self) -> i64 {
        1_700_000_000_123_456
    }

    fn random_bytes(&self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = (self.random.next() * 256.0) as u8;
        }
    }

    fn uuid_short(&self) -> u64 {
        self.uuid_short.set(self.uuid_short.get() + 1);
        self.uuid_short.get()
    }

    fn sleep(&self, _duration: Duration) -> SqlResult<bool> {
        Ok(false)
    }

    fn get_lock(&self, name: &str, _timeout: Option<Duration>) -> SqlResult<bool> {
        *self.locks.borrow_mut().entry(name.to_owned()).or_default() += 1;
        Ok(true)
    }

    fn release_lock(&self, name: &str) -> SqlResult<Option<bool>> {
        let mut locks = self.locks.borrow_mut();
        let Some(count) = locks.get_mut(name) else {
            return Ok(None);
        };
        *count -= 1;
        if *count == 0 {
            locks.remove(name);
        }
        Ok(Some(true))
    }

    fn release_all_locks(&self) -> SqlResult<u64> {
        Ok(self.locks.borrow_mut().drain().map(|(_, count)| count).sum())
    }

    fn lock_holder(&self, name: &str) -> SqlResult<Option<u64>> {
        Ok(self.locks.borrow().contains_key(name).then_some(7))
    }
}

/// The value as the text protocol has it, escaped as the `mariadb` client does in batch mode.
pub fn printed(value: &Value, ty: &SqlType, _ctx: &EvalContext<'_>) -> String {
    if value.is_null() {
        return "NULL".to_owned();
    }
    let mut bytes = Vec::new();
    value.as_ref().write_typed_text(ty, &mut bytes);
    let mut escaped = Vec::new();
    for byte in bytes {
        match byte {
            b'\t' => escaped.extend_from_slice(b"\\t"),
            b'\n' => escaped.extend_from_slice(b"\\n"),
            b'\\' => escaped.extend_from_slice(b"\\\\"),
            0 => escaped.extend_from_slice(b"\\0"),
            other => escaped.push(other),
        }
    }
    lossy(&escaped)
}

/// Bytes that are not UTF-8 as `\xHH`.
fn lossy(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}
