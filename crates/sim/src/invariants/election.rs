//! Of each term there is at most one leader.

use std::collections::BTreeMap;

use crate::report::Report;
use crate::trace::Trace;

/// Of a replica that does not lead.
const NONE: u64 = u64::MAX;

#[derive(Default)]
pub struct Election {
    /// Of each node, what it said last.
    said: BTreeMap<u32, u64>,
    leaders: BTreeMap<u64, u32>,
    /// How many different terms had a leader that took commits.
    pub terms: usize,
}

impl Election {
    /// This node gives locks in this term.
    pub fn see(&mut self, node: u32, term: u64, trace: &Trace, report: &Report) {
        if self.said.insert(node, term) == Some(term) {
            return;
        }
        if term == NONE {
            trace.note(format_args!("node {node} does not lead"));
            return;
        }
        trace.note(format_args!("node {node} leads in term {term}"));
        self.terms += 1;
        self.believe(node, term, report);
    }

    /// This node takes itself for the leader of this term.
    pub fn believe(&mut self, node: u32, term: u64, report: &Report) {
        let leader = *self.leaders.entry(term).or_insert(node);
        if leader != node {
            report.violation(
                "election",
                format_args!("in term {term} both node {leader} and node {node} lead"),
            );
        }
    }
}
