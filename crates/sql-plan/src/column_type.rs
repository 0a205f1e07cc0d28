//! A written type into an [`SqlType`], with MySQL's limits and defaults.
//! Source: MySQL 8.0 Reference Manual, chapter "Data Types", and "Limits on Table Column Count and Row Size".

use std::collections::HashSet;

use parser::ast::{DataType, TypeName};
use types::charset::CharsetId;
use types::collation::CollationId;
use types::{ErrorKind, Labels, SqlError, SqlResult, SqlType, TypeKind};

use crate::names::{charset_by_name, collation_by_name};

/// Characters of a VARCHAR: 65,535 bytes of a row, less the length and the null bit.
const MAX_ROW_BYTES: u64 = 65_535;

/// The type of a column. `table_collation` is what its text has unless it says otherwise.
pub fn column_type(
    name: &str,
    written: &DataType,
    collate: Option<&str>,
    table_collation: CollationId,
) -> SqlResult<SqlType> {
    let mut ty = match written.name {
        TypeName::TinyInt => integer(name, written, TypeKind::TinyInt)?,
        TypeName::SmallInt => integer(name, written, TypeKind::SmallInt)?,
        TypeName::MediumInt => integer(name, written, TypeKind::MediumInt)?,
        TypeName::Int => integer(name, written, TypeKind::Int)?,
        TypeName::BigInt => integer(name, written, TypeKind::BigInt)?,
        TypeName::Decimal => decimal(name, written)?,
        TypeName::Float => float(name, written)?,
        TypeName::Double => double(name, written)?,
        TypeName::Bit => match written.length {
            None | Some(0) => SqlType::bit(1),
            Some(bits) if bits <= 64 => SqlType::bit(bits as u8),
            Some(_) => return Err(SqlError::new(ErrorKind::TooBigDisplayWidth, &[&name, &64])),
        },
        TypeName::Date => SqlType::date(),
        TypeName::Time => SqlType::time(fraction(name, written)?),
        TypeName::DateTime => SqlType::datetime(fraction(name, written)?),
        TypeName::Timestamp => SqlType::timestamp(fraction(name, written)?),
        TypeName::Year => SqlType::year(),
        TypeName::Json => SqlType::json(),
        TypeName::Binary => SqlType::binary(fixed_length(name, written)?),
        TypeName::VarBinary => SqlType::varbinary(variable_length(name, written, 1)?),
        TypeName::TinyBlob => SqlType::blob(TypeKind::TinyBlob),
        TypeName::Blob => SqlType::blob(smallest_lob(written, 1, BLOBS)),
        TypeName::MediumBlob => SqlType::blob(TypeKind::MediumBlob),
        TypeName::LongBlob => SqlType::blob(TypeKind::LongBlob),
        TypeName::Char
        | TypeName::VarChar
        | TypeName::TinyText
        | TypeName::Text
        | TypeName::MediumText
        | TypeName::LongText
        | TypeName::Enum
        | TypeName::Set => return text(name, written, collate, table_collation),
        spatial => return Err(SqlError::not_supported(format!("{spatial:?} columns").to_uppercase())),
    };
    if let Some(collate) = collate {
        let collation = collation_by_name(collate)?;
        if ty.kind.is_binary() && collation != CollationId::BINARY {
            return Err(SqlError::new(
                ErrorKind::CollationCharsetMismatch,
                &[&collate, &CharsetId::BINARY.name()],
            ));
        }
    }
    ty.unsigned |= written.unsigned || written.zerofill;
    ty.zerofill |= written.zerofill;
    Ok(ty)
}

const BLOBS: [TypeKind; 4] = [
    TypeKind::TinyBlob,
    TypeKind::Blob,
    TypeKind::MediumBlob,
    TypeKind::LongBlob,
];
const TEXTS: [TypeKind; 4] = [
    TypeKind::TinyText,
    TypeKind::Text,
    TypeKind::MediumText,
    TypeKind::LongText,
];

fn integer(name: &str, written: &DataType, kind: TypeKind) -> SqlResult<SqlType> {
    let mut ty = SqlType::integer(kind, written.unsigned || written.zerofill);
    match written.length {
        Some(width) if width > 255 => return Err(SqlError::new(ErrorKind::TooBigDisplayWidth, &[&name, &255])),
        // MySQL 8.0.19 and later keep a display width only where it means something.
        Some(width) if written.zerofill || (kind == TypeKind::TinyInt && width == 1 && !written.unsigned) => {
            ty.length = width as u32;
        }
        _ => {}
    }
    Ok(ty)
}

