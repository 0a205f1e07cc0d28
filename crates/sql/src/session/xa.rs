//! XA transactions: a session's own from XA START to XA PREPARE, and those that are prepared, which are nobody's.
//!
//! ```text
//!   ─ START ─▶ ACTIVE ─ END ─▶ IDLE ─ PREPARE ─▶ (prepared, of no session) ─ COMMIT, ROLLBACK, by any session ─▶
//!                │  ◀─ RESUME ─┘ └─ COMMIT ONE PHASE, ROLLBACK ─▶
//!                └─ deadlock ─▶ ROLLBACK ONLY ─ ROLLBACK ─▶
//! ```
//!
//! While a session is in one of these states its transaction ends by no other statement: COMMIT, ROLLBACK and whatever commits implicitly fail with 1399,
//! because [`SessionTransaction::commit`](super::transaction::SessionTransaction) refuses it. Statements that use tables are for ACTIVE ones alone.
//!
//! What is prepared lies in rows of the shard ([`shard::PreparedTransaction`]): it outlives its session and its node, and `XA RECOVER` tells of it on
//! all nodes. A session that prepares goes on at once (`xa_detach_on_prepare`).

use std::cell::RefCell;
use std::sync::Arc;

use catalog::{DynamicPrivilege, Privileges};
use env::Feature;
use parser::ast::{self, Xa, XaJoin};
use shard::{PREPARED, PreparedName, prepared_specs};
use store::{LockKey, LockMode};
use transaction::{Decision, Transaction, TransactionError};
use types::{CollationId, ErrorKind, SqlError, SqlResult, SqlType, Value};

use super::{Session, wait_for_commit};
use crate::ddl;
use crate::errors::{StatementError, is_for_another_leader};
use crate::exec::Answer;
use crate::failpoint;
use crate::host::Host;
use crate::plan::Planned;
use crate::result::{ResultColumn, ResultSink, ServerStatus};
use crate::show::send;

/// Whose holder makes the tables of prepared transactions.
const TABLES: LockKey<'static> = LockKey::Name(b"prepared transactions");

/// So many may be prepared at the same time.
const MOST_PREPARED: u64 = 1 << 16;

/// A number that a name has where none is given.
const FORMAT: u64 = 1;

/// The XA transaction of a session.
pub struct XaTransaction {
    name: PreparedName,
    state: XaState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XaState {
    Active,
    Idle,
    RollbackOnly,
}

impl XaState {
    /// As errors call it.
    fn name(self) -> &'static str {
        match self {
            XaState::Active => "ACTIVE",
            XaState::Idle => "IDLE",
            XaState::RollbackOnly => "ROLLBACK ONLY",
        }
    }
}

impl XaTransaction {
    /// 1399: not in this state.
    pub fn refuses(&self) -> SqlError {
        refused(self.state.name())
    }

    /// Its changes and locks are gone.
    pub fn is_rolled_back(&mut self) {
        self.state = XaState::RollbackOnly;
    }

    /// Of a statement that uses tables.
    fn check_use(&self) -> SqlResult<()> {
        match self.state {
            XaState::Active => Ok(()),
            XaState::Idle => Err(self.refuses()),
            XaState::RollbackOnly => Err(ErrorKind::XaRbdeadlock.into()),
        }
    }

    /// 1399 while it is open.
    pub fn check_open(&self) -> SqlResult<()> {
        match self.state {
            XaState::Active => Ok(()),
            XaState::Idle | XaState::RollbackOnly => Err(self.refuses()),
        }
    }
}

fn refused(state: &str) -> SqlError {
    SqlError::new(ErrorKind::XaerRmfail, &[&state])
}

fn name_of(xid: &ast::Xid) -> PreparedName {
    PreparedName::new(
        &xid.gtrid,
        xid.bqual.as_deref().unwrap_or_default(),
        xid.format_id.unwrap_or(FORMAT),
    )
}

impl Session {
    pub(super) fn xa(
        &mut self,
        xa: &Xa,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        match xa {
            Xa::Start { xid, join } => self.xa_start(name_of(xid), *join, host)?,
            Xa::End { xid, suspend } => self.xa_end(&name_of(xid), suspend.is_some())?,
            Xa::Prepare(xid) => self.xa_prepare(&name_of(xid), host)?,
            Xa::Commit { xid, one_phase } => self.xa_commit(&name_of(xid), *one_phase, host)?,
            Xa::Rollback(xid) => self.xa_rollback(&name_of(xid), host)?,
            Xa::Recover { convert_xid } => return self.xa_recover(*convert_xid, status, host, sink),
        }
        Ok(Answer::done())
    }

