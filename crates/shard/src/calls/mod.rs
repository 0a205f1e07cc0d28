//! What a node whose sessions change rows, or read the newest ones, asks of the node that leads.
//!
//! ```text
//!   a follower's session                                the leader
//!     statement begins ──▶ newest timestamp? ─────────▶ under its lease
//!     a row to change  ──▶ lock ──────────────────────▶ the lock table, in the name of a guest
//!     commit           ──▶ write set, locks' epoch ───▶ the queue; the guest's locks go when it is applied
//! ```
//!
//! Rows are read at the follower, from its own replica: each answer says how far it must have applied before it looks. A *guest* is a
//! transaction of another node's that holds locks here; it goes with its commit, with its release, or with its node.
//!
//! Every call is answered within a second: who waits for a lock asks again, and keeps its place in the queue. A call whose answer was lost
//! can be made again, but for a commit: its outcome is asked for, which makes sure that the commit does not arrive later.
//!
//! * `message`: calls and answers as bytes; `entered`: with whose timers they are waited for; `home`: the leader's side; `guest`: the other one, and `guest_wait` one
//!   of its requests; `ids`: ranges of ids; `waits`: those in a follower's own lock table.

mod entered;
mod freshest;
mod guest;
mod guest_wait;
mod home;
mod ids;
pub(crate) mod message;
mod waits;

pub(crate) use guest::Remote;
pub use guest::{Freshness, Guest, GuestLock, NOBODYS};
pub use guest_wait::GuestWait;
pub(crate) use home::Home;
pub use ids::Sequence;
pub use message::IdKind;
pub(crate) use message::{decode_key, encode_key};
