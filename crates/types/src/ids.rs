//! Newtypes for the ids and positions that the layers exchange, so that no one passes a table where an index is meant.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A table, unique in the cluster and never reused. `TRUNCATE` and a rebuilding `ALTER` give a new one.
    TableId(u32)
);
id!(
    /// An index within its table; 0 is the primary key (clustered).
    IndexId(u16)
);
id!(
    /// A commit timestamp: the order of commits. It keeps near the wall clock of whoever leads, in milliseconds since 1970, of which
    /// each has room for 2^16 commits; it never goes back when that clock does. 0 is before everything.
    Timestamp(u64)
);
id!(
    /// A position in a shard's log; the first entry has 1.
    LogIndex(u64)
);
id!(
    /// A replication group.
    ShardId(u32)
);

impl TableId {
    /// Ids from here on are of local tables; those of the catalog do not come so far.
    pub const FIRST_LOCAL: TableId = TableId(1 << 31);

    /// Whether the table is a session's own, and so never in a log.
    pub fn is_local(self) -> bool {
        self >= TableId::FIRST_LOCAL
    }
}

impl IndexId {
    pub const PRIMARY: IndexId = IndexId(0);
}

impl Timestamp {
    pub const ZERO: Timestamp = Timestamp(0);
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// Bits that count within a millisecond.
    const COUNTER_BITS: u32 = 16;
    /// About the year 2500. A clock that is further ahead is no clock; beyond it timestamps would leave no room for other stamps.
    const LATEST_WALL_MS: u64 = 1 << 44;

    pub fn next(self) -> Timestamp {
        Timestamp(self.0 + 1)
    }

    /// The first of a millisecond.
    pub fn at_wall_ms(ms: u64) -> Timestamp {
        Timestamp(ms.min(Timestamp::LATEST_WALL_MS) << Timestamp::COUNTER_BITS)
    }

    /// The last of a millisecond.
    pub fn at_end_of_wall_ms(ms: u64) -> Timestamp {
        Timestamp(Timestamp::at_wall_ms(ms).0 | ((1 << Timestamp::COUNTER_BITS) - 1))
    }

    /// In which millisecond, by the clock of whoever led.
    pub fn wall_ms(self) -> u64 {
        self.0 >> Timestamp::COUNTER_BITS
    }
}

impl LogIndex {
    pub fn next(self) -> LogIndex {
        LogIndex(self.0 + 1)
    }
}
