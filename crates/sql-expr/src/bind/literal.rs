//! Literals: their values and MySQL's types for them.

use std::borrow::Cow;

use parser::ast::{IntroducedForm, IntroducedString, Literal};
use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::{CharsetId, CollationId, SqlResult, SqlType, Value, cast};

use super::target::charset_by_name;
use super::{Binder, type_of_value};
use crate::collation::Coercibility;
use crate::convert;
use crate::{Expr, ExprKind};

/// The value of a literal that means the same to every session: numbers, NULL, ASCII text. None: bind it.
pub fn plain_literal(literal: &Literal) -> Option<Value> {
    Some(match literal {
        Literal::Null => Value::Null,
        Literal::Bool(truth) => Value::from(*truth),
        Literal::Int(number) => i64::try_from(*number).map_or(Value::UInt(*number), Value::Int),
        Literal::Decimal(text) => Value::Decimal(Decimal::parse(text)?),
        Literal::String(bytes) if bytes.is_ascii() => Value::str(std::str::from_utf8(bytes).ok()?),
        _ => return None,
    })
}

impl Binder<'_> {
    pub(super) fn literal(&self, literal: &Literal) -> SqlResult<Expr> {
        Ok(match literal {
            Literal::Null => Expr::null(),
            Literal::Bool(truth) => Expr::literal(Value::from(*truth), SqlType::boolean().not_null()),
            Literal::Int(number) => integer(*number),
            Literal::Decimal(text) => self.decimal(text)?,
            Literal::Float(text) => float(text)?,
            Literal::String(bytes) => self.string(bytes),
            Literal::Introduced(introduced) => self.introduced(introduced)?,
            Literal::Hex(bytes) | Literal::Bit(bytes) => hex(bytes),
            Literal::Date(text) => {
                let date = convert::date_literal(text, &self.ctx)?;
                Expr::literal(Value::Date(date), SqlType::date().not_null())
            }
            Literal::Time(text) => {
                let time = convert::time_literal(text, &self.ctx)?;
                Expr::literal(Value::Time(time), SqlType::time(time.fsp).not_null())
            }
            Literal::Timestamp(text) => {
                let datetime = convert::timestamp_literal(text, &self.ctx)?;
                Expr::literal(Value::DateTime(datetime), SqlType::datetime(datetime.fsp).not_null())
            }
        })
    }

    /// An exact number, or a DOUBLE where it has more digits than a DECIMAL.
    fn decimal(&self, text: &str) -> SqlResult<Expr> {
        let parsed = Decimal::parse_prefix(text.as_bytes());
        match parsed.overflow {
            true => float(text),
            false => Ok(decimal_literal(parsed.value)),
        }
    }

    /// Text in the connection's character set, which may lack characters of the client's; bytes that are no text stay bytes, as they may
    /// be on their way into a BLOB.
    fn string(&self, bytes: &[u8]) -> Expr {
        let connection = self.connection();
        match CharsetId::UTF8MB4.decode(bytes) {
            Ok(text) if connection != CollationId::BINARY => {
                let text = connection.charset().keep_known(&text);
                if matches!(text, Cow::Owned(_)) {
                    let warning = not_converted(bytes, connection.charset());
                    self.ctx.with_warnings(|warnings| warnings.warn(warning));
                }
                text_literal(&text, connection)
            }
            _ => binary_literal(bytes),
        }
    }

    fn introduced(&self, introduced: &IntroducedString) -> SqlResult<Expr> {
        let charset = charset_by_name(&introduced.charset)?;
        if charset == CharsetId::BINARY {
            return Ok(match introduced.form {
                IntroducedForm::Text => binary_literal(&introduced.value),
                IntroducedForm::Hex | IntroducedForm::Bit => binary_literal(&introduced.value),
            });
        }
        let text = charset.decode(&introduced.value).map_err(|invalid| {
            let shown: String = introduced.value[invalid.position..]
                .iter()
                .take(6)
                .map(|byte| format!("{byte:02X}"))
                .collect();
            SqlError::new(ErrorKind::InvalidCharacterString, &[&charset.name(), &shown])
        })?;
        // The introducer names the character set; the connection's collation stays where it is of that set.
        let connection = self.connection();
        let collation = if connection.charset() == charset {
            connection
        } else {
            charset.default_collation()
        };
        Ok(text_literal(&text, collation))
    }
}

/// A character set lacks characters of a text: MySQL's number is that of invalid strings here.
fn not_converted(text: &[u8], charset: CharsetId) -> SqlError {
    let shown = cast::shown_start(text);
    let message = format!("Cannot convert string '{shown}' from utf8mb4 to {charset}");
    SqlError::with_message(ErrorKind::InvalidCharacterString, message)
}

/// MySQL counts a sign that is not there.
fn integer(number: u64) -> Expr {
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    let (value, ty) = match i64::try_from(number) {
        Ok(signed) => (
            Value::Int(signed),
            SqlType {
                length: digits + 1,
                ..SqlType::bigint()
            },
        ),
        Err(_) => (
            Value::UInt(number),
            SqlType {
                length: digits,
                ..SqlType::bigint_unsigned()
            },
        ),
    };
    Expr::literal(value, ty.not_null())
}

pub(super) fn decimal_literal(number: Decimal) -> Expr {
    let precision = number.precision().max(number.scale()).max(1);
    Expr::literal(
        Value::Decimal(number),
        SqlType::decimal(precision, number.scale()).not_null(),
    )
}

fn float(text: &str) -> SqlResult<Expr> {
    let number = text
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite())
        .ok_or_else(|| SqlError::new(ErrorKind::IllegalValueForType, &[&"double", &text]))?;
    let ty = SqlType {
        length: text.len() as u32,
        ..SqlType::double()
    };
    Ok(Expr::literal(Value::Double(number), ty.not_null()))
}

pub(super) fn text_literal(text: &str, collation: CollationId) -> Expr {
    let value = Value::str(text);
    let ty = type_of_value(&value, collation);
    Expr::literal(value, ty)
}

fn binary_literal(bytes: &[u8]) -> Expr {
    let value = Value::bytes(bytes);
    let ty = type_of_value(&value, CollationId::BINARY);
    Expr::literal(value, ty)
}

fn hex(bytes: &[u8]) -> Expr {
    let ty = SqlType::varbinary(bytes.len() as u32).not_null();
    Expr {
        kind: ExprKind::HexLiteral(Value::bytes(bytes)),
        ty,
        coercibility: Coercibility::Coercible,
    }
}
