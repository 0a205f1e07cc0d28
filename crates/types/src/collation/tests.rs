//! What every collation must hold, and well-known facts of each.

use std::cmp::Ordering;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;

use proptest::prelude::*;

use super::CollationId;
use CollationId::*;

fn key(collation: CollationId, text: &str) -> Vec<u8> {
    let mut key = Vec::new();
    collation.sort_key(text.as_bytes(), &mut key);
    key
}

fn hash(collation: CollationId, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    collation.hash(text.as_bytes(), &mut hasher);
    hasher.finish()
}

fn weights(collation: CollationId, text: &str) -> String {
    let mut weights = Vec::new();
    collation.weight_string(text.as_bytes(), &mut weights);
    weights.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[track_caller]
fn assert_equal(collation: CollationId, a: &str, b: &str) {
    assert_eq!(
        collation.compare(a.as_bytes(), b.as_bytes()),
        Ordering::Equal,
        "{a:?} = {b:?} in {collation}"
    );
    assert_eq!(key(collation, a), key(collation, b));
    assert_eq!(hash(collation, a), hash(collation, b));
}

#[track_caller]
fn assert_less(collation: CollationId, a: &str, b: &str) {
    assert_eq!(
        collation.compare(a.as_bytes(), b.as_bytes()),
        Ordering::Less,
        "{a:?} < {b:?} in {collation}"
    );
    assert_eq!(collation.compare(b.as_bytes(), a.as_bytes()), Ordering::Greater);
    assert!(
        key(collation, a) < key(collation, b),
        "keys of {a:?} and {b:?} in {collation}"
    );
}

#[test]
fn utf8mb4_0900_ai_ci_ignores_case_and_accents() {
    for (a, b) in [
        ("a", "A"),
        ("a", "á"),
        ("résumé", "RESUME"),
        ("ß", "ss"),
        ("æ", "AE"),
        ("ǆ", "DZ"),
        ("ｱ", "ア"),
        ("ア", "あ"),
        ("ガ", "か"),
        ("１", "1"),
        ("①", "1"),
        ("ﬁ", "fi"),
        ("e\u{301}", "e"),
        ("각", "각"),
        ("a\0b\u{7F}", "ab"),
    ] {
        assert_equal(UTF8MB4_0900_AI_CI, a, b);
    }
    for (a, b) in [
        ("a", "a "),
        ("", " "),
        ("a", "b"),
        ("Z", "あ"),
        ("9", "a"),
        ("_", "0"),
        ("-", "a"),
        ("😀", "😁"),
        ("あ", "漢"),
        ("中", "㐀"),
        ("가", "각"),
        ("\u{E000}", "\u{10FFFF}"),
    ] {
        assert_less(UTF8MB4_0900_AI_CI, a, b);
    }
}

#[test]
fn utf8mb4_0900_levels() {
    assert_less(UTF8MB4_0900_AS_CI, "a", "á");
    assert_equal(UTF8MB4_0900_AS_CI, "á", "Á");
    assert_less(UTF8MB4_0900_AS_CS, "a", "A");
    assert_less(UTF8MB4_0900_AS_CS, "A", "á");
    assert_less(UTF8MB4_0900_AS_CS, "Áa", "áb");
    assert_less(UTF8MB4_0900_AS_CS, "あ", "ア");
    assert_less(UTF8MB4_0900_BIN, "A", "a");
    assert_less(UTF8MB4_0900_BIN, "a", "a ");
}

#[test]
fn pad_space_ignores_spaces_at_the_end_and_sorts_controls_before_them() {
    // In Estonian by latin7 the space is before all controls. In Czech controls count behind everything else, or like spaces.
    let others = [LATIN7_ESTONIAN_CS, CP1250_CZECH_CS, LATIN2_CZECH_CS];
    let all = CollationId::all().filter(|collation| !others.contains(collation));
    for collation in all.filter(|collation| collation.pad_space()) {
        assert_equal(collation, "a", "a   ");
        assert_equal(collation, "", "  ");
        assert_less(collation, "a", "a  b");
        assert_less(collation, "a  b", "a b");
        assert_less(collation, "a\t", "a");
        assert_less(collation, "a\t", "a \t");
        assert_less(collation, "a \t", "a");
        assert_less(
            collation,
            &format!("a{}b", " ".repeat(600)),
            &format!("a{}b", " ".repeat(599)),
        );
        assert_less(
            collation,
            &format!("a{}b", " ".repeat(255)),
            &format!("a{}b", " ".repeat(254)),
        );
        assert_less(
            collation,
            &format!("a{}\t", " ".repeat(254)),
            &format!("a{}\t", " ".repeat(255)),
        );
    }
}

#[test]
fn known_orders() {
    // ä and ö are letters of their own in Swedish.
    assert_less(LATIN1_SWEDISH_CI, "z", "å");
    assert_less(LATIN1_SWEDISH_CI, "å", "ä");
    assert_equal(LATIN1_SWEDISH_CI, "ü", "Y");
    assert_equal(LATIN1_GERMAN1_CI, "ä", "a");
    // The byte of € is 0x80, although its code point is far above ¡.
    assert_less(LATIN1_BIN, "€", "¡");
    assert_equal(UTF8MB4_GENERAL_CI, "ß", "s");
    assert_equal(UTF8MB4_GENERAL_CI, "😀", "😁");
    assert_equal(UTF8MB4_UNICODE_CI, "ß", "ss");
    assert_equal(UTF8MB4_UNICODE_CI, "😀", "😁");
    assert_less(UTF8MB4_UNICODE_520_CI, "😀", "😁");
    assert_less(UTF8MB4_BIN, "é", "😀");
    assert_less(BINARY, "a", "a ");
}

#[test]
fn weight_strings() {
    assert_eq!(weights(UTF8MB4_0900_AI_CI, "aB é"), "1C471C6002091CAA");
    assert_eq!(
        weights(UTF8MB4_0900_AS_CS, "Á"),
        "1C4700000020002400000008".to_owned() + "0002"
    );
    assert_eq!(weights(UTF8MB4_0900_AI_CI, "가中\u{17000}"), "3BF53C73FB40CE2DFB008000");
    assert_eq!(weights(UTF8MB4_GENERAL_CI, "aé😀"), "00410045FFFD");
    assert_eq!(weights(LATIN1_SWEDISH_CI, "aé"), "4145");
    assert_eq!(weights(UTF8MB4_BIN, "a😀"), "00006101F600");
    assert_eq!(weights(UTF8MB3_BIN, "aé"), "006100E9");
}

/// As a MySQL 9.7.4 shows them.
#[test]
fn weights_of_long_codes_whole_texts_and_ideographs() {
    for (collation, text, expected) in [
        (LATIN1_GERMAN2_CI, "äöüßÄÖaeAE", "41454F455545535341454F4541454145"),
        (LATIN2_CZECH_CS, "ch", "0C0119012F012F00"),
        (LATIN2_CZECH_CS, "a  b", "030203020401090103020F010302020F00"),
        (LATIN2_CZECH_CS, "a ! b", "030203020202040109010302020F01030298020F00"),
        (LATIN2_CZECH_CS, " a", "020203010301020301020300"),
        (LATIN2_CZECH_CS, "", "01010100"),
        (CP1250_CZECH_CS, "cH", "A6AC0201"),
        (CP1250_CZECH_CS, "ád á", "A4A882A404020104"),
        (TIS620_THAI_CI, "เกแข์ก", "A1E0A2E1A1F9"),
        (TIS620_THAI_CI, "a\0b", "612020"),
        (UTF8MB3_GENERAL_MYSQL500_CI, "aßS", "004100DF0053"),
        (UTF8MB3_TOLOWER_CI, "aßSéÉÄ", "006100DF007300E900E900E4"),
        (UJIS_JAPANESE_CI, "日本aア丂", "C6FCCBDC41A5A28FB0A1"),
        (EUCJPMS_JAPANESE_CI, "日本aアｱ丂", "C6FCCBDC41A5A28EB18FB0A1"),
        (
            GB18030_CHINESE_CI,
            "日本aア丂①𠀀é",
            "FFA0631BFFA003C941A5A2FFA03BCCA2D9FFA02844FF000043",
        ),
        (GB18030_BIN, "日本aア丂①𠀀é", "C8D5B1BE61A5A28140A2D995328236A8A6"),
        (
            GB18030_UNICODE_520_CI,
            "日本aア丂①𠀀é",
            "FB40E5E5FB40E72C120F2B15FB40CE021206FBC48000126B",
        ),
        (
            UTF8MB4_ZH_0900_AS_CS,
            "日本aア丂①𠀀é",
            "7F7E2010BDC4DED758231C3E4493BE2700000020002000200020002000200020001F0117000000020002000200110002000600020002",
        ),
        (
            UTF8MB4_JA_0900_AS_CS,
            "日本aアあー",
            "5D135EC91C471FB61FB61FB600000020002000200020002000200000000200020002000E000E000C0021",
        ),
        (
            UTF8MB4_JA_0900_AS_CS_KS,
            "日本aアあカー",
            "5D135EC91C471FB61FB61FBC1FB6000000200020002000200020002000200000000200020002000E000E000E000C002100000008000200080008",
        ),
    ] {
        assert_eq!(weights(collation, text), expected, "{collation}: {text:?}");
    }
}

#[test]
fn orders_of_languages_with_rules_of_their_own() {
    for (collation, rising) in [
        (LATIN1_GERMAN2_CI, ["Ärger", "Arger", "az"]),
        (LATIN2_CZECH_CS, ["cH", "hata", "chata"]),
        (CP1250_CZECH_CS, ["cz", "hz", "ch"]),
        // The vowel is spoken behind its consonant.
        (TIS620_THAI_CI, ["กา", "เก", "ขา"]),
        (GB18030_CHINESE_CI, ["z", "阿", "中"]),
        (UTF8MB4_ZH_0900_AS_CS, ["1", "阿", "a"]),
        (UTF8MB4_JA_0900_AS_CS_KS, ["かか", "カか", "かき"]),
    ] {
        for pair in rising.windows(2) {
            assert_less(collation, pair[0], pair[1]);
        }
    }
    assert_equal(LATIN1_GERMAN2_CI, "Ärger", "aerger");
    assert_equal(UTF8MB4_JA_0900_AS_CS, "あ", "ア");
    assert_equal(TIS620_THAI_CI, "ก่", "ก่");
    assert_equal(GB18030_CHINESE_CI, "𐐀É", "𐐨é");
    // A mark stands for the vowel before it.
    assert_less(UTF8MB4_JA_0900_AS_CS, "あー", "ああ");
    assert_less(UTF8MB4_JA_0900_AS_CS, "ああ", "あい");
    assert!(UTF8MB4_JA_0900_AS_CS_KS.like("ア".as_bytes(), "あ".as_bytes(), None));
    assert!(!LATIN2_CZECH_CS.like(b"A%", b"ab", None));
    assert_eq!(LATIN1_GERMAN2_CI.find("xä".as_bytes(), b"a", 0), None);
}

#[test]
fn an_ascii_character_takes_one_byte_of_a_key() {
    let text = "The-quick_brown.fox/1234567890";
    assert_eq!(key(UTF8MB4_0900_AI_CI, text).len(), text.len());
    for collation in [UTF8MB4_GENERAL_CI, UTF8MB4_UNICODE_CI, UTF8MB4_BIN, LATIN1_SWEDISH_CI] {
        assert_eq!(key(collation, text).len(), text.len() + 1, "{collation}");
    }
    assert_eq!(key(UTF8MB4_0900_AI_CI, "Γειά").len(), 8);
}

#[test]
fn case() {
    assert_eq!(UTF8MB4_0900_AI_CI.to_upper("straße é ǆ ı"), "STRAßE É Ǆ I");
    assert_eq!(UTF8MB4_0900_AI_CI.to_lower("ÀΣẞİ"), "àσßi");
    assert_eq!(LATIN1_SWEDISH_CI.to_upper("éÿßð"), "ÉÿßÐ");
    assert_eq!(UTF8MB4_0900_AI_CI.to_upper("𐐨"), "𐐀");
    assert_eq!(UTF8MB4_GENERAL_CI.to_upper("𐐨"), "𐐨");
    assert_eq!(BINARY.to_upper("abc"), "abc");
}

#[test]
fn prefixes_count_characters() {
    assert_eq!(UTF8MB4_BIN.prefix("héllo".as_bytes(), 2), "hé".as_bytes());
    assert_eq!(UTF8MB4_BIN.prefix("hé".as_bytes(), 9), "hé".as_bytes());
    assert_eq!(BINARY.prefix(b"\xC3\xA9", 1), b"\xC3");
    assert_eq!(UTF8MB4_BIN.char_count("é😀".as_bytes()), 2);
    assert_eq!(BINARY.char_count("é😀".as_bytes()), 6);
}

#[test]
fn finding_minds_the_collation() {
    let find = |collation: CollationId, haystack: &str, needle: &str| {
        collation.find(haystack.as_bytes(), needle.as_bytes(), 0)
    };
    assert_eq!(find(UTF8MB4_0900_AI_CI, "xÉy", "é"), Some(1));
    assert_eq!(find(UTF8MB4_0900_AI_CI, "xéy", "e"), Some(1));
    assert_eq!(find(UTF8MB4_0900_AI_CI, "aeb", "éb"), Some(1));
    assert_eq!(find(UTF8MB4_0900_AI_CI, "straße", "SS"), Some(4));
    assert_eq!(find(UTF8MB4_0900_AS_CI, "xéy", "e"), Some(1));
    assert_eq!(find(UTF8MB4_0900_AS_CI, "xéy", "ey"), None);
    assert_eq!(find(UTF8MB4_0900_AS_CS, "xey", "é"), None);
    assert_eq!(find(UTF8MB4_0900_AI_CI, "a", "\0"), Some(0));
    assert_eq!(find(UTF8MB4_UNICODE_CI, "aß", "ss"), Some(1));
    assert_eq!(find(UTF8MB4_GENERAL_CI, "foobar", "BAR"), Some(3));
    assert_eq!(find(UTF8MB4_BIN, "foobar", "BAR"), None);
    assert_eq!(find(UTF8MB4_GENERAL_CI, "ab", "b "), None);
    assert_eq!(find(BINARY, "ab", ""), Some(0));
    assert_eq!(UTF8MB4_BIN.find(b"abab", b"ab", 1), Some(2));
    assert_eq!(UTF8MB4_BIN.find(b"ab", b"ab", 5), None);
}

#[test]
fn like() {
    let like = |pattern: &str, text: &str| UTF8MB4_0900_AI_CI.like(pattern.as_bytes(), text.as_bytes(), Some('\\'));
    for (pattern, text) in [
        ("", ""),
        ("%", ""),
        ("a%", "ABC"),
        ("%é%", "the End"),
        ("a_c", "aéc"),
        ("_", "😀"),
        ("%%%a", "bba"),
        ("a\\%", "a%"),
        ("a\\_b", "a_b"),
        ("a\\", "a\\"),
        ("%ab%ab", "abxabab"),
        ("__%", "abc"),
    ] {
        assert!(like(pattern, text), "{text:?} LIKE {pattern:?}");
    }
    for (pattern, text) in [
        ("", "a"),
        ("_", ""),
        ("a\\%", "ab"),
        ("ss", "ß"),
        ("a", "a "),
        ("%a", "ab"),
        ("__", "a"),
    ] {
        assert!(!like(pattern, text), "{text:?} NOT LIKE {pattern:?}");
    }
    assert!(UTF8MB4_BIN.like(b"a|%", b"a%", Some('|')));
    assert!(!UTF8MB4_BIN.like(b"A", b"a", Some('\\')));
    assert!(BINARY.like(b"_\xFF", b"\xC3\xFF", None));
    assert!(!BINARY.like("_".as_bytes(), "é".as_bytes(), None));
    // Takes the product of the lengths, not a power of it.
    assert!(!like(&"%a".repeat(200), &("a".repeat(199) + "b")));
}

/// `LIKE` as its definition has it, trying everything.
fn naive_like(pattern: &[char], text: &[char], same: &dyn Fn(char, char) -> bool) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| naive_like(rest, &text[skipped..], same)),
        ['\\', c, rest @ ..] | [c, rest @ ..] if pattern[0] != '_' => match text {
            [first, others @ ..] => same(*c, *first) && naive_like(rest, others, same),
            [] => false,
        },
        [_, rest @ ..] => !text.is_empty() && naive_like(rest, &text[1..], same),
    }
}

