//! Types with values of them, for property tests.

use crate::collation::CollationId;

use crate::sql_type::{Labels, SqlType, TypeKind};
use crate::time::{Date, MAX_TIME_MICROS, UnixTime};
use crate::value::{EnumValue, SetValue, Value};
use proptest::prelude::*;
use proptest::strategy::Union;

/// Every type that can be an index part, in several sizes.
pub(crate) fn key_types() -> Vec<SqlType> {
    use TypeKind::*;
    let mut types = Vec::new();
    for kind in [TinyInt, SmallInt, MediumInt, Int, BigInt] {
        types.extend([SqlType::integer(kind, false), SqlType::integer(kind, true)]);
    }
    for (precision, scale) in [(1, 0), (5, 5), (10, 2), (18, 4), (19, 0), (30, 10), (65, 30), (65, 0)] {
        types.push(SqlType::decimal(precision, scale));
    }
    types.extend([SqlType::float(), SqlType::double(), SqlType::date(), SqlType::year()]);
    for fsp in [0, 1, 2, 3, 4, 6] {
        types.extend([SqlType::time(fsp), SqlType::datetime(fsp), SqlType::timestamp(fsp)]);
    }
    types.extend([1, 7, 8, 33, 64].map(SqlType::bit));
    types.extend([SqlType::binary(5), SqlType::varbinary(20), SqlType::blob(Blob)]);
    types.extend(
        [
            CollationId::UTF8MB4_BIN,
            CollationId::UTF8MB4_0900_BIN,
            CollationId::LATIN1_SWEDISH_CI,
            CollationId::DEFAULT,
        ]
        .map(|c| SqlType::varchar(20, c)),
    );
    types.push(SqlType::text(Text, CollationId::UTF8MB4_GENERAL_CI));
    types.push(SqlType::enumeration(Labels::new(["b", "a", "c"]), CollationId::DEFAULT));
    types.push(SqlType::enumeration(
        Labels::new((0..300).map(|i| i.to_string())),
        CollationId::DEFAULT,
    ));
    types.push(SqlType::set(Labels::new(["x", "y"]), CollationId::DEFAULT));
    types.push(SqlType::set(
        Labels::new((0..64).map(|i| i.to_string())),
        CollationId::DEFAULT,
    ));
    types
}

/// A type with two values of it, NULL among them when it is nullable.
pub(crate) fn typed_pairs() -> impl Strategy<Value = (SqlType, Value, Value)> {
    typed_values(2).prop_map(|(ty, mut values)| {
        let b = values.pop().unwrap();
        let a = values.pop().unwrap();
        (ty, a, b)
    })
}

fn typed_values(n: usize) -> impl Strategy<Value = (SqlType, Vec<Value>)> {
    (proptest::sample::select(key_types()), any::<bool>()).prop_flat_map(move |(ty, nullable)| {
        let ty = SqlType { nullable, ..ty };
        let values = proptest::collection::vec(values_of(&ty), n);
        (Just(ty), values)
    })
}

/// A whole row: types and values.
pub(crate) fn rows() -> impl Strategy<Value = (Vec<SqlType>, Vec<Value>)> {
    proptest::collection::vec(typed_values(1), 1..20)
        .prop_map(|columns| columns.into_iter().map(|(ty, mut v)| (ty, v.remove(0))).unzip())
}

/// Values that a column of the type can hold.
pub(crate) fn values_of(ty: &SqlType) -> BoxedStrategy<Value> {
    let strategy = not_null_values_of(ty);
    if ty.nullable {
        prop_oneof![1 => Just(Value::Null), 6 => strategy].boxed()
    } else {
        strategy
    }
}

