//! Names of transactions, and what their issuer still wants to know.
//!
//! An id is given before the transaction is proposed, and belongs to whoever gave it: a node, in one of its lives. So a proposal whose
//! answer was lost can be made again, or asked about, and is never applied twice. The log keeps an outcome until its issuer has
//! acknowledged it: each proposal tells below which sequence there is nothing left to ask.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

/// A node in one of its lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Issuer {
    pub node: u32,
    /// See [`journal::Identity::incarnation`].
    pub incarnation: u32,
}

/// Names a transaction for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransactionId {
    pub issuer: Issuer,
    pub sequence: u64,
}

impl Issuer {
    /// Eight bytes of every format: the incarnation, then the node. Versions before wrote the leader's term there, which reads as a life of
    /// node 0, of which there is none.
    pub(crate) fn to_u64(self) -> u64 {
        u64::from(self.node) << 32 | u64::from(self.incarnation)
    }

    pub(crate) fn from_u64(bits: u64) -> Issuer {
        Issuer {
            node: (bits >> 32) as u32,
            incarnation: bits as u32,
        }
    }
}

/// Gives ids, and knows which of them are settled.
#[derive(Debug)]
pub(crate) struct Issuing {
    issuer: Issuer,
    window: Mutex<Window>,
}

/// The sequences from the first that is not settled.
#[derive(Debug)]
struct Window {
    first: u64,
    settled: VecDeque<bool>,
}

impl Issuing {
    pub fn new(issuer: Issuer) -> Arc<Issuing> {
        Arc::new(Issuing {
            issuer,
            window: Mutex::new(Window {
                first: 1,
                settled: VecDeque::new(),
            }),
        })
    }

    pub fn issue(self: &Arc<Issuing>) -> Ticket {
        let window = &mut *self.window.lock();
        let sequence = window.first + window.settled.len() as u64;
        window.settled.push_back(false);
        Ticket {
            id: TransactionId {
                issuer: self.issuer,
                sequence,
            },
            issuing: self.clone(),
        }
    }

    /// Nobody asks about sequences below any more.
    pub fn acknowledged(&self) -> u64 {
        self.window.lock().first
    }

    fn settle(&self, sequence: u64) {
        let window = &mut *self.window.lock();
        let at = usize::try_from(sequence - window.first).expect("as many ids are open");
        window.settled[at] = true;
        while window.settled.front() == Some(&true) {
            window.settled.pop_front();
            window.first += 1;
        }
    }
}

/// A transaction's id, for as long as its outcome may be asked for; dropping it acknowledges the outcome.
#[derive(Debug)]
#[must_use = "the outcome can be asked for as long as this is held"]
pub struct Ticket {
    id: TransactionId,
    issuing: Arc<Issuing>,
}

impl Ticket {
    pub fn id(&self) -> TransactionId {
        self.id
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.issuing.settle(self.id.sequence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_acknowledged_ends_before_the_oldest_open_id() {
        let issuing = Issuing::new(Issuer {
            node: 2,
            incarnation: 5,
        });
        assert_eq!(issuing.acknowledged(), 1);
        let mut tickets: Vec<Ticket> = (0..4).map(|_| issuing.issue()).collect();
        assert_eq!(
            tickets.iter().map(|ticket| ticket.id().sequence).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        drop(tickets.remove(1));
        assert_eq!(issuing.acknowledged(), 1);
        drop(tickets.remove(0));
        assert_eq!(issuing.acknowledged(), 3);
        drop(tickets);
        assert_eq!(issuing.acknowledged(), 5);
        assert_eq!(issuing.issue().id().sequence, 5);
    }

    #[test]
    fn terms_of_versions_before_are_no_node() {
        let issuer = Issuer {
            node: 7,
            incarnation: 9,
        };
        assert_eq!(Issuer::from_u64(issuer.to_u64()), issuer);
        assert_eq!(
            Issuer::from_u64(3),
            Issuer {
                node: 0,
                incarnation: 3
            }
        );
    }
}
