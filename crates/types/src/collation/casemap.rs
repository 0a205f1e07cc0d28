//! `UPPER()` and `LOWER()`: one character for one, by the version of Unicode that the collation goes with.

use governor::bulk;

use super::CollationId;
use crate::charset::{CharsetId, gb18030};

/// The characters that a mapping changes, as pairs of codes in the order of the first.
struct CaseMap {
    bytes: &'static [u8],
}

impl CaseMap {
    fn map(&self, c: char) -> char {
        let pairs = self.bytes.as_chunks::<8>().0;
        let [c0, c1, c2, c3] = u32::from(c).to_le_bytes();
        let code_at = |pair: &[u8; 8]| u32::from_le_bytes([pair[0], pair[1], pair[2], pair[3]]);
        match pairs.binary_search_by_key(&u32::from_le_bytes([c0, c1, c2, c3]), code_at) {
            Ok(at) => {
                let [.., m0, m1, m2, m3] = pairs[at];
                char::from_u32(u32::from_le_bytes([m0, m1, m2, m3])).unwrap_or(c)
            }
            Err(_) => c,
        }
    }
}

macro_rules! case_map {
    ($file:literal) => {
        CaseMap {
            bytes: include_bytes!(concat!("../../tables/", $file)),
        }
    };
}

static UPPER_GENERAL: CaseMap = case_map!("upper_general.bin");
static LOWER_GENERAL: CaseMap = case_map!("lower_general.bin");
static UPPER_520: CaseMap = case_map!("upper_520.bin");
static LOWER_520: CaseMap = case_map!("lower_520.bin");
static UPPER_900: CaseMap = case_map!("upper_900.bin");
static LOWER_900: CaseMap = case_map!("lower_900.bin");

/// The maps of a collation, upper case first. latin1 maps only what stays inside it, so ÿ and ƒ stay.
fn maps(collation: CollationId) -> (&'static CaseMap, &'static CaseMap) {
    use CollationId::*;
    match collation {
        UTF8MB4_0900_BIN => (&UPPER_900, &LOWER_900),
        no_pad if !no_pad.pad_space() => (&UPPER_900, &LOWER_900),
        UTF8MB4_UNICODE_520_CI
        | UTF8MB3_UNICODE_520_CI
        | UCS2_UNICODE_520_CI
        | UTF16_UNICODE_520_CI
        | UTF32_UNICODE_520_CI => (&UPPER_520, &LOWER_520),
        _ => (&UPPER_GENERAL, &LOWER_GENERAL),
    }
}

pub(super) fn to_upper(collation: CollationId, text: &str) -> String {
    apply(collation, true, text)
}

pub(super) fn to_lower(collation: CollationId, text: &str) -> String {
    apply(collation, false, text)
}

fn apply(collation: CollationId, is_upper: bool, text: &str) -> String {
    let (upper, lower) = maps(collation);
    // What the map does to ASCII, too.
    let (map, ascii): (_, fn(&mut str)) = match is_upper {
        true => (upper, str::make_ascii_uppercase),
        false => (lower, str::make_ascii_lowercase),
    };
    let charset = collation.charset();
    if charset == CharsetId::BINARY {
        return bulk::copy_text(text);
    }
    if let Some(set) = charset.coded() {
        let map = if is_upper { &set.upper } else { &set.lower };
        return bulk::text_pieces(text)
            .flat_map(str::chars)
            .map(|c| map.map(c))
            .collect();
    }
    if charset == CharsetId::GB18030 {
        let map = if is_upper { gb18030::to_upper } else { gb18030::to_lower };
        return bulk::text_pieces(text).flat_map(str::chars).map(map).collect();
    }
    if is_turkish(collation) {
        let turkish = |c| match (is_upper, c) {
            (true, 'i') => 'İ',
            (false, 'I') => 'ı',
            _ => map.map(c),
        };
        return bulk::text_pieces(text).flat_map(str::chars).map(turkish).collect();
    }
    let mut out = String::with_capacity(text.len());
    for piece in bulk::text_pieces(text) {
        if piece.is_ascii() {
            let begin = out.len();
            out.push_str(piece);
            ascii(&mut out[begin..]);
            continue;
        }
        match charset {
            // MySQL's latin1 maps the letters from U+00C0 on that have both cases there, and none of code page 1252's others.
            CharsetId::LATIN1 => out.extend(piece.chars().map(|c| if in_latin1_pairs(c) { map.map(c) } else { c })),
            _ => out.extend(piece.chars().map(|c| map.map(c))),
        }
    }
    out
}

/// Where the letter i keeps its dot.
fn is_turkish(collation: CollationId) -> bool {
    use CollationId::*;
    matches!(
        collation,
        UTF8MB4_TURKISH_CI | UTF8MB3_TURKISH_CI | UCS2_TURKISH_CI | UTF16_TURKISH_CI | UTF32_TURKISH_CI
    )
}

fn in_latin1_pairs(c: char) -> bool {
    c.is_ascii() || (matches!(c, '\u{C0}'..='\u{FE}') && !matches!(c, 'ß' | '×' | '÷'))
}
