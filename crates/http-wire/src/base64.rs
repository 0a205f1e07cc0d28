//! Binary data as text (RFC 4648, 4).

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends bytes as text, padded.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(3) {
        let word = piece.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - piece.len()));
        for sextet in 0..4 {
            out.push(match sextet <= piece.len() {
                true => ALPHABET[(word >> (18 - 6 * sextet)) as usize & 63],
                false => b'=',
            });
        }
    }
}

/// The bytes of a padded text, also of one in the alphabet for addresses (`-` and `_`), which may come without padding.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|c| *c != b'=').map_or(0, |last| last + 1);
    let padding = text.len() - end;
    let is_whole = match padding {
        0 => end % 4 != 1,
        _ => padding <= 2 && text.len().is_multiple_of(4),
    };
    if !is_whole {
        return None;
    }
    let mut bytes = Vec::with_capacity(end / 4 * 3 + 2);
    let (mut word, mut bits) = (0_u32, 0);
    for c in &text[..end] {
        let sextet = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        word = word << 6 | u32::from(sextet);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"\xff\xfe\xfd\xfc", "//79/A=="),
        ] {
            let mut encoded = Vec::new();
            encode(bytes, &mut encoded);
            assert_eq!(encoded, text.as_bytes());
            assert_eq!(decode(text.as_bytes()).as_deref(), Some(bytes));
        }
        assert_eq!(decode(b"__79_A").as_deref(), Some(&b"\xff\xfe\xfd\xfc"[..]));
        for wrong in ["Z", "Zg=", "Z===", "====", "Zg==Zg==", "Z g=", "*"] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
