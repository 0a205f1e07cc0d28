//! One replicated shard: rows, their log, and the consensus between its replicas.
//!
//! ```text
//!   propose ──▶ queue ──▶ batch ──▶ log entry ──▶ written, synced ──▶ committed ──▶ applied ──▶ answer
//! ```
//!
//! A transaction that arrives here has its locks and its writes; the shard gives it a place in the log and a commit
//! timestamp. Whatever arrives while a batch is being written forms the next one. A single node is a consensus group of
//! one, on the same path.
//!
//! Reading order:
//!
//! * [`Shard`], [`Config`]: the outside; [`Ticket`]: names of transactions;
//! * `replica`: its work and what is shared; `workers`: the threads, or tasks, on which it goes on; `queue`: where transactions wait; `leader`: the thread that commits;
//! * `batch`: a log entry's contents; `consensus`: the consensus library's types; `log`: its log, and `syncs`: how that
//!   becomes durable; `peers`, `message`: its other replicas and what is said to them; `reception`: what they say;
//! * `calls`: what sessions of the nodes that follow ask of the one that leads; `lease`: how long it may answer alone; `contact`: whether it hears of
//!   the others; `visible`: waiting for what it has committed; `durability`: what an answer waits for;
//! * `membership`: who belongs to the shard; `admission`: from when on one that comes anew takes part in elections; `levels`: what all of its nodes can read;
//! * `witness`: a replica that votes and has no rows;
//! * `machine`: applying the log; `outcomes`: what became of transactions; `prepared`: those that wait for their coordinator's word;
//! * [`mod@salvage`]: the rows of a damaged directory, as far as they can be read;
//! * `checkpoint`, `housekeeper`: shortening the log; `arrivals`: checkpoints of other replicas; `compaction`: closing gaps in memory;
//! * [`mod@backup`]: what is given to backups, and what becomes of one;
//! * `meters`: what all of this took.

mod admission;
mod ahead;
mod alone;
mod api;
mod arrivals;
mod awake;
pub mod backup;
mod batch;
mod bytes;
mod calls;
mod checkpoint;
mod compaction;
mod consensus;
mod contact;
mod durability;
mod failure;
mod followed;
#[doc(hidden)]
pub mod fuzz;
mod housekeeper;
mod ids;
mod leader;
mod lease;
mod levels;
mod log;
mod machine;
mod membership;
mod message;
mod meters;
mod observer;
mod outcomes;
mod peers;
mod pieces;
mod prepared;
mod progress;
mod queue;
mod reception;
mod replica;
mod salvage;
mod syncs;
mod visible;
mod witness;
mod workers;

pub use api::{
    CheckpointError, Config, Founding, Member, OpenError, Outcome, ProposeError, Role, Shard, Status, Timing,
    Transaction,
};
pub use calls::{Freshness, Guest, GuestLock, GuestWait, IdKind, NOBODYS, Sequence};
pub use durability::Durability;
pub use ids::{Issuer, Ticket, TransactionId};
pub use journal::{Admission, Entry, EntryId, Identity};
pub use membership::{Admitted, MembershipError, Replica};
pub use meters::{Histogram, Meters};
pub use observer::{Change, Changed, Follows, Observer, RowChange, RowChanges};
pub use peers::{Answered, Lane, NoAnswer, NoPeers, Peers};
pub use prepared::{PREPARED, PREPARED_PARTS, PreparedName, PreparedTransaction, Unreadable, prepared_specs};
pub use salvage::{Salvage, salvage};
pub use workers::Workers;
