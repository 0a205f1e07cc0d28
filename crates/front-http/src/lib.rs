//! The HTTP front: what an operator, a load balancer and a Prometheus server may ask a node.
//!
//! ```text
//!   GET /health   200 or 503, {"status": "serving"} or {"status": "not serving", "reason": "…"}
//!   GET /status   JSON: the node, its shards, memory and connections (read by `latsdb status`)
//!   GET /metrics  OpenMetrics text
//! ```
//!
//! The front counts nothing itself. It declares the trait [`Node`]; the binary implements it over the engine.
//! Everything is bounded: connections, header bytes, and the life of a connection. All but `/health` asks who is there
//! ([`visitor`]).

mod metrics;
mod node;
mod places;
mod server;
mod visitor;

pub use metrics::exposition;
pub use node::{
    Admission, BackupAnswer, BackupCall, Distribution, Figures, Health, MemoryStatus, Node, NodeStatus, Order, Purpose,
    ShardStatus, Status,
};
pub use server::serve;
pub use visitor::{Credentials, Visitor};
