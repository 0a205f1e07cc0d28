//! Kinds of values, the column types that hold them, and values that are worth trying.

use crate::fulltext::{self, SENTENCES};
use crate::rng::Rng;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Int,
    Decimal,
    Double,
    Text,
    Date,
    Datetime,
    Time,
    Json,
}

/// A type of column: its SQL, the kind of its values, and whether an index may hold it whole.
pub const TYPES: &[(&str, Kind, Index)] = &[
    ("INT", Kind::Int, Index::Whole),
    ("INT", Kind::Int, Index::Whole),
    ("TINYINT", Kind::Int, Index::Whole),
    ("SMALLINT UNSIGNED", Kind::Int, Index::Whole),
    ("MEDIUMINT", Kind::Int, Index::Whole),
    ("BIGINT", Kind::Int, Index::Whole),
    ("BIGINT UNSIGNED", Kind::Int, Index::Whole),
    ("BOOLEAN", Kind::Int, Index::Whole),
    ("YEAR", Kind::Int, Index::Whole),
    ("DECIMAL(10,2)", Kind::Decimal, Index::Whole),
    ("DECIMAL(20,6)", Kind::Decimal, Index::Whole),
    ("DECIMAL(5,0) UNSIGNED", Kind::Decimal, Index::Whole),
    ("INT UNSIGNED", Kind::Int, Index::Whole),
    ("SMALLINT", Kind::Int, Index::Whole),
    ("BIT(8)", Kind::Int, Index::Whole),
    ("DECIMAL(30,10)", Kind::Decimal, Index::Whole),
    ("DOUBLE", Kind::Double, Index::Whole),
    ("FLOAT", Kind::Double, Index::Whole),
    ("VARBINARY(10)", Kind::Text, Index::Whole),
    ("BINARY(4)", Kind::Text, Index::Whole),
    ("BLOB", Kind::Text, Index::Prefix),
    ("TINYTEXT", Kind::Text, Index::Prefix),
    ("VARCHAR(15) CHARACTER SET latin1", Kind::Text, Index::Whole),
    ("VARCHAR(15) COLLATE utf8mb4_0900_as_cs", Kind::Text, Index::Whole),
    ("DATETIME(3)", Kind::Datetime, Index::Whole),
    ("TIMESTAMP(6) NULL", Kind::Datetime, Index::Whole),
    ("TIME(6)", Kind::Time, Index::Whole),
    ("VARCHAR(20)", Kind::Text, Index::Whole),
    ("VARCHAR(20)", Kind::Text, Index::Whole),
    ("VARCHAR(30) COLLATE utf8mb4_bin", Kind::Text, Index::Whole),
    ("VARCHAR(10) COLLATE utf8mb4_general_ci", Kind::Text, Index::Whole),
    ("CHAR(8)", Kind::Text, Index::Whole),
    ("TEXT", Kind::Text, Index::Prefix),
    ("ENUM('a', 'b', 'abc', 'x y')", Kind::Text, Index::Whole),
    ("SET('a', 'b', 'c')", Kind::Text, Index::Whole),
    ("DATE", Kind::Date, Index::Whole),
    ("DATETIME", Kind::Datetime, Index::Whole),
    ("DATETIME(6)", Kind::Datetime, Index::Whole),
    ("TIMESTAMP NULL", Kind::Datetime, Index::Whole),
    ("TIME", Kind::Time, Index::Whole),
    ("TIME(3)", Kind::Time, Index::Whole),
    ("JSON", Kind::Json, Index::Never),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    Whole,
    /// Only with a length.
    Prefix,
    Never,
}

