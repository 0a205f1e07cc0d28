//! What is sent: a kind, its options, and for each connection a [`Script`](script::Script) that says the next statement.
//!
//! An option that a kind does not know is refused, and every option that decides what is sent is listed with its value, so that
//! two results can be told apart: see [`Workload::options`].

pub mod oltp;
mod options;
pub mod random;

use std::collections::BTreeMap;

pub use oltp::{OltpKind, OltpOptions};
use options::OptionReader;
pub use random::{Distribution, Random};

/// A workload and all its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    kind: Kind,
    described: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Oltp(OltpKind, OltpOptions),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    #[error("no workload is named `{0}`; there are {known}", known = Workload::kinds().join(", "))]
    Kind(String),
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
        let parsed = match OltpKind::from_name(kind) {
            Some(oltp) => Kind::Oltp(oltp, OltpOptions::read(oltp, &mut reader)?),
            None => return Err(WorkloadError::Kind(kind.to_owned())),
        };
        Ok(Workload {
            kind: parsed,
            described: reader.finish()?,
        })
    }

    pub fn kinds() -> Vec<&'static str> {
        OltpKind::ALL.iter().map(|kind| kind.name()).collect()
    }

    pub fn kind_name(&self) -> &str {
        match &self.kind {
            Kind::Oltp(kind, _) => kind.name(),
        }
    }

    /// Every option with its value, defaults included.
    pub fn options(&self) -> &BTreeMap<String, String> {
        &self.described
    }

    /// Rows of all tables together, for the check of free disk space and for progress.
    pub fn rows(&self) -> u64 {
        match &self.kind {
            Kind::Oltp(_, options) => u64::from(options.tables) * u64::from(options.table_size),
        }
    }

    /// Prepared statements that each connection holds, for the check of `max_prepared_stmt_count`; 0 without.
    pub fn prepared_statements_per_connection(&self) -> u64 {
        match &self.kind {
            Kind::Oltp(kind, options) => kind.prepared_statements(options),
        }
    }
}
