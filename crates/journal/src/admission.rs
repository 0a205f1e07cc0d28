//! How a node's directory became one of a cluster's: the file `admission` (drawn in `docs/formats/identity.md`).
//!
//! It is there where the directory was new when the cluster existed already, and says whether the cluster has taken the node in, and by which entry
//! of the log. It is written beside and renamed: after a power cut the old one is there, or the new one.

use std::io;
use std::path::{Path, PathBuf};

use env::{Access, Env};

use crate::bytes::{get_entry_id, get_u32, put_entry_id, put_u32};
use crate::state::EntryId;
use crate::{Damage, OpenError};

const MAGIC: &[u8; 8] = b"LATSADMI";
const VERSION: u32 = 1;
const BYTES: usize = 32;

/// How far a node has come with becoming one of the cluster's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Its directory is new, and no entry is known yet that has taken it in.
    Asks,
    /// This entry has.
    TakenIn(EntryId),
    /// Its log has that entry, or its directory was never new.
    Belongs,
}

impl Admission {
    /// Without the file: it belongs.
    pub fn read(env: &Env, dir: &Path) -> Result<Admission, OpenError> {
        let path = path(dir);
        let file = match env.disk.open(&path, Access::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Admission::Belongs),
            Err(error) => return Err(OpenError::io(&path, error)),
        };
        let mut bytes = [0; BYTES];
        match file.read_at(&mut bytes, 0) {
            Ok(_) => decode(&bytes, &path),
            Err(error) => Err(OpenError::io(&path, error)),
        }
    }

    /// For a directory that is to become one of a cluster that exists.
    pub fn ask(env: &Env, dir: &Path) -> Result<(), OpenError> {
        write(env, dir, None)
    }

    /// The cluster has taken the node in, by this entry.
    pub fn note(env: &Env, dir: &Path, taken_in_by: EntryId) -> Result<(), OpenError> {
        write(env, dir, Some(taken_in_by))
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("admission")
}

fn write(env: &Env, dir: &Path, taken_in_by: Option<EntryId>) -> Result<(), OpenError> {
    let (path, unfinished) = (path(dir), dir.join("admission.new"));
    let write = || {
        match env.disk.remove(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = env.disk.open(&unfinished, Access::Create)?;
        file.write_at(&encode(taken_in_by), 0)?;
        file.sync_data()?;
        env.disk.rename(&unfinished, &path)?;
        env.disk.sync_dir(dir)
    };
    write().map_err(|error| OpenError::io(&path, error))
}

fn encode(taken_in_by: Option<EntryId>) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    put_u32(&mut bytes, 8, VERSION);
    put_entry_id(&mut bytes, 16, taken_in_by);
    let crc = checksum(&bytes);
    put_u32(&mut bytes, 12, crc);
    bytes
}

/// Of the version, too: one that was damaged is none of a program to come.
fn checksum(bytes: &[u8; BYTES]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[8..12]);
    hasher.update(&bytes[16..]);
    hasher.finalize()
}

fn decode(bytes: &[u8; BYTES], path: &Path) -> Result<Admission, OpenError> {
    let damaged = |at, what: &str| Err(OpenError::from(Damage::new(path, at, what)));
    if &bytes[..8] != MAGIC {
        return damaged(0, "it does not say how a node was taken in");
    }
    match get_u32(bytes, 8) {
        _ if get_u32(bytes, 12) != checksum(bytes) => damaged(12, "the checksum is wrong"),
        VERSION => Ok(get_entry_id(bytes, 16).map_or(Admission::Asks, Admission::TakenIn)),
        found => Err(OpenError::Version {
            file: path.to_owned(),
            found,
            known: VERSION,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_directory;
    use env::SimDisk;

    const ENTRY: EntryId = EntryId { term: 3, index: 70 };

    #[test]
    fn a_power_cut_leaves_what_was_or_what_is() {
        let dir = Path::new("data");
        for operations in 0..12 {
            let disk = SimDisk::new(operations);
            let env = with_directory(&disk, dir);
            assert_eq!(
                Admission::read(&env, dir).unwrap(),
                Admission::Belongs,
                "it was never new"
            );
            Admission::ask(&env, dir).unwrap();
            disk.cut_power_after(operations);
            let written = Admission::note(&env, dir, ENTRY);
            disk.restore_power();
            match (written, Admission::read(&env, dir).unwrap()) {
                (_, Admission::TakenIn(ENTRY)) | (Err(_), Admission::Asks) => {}
                (written, found) => panic!("{written:?}, and then {found:?}"),
            }
            Admission::note(&env, dir, ENTRY).unwrap();
            assert_eq!(Admission::read(&env, dir).unwrap(), Admission::TakenIn(ENTRY));
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut bytes = encode(Some(ENTRY));
        assert_eq!(decode(&bytes, Path::new("x")).unwrap(), Admission::TakenIn(ENTRY));
        for bit in 0..BYTES * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            let found = decode(&bytes, Path::new("x"));
            assert!(matches!(found, Err(OpenError::Damaged(_))), "bit {bit}: {found:?}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
