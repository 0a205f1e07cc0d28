//! Moments, as people write them: `2026-11-24 14:05:00.250`, in UTC.

use types::{Date, DateTime};

const MS_DIGITS: u8 = 3;
/// Milliseconds since 1970. `None`: it is no such moment, or none since then.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches('Z');
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00:00"));
    let numbers = |text: &str, between: char| -> Option<Vec<u16>> {
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
    if !is_fraction || !(1970..=2400).contains(&year) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    // A part of a millisecond counts as none.
    let ms = format!("{fraction:0<3}")[..3].parse::<u32>().ok()?;
    let small = |number: u16| u8::try_from(number).ok();
    let date = Date {
        year,
        month: small(month)?,
        day: small(day)?,
    };
    let moment = DateTime {
        date,
        hour: small(hour)?,
        minute: small(minute)?,
        second: small(second)?,
        fsp: MS_DIGITS,
        micros: ms * 1000,
    };
    let micros = date.is_real().then(|| moment.micros_since(DateTime::EPOCH))?;
    u64::try_from(micros / 1000).ok()
}

pub fn show(ms: u64) -> String {
    let micros = i64::try_from(ms).ok().and_then(|ms| ms.checked_mul(1000));
    match micros.and_then(|micros| DateTime::EPOCH.add_micros(micros)) {
        Some(moment) => DateTime {
            fsp: MS_DIGITS,
            ..moment
        }
        .to_string(),
        None => format!("{ms} ms after 1970"),
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
            "2026-00-10",
            "2026-11-00",
            "2026-11-256",
            "2026-11-24 23:59:60",
            "1969-12-31",
            "2026-11-24 24:00:00",
            "2026-11-24 1:2:3.",
            "-1-1-1",
            "2026-11-24 +1:00:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
