//! `latsdb backup` and `latsdb restore`.
//!
//! ```text
//!   node ──records, over its HTTP address──▶ draw ──▶ files of a directory, or a pipe ──▶ restore ──▶ a new data directory
//! ```
//!
//! * `serving`: a node's side of it; `kept`: what it keeps for those who draw a backup;
//! * `client`: the calls to it, over HTTP; `peer`: as nodes call each other;
//! * [`mod@draw`]: a checkpoint with its log, or the log behind what is there already;
//! * `archive`: the directory, its files and how they follow each other;
//! * [`mod@restore`]: from there to a data directory.

mod archive;
mod client;
mod command;
mod draw;
mod kept;
mod moment;
mod peer;
mod restore;
mod serving;

pub use command::{backup, backup_command, restore, restore_command};
pub use peer::{Asked, Parts};
pub use serving::Serving;
