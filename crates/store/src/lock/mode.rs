//! Lock modes, and which of them go together.

/// Keys know `Shared` and `Exclusive`; the intention modes are for tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LockMode {
    /// Reads some rows (also: the table's definition must not change).
    IntentionShared = 1,
    /// Changes some rows.
    IntentionExclusive = 2,
    Shared = 4,
    Exclusive = 8,
}

use LockMode::{Exclusive, IntentionExclusive, IntentionShared, Shared};

impl LockMode {
    /// Whether it excludes no other of its kind.
    pub(super) fn is_intention(self) -> bool {
        matches!(self, IntentionShared | IntentionExclusive)
    }

    /// The modes of others that exclude this one.
    fn conflicting(self) -> u8 {
        match self {
            IntentionShared => Exclusive as u8,
            IntentionExclusive => Shared as u8 | Exclusive as u8,
            Shared => IntentionExclusive as u8 | Exclusive as u8,
            Exclusive => IntentionShared as u8 | IntentionExclusive as u8 | Shared as u8 | Exclusive as u8,
        }
    }

    /// The modes that hold everything this one does.
    fn covering(self) -> u8 {
        match self {
            IntentionShared => IntentionShared as u8 | Exclusive.conflicting(),
            IntentionExclusive => IntentionExclusive as u8 | Exclusive as u8,
            Shared => Shared as u8 | Exclusive as u8,
            Exclusive => Exclusive as u8,
        }
    }
}

/// The modes in which one transaction holds one lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockModes(u8);

impl LockModes {
    pub(super) fn of(mode: LockMode) -> LockModes {
        LockModes(mode as u8)
    }

    pub fn add(&mut self, mode: LockMode) {
        self.0 |= mode as u8;
    }

    /// For whoever writes them down.
    pub fn to_byte(self) -> u8 {
        self.0
    }

    /// What [`to_byte`](Self::to_byte) has made; `None`: it has not.
    pub fn from_byte(byte: u8) -> Option<LockModes> {
        let all = IntentionShared as u8 | IntentionExclusive as u8 | Shared as u8 | Exclusive as u8;
        (byte != 0 && byte & !all == 0).then_some(LockModes(byte))
    }

    /// Those among them that exclude no other of their kind. `None`: there are none.
    pub fn intentions(self) -> Option<LockModes> {
        LockModes::from_byte(self.0 & (IntentionShared as u8 | IntentionExclusive as u8))
    }

    pub fn add_all(&mut self, modes: LockModes) {
        self.0 |= modes.0;
    }

    pub(super) fn conflict_with(self, mode: LockMode) -> bool {
        self.0 & mode.conflicting() != 0
    }

    /// Whether everything that the mode says is held.
    pub fn cover(self, mode: LockMode) -> bool {
        self.0 & mode.covering() != 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = LockMode> {
        [IntentionShared, IntentionExclusive, Shared, Exclusive]
            .into_iter()
            .filter(move |&mode| self.0 & mode as u8 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_are_the_textbook_table_and_symmetric() {
        let modes = [IntentionShared, IntentionExclusive, Shared, Exclusive];
        let table: Vec<_> = modes
            .iter()
            .map(|&a| modes.map(|b| LockModes::of(a).conflict_with(b)))
            .collect();
        assert_eq!(
            table,
            [
                [false, false, false, true],
                [false, false, true, true],
                [false, true, false, true],
                [true, true, true, true],
            ]
        );
    }

    #[test]
    fn shared_and_intention_exclusive_together_are_not_exclusive() {
        let mut held = LockModes::of(Shared);
        held.add(IntentionExclusive);
        assert!(held.cover(Shared) && held.cover(IntentionExclusive) && held.cover(IntentionShared));
        assert!(!held.cover(Exclusive));
        assert_eq!(held.iter().collect::<Vec<_>>(), [IntentionExclusive, Shared]);
    }
}
