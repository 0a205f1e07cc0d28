//! `CREATE TABLE … [AS] SELECT`: a table with the query's columns, then its rows.
//!
//! As in MySQL, columns that only the definition names come first, those of the query follow; where both name one, the
//! definition says its type. Plain columns bring their default and comment, but no keys and no AUTO_INCREMENT.

use std::sync::Arc;

use catalog::{Catalog, CatalogEdit, ColumnDef, ColumnDefault, Names, TableDef};
use parser::ast::{self, InsertSource, InsertVerb, OnDuplicateRow, Statement, TableElement};
use types::collation::CollationId;
use types::{ErrorKind, SqlError, SqlResult, SqlType, TypeKind};

use super::locks::runtime;
use super::temporary::UNFINISHED;
use super::{ObjectLocks, SchemaChange, TableBuilder, check_name, table_def, unknown_database};
use crate::host::Host;
use crate::program::FrameCopy;
use crate::result::{ResultColumn, ResultEnd, ResultShape, ResultSink, ServerStatus};
use crate::session::{Answer, Session, wait_for_commit};
use crate::table::{Table, store_spec};
use crate::table_ids::CopyGuard;

/// Where the rows come from.
pub(super) struct Source {
    pub shape: Arc<ResultShape>,
    pub query: ast::Query,
}

