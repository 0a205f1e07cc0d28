//! How answers leave.

use std::sync::Arc;

use sql::host::{BlockingHost, Host};
use sql::result::{Done, ResultEnd, ResultShape, ResultSink, ServerStatus};
use types::{RowLayout, SqlError, SqlResult, Value};

use crate::common::Database;

/// Has room for ten answers.
#[derive(Default)]
struct Small {
    held: usize,
    most_held: usize,
    answers: usize,
}

impl ResultSink for Small {
    fn columns(&mut self, _shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, _values: &[Value]) -> SqlResult<()> {
        Ok(())
    }

    fn stored_row(&mut self, _layout: &RowLayout, _row: &[u8], _projection: &[usize]) -> SqlResult<()> {
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.held >= 10
    }

    fn flush(&mut self, _host: &dyn Host) -> Result<(), SqlError> {
        self.held = 0;
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> SqlResult<()> {
        (self.held, self.answers) = (self.held + 1, self.answers + 1);
        self.most_held = self.most_held.max(self.held);
        Ok(())
    }
}

/// A packet of many statements has as many answers. They leave as they come, and are not collected.
#[test]
fn the_answers_of_many_statements_leave_as_they_come() {
    let mut database = Database::open();
    let mut client = database.session();
    let mut sink = Small::default();
    let text = "DO 1;".repeat(100) + "  ;; ";
    client
        .session
        .query(text.as_bytes(), &BlockingHost, &mut sink)
        .expect("they succeed");
    assert_eq!((sink.answers, sink.most_held), (100, 10));
}
