//! Whose a data directory is: the file `identity` (drawn in `docs/formats/identity.md`).
//!
//! A node counts its starts. A transaction's id has that count in it, its incarnation, so that no id is given twice; and who has seen
//! a node with a higher count knows that this directory is an old copy. So the count is on the disk before anybody hears of it.
//!
//! The file has two slots, written in turn: a power cut spoils the one that is being written, never both, and a full disk has room
//! for what is there already.

use std::io;
use std::path::{Path, PathBuf};

use env::{Access, Env, Feature, File, Level};

use crate::bytes::{get_u32, get_u64, put_u32};
use crate::{Damage, OpenError};

const MAGIC: &[u8; 8] = b"LATSIDEN";
/// A witness's: has the role. Of no other node, so that former versions read what they know.
const VERSION: u32 = 3;
/// Has the level. Not written before the cluster's level has it.
const VERSION_LEVEL: u32 = 2;
/// Of a cluster at the first level.
const VERSION_FIRST: u32 = 1;
const BYTES: usize = 48;
/// Of those versions.
const BYTES_LEVEL: usize = 44;
const BYTES_FIRST: usize = 40;
const WITNESS: u32 = 1;
/// Each in a block of its own.
const SLOTS: [u64; 2] = [0, 4096];

/// What a node keeps of the shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// The log and the rows.
    #[default]
    Data,
    /// The log alone: it votes, and never leads for long.
    Witness,
}

/// Whose the directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Drawn when the cluster was founded.
    pub cluster: u128,
    /// Unique in the cluster, from 1 on.
    pub node: u32,
    /// How often the node has been started with this directory.
    pub incarnation: u32,
    /// The cluster's feature level, as far as the node has heard.
    pub level: Level,
    pub role: Role,
}

impl Identity {
    /// `None`: the directory is new, or of a version that had no identities, or was about to get its first one.
    pub fn read(env: &Env, dir: &Path) -> Result<Option<Identity>, OpenError> {
        let path = path(dir);
        let file = match env.disk.open(&path, Access::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(OpenError::io(&path, error)),
        };
        let slot = |at| -> Result<Option<Identity>, OpenError> {
            let mut bytes = [0; BYTES];
            match file.read_at(&mut bytes, at) {
                Ok(read) if read < BYTES_FIRST || bytes == [0; BYTES] => Ok(None),
                Ok(_) => Identity::decode(&bytes, &path, at).map(Some),
                Err(error) => Err(OpenError::io(&path, error)),
            }
        };
        match SLOTS.map(slot) {
            [Ok(first), Ok(second)] => Ok(newer(first, second)),
            [Ok(Some(sound)), Err(OpenError::Damaged(_))] | [Err(OpenError::Damaged(_)), Ok(Some(sound))] => {
                Ok(Some(sound))
            }
            [Ok(None), Err(OpenError::Damaged(_))] | [Err(OpenError::Damaged(_)), Ok(None)] => Ok(None),
            [Err(error), _] | [_, Err(error)] => Err(error),
        }
    }

    /// Takes the place of the identity before the last one; after a power cut the last one is there, or this one.
    pub fn write(&self, env: &Env, dir: &Path) -> Result<(), OpenError> {
        self.write_at(SLOTS[self.incarnation as usize % 2], env, dir)
    }

    /// Writes a level that has risen in the middle of a life. Afterwards no program that does not speak it takes the directory for its own.
    pub fn raise(&self, env: &Env, dir: &Path) -> Result<(), OpenError> {
        // A power cut may spoil what is written. The one of this life stays until the other slot has it, too.
        self.write_at(SLOTS[(self.incarnation as usize + 1) % 2], env, dir)?;
        self.write(env, dir)
    }

