//! What a folder of measurements says, for people and for programs.
//!
//! In reading order:
//!
//! 1. [`price`]: what a cluster costs by a dated price file, and the figures that others published.
//! 2. [`compare`]: what differs between series, by how much, and how sure that is.
//!
//! [`report`] writes `summary.json`, `report.md` and `report.html` into the folder of a series; [`compare()`] sets
//! several series side by side.

pub mod compare;
mod error;
pub mod price;

use std::path::{Path, PathBuf};

pub use compare::{Comparison, Unlike, compare};
pub use error::ReportError;
pub use price::{Prices, Published};

/// What [`report`] wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub html: PathBuf,
    pub markdown: PathBuf,
    pub summary: PathBuf,
}

/// Makes the report of the series in `folder` and writes it there. A series that still runs, or was stopped, is
/// reported as far as it went.
pub fn report(folder: &Path) -> Result<Written, ReportError> {
    let run = lab_results::Folder::open(folder).run()?;
    Err(ReportError::Nothing {
        folder: folder.to_owned(),
        why: format!("the report of series {} is not written yet by this version", run.name),
    })
}
