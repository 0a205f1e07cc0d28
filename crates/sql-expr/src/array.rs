//! `CAST(document AS type ARRAY)`, which is a part of a key and nothing else. MySQL manual, "Multi-Valued Indexes".

use parser::ast;
use types::elements::{self, ElementError};
use types::error::{ErrorKind, SqlError};
use types::json::Json;
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use crate::bind::cast_type;
use crate::collation::Coercibility;
use crate::{Binder, Cast, Expr, ExprKind};

/// What MySQL calls the function.
const NAME: &str = "cast_as_array";

impl Binder<'_> {
    /// Binds what a generated column has: of the hidden one of a key part it may be an array.
    pub fn bind_generated(&mut self, tree: &ast::Expr) -> SqlResult<Expr> {
        let ast::Expr::Cast(cast) = tree else {
            return self.bind(tree);
        };
        if !cast.array {
            return self.bind(tree);
        }
        let element = element_type(cast)?;
        let ty = SqlType::json();
        Ok(Expr {
            coercibility: Coercibility::of_column(&ty),
            kind: ExprKind::Cast(Box::new(Cast {
                operand: self.bind(&cast.operand)?,
                length: None,
                elements: Some(element),
            })),
            ty,
        })
    }
}

/// What the elements are. 1235 for a type that MySQL has none of.
pub fn element_type(cast: &ast::Cast) -> SqlResult<SqlType> {
    let target = &cast.target;
    let shown = || cast.operand.to_string().replace('`', "");
    let is_of_bytes = target
        .charset
        .as_deref()
        .is_some_and(|name| name.eq_ignore_ascii_case("binary"));
    if target.binary || target.charset.is_some() && !is_of_bytes {
        return Err(SqlError::not_supported("specifying charset for multi-valued index"));
    }
    let ty = cast_type(target, CollationId::UTF8MB4_0900_BIN, &shown)?;
    let ty = match ty.kind {
        TypeKind::BigInt | TypeKind::Decimal | TypeKind::Date | TypeKind::Time | TypeKind::DateTime => ty,
        kind if kind.is_text() || kind.is_binary() => match target.length {
            Some(length) if length <= u64::from(elements::MAX_CHARS) && length > 0 => match kind.is_text() {
                true => elements::text_type(length as u32),
                false => SqlType::varbinary(length as u32),
            },
            _ => return Err(SqlError::not_supported("CAST-ing data to array of char/binary BLOBs")),
        },
        kind => {
            let name = match kind {
                TypeKind::Float => "FLOAT",
                TypeKind::Year => "YEAR",
                TypeKind::Json => "JSON",
                _ => "DOUBLE",
            };
            return Err(SqlError::not_supported(format!("CAST-ing data to array of {name}")));
        }
    };
    Ok(SqlType { nullable: true, ..ty })
}

/// The elements of a document. What is wrong with it is told without the index's name, which who computes key parts puts there.
pub(crate) fn array_of(operand: &Value, element: &SqlType) -> SqlResult<Value> {
    let document = match operand {
        Value::Json(document) => document.clone(),
        Value::Str(text) => parse(text)?,
        Value::Bytes(_) => return Err(SqlError::new(ErrorKind::InvalidJsonCharset, &[&"binary"])),
        _ => return Err(SqlError::new(ErrorKind::InvalidTypeForJson, &[&1, &NAME])),
    };
    let found = elements::elements(document.as_ref(), element);
    governor::check()?;
    found.map(Value::Json).map_err(error)
}

fn parse(text: &str) -> SqlResult<Json> {
    let parsed = Json::parse(text);
    governor::check()?;
    parsed.map_err(|error| {
        let arguments: [&dyn std::fmt::Display; 4] = [&1, &NAME, &error.message, &error.position];
        SqlError::new(ErrorKind::InvalidJsonTextInParam, &arguments)
    })
}

fn error(error: ElementError) -> SqlError {
    let (kind, beyond) = match error {
        ElementError::Object => return SqlError::not_supported("CAST-ing JSON OBJECT type to array"),
        ElementError::Truncated => return SqlError::new(ErrorKind::DataTruncated, &[&"", &1]),
        ElementError::OutOfRange => return SqlError::new(ErrorKind::OutOfRange, &[&"", &1]),
        ElementError::TooLong => return SqlError::new(ErrorKind::DataTooLong, &[&"", &1]),
        ElementError::Nested => (ErrorKind::NestedInMultiValuedIndex, 0),
        ElementError::Invalid => (ErrorKind::InvalidJsonValueForFunctionalIndex, 0),
        ElementError::NoInteger => (ErrorKind::JsonValueOutOfRangeForFunctionalIndex, 0),
        ElementError::TooMany(beyond) => (ErrorKind::ExceededMultiValuedKeys, beyond),
        ElementError::TooMuch(beyond) => (ErrorKind::ExceededMultiValuedBytes, beyond),
    };
    match beyond {
        0 => SqlError::new(kind, &[&""]),
        beyond => SqlError::new(kind, &[&"", &beyond]),
    }
}

/// As MySQL writes it in `CAST(.. AS type ARRAY)`.
pub(crate) fn shown_type(element: &SqlType) -> String {
    match element.kind {
        TypeKind::BigInt if element.unsigned => "unsigned".to_owned(),
        TypeKind::BigInt => "signed".to_owned(),
        TypeKind::Decimal => format!("decimal({}, {})", element.length, element.decimals),
        kind if kind.is_text() => format!("char({})", element.length),
        kind if kind.is_binary() => format!("binary({})", element.length),
        _ => element.column_type(),
    }
}
