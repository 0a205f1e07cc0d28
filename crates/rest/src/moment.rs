//! Moments as numbers.

use types::{Date, DateTime};

const EPOCH: DateTime = DateTime {
    date: Date {
        year: 1970,
        month: 1,
        day: 1,
    },
    hour: 0,
    minute: 0,
    second: 0,
    fsp: 0,
    micros: 0,
};

/// Of a date and time in UTC.
pub fn micros_since_1970(at: DateTime) -> i64 {
    at.micros_since(EPOCH)
}