    fn write_at(&self, slot: u64, env: &Env, dir: &Path) -> Result<(), OpenError> {
        let path = path(dir);
        let write = || {
            let file = match env.disk.open(&path, Access::Write) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => create(env, dir)?,
                opened => opened?,
            };
            file.write_at(&self.encode(), slot)?;
            file.sync_data()
        };
        write().map_err(|error| OpenError::io(&path, error))
    }

    fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        let (version, length) = match self.role {
            Role::Witness => (VERSION, BYTES),
            Role::Data if self.level.has(Feature::LevelsOnDisk) => (VERSION_LEVEL, BYTES_LEVEL),
            Role::Data => (VERSION_FIRST, BYTES_FIRST),
        };
        put_u32(&mut bytes, 8, version);
        bytes[16..32].copy_from_slice(&self.cluster.to_le_bytes());
        put_u32(&mut bytes, 32, self.node);
        put_u32(&mut bytes, 36, self.incarnation);
        if version >= VERSION_LEVEL {
            put_u32(&mut bytes, 40, u32::from(self.level.0));
        }
        if version >= VERSION {
            put_u32(&mut bytes, 44, WITNESS);
        }
        let crc = crc32fast::hash(&bytes[16..length]);
        put_u32(&mut bytes, 12, crc);
        bytes
    }

    /// Of the slot at `offset`.
    fn decode(bytes: &[u8; BYTES], file: &Path, offset: u64) -> Result<Identity, OpenError> {
        let damaged = |at, what: &str| OpenError::from(Damage::new(file, offset + at, what));
        if &bytes[..8] != MAGIC {
            return Err(damaged(0, "not a node's identity"));
        }
        let length = match get_u32(bytes, 8) {
            VERSION => BYTES,
            VERSION_LEVEL => BYTES_LEVEL,
            VERSION_FIRST => BYTES_FIRST,
            found => {
                return Err(OpenError::Version {
                    file: file.to_owned(),
                    found,
                    known: VERSION,
                });
            }
        };
        if get_u32(bytes, 12) != crc32fast::hash(&bytes[16..length]) {
            return Err(damaged(12, "the identity's checksum is wrong"));
        }
        let level = match length {
            BYTES | BYTES_LEVEL => u8::try_from(get_u32(bytes, 40)).unwrap_or(u8::MAX),
            _ => Level::FIRST.0,
        };
        let role = match length {
            BYTES if get_u32(bytes, 44) == WITNESS => Role::Witness,
            BYTES => return Err(damaged(44, "a role that there is none of")),
            _ => Role::Data,
        };
        Ok(Identity {
            cluster: u128::from(get_u64(bytes, 24)) << 64 | u128::from(get_u64(bytes, 16)),
            node: get_u32(bytes, 32),
            incarnation: get_u32(bytes, 36),
            level: Level(level),
            role,
        })
    }
}

fn path(dir: &Path) -> PathBuf {
    dir.join("identity")
}

/// The file with two empty slots.
fn create(env: &Env, dir: &Path) -> io::Result<Box<dyn File>> {
    let file = env.disk.open(&path(dir), Access::Create)?;
    file.allocate(SLOTS[1] + BYTES as u64)?;
    file.sync_data()?;
    env.disk.sync_dir(dir)?;
    Ok(file)
}

