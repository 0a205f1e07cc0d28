//! FOR UPDATE and FOR SHARE: which tables of a query they lock, and who may.

use catalog::Privileges;
use parser::ast::{self, LockStrength};
use store::LockMode;
use transaction::LockPolicy;
use types::{ErrorKind, SqlError, SqlResult};

use super::join::LockRequest;
use super::scope::{BelowView, QueryScope, ScopeTable, TableSource};
use crate::table::Table;

/// The lock of each table of the scope.
pub fn table_locks(scope: &QueryScope<'_, '_, '_>, locks: &[ast::Locking]) -> SqlResult<Vec<Option<LockRequest>>> {
    let mut requests = vec![None; scope.tables.len()];
    for lock in locks {
        let request = LockRequest {
            mode: match lock.strength {
                LockStrength::Update => LockMode::Exclusive,
                LockStrength::Share => LockMode::Shared,
            },
            policy: match lock.wait {
                ast::LockWait::Wait => LockPolicy::Wait,
                ast::LockWait::NoWait => LockPolicy::NoWait,
                ast::LockWait::SkipLocked => LockPolicy::SkipLocked,
            },
        };
        for name in &lock.tables {
            if !scope.tables.iter().any(|table| table.is_named(None, &name.name)) {
                return Err(SqlError::new(ErrorKind::UnresolvedTableLock, &[&name.name.as_str()]));
            }
        }
        for (table, slot) in scope.tables.iter().zip(&mut requests) {
            let shown = match &table.below {
                Some(BelowView { view, .. }) => &scope.tables[*view],
                _ => table,
            };
            let named = lock.tables.is_empty() || lock.tables.iter().any(|name| shown.is_named(None, &name.name));
            if named && let TableSource::Base { table: base, .. } = &table.source {
                if request.mode == LockMode::Exclusive {
                    check_may_lock(scope, table, base)?;
                }
                *slot = Some(request);
                scope.planner.locked.borrow_mut().push(base.clone());
            }
        }
    }
    Ok(requests)
}

/// 1142 for FOR UPDATE by whoever may only read: others would wait for him.
fn check_may_lock(scope: &QueryScope<'_, '_, '_>, table: &ScopeTable, base: &Table) -> SqlResult<()> {
    const COMMAND: &str = "SELECT with locking clause";
    let wanted = Privileges::UPDATE
        .with(Privileges::DELETE)
        .with(Privileges::LOCK_TABLES);
    if base.id().is_local() {
        return Ok(());
    }
    let (database, name) = (&base.def.database, &base.def.name);
    let access = scope.planner.access();
    let Some(below) = &table.below else {
        return access.check_may_lock(database, name, wanted, COMMAND);
    };
    if let TableSource::Merged { view, .. } = &scope.tables[below.view].source {
        access.check_may_lock(&view.database, &view.name, wanted, COMMAND)?;
    }
    below.access.check_may_lock(database, name, wanted, COMMAND)
}
