//! The MySQL client/server protocol as bytes: packets in, packets out, no sockets.
//!
//! Both directions are here, so a server, a load generator and a fuzzer share one understanding of the
//! protocol. Decoders borrow from the packet and never panic: whatever the peer sends is either a value or
//! [`Malformed`]. Encoders append to one growing `Vec<u8>`, so that a whole answer leaves in one write.
//!
//! In reading order:
//!
//! 1. [`frame`] cuts a byte stream into packets (16 MiB frames joined, lengths limited before buffering) and
//!    [`Output`] frames the answers.
//! 2. [`Reader`] and [`put`] read and write the protocol's integers and strings.
//! 3. [`handshake`]: greeting, login, plugin switch; [`auth`]: what the two password plugins compute.
//! 4. [`command`]: what a client may ask; [`statement`]: prepared statements and their parameters.
//! 5. [`response`]: OK, ERR, EOF; [`mod@column`] and [`row`]: result sets, text and binary; [`value`]: the binary
//!    form of one value, the same in a parameter and in a row.
//!
//! Source of the formats: the MySQL Internals documentation, "Client/Server Protocol".

pub mod auth;
mod bytes;
mod capabilities;
pub mod column;
pub mod command;
pub mod frame;
pub mod handshake;
mod number;
mod output;
pub mod put;
pub mod response;
pub mod row;
pub mod statement;
pub mod value;

pub use bytes::{Malformed, Reader};
pub use capabilities::{Capabilities, Status};
pub use output::{Output, Packet};
