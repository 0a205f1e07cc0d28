//! The front's settings and limits.

use std::net::SocketAddr;
use std::path::PathBuf;

use front::Tls;
use front::backend::Plugin;

/// Everything that has a limit has it here. Names and defaults are MySQL's where it has the setting.
#[derive(Debug, Clone)]
pub struct Config {
    pub addr: SocketAddr,
    pub server_version: String,
    /// The plugin that the greeting proposes; an account's own plugin is switched to. It is the older one because every
    /// client has it built in: MariaDB's library loads the newer one from a file, and connections that are opened at
    /// the same time then fail.
    pub greeting_plugin: Plugin,
    /// Offered to clients where there is one.
    pub tls: Option<Tls>,
    /// The Unix socket, which is made anew; a file that a server left behind there is removed.
    pub socket: Option<PathBuf>,
    /// All sessions together (`max_prepared_stmt_count`). MySQL's default of 16,382 stops load generators, so this is its
    /// largest value.
    pub prepared_statements_max: usize,
    /// Bytes that a client may send before it has logged in.
    pub login_bytes_max: usize,
}

impl Config {
    pub fn new(addr: SocketAddr) -> Self {
        Config {
            addr,
            server_version: "8.0.36-LatsDB-0.1.0".into(),
            greeting_plugin: Plugin::MysqlNativePassword,
            tls: None,
            socket: None,
            prepared_statements_max: 4_194_304,
            login_bytes_max: 64 << 10,
        }
    }
}
