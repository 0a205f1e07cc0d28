//! Little-endian fields at fixed offsets. Callers slice first, so the offsets are constants that fit.

use crate::state::{EntryId, Vote};

pub(crate) fn get_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

pub(crate) fn get_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

pub(crate) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// A vote takes 24 bytes: term, node, state (0 none, 1 given, 2 won).
pub(crate) fn put_vote(bytes: &mut [u8], at: usize, vote: Option<Vote>) {
    if let Some(vote) = vote {
        put_u64(bytes, at, vote.term);
        put_u64(bytes, at + 8, vote.node);
        put_u64(bytes, at + 16, 1 + u64::from(vote.committed));
    }
}

/// `None` if the state is none of the three.
pub(crate) fn get_vote(bytes: &[u8], at: usize) -> Option<Option<Vote>> {
    let (term, node) = (get_u64(bytes, at), get_u64(bytes, at + 8));
    match get_u64(bytes, at + 16) {
        0 => Some(None),
        state @ (1 | 2) => Some(Some(Vote {
            term,
            node,
            committed: state == 2,
        })),
        _ => None,
    }
}

/// An entry id takes 16 bytes: term, index + 1; zero is none.
pub(crate) fn put_entry_id(bytes: &mut [u8], at: usize, id: Option<EntryId>) {
    if let Some(id) = id {
        put_u64(bytes, at, id.term);
        put_u64(bytes, at + 8, id.index + 1);
    }
}

pub(crate) fn get_entry_id(bytes: &[u8], at: usize) -> Option<EntryId> {
    let index = get_u64(bytes, at + 8).checked_sub(1)?;
    Some(EntryId {
        term: get_u64(bytes, at),
        index,
    })
}
