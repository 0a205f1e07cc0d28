//! How an ALTER TABLE is made: over the rows as they are, or by a copy of them; and what MySQL says of ALGORITHM and LOCK.
//!
//! The two are different questions. A type that only grows needs no copy here where MySQL makes one, and counts the rows that MySQL
//! would have copied; a virtual generated column, which MySQL computes when it is read, is stored here, and needs one.

use catalog::{ColumnDefault, GeneratedKind, TableDef};
use parser::ast::{self, AlterAction, AlterAlgorithm, AlterLock};
use types::row::generation::{ColumnSource, MAX_GENERATIONS, reads_as};
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind};

use super::alter::reads_new_column;
use crate::table::Table;

/// What happens to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// They stay, with the same columns.
    Stay,
    /// They stay, and are read with other columns, or wider ones.
    ReadAnew,
    /// They are copied into a new table.
    Copied,
}

/// What is asked for beyond the definition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes {
    /// `FORCE`, `ORDER BY`, `ALGORITHM = COPY`.
    pub copy: bool,
    /// A foreign key is new and its rows are checked.
    pub adds_key: bool,
    /// The new foreign key leads to the table itself.
    pub adds_own_key: bool,
    /// The SQL mode refuses NULL in a column that becomes NOT NULL, where others turn it into a value.
    pub refuses_nulls: bool,
}

/// Whether rows have to be written anew.
pub(super) fn rows_of(table: &Table, new: &TableDef, sources: &[Option<usize>], wishes: Wishes) -> Rows {
    let old = &*table.def;
    let must_copy = wishes.copy || wishes.adds_own_key || has_new_check(old, new) || !keeps_keys(old, new, sources);
    if must_copy || reads_new_column(old, new, sources) {
        return Rows::Copied;
    }
    let stays = new.columns.iter().zip(sources).all(|(new, source)| match source {
        // Where to count on from is known once all rows were seen.
        Some(at) => {
            let old = &old.columns[*at];
            reads_as(&old.ty, &new.ty) && new.generated == old.generated && (old.auto_increment || !new.auto_increment)
        }
        None => has_plain_value(new),
    });
    if !stays {
        return Rows::Copied;
    }
    let same_columns =
        sources.len() == old.columns.len() && sources.iter().enumerate().all(|(at, from)| *from == Some(at));
    if same_columns {
        let same_types = new.columns.iter().zip(&old.columns).all(|(new, old)| new.ty == old.ty);
        return if same_types { Rows::Stay } else { Rows::ReadAnew };
    }
    let generations = table.rows.spec().generations.as_ref();
    let is_marked = generations.is_some_and(|generations| generations.older.len() < MAX_GENERATIONS);
    // An index over new columns would be built from rows whose handle does not know them.
    let adds_index = new
        .indexes
        .iter()
        .any(|index| old.indexes.iter().all(|known| known.id != index.id));
    match is_marked && !adds_index && !wishes.adds_key {
        true => Rows::ReadAnew,
        false => Rows::Copied,
    }
}

/// Where the columns come from, but for those that are added.
pub(super) fn stored(source: Option<usize>) -> Option<ColumnSource> {
    source.map(|at| ColumnSource::Stored(at as u16))
}

fn has_new_check(old: &TableDef, new: &TableDef) -> bool {
    let is_new = |check: &&catalog::CheckDef| check.enforced && !old.checks.contains(check);
    new.checks.iter().any(|check| is_new(&check))
}

/// Whether the keys that stay have the columns that they had.
fn keeps_keys(old: &TableDef, new: &TableDef, sources: &[Option<usize>]) -> bool {
    let same_parts = |old: &[catalog::IndexPart], new: &[catalog::IndexPart]| {
        let same = |(old, new): (&catalog::IndexPart, &catalog::IndexPart)| {
            sources[new.column] == Some(old.column) && new.prefix == old.prefix && new.descending == old.descending
        };
        old.len() == new.len() && old.iter().zip(new).all(same)
    };
    let primary = match (old.primary(), new.primary()) {
        (None, None) => true,
        (Some(old), Some(new)) => same_parts(&old.parts, &new.parts),
        _ => false,
    };
    let kept = new.secondaries().iter().all(|index| {
        let before = old.indexes.iter().find(|known| known.id == index.id);
        before.is_none_or(|before| same_parts(&before.parts, &index.parts))
    });
    primary && kept
}

