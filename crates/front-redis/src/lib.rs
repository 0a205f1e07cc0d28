//! The Redis front: clients that speak RESP.
//!
//! * [`server`]: who connects;
//! * [`connection`]: the life of one connection: requests in pipelines, pushed messages;
//! * [`surroundings`]: what a session asks of its connection.

mod connection;
mod server;
mod surroundings;

pub use server::Server;
