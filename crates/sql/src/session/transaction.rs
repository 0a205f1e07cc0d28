//! A session's transaction: when it begins, ends, and what a failed statement leaves of it.

use std::cell::RefCell;
use std::time::Duration;

use parser::ast::{self, AccessMode, EndTransaction};
use shard::{Freshness, ProposeError};
use store::LocalStore;
use transaction::{self, Durability, Options, PastMoment, Savepoint, Transaction, WriteRule};
use types::{ErrorKind, SqlError, SqlResult, Timestamp};

use super::shared::Shared;
use super::xa::XaTransaction;
use crate::engine::Engine;
use crate::errors::commit_error;
use crate::failpoint;
use crate::host::Host;
use crate::variables::{Isolation, Settings};

/// The transaction of a session, open or not.
#[derive(Default)]
pub struct SessionTransaction {
    open: Option<Open>,
    /// What is open is an XA transaction, or was until it was rolled back.
    xa: Option<Box<XaTransaction>>,
    /// `SET TRANSACTION` without a scope: for the next transaction only.
    next: Characteristics,
    /// It is a running statement's: it is not ended here.
    is_part: bool,
    /// Whose it is.
    connection: u32,
    /// Rows that commits have changed.
    committed_rows: u64,
    /// Where the session's temporary tables are, once there was one.
    local: Option<LocalStore>,
    /// Where the query of the running INSERT reads the past.
    past_source: Option<RefCell<Transaction>>,
}

/// What `SET TRANSACTION` sets.
#[derive(Debug, Default)]
struct Characteristics {
    isolation: Option<Isolation>,
    read_only: Option<bool>,
    durability: Option<Durability>,
    /// `AS OF TIMESTAMP`: what it reads.
    moment: Option<PastMoment>,
}

struct Open {
    /// Shared with the parts of a running statement.
    transaction: Shared<RefCell<Transaction>>,
    /// Begun by BEGIN or by a statement with autocommit off: goes on after the statement.
    explicit: bool,
    read_only: bool,
    savepoints: Vec<(String, Savepoint)>,
    /// What a rollback cannot take back.
    stays: Stays,
}

/// Definitions of temporary tables that a transaction has made or dropped.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stays {
    pub created: bool,
    pub dropped: bool,
}

impl Open {
    fn into_transaction(self) -> Transaction {
        let alone = self.transaction.into_inner();
        alone.expect("the parts of a statement end with it").into_inner()
    }
}

impl SessionTransaction {
    pub fn of(connection: u32) -> SessionTransaction {
        SessionTransaction {
            connection,
            ..SessionTransaction::default()
        }
    }

    /// The transaction for a part of the running statement.
    pub fn part(&self) -> SessionTransaction {
        let open = self.open.as_ref().map(|open| Open {
            transaction: open.transaction.for_part(),
            explicit: true,
            read_only: open.read_only,
            savepoints: Vec::new(),
            stays: Stays::default(),
        });
        SessionTransaction {
            open,
            is_part: true,
            ..SessionTransaction::default()
        }
    }

    /// Whether it is another statement's, which ends it.
    pub fn is_part(&self) -> bool {
        self.is_part
    }