fn newer(first: Option<Identity>, second: Option<Identity>) -> Option<Identity> {
    let slots = first.into_iter().chain(second);
    slots.max_by_key(|identity| (identity.incarnation, identity.level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::with_directory;
    use env::SimDisk;

    fn sample(incarnation: u32) -> Identity {
        of_level(incarnation, 1)
    }

    fn witness(incarnation: u32, level: u8) -> Identity {
        Identity {
            role: Role::Witness,
            ..of_level(incarnation, level)
        }
    }

    fn of_level(incarnation: u32, level: u8) -> Identity {
        Identity {
            cluster: 0x0123_4567_89ab_cdef_0011_2233_4455_6677,
            node: 3,
            incarnation,
            level: Level(level),
            role: Role::Data,
        }
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let decode = |bytes: &[u8; BYTES]| Identity::decode(bytes, Path::new("x"), 0);
        for (identity, length) in [
            (sample(9), BYTES_FIRST),
            (of_level(9, 2), BYTES_LEVEL),
            (witness(9, 2), BYTES),
        ] {
            let mut bytes = identity.encode();
            assert_eq!(decode(&bytes).unwrap(), identity);
            for bit in 0..length * 8 {
                bytes[bit / 8] ^= 1 << (bit % 8);
                assert!(decode(&bytes).is_err(), "bit {bit}");
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn a_power_cut_leaves_the_old_one_or_the_new_one() {
        let dir = Path::new("data");
        for before in 0..4 {
            for operations in 0..12 {
                let disk = SimDisk::new(operations + 100 * u64::from(before));
                let env = with_directory(&disk, dir);
                for incarnation in 1..=before {
                    sample(incarnation).write(&env, dir).unwrap();
                }
                disk.cut_power_after(operations);
                let written = sample(before + 1).write(&env, dir);
                disk.restore_power();
                let found = Identity::read(&env, dir).unwrap().map(|identity| identity.incarnation);
                let (old, new) = ((before > 0).then_some(before), Some(before + 1));
                match written {
                    Ok(()) => assert_eq!(found, new),
                    Err(_) => assert!(found == old || found == new, "{found:?}"),
                }
            }
        }
    }

    /// What a former version reads, and takes for its own.
    #[test]
    fn the_first_level_is_written_as_ever() {
        let bytes = sample(9).encode();
        assert_eq!(get_u32(&bytes, 8), 1);
        assert_eq!(get_u32(&bytes, 12), crc32fast::hash(&bytes[16..40]));
        assert_eq!(bytes[40..], [0; 8]);
        assert_eq!(get_u32(&of_level(9, 2).encode(), 8), 2, "which it refuses");
    }

    /// A program that knows no witness, and one that knows no levels, refuse its directory.
    #[test]
    fn a_witness_says_so_at_any_level() {
        let dir = Path::new("data");
        for level in [1, 2] {
            let env = Env::simulated(SimDisk::new(1), 1);
            env.disk.create_dir(dir).unwrap();
            for incarnation in [6, 7] {
                let written = witness(incarnation, level);
                assert_eq!(get_u32(&written.encode(), 8), 3);
                written.write(&env, dir).unwrap();
                assert_eq!(Identity::read(&env, dir).unwrap(), Some(written));
            }
        }
        let mut bytes = witness(9, 2).encode();
        put_u32(&mut bytes, 44, 2);
        let crc = crc32fast::hash(&bytes[16..]);
        put_u32(&mut bytes, 12, crc);
        assert!(
            Identity::decode(&bytes, Path::new("x"), 0).is_err(),
            "no role of that number"
        );
    }

    /// Directories of versions whose slots were shorter: the file may end with the second one.
    #[test]
    fn a_shorter_slot_at_the_end_of_the_file_is_read() {
        let dir = Path::new("data");
        for (identity, length) in [(sample(9), BYTES_FIRST), (of_level(9, 2), BYTES_LEVEL)] {
            let env = Env::simulated(SimDisk::new(1), 1);
            env.disk.create_dir(dir).unwrap();
            let file = env.disk.open(&path(dir), Access::Create).unwrap();
            file.write_at(&identity.encode()[..length], SLOTS[1]).unwrap();
            assert_eq!(Identity::read(&env, dir).unwrap(), Some(identity));
        }
    }

    #[test]
    fn a_level_that_rises_costs_no_life() {
        let dir = Path::new("data");
        for operations in 0..12 {
            let disk = SimDisk::new(operations);
            let env = with_directory(&disk, dir);
            sample(4).write(&env, dir).unwrap();
            sample(5).write(&env, dir).unwrap();
            disk.cut_power_after(operations);
            let raised = of_level(5, 2).raise(&env, dir);
            disk.restore_power();
            let found = Identity::read(&env, dir).unwrap().unwrap();
            assert_eq!(found.incarnation, 5);
            assert!(raised.is_err() || found.level == Level(2), "{found:?}");
            if raised.is_ok() {
                let file = env.disk.open(&path(dir), Access::Read).unwrap();
                for slot in SLOTS {
                    let mut version = [0; 4];
                    file.read_at(&mut version, slot + 8).unwrap();
                    assert_eq!(
                        u32::from_le_bytes(version),
                        VERSION_LEVEL,
                        "a former version finds none of its own"
                    );
                }
            }
        }
    }

    #[test]
    fn a_full_disk_has_room_for_the_next_start() {
        let dir = Path::new("data");
        let disk = SimDisk::new(1);
        let env = Env::simulated(disk.clone(), 1);
        env.disk.create_dir(dir).unwrap();
        sample(1).write(&env, dir).unwrap();
        disk.set_capacity(Some(disk.used()));
        for incarnation in 2..6 {
            sample(incarnation).write(&env, dir).unwrap();
            assert_eq!(Identity::read(&env, dir).unwrap(), Some(sample(incarnation)));
        }
    }

    #[test]
    fn damage_of_both_slots_is_no_new_directory() {
        let dir = Path::new("data");
        let disk = SimDisk::new(1);
        let env = Env::simulated(disk.clone(), 1);
        env.disk.create_dir(dir).unwrap();
        sample(1).write(&env, dir).unwrap();
        sample(2).write(&env, dir).unwrap();
        let file = env.disk.open(&path(dir), Access::Write).unwrap();
        file.write_at(b"x", SLOTS[0] + 33).unwrap();
        assert_eq!(Identity::read(&env, dir).unwrap(), Some(sample(1)), "the other slot");
        file.write_at(b"x", SLOTS[1] + 33).unwrap();
        assert!(matches!(Identity::read(&env, dir), Err(OpenError::Damaged(_))));
    }
}