fn decimal(name: &str, written: &DataType) -> SqlResult<SqlType> {
    let scale = written.decimals.unwrap_or(0);
    let precision = written.length.filter(|&digits| digits > 0).unwrap_or(10);
    if scale > 30 {
        return Err(SqlError::new(ErrorKind::TooBigScale, &[&scale, &name, &30]));
    }
    if precision > 65 {
        return Err(SqlError::new(ErrorKind::TooBigPrecision, &[&precision, &name, &65]));
    }
    if u64::from(scale) > precision {
        return Err(SqlError::new(ErrorKind::MBiggerThanD, &[&name]));
    }
    Ok(SqlType::decimal(precision as u8, scale as u8))
}

fn float(name: &str, written: &DataType) -> SqlResult<SqlType> {
    match (written.length, written.decimals) {
        (Some(_), Some(_)) => fixed_point(name, written, SqlType::float()),
        (Some(precision), None) if precision > 53 => Err(SqlError::new(ErrorKind::WrongFieldSpec, &[&name])),
        (Some(precision), None) if precision > 24 => Ok(SqlType::double()),
        _ => Ok(SqlType::float()),
    }
}

fn double(name: &str, written: &DataType) -> SqlResult<SqlType> {
    match (written.length, written.decimals) {
        (Some(_), Some(_)) => fixed_point(name, written, SqlType::double()),
        _ => Ok(SqlType::double()),
    }
}

/// `FLOAT(M,D)` and `DOUBLE(M,D)`.
fn fixed_point(name: &str, written: &DataType, base: SqlType) -> SqlResult<SqlType> {
    let length = written.length.unwrap_or_default();
    let decimals = written.decimals.unwrap_or_default();
    if decimals > 30 {
        return Err(SqlError::new(ErrorKind::TooBigScale, &[&decimals, &name, &30]));
    }
    if length > 255 {
        return Err(SqlError::new(ErrorKind::TooBigDisplayWidth, &[&name, &255]));
    }
    if u64::from(decimals) > length {
        return Err(SqlError::new(ErrorKind::MBiggerThanD, &[&name]));
    }
    Ok(SqlType {
        length: length as u32,
        decimals: decimals as u8,
        ..base
    })
}

/// The fraction's digits of a temporal type.
fn fraction(name: &str, written: &DataType) -> SqlResult<u8> {
    match written.length.unwrap_or(0) {
        digits @ 0..=6 => Ok(digits as u8),
        digits => Err(SqlError::new(ErrorKind::TooBigPrecision, &[&digits, &name, &6])),
    }
}

/// The length of CHAR and BINARY.
fn fixed_length(name: &str, written: &DataType) -> SqlResult<u32> {
    match written.length.unwrap_or(1) {
        length @ 0..=255 => Ok(length as u32),
        _ => Err(SqlError::new(ErrorKind::TooBigFieldLength, &[&name, &255])),
    }
}

/// The length of VARCHAR and VARBINARY.
fn variable_length(name: &str, written: &DataType, bytes_per_char: u64) -> SqlResult<u32> {
    let length = written.length.unwrap_or(1);
    let most = MAX_ROW_BYTES / bytes_per_char;
    if length > most {
        return Err(SqlError::new(ErrorKind::TooBigFieldLength, &[&name, &most]));
    }
    Ok(length as u32)
}

/// `TEXT(n)` and `BLOB(n)`: the smallest of the family that holds n characters.
fn smallest_lob(written: &DataType, bytes_per_char: u64, family: [TypeKind; 4]) -> TypeKind {
    match written.length.map(|chars| chars.saturating_mul(bytes_per_char)) {
        Some(1..=0xff) => family[0],
        None | Some(0..=0xffff) => family[1],
        Some(0x1_0000..=0xff_ffff) => family[2],
        Some(_) => family[3],
    }
}

