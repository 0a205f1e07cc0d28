//! What became of transactions whose issuers may still ask.

use std::collections::BTreeMap;

use types::Timestamp;

use crate::{Issuer, TransactionId};

/// Outcomes kept for one node. A node has far fewer transactions under way; what its former lives left behind goes first.
const KEPT: usize = 1 << 16;

/// What the log made of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Fate {
    Committed(Timestamp),
    /// It did not fit the rows.
    Aborted,
}

/// What is known of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Fate(Fate),
    /// Its issuer has been told its outcome, which is not kept any more. It must not be applied: it may have been.
    Forgotten,
    /// It is not in the log.
    Nothing,
}

/// The fates of transactions, each until its issuer has acknowledged it. Part of the replicated state: equal on all replicas at the
/// same log index, and in every checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Outcomes {
    nodes: BTreeMap<u32, Node>,
}

/// What is known of one node's lives. Those before the first of them are forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Node {
    lives: BTreeMap<u32, Life>,
    /// Fates of all lives.
    kept: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Life {
    /// Sequences below are forgotten.
    acknowledged: u64,
    fates: BTreeMap<u64, Fate>,
}

impl Outcomes {
    pub fn get(&self, id: TransactionId) -> Known {
        let Some(node) = self.nodes.get(&id.issuer.node) else {
            return Known::Nothing;
        };
        match node.lives.get(&id.issuer.incarnation) {
            Some(life) => match life.fates.get(&id.sequence) {
                Some(&fate) => Known::Fate(fate),
                None if id.sequence < life.acknowledged => Known::Forgotten,
                None => Known::Nothing,
            },
            None if node.is_before_first(id.issuer.incarnation) => Known::Forgotten,
            None => Known::Nothing,
        }
    }

    pub fn insert(&mut self, id: TransactionId, fate: Fate) {
        let Some(node) = self.node(id.issuer) else { return };
        let life = node.life(id.issuer.incarnation);
        if life.fates.insert(id.sequence, fate).is_none() {
            node.kept += 1;
        }
        while node.kept > KEPT {
            node.forget_oldest();
        }
    }

    /// The issuer does not ask about sequences below any more.
    pub fn acknowledge(&mut self, issuer: Issuer, below: u64) {
        let Some(node) = self.node(issuer) else { return };
        let life = node.life(issuer.incarnation);
        life.acknowledged = life.acknowledged.max(below);
        let mut forgotten = 0;
        while let Some(oldest) = life.fates.first_entry()
            && *oldest.key() < life.acknowledged
        {
            oldest.remove();
            forgotten += 1;
        }
        node.kept -= forgotten;
    }

    /// The latest life of a node that the log has heard of.
    pub fn newest_incarnation(&self, node: u32) -> Option<u32> {
        let newest = self.nodes.get(&node)?.lives.last_key_value();
        newest.map(|(&incarnation, _)| incarnation)
    }

    /// From which sequence on each issuer's transactions are known.
    pub fn marks(&self) -> impl Iterator<Item = (Issuer, u64)> {
        self.nodes.iter().flat_map(|(&node, known)| {
            let mark = move |(&incarnation, life): (&u32, &Life)| (Issuer { node, incarnation }, life.acknowledged);
            known.lives.iter().map(mark)
        })
    }

    /// In the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (TransactionId, Fate)> {
        self.nodes.iter().flat_map(|(&node, known)| {
            known.lives.iter().flat_map(move |(&incarnation, life)| {
                let issuer = Issuer { node, incarnation };
                let with_id = move |(&sequence, &fate)| (TransactionId { issuer, sequence }, fate);
                life.fates.iter().map(with_id)
            })
        })
    }

    /// Goes on from a checkpoint: its marks and its fates, in any order.
    pub fn restore(&mut self, marks: &[(Issuer, u64)], fates: &[(TransactionId, Fate)]) {
        for &(issuer, acknowledged) in marks {
            let node = self.nodes.entry(issuer.node).or_default();
            node.lives.entry(issuer.incarnation).or_default().acknowledged = acknowledged;
        }
        for &(id, fate) in fates {
            let node = self.nodes.entry(id.issuer.node).or_default();
            let life = node.lives.entry(id.issuer.incarnation).or_default();
            node.kept += usize::from(life.fates.insert(id.sequence, fate).is_none());
        }
    }

    /// `None`: that life is forgotten.
    fn node(&mut self, issuer: Issuer) -> Option<&mut Node> {
        let node = self.nodes.entry(issuer.node).or_default();
        (!node.is_before_first(issuer.incarnation)).then_some(node)
    }
}

impl Node {
    fn is_before_first(&self, incarnation: u32) -> bool {
        let first = self.lives.first_key_value();
        first.is_some_and(|(&first, _)| incarnation < first)
    }

