//! Answers: those of the border to the fronts, and what makes and keeps them here.

use std::sync::Arc;

use types::{RowLayout, SqlError, Value};

pub use sql_api::result::*;

/// A sink that keeps all rows, or what is told in their place.
#[derive(Debug, Default)]
pub struct BufferedRows {
    shape: Option<Arc<ResultShape>>,
    rows: Vec<Box<[Value]>>,
    /// Of a statement without rows.
    pub done: Done,
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

    fn ok(&mut self, done: Done) -> Result<(), SqlError> {
        self.done = done;
        Ok(())
    }
}
