//! The time of day, as results and prices write it.

use std::time::{SystemTime, UNIX_EPOCH};

use lab_results::UnixMicros;

pub fn now() -> UnixMicros {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMicros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// `YYYY-MM-DD`, UTC.
pub fn date(at: UnixMicros) -> String {
    let (year, month, day) = civil(at);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `YYYYMMDD-HHMMSS`, UTC: for names of folders.
pub fn stamp(at: UnixMicros) -> String {
    let (year, month, day) = civil(at);
    let second = at.0 / 1_000_000 % 86_400;
    format!(
        "{year:04}{month:02}{day:02}-{:02}{:02}{:02}",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// After Howard Hinnant's `civil_from_days`, for days since 1970.
fn civil(at: UnixMicros) -> (u64, u64, u64) {
    let days = at.0 / 1_000_000 / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101-000000"),
            (951_782_400, "20000229-000000"),
            (1_709_164_799, "20240228-235959"),
            (1_709_251_200, "20240301-000000"),
        ] {
            assert_eq!(stamp(UnixMicros(seconds * 1_000_000)), text);
        }
        assert_eq!(date(UnixMicros(1_709_164_800_000_000)), "2024-02-29");
    }
}