    /// Whether a transaction is open that outlives its statements.
    pub fn in_transaction(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.explicit)
    }

    /// Rows that were changed so far, in the open transaction too.
    pub fn changed_rows(&self) -> u64 {
        let open = self.open.as_ref();
        let uncommitted = open.map_or(0, |open| open.transaction.borrow().changed_rows());
        self.committed_rows + uncommitted as u64
    }

    /// The SERVER_STATUS_IN_TRANS_READONLY flag.
    pub fn is_read_only(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.explicit && open.read_only)
    }

    /// What a rollback of the open transaction would not take back.
    pub fn stays(&self) -> Stays {
        let open = self.open.as_ref().filter(|open| open.explicit);
        open.map_or(Stays::default(), |open| open.stays)
    }

    /// A temporary table was made.
    pub fn note_created(&mut self) {
        if let Some(open) = &mut self.open {
            open.stays.created = true;
        }
    }

    /// A temporary table was dropped.
    pub fn note_dropped(&mut self) {
        if let Some(open) = &mut self.open {
            open.stays.dropped = true;
        }
    }

    /// The transaction for a statement that uses tables; begins one if there is none. With autocommit off it goes on after it.
    pub fn for_statement(&mut self, engine: &Engine, settings: &Settings) -> &RefCell<Transaction> {
        if self.open.is_none() {
            self.begin(engine, settings, !settings.autocommit, None);
        }
        &self.open.as_ref().expect("begun above").transaction
    }

    /// The transaction for a statement without tables. One that is begun for it ends with it, and what was set for the next one stays.
    pub fn for_expressions(&mut self, engine: &Engine, settings: &Settings) -> &RefCell<Transaction> {
        if self.open.is_none() {
            self.begin_with(Characteristics::default(), engine, settings, false, None);
        }
        &self.open.as_ref().expect("begun above").transaction
    }

    /// What the next statement has to wait for, so that it sees every commit that anybody was told of: where it takes a new snapshot.
    /// `None`: nothing.
    #[inline]
    pub fn freshness(&self, engine: &Engine) -> Option<Freshness> {
        match &self.open {
            // What it sees is the statement's.
            Some(_) if self.is_part => None,
            Some(open) => open.transaction.borrow().freshness(),
            None if self.next.moment.is_some() => None,
            None => engine.participant().freshness(),
        }
    }

    /// As [`freshness`](Self::freshness), of a statement that changes or locks rows.
    pub fn freshness_to_lock(&self, engine: &Engine) -> Option<Freshness> {
        match &self.open {
            Some(_) if self.is_part => None,
            Some(open) => open.transaction.borrow().freshness_to_lock(),
            None => self.freshness(engine),
        }
    }

    /// As [`freshness`](Self::freshness), of a statement that only reads and may miss what was committed in the last `bound`: where the open
    /// transaction, if there is one, has written and locked nothing and does not lock what it reads.
    pub fn freshness_within(&self, bound: Duration, engine: &Engine) -> Option<Freshness> {
        if self.is_part {
            return None;
        }
        let Some(open) = &self.open else {
            return match &self.next.moment {
                Some(_) => None,
                None => engine.participant().freshness_within(bound),
            };
        };
        let transaction = open.transaction.borrow();
        let only_reads = !transaction.has_writes()
            && !transaction.is_guest()
            && transaction.options().isolation != transaction::Isolation::Serializable;
        match only_reads {
            true => transaction.freshness_within(bound),
            false => transaction.freshness(),
        }
    }

    /// Whether a transaction is open that locks at this node, as its leader.
    pub fn locks_here(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| !open.transaction.borrow().may_lock_later())
    }

    /// Whether the open transaction, if there is one, has lost its locks, as this node leads no more.
    pub fn has_lost_lead(&self) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.transaction.borrow().has_lost_lead())
    }

    /// Whether the open transaction, if there is one, has locked nothing.
    pub fn has_no_locks(&self) -> bool {
        let open = self.open.as_ref();
        open.is_none_or(|open| open.transaction.borrow().lock_count() == 0)
    }

    /// The open transaction, if there is one.
    pub fn current(&self) -> Option<&RefCell<Transaction>> {
        self.open.as_ref().map(|open| &*open.transaction)
    }

    /// 1792 for a change in a read-only transaction.
    pub fn check_writable(&self, settings: &Settings) -> SqlResult<()> {
        let read_only = match &self.open {
            Some(open) => open.read_only,
            None => self.next.read_only.unwrap_or(settings.read_only),
        };
        if read_only {
            Err(ErrorKind::CantExecuteInReadOnlyTransaction.into())
        } else {
            Ok(())
        }
    }

    fn begin(&mut self, engine: &Engine, settings: &Settings, explicit: bool, access: Option<AccessMode>) {
        let next = std::mem::take(&mut self.next);
        self.begin_with(next, engine, settings, explicit, access);
    }

    fn begin_with(
        &mut self,
        next: Characteristics,
        engine: &Engine,
        settings: &Settings,
        explicit: bool,
        access: Option<AccessMode>,
    ) {
        let isolation = match next.isolation.unwrap_or(settings.isolation) {
            // Rows are versions: reading uncommitted ones is never needed, and the standard allows to give more.
            Isolation::ReadUncommitted | Isolation::ReadCommitted => transaction::Isolation::ReadCommitted,
            Isolation::RepeatableRead => transaction::Isolation::RepeatableRead,
            Isolation::Serializable => transaction::Isolation::Serializable,
        };
        let write_rule = match settings.snapshot_isolation {
            true => WriteRule::FirstCommitterWins,
            false => WriteRule::NewestCommitted,
        };
        let read_only = match access {
            Some(access) => access == AccessMode::ReadOnly,
            None => next.read_only.unwrap_or(settings.read_only),
        };
        let options = Options {
            isolation,
            write_rule,
            durability: next.durability.unwrap_or(settings.durability),
            connection: self.connection,
        };
        let participant = engine.participant().clone();
        let (transaction, read_only) = match next.moment {
            Some(moment) => (Transaction::of_past(participant, moment), true),
            None => (Transaction::begin(participant, options), read_only),
        };
        self.open(transaction, explicit, read_only);
    }

    fn open(&mut self, transaction: Transaction, explicit: bool, read_only: bool) {
        self.open = Some(Open {
            transaction: Shared::new(RefCell::new(transaction)),
            explicit,
            read_only,
            savepoints: Vec::new(),
            stays: Stays::default(),
        });
    }

    /// `BEGIN`, `START TRANSACTION`: commits what is open.
    pub fn start(
        &mut self,
        begin: &ast::Begin,
        engine: &Engine,
        settings: &Settings,
        host: &dyn Host,
    ) -> SqlResult<()> {
        self.commit(host)?;
        self.begin(engine, settings, true, begin.access);
        if begin.consistent_snapshot
            && let Some(open) = &self.open
        {
            open.transaction.borrow().snapshot();
        }
        Ok(())
    }

    /// `START TRANSACTION READ ONLY AS OF TIMESTAMP`: commits what is open.
    pub fn start_past(&mut self, moment: PastMoment, engine: &Engine, host: &dyn Host) -> SqlResult<()> {
        self.commit(host)?;
        self.next = Characteristics::default();
        self.open_past(moment, engine, true);
        Ok(())
    }

    /// For one statement, outside of a transaction.
    pub fn begin_past(&mut self, moment: PastMoment, engine: &Engine) {
        self.open_past(moment, engine, false);
    }

    /// The query of an INSERT reads then, whatever the transaction does that it inserts in.
    pub fn read_source_of(&mut self, moment: PastMoment, engine: &Engine) {
        let transaction = Transaction::of_past(engine.participant().clone(), moment);
        self.past_source = Some(RefCell::new(transaction));
    }

    pub fn past_source(&self) -> Option<&RefCell<Transaction>> {
        self.past_source.as_ref()
    }

    pub fn forget_past_source(&mut self) {
        self.past_source = None;
    }

    fn open_past(&mut self, moment: PastMoment, engine: &Engine, explicit: bool) {
        let transaction = Transaction::of_past(engine.participant().clone(), moment);
        self.open(transaction, explicit, true);
    }

    /// At which timestamp of the past the next read reads, if it does.
    pub fn past(&mut self, engine: &Engine, settings: &Settings) -> Option<Timestamp> {
        if self.open.is_none() && self.next.moment.is_some() {
            self.for_statement(engine, settings);
        }
        let open = self.open.as_ref()?.transaction.borrow();
        open.is_past().then(|| open.snapshot())
    }

    // --- XA ---

    /// `XA START`, where nothing is open.
    pub fn start_xa(&mut self, engine: &Engine, settings: &Settings) {
        self.begin(engine, settings, true, None);
    }

    /// Whether the next one reads the past.
    pub fn reads_past_next(&self) -> bool {
        self.next.moment.is_some()
    }

    /// What was begun last goes on under this name.
    pub fn set_xa(&mut self, xa: XaTransaction) {
        self.xa = Some(Box::new(xa));
    }

    #[inline]
    pub fn xa(&self) -> Option<&XaTransaction> {
        self.xa.as_deref()
    }

    pub fn xa_mut(&mut self) -> Option<&mut XaTransaction> {
        self.xa.as_deref_mut()
    }

    /// The session has none any more. `None`: it was rolled back already.
    pub fn take_xa(&mut self) -> Option<Transaction> {
        self.xa = None;
        self.open.take().map(Open::into_transaction)
    }

    /// `XA COMMIT … ONE PHASE`
    pub fn commit_xa(&mut self, host: &dyn Host) -> SqlResult<()> {
        self.xa = None;
        self.commit(host)
    }

    /// 1399 in an XA transaction: it does not end by other statements.
    pub fn check_not_xa(&self) -> SqlResult<()> {
        match &self.xa {
            Some(xa) => Err(xa.refuses()),
            None => Ok(()),
        }
    }

    /// 1399 in an XA transaction after its XA END.
    pub fn check_xa_open(&self) -> SqlResult<()> {
        self.xa.as_ref().map_or(Ok(()), |xa| xa.check_open())
    }

    /// `COMMIT`, `ROLLBACK`, with their `AND CHAIN`. Returns whether the session ends (`RELEASE`).
    pub fn end(
        &mut self,
        end: &EndTransaction,
        outcome: End,
        engine: &Engine,
        settings: &Settings,
        host: &dyn Host,
    ) -> SqlResult<bool> {
        self.check_not_xa()?;
        let chained = self.open.as_ref().map(|open| open.read_only);
        match outcome {
            End::Commit => self.commit(host)?,
            End::Rollback => self.roll_back(host),
        }
        if end.chain == Some(true) {
            let access = chained.map(|read_only| {
                if read_only {
                    AccessMode::ReadOnly
                } else {
                    AccessMode::ReadWrite
                }
            });
            self.begin(engine, settings, true, access);
        }
        // What was set for one transaction is over with it, though it may have used no table.
        self.next = Characteristics::default();
        Ok(end.release == Some(true))
    }

    /// Commits what is open; the outcome is known when this returns.
    pub fn commit(&mut self, host: &dyn Host) -> SqlResult<()> {
        if self.is_part {
            return Err(ErrorKind::CommitNotAllowedInSfOrTrg.into());
        }
        self.check_not_xa()?;
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut transaction = open.into_transaction();
        let local = transaction.has_local_changes().then(|| transaction.take_local());
        if transaction.has_writes() {
            failpoint::hit("commit.proposing")?;
            if env::failpoints::goes_wrong("commit") {
                return Ok(());
            }
            let rows = transaction.changed_rows();
            wait_for_commit(transaction.commit(), host)?;
            self.committed_rows += rows as u64;
        } else if transaction.is_guest() {
            host.wait(std::pin::pin!(transaction.rolled_back()));
        }
        if let (Some(changes), Some(store)) = (local, &mut self.local) {
            changes.apply(store);
        }
        Ok(())
    }

    /// Where the rows of temporary tables are.
    pub fn local_store(&mut self, engine: &Engine) -> &mut LocalStore {
        self.local
            .get_or_insert_with(|| LocalStore::new(engine.participant().store()))
    }

    /// Rolls back, and takes the temporary tables away: to be freed.
    pub fn take_local_store(&mut self) -> Option<LocalStore> {
        self.xa = None;
        self.rollback();
        self.local.take()
    }

    /// `ROLLBACK`: others find the locks free when this returns.
    fn roll_back(&mut self, host: &dyn Host) {
        if let Some(open) = self.open.take() {
            host.wait(std::pin::pin!(open.into_transaction().rolled_back()));
        }
    }

    pub fn rollback(&mut self) {
        if let Some(open) = self.open.take() {
            open.into_transaction().rollback();
        }
    }

    /// After a statement without error: ends a transaction that was begun for it alone.
    pub fn statement_succeeded(&mut self, host: &dyn Host) -> SqlResult<()> {
        if self.in_transaction() {
            Ok(())
        } else if self.xa.is_some() {
            // What there was is rolled back: it has read nothing.
            self.rollback();
            Ok(())
        } else {
            self.commit(host)
        }
    }

    /// After a failed statement, whose own changes are undone already: ends the transaction if nothing can follow.
    pub fn statement_failed(&mut self, error: &SqlError) {
        if self.is_part {
            return;
        }
        let ends = matches!(error.kind(), ErrorKind::LockDeadlock | ErrorKind::UnknownCom);
        if ends || !self.in_transaction() {
            self.rollback();
            if let Some(xa) = &mut self.xa {
                xa.is_rolled_back();
            }
        }
    }

    /// `SAVEPOINT name`: an older one of that name is forgotten.
    pub fn savepoint(&mut self, name: &str, engine: &Engine, settings: &Settings) {
        if self.open.is_none() && settings.autocommit {
            return;
        }
        self.for_statement(engine, settings);
        let open = self.open.as_mut().expect("begun above");
        open.savepoints.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        let savepoint = open.transaction.borrow_mut().savepoint();
        open.savepoints.push((name.to_owned(), savepoint));
    }

    /// `ROLLBACK TO name`: later savepoints are gone, this one stays.
    pub fn rollback_to(&mut self, name: &str) -> SqlResult<()> {
        self.find_savepoint(name)?;
        self.check_xa_open()?;
        let (open, at) = self.find_savepoint(name)?;
        open.savepoints.truncate(at + 1);
        if env::failpoints::goes_wrong("savepoint") {
            return Ok(());
        }
        open.transaction.borrow_mut().rollback_to(open.savepoints[at].1);
        Ok(())
    }

    /// `RELEASE SAVEPOINT name`: this one and later ones are gone, the changes stay.
    pub fn release_savepoint(&mut self, name: &str) -> SqlResult<()> {
        self.find_savepoint(name)?;
        self.check_xa_open()?;
        let (open, at) = self.find_savepoint(name)?;
        open.transaction.borrow_mut().release(open.savepoints[at].1);
        open.savepoints.truncate(at);
        Ok(())
    }

    fn find_savepoint(&mut self, name: &str) -> SqlResult<(&mut Open, usize)> {
        let missing = || SqlError::new(ErrorKind::SpDoesNotExist, &[&"SAVEPOINT", &name]);
        let open = self.open.as_mut().ok_or_else(missing)?;
        let at = open
            .savepoints
            .iter()
            .position(|(known, _)| known.eq_ignore_ascii_case(name))
            .ok_or_else(missing)?;
        Ok((open, at))
    }

    /// `SET @@durability` without a scope; 1568 inside a transaction.
    pub fn set_next_durability(&mut self, durability: Durability) -> SqlResult<()> {
        if self.in_transaction() {
            return Err(ErrorKind::CantChangeTxCharacteristics.into());
        }
        self.next.durability = Some(durability);
        Ok(())
    }

    /// `SET TRANSACTION READ ONLY AS OF TIMESTAMP`, without a scope.
    pub fn set_next_moment(&mut self, moment: PastMoment) {
        self.next.moment = Some(moment);
    }

    /// `SET TRANSACTION …` without a scope; 1568 inside a transaction.
    pub fn set_next(&mut self, isolation: Option<Isolation>, access: Option<AccessMode>) -> SqlResult<()> {
        if self.in_transaction() {
            return Err(ErrorKind::CantChangeTxCharacteristics.into());
        }
        if access.is_some() {
            self.next.moment = None;
        }
        self.next.isolation = isolation.or(self.next.isolation);
        self.next.read_only = access
            .map(|access| access == AccessMode::ReadOnly)
            .or(self.next.read_only);
        Ok(())
    }
}

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Commit,
    Rollback,
}

/// Waits for a commit; its outcome is known when this returns.
pub fn wait_for_commit<T>(commit: impl Future<Output = Result<T, ProposeError>>, host: &dyn Host) -> SqlResult<()> {
    let mut outcome = None;
    host.wait(std::pin::pin!(async { outcome = Some(commit.await) }));
    match outcome.expect("wait returns when the future is done") {
        Ok(_) => {
            // Only panics and kills: it is committed.
            let _ = failpoint::hit("commit.answered");
            Ok(())
        }
        Err(error) => Err(commit_error(&error)),
    }
}
