//! What a statement did, and how that becomes its answer: warnings before, counters and the end of the result after.

use parser::ast::Statement;
use types::{Severity, SqlResult};

use super::Session;
use crate::exec::Answer;
use crate::result::{Done, ResultEnd, ResultSink, ServerStatus};
use crate::statement_class::{Diagnostics, class_of};

impl Session {
    /// Wraps the work of a statement: warnings before, counters and the end of the answer after.
    pub(super) fn answer(
        &mut self,
        statement: &Statement,
        more: ServerStatus,
        sink: &mut dyn ResultSink,
        work: impl FnOnce(&mut Session, &mut dyn ResultSink) -> SqlResult<Answer>,
    ) -> SqlResult<()> {
        let class = class_of(statement);
        let keeps_warnings = class.diagnostics == Diagnostics::Kept;
        self.engine.statistics().count(class.counted_as);
        if !keeps_warnings {
            self.warnings.clear();
        }
        self.state.explicit_insert_id.set(None);
        self.state.automatic_insert_id.set(None);
        let answer = self.check_standing(statement).and_then(|()| work(self, sink));
        let told_id = self.note_insert_id();
        match answer {
            Ok(Answer::Rows { found }) => {
                self.state.row_count.set(-1);
                if !keeps_warnings {
                    self.state.found_rows.set(found);
                }
                // What SHOW WARNINGS tells of is not its own.
                let warnings = if keeps_warnings { 0 } else { self.warning_count() };
                sink.end(ResultEnd {
                    warnings,
                    status: self.status().with(more),
                })
            }
            Ok(Answer::Done(done)) => self.send_done(done, more, sink),
            Ok(Answer::Changed { done, last_id }) => {
                let last_insert_id = told_id.or(last_id).unwrap_or(0);
                self.send_done(Done { last_insert_id, ..done }, more, sink)
            }
            Err(error) => {
                self.state.row_count.set(-1);
                self.warnings.push(Severity::Error, error.clone());
                Err(error)
            }
        }
    }

    fn send_done(&mut self, mut done: Done, more: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.state.row_count.set(done.affected_rows as i64);
        done.warnings = self.warning_count();
        done.status = self.status().with(more).with(done.status);
        sink.ok(done)
    }

    /// Takes over the id that a statement made or set, also if it failed.
    fn note_insert_id(&self) -> Option<u64> {
        let explicit = self.state.explicit_insert_id.take();
        let id = self.state.automatic_insert_id.take().or(explicit)?;
        self.state.last_insert_id.set(id);
        Some(id)
    }
}
