//! Everything that a directory says twice, compared.
//!
//! Recovery checks the files: checksums, order, what each log entry may do. Beyond that the catalog and the rows are compared
//! ([`sql::verify`]).

use std::path::Path;

use env::Env;
use shard::{Role, Shard};
use sql::schema::Schema;

/// What was found.
#[derive(Default)]
pub struct Report {
    pub problems: Vec<String>,
    pub summary: String,
}

/// Checks a directory that no node uses; changes nothing.
pub fn verify(dir: &Path) -> Report {
    let schema = Schema::new();
    let identity = shard::Identity::read(&Env::real(), dir).ok().flatten();
    let role = identity.map_or(Role::Data, |identity| identity.role);
    let config = shard::Config {
        // A directory that says nothing of its node says so below.
        node_id: identity.map_or(1, |identity| identity.node),
        role,
        observer: Some(schema.clone()),
        ..shard::Config::new(Env::real().read_only(), dir, super::memory())
    };
    let mut report = Report::default();
    let shard = match Shard::open(config) {
        Ok(shard) => shard,
        Err(error) => {
            report.problems.push(format!("the directory does not open: {error}"));
            if let Ok(salvage) = shard::salvage(&Env::real(), dir, super::memory(), Schema::new()) {
                report.problems.extend(salvage.problems);
            }
            return report;
        }
    };
    let applied = shard.status().applied_index.unwrap_or(0);
    if role == Role::Witness {
        report.summary = format!("a witness, which has no rows, log entry {applied}");
        return report;
    }
    let catalog = schema.catalog();
    let now = i64::try_from(shard.wall().as_micros()).unwrap_or(i64::MAX);
    let verified = sql::verify::verify(shard.store(), &catalog, now);
    report.summary = format!(
        "{} tables, {} rows, log entry {applied}",
        catalog.tables().count(),
        verified.rows,
    );
    report.problems = verified.problems;
    report
}
