//! What our driver sends against what sysbench sends:
//!
//! ```text
//! cargo run -p lab-driver --example verify -- 127.0.0.1:3306 sbtest oltp_read_write user=root table_size=10000
//! ```
//!
//! `all` in the workload's place verifies every workload that sysbench has.

mod arguments;

use std::error::Error;

use arguments::Arguments;
use lab_driver::Workload;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = Arguments::read("usage: verify HOST:PORT DATABASE WORKLOAD|all [option=value …]");
    let (server, database, kind) = (arguments.word()?, arguments.word()?, arguments.word()?);
    let target = arguments.target(&server, database)?;
    let transactions: u64 = arguments.number("transactions", 500)?;
    let options = arguments.rest();
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
