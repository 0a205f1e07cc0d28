//! Backups: a checkpoint and the log behind it, as one stream of records (drawn in `docs/formats/backup.md`).
//!
//! ```text
//!   replica ──head, meta, chunk…, entries…──▶ whoever keeps it: a file, a pipe ──▶ a new data directory, as of some moment
//! ```
//!
//! Every record has a checksum, and a stream says at its end what it must have: what was cut off, damaged or left out shows. The log goes
//! on beside the chunks, so that a replica has to keep no more of it than it keeps anyway.
//!
//! * [`mod@record`]: the bytes;
//! * [`stream`]: what a stream must be made of, checked by whoever writes it and by whoever reads it;
//! * [`source`]: what a replica gives;
//! * [`restore`]: from a stream to the data directory of a new cluster.

mod record;
mod restore;
mod source;
mod stream;

pub use record::{END_BYTES, Head, Kind, Position, position_at_end};
pub use restore::{Replay, Restore, RestoreError, Restored, Until};
pub use source::{Backup, BackupError};
pub use stream::{Checked, Damaged, Reader, Record, Summary};

pub(crate) use record::seal;
pub(crate) use source::Source;
