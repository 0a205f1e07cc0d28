//! What is sent: a kind, its options, and for each connection a [`Script`] that says the next statement.
//!
//! An option that a kind does not know is refused, and every option that decides what is sent is listed with its value, so that
//! two results can be told apart: see [`Workload::options`].

pub mod oltp;
mod options;
pub mod random;
mod tpcc;
mod ycsb;

use std::collections::BTreeMap;

use crate::client::{Control, Kept};
use crate::error::DriverError;
use crate::run::Share;
use crate::statement::{Arguments, Catalog, Protocol};
pub use oltp::{OltpKind, OltpOptions};
use options::OptionReader;
pub use random::{Distribution, Random};
use tpcc::TpccOptions;
use ycsb::{YcsbKind, YcsbOptions};

/// A workload and all its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    kind: Kind,
    described: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Oltp(OltpKind, OltpOptions),
    Ycsb(YcsbKind, YcsbOptions),
    Tpcc(TpccOptions),
}

/// One connection's part of a workload: a state machine that says what is sent next. It never sees a socket or a clock.
pub(crate) trait Script: Send {
    /// The next statement is the first of a transaction: a new one, or the same again after an error.
    fn begin(&mut self);

    /// The next statement's index in the catalog, its parameters added to `arguments` (which is empty); `None`: the transaction is
    /// over. `last` is what the statement before gave.
    fn next(&mut self, arguments: &mut Arguments, last: &Last) -> Option<usize>;

    /// The kind under which the transaction that is over is counted as a whole, if the workload has several of them.
    fn transaction_kind(&self) -> Option<usize> {
        None
    }
}

/// Makes the script of each connection of a run, by its number; what the scripts of one run share is inside.
pub(crate) type Scripts = Box<dyn Fn(usize) -> Box<dyn Script> + Send + Sync>;

/// What a script may know of the statement before.
pub(crate) struct Last<'a> {
    pub rows: &'a Kept,
}

/// A table that a workload needs, and how its rows are made.
pub(crate) struct TableLoad {
    pub name: String,
    pub create: String,
    /// `INSERT INTO … VALUES`, without the rows.
    pub insert: String,
    /// Rows are made in units: one row, or the rows that belong together (an order's lines).
    pub units: u64,
    /// The longest text of one unit, for the size of an INSERT.
    pub unit_len_max: usize,
    /// The column that has every number from 1 to `units` once.
    pub gapless_key: Option<&'static str>,
    /// Statements after the rows are there: indexes.
    pub after: Vec<String>,
    /// Appends `(…),(…)` of the unit with this number (from 0).
    pub write: Box<dyn Fn(u64, &mut Random, &mut Vec<u8>) + Sync + Send>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    #[error("no workload is named `{0}`; there are {known}", known = Workload::kinds().join(", "))]
    Kind(String),
    #[error("with these options `{0}` sends nothing: give it statements")]
    Empty(String),
    #[error("`{kind}` has no option `{option}`; it has {known}")]
    Option {
        kind: String,
        option: String,
        known: String,
    },
    #[error("option `{option}`: `{value}` is not {wanted}")]
    Value {
        option: String,
        value: String,
        wanted: &'static str,
    },
}

impl Workload {
    /// `kind` is one of [`Workload::kinds`]; options have sysbench's names (`table_size` or `table-size`).
    pub fn new(kind: &str, options: &BTreeMap<String, String>) -> Result<Workload, WorkloadError> {
        let mut reader = OptionReader::new(kind, options);
        let parsed = if let Some(oltp) = OltpKind::from_name(kind) {
            Kind::Oltp(oltp, OltpOptions::read(&mut reader)?)
        } else if let Some(ycsb) = YcsbKind::from_name(kind) {
            Kind::Ycsb(ycsb, YcsbOptions::read(ycsb, &mut reader)?)
        } else if kind == tpcc::NAME {
            Kind::Tpcc(TpccOptions::read(&mut reader)?)
        } else {
            return Err(WorkloadError::Kind(kind.to_owned()));
        };
        let workload = Workload {
            kind: parsed,
            described: reader.finish()?,
        };
        if workload.catalog().statements.is_empty() {
            return Err(WorkloadError::Empty(kind.to_owned()));
        }
        Ok(workload)
    }