    /// A new life takes the place of those that have left nothing to ask about.
    fn life(&mut self, incarnation: u32) -> &mut Life {
        if !self.lives.contains_key(&incarnation) {
            self.lives
                .retain(|&other, life| other > incarnation || !life.fates.is_empty());
        }
        self.lives.entry(incarnation).or_default()
    }

    /// One fate less, or one life.
    fn forget_oldest(&mut self) {
        let Some(mut oldest) = self.lives.first_entry() else {
            return;
        };
        match oldest.get_mut().fates.pop_first() {
            Some((sequence, _)) => {
                oldest.get_mut().acknowledged = sequence + 1;
                self.kept -= 1;
            }
            None => {
                oldest.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(node: u32, incarnation: u32, sequence: u64) -> TransactionId {
        TransactionId {
            issuer: Issuer { node, incarnation },
            sequence,
        }
    }

    const COMMITTED: Fate = Fate::Committed(Timestamp(5));

    #[test]
    fn a_fate_is_known_until_its_issuer_acknowledges_it() {
        let mut outcomes = Outcomes::default();
        assert_eq!(outcomes.get(id(1, 1, 1)), Known::Nothing);
        for sequence in 1..=4 {
            outcomes.insert(id(1, 3, sequence), COMMITTED);
        }
        outcomes.insert(id(2, 1, 2), Fate::Aborted);
        outcomes.acknowledge(id(1, 3, 0).issuer, 3);
        outcomes.acknowledge(id(1, 3, 0).issuer, 2);
        let known = |sequence| outcomes.get(id(1, 3, sequence));
        assert_eq!(
            [known(2), known(3), known(5)],
            [Known::Forgotten, Known::Fate(COMMITTED), Known::Nothing]
        );
        assert_eq!(outcomes.get(id(2, 1, 2)), Known::Fate(Fate::Aborted));
        assert_eq!(outcomes.get(id(2, 2, 2)), Known::Nothing);
        assert_eq!(outcomes.newest_incarnation(1), Some(3));
        assert_eq!(outcomes.newest_incarnation(9), None);
    }

    #[test]
    fn what_former_lives_left_goes_first() {
        let mut outcomes = Outcomes::default();
        outcomes.insert(id(1, 1, 7), COMMITTED);
        outcomes.insert(id(1, 2, 3), COMMITTED);
        for sequence in 0..KEPT as u64 {
            outcomes.insert(id(1, 3, sequence), COMMITTED);
        }
        assert_eq!(outcomes.iter().count(), KEPT);
        assert_eq!(outcomes.get(id(1, 1, 7)), Known::Forgotten);
        assert_eq!(outcomes.get(id(1, 1, 9)), Known::Forgotten);
        assert_eq!(outcomes.get(id(1, 2, 3)), Known::Forgotten);
        assert_eq!(outcomes.get(id(1, 3, 0)), Known::Fate(COMMITTED));
        outcomes.insert(id(1, 3, KEPT as u64), COMMITTED);
        assert_eq!(outcomes.get(id(1, 3, 0)), Known::Forgotten);
        assert_eq!(outcomes.get(id(1, 3, KEPT as u64 + 5)), Known::Nothing);
    }

    #[test]
    fn a_life_that_left_nothing_is_forgotten_with_the_next_one() {
        let mut outcomes = Outcomes::default();
        outcomes.insert(id(1, 4, 1), COMMITTED);
        outcomes.acknowledge(id(1, 4, 0).issuer, 2);
        outcomes.insert(id(1, 6, 1), COMMITTED);
        assert_eq!(outcomes.get(id(1, 4, 9)), Known::Forgotten);
        assert_eq!(outcomes.get(id(1, 5, 9)), Known::Forgotten);
        outcomes.insert(id(1, 5, 9), COMMITTED);
        assert_eq!(outcomes.get(id(1, 5, 9)), Known::Forgotten);
        assert_eq!(outcomes.marks().count(), 1);
    }

    #[test]
    fn a_checkpoint_brings_everything_back() {
        let mut outcomes = Outcomes::default();
        outcomes.insert(id(1, 4, 9), COMMITTED);
        outcomes.acknowledge(id(1, 4, 0).issuer, 5);
        outcomes.insert(id(1, 6, 1), COMMITTED);
        outcomes.insert(id(2, 1, 1), Fate::Aborted);
        outcomes.acknowledge(id(3, 8, 0).issuer, 100);
        let mut restored = Outcomes::default();
        let (marks, fates): (Vec<_>, Vec<_>) = (outcomes.marks().collect(), outcomes.iter().collect());
        restored.restore(&marks, &fates);
        assert_eq!(restored, outcomes);
    }
}
