//! Moments, as people write them: `2026-11-24 14:05:00.250`, in UTC.

const DAY_MS: u64 = 86_400_000;

/// Milliseconds since 1970. `None`: it is no such moment, or none since then.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches('Z');
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, between: char| -> Option<Vec<u64>> {
        text.split(between)
            .map(|part| {
                part.bytes()
                    .all(|byte| byte.is_ascii_digit())
                    .then(|| part.parse().ok())?
            })
            .collect()
    };
    let [year, month, day] = numbers(date, '-')?.try_into().ok()?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let parts = numbers(time, ':')?;
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_sound =
        (1970..=2400).contains(&year) && (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !is_fraction || !is_sound || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // A part of a millisecond counts as none.
    let ms = format!("{fraction:0<3}")[..3].parse::<u64>().ok()?;
    let days: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum::<u64>()
        + (1..month).map(|month| days_of(year, month)).sum::<u64>()
        + day
        - 1;
    Some(days * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000 + ms)
}

pub fn show(ms: u64) -> String {
    let (mut days, within) = (ms / DAY_MS, ms % DAY_MS);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut month = 1;
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    format!(
        "{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}.{:03}",
        days + 1,
        within / 3_600_000,
        within / 60_000 % 60,
        within / 1000 % 60,
        within % 1000
    )
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_shown() {
        for (text, ms) in [
            ("1970-01-01 00:00:00", 0),
            ("2026-11-24 14:05:00.250", 1_795_529_100_250),
            ("2026-11-24T14:05:00.2509Z", 1_795_529_100_250),
            ("2024-02-29", 1_709_164_800_000),
            ("2000-03-01 00:00", 951_868_800_000),
        ] {
            assert_eq!(parse(text), Some(ms), "{text}");
        }
        assert_eq!(show(1_795_529_100_250), "2026-11-24 14:05:00.250");
        for ms in (0..40_000).map(|step| step * 123_456_789) {
            assert_eq!(parse(&show(ms)), Some(ms));
        }
        for text in [
            "",
            "now",
            "2026-13-01",
            "2026-02-29",
            "2026-11-24 24:00:00",
            "2026-11-24 1:2:3.",
            "-1-1-1",
            "2026-11-24 +1:00:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
