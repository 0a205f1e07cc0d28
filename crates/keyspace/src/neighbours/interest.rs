//! What the clients of a node listen to, said so shortly that it can be said often.
//!
//! Names of channels are places of a bitmap: a node may get messages that nobody there listens to, and never lacks one. A few patterns are told
//! as they are; more than that mean every channel.

use std::collections::HashMap;

use super::words::{Bytes, put_bytes, put_u16, put_u32};
use crate::glob::Glob;

/// Places of the bitmap. With as many as a thousand channels it lets one in sixteen through of what nobody wants.
const PLACES: usize = 1 << 14;
const BITMAP_BYTES: usize = PLACES / 8;
/// Patterns that are told one by one, and how long they are at most: whoever publishes compares them all.
const PATTERNS_MAX: usize = 32;
const PATTERN_BYTES_MAX: usize = 256;
/// The name of a longer channel is not compared.
const COMPARED_BYTES_MAX: usize = 1 << 10;

const FEW_PATTERNS: u8 = 0;
const EVERY_CHANNEL: u8 = 1;
const NO_NAMES: u8 = 0;
const SOME_NAMES: u8 = 1;
const BITMAP: u8 = 2;

/// The two kinds of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Of PUBLISH.
    Plain,
    /// Of SPUBLISH.
    Shard,
}

impl Channels {
    pub fn code(self) -> u8 {
        match self {
            Channels::Plain => 1,
            Channels::Shard => 2,
        }
    }

    pub fn of_code(code: u8) -> Option<Channels> {
        [Channels::Plain, Channels::Shard]
            .into_iter()
            .find(|kind| kind.code() == code)
    }

    /// The place of a channel: the same on every node.
    pub fn place(self, channel: &[u8]) -> u16 {
        // FNV-1a.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let hash = channel
            .iter()
            .fold(step(0xcbf2_9ce4_8422_2325, self.code()), |hash, &byte| step(hash, byte));
        let folded = hash ^ (hash >> 32) ^ (hash >> 16);
        (folded as usize % PLACES) as u16
    }
}

/// What a node wants to hear.
#[derive(Clone)]
pub struct Interest {
    /// `notify-keyspace-events`, as bits of [`notify`](crate::notify).
    pub notified: u32,
    patterns: Patterns,
    names: Names,
}

#[derive(Clone)]
enum Patterns {
    Few(Vec<(Vec<u8>, Glob)>),
    All,
}

/// A bit for each place, and how many are set; without any there is no memory for them.
#[derive(Clone, Default, PartialEq)]
struct Names {
    bits: Vec<u8>,
    count: usize,
}

impl Names {
    fn has(&self, place: u16) -> bool {
        let place = usize::from(place);
        self.bits
            .get(place / 8)
            .is_some_and(|byte| byte & (1 << (place % 8)) != 0)
    }

    fn add(&mut self, place: u16) {
        self.bits.resize(BITMAP_BYTES, 0);
        self.count += usize::from(!self.has(place));
        self.bits[usize::from(place) / 8] |= 1 << (place % 8);
    }

    fn places(&self) -> impl Iterator<Item = u16> {
        (0..8 * self.bits.len())
            .map(|place| place as u16)
            .filter(|&place| self.has(place))
    }
}

impl Default for Interest {
    fn default() -> Interest {
        Interest {
            notified: 0,
            patterns: Patterns::Few(Vec::new()),
            names: Names::default(),
        }
    }
}

impl PartialEq for Interest {
    fn eq(&self, other: &Interest) -> bool {
        let texts = |interest: &Interest| match &interest.patterns {
            Patterns::Few(few) => Some(few.iter().map(|(text, _)| text.clone()).collect::<Vec<_>>()),
            Patterns::All => None,
        };
        (self.notified, texts(self), &self.names) == (other.notified, texts(other), &other.names)
    }
}

impl std::fmt::Debug for Interest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let patterns = match &self.patterns {
            Patterns::Few(few) => few.len() as i64,
            Patterns::All => -1,
        };
        write!(
            f,
            "{} names, {patterns} patterns, {:x}",
            self.names.count, self.notified
        )
    }
}

impl Interest {
    pub fn add(&mut self, kind: Channels, channel: &[u8]) {
        self.names.add(kind.place(channel));
    }

    pub fn add_pattern(&mut self, pattern: &[u8]) {
        let Patterns::Few(few) = &mut self.patterns else { return };
        if few.iter().any(|(text, _)| text == pattern) {
            return;
        }
        if few.len() == PATTERNS_MAX || pattern.len() > PATTERN_BYTES_MAX {
            self.patterns = Patterns::All;
            return;
        }
        few.push((pattern.to_vec(), Glob::new(pattern)));
    }