const INTS: &[&str] = &["0", "1", "2", "3", "5", "7", "10", "42", "100", "-1", "-3", "127"];
const DECIMALS: &[&str] = &["0.00", "0.5", "1.50", "-2.25", "3.14", "10.0", "99.99", "-0.01", "7"];
const DOUBLES: &[&str] = &["0e0", "1.5e0", "-2.5e0", "1e3", "2.5e-1", "3e0"];
const TEXTS: &[&str] = &[
    "''",
    "'a'",
    "'A'",
    "'b'",
    "'abc'",
    "'ABC'",
    "'x y'",
    "'12'",
    "'3.5'",
    "'Zoë'",
    "'zoe'",
    "'ab%'",
    "'a_b'",
    "'2021-03-04'",
    "'日本'",
    "'2021-02-30'",
    "'2021-3-4 5:6'",
    "'20200229'",
    "'99-12-31 23:59:59.9999999'",
    "'-838:59:59.5'",
    "'1 10:11'",
];
const DATES: &[&str] = &[
    "DATE'2021-03-04'",
    "DATE'2020-02-29'",
    "DATE'1999-12-31'",
    "DATE'2000-01-01'",
    "DATE'2021-03-05'",
    "DATE'9999-12-31'",
    "DATE'0001-01-01'",
    "DATE'1970-01-01'",
];
const DATETIMES: &[&str] = &[
    "TIMESTAMP'2021-03-04 05:06:07'",
    "TIMESTAMP'2020-02-29 23:59:59.5'",
    "TIMESTAMP'1999-12-31 00:00:00'",
    "TIMESTAMP'2021-03-04 00:00:00'",
    "TIMESTAMP'9999-12-31 23:59:59.999999'",
    "TIMESTAMP'1970-01-01 00:00:01'",
    "TIMESTAMP'2038-01-19 03:14:07.9'",
];
const TIMES: &[&str] = &[
    "TIME'00:00:00'",
    "TIME'10:11:12'",
    "TIME'-01:30:00'",
    "TIME'100:00:00'",
    "TIME'10:11:12.345'",
    "TIME'838:59:59'",
    "TIME'-838:59:59'",
    "TIME'-00:00:00.000001'",
];
const DOCUMENTS: &[&str] = &[
    r#"'[1, 2, "a"]'"#,
    r#"'{"a": 1, "b": [1, {"c": "abc"}]}'"#,
    r#"'"text"'"#,
    "'3.5'",
    "'null'",
    "'{}'",
    "'[]'",
    r#"'{"a": {"b": true}}'"#,
];

/// A literal of the kind, sometimes NULL.
pub fn literal(rng: &mut Rng, kind: Kind) -> String {
    if rng.chance(8) {
        return "NULL".to_owned();
    }
    value(rng, kind)
}

/// A literal that is not NULL.
pub fn value(rng: &mut Rng, kind: Kind) -> String {
    let pool = match kind {
        Kind::Int => INTS,
        Kind::Decimal => DECIMALS,
        Kind::Double => DOUBLES,
        Kind::Text => TEXTS,
        Kind::Date => DATES,
        Kind::Datetime => DATETIMES,
        Kind::Time => TIMES,
        Kind::Json => return format!("CAST({} AS JSON)", rng.pick(DOCUMENTS)),
    };
    (*rng.pick(pool)).to_owned()
}

/// What is put into a column of this type; now and then it does not fit.
pub fn stored(rng: &mut Rng, sql_type: &str, kind: Kind) -> String {
    if rng.chance(2) {
        return literal(rng, Kind::Text);
    }
    if rng.chance(10) {
        return "NULL".to_owned();
    }
    if sql_type == SENTENCES {
        return fulltext::sentence(rng);
    }
    if sql_type.starts_with("ENUM") {
        return (*rng.pick(&["'a'", "'b'", "'abc'", "'x y'"])).to_owned();
    }
    if sql_type.starts_with("SET") {
        return (*rng.pick(&["''", "'a'", "'b,c'", "'a,b,c'"])).to_owned();
    }
    if matches!(kind, Kind::Date | Kind::Datetime) && rng.chance(6) {
        return (*rng.pick(&[
            "'0000-00-00'",
            "'2021-00-10'",
            "'2021-02-00'",
            "'0000-01-01 10:11:12'",
            "20210304",
            "'70-1-1'",
        ]))
        .to_owned();
    }
    if kind == Kind::Time && rng.chance(6) {
        return (*rng.pick(&[
            "'838:59:59.9'",
            "'900:00:00'",
            "101112.7",
            "'2021-03-04 10:11:12'",
            "'1 2'",
            "'10.5'",
        ]))
        .to_owned();
    }
    if sql_type == "YEAR" {
        return rng.between(1999, 2024).to_string();
    }
    if sql_type.ends_with("UNSIGNED") && kind == Kind::Int {
        return rng.between(0, 200).to_string();
    }
    if kind == Kind::Int && rng.chance(50) {
        return rng.between(-20, 100).to_string();
    }
    if sql_type.ends_with("UNSIGNED") {
        return rng.between(0, 500).to_string();
    }
    value(rng, kind)
}