    fn xa_start(&mut self, name: PreparedName, join: Option<XaJoin>, host: &dyn Host) -> SqlResult<()> {
        match (join, self.transaction.xa_mut()) {
            (Some(XaJoin::Resume), Some(xa)) if xa.state == XaState::Idle => {
                if xa.name != name {
                    return Err(ErrorKind::XaerNota.into());
                }
                xa.state = XaState::Active;
                return Ok(());
            }
            (Some(XaJoin::Join | XaJoin::Resume), _) => return Err(ErrorKind::XaerInval.into()),
            (None, Some(xa)) => return Err(xa.refuses()),
            (None, None) => {}
        }
        if self.transaction.in_transaction() || self.table_locks.has_tables() {
            return Err(ErrorKind::XaerOutside.into());
        }
        if self.transaction.reads_past_next() {
            return Err(SqlError::not_supported("XA transactions of the past"));
        }
        self.check_level(Feature::PreparedTransactions, "XA transactions")?;
        self.make_tables_of_prepared(host)?;
        let settings = &self.variables.settings;
        self.transaction.start_xa(&self.engine, settings);
        let taken = {
            let transaction = self.transaction.current().expect("begun above");
            let runtime = ddl::runtime(&self.engine, host, transaction, settings);
            runtime.with_locks(|transaction| transaction.take_name(&name))
        };
        match taken {
            Ok(_) => {
                self.transaction.set_xa(XaTransaction {
                    name,
                    state: XaState::Active,
                });
                Ok(())
            }
            Err(error) => {
                self.transaction.rollback();
                Err(match error {
                    StatementError::Transaction(TransactionError::LockNotAvailable) => ErrorKind::XaerDupid.into(),
                    error => error.into_sql_named("XA"),
                })
            }
        }
    }

    fn xa_end(&mut self, name: &PreparedName, suspends: bool) -> SqlResult<()> {
        if suspends {
            return Err(ErrorKind::XaerInval.into());
        }
        let xa = self.own_xa(name, |state| state != XaState::Idle)?;
        // After a deadlock it says why nothing is left to be ended.
        xa.check_use()?;
        xa.state = XaState::Idle;
        Ok(())
    }

    /// The session's XA transaction, in a state that the statement is for.
    fn own_xa(&mut self, name: &PreparedName, fits: impl FnOnce(XaState) -> bool) -> SqlResult<&mut XaTransaction> {
        let Some(xa) = self.transaction.xa_mut() else {
            return Err(refused("NON-EXISTING"));
        };
        match fits(xa.state) {
            false => Err(xa.refuses()),
            true if xa.name == *name => Ok(xa),
            true => Err(ErrorKind::XaerNota.into()),
        }
    }

    fn xa_prepare(&mut self, name: &PreparedName, host: &dyn Host) -> SqlResult<()> {
        self.own_xa(name, |state| state == XaState::Idle)?;
        let prepared = self.engine.participant().store().table(PREPARED);
        if prepared.is_some_and(|table| table.estimated_rows() >= MOST_PREPARED) {
            return Err(ErrorKind::XaerRmerr.into());
        }
        failpoint::hit("xa.preparing")?;
        // From here on it is prepared, or rolled back.
        let Some(transaction) = self.transaction.take_xa() else {
            return Err(ErrorKind::XaRbrollback.into());
        };
        let preparing = transaction.prepare(name.clone()).map_err(|error| match error {
            TransactionError::Memory(_) => SqlError::new(ErrorKind::RecordFileFull, &[&"XA"]),
            _ => ErrorKind::XaRbrollback.into(),
        })?;
        wait_for_commit(preparing, host).map_err(|error| match is_for_another_leader(&error) {
            true => ErrorKind::XaRbdeadlock.into(),
            false => error,
        })?;
        failpoint::hit("xa.prepared")
    }

    fn xa_commit(&mut self, name: &PreparedName, one_phase: bool, host: &dyn Host) -> SqlResult<()> {
        match self.transaction.xa_mut() {
            None => self.decide(name, Decision::Commit, host),
            Some(xa) if xa.name != *name => Err(xa.refuses()),
            Some(xa) => match xa.state {
                XaState::RollbackOnly => {
                    self.transaction.take_xa();
                    Err(ErrorKind::XaRbdeadlock.into())
                }
                XaState::Idle if one_phase => self.transaction.commit_xa(host),
                XaState::Idle | XaState::Active => Err(xa.refuses()),
            },
        }
    }

    fn xa_rollback(&mut self, name: &PreparedName, host: &dyn Host) -> SqlResult<()> {
        match self.transaction.xa_mut() {
            None => self.decide(name, Decision::RollBack, host),
            Some(xa) if xa.name != *name => Err(xa.refuses()),
            Some(xa) => match xa.state {
                XaState::Active => Err(xa.refuses()),
                XaState::Idle | XaState::RollbackOnly => {
                    if let Some(transaction) = self.transaction.take_xa() {
                        host.wait(std::pin::pin!(transaction.rolled_back()));
                    }
                    Ok(())
                }
            },
        }
    }

