//! What a folder of measurements says, for people and for programs.
//!
//! In reading order:
//!
//! 1. `stats`: what may be said about a few repeats: medians, intervals, differences, knees, trends.
//! 2. `series` and `distribution`: the raw files, with every histogram in a small form.
//! 3. `figure`: a number that carries the formula it came by.
//! 4. `summary`: ladders, contests and findings: what `summary.json` holds.
//! 5. `page`, `story`, `say`: the report in sentences, tables and charts; `svg`: the charts.
//! 6. `html`, `markdown`: the same page in three forms.
//! 7. [`mod@compare`]: what differs between series, by how much, and how sure that is.
//! 8. [`price`]: what a cluster costs by a dated price file, prices out of the providers' lists, and the figures that others published.
//!
//! [`report`] writes `summary.json`, `report.md` and `report.html` into the folder of a series; [`compare()`] sets
//! several series side by side.

pub mod compare;
mod distribution;
mod error;
mod figure;
mod html;
mod markdown;
mod page;
pub mod price;
mod say;
mod series;
mod stats;
mod story;
mod summary;
mod svg;
mod text;

use std::path::{Path, PathBuf};

use lab_results::Folder;

pub use compare::{Comparison, Unlike, compare};
pub use error::ReportError;
pub use price::{Prices, Published};
use series::Series;
pub use summary::SUMMARY_SCHEMA;
use summary::Summary;

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
    let series = Series::read(folder, "")?;
    let summary = Summary::of(&series);
    let page = story::page(&series, &summary);
    let files = Folder::open(folder);
    let json = serde_json::to_string_pretty(&summary).map_err(ReportError::Summary)?;
    Ok(Written {
        summary: files.write_text("summary.json", &format!("{json}\n"))?,
        markdown: files.write_text("report.md", &markdown::page(&page))?,
        html: files.write_text("report.html", &html::page(&page, &summary.files))?,
    })
}
