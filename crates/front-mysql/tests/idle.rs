//! Five thousand connections that do nothing cost next to nothing.
//!
//! A process of its own, so that nobody else's memory is measured.

mod support;

use support::{Client, TestServer, resident_bytes, wait_until};

const CONNECTIONS: usize = 5_000;
/// Both ends live in this process; the kernel's own buffers are not counted.
const BYTES_PER_CONNECTION: usize = 6 << 10;

#[test]
fn five_thousand_idle_connections() {
    let server = TestServer::start();
    // Both sides of the first ones make the pools and arenas that all share.
    let warm_up: Vec<Client> = (0..50).map(|_| server.connect()).collect();
    let before = resident_bytes();
    let mut idle: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let mut client = server.connect();
            client.query("rows 10 100").rows();
            client.stream
        })
        .collect();
    assert_eq!(server.registry.statistics().connected, CONNECTIONS + warm_up.len());
    let each = resident_bytes().saturating_sub(before) / CONNECTIONS;
    println!("{each} bytes per idle connection");
    assert!(each < BYTES_PER_CONNECTION, "{each} bytes per idle connection");

    server.connect().expect_alive();
    idle.clear();
    wait_until("all are gone", || {
        server.registry.statistics().connected == warm_up.len()
    });
}
