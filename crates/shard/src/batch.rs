//! A log entry of rows: many transactions, committed together (drawn in `docs/formats/batch.md`).

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::TransactionId;

const VERSION: u8 = 1;
const HEADER: usize = 1;
const TRANSACTION_HEADER: usize = 20;

/// An encoded batch. Cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    bytes: Arc<Vec<u8>>,
}

/// Bytes that are not a batch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum BatchError {
    #[error("batch version {0} is not known")]
    Version(u8),
    #[error("batch cut short at byte {0}")]
    CutShort(usize),
}

/// Bytes that a transaction with such a write set takes in a batch.
pub(crate) fn transaction_bytes(write_set: usize) -> usize {
    TRANSACTION_HEADER + write_set
}

impl Batch {
    pub fn encode<'a>(transactions: impl Iterator<Item = (TransactionId, &'a [u8])> + Clone) -> Batch {
        let sizes = transactions.clone().map(|(_, writes)| transaction_bytes(writes.len()));
        let mut bytes = Vec::with_capacity(HEADER + sizes.sum::<usize>());
        bytes.push(VERSION);
        for (id, writes) in transactions {
            bytes.extend_from_slice(&id.term.to_le_bytes());
            bytes.extend_from_slice(&id.sequence.to_le_bytes());
            let length = u32::try_from(writes.len()).expect("the queue takes no transaction of 4 GiB");
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(writes);
        }
        Batch { bytes: Arc::new(bytes) }
    }

    pub fn from_bytes(bytes: Arc<Vec<u8>>) -> Batch {
        Batch { bytes }
    }

    pub fn bytes(&self) -> &Arc<Vec<u8>> {
        &self.bytes
    }

    /// The transactions in commit order. Checks the header; each transaction is checked as it comes.
    pub fn transactions(&self) -> Result<Transactions<'_>, BatchError> {
        match self.bytes.first() {
            Some(&VERSION) => Ok(Transactions {
                bytes: &self.bytes,
                at: HEADER,
            }),
            Some(&version) => Err(BatchError::Version(version)),
            None => Err(BatchError::CutShort(0)),
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "batch of {} bytes", self.bytes.len())
    }
}

impl fmt::Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Stops after the first error.
pub(crate) struct Transactions<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Transactions<'a> {
    fn step(&mut self) -> Result<(TransactionId, &'a [u8]), BatchError> {
        let header: [u8; TRANSACTION_HEADER] = self.take(TRANSACTION_HEADER)?.try_into().expect("as many were taken");
        let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"));
        let id = TransactionId {
            term: number(0),
            sequence: number(8),
        };
        let length = u32::from_le_bytes(header[16..].try_into().expect("four bytes"));
        Ok((id, self.take(length as usize)?))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], BatchError> {
        let taken = self.bytes[self.at..]
            .get(..count)
            .ok_or(BatchError::CutShort(self.at))?;
        self.at += count;
        Ok(taken)
    }
}

impl<'a> Iterator for Transactions<'a> {
    type Item = Result<(TransactionId, &'a [u8]), BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let result = self.step();
        if result.is_err() {
            self.at = self.bytes.len();
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<(TransactionId, Vec<u8>)> {
        (0..3)
            .map(|n| (TransactionId { term: 7, sequence: n }, vec![n as u8; n as usize * 5]))
            .collect()
    }

    fn encoded() -> Batch {
        let sample = sample();
        Batch::encode(sample.iter().map(|(id, writes)| (*id, &writes[..])))
    }

    #[test]
    fn batches_come_back() {
        let batch = encoded();
        let decoded: Vec<_> = batch
            .transactions()
            .unwrap()
            .map(|t| t.map(|(id, w)| (id, w.to_vec())).unwrap())
            .collect();
        assert_eq!(decoded, sample());
    }

    #[test]
    fn every_cut_is_an_error_or_a_shorter_batch() {
        let whole = encoded();
        for length in 0..whole.bytes().len() {
            let cut = Batch::from_bytes(Arc::new(whole.bytes()[..length].to_vec()));
            let results: Vec<_> = match cut.transactions() {
                Ok(transactions) => transactions.collect(),
                Err(_) => continue,
            };
            let good = results.iter().filter(|result| result.is_ok()).count();
            assert!(good < 3, "a cut at {length} loses something");
            assert!(results.len() - good <= 1, "nothing follows an error");
        }
    }

    #[test]
    fn another_version_is_refused() {
        let batch = Batch::from_bytes(Arc::new(vec![9]));
        assert_eq!(batch.transactions().err(), Some(BatchError::Version(9)));
    }
}
