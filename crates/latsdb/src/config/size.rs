//! Sizes in bytes as people write them: `4GiB`, `512MiB`, `1048576`.

const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// Whole numbers of bytes, or of KiB, MiB, GiB or TiB (the `iB` may be left off). `None` for anything else.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim();
    if unit.is_empty() || unit == "B" {
        return Some(number);
    }
    let (_, shift) = UNITS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(unit) || name[..1].eq_ignore_ascii_case(unit))?;
    number.checked_mul(1 << shift)
}

/// The largest unit in which the number is at least one, with one digit after the point.
pub fn format_bytes(bytes: u64) -> String {
    match UNITS.iter().find(|(_, shift)| bytes >> shift > 0) {
        Some((name, shift)) => {
            let tenths = (u128::from(bytes) * 10) >> shift;
            match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            }
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_bytes("4GiB"), Some(4 << 30));
        assert_eq!(parse_bytes("512 mib"), Some(512 << 20));
        assert_eq!(parse_bytes("2G"), Some(2 << 30));
        assert_eq!(parse_bytes("1048576"), Some(1 << 20));
        for bad in ["", "GiB", "-1", "1.5GiB", "4GB", "99999999999TiB"] {
            assert_eq!(parse_bytes(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_are_written() {
        assert_eq!(format_bytes(0), "0 B");
        assert_eq!(format_bytes(4 << 30), "4 GiB");
        assert_eq!(format_bytes(1536), "1.5 KiB");
        assert_eq!(format_bytes(u64::MAX), "16777215.9 TiB");
    }
}
