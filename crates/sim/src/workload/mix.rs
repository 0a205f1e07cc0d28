//! What the clients of a node do more of, and what not at all: each seed is another mix, so that what is rare in one is frequent in the next.

use std::time::Duration;

use env::SeededRandom;

use super::Operation;

/// With what they weigh where nothing is special.
const USUAL: &[(Operation, u64)] = &[
    (Operation::Transfer, 20),
    (Operation::Sum, 10),
    (Operation::Append, 20),
    (Operation::AppendToTwo, 10),
    (Operation::AppendUntilDone, 10),
    (Operation::ReadLists, 20),
    (Operation::Claim, 10),
    (Operation::AllPages, 1),
];

#[derive(Clone)]
pub struct Mix {
    weights: Vec<(Operation, u64)>,
    /// Milliseconds that a client thinks between two statements of a transaction, at most.
    thinks: u64,
}

impl Mix {
    pub fn usual() -> Mix {
        Mix {
            weights: USUAL.to_vec(),
            thinks: 0,
        }
    }

    pub fn draw(random: &SeededRandom) -> Mix {
        let mut mix = Mix::usual();
        mix.thinks = [0, 0, 40, 120][random.below(4) as usize];
        if random.below(2) == 0 {
            for (operation, weight) in &mut mix.weights {
                // A large transaction writes as much as hundreds of others.
                if !matches!(operation, Operation::AllPages) {
                    *weight *= [0, 0, 1, 5][random.below(4) as usize];
                }
            }
        }
        mix
    }

    pub(super) fn operation(&self, random: &SeededRandom) -> Operation {
        let total: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        // Large transactions alone would be no load, but a flood.
        if total <= 1 {
            return Operation::Append;
        }
        let mut drawn = random.below(total);
        for &(operation, weight) in &self.weights {
            match drawn.checked_sub(weight) {
                None => return operation,
                Some(rest) => drawn = rest,
            }
        }
        Operation::Append
    }

    /// How long a client thinks before its next statement.
    pub(super) fn pause(&self, random: &SeededRandom) -> Option<Duration> {
        let is_over = self.thinks == 0 || random.below(3) > 0;
        (!is_over).then(|| Duration::from_millis(random.below(self.thinks)))
    }
}
