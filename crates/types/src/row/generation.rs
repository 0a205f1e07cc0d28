//! Generations of a table's rows: columns are added, dropped and moved without touching the rows there are.
//!
//! A table's rows begin as generation 0. Each change of its columns that leaves the rows alone begins the next generation: rows
//! written from then on have the new columns and end with its number, older ones stay as they are. Reading an older row, each of
//! the columns of today comes either from the row, or is the value that the column was added with.
//!
//! A column keeps its bytes from generation to generation: one whose encoding changes is not carried over, its rows are written
//! anew. A wider type of the same encoding (a longer VARCHAR, a further label) needs no generation at all.

use serde::{Deserialize, Serialize};

use super::fixed::Fixed;
use super::{CorruptRow, Frame, MARK, RowLayout};
use crate::sql_type::{SqlType, TypeKind};

/// As many generations as the byte in a row can tell.
pub const MAX_GENERATIONS: usize = 255;

/// The earlier columns of a table, oldest first; with it, rows are marked by generation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generations {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older: Vec<Generation>,
}

/// What the rows of an earlier generation have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    pub columns: Vec<SqlType>,
    /// Where each column of today comes from.
    pub sources: Vec<ColumnSource>,
}

/// Where a column comes from that an older row is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnSource {
    /// A column of the row, by position.
    Stored(u16),
    /// Added since: what it was then added with, as [`RowLayout::raw`] has it; `None` for NULL.
    Added(Option<Vec<u8>>),
}

/// New columns for a table whose rows stay. `sources` are among the columns before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnChange {
    pub columns: Vec<SqlType>,
    pub sources: Vec<ColumnSource>,
}

/// An earlier generation, ready to be read.
#[derive(Debug, Clone)]
pub(super) struct Older {
    frame: Frame,
    columns: Vec<SqlType>,
    sources: Vec<ColumnSource>,
}

impl Older {
    pub(super) fn new(generation: &Generation) -> Older {
        Older {
            frame: Frame::new(&generation.columns, true),
            columns: generation.columns.clone(),
            sources: generation.sources.clone(),
        }
    }
}

impl ColumnSource {
    /// A column that is added with this value, which was assigned to the type.
    pub fn added(ty: &SqlType, value: &crate::Value) -> ColumnSource {
        let layout = RowLayout::new(std::slice::from_ref(ty));
        let mut row = Vec::new();
        layout.encode(std::slice::from_ref(value), &mut row);
        ColumnSource::Added(layout.raw(&row, 0).map(<[u8]>::to_vec))
    }
}

impl ColumnChange {
    /// Whether rows have the same columns before and after, though perhaps of wider types.
    fn keeps_columns(&self, before: usize) -> bool {
        let in_place = |(at, source): (usize, &ColumnSource)| matches!(source, ColumnSource::Stored(from) if usize::from(*from) == at);
        self.columns.len() == before && self.sources.iter().enumerate().all(in_place)
    }

    /// The position that a column of before has now.
    pub fn moved(&self, column: u16) -> Option<u16> {
        let from = |source: &ColumnSource| *source == ColumnSource::Stored(column);
        self.sources.iter().position(from).map(|at| at as u16)
    }

    /// The columns' generations after the change, if rows of `before` and its generations can stay as they are.
    pub fn apply(
        &self,
        before: &[SqlType],
        generations: Option<&Generations>,
    ) -> Result<Option<Generations>, &'static str> {
        if self.sources.len() != self.columns.len() || self.columns.is_empty() {
            return Err("not a source for each column");
        }
        for (ty, source) in self.columns.iter().zip(&self.sources) {
            check_source(ty, source, before)?;
        }
        if self.keeps_columns(before.len()) {
            return Ok(generations.cloned());
        }
        let mut generations = generations.cloned().ok_or("rows without generations")?;
        if generations.older.len() >= MAX_GENERATIONS {
            return Err("too many generations of rows");
        }
        for older in &mut generations.older {
            older.sources = self
                .sources
                .iter()
                .map(|source| match source {
                    ColumnSource::Stored(column) => older.sources[usize::from(*column)].clone(),
                    added => added.clone(),
                })
                .collect();
        }
        generations.older.push(Generation {
            columns: before.to_vec(),
            sources: self.sources.clone(),
        });
        Ok(Some(generations))
    }
}