    pub fn kinds() -> Vec<&'static str> {
        let oltp = OltpKind::ALL.iter().map(|kind| kind.name());
        let ycsb = YcsbKind::ALL.iter().map(|kind| kind.name());
        oltp.chain(ycsb).chain([tpcc::NAME]).collect()
    }

    pub fn kind_name(&self) -> &str {
        match &self.kind {
            Kind::Oltp(kind, _) => kind.name(),
            Kind::Ycsb(kind, _) => kind.name(),
            Kind::Tpcc(_) => tpcc::NAME,
        }
    }

    /// Every option with its value, defaults included.
    pub fn options(&self) -> &BTreeMap<String, String> {
        &self.described
    }

    /// Rows of all tables together, for the check of free disk space and for progress.
    pub fn rows(&self) -> u64 {
        match &self.kind {
            Kind::Oltp(kind, options) => u64::from(options.tables) * u64::from(kind.rows_loaded(options)),
            Kind::Ycsb(_, options) => options.table_size,
            Kind::Tpcc(options) => options.rows(),
        }
    }

    /// Rows of each table alone.
    pub fn rows_per_table(&self) -> u64 {
        match &self.kind {
            Kind::Oltp(_, options) => options.table_size.into(),
            Kind::Ycsb(_, options) => options.table_size,
            Kind::Tpcc(options) => u64::from(options.items),
        }
    }

    /// Prepared statements that each connection holds, for the check of `max_prepared_stmt_count`; 0 without.
    pub fn prepared_statements_per_connection(&self) -> u64 {
        let catalog = self.catalog();
        let prepared = catalog
            .statements
            .iter()
            .filter(|statement| statement.protocol == Protocol::Prepared);
        prepared.count() as u64
    }

    /// Every statement that its scripts send.
    pub(crate) fn catalog(&self) -> Catalog {
        match &self.kind {
            Kind::Oltp(kind, options) => oltp::catalog(*kind, options),
            Kind::Ycsb(kind, options) => ycsb::catalog(*kind, options),
            Kind::Tpcc(options) => tpcc::catalog(options),
        }
    }

    /// The scripts of a run's connections.
    pub(crate) fn scripts(&self, seed: u64, share: Share) -> Scripts {
        match &self.kind {
            Kind::Oltp(kind, options) => oltp::scripts(*kind, options, seed, share.of as usize),
            Kind::Ycsb(kind, options) => ycsb::scripts(*kind, options, seed, share),
            Kind::Tpcc(options) => tpcc::scripts(options, seed),
        }
    }

    pub(crate) fn tables(&self) -> Vec<TableLoad> {
        match &self.kind {
            Kind::Oltp(kind, options) => oltp::tables(*kind, options),
            Kind::Ycsb(_, options) => ycsb::tables(options),
            Kind::Tpcc(options) => tpcc::tables(options),
        }
    }

    /// What must hold of the tables whatever ran, and does not.
    pub(crate) fn conditions(&self, control: &mut Control) -> Result<Vec<String>, DriverError> {
        match &self.kind {
            Kind::Tpcc(_) => tpcc::conditions(control),
            Kind::Oltp(..) | Kind::Ycsb(..) => Ok(Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_the_documentation() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab/workloads.md");
        let page = std::fs::read_to_string(page).unwrap();
        for kind in Workload::kinds() {
            assert!(page.contains(kind) || kind.starts_with("ycsb_"), "{kind}");
            for option in Workload::new(kind, &BTreeMap::new()).unwrap().options().keys() {
                assert!(page.contains(&format!("`{option}`")), "{kind}: {option}");
            }
        }
    }

    #[test]
    fn an_unknown_option_or_value_is_refused_by_name() {
        let refused = |option: &str, value: &str| {
            let options = BTreeMap::from([(option.to_owned(), value.to_owned())]);
            Workload::new("oltp_read_write", &options).unwrap_err().to_string()
        };
        assert!(refused("pont_selects", "3").contains("pont_selects"));
        assert!(refused("point_selects", "many").contains("many"));
        assert!(refused("rand_type", "round").contains("uniform"));
        assert!(
            Workload::new("oltp_all", &BTreeMap::new())
                .unwrap_err()
                .to_string()
                .contains("ycsb_a")
        );
    }

    #[test]
    fn names_may_have_dashes() {
        let options = BTreeMap::from([("table-size".to_owned(), "1_000".to_owned())]);
        let workload = Workload::new("oltp_read_write", &options).unwrap();
        assert_eq!(workload.options()["table_size"], "1000");
    }
}