/// Whether all rows there are get the same value in an added column.
fn has_plain_value(column: &catalog::ColumnDef) -> bool {
    let is_zero_date = column.default.is_none() && !column.nullable && column.ty.kind.is_temporal();
    column.generated.is_none()
        && !column.auto_increment
        && !matches!(column.default, Some(ColumnDefault::Expression(_)))
        && !is_zero_date
}

/// How MySQL would make a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The definition alone.
    Instant,
    InPlace,
    /// For this reason, if it tells one.
    Copy(Option<&'static str>),
}

const CHANGES_TYPE: &str = "Cannot change column type INPLACE";
const CONVERTS_NULLS: &str = "cannot silently convert NULL values, as required in this SQL_MODE";
const DROPS_KEY: &str = "Dropping a primary key is not allowed without also adding a new primary key";
const ADDS_FOREIGN_KEY: &str = "Adding foreign keys needs foreign_key_checks=OFF";
const ADDS_AUTO_INCREMENT: &str = "Adding an auto-increment column requires a lock";

/// A change as MySQL sees it.
#[derive(Debug)]
pub(super) struct OnlineChange {
    pub way: Way,
    adds_check: bool,
    adds_auto_increment: bool,
    renames: bool,
}

impl OnlineChange {
    pub fn new(
        old: &TableDef,
        new: &TableDef,
        sources: &[Option<usize>],
        actions: &[AlterAction],
        wishes: Wishes,
    ) -> OnlineChange {
        let adds_check = has_new_check(old, new);
        let added = || new.columns.iter().zip(sources).filter(|(_, source)| source.is_none());
        let kept = || {
            let kept = new.columns.iter().zip(sources);
            kept.filter_map(|(new, source)| source.map(|at| (&old.columns[at], new)))
        };
        let adds_auto_increment = added().any(|(column, _)| column.auto_increment);
        let computed = added().any(|(column, _)| {
            matches!(column.default, Some(ColumnDefault::Expression(_)))
                || column
                    .generated
                    .as_ref()
                    .is_some_and(|generated| generated.kind == GeneratedKind::Stored)
        });
        let way = if kept().any(|(old, new)| changes_type(&old.ty, &new.ty)) {
            Way::Copy(Some(CHANGES_TYPE))
        } else if !wishes.refuses_nulls && kept().any(|(old, new)| old.nullable && !new.nullable) {
            Way::Copy(Some(CONVERTS_NULLS))
        } else if old.primary().is_some() && new.primary().is_none() {
            Way::Copy(Some(DROPS_KEY))
        } else if wishes.adds_key {
            Way::Copy(Some(ADDS_FOREIGN_KEY))
        } else if adds_check || computed || reads_new_column(old, new, sources) {
            Way::Copy(None)
        } else {
            let indexes = |def: &TableDef| {
                def.indexes
                    .iter()
                    .map(|index| (index.id, index.name.clone(), index.visible))
                    .collect::<Vec<_>>()
            };
            let adds_or_drops = sources.len() != old.columns.len() || added().next().is_some();
            let moves = !sources.iter().flatten().is_sorted();
            let is_instant = indexes(old) == indexes(new)
                && keeps_keys(old, new, sources)
                && !wishes.copy
                && (adds_or_drops || !moves)
                && kept().all(|(old, new)| old.ty.nullable == new.ty.nullable && !grows_in_place(&old.ty, &new.ty))
                && added().all(|(column, _)| column.generated.is_some() || has_plain_value(column))
                && !actions
                    .iter()
                    .any(|action| matches!(action, AlterAction::Option(_) | AlterAction::Force));
            match is_instant {
                true => Way::Instant,
                false => Way::InPlace,
            }
        };
        OnlineChange {
            way,
            adds_check,
            adds_auto_increment,
            renames: (&old.database, &old.name) != (&new.database, &new.name),
        }
    }