impl Generations {
    /// Whether rows of all generations can be read as `columns`.
    pub fn check(&self, columns: &[SqlType]) -> Result<(), &'static str> {
        if self.older.len() > MAX_GENERATIONS {
            return Err("too many generations of rows");
        }
        for older in &self.older {
            if older.sources.len() != columns.len() {
                return Err("not a source for each column");
            }
            for (ty, source) in columns.iter().zip(&older.sources) {
                check_source(ty, source, &older.columns)?;
            }
        }
        Ok(())
    }
}

/// Whether a column of type `ty` can come from there.
fn check_source(ty: &SqlType, source: &ColumnSource, before: &[SqlType]) -> Result<(), &'static str> {
    let fits = match source {
        ColumnSource::Stored(column) => before
            .get(usize::from(*column))
            .is_some_and(|before| reads_as(before, ty)),
        ColumnSource::Added(None) => ty.nullable,
        ColumnSource::Added(Some(bytes)) => {
            let frame = Frame::new(std::slice::from_ref(ty), false);
            let has_length = Fixed::of(ty).is_none_or(|codec| codec.len() == bytes.len());
            has_length && frame.places[0].data.is_valid(bytes, ty)
        }
    };
    match fits {
        true => Ok(()),
        false => Err("a column's values are not of its type"),
    }
}

/// Whether every value of one type is, byte by byte, a value of the other, and the same in keys.
pub fn reads_as(before: &SqlType, after: &SqlType) -> bool {
    let labels_begin_alike = || {
        let (before, after) = (&before.labels, &after.labels);
        before.len() <= after.len() && before.iter().zip(after.iter()).all(|(before, after)| before == after)
    };
    let same_values = before.kind == after.kind
        && before.unsigned == after.unsigned
        && before.decimals == after.decimals
        && before.nullable == after.nullable
        && before.collation == after.collation
        && labels_begin_alike();
    same_values
        && match (Fixed::of(before), Fixed::of(after)) {
            // The length is that of the longest label.
            (Some(a), Some(b)) if matches!(before.kind, TypeKind::Enum | TypeKind::Set) => a == b,
            // A BIT of another length has other values; a longer DECIMAL has other bytes.
            (Some(a), Some(b)) => a == b && before.length == after.length,
            (None, None) => before.kind == TypeKind::Json || before.length <= after.length,
            _ => false,
        }
}

impl RowLayout {
    /// The generation of a row's bytes; they were validated.
    fn generation(&self, row: &[u8]) -> usize {
        match row[0] & MARK {
            0 => 0,
            _ => usize::from(row[row.len() - 1]),
        }
    }

    /// As [`RowLayout::raw`], in a table whose columns have changed.
    #[cold]
    pub(super) fn raw_of_any_generation<'a>(&'a self, row: &'a [u8], column: usize) -> Option<&'a [u8]> {
        match self.older.get(self.generation(row)) {
            None => self.frame.raw(row, column),
            Some(older) => match &older.sources[column] {
                ColumnSource::Stored(stored) => older.frame.raw(row, usize::from(*stored)),
                ColumnSource::Added(value) => value.as_deref(),
            },
        }
    }

    /// As [`RowLayout::validate`], where rows are marked.
    pub(super) fn validate_marked(&self, row: &[u8]) -> Result<(), CorruptRow> {
        let frame = |what| CorruptRow { column: None, what };
        let (generation, row) = match row {
            [] => return Err(frame("empty")),
            [first, ..] if first & MARK == 0 => (0, row),
            [rest @ .., generation] if *generation > 0 => (usize::from(*generation), rest),
            _ => return Err(frame("marked as of the first generation")),
        };
        match self.older.get(generation) {
            Some(older) => older.frame.validate(row, &older.columns),
            None if generation == self.older.len() => self.frame.validate(row, &self.columns),
            None => Err(frame("of a generation that is not known")),
        }
    }
}
