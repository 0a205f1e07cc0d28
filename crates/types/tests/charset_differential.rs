//! Character sets and collations that do not go by the Unicode collation algorithm, held against a running MySQL 9.7.
//!
//! `LATSDB_MYSQL` holds the options of the `mariadb` client that reach it, as `-h127.0.0.1 -P3306 -uroot`; without it these tests pass without
//! looking. `LATSDB_COLLATIONS` chooses collations by a part of their names.

use types::{CharsetId, CollationId};

use crate::collations::{CHARACTER, PLANES, assert_compares_as_in, is_chosen, numbers, texts, weights};
use crate::server::{ask_mysql as ask, hex};

/// The collations, and characters that their texts are made of; of gb18030 without letters whose cases differ in length, where MySQL's equality is
/// not transitive: `'ÉÉa' = 'ééAa'`.
const COLLATIONS: [(CollationId, &str); 16] = [
    (CollationId::CP1250_CZECH_CS, "cChHaáČč b-\t"),
    (CollationId::LATIN2_CZECH_CS, "cChHaáČč b-\t!"),
    (CollationId::LATIN1_GERMAN2_CI, "aAeEäÄöoßsSüuæy"),
    (CollationId::TIS620_THAI_CI, "aกขเแ็่้์ะฤ๐ "),
    (CollationId::TIS620_BIN, "aกขเแ็่้์ะฤ๐ "),
    (CollationId::UTF8MB3_GENERAL_MYSQL500_CI, "aAßsSéÉжЖ中"),
    (CollationId::UCS2_GENERAL_MYSQL500_CI, "aAßsSéÉжЖ中"),
    (CollationId::UTF8MB3_TOLOWER_CI, "aAßsSéÉжЖ中"),
    (CollationId::UJIS_JAPANESE_CI, "aAアｱ日本丂①àÀ "),
    (CollationId::UJIS_BIN, "aAアｱ日本丂①àÀ "),
    (CollationId::EUCJPMS_JAPANESE_CI, "aAアｱ日本丂①àÀ "),
    (CollationId::EUCJPMS_BIN, "aAアｱ日本丂①àÀ "),
    (CollationId::GB18030_CHINESE_CI, "aAéж阿啊中文𠀀㐀😀𐐀𐐨 "),
    (CollationId::GB18030_BIN, "aAéж阿啊中文𠀀㐀😀𐐀𐐨 "),
    (CollationId::GB18030_UNICODE_520_CI, "aAéж阿啊中文𠀀㐀😀𐐀𐐨 "),
    (CollationId::UTF8MB3_GENERAL_CI, "aAßsSéÉжЖ中"),
];
const SETS: [CharsetId; 4] = [
    CharsetId::EUCJPMS,
    CharsetId::GB18030,
    CharsetId::TIS620,
    CharsetId::UJIS,
];

fn collations() -> impl Iterator<Item = (CollationId, &'static str)> {
    COLLATIONS.into_iter().filter(|(collation, _)| is_chosen(*collation))
}

#[test]
fn every_character_has_the_code_and_the_cases_of_mysql() {
    for charset in SETS {
        let collation = charset.default_collation();
        // MySQL takes characters of other planes for those of the first one.
        let planes = if charset.max_bytes_per_char() == 1 {
            &PLANES[..1]
        } else {
            &PLANES
        };
        for planes in planes {
            let own = format!("CONVERT({CHARACTER} USING {charset})");
            let Some(rows) = ask(&format!(
                "{} SELECT n, HEX({own}), HEX(CONVERT(UPPER({own}) USING utf8mb4)), HEX(CONVERT(LOWER({own}) USING utf8mb4)), LENGTH({own})
                 FROM numbers WHERE n NOT BETWEEN 0xD800 AND 0xDFFF",
                numbers(planes)
            )) else {
                return;
            };
            assert!(rows.len() >= 0xF800);
            for row in rows {
                let c = char::from_u32(row[0].parse().unwrap()).unwrap();
                let code = charset.encode(c.encode_utf8(&mut [0; 4])).into_owned();
                assert_eq!(hex(&code), row[1], "{charset}: {c:?}");
                assert_eq!(
                    charset.encoded_len(&c.to_string()).to_string(),
                    row[4],
                    "{charset}: {c:?}"
                );
                assert_eq!(charset.contains(c), code != b"?" || c == '?', "{charset}: {c:?}");
                if charset.contains(c) {
                    let text = c.to_string();
                    assert_eq!(hex(collation.to_upper(&text).as_bytes()), row[2], "{charset}: {c:?}");
                    assert_eq!(hex(collation.to_lower(&text).as_bytes()), row[3], "{charset}: {c:?}");
                }
            }
        }
    }
}

