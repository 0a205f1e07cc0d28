//! What can still be read of a damaged log.
//!
//! Opening a log refuses one that is damaged, for a promised record may be missing. Here the operator has decided to take what there
//! is: whatever is not sound is passed over and named, and reading goes on with the next record that is. A record's checksum
//! depends on its place, so a later record is recognized without the ones before it. What an earlier life of the log left behind is
//! told apart by index and term, which only grow.

use std::path::Path;

use env::{Access, Env};

use crate::record::{self, ALIGNMENT, Body};
use crate::segment::{self, HEADER, Header};
use crate::{Damage, Entry, EntryId, OpenError};

static ZEROS: [u8; 4096] = [0; 4096];

/// The entries that could be read, in order, and what could not.
#[derive(Debug, Default)]
pub struct Salvaged {
    pub entries: Vec<Entry>,
    pub damage: Vec<Damage>,
}

/// Reads all segments of a log's directory; changes nothing.
pub fn salvage(env: &Env, dir: &Path) -> Result<Salvaged, OpenError> {
    let names = env.disk.list(dir).map_err(|error| OpenError::io(dir, error))?;
    let mut salvaged = Salvaged::default();
    let mut sequences: Vec<u64> = names.iter().filter_map(|name| segment::sequence_of(name)).collect();
    sequences.sort_unstable();
    for (at, sequence) in sequences.iter().enumerate() {
        if at > 0 && sequences[at - 1] + 1 != *sequence {
            let missing = dir.join(segment::file_name(sequences[at - 1] + 1));
            salvaged.damage.push(Damage::new(&missing, 0, "the segment is missing"));
        }
        let path = dir.join(segment::file_name(*sequence));
        if let Err(error) = salvaged.segment(env, &path, at + 1 == sequences.len()) {
            salvaged.damage.push(Damage::new(&path, 0, error.to_string()));
        }
    }
    for pair in salvaged.entries.windows(2) {
        let (before, after) = (pair[0].id, pair[1].id);
        if after.index != before.index + 1 {
            let what = format!("log entries {} to {} are missing", before.index + 1, after.index - 1);
            salvaged.damage.push(Damage::new(dir, 0, what));
        }
    }
    Ok(salvaged)
}

impl Salvaged {
    fn segment(&mut self, env: &Env, path: &Path, is_last: bool) -> Result<(), OpenError> {
        let io_error = |error| OpenError::io(path, error);
        let file = env.disk.open(path, Access::Read).map_err(io_error)?;
        let length = file.length().map_err(io_error)? as usize;
        let mut bytes = vec![0; length];
        let read = file.read_at(&mut bytes, 0).map_err(io_error)?;
        bytes.truncate(read);
        let header = Header::decode(&bytes, path)?;
        let records = bytes.get(HEADER as usize..).unwrap_or_default();
        let mut offset = 0;
        let mut previous = header.previous;
        // Where the unreadable part began that reading is passing over.
        let mut bad: Option<usize> = None;
        while offset < records.len() {
            match record::decode(&records[offset..], header.salt, header.base + offset as u64) {
                Some(decoded) if self.take(&decoded.record.body, decoded.previous == previous) => {
                    previous = decoded.crc;
                    if let Some(bad) = bad.take() {
                        let what = format!("{} bytes of the log cannot be read", offset - bad);
                        self.damage.push(Damage::new(path, HEADER + bad as u64, what));
                    }
                    offset += decoded.size;
                }
                _ => {
                    bad.get_or_insert(offset);
                    // No record begins with zeros, and most of a log is space for later.
                    let zeros = records[offset..]
                        .chunks_exact(ZEROS.len())
                        .take_while(|chunk| *chunk == ZEROS)
                        .count();
                    offset += (zeros * ZEROS.len()).max(ALIGNMENT);
                }
            }
        }
        // The rest of the last segment is space for later; the rest of another one was left when the next began.
        let begins_a_record = |bad: usize| records[bad..].iter().take(record::HEADER).any(|&byte| byte != 0);
        if let Some(bad) = bad.filter(|&bad| is_last && begins_a_record(bad)) {
            let what = "the log ends here, with a record that is not sound, torn by a crash or damaged";
            self.damage.push(Damage::new(path, HEADER + bad as u64, what));
        }
        Ok(())
    }

    /// Whether the record goes on from what is there. `follows`: it names the one before it, so it is of this life of the log.
    fn take(&mut self, body: &Body<'_>, follows: bool) -> bool {
        match *body {
            Body::Entry { id, tag, payload } => {
                let last = self.entries.last().map(|entry| entry.id);
                if last.is_some_and(|last| id.index <= last.index || id.term < last.term) {
                    return false;
                }
                self.entries.push(Entry {
                    id,
                    tag,
                    payload: payload.to_vec().into(),
                });
            }
            Body::Truncate { last } if follows => {
                let end = last.map_or(0, |last: EntryId| last.index + 1);
                self.entries.retain(|entry| entry.id.index < end);
            }
            Body::Truncate { .. } => return false,
            Body::Vote(_) | Body::Purge { .. } | Body::Mark => {}
        }
        true
    }
}
