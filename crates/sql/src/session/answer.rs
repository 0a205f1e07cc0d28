//! What a statement did, and how that becomes its answer: warnings before, counters and the end of the result after.

use parser::ast::Statement;
use types::SqlResult;

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
        self.answer_within(statement, more, sink, |session, sink| {
            session.check_standing(statement)?;
            work(session, sink)
        })
    }

    /// As [`answer`](Self::answer), for a statement that the client has not sent itself: it is part of another one.
    pub(crate) fn answer_within(
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
            self.programs.epoch += 1;
        }
        // What stays is not its own.
        let kept = self.warnings.count();
        self.state.explicit_insert_id.set(None);
        self.state.automatic_insert_id.set(None);
        let answer = work(self, sink);
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
            Ok(Answer::Done(done)) => {
                let row_count = self.state.row_count.get();
                let sent = self.send_done(done, kept, more, sink);
                // GET DIAGNOSTICS tells of the statement before it, as often as it is asked.
                if keeps_warnings {
                    self.state.row_count.set(row_count);
                }
                sent
            }
            Ok(Answer::Changed { done, last_id }) => {
                let last_insert_id = told_id.or(last_id).unwrap_or(0);
                self.send_done(Done { last_insert_id, ..done }, kept, more, sink)
            }
            Err(error) => {
                self.state.row_count.set(-1);
                self.note_error(&error);
                Err(error)
            }
        }
    }

    fn send_done(&mut self, mut done: Done, kept: u64, more: ServerStatus, sink: &mut dyn ResultSink) -> SqlResult<()> {
        self.state.row_count.set(done.affected_rows as i64);
        let own = self.warnings.count().saturating_sub(kept);
        done.warnings = u16::try_from(own).unwrap_or(u16::MAX);
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
