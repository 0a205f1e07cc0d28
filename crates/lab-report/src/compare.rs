//! Several series side by side: what differs in what was measured and in what came out, by how much, and how sure that is.
//!
//! Series are alike when the workloads of the same name send the same thing, by the same driver, to the same amount
//! of data. Machines, versions and server variables may differ: that is what comparisons are made for; they are listed.

use std::path::Path;

use crate::ReportError;

/// What to do with series that measure different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlike {
    /// [`ReportError::Unlike`], with the fields that differ.
    Refuse,
    /// Compare by name, and print the differing fields above the figures.
    Show,
}

/// The outcome, to be printed in one of three forms.
#[derive(Debug, Clone)]
pub struct Comparison {
    text: String,
    markdown: String,
    html: String,
}

impl Comparison {
    /// For a terminal, at most 120 columns.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn markdown(&self) -> &str {
        &self.markdown
    }

    /// One self-contained page.
    pub fn html(&self) -> &str {
        &self.html
    }
}

/// The first folder is the base that the others are compared with. One folder alone compares its targets with its first.
pub fn compare(folders: &[&Path], unlike: Unlike) -> Result<Comparison, ReportError> {
    let _ = unlike;
    Err(ReportError::TooFew(format!(
        "this version cannot compare yet ({} folders given)",
        folders.len()
    )))
}
