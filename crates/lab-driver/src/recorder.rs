//! What one worker saw within one second, and the sum of it over workers and seconds.
//!
//! A worker fills one [`Part`] and hands it over when its second is over; nothing is shared while load runs.

use std::collections::BTreeMap;

use lab_results::Latency;
use lab_results::rung::{ErrorCount, Second, StatementTotals, Totals};

use crate::client::Summary;
use crate::error::Refusal;

/// One second of one worker.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub second: i64,
    pub totals: Totals,
    pub latency: Latency,
    pub service_latency: Latency,
    /// By the catalog's kinds.
    pub kinds: Vec<StatementTotals>,
    pub errors: BTreeMap<(usize, u16), Seen>,
}

/// Errors of one code in one kind of statement.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub sqlstate: String,
    pub message: String,
    pub count: u64,
}

impl Part {
    pub fn new(second: i64, kinds: usize) -> Part {
        Part {
            second,
            totals: Totals::default(),
            latency: Latency::default(),
            service_latency: Latency::default(),
            kinds: vec![StatementTotals::default(); kinds],
            errors: BTreeMap::new(),
        }
    }

    #[inline]
    pub fn answered(&mut self, kind: usize, key_lookups: u32, summary: &Summary, sent: u64, latency_us: u64) {
        self.totals.queries += 1;
        self.totals.rows += summary.rows;
        self.totals.key_lookups += u64::from(key_lookups);
        self.totals.bytes_sent += sent;
        self.totals.bytes_received += summary.bytes;
        let kind = &mut self.kinds[kind];
        kind.count += 1;
        kind.rows += summary.rows;
        kind.bytes_sent += sent;
        kind.bytes_received += summary.bytes;
        kind.latency.record_us(latency_us);
    }

    pub fn failed(&mut self, kind: usize, refusal: &Refusal) {
        self.errors
            .entry((kind, refusal.code))
            .or_insert_with(|| Seen {
                sqlstate: refusal.sqlstate.clone(),
                message: refusal.message.clone(),
                count: 0,
            })
            .count += 1;
    }

    pub fn merge(&mut self, other: &Part) {
        self.totals.add(&other.totals);
        self.latency.merge(&other.latency);
        self.service_latency.merge(&other.service_latency);
        for (kind, other) in self.kinds.iter_mut().zip(&other.kinds) {
            kind.merge(other);
        }
        for (key, seen) in &other.errors {
            match self.errors.get_mut(key) {
                Some(known) => known.count += seen.count,
                None => {
                    self.errors.insert(*key, seen.clone());
                }
            }
        }
    }

    /// As a line of `seconds.jsonl`.
    pub fn to_second(&self, kinds: &[&str]) -> Second {
        Second {
            second: self.second,
            transactions: self.totals.transactions,
            queries: self.totals.queries,
            errors: self.errors.values().map(|seen| seen.count).sum(),
            retries: self.totals.retries,
            bytes_sent: self.totals.bytes_sent,
            bytes_received: self.totals.bytes_received,
            latency: self.latency.compacted(),
            statements: kinds
                .iter()
                .zip(&self.kinds)
                .filter(|(_, totals)| totals.count > 0)
                // An hour's seconds of every kind would be hundreds of megabytes at full resolution; the rung keeps that.
                .map(|(name, totals)| ((*name).to_owned(), totals.latency.coarse()))
                .collect(),
        }
    }

    pub fn statements(&self, kinds: &[&str]) -> BTreeMap<String, StatementTotals> {
        kinds
            .iter()
            .zip(&self.kinds)
            .filter(|(_, totals)| totals.count > 0)
            .map(|(name, totals)| ((*name).to_owned(), totals.clone()))
            .collect()
    }

    pub fn error_counts(&self, kinds: &[&str]) -> Vec<ErrorCount> {
        self.errors
            .iter()
            .map(|((kind, code), seen)| ErrorCount {
                code: *code,
                sqlstate: seen.sqlstate.clone(),
                message: seen.message.clone(),
                statement: kinds.get(*kind).copied().unwrap_or("connect").to_owned(),
                count: seen.count,
            })
            .collect()
    }
}
