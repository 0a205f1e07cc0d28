//! HTTP/1.1 (RFC 9110, RFC 9112), without sockets.
//!
//! ```text
//!   bytes of a client ──▶ [`Head::scan`] ──▶ the body's length, or [`chunked`] ──▶ a request, as ranges of the bytes
//!   an answer ──▶ [`response`]: a head, then the body whole or in chunks, straight into the send buffer
//! ```
//!
//! What two readers of the same bytes could take for different requests is refused, whatever the standard lets one guess: both
//! lengths at once, a length twice, white space before a colon, folded lines, bare line ends.
//!
//! * [`request`]: the head of a request; [`chunked`]: a body that comes in chunks;
//! * [`target`]: paths and queries; [`field`]: values of headers; [`base64`];
//! * [`response`]: what goes back; [`answer`]: reads it.

pub mod answer;
pub mod base64;
pub mod chunked;
pub mod field;
pub mod fuzz;
pub mod request;
pub mod response;
pub mod target;

pub use answer::{AnswerHead, BodyReader};
pub use request::{Body, Head, Headers, Improper, Scan, Version};
pub use response::{ContentLength, Framing, ResponseHead};