fn any_collation() -> impl Strategy<Value = CollationId> {
    prop::sample::select(CollationId::all().collect::<Vec<_>>())
}

/// Texts of few characters, so that they often share beginnings and are often equal.
fn text() -> impl Strategy<Value = String> {
    let char = prop_oneof![
        6 => prop::sample::select(vec!['a', 'A', 'b', 'B', ' ', ' ', 'á', 'ß', 's', 'z', '0', '\t', '\0', '\x7F']),
        2 => prop::sample::select(vec!['c', 'h', 'd', 'z', 'ž', 'l', 'j', '\u{307}', '\u{300}']),
        1 => prop::sample::select(vec!['€', 'あ', 'ア', 'ー', 'ゝ', '中', 'ก', 'เ', '่', '์', 'č', '가', '😀', '\u{301}', '\u{FDFA}', '\u{344}', '\u{10FFFF}']),
        1 => any::<char>(),
    ];
    prop::collection::vec(char, 0..12).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn keys_and_hashes_say_what_comparison_says(collation in any_collation(), a in text(), b in text()) {
        let order = collation.compare(a.as_bytes(), b.as_bytes());
        prop_assert_eq!(order, key(collation, &a).cmp(&key(collation, &b)));
        prop_assert_eq!(order, collation.compare(b.as_bytes(), a.as_bytes()).reverse());
        prop_assert_eq!(order == Ordering::Equal, collation.equal(a.as_bytes(), b.as_bytes()));
        if order == Ordering::Equal {
            prop_assert_eq!(hash(collation, &a), hash(collation, &b));
        }
    }

    #[test]
    fn comparison_is_transitive(collation in any_collation(), a in text(), b in text(), c in text()) {
        let mut sorted = [a, b, c];
        sorted.sort_by(|a, b| collation.compare(a.as_bytes(), b.as_bytes()));
        let [a, _, c] = &sorted;
        prop_assert_ne!(collation.compare(a.as_bytes(), c.as_bytes()), Ordering::Greater);
    }

    #[test]
    fn comparison_is_that_of_the_weights(a in text(), b in text()) {
        for collation in [UTF8MB4_0900_AI_CI, UTF8MB4_0900_AS_CI, UTF8MB4_0900_AS_CS] {
            let order = weights(collation, &a).cmp(&weights(collation, &b));
            prop_assert_eq!(order, collation.compare(a.as_bytes(), b.as_bytes()));
        }
    }

    #[test]
    fn a_composite_key_orders_like_its_parts(collation in any_collation(), a in text(), b in text(), x: u8, y: u8) {
        // Under PAD SPACE a key ends itself: what follows never decides before the text has.
        prop_assume!(collation.pad_space());
        let whole = |text: &str, next: u8| { let mut key = key(collation, text); key.push(next); key };
        let expected = collation.compare(a.as_bytes(), b.as_bytes()).then(x.cmp(&y));
        prop_assert_eq!(expected, whole(&a, x).cmp(&whole(&b, y)));
    }

    #[test]
    fn any_bytes_will_do(collation in any_collation(), a: Vec<u8>, b: Vec<u8>) {
        let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
        collation.sort_key(&a, &mut of_a);
        collation.sort_key(&b, &mut of_b);
        collation.compare(&a, &b);
        collation.like(&a, &b, Some('\\'));
        collation.find(&a, &b, 0);
        collation.prefix(&a, 3);
        collation.weight_string(&a, &mut of_a);
    }

    #[test]
    fn like_is_the_naive_like(
        collation in prop::sample::select(vec![UTF8MB4_0900_AI_CI, UTF8MB4_GENERAL_CI, UTF8MB4_BIN, UTF8MB4_0900_AS_CS]),
        pattern in "[aA%_\\\\éb]{0,8}",
        text in "[aAb%é_]{0,8}",
    ) {
        let same = |a: char, b: char| collation.equal(a.to_string().as_bytes(), b.to_string().as_bytes());
        let naive = naive_like(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>(), &same);
        prop_assert_eq!(naive, collation.like(pattern.as_bytes(), text.as_bytes(), Some('\\')));
    }
}

