//! From files to a log, or to a refusal.
//!
//! Records are read in order until one is not sound. Then there are three cases:
//!
//! ```text
//!   ✓ ✓ ✓ ✗ │ next segment          damage: a segment is synced before the next begins
//!   ✓ ✓ ✓ ✗ ✓(durable > ✗)          damage: a later record knows that the bad one was synced
//!   ✓ ✓ ✓ ✗ …                       a torn tail: nobody was promised anything after the last ✓; cut
//! ```

use std::path::Path;

use env::{Access, Env};

use crate::reader::Index;
use crate::record::{self, ALIGNMENT, Body, Decoded};
use crate::segment::{self, HEADER, Header, Segment};
use crate::{Damage, OpenError};

/// A log as it was found.
pub(crate) struct Recovered {
    pub index: Index,
    /// Checksum of the last record.
    pub previous: u32,
}

/// Reads all segments; `None` if there is no log yet.
pub(crate) fn recover(env: &Env, dir: &Path) -> Result<Option<Recovered>, OpenError> {
    let segments = open_segments(env, dir)?;
    let Some(first) = segments.first() else {
        return Ok(None);
    };
    let mut index = Index {
        state: first.header.state,
        end: first.header.base,
        ..Index::default()
    };
    index.first = index.state.next_index();
    // What was before the first segment is gone, whether or not the record that says so survived.
    index.state.purged = index.state.purged.max(index.state.last);
    let mut recovered = Recovered {
        index,
        previous: first.header.previous,
    };
    for (number, segment) in segments.iter().enumerate() {
        recovered.replay(segment, segments.get(number + 1))?;
    }
    recovered.index.segments = segments.into();
    Ok(Some(recovered))
}

fn open_segments(env: &Env, dir: &Path) -> Result<Vec<Segment>, OpenError> {
    let names = env.disk.list(dir).map_err(|error| OpenError::io(dir, error))?;
    let mut segments: Vec<Segment> = Vec::new();
    for sequence in names.iter().filter_map(|name| segment::sequence_of(name)) {
        let segment = open_segment(env, dir, sequence)?;
        if let Some(before) = segments.last() {
            let expected = before.header.sequence + 1;
            if sequence != expected {
                let missing = dir.join(segment::file_name(expected));
                return Err(Damage::new(&missing, 0, "the segment is missing").into());
            }
        }
        segments.push(segment);
    }
    Ok(segments)
}

fn open_segment(env: &Env, dir: &Path, sequence: u64) -> Result<Segment, OpenError> {
    let path = dir.join(segment::file_name(sequence));
    let io_error = |error| OpenError::io(&path, error);
    let file = env.disk.open(&path, Access::Write).map_err(io_error)?;
    let mut block = vec![0; HEADER as usize];
    let read = file.read_at(&mut block, 0).map_err(io_error)?;
    let header = Header::decode(&block[..read], &path)?;
    if header.sequence != sequence {
        let what = format!("the header belongs to segment {}", header.sequence);
        return Err(Damage::new(&path, 16, what).into());
    }
    let length = file.length().map_err(io_error)?;
    Ok(Segment {
        header,
        path: path.into(),
        file: file.into(),
        length,
    })
}

impl Recovered {
    fn replay(&mut self, segment: &Segment, next: Option<&Segment>) -> Result<(), OpenError> {
        let damaged = |offset: usize, what: &str| Err(Damage::new(&segment.path, HEADER + offset as u64, what).into());
        let bytes = read_records(segment, next)?;
        let mut offset = 0;
        if segment.header.previous != self.previous || segment.header.base != self.index.end {
            return damaged(0, "the segment does not continue the one before");
        }
        loop {
            let position = segment.header.base + offset as u64;
            if next.is_some_and(|next| next.header.base == position) {
                return Ok(());
            }
            let sound = record::decode(&bytes[offset..], segment.header.salt, position);
            let Some(decoded) = sound.filter(|decoded| decoded.previous == self.previous) else {
                if next.is_some() {
                    return damaged(offset, "a record is not sound, and the log goes on in the next segment");
                }
                if let Some(witness) = find_witness(&bytes, offset, segment) {
                    let what = format!(
                        "a record is not sound, and the record at byte {} knows that it was once",
                        HEADER + witness as u64
                    );
                    return damaged(offset, &what);
                }
                self.report_cut(segment, &bytes[offset..], offset);
                return Ok(());
            };
            if let Err(what) = self.apply(&decoded, position) {
                return damaged(offset, &what);
            }
            offset += decoded.size;
        }
    }

    fn apply(&mut self, decoded: &Decoded<'_>, position: u64) -> Result<(), String> {
        let index = &mut self.index;
        match decoded.record.body {
            Body::Entry { id, .. } => {
                let expected = index.state.next_index();
                if id.index != expected {
                    return Err(format!("entry {id} stands where entry {expected} belongs"));
                }
                index.push(id, position);
            }
            Body::Vote(vote) => index.state.vote = Some(vote),
            Body::Truncate { last } => index.truncate(last),
            Body::Purge { upto } => index.purge(upto),
            Body::Mark => {}
        }
        index.state.committed_end = index.state.committed_end.max(decoded.record.committed_end);
        index.end = position + decoded.size as u64;
        self.previous = decoded.crc;
        Ok(())
    }

    /// Tells the operator about a torn record. What merely follows the log, zeros or an earlier life's records, does
    /// not name the last record as its predecessor.
    fn report_cut(&self, segment: &Segment, tail: &[u8], offset: usize) {
        if record::claimed_previous(tail).is_some_and(|previous| previous != 0 && previous == self.previous) {
            let offset = HEADER + offset as u64;
            tracing::warn!(file = %segment.path.display(), offset, "cut a record that a crash left unfinished");
        }
    }
}

/// All records of the segment. One that has a successor must reach to it.
fn read_records(segment: &Segment, next: Option<&Segment>) -> Result<Vec<u8>, OpenError> {
    let length = match next {
        None => segment.length.saturating_sub(HEADER),
        Some(next) => {
            let length = next.header.base.wrapping_sub(segment.header.base);
            if length > segment.length.saturating_sub(HEADER) {
                let what = "the segment ends before the next one begins";
                return Err(Damage::new(&segment.path, segment.length, what).into());
            }
            length
        }
    };
    let mut bytes = vec![0; length as usize];
    segment
        .file
        .read_exact_at(&mut bytes, HEADER)
        .map_err(|error| OpenError::io(&segment.path, error))?;
    Ok(bytes)
}

/// A sound record after `bad` that was written when the bad one had been synced.
fn find_witness(bytes: &[u8], bad: usize, segment: &Segment) -> Option<usize> {
    let bad_position = segment.header.base + bad as u64;
    (bad + ALIGNMENT..bytes.len()).step_by(ALIGNMENT).find(|&offset| {
        let position = segment.header.base + offset as u64;
        record::claimed_durable(&bytes[offset..])
            .is_some_and(|durable| (bad_position + 1..=position).contains(&durable))
            && record::decode(&bytes[offset..], segment.header.salt, position).is_some()
    })
}
