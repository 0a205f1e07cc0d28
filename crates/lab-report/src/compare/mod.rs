//! Several series side by side: what differs in what was measured and in what came out, by how much, and how sure that is.
//!
//! Series are alike when the workloads of the same name send the same thing, by the same driver, to the same amount
//! of data. Machines, versions and server variables may differ: that is what comparisons are made for; they are listed.

mod fields;
mod story;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::ReportError;
use crate::page::Page;
use crate::series::Series;
use crate::summary::{Contest, Ladder, Summary, contests_between};
use crate::{html, markdown};
use fields::Fields;

/// What to do with series that measure different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlike {
    /// [`ReportError::Unlike`], with the fields that differ.
    Refuse,
    /// Compare by name, and print the differing fields above the figures.
    Show,
}

/// More series than letters would be.
const COUNT_MAX: usize = 26;
/// Columns of a terminal.
const WIDTH: usize = 110;

/// The outcome, to be printed in one of three forms.
#[derive(Debug, Clone)]
pub struct Comparison {
    page: Page,
    files: BTreeMap<String, String>,
}

impl Comparison {
    /// For a terminal: prose is broken at 110 columns, tables are as wide as they need.
    pub fn text(&self) -> String {
        markdown::plain(&self.page, WIDTH)
    }

    pub fn markdown(&self) -> String {
        markdown::page(&self.page)
    }

    /// One self-contained page. Files in formulas are named from the folders as they were given.
    pub fn html(&self) -> String {
        html::page(&self.page, &self.files)
    }
}

/// The first folder is the base that the others are compared with. One folder alone compares its targets with its first.
pub fn compare(folders: &[&Path], unlike: Unlike) -> Result<Comparison, ReportError> {
    if folders.is_empty() {
        return Err(ReportError::TooFew("no folder was given".into()));
    }
    if folders.len() > COUNT_MAX {
        return Err(ReportError::TooFew(format!(
            "{} folders are more than the {COUNT_MAX} that fit side by side",
            folders.len()
        )));
    }
    let all = folders
        .iter()
        .zip('a'..='z')
        .map(|(folder, letter)| {
            // One alone needs no letter.
            let letter = if folders.len() == 1 {
                String::new()
            } else {
                format!("{letter}:")
            };
            Series::read(folder, &letter)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let fields = Fields::of(&all);
    let unequal = fields.unequal_workloads();
    if unlike == Unlike::Refuse && !unequal.is_empty() {
        return Err(ReportError::Unlike { differences: unequal });
    }
    let summaries: Vec<Summary> = all.iter().map(Summary::of).collect();
    let mut contests = contests(&all, &summaries);
    let names: BTreeSet<&str> = all.iter().map(|series| series.run.name.as_str()).collect();
    if names.len() < all.len() {
        for contest in &mut contests {
            contest.base.ambiguous = true;
            contest.other.ambiguous = true;
        }
    }
    if contests.is_empty() {
        return Err(ReportError::TooFew(
            "these series have no workload in common that was measured on both sides".into(),
        ));
    }
    let mut files = BTreeMap::new();
    for (summary, folder) in summaries.iter().zip(folders) {
        for (name, path) in &summary.files {
            files.insert(name.clone(), format!("{}/{path}", folder.display()));
        }
    }
    let page = story::page(&all, &summaries, &contests, &fields, unlike);
    Ok(Comparison { page, files })
}

/// Base against others, workload by workload. Targets meet by name; if no name is shared, every target of the
/// others meets the base's first.
fn contests(all: &[Series], summaries: &[Summary]) -> Vec<Contest> {
    let [base, others @ ..] = all else { return Vec::new() };
    let [base_summary, other_summaries @ ..] = summaries else {
        return Vec::new();
    };
    if others.is_empty() {
        return base_summary.contests.clone();
    }
    let mut contests = Vec::new();
    for workload in &base.run.workloads {
        let bases: Vec<&Ladder> = base_summary.ladders_of(&workload.name).collect();
        for (series, summary) in others.iter().zip(other_summaries) {
            let theirs: Vec<&Ladder> = summary.ladders_of(&workload.name).collect();
            let shares_a_name = theirs
                .iter()
                .any(|ladder| bases.iter().any(|base| base.target == ladder.target));
            for ladder in theirs {
                let counterpart = if shares_a_name {
                    bases.iter().find(|base| base.target == ladder.target)
                } else {
                    bases.first()
                };
                if let Some(counterpart) = counterpart {
                    contests.extend(contests_between((base, counterpart), std::iter::once((series, ladder))));
                }
            }
        }
    }
    contests
}
