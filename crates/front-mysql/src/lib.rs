//! The MySQL front: logins, commands and answers, on the event loops that the fronts share (the crate `front`).
//!
//! In reading order:
//!
//! 1. [`server`]: who connects; [`connection`]: the life of one connection.
//! 2. [`login`], [`authentication`], [`rsa`]: who is it; [`commands`]: what does it want.
//! 3. [`socket`], [`compressed`]: packets in and out.
//! 4. [`sink`], [`columns`], [`cells`]: answers straight into the send buffer; [`prepared`]: parameters.

mod authentication;
mod cells;
mod columns;
mod commands;
mod compressed;
mod config;
mod connection;
mod login;
mod prepared;
mod rsa;
mod server;
mod sink;
mod socket;

pub use config::Config;
pub use server::Server;
