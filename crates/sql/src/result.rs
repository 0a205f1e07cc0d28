//! Answers: those of the border to the fronts, and what makes and keeps them here.

use std::sync::Arc;

use catalog::{IndexDef, IndexKind, TableDef};
use types::{RowLayout, SqlError, Value};

pub use sql_api::result::*;

/// A plain column of a table under an alias.
pub fn table_column(table: &TableDef, alias: &str, position: usize) -> ResultColumn {
    let column = &table.columns[position];
    let mut flags = ColumnFlags::default();
    let part_of = |wanted: &dyn Fn(&IndexDef) -> bool| {
        table
            .indexes
            .iter()
            .any(|index| wanted(index) && index.parts.iter().any(|part| part.column == position))
    };
    let leads = |wanted: &dyn Fn(&IndexDef) -> bool| {
        table
            .indexes
            .iter()
            .any(|index| wanted(index) && index.parts.first().is_some_and(|part| part.column == position))
    };
    let has_no_default = column.default.is_none() && !column.nullable && !column.auto_increment;
    let told = [
        (part_of(&|index| index.kind == IndexKind::Primary), ColumnFlags::PRI_KEY),
        (
            leads(&|index| index.kind == IndexKind::Unique && index.parts.len() == 1),
            ColumnFlags::UNIQUE_KEY,
        ),
        (
            leads(&|index| {
                index.kind == IndexKind::Plain || (index.kind == IndexKind::Unique && index.parts.len() > 1)
            }),
            ColumnFlags::MULTIPLE_KEY,
        ),
        (column.auto_increment, ColumnFlags::AUTO_INCREMENT),
        (column.ty.kind == types::TypeKind::Timestamp, ColumnFlags::TIMESTAMP),
        (has_no_default, ColumnFlags::NO_DEFAULT_VALUE),
        (column.on_update_now.is_some(), ColumnFlags::ON_UPDATE_NOW),
    ];
    for (_, flag) in told.into_iter().filter(|(set, _)| *set) {
        flags = flags.with(flag);
    }
    ResultColumn {
        database: table.database.clone(),
        table: alias.to_owned(),
        original_table: table.name.clone(),
        name: column.name.clone(),
        original_name: column.name.clone(),
        ty: column.ty.clone(),
        flags,
    }
}

/// A sink that keeps all rows: behind a cursor.
#[derive(Debug, Default)]
pub struct BufferedRows {
    shape: Option<Arc<ResultShape>>,
    rows: Vec<Box<[Value]>>,
}

impl BufferedRows {
    pub fn shape(&self) -> Option<&Arc<ResultShape>> {
        self.shape.as_ref()
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn row(&self, at: usize) -> &[Value] {
        &self.rows[at]
    }
}

impl ResultSink for BufferedRows {
    fn columns(&mut self, shape: &Arc<ResultShape>, _status: ServerStatus) -> Result<(), SqlError> {
        self.shape = Some(shape.clone());
        Ok(())
    }

    fn row(&mut self, values: &[Value]) -> Result<(), SqlError> {
        self.rows.push(values.into());
        Ok(())
    }

    fn stored_row(&mut self, layout: &RowLayout, row: &[u8], projection: &[usize]) -> Result<(), SqlError> {
        self.rows.push(
            projection
                .iter()
                .map(|&column| layout.column(row, column).to_value())
                .collect(),
        );
        Ok(())
    }

    fn end(&mut self, _end: ResultEnd) -> Result<(), SqlError> {
        Ok(())
    }

    fn ok(&mut self, _done: Done) -> Result<(), SqlError> {
        Ok(())
    }
}
