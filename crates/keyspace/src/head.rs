//! A key's row.

use types::time::DateTime;
use types::value::EnumRef;
use types::{RowLayout, ValueRef};

/// The types of keys, numbered as the labels of the column `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    String = 1,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
}

impl Kind {
    pub const ALL: [Kind; 6] = [
        Kind::String,
        Kind::List,
        Kind::Set,
        Kind::SortedSet,
        Kind::Hash,
        Kind::Stream,
    ];

    /// As TYPE says it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::List => "list",
            Kind::Set => "set",
            Kind::SortedSet => "zset",
            Kind::Hash => "hash",
            Kind::Stream => "stream",
        }
    }

    fn of_index(index: u16) -> Option<Kind> {
        Kind::ALL.get(usize::from(index).checked_sub(1)?).copied()
    }
}

const KEY: usize = 0;
const TYPE: usize = 1;
const VALUE: usize = 2;
const META: usize = 3;
const EXPIRES: usize = 4;

/// A key's row, as it lies in the store.
#[derive(Debug, Clone, Copy)]
pub struct HeadRef<'r> {
    pub kind: Kind,
    /// Of a string.
    pub value: &'r [u8],
    /// False: of a long string the value is in pieces, and others have none.
    pub has_value: bool,
    /// Of everything else, and of a long string.
    pub meta: &'r [u8],
    /// Milliseconds since 1970.
    pub expires_at: Option<i64>,
}

impl<'r> HeadRef<'r> {
    /// Of a string whose value is in the row.
    pub fn string(value: &'r [u8], expires_at: Option<i64>) -> HeadRef<'r> {
        HeadRef {
            value,
            has_value: true,
            expires_at,
            ..HeadRef::without_value(Kind::String)
        }
    }

    pub fn without_value(kind: Kind) -> HeadRef<'r> {
        HeadRef {
            kind,
            value: &[],
            has_value: false,
            meta: &[],
            expires_at: None,
        }
    }

    /// A string in pieces. One that SQL has written without a value is an empty one.
    pub fn is_long(&self) -> bool {
        self.kind == Kind::String && !self.has_value && !self.meta.is_empty()
    }

    /// `None`: a row that was written by SQL and is no key.
    #[inline]
    pub fn read(layout: &'r RowLayout, row: &'r [u8]) -> Option<HeadRef<'r>> {
        let ValueRef::Enum(kind) = layout.column(row, TYPE) else {
            return None;
        };
        Some(HeadRef {
            kind: Kind::of_index(kind.index)?,
            value: layout.raw(row, VALUE).unwrap_or_default(),
            has_value: !layout.is_null(row, VALUE),
            meta: layout.raw(row, META).unwrap_or_default(),
            expires_at: match layout.is_null(row, EXPIRES) {
                true => None,
                false => moment(layout.column(row, EXPIRES)),
            },
        })
    }

    pub fn to_head(self) -> Head {
        Head {
            kind: self.kind,
            value: self.value.to_vec(),
            has_value: self.has_value,
            meta: self.meta.to_vec(),
            expires_at: self.expires_at,
        }
    }

    /// Appends the row of a key.
    pub fn write(&self, layout: &RowLayout, key: &[u8], out: &mut Vec<u8>) {
        let labels = &layout.columns()[TYPE].labels;
        let expires = self.expires_at.map(date_time);
        layout.encode_with(
            |column| match column {
                KEY => ValueRef::Bytes(key),
                TYPE => ValueRef::Enum(EnumRef {
                    index: self.kind as u16,
                    labels,
                }),
                VALUE if self.kind == Kind::String && !self.is_long() => ValueRef::Bytes(self.value),
                META if self.kind != Kind::String || !self.meta.is_empty() => ValueRef::Bytes(self.meta),
                EXPIRES => expires.map_or(ValueRef::Null, ValueRef::DateTime),
                _ => ValueRef::Null,
            },
            out,
        );
    }
}

/// A key's row, of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    pub value: Vec<u8>,
    pub has_value: bool,
    pub meta: Vec<u8>,
    pub expires_at: Option<i64>,
}

impl Head {
    pub fn as_ref(&self) -> HeadRef<'_> {
        HeadRef {
            kind: self.kind,
            value: &self.value,
            has_value: self.has_value,
            meta: &self.meta,
            expires_at: self.expires_at,
        }
    }
}

/// The key in a row.
pub fn key_in<'r>(layout: &'r RowLayout, row: &'r [u8]) -> &'r [u8] {
    layout.raw(row, KEY).unwrap_or_default()
}

/// 9999-12-31 23:59:59.999: what is later than that is never.
pub const LATEST_MS: i64 = 253_402_300_799_999;

/// A DATETIME in UTC as milliseconds since 1970.
pub fn moment(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::DateTime(at) => Some(at.micros_since(DateTime::EPOCH).div_euclid(1000)),
        _ => None,
    }
}

/// The inverse; what is beyond the years that a DATETIME has is the end of them.
pub fn date_time(ms: i64) -> DateTime {
    let ms = ms.clamp(0, LATEST_MS);
    let moment = DateTime::EPOCH.add_micros(ms * 1000);
    DateTime {
        fsp: 3,
        ..moment.expect("a moment of the years that dates have")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_kept_to_the_millisecond() {
        for ms in [0, 1, 999, 86_399_999, 86_400_000, 1_700_000_000_123, LATEST_MS] {
            assert_eq!(moment(ValueRef::DateTime(date_time(ms))), Some(ms));
        }
        assert_eq!(moment(ValueRef::DateTime(date_time(i64::MAX))), Some(LATEST_MS));
    }
}