fn not_null_values_of(ty: &SqlType) -> BoxedStrategy<Value> {
    use TypeKind::*;
    let fsp = ty.decimals;
    let micros_unit = 10u32.pow(6 - u32::from(fsp.min(6)));
    match ty.kind {
        TinyInt | SmallInt | MediumInt | Int | BigInt => {
            let unused = 64 - ty.integer_bits();
            if ty.unsigned {
                edgy(any::<u64>(), vec![0, 1, u64::MAX])
                    .prop_map(move |v| Value::UInt(v >> unused))
                    .boxed()
            } else {
                edgy(any::<i64>(), vec![0, -1, i64::MIN, i64::MAX])
                    .prop_map(move |v| Value::Int(v >> unused))
                    .boxed()
            }
        }
        Decimal => {
            let (precision, scale) = (ty.length as usize, ty.decimals);
            ("[0-9]{65}", any::<bool>(), 1..=precision)
                .prop_map(move |(digits, negative, n)| {
                    let sign = if negative { "-" } else { "" };
                    let text = format!("{sign}{}e-{scale}", &digits[..n]);
                    let value = crate::decimal::Decimal::parse(&text).unwrap();
                    Value::Decimal(value.round(scale).unwrap())
                })
                .boxed()
        }
        Float => edgy(proptest::num::f32::NORMAL, vec![0.0, -0.0, f32::MAX, f32::MIN, 1e-45])
            .prop_map(Value::Float)
            .boxed(),
        Double => edgy(proptest::num::f64::NORMAL, vec![0.0, -0.0, f64::MAX, f64::MIN, 5e-324])
            .prop_map(Value::Double)
            .boxed(),
        Bit => {
            let width = ty.length as u8;
            any::<u64>()
                .prop_map(move |v| {
                    Value::Bit(crate::value::Bit {
                        value: v >> (64 - width),
                        width,
                    })
                })
                .boxed()
        }
        Date => dates().prop_map(Value::Date).boxed(),
        DateTime => (dates(), 0u8..24, 0u8..60, 0u8..60, 0u32..1_000_000)
            .prop_map(move |(date, hour, minute, second, micros)| {
                let micros = micros / micros_unit * micros_unit;
                Value::DateTime(crate::time::DateTime {
                    date,
                    hour,
                    minute,
                    second,
                    micros,
                    fsp,
                })
            })
            .boxed(),
        Time => edgy(
            -MAX_TIME_MICROS..=MAX_TIME_MICROS,
            vec![0, MAX_TIME_MICROS, -MAX_TIME_MICROS],
        )
        .prop_map(move |m| {
            Value::Time(crate::time::Time {
                micros: m / i64::from(micros_unit) * i64::from(micros_unit),
                fsp,
            })
        })
        .boxed(),
        Timestamp => edgy(0..2_147_483_647_999_999i64, vec![0, 1_000_000, 2_147_483_647_999_999])
            .prop_map(move |m| {
                Value::Timestamp(UnixTime {
                    micros: m / i64::from(micros_unit) * i64::from(micros_unit),
                    fsp,
                })
            })
            .boxed(),
        Year => prop_oneof![Just(0u16), 1901u16..=2155].prop_map(Value::Year).boxed(),
        Enum => {
            let labels = ty.labels.clone();
            (0..=labels.len() as u16)
                .prop_map(move |index| {
                    Value::Enum(EnumValue {
                        index,
                        labels: labels.clone(),
                    })
                })
                .boxed()
        }
        Set => {
            let labels = ty.labels.clone();
            any::<u64>()
                .prop_map(move |bits| {
                    let bits = bits >> (64 - labels.len());
                    Value::Set(SetValue {
                        bits,
                        labels: labels.clone(),
                    })
                })
                .boxed()
        }
        Binary => {
            let n = ty.length as usize;
            bytes(n)
                .prop_map(move |mut b| {
                    b.resize(n, 0);
                    Value::Bytes(b.into())
                })
                .boxed()
        }
        VarBinary | TinyBlob | Blob | MediumBlob | LongBlob => bytes(20).prop_map(|b| Value::Bytes(b.into())).boxed(),
        _ => {
            let charset = ty.charset();
            let known = move |text: String| text.chars().filter(|c| charset.contains(*c)).collect::<String>();
            texts().prop_map(move |text| Value::from(known(text))).boxed()
        }
    }
}

fn edgy<T: Clone + std::fmt::Debug + 'static>(
    usual: impl Strategy<Value = T> + 'static,
    edges: Vec<T>,
) -> impl Strategy<Value = T> {
    Union::new_weighted(vec![(4, usual.boxed()), (1, proptest::sample::select(edges).boxed())])
}

/// Zero and incomplete dates among them.
pub(crate) fn dates() -> impl Strategy<Value = Date> {
    (0u16..=9999, 0u8..=12, 0u8..=31).prop_map(|(year, month, day)| Date { year, month, day })
}

/// Short, so that pairs share prefixes; zeros and ones, which keys escape.
fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(prop_oneof![3 => 0u8..4, 1 => any::<u8>()], 0..=max)
}

pub(crate) fn texts() -> impl Strategy<Value = String> {
    prop_oneof!["[abAB]{0,3}", "[a-cA-C éÉ\u{0}\u{1}😀]{0,6}", "\\PC{0,8}"]
}
