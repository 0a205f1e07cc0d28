//! Logs on standard error, as text for people or JSON for machines.

use std::io::IsTerminal;

use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::config::LogFormat;

/// Starts logging for the whole process. Libraries speak only when something is wrong, unless everything is wanted. Consensus warns of every
/// message that a lost node does not answer, thirty a second: which node is lost, and why, the network says once.
pub fn start(level: Level, format: LogFormat) {
    let libraries = if level == Level::TRACE {
        LevelFilter::TRACE
    } else {
        LevelFilter::WARN
    };
    // Of the consensus, warnings are everyday life; of HTTP/2, they are for what any client may do.
    let quiet = match level {
        Level::TRACE => LevelFilter::TRACE,
        Level::DEBUG => LevelFilter::WARN,
        _ => LevelFilter::ERROR,
    };
    let filter = Targets::new().with_default(level).with_targets([
        ("openraft", quiet),
        ("h2", quiet),
        ("hyper", libraries),
        ("mio", libraries),
    ]);
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    match format {
        LogFormat::Text => registry.with(layer.with_ansi(std::io::stderr().is_terminal())).init(),
        LogFormat::Json => registry.with(layer.json().flatten_event(true)).init(),
    }
}
