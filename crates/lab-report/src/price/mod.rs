//! What a cluster costs, by a dated price file, and what others published about theirs.
//!
//! Money is whole millionths of a dollar. A price has a source and a date or is not there: a machine whose price is
//! not known is listed without one, and a cluster with such a machine has no price.

mod file;
pub mod import;
mod published;

pub use file::{DiskPrice, MachinePrice, Part, PriceError, Prices, TransferPrice};
pub use published::{Published, PublishedFigure};

/// A price older than this, in days, on the day the series ran is marked as stale.
pub const STALE_DAYS: i64 = 90;

/// Days between two dates `YYYY-MM-DD` (positive if `later` is later); `None` if one of them is not a date.
pub fn days_between(earlier: &str, later: &str) -> Option<i64> {
    Some(day_number(later)? - day_number(earlier)?)
}

/// Days since 1970-01-01, after Howard Hinnant's `days_from_civil`.
fn day_number(date: &str) -> Option<i64> {
    let mut parts = date.splitn(3, '-');
    let (year, month, day): (i64, i64, i64) = (
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
    );
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(1900..=9999).contains(&year) {
        return None;
    }
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!(days_between("1970-01-01", "1970-01-02"), Some(1));
        assert_eq!(days_between("2024-02-28", "2024-03-01"), Some(2));
        assert_eq!(days_between("2023-02-28", "2023-03-01"), Some(1));
        assert_eq!(days_between("2026-01-01", "2025-01-01"), Some(-365));
        assert_eq!(days_between("soon", "2025-01-01"), None);
        assert_eq!(days_between("2025-13-01", "2025-01-01"), None);
    }
}