/// Every pattern that segments, `%`, `_` and escapes can make, against the definition; the texts are long enough that a segment
/// is looked for by fingerprint.
#[test]
fn like_agrees_with_its_definition_where_places_nearly_match() {
    let same = |a: char, b: char| a.eq_ignore_ascii_case(&b) || (a == 'é' && b == 'e') || (a == 'e' && b == 'é');
    for run in [1usize, 3, 20] {
        for end in ["b", "é", "%", ""] {
            let text = format!("{}{end}{}", "aA".repeat(run), "a".repeat(run));
            for piece in ["a", "e", "_", "\\%", "ab", "aab", "a_b"] {
                for repeat in [1usize, 2, 16] {
                    for shape in ["%P%", "%P", "P%", "%P%P%", "%P%b%"] {
                        let pattern = shape.replace('P', &piece.repeat(repeat));
                        let chars = |text: &str| text.chars().collect::<Vec<char>>();
                        // The definition takes exponential time in the number of segments, but they are few.
                        assert_eq!(
                            UTF8MB4_0900_AI_CI.like(pattern.as_bytes(), text.as_bytes(), Some('\\')),
                            naive_like(&chars(&pattern), &chars(&text), &same),
                            "{text:?} LIKE {pattern:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn finding_agrees_with_its_definition() {
    let haystacks = [
        "aaaaÉb éßss😀é",
        "ßßss",
        "e\u{301}ée",
        "abcabcabd",
        "ααΑβ",
        "日本日本語",
    ];
    let needles = ["é", "e", "ss", "ß", "abd", "Aβ", "日本語", "\u{301}", "b ", "😀"];
    let all = [
        UTF8MB4_0900_AI_CI,
        UTF8MB4_0900_AS_CI,
        UTF8MB4_0900_AS_CS,
        UTF8MB4_UNICODE_CI,
        UTF8MB4_GENERAL_CI,
        LATIN1_SWEDISH_CI,
        UTF8MB4_BIN,
    ];
    for collation in all {
        for (haystack, needle) in haystacks.iter().flat_map(|h| needles.map(|n| (*h, n))) {
            // The weights of each level, which MySQL's WEIGHT_STRING separates by zeros.
            let levels = |text: &str| -> Vec<Vec<u16>> {
                let mut weights = Vec::new();
                collation.weight_string(text.as_bytes(), &mut weights);
                let units: Vec<u16> = match collation {
                    UTF8MB4_BIN | LATIN1_SWEDISH_CI => weights.iter().map(|byte| u16::from(*byte) + 1).collect(),
                    _ => weights
                        .chunks(2)
                        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                        .collect(),
                };
                units.split(|unit| *unit == 0).map(<[u16]>::to_vec).collect()
            };
            let place = |at: usize| match collation {
                UTF8MB4_BIN => haystack[at..].starts_with(needle),
                _ => levels(&haystack[at..])
                    .iter()
                    .zip(levels(needle))
                    .all(|(level, wanted)| level.starts_with(&wanted)),
            };
            assert_eq!(
                collation.find(haystack.as_bytes(), needle.as_bytes(), 0),
                haystack.char_indices().map(|(at, _)| at).find(|at| place(*at)),
                "{needle:?} in {haystack:?} under {}",
                collation.name()
            );
        }
    }
}

/// Each of these takes minutes where the time is the product of the lengths.
#[test]
fn searching_takes_linear_time() {
    const LEN: usize = 20_000;
    let haystack = "a".repeat(2 * LEN);
    let needle = "a".repeat(LEN) + "b";
    for collation in [
        UTF8MB4_0900_AI_CI,
        UTF8MB4_0900_AS_CS,
        UTF8MB4_GENERAL_CI,
        UTF8MB4_DA_0900_AS_CS,
        LATIN1_SWEDISH_CI,
        UTF8MB4_BIN,
        BINARY,
    ] {
        assert_eq!(collation.find(haystack.as_bytes(), needle.as_bytes(), 0), None);
        for pattern in [
            format!("%{needle}%"),
            format!("%{needle}"),
            format!("%{}%{needle}%", "a".repeat(LEN / 2)),
        ] {
            assert!(!collation.like(pattern.as_bytes(), haystack.as_bytes(), Some('\\')));
        }
    }
    let short = [b"a".repeat(200), b"b".to_vec()].concat();
    assert_eq!(
        super::Finder::new(&short).find(&[haystack.as_bytes(), b"b"].concat(), 7),
        Some(2 * LEN - 200)
    );
}

/// Texts that begin between the letters of contractions, which the search by lines has to keep apart and bring together.
#[test]
fn finding_where_letters_weigh_together_agrees_with_its_definition_and_takes_linear_time() {
    let place = |collation: CollationId, haystack: &str, needle: &str| {
        let starts = haystack.char_indices().map(|(at, _)| at);
        let levels = |text: &str| -> Vec<String> {
            let separator = if collation.pad_space() { "none" } else { "0000" };
            let weights = weights(collation, text);
            let units: Vec<&str> = (0..weights.len()).step_by(4).map(|at| &weights[at..at + 4]).collect();
            units
                .split(|unit| *unit == separator)
                .map(|level| level.concat())
                .collect()
        };
        let wanted = levels(needle);
        starts.into_iter().find(|at| {
            let here = levels(&haystack[*at..]);
            here.iter()
                .zip(&wanted)
                .all(|(here, wanted)| here.starts_with(wanted.as_str()))
        })
    };
    let pieces = [
        (UTF8MB4_DANISH_CI, vec!["aa", "aaa", "å", "b"]),
        (UTF8MB4_DA_0900_AS_CS, vec!["aa", "aaa", "aA", "b"]),
        (UTF8MB4_CZECH_CI, vec!["ch", "h", "c", "cch"]),
        (UTF8MB4_HU_0900_AI_CI, vec!["sz", "zs", "ssz", "ddzs", "z"]),
    ];
    let mut state = 7u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    for (collation, pieces) in pieces {
        for _ in 0..100 {
            let mut text = |max: usize| -> String {
                let repeated = pieces[random(pieces.len())].repeat(random(max) + 1);
                repeated + pieces[random(pieces.len())] + pieces[random(pieces.len())]
            };
            let haystack: String = (0..4).map(|_| text(12)).collect();
            let needle = text(10);
            let found = place(collation, &haystack, &needle);
            assert_eq!(
                collation.find(haystack.as_bytes(), needle.as_bytes(), 0),
                found,
                "{needle} in {haystack}"
            );
            let family = collation.family();
            let super::weights::Family::Weights(weights) = family else {
                unreachable!("weights")
            };
            let lines = super::lines::Lines::new(weights, haystack.as_bytes(), 0);
            assert_eq!(lines.find(needle.as_bytes()), found, "{needle} in {haystack} by lines");
        }
    }
    const LEN: usize = 20_000;
    for (collation, unit) in [
        (UTF8MB4_CZECH_CI, "ch"),
        (UTF8MB4_CZECH_CI, "c"),
        (UTF8MB4_DA_0900_AS_CS, "a"),
        (UTF8MB4_HU_0900_AS_CS, "sz"),
        (UTF8MB4_LT_0900_AS_CS, "\u{307}"),
    ] {
        let haystack = unit.repeat(2 * LEN);
        for first in ["", unit.get(1..).unwrap_or_default()] {
            let needle = format!("{first}{}x", unit.repeat(LEN));
            assert_eq!(collation.find(haystack.as_bytes(), needle.as_bytes(), 0), None);
        }
    }
}
