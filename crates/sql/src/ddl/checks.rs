//! Names of CHECK constraints: each is one of its database's, as that of a foreign key is.

use catalog::{CheckDef, TableDef, same_name};
use types::{ErrorKind, SqlError, SqlResult, TableId};

use super::SchemaChange;
use super::table_def::check_constraint_name;

impl SchemaChange<'_> {
    /// 3822 for a check of a table whose name another table's check has. What the table before the change had under the name, it keeps.
    pub(super) fn check_names_of_checks(&self, before: Option<&TableDef>, def: &TableDef) -> SqlResult<()> {
        let was_there = |check: &CheckDef| {
            before.is_some_and(|before| before.database == def.database && has_check(before, &check.name))
        };
        for check in def.checks.iter().filter(|check| !was_there(check)) {
            governor::tick()?;
            let database = self.edit.catalog().database(&def.database);
            let tables = database.into_iter().flat_map(|database| database.tables.values());
            let mut others = tables
                .filter(|table| table.id != def.id)
                .take_while(|_| governor::go_on());
            if others.any(|table| has_check(table, &check.name)) {
                return Err(SqlError::new(ErrorKind::CheckConstraintDupName, &[&check.name]));
            }
        }
        Ok(governor::check()?)
    }
}

fn has_check(table: &TableDef, name: &str) -> bool {
    table.checks.iter().any(|check| same_name(&check.name, name))
}

/// The name of a table's n-th check without a name of its own.
pub(super) fn generated_name(table: &str, number: u64) -> String {
    format!("{table}_chk_{number}")
}

/// Under a table's new name, the names that were made for its checks follow. 1059 where one gets too long.
pub(super) fn rename_own_checks(old: &TableDef, new: &mut TableDef) -> SqlResult<()> {
    if old.name == new.name {
        return Ok(());
    }
    for check in &mut new.checks {
        let number = check
            .name
            .strip_prefix(old.name.as_str())
            .and_then(|rest| rest.strip_prefix("_chk_"));
        if let Some(Ok(number)) = number.map(str::parse) {
            check.name = generated_name(&new.name, number);
            check_constraint_name(&check.name)?;
        }
    }
    Ok(())
}

/// `LIKE`: the definition of another table under a new name, without its foreign keys and triggers. All of its checks get names anew.
pub(super) fn definition_like(other: &TableDef, database: &str, name: &str) -> SqlResult<TableDef> {
    let mut checks = other.checks.clone();
    checks.sort_by(|a, b| a.name.cmp(&b.name));
    for (check, number) in checks.iter_mut().zip(1..) {
        governor::tick()?;
        check.name = generated_name(name, number);
        check_constraint_name(&check.name)?;
    }
    Ok(TableDef {
        id: TableId(0),
        database: database.to_owned(),
        name: name.to_owned(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        checks,
        ..other.clone()
    })
}
