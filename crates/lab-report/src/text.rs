//! How numbers, times and foreign text are written.

use lab_results::UnixMicros;

/// About three to four digits, thousands apart: 12,346 · 123.5 · 12.35 · 0.123.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let size = value.abs();
    let decimals = if size >= 1_000.0 || (size.fract() == 0.0 && size < 1e15) {
        0
    } else if size >= 100.0 {
        1
    } else if size >= 1.0 {
        2
    } else {
        // Three digits that count, however small.
        (2 - size.log10().floor() as i32).clamp(3, 9) as usize
    };
    let plain = format!("{value:.decimals$}");
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain.as_str()), |rest| ("−", rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut text = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if !fraction.is_empty() {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// With a sign, for changes in percent: +12.3, −4.0.
pub fn signed(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    let decimals = if value.abs() >= 100.0 { 0 } else { 1 };
    let text = format!("{:.decimals$}", value.abs());
    if value < 0.0 {
        format!("−{text}")
    } else {
        format!("+{text}")
    }
}

/// `2026-11-21 18:04:05 UTC`.
pub fn utc(at: UnixMicros) -> String {
    let seconds = at.0 / 1_000_000;
    let of_day = seconds % 86_400;
    format!(
        "{} {:02}:{:02}:{:02} UTC",
        date(at),
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60
    )
}

/// `2026-11-21`, after Howard Hinnant's `civil_from_days`.
pub fn date(at: UnixMicros) -> String {
    let shifted = (at.0 / 86_400_000_000) as i64 + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `1 h 02 min`, `12 min 05 s`, `45 s`.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// For text and attributes of HTML and SVG.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Controls have no place in HTML, and a terminal's escape sequences none in a report.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        for (value, text) in [
            (0.0, "0"),
            (12_345.6, "12,346"),
            (1_234_567.0, "1,234,567"),
            (123.456, "123.5"),
            (12.345, "12.35"),
            (1.0, "1"),
            (0.123_456, "0.123"),
            (0.001_234, "0.00123"),
            (-45.6, "−45.60"),
            (999.96, "1,000.0"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(utc(UnixMicros(0)), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(UnixMicros(1_709_210_096_000_000)), "2024-02-29 12:34:56 UTC");
        assert_eq!(duration(59), "59 s");
        assert_eq!(duration(3_725), "1 h 02 min");
    }

    #[test]
    fn foreign_text_cannot_become_markup() {
        assert_eq!(
            escaped("<script>&\"'\u{1b}[31m"),
            "&lt;script&gt;&amp;&quot;&#39;\u{fffd}[31m"
        );
    }
}
