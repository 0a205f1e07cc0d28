//! The front over canned answers, to measure what the front itself costs.
//!
//! `cargo run --release -p front-mysql --example canned -- 127.0.0.1:3480 [DIRECTORY OF A CERTIFICATE]`, then sysbench with `--db-ps-mode=auto`: the
//! answers have the shape that its scripts expect, whatever they ask.

#[path = "../tests/support/canned.rs"]
mod canned;

use std::sync::Arc;

use front::{EventLoops, Logins, Registry, Tls};
use front_mysql::{Config, Server};

fn main() -> std::io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3480".into());
    let addr = addr.parse().map_err(std::io::Error::other)?;
    let registry = Registry::new();
    let backend = Arc::new(canned::Canned::new(registry.clone()));
    let tls = std::env::args()
        .nth(2)
        .map(|dir| Tls::load_or_generate(dir.as_ref()))
        .transpose()?;
    let config = Config {
        tls,
        ..Config::new(addr)
    };
    let logins = Logins::start(front::random(), registry.clone(), backend)?;
    let cores = std::thread::available_parallelism()?.get();
    let loops = EventLoops::start(cores, None, registry)?;
    let server = Server::start(config, loops.loops(), logins)?;
    println!("listening on {}", server.addr());
    loop {
        std::thread::park();
    }
}