    /// Whether whoever listens to a pattern gets all that it takes.
    pub fn covers_pattern(&self, pattern: &[u8]) -> bool {
        match &self.patterns {
            Patterns::Few(few) => few.iter().any(|(text, _)| text == pattern),
            Patterns::All => true,
        }
    }

    pub fn covers(&self, kind: Channels, channel: &[u8]) -> bool {
        self.names.has(kind.place(channel))
    }

    /// Nobody listens.
    pub fn is_empty(&self) -> bool {
        let no_patterns = matches!(&self.patterns, Patterns::Few(few) if few.is_empty());
        no_patterns && self.names.count == 0
    }

    /// Whether a message may have somebody who listens.
    pub fn wants(&self, kind: Channels, channel: &[u8], place: u16) -> bool {
        if self.names.has(place) {
            return true;
        }
        match (&self.patterns, kind) {
            (_, Channels::Shard) => false,
            (Patterns::All, Channels::Plain) => true,
            (Patterns::Few(few), Channels::Plain) if few.is_empty() => false,
            (Patterns::Few(few), Channels::Plain) => {
                channel.len() > COMPARED_BYTES_MAX || few.iter().any(|(_, glob)| glob.takes(channel))
            }
        }
    }

    pub fn encode(&self, to: &mut Vec<u8>) {
        put_u32(to, self.notified);
        match &self.patterns {
            Patterns::Few(few) => {
                to.push(FEW_PATTERNS);
                to.push(few.len() as u8);
                few.iter().for_each(|(text, _)| put_bytes(to, text));
            }
            Patterns::All => to.push(EVERY_CHANNEL),
        }
        match self.names.count {
            0 => to.push(NO_NAMES),
            count if 2 * count < BITMAP_BYTES => {
                to.push(SOME_NAMES);
                put_u16(to, count as u16);
                self.names.places().for_each(|place| put_u16(to, place));
            }
            _ => {
                to.push(BITMAP);
                to.extend_from_slice(&self.names.bits);
            }
        }
    }

    pub fn decode(bytes: &mut Bytes<'_>) -> Option<Interest> {
        let mut interest = Interest {
            notified: bytes.u32()?,
            ..Interest::default()
        };
        match bytes.u8()? {
            FEW_PATTERNS => {
                for _ in 0..bytes.u8()? {
                    interest.add_pattern(bytes.bytes()?);
                }
            }
            EVERY_CHANNEL => interest.patterns = Patterns::All,
            _ => return None,
        }
        match bytes.u8()? {
            NO_NAMES => {}
            SOME_NAMES => {
                for _ in 0..bytes.u16()? {
                    let place = bytes.u16()?;
                    if usize::from(place) >= PLACES {
                        return None;
                    }
                    interest.names.add(place);
                }
            }
            BITMAP => {
                let bits = bytes.take(BITMAP_BYTES)?.to_vec();
                let count = bits.iter().map(|byte| byte.count_ones() as usize).sum();
                interest.names = Names { bits, count };
            }
            _ => return None,
        }
        Some(interest)
    }
}

/// What the clients of this node listen to, counted, and what the others are told of it.
#[derive(Default)]
pub struct Own {
    /// Subscriptions by place.
    names: HashMap<u16, usize>,
    patterns: HashMap<Vec<u8>, usize>,
    told: Interest,
    /// Of what is told.
    version: u64,
    /// More is told than is so.
    is_wide: bool,
}

impl Own {
    pub fn version(&self) -> u64 {
        self.version
    }

    pub fn told(&self) -> &Interest {
        &self.told
    }

    /// Somebody listens to a channel. True: the others have to be told.
    pub fn add(&mut self, kind: Channels, channel: &[u8]) -> bool {
        *self.names.entry(kind.place(channel)).or_default() += 1;
        let is_new = !self.told.covers(kind, channel);
        if is_new {
            self.told.add(kind, channel);
            self.version += 1;
        }
        is_new
    }

    pub fn add_pattern(&mut self, pattern: &[u8]) -> bool {
        *self.patterns.entry(pattern.to_vec()).or_default() += 1;
        let is_new = !self.told.covers_pattern(pattern);
        if is_new {
            self.told.add_pattern(pattern);
            self.version += 1;
        }
        is_new
    }

    pub fn remove(&mut self, kind: Channels, channel: &[u8]) {
        self.is_wide |= one_less(&mut self.names, &kind.place(channel));
    }

    pub fn remove_pattern(&mut self, pattern: &[u8]) {
        self.is_wide |= one_less(&mut self.patterns, pattern);
    }

