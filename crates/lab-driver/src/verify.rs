//! What our driver and the real sysbench send, recorded on the wire by a proxy and held side by side.
//!
//! Compared are: the texts of the statements, prepared or not; the mix (which statements, in which order, make a transaction); how
//! parameters are bound; what they are (the distribution of ids by a chi-square test, the shape of strings, the width of ranges); and
//! the tables that both load. Timing is not: see the example `against-sysbench`.

mod compare;
mod proxy;
mod statistics;

use std::time::Duration;

use lab_results::run::Load;

use crate::prepare::{PrepareSpec, TableCheck};
use crate::{Control, DriverError, RungSpec, Stop, Target, TlsMode, Workload, sysbench};
pub use proxy::{Parameter, Proxy, Recorded, Recording};

/// One comparison: `ours` against `theirs`.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// `statement texts`, `mix per transaction`, `id of SELECT c …`, `k of sbtest`, …
    pub what: String,
    pub ours: String,
    pub theirs: String,
    pub agrees: bool,
}

/// Two samples as unlike as less than one in so many pairs of one distribution are called different.
const ONE_IN: f64 = 10_000.0;
const SEED: u64 = 20_260;

/// Prepares and runs `workload` with both drivers against `server`, each in a schema of its own (`<database>_ours`,
/// `<database>_theirs`, dropped before and afterwards), for at least `transactions` transactions, and compares what went over the
/// wire.
pub fn verify(
    target: &Target,
    server: &str,
    workload: &Workload,
    transactions: u64,
) -> Result<Vec<Finding>, DriverError> {
    if target.tls.mode != TlsMode::Disabled {
        let why = "what is sent cannot be compared where it is encrypted: use an account and a server without TLS (`tls = \"disabled\"`)";
        return Err(DriverError::Spec(why.to_owned()));
    }
    let (ours, theirs) = (Side::new(target, server, "ours")?, Side::new(target, server, "theirs")?);
    let result = record(&ours, &theirs, workload, transactions);
    let cleaned = ours.drop_schema(target, server).and(theirs.drop_schema(target, server));
    let findings = result?;
    cleaned?;
    Ok(findings)
}

/// A driver's schema, with a proxy before the server.
struct Side {
    proxy: Proxy,
    target: Target,
    direct: Target,
}

impl Side {
    fn new(target: &Target, server: &str, name: &str) -> Result<Side, DriverError> {
        let proxy = Proxy::start(server).map_err(DriverError::System)?;
        let direct = Target {
            servers: vec![server.to_owned()],
            database: format!("{}_{name}", target.database),
            ..target.clone()
        };
        let mut control = Control::connect_without_database(target, server)?;
        control.query(&format!("DROP DATABASE IF EXISTS {}", direct.database))?;
        control.query(&format!("CREATE DATABASE {}", direct.database))?;
        Ok(Side {
            target: Target {
                servers: vec![proxy.address()],
                ..direct.clone()
            },
            proxy,
            direct,
        })
    }

    fn drop_schema(&self, target: &Target, server: &str) -> Result<(), DriverError> {
        let mut control = Control::connect_without_database(target, server)?;
        control
            .query(&format!("DROP DATABASE IF EXISTS {}", self.direct.database))
            .map(|_| ())
    }
}

fn record(ours: &Side, theirs: &Side, workload: &Workload, transactions: u64) -> Result<Vec<Finding>, DriverError> {
    let spec = PrepareSpec {
        connections: 2,
        seed: SEED,
    };
    crate::prepare(&ours.target, workload, &spec, &Stop::new(), &mut |_, _| {})?;
    sysbench::prepare(&theirs.target, workload)?;
    let mut findings = compare::loads(&ours.proxy.take(), &theirs.proxy.take());
    findings.extend(tables(ours, theirs, workload)?);
    sysbench::run_events(&theirs.target, workload, connections(workload), transactions)?;
    let their_recording = theirs.proxy.take();
    let enough = their_recording.iter().map(Vec::len).sum::<usize>();
    run_until(ours, workload, enough)?;
    findings.extend(compare::runs(
        &ours.proxy.take(),
        &their_recording,
        workload.rows_per_table(),
    ));
    Ok(findings)
}

/// Where each connection has a part of the keys for itself, one connection: which part is drawn from how often would be chance.
fn connections(workload: &Workload) -> u32 {
    if workload.kind_name().starts_with("select_random_") {
        1
    } else {
        2
    }
}

/// Our driver, until as many commands were sent as by theirs.
fn run_until(ours: &Side, workload: &Workload, commands: usize) -> Result<(), DriverError> {
    let load = Load::Closed {
        threads_per_server: connections(workload),
        threads_total: connections(workload),
    };
    let spec = RungSpec::new(load, Duration::ZERO, Duration::from_secs(120), SEED);
    let stop = Stop::new();
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| crate::run(&ours.target, workload, &spec, &stop, &mut |_| {}));
        while !running.is_finished() && ours.proxy.commands() < commands {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.request();
        running
            .join()
            .unwrap_or_else(|_| Err(DriverError::Spec("the run panicked".into())))
    })?;
    match outcome.failure {
        None => Ok(()),
        Some(failure) => Err(DriverError::Spec(failure)),
    }
}

/// The loaded tables: schemas, rows, distribution of k, shape of c and pad.
fn tables(ours: &Side, theirs: &Side, workload: &Workload) -> Result<Vec<Finding>, DriverError> {
    let mut findings = Vec::new();
    let server = &ours.direct.servers[0];
    let our_check = crate::check(&ours.direct, server, workload)?;
    let their_check = crate::check(&theirs.direct, server, workload)?;
    let say = |table: &TableCheck| {
        format!(
            "{} rows, ids {:?} to {:?}; {}",
            table.rows,
            table.least_id.unwrap_or_default(),
            table.greatest_id.unwrap_or_default(),
            table.schema.join(", ")
        )
    };
    for (our, their) in our_check.tables.iter().zip(&their_check.tables) {
        findings.push(Finding {
            what: format!("table {}", our.name),
            ours: say(our),
            theirs: say(their),
            agrees: our == their,
        });
    }
    let rows = workload.rows_per_table();
    let sample = |side: &Side| -> Result<compare::TableSample, DriverError> {
        let mut control = Control::connect(&side.direct, server)?;
        compare::TableSample::read(&mut control, rows)
    };
    findings.extend(compare::samples(&sample(ours)?, &sample(theirs)?));
    Ok(findings)
}
