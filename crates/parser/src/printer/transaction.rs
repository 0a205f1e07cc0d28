//! Transactions, table locks, XA, prepared statements, conditions.

use super::Printer;
use crate::ast::*;

impl Printer {
    pub(super) fn begin(&mut self, begin: &Begin) {
        self.text("START TRANSACTION");
        self.when(begin.consistent_snapshot, " WITH CONSISTENT SNAPSHOT");
        self.when(begin.consistent_snapshot && begin.access.is_some(), ",");
        self.opt(" ", &begin.access, |p, access| p.access_mode(*access));
        self.as_of(&begin.as_of);
    }

    fn access_mode(&mut self, access: AccessMode) {
        self.text(match access {
            AccessMode::ReadOnly => "READ ONLY",
            AccessMode::ReadWrite => "READ WRITE",
        });
    }

    pub(super) fn end_transaction(&mut self, verb: &str, end: &EndTransaction) {
        self.text(verb);
        self.text(match end.chain {
            Some(true) => " AND CHAIN",
            Some(false) => " AND NO CHAIN",
            None => "",
        });
        self.text(match end.release {
            Some(true) => " RELEASE",
            Some(false) => " NO RELEASE",
            None => "",
        });
    }

    pub(super) fn set_transaction(&mut self, transaction: &SetTransaction) {
        self.text("SET ");
        self.opt("", &transaction.scope, |p, scope| {
            p.scope(*scope);
            p.text(" ");
        });
        self.text("TRANSACTION ");
        self.opt("ISOLATION LEVEL ", &transaction.isolation, |p, level| {
            p.text(match level {
                IsolationLevel::ReadUncommitted => "READ UNCOMMITTED",
                IsolationLevel::ReadCommitted => "READ COMMITTED",
                IsolationLevel::RepeatableRead => "REPEATABLE READ",
                IsolationLevel::Serializable => "SERIALIZABLE",
            });
        });
        self.when(transaction.isolation.is_some() && transaction.access.is_some(), ", ");
        self.opt("", &transaction.access, |p, access| p.access_mode(*access));
        self.as_of(&transaction.as_of);
    }

    pub(super) fn lock_tables(&mut self, tables: &[LockTable]) {
        self.text("LOCK TABLES ");
        self.list(tables, |p, lock| {
            p.table_name(&lock.table);
            p.opt(" AS ", &lock.alias, Self::ident);
            p.text(match lock.mode {
                TableLockMode::Read => " READ",
                TableLockMode::ReadLocal => " READ LOCAL",
                TableLockMode::Write => " WRITE",
            });
        });
    }

    pub(super) fn xa(&mut self, xa: &Xa) {
        match xa {
            Xa::Start { xid, join } => {
                self.text("XA START ");
                self.xid(xid);
                self.text(match join {
                    Some(XaJoin::Join) => " JOIN",
                    Some(XaJoin::Resume) => " RESUME",
                    None => "",
                });
            }
            Xa::End { xid, suspend } => {
                self.text("XA END ");
                self.xid(xid);
                self.text(match suspend {
                    Some(XaSuspend::Suspend) => " SUSPEND",
                    Some(XaSuspend::ForMigrate) => " SUSPEND FOR MIGRATE",
                    None => "",
                });
            }
            Xa::Prepare(xid) => {
                self.text("XA PREPARE ");
                self.xid(xid);
            }
            Xa::Commit { xid, one_phase } => {
                self.text("XA COMMIT ");
                self.xid(xid);
                self.when(*one_phase, " ONE PHASE");
            }
            Xa::Rollback(xid) => {
                self.text("XA ROLLBACK ");
                self.xid(xid);
            }
            Xa::Recover { convert_xid } => {
                self.text("XA RECOVER");
                self.when(*convert_xid, " CONVERT XID");
            }
        }
    }

    fn xid(&mut self, xid: &Xid) {
        self.string(&xid.gtrid);
        self.opt(", ", &xid.bqual, |p, bqual| p.string(bqual));
        self.opt(", ", &xid.format_id, |p, id| p.number(id));
    }

    pub(super) fn prepare(&mut self, prepare: &Prepare) {
        self.text("PREPARE ");
        self.ident(&prepare.name);
        self.text(" FROM ");
        match &prepare.source {
            PrepareSource::Text(text) => self.string(text),
            PrepareSource::UserVar(name) => self.user_var(name),
        }
    }

    pub(super) fn execute(&mut self, execute: &Execute) {
        self.text("EXECUTE ");
        self.ident(&execute.name);
        if !execute.using.is_empty() {
            self.text(" USING ");
            self.list(&execute.using, Self::user_var);
        }
    }

    pub(super) fn signal(&mut self, verb: &str, signal: &Signal) {
        self.text(verb);
        self.opt(" ", &signal.condition, |p, condition| match condition {
            SignalCondition::SqlState(state) => {
                p.text("SQLSTATE ");
                p.str(state);
            }
            SignalCondition::Name(name) => p.ident(name),
        });
        if !signal.items.is_empty() {
            self.text(" SET ");
            self.list(&signal.items, |p, (name, value)| {
                p.text(name);
                p.text(" = ");
                p.expr(value);
            });
        }
    }

    pub(super) fn get_diagnostics(&mut self, get: &GetDiagnostics) {
        self.text(if get.stacked {
            "GET STACKED DIAGNOSTICS "
        } else {
            "GET DIAGNOSTICS "
        });
        self.opt("CONDITION ", &get.condition, Self::expr);
        self.when(get.condition.is_some(), " ");
        self.list(&get.items, |p, (target, item)| {
            p.target_var(target);
            p.text(" = ");
            p.text(item);
        });
    }
}
