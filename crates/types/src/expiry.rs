//! When rows expire: an interval after the moment that a column tells.
//!
//! What the column tells is taken in UTC where its type knows no time zone. A row whose column is NULL, or a date that is in no
//! calendar (`0000-00-00`), never expires, nor does one whose moment would lie beyond the year 9999.

use serde::{Deserialize, Serialize};

use crate::row::RowLayout;
use crate::sql_type::{SqlType, TypeKind};
use crate::time::calendar::DAY_MICROS;
use crate::time::{DateTime, Interval};
use crate::value::ValueRef;

/// The rule of a table: an interval after the moment in a column. The interval is months or microseconds; the other is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expiry {
    /// Position among the table's columns.
    pub column: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub months: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Expiry {
    /// Whether a column of this type tells a moment.
    pub fn is_of(ty: &SqlType) -> bool {
        matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
    }

    /// From when on the row is expired, in microseconds since 1970; `None`: never. The row is one of the layout.
    #[inline]
    pub fn of_row(&self, layout: &RowLayout, row: &[u8]) -> Option<i64> {
        let moment = match layout.column(row, usize::from(self.column)) {
            ValueRef::Timestamp(moment) if moment.is_zero() => return None,
            ValueRef::Timestamp(moment) if self.months == 0 => {
                return moment.micros.checked_add(i64::try_from(self.micros).ok()?);
            }
            ValueRef::Timestamp(moment) => DateTime::EPOCH.add_micros(moment.micros)?,
            ValueRef::DateTime(moment) => moment,
            ValueRef::Date(date) => DateTime::from(date),
            _ => return None,
        };
        if !moment.date.is_real() {
            return None;
        }
        let interval = Interval {
            months: i64::try_from(self.months).ok()?,
            micros: i64::try_from(self.micros).ok()?,
        };
        let end = match interval {
            // As most keep the moment itself.
            Interval { months: 0, micros: 0 } => moment,
            interval => moment.add_interval(interval)?,
        };
        Some(end.micros_since(DateTime::EPOCH))
    }

    /// The latest value of the column with which a row can have expired by a moment, in microseconds since 1970: later ones have not.
    pub fn latest_expired(&self, now: i64) -> i64 {
        // A month has 28 days at least.
        let months = i64::try_from(self.months)
            .unwrap_or(i64::MAX)
            .saturating_mul(28 * DAY_MICROS);
        let micros = i64::try_from(self.micros).unwrap_or(i64::MAX);
        now.saturating_sub(months).saturating_sub(micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Date;
    use crate::time::UnixTime;
    use crate::value::Value;

    const DAY: u64 = DAY_MICROS as u64;

    fn date_time(year: u16, month: u8, day: u8, hour: u8, micros: u32) -> DateTime {
        DateTime {
            date: Date { year, month, day },
            hour,
            minute: 0,
            second: 0,
            fsp: 6,
            micros,
        }
    }

    fn moment(ty: SqlType, value: Value, months: u64, micros: u64) -> Option<i64> {
        let layout = RowLayout::new(&[ty]);
        let mut row = Vec::new();
        layout.encode(&[value], &mut row);
        let rule = Expiry {
            column: 0,
            months,
            micros,
        };
        let found = rule.of_row(&layout, &row);
        if let Some(found) = found {
            let column = match layout.column(&row, 0) {
                ValueRef::Timestamp(moment) => moment.micros,
                ValueRef::DateTime(moment) => moment.micros_since(DateTime::EPOCH),
                ValueRef::Date(date) => DateTime::from(date).micros_since(DateTime::EPOCH),
                other => panic!("{other:?}"),
            };
            assert!(column <= rule.latest_expired(found), "{column} after {found}");
        }
        found
    }

    #[test]
    fn a_row_expires_an_interval_after_its_moment() {
        let at = |moment: DateTime| Some(moment.micros_since(DateTime::EPOCH));
        let nullable = |kind: SqlType| kind;
        let precise = SqlType::datetime(6);
        let noon = date_time(2024, 1, 31, 12, 7);
        assert_eq!(moment(precise.clone(), Value::DateTime(noon), 0, 0), at(noon));
        assert_eq!(
            moment(precise.clone(), Value::DateTime(noon), 0, 3 * DAY),
            at(date_time(2024, 2, 3, 12, 7))
        );
        // A month later the day is cut to the month's last.
        assert_eq!(
            moment(precise.clone(), Value::DateTime(noon), 1, 0),
            at(date_time(2024, 2, 29, 12, 7))
        );
        let day = Value::Date(noon.date);
        assert_eq!(moment(SqlType::date(), day, 12, 0), at(date_time(2025, 1, 31, 0, 0)));
        let unix = |micros| Value::Timestamp(UnixTime { micros, fsp: 6 });
        assert_eq!(moment(SqlType::timestamp(6), unix(1_000_001), 0, 5), Some(1_000_006));
        assert_eq!(
            moment(SqlType::timestamp(6), unix(30 * DAY_MICROS + 1), 1, 0),
            at(date_time(1970, 2, 28, 0, 1))
        );
        assert_eq!(moment(nullable(precise), Value::Null, 0, 0), None);
    }

    #[test]
    fn what_is_in_no_calendar_never_expires() {
        let precise = SqlType::datetime(6);
        let zero = Value::DateTime(DateTime::default());
        assert_eq!(moment(precise.clone(), zero, 0, 0), None);
        let no_day = Value::DateTime(date_time(2024, 5, 0, 0, 0));
        assert_eq!(moment(precise.clone(), no_day, 0, DAY), None);
        let late = Value::DateTime(date_time(9999, 12, 31, 0, 0));
        assert_eq!(moment(precise.clone(), late.clone(), 0, DAY), None);
        assert_eq!(moment(precise.clone(), late.clone(), 1, 0), None);
        assert_eq!(moment(precise.clone(), late.clone(), u64::MAX, 0), None);
        assert_eq!(moment(precise, late, 0, u64::MAX), None);
        let never = Value::Timestamp(UnixTime { micros: 0, fsp: 0 });
        assert_eq!(moment(SqlType::timestamp(0), never, 0, 1), None);
    }
}
