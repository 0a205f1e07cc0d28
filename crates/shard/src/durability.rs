//! What an acknowledged commit has survived.

/// Where a commit has to be before it is answered. Chosen for each transaction; what comes before it in the log is there, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Durability {
    /// On the disks of a majority of the voters.
    #[default]
    MajorityDisk,
    /// In the memory of a majority: written, and on its way to the disk. Of a replica without others alone; elsewhere it counts as
    /// [`MajorityDisk`](Durability::MajorityDisk).
    MajorityMemory,
    /// On the leader's disk. Of a replica without others that is the majority's.
    LocalDisk,
}

impl Durability {
    pub const ALL: [Durability; 3] = [
        Durability::MajorityDisk,
        Durability::MajorityMemory,
        Durability::LocalDisk,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Durability::MajorityDisk => "majority_disk",
            Durability::MajorityMemory => "majority_memory",
            Durability::LocalDisk => "local_disk",
        }
    }

    pub fn by_name(name: &str) -> Option<Durability> {
        Durability::ALL.into_iter().find(|level| level.name() == name)
    }

    /// As a batch has it.
    pub(crate) fn to_byte(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Durability> {
        Durability::ALL.into_iter().find(|level| level.to_byte() == byte)
    }
}