#[test]
fn every_code_is_the_character_of_mysql() {
    // Codes of one byte and of two, of three bytes, and numbers of codes of four.
    let two = "UNHEX(IF(n < 256, LPAD(HEX(n), 2, '0'), LPAD(HEX(n), 4, '0')))".to_owned();
    let three = "UNHEX(CONCAT('8F', LPAD(HEX(n), 4, '0')))".to_owned();
    let four = "CONCAT(CHAR(0x81 + n DIV 12600), CHAR(0x30 + n DIV 1260 % 10), CHAR(0x81 + n DIV 10 % 126), CHAR(0x30 + n % 10))".to_owned();
    for charset in SETS {
        let mut asked = vec![(&two, "0 AND 0")];
        match charset {
            CharsetId::UJIS | CharsetId::EUCJPMS => asked.push((&three, "0 AND 0")),
            CharsetId::GB18030 => asked.extend(PLANES.map(|planes| (&four, planes))),
            _ => {}
        }
        for (code, planes) in asked {
            let Some(rows) = ask(&format!(
                "{} SELECT HEX({code}), HEX(CONVERT(CONVERT(CAST({code} AS BINARY) USING {charset}) USING utf32)) FROM numbers
                 WHERE n < 126 * 12600 AND n NOT BETWEEN {}",
                numbers(planes),
                // What begins with ASCII is no code of two bytes.
                if code == &two { "256 AND 32767" } else { "-1 AND -1" }
            )) else {
                return;
            };
            let mut known = 0;
            for row in rows {
                let byte = |at| u8::from_str_radix(&row[0][at..at + 2], 16).unwrap();
                let code: Vec<u8> = (0..row[0].len()).step_by(2).map(byte).collect();
                let found = charset.decode(&code).map(|text| hex(&CharsetId::UTF32.encode(&text)));
                match found {
                    Ok(text) => assert_eq!(text, row[1], "{charset}: {}", row[0]),
                    // What is no code is NULL or has question marks for it.
                    Err(_) => assert!(
                        row[1] == "NULL" || row[1].is_empty() || row[1].contains("0000003F"),
                        "{charset}: {row:?}"
                    ),
                }
                known += usize::from(found_char(&row[1]));
            }
            assert!(known > 128);
        }
    }
}

fn found_char(utf32: &str) -> bool {
    utf32.len() == 8 && utf32 != "0000003F"
}

#[test]
fn every_character_weighs_as_in_mysql() {
    for (collation, _) in collations() {
        let charset = collation.charset();
        let planes: &[&str] = if charset == CharsetId::GB18030 {
            &PLANES
        } else {
            &PLANES[..1]
        };
        for planes in planes {
            let own = format!("CONVERT({CHARACTER} USING {charset})");
            let Some(rows) = ask(&format!(
                "{} SELECT n, HEX(WEIGHT_STRING({own} COLLATE {collation})) FROM numbers WHERE n NOT BETWEEN 0xD800 AND 0xDFFF",
                numbers(planes)
            )) else {
                return;
            };
            for row in rows {
                let c = char::from_u32(row[0].parse().unwrap()).unwrap();
                if charset.contains(c) {
                    assert_eq!(weights(collation, &c.to_string()), row[1], "{collation}: {c:?}");
                }
            }
        }
    }
}

#[test]
fn comparing_matching_and_finding_is_as_in_mysql() {
    for (collation, common) in collations() {
        let charset = collation.charset();
        let common: Vec<char> = common.chars().filter(|&c| charset.contains(c)).collect();
        let last = if charset == CharsetId::GB18030 { 0x2FFFF } else { 0xFFFF };
        let any: Vec<char> = (1..=last)
            .filter_map(char::from_u32)
            .filter(|&c| charset.contains(c) && c != '\u{FFFD}' && !('\u{7F}'..='\u{9F}').contains(&c))
            .collect();
        let texts = texts(320, 6, |i| if i % 4 == 3 { &any } else { &common });
        assert_compares_as_in(ask, collation, &texts, 3);
    }
}
