//! Values of headers.

/// The members of a comma-separated list, without the empty ones.
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// What no value of a header has.
pub(crate) fn is_control(byte: &u8) -> bool {
    matches!(byte, 0..=8 | 10..=31 | 127)
}

/// Which of `offered` the client likes best (RFC 9110, 12.5), by an `Accept` or `Accept-Encoding` header: of those it likes the same, the one that is
/// offered first. `None`: none of them, or there is no header.
pub fn preferred<'o>(accepted: &[u8], offered: &[&'o str]) -> Option<&'o str> {
    let mut best: Option<(&str, u32)> = None;
    for name in offered {
        let weight = weight_of(accepted, name);
        if weight > 0 && best.is_none_or(|(_, known)| weight > known) {
            best = Some((name, weight));
        }
    }
    best.map(|(name, _)| name)
}

/// How much a name is liked, in thousandths: by the range that says most of it.
fn weight_of(accepted: &[u8], name: &str) -> u32 {
    let (mut found, mut precision) = (0, 0);
    for member in list(accepted) {
        let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let range = parts.next().unwrap_or_default();
        let precise = match range {
            range if range.eq_ignore_ascii_case(name.as_bytes()) => 3,
            b"*" | b"*/*" => 1,
            range => match (range.strip_suffix(b"/*"), name.split_once('/')) {
                (Some(kind), Some((own, _))) if kind.eq_ignore_ascii_case(own.as_bytes()) => 2,
                _ => continue,
            },
        };
        let weight = parts.find_map(|part| part.strip_prefix(b"q=").or(part.strip_prefix(b"Q=")));
        if precise > precision {
            (found, precision) = (weight.map_or(1000, thousandths), precise);
        }
    }
    found
}

fn thousandths(text: &[u8]) -> u32 {
    let text = std::str::from_utf8(text).unwrap_or_default();
    let weight: f32 = text.parse().unwrap_or(0.0);
    (weight.clamp(0.0, 1.0) * 1000.0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_liked_is_chosen() {
        let of = |accepted: &str| preferred(accepted.as_bytes(), &["zstd", "gzip"]);
        assert_eq!(of("gzip, deflate, zstd"), Some("zstd"));
        assert_eq!(of("gzip;q=1.0, zstd;q=0.5"), Some("gzip"));
        assert_eq!(of("identity"), None);
        assert_eq!(of("*"), Some("zstd"));
        assert_eq!(of("zstd;q=0, *;q=0.1"), Some("gzip"));
        let of = |accepted: &str| preferred(accepted.as_bytes(), &["application/json", "application/x-ndjson"]);
        assert_eq!(of("application/x-ndjson, */*;q=0.1"), Some("application/x-ndjson"));
        assert_eq!(of("application/*"), Some("application/json"));
        assert_eq!(of("text/html"), None);
    }
}
