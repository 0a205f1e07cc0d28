//! The Redis serialization protocol (RESP), without sockets.
//!
//! ```text
//!   bytes of a client ──▶ [`Requests`]: one request after the other, as ranges of the bytes
//!   a command's answer ──▶ [`Reply`]: RESP2 or RESP3, straight into the send buffer
//! ```
//!
//! The protocol is described at <https://redis.io/docs/latest/develop/reference/protocol-spec/>.
//!
//! * [`request`]: what clients send;
//! * [`reply`]: what they get; [`answer`]: what they read of it;
//! * [`number`]: numbers as Redis reads and writes them; [`extended`]: as it adds them.

pub mod answer;
pub mod extended;
pub mod number;
pub mod reply;
pub mod request;

pub use answer::Answer;
pub use reply::{Protocol, Reply};
pub use request::{ProtocolError, Requests, Scan, split_words};
