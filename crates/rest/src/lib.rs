//! REST over tables: rows by key, lists, writes, SQL and transactions over several requests, as HTTP requests and answers in JSON.
//!
//! ```text
//!   a request ──▶ [`routes`]: which operation ──▶ its handler ──▶ [`Answer`]
//!        rows by key: `sql::session::by_key`, from the stored bytes to JSON ─┘
//!        everything else: statements of the client's own SQL session, so that rights, triggers, foreign keys and generated columns hold
//! ```
//!
//! In reading order:
//!
//! 1. [`client`]: a connection's client, and his SQL session; [`request`], [`answer`], [`problem`]: what comes and goes;
//! 2. [`routes`]: all operations, with their descriptions; [`openapi`]: these as a document;
//! 3. [`rows`], [`listing`], [`read`]: reading; [`change`], [`batch`]: writing; [`etag`], [`idempotency`]: what writes depend on;
//! 4. [`statements`]: SQL; [`transactions`]: over several requests; [`tables`]: definitions; [`tokens`]; [`features`];
//! 5. `json`, `arrow`: values.

pub mod answer;
mod arrow;
mod batch;
mod change;
mod client;
mod etag;
mod features;
mod idempotency;
mod json;
mod key;
mod listing;
mod moment;
mod openapi;
pub mod problem;
mod read;
mod request;
mod routes;
mod rows;
mod service;
mod statements;
mod tables;
mod tokens;
mod transactions;

pub use answer::{Answer, Head, Outlet};
pub use client::{Client, Identity};
pub use problem::Problem;
pub use request::Request;
pub use service::{Jobs, Rest};
pub use tokens::Token;
