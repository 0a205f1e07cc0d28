//! Any bytes to whatever decodes bytes: no panic, and what is accepted survives another round trip.
//!
//! * [`targets`]: what is fuzzed, each with a corpus
//! * [`mutation`]: how a corpus is varied from a seed, where no libFuzzer guides

pub mod mutation;
pub mod targets;
