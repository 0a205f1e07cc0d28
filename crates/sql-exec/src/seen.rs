//! Rows that are met once for each of several entries.

use governor::stepwise::Set;
use sql_plan::access::KeyRanges;
use types::SqlResult;

use crate::runtime::{QueryMemory, Runtime};

/// Bytes of a key in the set beside its own.
const OVERHEAD: usize = 64;

/// The rows that a read of a multi-valued index has met. Of other reads it knows that no row comes again.
pub struct Seen {
    met: Option<(Set<Box<[u8]>>, QueryMemory)>,
}

impl Seen {
    pub fn of(keys: &KeyRanges, runtime: &Runtime<'_>) -> Seen {
        let met = keys.repeats.then(|| (Set::default(), runtime.query_memory()));
        Seen { met }
    }

    /// Whether the row with this primary key comes for the first time. 1038 where there is no memory to tell.
    #[inline]
    pub fn is_new(&mut self, primary_key: &[u8]) -> SqlResult<bool> {
        let Some((met, memory)) = &mut self.met else {
            return Ok(true);
        };
        if met.contains(primary_key) {
            return Ok(false);
        }
        memory.grow(primary_key.len() + OVERHEAD)?;
        met.insert(primary_key.into());
        Ok(true)
    }
}