    pub fn set_notified(&mut self, bits: u32) -> bool {
        let is_new = self.told.notified != bits;
        self.told.notified = bits;
        self.version += u64::from(is_new);
        is_new
    }

    /// Tells no more than is so. That is in no hurry, and who subscribes to the same again in between need not be told of.
    pub fn narrow(&mut self) -> bool {
        if !std::mem::take(&mut self.is_wide) {
            return false;
        }
        let mut told = Interest {
            notified: self.told.notified,
            ..Interest::default()
        };
        self.names.keys().for_each(|&place| told.names.add(place));
        let mut patterns: Vec<&Vec<u8>> = self.patterns.keys().collect();
        patterns.sort_unstable();
        patterns.into_iter().for_each(|pattern| told.add_pattern(pattern));
        let is_other = told != self.told;
        self.told = told;
        self.version += u64::from(is_other);
        is_other
    }
}

/// True: it was the last one.
fn one_less<K, Q>(counts: &mut HashMap<K, usize>, key: &Q) -> bool
where
    K: std::hash::Hash + Eq + std::borrow::Borrow<Q>,
    Q: std::hash::Hash + Eq + ?Sized,
{
    let Some(count) = counts.get_mut(key) else { return false };
    *count -= 1;
    let is_last = *count == 0;
    if is_last {
        counts.remove(key);
    }
    is_last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(interest: &Interest, kind: Channels, channel: &[u8]) -> bool {
        interest.wants(kind, channel, kind.place(channel))
    }

    fn there_and_back(interest: &Interest) -> Interest {
        let mut bytes = Vec::new();
        interest.encode(&mut bytes);
        let mut rest = Bytes(&bytes);
        let decoded = Interest::decode(&mut rest).unwrap();
        rest.end().unwrap();
        assert_eq!(&decoded, interest);
        for length in 0..bytes.len() {
            assert!(Interest::decode(&mut Bytes(&bytes[..length])).is_none());
        }
        decoded
    }

    #[test]
    fn who_listens_is_told_and_who_does_not_is_spared() {
        let mut interest = Interest::default();
        assert!(interest.is_empty());
        interest.add(Channels::Plain, b"news");
        let interest = there_and_back(&interest);
        assert!(wants(&interest, Channels::Plain, b"news"));
        assert!(!wants(&interest, Channels::Shard, b"news"));
        let others = (0..1000).filter(|n| wants(&interest, Channels::Plain, format!("other-{n}").as_bytes()));
        assert_eq!(others.count(), 0);
    }

    #[test]
    fn many_names_are_a_bitmap_and_many_patterns_every_channel() {
        let mut interest = Interest::default();
        for n in 0..3000 {
            interest.add(Channels::Shard, format!("{n}").as_bytes());
        }
        for n in 0..PATTERNS_MAX {
            interest.add_pattern(format!("p{n}.*").as_bytes());
        }
        let decoded = there_and_back(&interest);
        assert!((0..3000).all(|n| wants(&decoded, Channels::Shard, format!("{n}").as_bytes())));
        assert!(wants(&decoded, Channels::Plain, b"p31.x"));
        // Some names have the place of another one.
        assert!((0..20).any(|n| !wants(&decoded, Channels::Plain, format!("p32.{n}").as_bytes())));
        interest.add_pattern(b"p32.*");
        let decoded = there_and_back(&interest);
        assert!(wants(&decoded, Channels::Plain, b"anything"));
        let mut bytes = Vec::new();
        decoded.encode(&mut bytes);
        assert!(bytes.len() < BITMAP_BYTES + 16);
    }

    #[test]
    fn only_what_is_new_is_told_at_once() {
        let mut own = Own::default();
        assert!(own.add(Channels::Plain, b"a"));
        assert!(!own.add(Channels::Plain, b"a"));
        assert!(own.add_pattern(b"p*"));
        assert_eq!(own.version(), 2);
        own.remove(Channels::Plain, b"a");
        assert!(!own.narrow());
        own.remove(Channels::Plain, b"a");
        // It comes back before anybody has been told that it went.
        assert!(!own.add(Channels::Plain, b"a"));
        assert!(!own.narrow());
        own.remove(Channels::Plain, b"a");
        own.remove_pattern(b"p*");
        assert!(own.narrow());
        assert!(own.told().is_empty());
        assert_eq!(own.version(), 3);
        // What nobody listens to is not counted below zero.
        own.remove(Channels::Plain, b"a");
        assert!(!own.narrow());
    }

    #[test]
    fn notifications_are_part_of_it() {
        let mut own = Own::default();
        assert!(own.set_notified(3) && !own.set_notified(3));
        assert_eq!(own.told().notified, 3);
        assert!(own.told().is_empty(), "bits alone have no listener");
    }
}
