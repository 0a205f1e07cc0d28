//! The scripts that EVALSHA knows, by the SHA-1 of their source.

use std::collections::HashMap;
use std::sync::Arc;

use governor::hashing::FastHashing;
use sha1::{Digest as _, Sha1};

use super::Flags;
use crate::failure::{Failure, Outcome};

/// The hexadecimal digits of a SHA-1.
pub type Sha = [u8; 40];

/// The most scripts that are kept, and the most bytes of source.
const SCRIPTS_MAX: usize = 4096;
const BYTES_MAX: usize = 64 << 20;

/// A script.
pub struct Script {
    pub sha: Sha,
    pub source: Box<[u8]>,
    /// Where what Lua compiles begins: behind the line `#!lua …`.
    pub begin: usize,
    /// None: it has no such line.
    pub flags: Option<Flags>,
}

pub fn sha_of(source: &[u8]) -> Sha {
    let mut sha = [0; 40];
    for (digits, byte) in sha.chunks_exact_mut(2).zip(Sha1::digest(source)) {
        digits[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        digits[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    sha
}

impl Script {
    /// Reads what a script says of itself.
    pub fn new(sha: Sha, source: &[u8]) -> Outcome<Script> {
        let (flags, begin) = match source.starts_with(b"#!") {
            false => (None, 0),
            true => {
                let end = source.iter().position(|byte| *byte == b'\n');
                let end = end.ok_or_else(|| Failure::reply("ERR Invalid script shebang"))?;
                (Some(flags_of(&source[..end])?), end)
            }
        };
        Ok(Script {
            sha,
            source: source.into(),
            begin,
            flags,
        })
    }
}

/// `#!lua flags=no-writes,allow-oom`
fn flags_of(line: &[u8]) -> Outcome<Flags> {
    let refused = |what: &str, word: &[u8]| Failure::naming(&format!("ERR {what}: {{}}"), &[word]);
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let engine = words.next().unwrap_or_default();
    if engine != b"#!lua" {
        return Err(refused("Unexpected engine in script shebang", engine));
    }
    let mut flags = Flags::default();
    for word in words {
        let Some(names) = word.strip_prefix(b"flags=") else {
            return Err(refused("Unknown lua shebang option", word));
        };
        if names.is_empty() {
            continue;
        }
        for name in names.split(|byte| *byte == b',') {
            if !flags.set(name) {
                return Err(refused("Unexpected flag in script shebang", name));
            }
        }
    }
    Ok(flags)
}

/// The scripts; those that have not been used for long are forgotten.
#[derive(Default)]
pub struct Cache {
    scripts: HashMap<Sha, (Arc<Script>, u64), FastHashing>,
    bytes: usize,
    uses: u64,
    /// How often all of them were forgotten.
    pub generation: u64,
}

impl Cache {
    pub fn find(&mut self, sha: &Sha) -> Option<Arc<Script>> {
        self.uses += 1;
        let (script, used) = self.scripts.get_mut(sha)?;
        *used = self.uses;
        Some(script.clone())
    }

    pub fn contains(&self, sha: &[u8]) -> bool {
        lower(sha).is_some_and(|sha| self.scripts.contains_key(&sha))
    }

    pub fn count(&self) -> usize {
        self.scripts.len()
    }

    pub fn add(&mut self, script: Arc<Script>) {
        // Others use it, and free it.
        governor::given_away(|| {
            while self.scripts.len() >= SCRIPTS_MAX || self.bytes + script.source.len() > BYTES_MAX {
                if self.scripts.is_empty() {
                    return;
                }
                self.forget_oldest();
            }
            self.uses += 1;
            self.bytes += script.source.len();
            if let Some((old, _)) = self.scripts.insert(script.sha, (script, self.uses)) {
                self.bytes -= old.source.len();
            }
        });
    }

    /// Forgets the half that was used before the other.
    fn forget_oldest(&mut self) {
        let mut uses: Vec<u64> = self.scripts.values().map(|(_, used)| *used).collect();
        let middle = uses.len() / 2;
        let (_, &mut middle, _) = uses.select_nth_unstable(middle);
        self.scripts.retain(|_, (script, used)| {
            let stays = *used > middle;
            self.bytes -= if stays { 0 } else { script.source.len() };
            stays
        });
    }

    pub fn clear(&mut self) {
        governor::given_away(|| self.scripts.clear());
        self.bytes = 0;
        self.generation += 1;
    }
}

/// The digits in lower case; none: it is no SHA-1.
pub fn lower(sha: &[u8]) -> Option<Sha> {
    let mut sha: Sha = sha.try_into().ok()?;
    sha.make_ascii_lowercase();
    Some(sha)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_used_for_long_is_forgotten() {
        let mut cache = Cache::default();
        let script = |n: usize| {
            let source = format!("return {n}");
            Arc::new(Script::new(sha_of(source.as_bytes()), source.as_bytes()).unwrap())
        };
        let first = script(0);
        cache.add(first.clone());
        for n in 1..2 * SCRIPTS_MAX {
            cache.add(script(n));
            assert!(cache.find(&first.sha).is_some());
            assert!(cache.scripts.len() <= SCRIPTS_MAX);
        }
        assert!(!cache.contains(&script(1).sha));
        let bytes: usize = cache.scripts.values().map(|(script, _)| script.source.len()).sum();
        assert_eq!(cache.bytes, bytes);
        cache.clear();
        assert!(cache.find(&first.sha).is_none());
    }

    #[test]
    fn digests_are_those_of_redis() {
        assert_eq!(&sha_of(b""), b"da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }
}