fn text(name: &str, written: &DataType, collate: Option<&str>, table_collation: CollationId) -> SqlResult<SqlType> {
    let collation = text_collation(written, collate, table_collation)?;
    let bytes_per_char = u64::from(collation.charset().max_bytes_per_char());
    if collation == CollationId::BINARY {
        return Ok(match written.name {
            TypeName::Char => SqlType::binary(fixed_length(name, written)?),
            TypeName::VarChar => SqlType::varbinary(variable_length(name, written, 1)?),
            TypeName::TinyText => SqlType::blob(TypeKind::TinyBlob),
            TypeName::Text => SqlType::blob(smallest_lob(written, 1, BLOBS)),
            TypeName::MediumText => SqlType::blob(TypeKind::MediumBlob),
            TypeName::LongText => SqlType::blob(TypeKind::LongBlob),
            TypeName::Enum => SqlType::enumeration(labels(name, written, collation)?, collation),
            _ => SqlType::set(labels(name, written, collation)?, collation),
        });
    }
    Ok(match written.name {
        TypeName::Char => SqlType::char(fixed_length(name, written)?, collation),
        TypeName::VarChar => SqlType::varchar(variable_length(name, written, bytes_per_char)?, collation),
        TypeName::TinyText => SqlType::text(TypeKind::TinyText, collation),
        TypeName::Text => SqlType::text(smallest_lob(written, bytes_per_char, TEXTS), collation),
        TypeName::MediumText => SqlType::text(TypeKind::MediumText, collation),
        TypeName::LongText => SqlType::text(TypeKind::LongText, collation),
        TypeName::Enum => SqlType::enumeration(labels(name, written, collation)?, collation),
        _ => SqlType::set(labels(name, written, collation)?, collation),
    })
}

/// The collation of a text column from CHARACTER SET, COLLATE and BINARY, or the table's.
fn text_collation(written: &DataType, collate: Option<&str>, table_collation: CollationId) -> SqlResult<CollationId> {
    let charset = written.charset.as_deref().map(charset_by_name).transpose()?;
    if let Some(collate) = collate {
        let collation = collation_by_name(collate)?;
        if let Some(charset) = charset.filter(|&charset| charset != collation.charset()) {
            return Err(SqlError::new(
                ErrorKind::CollationCharsetMismatch,
                &[&collate, &charset.name()],
            ));
        }
        return Ok(collation);
    }
    let charset = match charset {
        None if !written.binary => return Ok(table_collation),
        charset => charset.unwrap_or(table_collation.charset()),
    };
    Ok(if written.binary {
        binary_collation(charset)
    } else {
        charset.default_collation()
    })
}

/// The `_bin` collation of a character set.
fn binary_collation(charset: CharsetId) -> CollationId {
    collation_by_name(&format!("{}_bin", charset.name())).unwrap_or(CollationId::BINARY)
}

/// Characters of a member of an ENUM or SET.
const MAX_LABEL_CHARS: usize = 255;

/// The members of an ENUM or SET: trailing spaces removed, no doubles, no commas in a SET.
fn labels(name: &str, written: &DataType, collation: CollationId) -> SqlResult<Labels> {
    let is_set = written.name == TypeName::Set;
    let kind = if is_set { "SET" } else { "ENUM" };
    let most = if is_set { 64 } else { 65_535 };
    if written.values.len() > most {
        let error = if is_set {
            ErrorKind::TooBigSet
        } else {
            ErrorKind::WrongFieldSpec
        };
        return Err(SqlError::new(error, &[&name]));
    }
    let mut labels: Vec<String> = Vec::with_capacity(written.values.len());
    let mut keys: HashSet<Vec<u8>> = HashSet::with_capacity(written.values.len());
    for value in &written.values {
        governor::tick()?;
        let label = String::from_utf8_lossy(value).trim_end_matches(' ').to_owned();
        if label.chars().nth(MAX_LABEL_CHARS).is_some() {
            return Err(SqlError::new(ErrorKind::TooLongValueForType, &[&name]));
        }
        if is_set && label.contains(',') {
            return Err(SqlError::new(ErrorKind::IllegalValueForType, &[&"set", &label]));
        }
        let mut key = Vec::with_capacity(label.len());
        collation.sort_key(label.as_bytes(), &mut key);
        if !keys.insert(key) {
            return Err(SqlError::new(ErrorKind::DuplicatedValueInType, &[&name, &label, &kind]));
        }
        labels.push(label);
    }
    Ok(Labels::new(labels))
}