    /// 1845, 1846 or 1221 where MySQL makes the change in no such way.
    pub fn check(&self, online: ast::AlterOnline) -> SqlResult<()> {
        let lock = online.lock.filter(|lock| *lock != AlterLock::Default);
        match online.algorithm {
            Some(AlterAlgorithm::Instant) => {
                if lock.is_some() {
                    let names: [&dyn std::fmt::Display; 2] = [&"ALGORITHM=INSTANT", &"LOCK=NONE/SHARED/EXCLUSIVE"];
                    return Err(SqlError::new(ErrorKind::WrongUsage, &names));
                }
                self.check_instant()?;
            }
            Some(AlterAlgorithm::InPlace) => {
                if let Way::Copy(reason) = self.way {
                    return Err(unsupported("ALGORITHM=INPLACE", reason, "ALGORITHM=COPY"));
                }
            }
            _ => {}
        }
        self.check_lock(online, lock)
    }

    fn check_instant(&self) -> SqlResult<()> {
        let either = "ALGORITHM=COPY/INPLACE";
        Err(match self.way {
            Way::Instant => return Ok(()),
            Way::Copy(Some(CHANGES_TYPE)) => unsupported(
                "ALGORITHM=INSTANT",
                Some("Need to rebuild the table to change column type"),
                either,
            ),
            Way::Copy(None) if self.adds_check => unsupported("ALGORITHM=INSTANT", None, "ALGORITHM=COPY"),
            Way::Copy(reason) => unsupported("ALGORITHM=INSTANT", reason, either),
            Way::InPlace => {
                let reason = self.adds_auto_increment.then_some(ADDS_AUTO_INCREMENT);
                unsupported("ALGORITHM=INSTANT", reason, either)
            }
        })
    }

    fn check_lock(&self, online: ast::AlterOnline, lock: Option<AlterLock>) -> SqlResult<()> {
        let copies = "COPY algorithm requires a lock";
        if self.renames && matches!(lock, Some(AlterLock::None | AlterLock::Shared)) {
            return Err(unsupported("LOCK=NONE/SHARED", None, "LOCK=EXCLUSIVE"));
        }
        if lock != Some(AlterLock::None) {
            return Ok(());
        }
        let reason = match self.way {
            _ if online.algorithm == Some(AlterAlgorithm::Copy) || self.adds_check => Some(copies),
            Way::Copy(reason) => reason,
            _ if self.adds_auto_increment => Some(ADDS_AUTO_INCREMENT),
            Way::Instant | Way::InPlace => return Ok(()),
        };
        Err(unsupported("LOCK=NONE", reason, "LOCK=SHARED"))
    }
}

fn unsupported(what: &str, reason: Option<&str>, instead: &str) -> SqlError {
    match reason {
        Some(reason) => SqlError::new(ErrorKind::AlterOperationNotSupportedReason, &[&what, &reason, &instead]),
        None => SqlError::new(ErrorKind::AlterOperationNotSupported, &[&what, &instead]),
    }
}

/// Whether MySQL writes values anew; whether they may be NULL is another question.
pub(super) fn changes_type(old: &SqlType, new: &SqlType) -> bool {
    if matches!(old.kind, TypeKind::Enum | TypeKind::Set) {
        let new = SqlType {
            nullable: old.nullable,
            ..new.clone()
        };
        return !reads_as(old, &new);
    }
    let same = new.kind == old.kind
        && new.unsigned == old.unsigned
        && new.decimals == old.decimals
        && new.collation == old.collation;
    !(same && (new.length == old.length || grows_in_place(old, new)))
}

/// Whether a VARCHAR gets longer without needing one byte more for its length.
fn grows_in_place(old: &SqlType, new: &SqlType) -> bool {
    let length_bytes = |ty: &SqlType| 1 + u8::from(ty.length * ty.charset().max_bytes_per_char() > 255);
    matches!(old.kind, TypeKind::VarChar | TypeKind::VarBinary)
        && new.length > old.length
        && length_bytes(new) == length_bytes(old)
}