    /// Ends a prepared transaction. It is tried again while leaders come and go, as nothing was done then.
    fn decide(&mut self, name: &PreparedName, decision: Decision, host: &dyn Host) -> SqlResult<()> {
        if self.transaction.in_transaction() {
            return Err(refused("NON-EXISTING"));
        }
        self.while_leads_change(host, |session| session.decide_once(name, decision, host))
    }

    fn decide_once(&mut self, name: &PreparedName, decision: Decision, host: &dyn Host) -> SqlResult<()> {
        let transaction = RefCell::new(self.engine.begin());
        let settings = &self.variables.settings;
        {
            let runtime = ddl::runtime(&self.engine, host, &transaction, settings);
            runtime
                .with_locks(|transaction| transaction.lock_decision(name))
                .map_err(|error| error.into_sql_named("XA"))?;
        }
        self.wait_for_newest(host)?;
        let transaction: Transaction = transaction.into_inner();
        let unreadable = |error: shard::Unreadable| SqlError::internal(error);
        let prepared = transaction.prepared(name).map_err(unreadable)?;
        let Some(prepared) = prepared.filter(|prepared| prepared.name == *name) else {
            return Err(ErrorKind::XaerNota.into());
        };
        failpoint::hit("xa.deciding")?;
        let deciding = transaction.decide(&prepared, decision).map_err(unreadable)?;
        drop(prepared);
        wait_for_commit(deciding, host)
    }

    fn xa_recover(
        &mut self,
        converts: bool,
        status: ServerStatus,
        host: &dyn Host,
        sink: &mut dyn ResultSink,
    ) -> SqlResult<Answer> {
        let may_see = [DynamicPrivilege::XA_RECOVER_ADMIN];
        if !self.access().has_any(Privileges::NONE, &may_see) {
            return Err(ErrorKind::XaerRmerr.into());
        }
        self.wait_for_newest(host)?;
        let names = PreparedName::all(self.engine.participant().store()).map_err(SqlError::internal)?;
        let data = match converts {
            true => SqlType::varchar(258, CollationId::DEFAULT),
            false => SqlType::varchar(128, CollationId::DEFAULT),
        };
        let columns = vec![
            ResultColumn::computed("formatID", SqlType::bigint().not_null()),
            ResultColumn::computed("gtrid_length", SqlType::bigint().not_null()),
            ResultColumn::computed("bqual_length", SqlType::bigint().not_null()),
            ResultColumn::computed("data", data),
        ];
        let row = |name: PreparedName| {
            let (global, branch) = (name.global.len(), name.branch.len());
            let data = [name.global, name.branch].concat();
            let data = match converts {
                true => {
                    let digits: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
                    format!("0x{digits}").into_bytes()
                }
                false => data,
            };
            vec![
                Value::Int(name.format as i64),
                Value::Int(global as i64),
                Value::Int(branch as i64),
                Value::bytes(&data),
            ]
        };
        send(columns, names.into_iter().map(row).collect(), status, sink)
    }

    /// The tables that prepared transactions lie in, made by the first XA transaction.
    fn make_tables_of_prepared(&self, host: &dyn Host) -> SqlResult<()> {
        let are_there = || self.engine.participant().store().table(PREPARED).is_some();
        if are_there() {
            return Ok(());
        }
        let making = RefCell::new(self.engine.begin());
        ddl::runtime(&self.engine, host, &making, &self.variables.settings)
            .lock_definition(TABLES, LockMode::Exclusive)?;
        self.wait_for_newest(host)?;
        if are_there() {
            return Ok(());
        }
        let mut making = making.into_inner();
        for spec in prepared_specs() {
            making.create_table(spec);
        }
        wait_for_commit(making.commit(), host)
    }

    /// A plan as the session's XA transaction takes it: 1399 and 1614 for those of tables after its end, 4091 for temporary tables.
    pub(super) fn check_in_xa(&self, plan: &Arc<Planned>) -> SqlResult<()> {
        let Some(xa) = self.transaction.xa() else { return Ok(()) };
        if plan.plan.is_without_tables() && plan.uses.tables.is_empty() {
            return Ok(());
        }
        xa.check_use()?;
        match plan.uses.temporary {
            true => Err(ErrorKind::XaTempTable.into()),
            false => Ok(()),
        }
    }

    /// As [`check_in_xa`](Self::check_in_xa), of a table that is looked at by its name.
    pub(super) fn check_table_in_xa(&self) -> SqlResult<()> {
        self.transaction.xa().map_or(Ok(()), XaTransaction::check_use)
    }

    /// 4091: XA transactions make and drop no temporary tables.
    pub(crate) fn check_temporary_in_xa(&self) -> SqlResult<()> {
        match self.transaction.xa() {
            Some(_) => Err(ErrorKind::XaTempTable.into()),
            None => Ok(()),
        }
    }
}
