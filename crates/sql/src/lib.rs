//! SQL: from a statement's text to its answer.
//!
//! A [`Session`](session::Session) belongs to one client. It parses, binds, plans and runs statements against the
//! node's [`Engine`](engine::Engine), pushes their answers into a [`ResultSink`](result::ResultSink) and waits, where it must,
//! through its [`Host`](host::Host). Nothing here knows sockets or Raft.
//!
//! In reading order, along the way of a statement:
//!
//! * [`session`]: one client's state, and which module runs which statement;
//! * [`plan`]: from the tree to a plan: names, index choice (the crate `sql-plan`);
//! * [`expr`]: expressions, bound once and evaluated by everybody (the crate `sql-expr`);
//! * [`exec`]: running plans: straight reads, queries, changes (the crate `sql-exec`);
//! * [`program`]: stored programs, compiled and run; [`events`]: those that the clock starts;
//! * [`ddl`], [`show`], [`information_schema`], [`variables`]: the schema and the server, changed and shown;
//! * [`engine`], [`table`], [`plan_cache`], [`processes`], [`named_locks`]: what sessions share;
//! * `statement_logs`: the general log and the slow query log; [`statement_times`], `slow_digests`: how long statements take, and which take long;
//! * [`schema`]: the catalog in use, fed by the log; [`verify`]: whether it and the rows agree;
//! * [`cluster`]: a node comes to its cluster; [`neighbours`]: what it asks the others about their sessions;
//! * [`temporary`]: what a session has of its own; `server_files`: files of the server in statements;
//! * [`host`], [`result`]: what they need from the thread that runs them, and where answers go.

pub mod accounts;
mod aside;
mod automatic_ids;
mod cluster;
mod cluster_locks;
pub mod ddl;
pub mod engine;
pub mod events;
mod failpoint;
pub use sql_api::{host, nodes, processes};
pub use sql_exec as exec;
pub use sql_expr as expr;
pub use sql_plan as plan;
pub use sql_plan::{errors, names, table, temporary};
pub mod information_schema;
mod named_locks;
pub mod neighbours;
pub mod plan_cache;
mod program;
pub mod purge;
mod refuse;
pub mod result;
pub mod row_follower;
pub mod schema;
mod server_files;
pub mod session;
pub mod show;
mod slow_digests;
mod statement_class;
mod statement_logs;
pub mod statement_times;
pub mod statistics;
mod table_ids;
pub mod variables;
pub mod verify;
mod waiting;

/// What clients are told; drivers branch on the number.
pub const SERVER_VERSION: &str = "8.0.36-LatsDB-0.1.0";
