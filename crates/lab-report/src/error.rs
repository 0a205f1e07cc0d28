//! What can be wrong with a report: the files, or what was asked of them.

use lab_results::FolderError;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Price(#[from] crate::price::PriceError),
    /// A figure that JSON cannot hold.
    #[error("summary.json: {0}")]
    Summary(serde_json::Error),
    /// The series measure different things: a table of their figures would mislead.
    #[error("these series are not alike, so their figures do not compare:\n{}\nTo see the figures all the same, with these differences printed above them, use --force", .differences.join("\n"))]
    Unlike { differences: Vec<String> },
    #[error("nothing to compare: {0}")]
    TooFew(String),
}
