//! Values as JSON, and back.

mod read;
mod write;

pub use read::{Given, List, Named, binary, not_json, value_of};
pub use write::{Numbers, write_cell, write_text};
