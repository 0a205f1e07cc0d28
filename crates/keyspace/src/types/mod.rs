//! The types of keys, and what commands do with them.

pub mod bitfield;
pub mod bitmap;
pub mod generic;
pub mod hash;
pub mod list;
pub mod scan;
pub mod set;
pub mod string;
pub mod zset;