impl Session {
    /// Makes a table without a name, as ALTER TABLE does for a copy, puts in the rows, and gives it its name: others see all
    /// of it or nothing. The answer is that of INSERT … SELECT.
    pub(super) fn create_table_as(
        &mut self,
        name: &ast::TableName,
        definition: &ast::TableDefinition,
        collation: CollationId,
        locks: ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<Answer> {
        let (database, table) = self.qualified(name)?;
        if self.temporary_table(name).is_some() {
            return Err(SqlError::not_supported(
                "CREATE TABLE ... SELECT with the name of a temporary table",
            ));
        }
        let Source { shape, query } = self.source_of(definition, host)?;
        let (mut def, auto_increment) =
            self.definition_with_columns(&database, &table, definition, collation, &shape)?;
        if self.variables.settings.require_primary_key && def.primary().is_none() {
            return Err(ErrorKind::TableWithoutPk.into());
        }
        self.check_expressions(&mut def, host)?;
        def.created_at = self.engine.clock_micros() / 1_000_000;
        let (job, new) = self.nameless_table(def, auto_increment, &locks, host)?;
        crate::failpoint::hit("create_as.made")?;
        // By this name the session alone finds it, as it does its temporary tables.
        drop(self.temporary.put(&database, UNFINISHED, new.clone()));
        let unfinished = ast::TableName::new(Some(&database), UNFINISHED);
        let insert = insert_of(&unfinished, definition.duplicates, &shape, query);
        let frame = self.programs.frame();
        let parameters = FrameCopy::parameters(&frame);
        let filled = self.query_or_change(&insert, None, parameters, ServerStatus::default(), host, &mut NoAnswer);
        let filled = filled.and_then(|answer| self.transaction.commit(host).map(|()| answer));
        // Without a name in the catalog, its rows go with the job.
        drop(self.temporary.remove(&database, UNFINISHED));
        if filled.is_err() {
            self.transaction.rollback();
        }
        let answer = filled?;
        crate::failpoint::hit("create_as.filled")?;
        self.change_schema(locks, host, |change| {
            if change.before.database(&database).is_none() {
                return Err(unknown_database(&database));
            }
            if change.before.is_taken(&database, &table) {
                return Err(SqlError::new(ErrorKind::TableExists, &[&table]));
            }
            change.check_constraints(&new.def)?;
            change.edit.put_table(TableDef::clone(&new.def));
            change.edit.remove_copy(new.id());
            change.copies.push(job);
            Ok(())
        })?;
        Ok(answer)
    }

    /// A table that nothing names, for a definition that may be made.
    fn nameless_table(
        &self,
        mut def: TableDef,
        auto_increment: Option<u64>,
        locks: &ObjectLocks,
        host: &dyn Host,
    ) -> SqlResult<(CopyGuard, Arc<Table>)> {
        let before = self.engine.catalog();
        let change = SchemaChange {
            engine: &self.engine,
            runtime: runtime(&self.engine, host, &locks.0, &self.variables.settings),
            edit: CatalogEdit::new(before.clone()),
            before,
            copies: Vec::new(),
        };
        change.name_parent_keys(&mut def)?;
        change.check_constraints(&def)?;
        let id = self.engine.allocate_table_id(&change.runtime)?;
        let def = TableDef { id, ..def };
        let (job, rows) = self.engine.begin_copy(store_spec(&def), host)?;
        if let Some(next) = auto_increment {
            let mut counting = self.engine.begin();
            counting.set_auto_increment(id, next);
            wait_for_commit(counting.commit(), host)?;
        }
        Ok((job, Arc::new(Table::new(Arc::new(def), rows))))
    }

    /// The query of the definition, and its columns.
    pub(super) fn source_of(&mut self, definition: &ast::TableDefinition, host: &dyn Host) -> SqlResult<Source> {
        let query = definition
            .query
            .clone()
            .ok_or_else(|| SqlError::internal("the caller saw a query"))?;
        let statement = Arc::new(Statement::Query(Box::new(query.clone())));
        let frame = self.programs.frame();
        let plan = self.plan_for(&statement, None, FrameCopy::parameters(&frame), host)?;
        let shape = plan
            .shape()
            .ok_or_else(|| SqlError::not_supported("INTO in CREATE TABLE ... SELECT"))?
            .clone();
        Ok(Source { shape, query })
    }

    pub(super) fn definition_with_columns(
        &mut self,
        database: &str,
        name: &str,
        definition: &ast::TableDefinition,
        collation: CollationId,
        shape: &ResultShape,
    ) -> SqlResult<(TableDef, Option<u64>)> {
        let columns = |written: &ast::TableDefinition| ast::TableDefinition {
            elements: written
                .elements
                .iter()
                .filter(|e| matches!(e, TableElement::Column(_)))
                .cloned()
                .collect(),
            ..written.clone()
        };
        // Keys may name columns of the query, so they are added when all columns are there.
        let own = columns(definition);
        let mode = self.variables.settings.expressions.sql_mode;
        let (def, options) = match own.elements.is_empty() {
            true => super::table_def::empty_table(database, name, definition, collation, mode)?,
            false => table_def(database, name, &own, collation, mode)?,
        };
        let mut builder = TableBuilder::new(def, mode);
        let catalog = self.engine.catalog();
        let mut names = Names::default();
        for selected in &shape.columns {
            builder.check_room()?;
            check_name(&selected.name, ErrorKind::WrongColumnName)?;
            if names.push(&selected.name).is_some() {
                return Err(SqlError::new(ErrorKind::DupFieldName, &[&selected.name]));
            }
            match builder.def.column(&selected.name) {
                Some(own) => builder.move_to_end(own),
                None => builder.def.columns.push(column_of(&catalog, selected)),
            }
        }
        for element in &definition.elements {
            builder.add_constraint(element)?;
        }
        let (def, warnings) = builder.finish()?;
        self.warnings.append(options.warnings);
        self.warnings.append(warnings);
        Ok((def, options.auto_increment))
    }
}

/// `INSERT INTO name (columns) query`
pub(super) fn insert_of(
    name: &ast::TableName,
    duplicates: Option<OnDuplicateRow>,
    shape: &ResultShape,
    query: ast::Query,
) -> Arc<Statement> {
    let column = |column: &ResultColumn| ast::ColumnName {
        schema: None,
        table: None,
        name: column.name.as_str().into(),
    };
    Arc::new(Statement::Insert(Box::new(ast::Insert {
        hints: None,
        verb: if duplicates == Some(OnDuplicateRow::Replace) {
            InsertVerb::Replace
        } else {
            InsertVerb::Insert
        },
        priority: None,
        ignore: duplicates == Some(OnDuplicateRow::Ignore),
        table: name.clone(),
        partitions: Vec::new(),
        columns: Some(shape.columns.iter().map(column).collect()),
        source: InsertSource::Query(Box::new(query)),
        row_alias: None,
        on_duplicate: Vec::new(),
    })))
}

/// The column that keeps a column of a result.
fn column_of(catalog: &Catalog, selected: &ResultColumn) -> ColumnDef {
    let origin = catalog.table(&selected.database, &selected.original_table);
    let origin = origin.and_then(|table| Some(&table.columns[table.column(&selected.original_name)?]));
    let nullable = selected.ty.nullable;
    let (ty, default, comment) = match origin {
        Some(column) => {
            let default = match column.auto_increment {
                true => Some(ColumnDefault::Literal("0".to_owned())),
                false => column.default.clone(),
            };
            let kept = default.filter(|default| nullable || *default != ColumnDefault::Null);
            (selected.ty.clone(), kept, column.comment.clone())
        }
        None => {
            let ty = stored_type(&selected.ty);
            let default = (!nullable).then(|| implicit_default(&ty)).flatten();
            (ty, default, String::new())
        }
    };
    ColumnDef {
        name: selected.name.clone(),
        ty: SqlType { nullable, ..ty },
        nullable,
        default,
        on_update_now: None,
        auto_increment: false,
        generated: None,
        invisible: false,
        comment,
        hidden: false,
    }
}

/// Digits up to which the integers of an expression fit an INT column.
const INT_DIGITS: u32 = 9;
/// Characters of the longest expression that becomes a VARCHAR, and bytes of a VARBINARY; those of longer ones are a TEXT or BLOB.
const MAX_VARCHAR: u32 = 512;

/// The type of a column that keeps an expression's values.
pub(super) fn stored_type(ty: &SqlType) -> SqlType {
    let bytes = u64::from(ty.length) * u64::from(ty.charset().max_bytes_per_char());
    let long_kind = |short: TypeKind, kinds: [TypeKind; 2]| match bytes {
        _ if ty.length <= MAX_VARCHAR => short,
        ..=65_535 => kinds[0],
        _ => kinds[1],
    };
    match ty.kind {
        TypeKind::Null => SqlType {
            nullable: true,
            ..SqlType::binary(0)
        },
        TypeKind::BigInt if ty.length <= INT_DIGITS => SqlType {
            kind: TypeKind::Int,
            ..ty.clone()
        },
        TypeKind::VarChar => {
            let kind = long_kind(TypeKind::VarChar, [TypeKind::Text, TypeKind::LongText]);
            SqlType { kind, ..ty.clone() }
        }
        TypeKind::VarBinary => {
            let kind = long_kind(TypeKind::VarBinary, [TypeKind::Blob, TypeKind::LongBlob]);
            SqlType { kind, ..ty.clone() }
        }
        _ => ty.clone(),
    }
}

/// The default that MySQL gives a NOT NULL column made from an expression.
fn implicit_default(ty: &SqlType) -> Option<ColumnDefault> {
    let text = match ty.kind {
        kind if kind.is_integer() => "0".to_owned(),
        TypeKind::Float | TypeKind::Double => "0".to_owned(),
        TypeKind::Decimal if ty.decimals > 0 => format!("0.{}", "0".repeat(usize::from(ty.decimals))),
        TypeKind::Decimal => "0".to_owned(),
        TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => String::new(),
        _ => return None,
    };
    Some(ColumnDefault::Literal(text))
}

/// Takes the answer of the INSERT, which is not the statement's.
pub(crate) struct NoAnswer;

impl ResultSink for NoAnswer {
    fn columns(&mut self, _shape: &Arc<ResultShape>, _status: ServerStatus) -> SqlResult<()> {
        Ok(())
    }

    fn row(&mut self, _values: &[types::Value]) -> SqlResult<()> {
        Ok(())
    }

    fn stored_row(&mut self, _layout: &types::RowLayout, _row: &[u8], _projection: &[usize]) -> SqlResult<()> {
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> SqlResult<()> {
        Ok(())
    }

    fn ok(&mut self, _done: crate::result::Done) -> SqlResult<()> {
        Ok(())
    }
}
