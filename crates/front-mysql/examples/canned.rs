//! The front over canned answers, to measure what the front itself costs.
//!
//! `cargo run --release -p front-mysql --example canned -- 127.0.0.1:3480 [DIRECTORY OF A CERTIFICATE]`, then sysbench with `--db-ps-mode=auto`: the
//! answers have the shape that its scripts expect, whatever they ask.

#[path = "../tests/support/canned.rs"]
mod canned;

use std::sync::Arc;

use front_mysql::{Config, Logins, Registry, Server, Tls};

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
    let logins = Logins::start(config.secret, registry.clone(), backend.clone())?;
    let server = Server::start(config, registry, backend, logins)?;
    println!("listening on {}", server.addr());
    loop {
        std::thread::park();
    }
}
