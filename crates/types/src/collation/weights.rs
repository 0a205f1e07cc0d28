//! What the collations with weights have in common: comparison, keys and hashes over a sequence of weights.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::hash::Hasher;

use governor::bulk;

use super::coded::{self, Order};
use super::contractions::Contractions;
use super::key::{HashSink, KeyCodes, KeySink};
use super::lines::Lines;
use super::long::{self, Long};
use super::rolling::{self, Window};
use super::table::{self, Doubled, EightBit, General};
use super::tailored;
use super::uca::{self, Uca};
use super::whole::{self, Whole};
use super::{CollationId, Pad, chars};

/// How a collation's order is found.
pub(super) enum Family {
    /// The order of the bytes.
    Bytes,
    /// The order of the bytes of UTF-8, under PAD SPACE.
    Utf8,
    Weights(&'static Weights),
    /// The order of bytes that are made of the whole text.
    Whole(&'static Whole),
}

impl CollationId {
    #[inline]
    pub(super) fn family(self) -> Family {
        use CollationId::*;
        Family::Weights(match self {
            BINARY | UTF8MB4_0900_BIN => return Family::Bytes,
            UTF8MB4_BIN | UTF8MB3_BIN | ASCII_BIN | UCS2_BIN | UTF16_BIN | UTF16LE_BIN | UTF32_BIN => {
                return Family::Utf8;
            }
            TIS620_THAI_CI => return Family::Whole(&whole::THAI),
            LATIN2_CZECH_CS => return Family::Whole(&whole::CZECH),
            CP1250_CZECH_CS => return Family::Whole(&whole::WINDOWS_CZECH),
            UTF8MB4_0900_AI_CI => &uca::UTF8MB4_0900_AI_CI,
            UTF8MB4_0900_AS_CI => &uca::UTF8MB4_0900_AS_CI,
            UTF8MB4_0900_AS_CS => &uca::UTF8MB4_0900_AS_CS,
            UTF8MB4_UNICODE_CI | UTF8MB3_UNICODE_CI | UCS2_UNICODE_CI | UTF16_UNICODE_CI | UTF32_UNICODE_CI => {
                &uca::UNICODE_CI
            }
            UTF8MB4_UNICODE_520_CI
            | UTF8MB3_UNICODE_520_CI
            | UCS2_UNICODE_520_CI
            | UTF16_UNICODE_520_CI
            | UTF32_UNICODE_520_CI
            | GB18030_UNICODE_520_CI => &uca::UNICODE_520_CI,
            UTF8MB4_GENERAL_CI | UTF8MB3_GENERAL_CI | UCS2_GENERAL_CI | UTF16_GENERAL_CI | UTF16LE_GENERAL_CI
            | UTF32_GENERAL_CI => &table::GENERAL_CI,
            LATIN1_SWEDISH_CI => &table::LATIN1_SWEDISH_CI,
            LATIN1_GERMAN1_CI => &table::LATIN1_GERMAN1_CI,
            LATIN1_DANISH_CI => &table::LATIN1_DANISH_CI,
            LATIN1_SPANISH_CI => &table::LATIN1_SPANISH_CI,
            LATIN1_GENERAL_CI => &table::LATIN1_GENERAL_CI,
            LATIN1_GENERAL_CS => &table::LATIN1_GENERAL_CS,
            LATIN1_BIN => &table::LATIN1_BIN,
            LATIN1_GERMAN2_CI => &table::LATIN1_GERMAN2_CI,
            ASCII_GENERAL_CI => &table::ASCII_GENERAL_CI,
            UTF8MB3_GENERAL_MYSQL500_CI | UCS2_GENERAL_MYSQL500_CI => &table::GENERAL_MYSQL500_CI,
            UTF8MB3_TOLOWER_CI => &table::TOLOWER_CI,
            UJIS_BIN => &long::UJIS_BIN,
            UJIS_JAPANESE_CI => &long::UJIS_JAPANESE_CI,
            EUCJPMS_BIN => &long::EUCJPMS_BIN,
            EUCJPMS_JAPANESE_CI => &long::EUCJPMS_JAPANESE_CI,
            GB18030_BIN => &long::GB18030_BIN,
            GB18030_CHINESE_CI => &long::GB18030_CHINESE_CI,
            other => coded::of(other)
                .or_else(|| tailored::of(other))
                .expect("the others are all above"),
        })
    }
}

pub(super) type AsciiWeights = [u16; 128];

/// The most levels that a collation has.
pub(super) const LEVELS: usize = 4;

/// A collation by weights.
pub(super) struct Weights {
    /// The weights of ASCII characters at each level, at most one each; 0 is ignored, or is one of those below.
    ascii: [AsciiWeights; LEVELS],
    /// The ASCII characters that have several weights at a level, or that a contraction begins with.
    not_simple: u128,
    contractions: Option<&'static Contractions>,
    /// Whether ASCII letters that differ in case alone have the same primary weights.
    folds_case: bool,
    source: Source,
    levels: u8,
    pad: Pad,
    keys: KeyCodes,
    /// Below the least secondary weight.
    secondary_floor: u32,
    /// Whether the first character of a text, if it is a mark that stands for what is before it, is behind the last one at all levels but the
    /// first. So in MySQL, which remembers what it has read last.
    is_round: bool,
}

/// Where the weights of characters come from.
///
/// Weights of tables are one more than the table says, for there a weight of 0 counts.
pub(super) enum Source {
    EightBit(&'static EightBit),
    General(&'static General),
    Coded(&'static Order),
    Doubled(&'static Doubled),
    Long(&'static Long),
    Uca(&'static Uca),
}

/// The longest sequence of weights of one character (U+FDFA).
const MAX_EXPANSION: usize = 18;

/// In a contraction, what WEIGHT_STRING shows as the weight 0: it counts, below all others.
const COUNTED_ZERO: u32 = 1;

/// The weights of one character at one level.
struct Expansion {
    weights: [u32; MAX_EXPANSION],
    len: usize,
}

/// A window over a text for each level.
type Windows = [Window; LEVELS];

/// A level of a text that is searched: a window over its weights, as many as the needle has.
struct SearchedLevel {
    window: Window,
    /// How many weights the window holds.
    held: usize,
    /// The next character to be read, and weights of the one before that have not entered.
    next: usize,
    waiting: VecDeque<u64>,
}

impl Weights {
    pub(super) const fn new(ascii: [AsciiWeights; LEVELS], source: Source, levels: u8, pad: Pad) -> Weights {
        Weights::of_language(ascii, 0, None, source, levels, pad)
    }

    /// `ascii` has the first weight of each character, also of those that are not simple.
    pub(super) const fn of_language(
        mut ascii: [AsciiWeights; LEVELS],
        not_simple: u128,
        contractions: Option<&'static Contractions>,
        source: Source,
        levels: u8,
        pad: Pad,
    ) -> Weights {
        let mut keys = KeyCodes::new(&ascii[0], pad);
        let folds_case = ascii[0][b'a' as usize] == ascii[0][b'A' as usize];
        let mut c = 0;
        while c < 128 {
            if not_simple >> c & 1 != 0 {
                keys.ascii[c] = 0;
                let mut level = 0;
                while level < LEVELS {
                    ascii[level][c] = 0;
                    level += 1;
                }
            }
            c += 1;
        }
        Weights {
            ascii,
            not_simple,
            contractions,
            folds_case,
            source,
            levels,
            pad,
            keys,
            secondary_floor: 0x1F,
            is_round: false,
        }
    }

    /// The same of a language with secondary weights from 0x1F on.
    pub(super) const fn with_low_secondary(mut self) -> Weights {
        self.secondary_floor = 0x1E;
        self
    }

    /// The same of a language with marks that stand for what is before them.
    pub(super) const fn with_marks(mut self) -> Weights {
        self.is_round = true;
        self
    }

    pub(super) fn has_several_levels(&self) -> bool {
        self.levels > 1
    }

    /// Whether a character may weigh together with others, or an ASCII character several times. Few collations have such. Comparing and keys
    /// under the others are compiled without the question: `UNITS` is the answer to it.
    #[inline]
    fn has_units(&self) -> bool {
        self.not_simple != 0 || self.contractions.is_some()
    }

    pub(super) fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self.has_units() {
            false => self.compare_weights::<false>(a, b),
            true => self.compare_weights::<true>(a, b),
        }
    }

    fn compare_weights<const UNITS: bool>(&self, a: &[u8], b: &[u8]) -> Ordering {
        // Weights of a unit do not depend on its neighbours, so a common beginning has no say at any level.
        let mut common = chars::common_prefix(a, b);
        if UNITS && let Some(contractions) = self.contractions {
            common = match self.is_round && (contractions.begins_with_mark(a) || contractions.begins_with_mark(b)) {
                true => 0,
                false => contractions.boundary(a, b, common),
            };
        }
        let (a, b) = (&a[common..], &b[common..]);
        if a.is_empty() && b.is_empty() {
            return Ordering::Equal;
        }
        let mut order = self.compare_primary::<UNITS>(self.pad, a, b);
        for level in 1..self.levels {
            order = order.then_with(|| {
                compare_sequences(
                    self.behind_primary::<UNITS>(a, level),
                    self.behind_primary::<UNITS>(b, level),
                )
            });
        }
        order
    }

    fn compare_primary<const UNITS: bool>(&self, pad: Pad, a: &[u8], b: &[u8]) -> Ordering {
        let len = if UNITS { 0 } else { a.len().min(b.len()) };
        let (mut at, mut look) = (0, bulk::PIECE);
        while at < len {
            if at >= look {
                look = at + bulk::PIECE;
                if !governor::go_on() {
                    return Ordering::Equal;
                }
            }
            if self.folds_case && at + 8 <= len {
                let (x, y) = (chars::word_at(a, at), chars::word_at(b, at));
                if (x | y) & HIGH_BITS == 0 && fold_ascii(x) == fold_ascii(y) {
                    at += 8;
                    continue;
                }
            }
            let (x, y) = (a[at], b[at]);
            if (x | y) >= 0x80 {
                break;
            }
            let (x, y) = (self.ascii[0][usize::from(x)], self.ascii[0][usize::from(y)]);
            if x != y {
                if x == 0 || y == 0 {
                    break;
                }
                return x.cmp(&y);
            }
            at += 1;
        }
        let (mut a, mut b) = (
            self.weights_of::<UNITS>(&a[at..], 0),
            self.weights_of::<UNITS>(&b[at..], 0),
        );
        match pad {
            Pad::NoPad => compare_sequences(a, b),
            Pad::PadSpace => loop {
                match (a.next(), b.next()) {
                    (Some(x), Some(y)) if x == y => {}
                    (None, None) => return Ordering::Equal,
                    (x, y) => {
                        let space = self.keys.space;
                        let (x, y) = (x.unwrap_or(space), y.unwrap_or(space));
                        if x != y {
                            return x.cmp(&y);
                        }
                    }
                }
            },
        }
    }

    pub(super) fn sort_key(&self, text: &[u8], out: &mut Vec<u8>) {
        out.reserve(text.len() + 8);
        self.write_key(text, out);
    }

    pub(super) fn hash<H: Hasher>(&self, text: &[u8], state: &mut H) {
        let mut sink = HashSink::new(state);
        self.write_key(text, &mut sink);
        sink.flush();
    }

    fn write_key(&self, text: &[u8], out: &mut impl KeySink) {
        match self.has_units() {
            false => self.write_levels::<false>(text, out),
            true => self.write_levels::<true>(text, out),
        }
    }

    fn write_levels<const UNITS: bool>(&self, text: &[u8], out: &mut impl KeySink) {
        self.write_primary::<UNITS>(text, out);
        for level in 1..self.levels {
            out.put(0);
            for weight in self.behind_primary::<UNITS>(text, level) {
                out.put(self.key_byte(level, weight));
            }
        }
    }

    fn write_primary<const UNITS: bool>(&self, text: &[u8], out: &mut impl KeySink) {
        let keys = &self.keys;
        let space_code = keys.ascii[usize::from(b' ')];
        let padded = self.pad == Pad::PadSpace;
        let mut spaces = 0;
        let mut expansion = Expansion::EMPTY;
        let (mut at, mut next_chunk, mut look) = (0, 0, bulk::PIECE);
        while at < text.len() {
            if at >= look {
                look = at + bulk::PIECE;
                if !governor::go_on() {
                    return;
                }
            }
            // Eight characters with a code each, at once.
            if at >= next_chunk
                && let Some(chunk) = text[at..].first_chunk::<8>()
                && chunk.is_ascii()
            {
                let codes = chunk.map(|byte| keys.ascii[usize::from(byte)]);
                let special = |&code: &u8| code == 0 || padded && code == space_code;
                if spaces == 0 && !codes.iter().any(special) {
                    out.put_all(&codes);
                    at += 8;
                    continue;
                }
                next_chunk = at + 8;
            }
            let byte = text[at];
            if byte < 0x80 && (!UNITS || self.is_simple(byte)) {
                at += 1;
                let code = keys.ascii[usize::from(byte)];
                if padded && code == space_code {
                    spaces += 1;
                } else if code != 0 {
                    keys.space_runs
                        .write(std::mem::take(&mut spaces), code > space_code, out);
                    out.put(code);
                }
                continue;
            }
            if UNITS {
                at += self.expand_at(text, at, 0, &mut expansion);
            } else {
                let (c, len) = chars::decode(text, at);
                at += len;
                self.expand(c, 0, &mut expansion);
            }
            for &weight in expansion.as_slice() {
                if padded && weight == keys.space {
                    spaces += 1;
                } else {
                    keys.space_runs
                        .write(std::mem::take(&mut spaces), weight > keys.space, out);
                    keys.write(weight, out);
                }
            }
        }
        if padded {
            out.put(keys.space_runs.end());
        }
    }

    pub(super) fn weight_string(&self, text: &[u8], out: &mut Vec<u8>) {
        bulk::make_room(out, text.len() * 2 * usize::from(self.levels));
        let mut first_unit = None;
        for level in 0..self.levels {
            let mut weights = self.behind_primary::<true>(text, level).peekable();
            // Without weights of the fourth level nothing shows that there is one.
            if level > 0 && (level < 3 || weights.peek().is_some()) {
                out.extend_from_slice(&[0, 0]);
            }
            for weight in weights {
                match self.source {
                    Source::EightBit(_) | Source::Doubled(_) => out.push((weight - 1) as u8),
                    Source::General(_) => out.extend_from_slice(&((weight - 1) as u16).to_be_bytes()),
                    Source::Coded(order) => order.write(weight, out),
                    Source::Long(order) => order.write(weight, &mut first_unit, out),
                    Source::Uca(_) if weight == COUNTED_ZERO && level == 0 => out.extend_from_slice(&[0, 0]),
                    Source::Uca(_) => out.extend_from_slice(&(weight as u16).to_be_bytes()),
                }
            }
        }
    }

    /// The first place at or after `from` from which on the weights begin, at every level, with those of `needle`. So `é` begins
    /// with `e` where accents are a level of their own, and a needle without weights stands everywhere.
    pub(super) fn find(&self, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        if self.contractions.is_some() {
            return self.find_by_places(haystack, needle, from);
        }
        let mut expansion = Expansion::EMPTY;
        let mut wanted: Windows = std::array::from_fn(|_| Window::new());
        let mut counts = [0; LEVELS];
        let mut at = 0;
        while at < needle.len() {
            if !governor::go_on() {
                return None;
            }
            at += self.each_weight(needle, at, &mut expansion, |level, weight| {
                wanted[level].enter(weight);
                counts[level] += 1;
            });
        }
        let mut levels: [SearchedLevel; LEVELS] = std::array::from_fn(|_| SearchedLevel {
            window: Window::new(),
            held: 0,
            next: from,
            waiting: VecDeque::new(),
        });
        let mut start = from;
        while start < haystack.len() {
            if !governor::go_on() {
                return None;
            }
            for (at, (level, &count)) in levels.iter_mut().zip(&counts).enumerate() {
                level.next = level.next.max(start);
                while level.held < count {
                    governor::pause();
                    if let Some(weight) = level.waiting.pop_front() {
                        level.window.enter(weight);
                        level.held += 1;
                    } else if level.next < haystack.len() {
                        let waiting = &mut level.waiting;
                        level.next += self.each_weight(haystack, level.next, &mut expansion, |of, weight| {
                            if of == at {
                                waiting.push_back(weight);
                            }
                        });
                    } else {
                        // Every later place has fewer weights still.
                        return None;
                    }
                }
            }
            let shown = levels
                .iter()
                .zip(&wanted)
                .all(|(level, wanted)| level.window.shows(wanted));
            if shown && self.begins_with(&haystack[start..], needle).is_ok() {
                return Some(start);
            }
            start += self.each_weight(haystack, start, &mut expansion, |of, weight| {
                let level = &mut levels[of];
                if level.held > 0 {
                    level.window.leave(weight);
                    level.held -= 1;
                } else {
                    level.waiting.pop_front();
                }
            });
        }
        None
    }

    /// The same where characters weigh together, so that what a place begins with is not the end of what the one before it begins with.
    fn find_by_places(&self, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        /// Bytes for each place tried that cost less than the fingerprints.
        const CHEAP: usize = 32;
        let (mut tried, mut looked_at) = (1usize, 0);
        let mut start = from;
        while start < haystack.len() && governor::go_on() {
            match self.begins_with(&haystack[start..], needle) {
                Ok(()) => return Some(start),
                Err(bytes) => looked_at += bytes,
            }
            if looked_at > CHEAP * (tried + needle.len()) {
                return Lines::new(self, haystack, start).find(needle);
            }
            start += chars::decode(haystack, start).1;
            tried += 1;
        }
        None
    }

    /// Whether the weights of the text begin, at every level, with those of `needle`. The error is how many bytes of the text were looked at.
    pub(super) fn begins_with(&self, text: &[u8], needle: &[u8]) -> Result<(), usize> {
        let mut looked_at = 0;
        for level in 0..self.levels {
            let mut weights = self.behind_primary::<true>(text, level);
            let begins = self
                .behind_primary::<true>(needle, level)
                .all(|weight| governor::go_on() && weights.next() == Some(weight));
            looked_at += weights.at;
            if !begins {
                return Err(looked_at);
            }
        }
        Ok(())
    }

    pub(super) fn levels(&self) -> usize {
        self.levels.into()
    }

    /// Shows the weights of the unit at `at` at a level, and gives its length in bytes.
    pub(super) fn unit(&self, text: &[u8], at: usize, level: u8, mut show: impl FnMut(u32)) -> usize {
        let mut expansion = Expansion::EMPTY;
        let len = self.expand_at(text, at, level, &mut expansion);
        expansion.as_slice().iter().for_each(|&weight| show(weight));
        len
    }

    /// Shows all weights of the character at `at` with their levels, and gives its length in bytes.
    #[inline]
    fn each_weight(
        &self,
        text: &[u8],
        at: usize,
        expansion: &mut Expansion,
        mut show: impl FnMut(usize, u64),
    ) -> usize {
        let byte = text[at];
        if byte < 0x80 && self.is_simple(byte) {
            for level in 0..usize::from(self.levels) {
                let weight = self.ascii[level][usize::from(byte)];
                if weight != 0 {
                    show(level, u64::from(weight));
                }
            }
            return 1;
        }
        let (c, len) = chars::decode(text, at);
        for level in 0..self.levels {
            self.expand(c, level, expansion);
            for &weight in expansion.as_slice() {
                show(usize::from(level), u64::from(weight));
            }
        }
        len
    }

    /// A number that characters share when [`same_char`](Self::same_char) says so, and hardly otherwise.
    pub(super) fn char_class(&self, c: u32) -> u64 {
        let mut class = rolling::Sequence::new();
        if c < 0x80 && self.is_simple(c as u8) {
            for ascii in &self.ascii[..usize::from(self.levels)] {
                match ascii[c as usize] {
                    0 => {}
                    weight => class.add(u64::from(weight)),
                }
                class.add(0);
            }
            return class.number();
        }
        let mut expansion = Expansion::EMPTY;
        for level in 0..self.levels {
            self.expand(c, level, &mut expansion);
            expansion
                .as_slice()
                .iter()
                .for_each(|&weight| class.add(u64::from(weight)));
            class.add(0);
        }
        class.number()
    }

    /// Whether two characters have the same weights at every level.
    pub(super) fn same_char(&self, a: u32, b: u32) -> bool {
        if a < 0x80 && b < 0x80 && self.is_simple(a as u8) && self.is_simple(b as u8) {
            let levels = &self.ascii[..usize::from(self.levels)];
            return levels.iter().all(|ascii| ascii[a as usize] == ascii[b as usize]);
        }
        let (mut of_a, mut of_b) = (Expansion::EMPTY, Expansion::EMPTY);
        (0..self.levels).all(|level| {
            self.expand(a, level, &mut of_a);
            self.expand(b, level, &mut of_b);
            of_a.as_slice() == of_b.as_slice()
        })
    }

    /// The weights of `text` at a level (0: primary).
    pub(super) fn weights<'a>(&'a self, text: &'a [u8], level: u8) -> WeightIter<'a, true> {
        self.weights_of(text, level)
    }

    #[inline]
    fn weights_of<'a, const UNITS: bool>(&'a self, text: &'a [u8], level: u8) -> WeightIter<'a, UNITS> {
        WeightIter {
            weights: self,
            text,
            at: 0,
            look: bulk::PIECE,
            level,
            expansion: Expansion::EMPTY,
            next: 0,
        }
    }

    /// The same of a whole text; see `is_round`.
    #[inline]
    fn behind_primary<'a, const UNITS: bool>(&'a self, text: &'a [u8], level: u8) -> WeightIter<'a, UNITS> {
        let mut weights = self.weights_of(text, level);
        if UNITS && self.is_round && level > 0 {
            weights.begin_behind_the_end();
        }
        weights
    }

    /// A weight behind the first level in a key. Secondary ones are 0x20 to 0x118, in Chinese from 0x1F on. Tertiary ones are below 0x40, or have 1
    /// to 3 in the high byte where that says which case comes first.
    fn key_byte(&self, level: u8, weight: u32) -> u8 {
        match level {
            1 => (weight - self.secondary_floor) as u8,
            _ => ((weight >> 8) << 6 | weight & 0x3F) as u8,
        }
    }

    /// Whether an ASCII character has at most one weight at each level, whatever is behind it.
    #[inline]
    fn is_simple(&self, byte: u8) -> bool {
        self.not_simple == 0 || self.not_simple >> byte & 1 == 0
    }

    /// The weights of the unit at `at`, and how many bytes it takes.
    #[inline]
    fn expand_at(&self, text: &[u8], at: usize, level: u8, into: &mut Expansion) -> usize {
        if self.contractions.is_some()
            && let Some(len) = self.expand_contraction(text, at, level, into)
        {
            return len;
        }
        let (c, len) = chars::decode(text, at);
        self.expand(c, level, into);
        len
    }

    fn expand_contraction(&self, text: &[u8], at: usize, level: u8, into: &mut Expansion) -> Option<usize> {
        let Source::Uca(table) = self.source else {
            return None;
        };
        into.len = 0;
        table.contracted(text, at, level, &mut |weight| into.push(weight))
    }

    fn expand(&self, c: u32, level: u8, into: &mut Expansion) {
        into.len = 0;
        match self.source {
            Source::EightBit(table) => into.push(u32::from(table.weight(c)) + 1),
            Source::General(table) => into.push(u32::from(table.weight(c)) + 1),
            Source::Coded(order) => into.push(order.weight(c)),
            Source::Doubled(table) => table.weights(c, &mut |weight| into.push(weight)),
            Source::Long(order) => order.weights(c, &mut |weight| into.push(weight)),
            Source::Uca(table) => table.weights(c, level, &mut |weight| into.push(weight)),
        }
    }
}

impl Expansion {
    const EMPTY: Expansion = Expansion {
        weights: [0; MAX_EXPANSION],
        len: 0,
    };

    #[inline]
    fn push(&mut self, weight: u32) {
        self.weights[self.len] = weight;
        self.len += 1;
    }

    #[inline]
    fn as_slice(&self) -> &[u32] {
        &self.weights[..self.len]
    }
}

pub(super) struct WeightIter<'a, const UNITS: bool> {
    weights: &'a Weights,
    text: &'a [u8],
    at: usize,
    /// Where the statement is next asked whether it may go on.
    look: usize,
    level: u8,
    expansion: Expansion,
    next: usize,
}

impl<const UNITS: bool> Iterator for WeightIter<'_, UNITS> {
    type Item = u32;

    // Sequences are compared weight by weight: a call for each takes as long as the rest.
    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        loop {
            if self.next < self.expansion.len {
                self.next += 1;
                return Some(self.expansion.weights[self.next - 1]);
            }
            let &byte = self.text.get(self.at)?;
            if self.at >= self.look {
                self.look = self.at + bulk::PIECE;
                if !governor::go_on() {
                    return None;
                }
            }
            if byte < 0x80 && (!UNITS || self.weights.is_simple(byte)) {
                self.at += 1;
                match self.weights.ascii[usize::from(self.level)][usize::from(byte)] {
                    0 => continue,
                    weight => return Some(u32::from(weight)),
                }
            }
            self.expand();
        }
    }
}

impl<const UNITS: bool> WeightIter<'_, UNITS> {
    /// Gives the first character the weights that it has behind the last one.
    fn begin_behind_the_end(&mut self) {
        let is_mark = |contractions: &&Contractions| contractions.begins_with_mark(self.text);
        if self.weights.contractions.filter(is_mark).is_none() {
            return;
        }
        let last = chars::start_before(self.text, self.text.len());
        let len = chars::decode(self.text, 0).1;
        let round = [&self.text[last..], &self.text[..len]].concat();
        if self
            .weights
            .expand_contraction(&round, 0, self.level, &mut self.expansion)
            == Some(round.len())
        {
            let mut of_last = Expansion::EMPTY;
            self.weights
                .expand(chars::decode(self.text, last).0, self.level, &mut of_last);
            (self.at, self.next) = (len, of_last.len);
        } else {
            self.expansion.len = 0;
        }
    }

    /// Takes the weights of the next character or unit.
    fn expand(&mut self) {
        self.next = 0;
        if UNITS {
            self.at += self
                .weights
                .expand_at(self.text, self.at, self.level, &mut self.expansion);
        } else {
            let (c, len) = chars::decode(self.text, self.at);
            self.at += len;
            self.weights.expand(c, self.level, &mut self.expansion);
        }
    }
}

/// Compares two sequences; of two that agree, the shorter is less.
fn compare_sequences(mut a: impl Iterator<Item = u32>, mut b: impl Iterator<Item = u32>) -> Ordering {
    loop {
        match (a.next(), b.next()) {
            (Some(x), Some(y)) if x == y => {}
            (None, None) => return Ordering::Equal,
            (x, y) => return x.cmp(&y),
        }
    }
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Eight ASCII characters with their letters in lower case.
#[inline]
fn fold_ascii(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let from_a = word + (0x80 - b'A' as u64) * EACH;
    let behind_z = word + (0x7F - b'Z' as u64) * EACH;
    word | ((from_a & !behind_z & HIGH_BITS) >> 2)
}
