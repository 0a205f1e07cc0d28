//! The HTTP front: what an operator, a load balancer and a Prometheus server may ask a node, and the tables for everybody (`/v1/…`, the
//! crate `rest`).
//!
//! ```text
//!   GET /health   200 or 503, {"status": "serving"} or {"status": "not serving", "reason": "…"}
//!   GET /status   JSON: the node, its shards, memory and connections (read by `latsdb status`)
//!   GET /metrics  OpenMetrics text
//!   GET /status/history  the figures of the last hour
//!   GET /         the console (the crate `console`)
//!   /v1/…         rows, SQL, transactions: described by GET /v1/openapi.json
//! ```
//!
//! In reading order:
//!
//! 1. [`server`]: who connects; [`connection`]: request after request, on the node's event loops; [`http2`]: many at once; [`outlet`], [`compression`]: answers; [`console`]: files for a browser;
//! 2. [`identity`]: who asks for tables; [`visitor`]: who asks for the node's own pages;
//! 3. [`pages`]: these; [`node`]: what they ask of the node; [`metrics`], [`history`].
//!
//! The front counts nothing itself. It declares the trait [`Node`]; the binary implements it over the engine.

mod compression;
mod connection;
mod console;
mod history;
mod http2;
mod identity;
mod metrics;
mod node;
mod outlet;
mod pages;
mod server;
mod visitor;

pub use history::{History, Sample};
pub use metrics::exposition;
pub use node::{
    Admission, BackupAnswer, BackupCall, Disk, Distribution, Figures, Health, MemoryStatus, Node, NodeStatus, Order,
    Purpose, ShardStatus, Status,
};
pub use server::{Doors, Open, Server, jobs};
pub use visitor::{Credentials, Visitor};
