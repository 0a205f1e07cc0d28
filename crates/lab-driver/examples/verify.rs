//! What our driver sends against what sysbench sends:
//!
//! ```text
//! cargo run -p lab-driver --example verify -- 127.0.0.1:3306 sbtest oltp_read_write user=root table_size=10000
//! ```
//!
//! `all` in the workload's place verifies every workload that sysbench has.

use std::collections::BTreeMap;
use std::error::Error;

use lab_driver::{Password, Target, Workload};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut positional = || {
        arguments
            .next()
            .ok_or("usage: verify HOST:PORT DATABASE WORKLOAD|all [option=value …]")
    };
    let (server, database, kind) = (positional()?, positional()?, positional()?);
    let mut options: BTreeMap<String, String> = arguments
        .filter_map(|argument| {
            argument
                .split_once('=')
                .map(|(name, value)| (name.into(), value.into()))
        })
        .collect();
    let mut take = |name: &str, default: &str| options.remove(name).unwrap_or_else(|| default.to_owned());
    let target = Target {
        servers: vec![server.clone()],
        user: take("user", "root"),
        password: Password::new(take("password", "")),
        database,
    };
    let transactions: u64 = take("transactions", "500").parse()?;
    let kinds = match kind.as_str() {
        "all" => Workload::kinds()
            .into_iter()
            .filter(|kind| lab_driver::sysbench::has(kind))
            .collect(),
        one => vec![one],
    };
    let mut different = 0;
    for kind in kinds {
        let workload = Workload::new(kind, &options)?;
        println!("{kind}");
        for finding in lab_driver::verify::verify(&target, &server, &workload, transactions)? {
            println!(
                "  {} {}",
                if finding.agrees { "same" } else { "DIFFERENT" },
                finding.what
            );
            if !finding.agrees {
                different += 1;
                println!("      ours:   {}\n      theirs: {}", finding.ours, finding.theirs);
            }
        }
    }
    println!("{different} differences");
    std::process::exit(i32::from(different > 0));
}
