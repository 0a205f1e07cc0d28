//! `AS OF TIMESTAMP`: at which moment of the past a statement, or a transaction, reads.

use std::sync::Arc;
use std::time::Duration;

use parser::ast;
use sql_expr::{BindOptions, Binder, NoColumns};
use store::TooOld;
use transaction::{PastMoment, commit_nothing};
use types::time::UnixTime;
use types::{ErrorKind, SqlError, SqlResult, Timestamp, Value};

use super::Session;
use super::parameters::Parameters;
use super::statement::LEADER_PATIENCE;
use crate::errors::{commit_error, interrupted, is_for_another_leader};
use crate::host::Host;
use crate::plan::Planned;
use crate::waiting::{pause_for, until};

/// How far the leader's clock may be behind this node's.
const CLOCKS_APART: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(1);

impl Session {
    /// The moment that a plan reads at; `None`: now. 8135 where it names two, or one that is none.
    pub(super) fn moment_of(
        &mut self,
        planned: &Planned,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<Option<PastMoment>> {
        let [first, others @ ..] = planned.uses.as_of.as_slice() else {
            return Ok(None);
        };
        // An INSERT reads in a transaction of its own.
        if self.transaction.in_transaction() && planned.uses.past_source.is_none() {
            return Err(invalid(&"as of timestamp can't be set in transaction."));
        }
        let at = self.moment(first, parameters, host)?;
        for other in others {
            if self.moment(other, parameters, host)? != at {
                return Err(invalid(&"can not set different time in the as of"));
            }
        }
        self.past(at, host).map(Some)
    }

    /// What was visible at the moment that an expression says.
    pub(super) fn past_of(
        &mut self,
        tree: &ast::Expr,
        parameters: Parameters<'_>,
        host: &dyn Host,
    ) -> SqlResult<PastMoment> {
        let at = self.moment(tree, parameters, host)?;
        self.past(at, host)
    }

    /// A constant expression as a moment, in the session's time zone.
    fn moment(&mut self, tree: &ast::Expr, parameters: Parameters<'_>, host: &dyn Host) -> SqlResult<UnixTime> {
        let time = ast::Expr::Cast(Box::new(ast::Cast {
            operand: tree.clone(),
            target: ast::DataType {
                length: Some(6),
                ..ast::DataType::plain(ast::TypeName::DateTime)
            },
            array: false,
            at_time_zone: None,
        }));
        let collation = self.variables.settings.expressions.collation;
        let types = parameters.types(collation);
        let value = self.with_context(host, parameters, |_, ctx| {
            let options = BindOptions { params: &types };
            let bound = Binder::new(&mut NoColumns, ctx.eval(), options).bind(&time)?;
            bound.eval(&[], &ctx.eval())
        })?;
        let moment = match value {
            Value::DateTime(local) => self.variables.settings.expressions.time_zone.to_unix(local),
            _ => None,
        };
        let moment = moment.filter(|moment| moment.micros > 0);
        moment.ok_or_else(|| invalid(&"it is no date and time"))
    }

    /// What was visible at the end of the moment's millisecond. Waits until that is over.
    fn past(&mut self, at: UnixTime, host: &dyn Host) -> SqlResult<PastMoment> {
        if at.micros > self.engine.clock_micros() {
            return Err(invalid(&"cannot set read timestamp to a future time."));
        }
        let ms = at.micros as u64 / 1000;
        let engine = Arc::clone(&self.engine);
        let participant = engine.participant();
        let moment = PastMoment::new(participant, Timestamp::at_end_of_wall_ms(ms));
        let moment = moment.map_err(|too_old| self.too_old(at, too_old))?;
        let clock = &engine.env().clock;
        let began = clock.monotonic();
        let elapsed = || clock.monotonic().saturating_sub(began);
        while !moment.is_over(participant) {
            if engine.clock_micros() as u64 / 1000 > ms {
                let committed = until(commit_nothing(participant), "Waiting for the newest commits", host);
                match committed.map_err(interrupted)?.map_err(|error| commit_error(&error)) {
                    Ok(_) if moment.is_over(participant) => break,
                    Ok(_) if elapsed() > CLOCKS_APART => {
                        return Err(invalid(&"the leader's clock has not come to it"));
                    }
                    Err(error) if !is_for_another_leader(&error) || elapsed() > LEADER_PATIENCE => {
                        return Err(error);
                    }
                    Ok(_) | Err(_) => {}
                }
            }
            pause_for(TICK, host)?;
        }
        Ok(moment)
    }

    fn too_old(&self, at: UnixTime, too_old: TooOld) -> SqlError {
        let zone = &self.variables.settings.expressions.time_zone;
        let shown = |micros| zone.to_local(UnixTime { micros, fsp: 3 });
        let oldest = too_old.oldest.wall_ms() as i64 * 1000;
        SqlError::new(ErrorKind::PastNotKept, &[&shown(oldest), &shown(at.micros)])
    }
}

/// What reads the past may neither change nor lock anything (1792), nor read a table that was defined anew after the moment (1412): what is
/// known of it now is not what was then.
pub(super) fn check_plan(planned: &Planned, at: Timestamp) -> SqlResult<()> {
    if planned.plan.is_change() || planned.plan.is_locking_read() {
        return Err(ErrorKind::CantExecuteInReadOnlyTransaction.into());
    }
    check_tables(planned, at)
}

pub(super) fn check_tables(planned: &Planned, at: Timestamp) -> SqlResult<()> {
    let is_newer = |table: &Arc<crate::table::Table>| !table.id().is_local() && table.def.visible_from > at;
    match planned.uses.past_tables().iter().any(is_newer) {
        true => Err(ErrorKind::TableDefChanged.into()),
        false => Ok(()),
    }
}

/// 8135
fn invalid(what: &dyn std::fmt::Display) -> SqlError {
    SqlError::new(ErrorKind::InvalidAsOf, &[what])
}
