//! The types of keys, and what commands do with them.

pub mod bitfield;
pub mod bitmap;
pub mod dump;
pub mod generic;
pub mod geo;
pub mod geohash;
pub mod hash;
pub mod hash_expiry;
pub mod help;
pub mod hyperloglog;
pub mod list;
mod long;
pub mod memory;
pub mod scan;
pub mod set;
pub mod sort;
pub mod stream;
pub mod string;
pub mod zset;
