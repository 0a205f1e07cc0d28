//! What a function's row of the table works with: [`Inference`] when its type is asked for, [`Args`] when it computes.

use std::borrow::Cow;

use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError, Warnings};
use types::time::{DateTime, Time};
use types::value::{Str, lossy};
use types::{CharsetId, CollationId, SqlResult, SqlType, TypeKind, Value, cast};

use crate::collation::{self, Coercibility};
use crate::context::EvalContext;
use crate::{Expr, ExprKind, convert};

/// Most characters of a VARCHAR in a result; longer text is MEDIUMTEXT or LONGTEXT.
const MAX_VARCHAR_BYTES: u64 = 65_535;
const MAX_MEDIUM_BYTES: u64 = 16_777_215;

/// A call whose arguments are bound and whose type is wanted.
pub struct Inference<'a> {
    pub name: &'static str,
    pub args: &'a mut Vec<Expr>,
    pub ctx: &'a EvalContext<'a>,
    /// The standing of the result's collation; set by functions for whom the type does not tell.
    pub coercibility: Option<Coercibility>,
}

impl Inference<'_> {
    pub fn any_nullable(&self) -> bool {
        self.args.iter().any(|arg| arg.ty.nullable)
    }

    /// `ty`, NULL where an argument is.
    pub fn nullable_as_args(&self, ty: SqlType) -> SqlType {
        SqlType {
            nullable: self.any_nullable(),
            ..ty
        }
    }

    /// The collation over some arguments; becomes the result's.
    pub fn mix_collations(&mut self, from: usize, to: usize) -> SqlResult<CollationId> {
        let args = self.args.get(from..to.min(self.args.len())).unwrap_or_default();
        let mixed = collation::aggregate(args, self.connection(), &self.name.to_ascii_lowercase(), false)?;
        self.coercibility = Some(mixed.coercibility);
        // What is made of NULL is a binary string.
        let nothing = !args.is_empty() && args.iter().all(|arg| arg.ty.kind == TypeKind::Null);
        Ok(if nothing { CollationId::BINARY } else { mixed.collation })
    }

    /// The collation of the first argument, which the function changes by the others: they are turned into its character set.
    pub fn first_collation(&mut self) -> SqlResult<CollationId> {
        let collation = self.mix_collations(0, 1)?;
        self.coercibility = self.coercibility.map(|one| one.min(Coercibility::Coercible));
        Ok(collation)
    }

    /// The collation over some arguments that the function compares.
    pub fn comparing_collation(&mut self, from: usize, to: usize) -> SqlResult<CollationId> {
        let args = self.args.get(from..to.min(self.args.len())).unwrap_or_default();
        let mixed = collation::aggregate(args, self.connection(), &self.name.to_ascii_lowercase(), true)?;
        Ok(mixed.collation)
    }

    /// `collation_connection`.
    pub fn connection(&self) -> CollationId {
        self.ctx.settings.collation
    }

    /// Text in the connection's character set, as numbers and dates print.
    pub fn connection_text(&mut self, chars: u64) -> SqlType {
        self.coercibility = Some(Coercibility::Coercible);
        string_type(chars, self.connection())
    }

    /// The characters that an argument prints at most.
    pub fn chars(&self, arg: usize) -> u64 {
        self.args.get(arg).map_or(0, |arg| printed_chars(&arg.ty))
    }

    /// Replaces what has a number among the arguments by it ([`convert::as_number`]).
    pub fn hex_as_numbers(&mut self) {
        for arg in self.args.iter_mut() {
            let taken = std::mem::replace(arg, Expr::null());
            *arg = convert::as_number(taken);
        }
    }

    /// The same for one argument.
    pub fn hex_as_number(&mut self, arg: usize) {
        if let Some(arg) = self.args.get_mut(arg) {
            let taken = std::mem::replace(arg, Expr::null());
            *arg = convert::as_number(taken);
        }
    }

    /// The value of a literal argument.
    pub fn literal(&self, arg: usize) -> Option<&Value> {
        self.args.get(arg).and_then(Expr::as_literal)
    }
}

/// The characters that a value of this type prints at most.
pub fn printed_chars(ty: &SqlType) -> u64 {
    match ty.kind {
        TypeKind::Null => 0,
        TypeKind::Enum | TypeKind::Set | TypeKind::Decimal | TypeKind::Char | TypeKind::VarChar => {
            u64::from(ty.display_length(1))
        }
        // The limit of these is in bytes.
        TypeKind::TinyText | TypeKind::Text | TypeKind::MediumText | TypeKind::LongText => {
            u64::from(ty.length / ty.charset().max_bytes_per_char())
        }
        _ => u64::from(ty.length),
    }
}

/// How long the text of a value may be as a string of a collation: in bytes for a binary one.
pub fn units_of(ty: &SqlType, collation: CollationId) -> u64 {
    let chars = printed_chars(ty);
    match ty.kind.is_text() && collation == CollationId::BINARY {
        true => chars * u64::from(ty.charset().max_bytes_per_char()),
        false => chars,
    }
}

/// A string of at most `chars` characters (bytes, for `binary`): VARCHAR while it fits, then MEDIUMTEXT, LONGTEXT.
pub fn string_type(chars: u64, collation: CollationId) -> SqlType {
    let bytes = chars.saturating_mul(u64::from(collation.charset().max_bytes_per_char()));
    let binary = collation == CollationId::BINARY;
    match (bytes, binary) {
        (0..=MAX_VARCHAR_BYTES, true) => SqlType::varbinary(chars as u32),
        (0..=MAX_VARCHAR_BYTES, false) => SqlType::varchar(chars as u32, collation),
        (0..=MAX_MEDIUM_BYTES, true) => SqlType::blob(TypeKind::MediumBlob),
        (0..=MAX_MEDIUM_BYTES, false) => SqlType::text(TypeKind::MediumText, collation),
        (_, true) => SqlType::blob(TypeKind::LongBlob),
        (_, false) => SqlType::text(TypeKind::LongText, collation),
    }
}

/// A call with its computed arguments.
pub struct Args<'a> {
    /// The function's name.
    pub name: &'static str,
    /// The type of the result.
    pub ty: &'a SqlType,
    pub exprs: &'a [Expr],
    pub values: &'a [Value],
    pub ctx: &'a EvalContext<'a>,
}

impl<'a> Args<'a> {
    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn value(&self, i: usize) -> &'a Value {
        &self.values[i]
    }

    /// Whether the argument is a column.
    pub fn is_stored(&self, i: usize) -> bool {
        self.exprs[i].is_stored()
    }

    pub fn is_null(&self, i: usize) -> bool {
        self.values[i].is_null()
    }

    pub fn arg_type(&self, i: usize) -> &'a SqlType {
        &self.exprs[i].ty
    }

    /// The value where a number is wanted: a hex literal is one.
    fn number(&self, i: usize) -> Cow<'a, Value> {
        match &self.exprs[i].kind {
            ExprKind::HexLiteral(Value::Bytes(bytes)) => Cow::Owned(Value::UInt(convert::hex_number(bytes))),
            _ => Cow::Borrowed(&self.values[i]),
        }
    }

    pub fn int(&self, i: usize) -> SqlResult<i64> {
        if convert::is_read_quietly(&self.exprs[i]) {
            let mut unheard = Warnings::with_limit(0);
            return Ok(cast::to_integer(self.values[i].as_ref(), &mut unheard).as_i64());
        }
        convert::to_i64(&self.number(i), self.ctx)
    }

    /// As an exact whole number; fractions are rounded.
    pub fn whole(&self, i: usize) -> SqlResult<i128> {
        convert::to_i128(&self.number(i), self.ctx)
    }

    pub fn bits(&self, i: usize) -> SqlResult<u64> {
        convert::bits_of(&self.exprs[i], &self.number(i), self.ctx)
    }

    pub fn double(&self, i: usize) -> SqlResult<f64> {
        let number = convert::as_operand_of_double(&self.exprs[i], self.number(i));
        convert::to_f64(&number, self.ctx)
    }

    pub fn decimal(&self, i: usize) -> SqlResult<Decimal> {
        convert::to_decimal(&self.number(i), self.ctx)
    }

    pub fn datetime(&self, i: usize) -> SqlResult<Option<DateTime>> {
        convert::to_datetime(&self.dated(i), self.ctx)
    }

    pub fn time(&self, i: usize) -> SqlResult<Option<Time>> {
        convert::to_time(&self.dated(i), self.ctx)
    }

    /// The value where a date or a time is wanted.
    pub fn dated(&self, i: usize) -> Cow<'a, Value> {
        convert::dated(&self.exprs[i], &self.values[i])
    }

    /// The argument as text.
    pub fn text(&self, i: usize) -> Cow<'a, str> {
        convert::to_text_as(&self.values[i], &self.exprs[i].ty)
    }

    /// The argument as the bytes that it has in its character set.
    pub fn encoded(&self, i: usize) -> Cow<'a, [u8]> {
        convert::to_encoded_bytes(&self.values[i], &self.exprs[i].ty)
    }

    /// The argument as a string of the result's kind: bytes where the result is binary, UTF-8 otherwise. 3854 where the result's
    /// character set has not all of it.
    pub fn string(&self, i: usize) -> SqlResult<Cow<'a, [u8]>> {
        self.string_under(i, self.ty.collation)
    }

    /// The argument as a string that `collation` can look at. 3854 where its character set has not all of it.
    pub fn string_under(&self, i: usize, collation: CollationId) -> SqlResult<Cow<'a, [u8]>> {
        if collation == CollationId::BINARY {
            return Ok(self.encoded(i));
        }
        Ok(
            match convert::to_text_under(&self.values[i], &self.exprs[i].ty, collation)? {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            },
        )
    }

    /// The argument as [`string`](Self::string), as a result.
    pub fn same_string(&self, i: usize) -> SqlResult<Value> {
        Ok(match (&self.values[i], self.is_binary()) {
            (value @ Value::Str(_), false) | (value @ Value::Bytes(_), true) => value.clone(),
            _ => self.string_result(self.string(i)?.into_owned()),
        })
    }

    /// Whether the result is a binary string.
    pub fn is_binary(&self) -> bool {
        self.ty.collation == CollationId::BINARY
    }

    /// A result made of whole characters of the arguments.
    pub fn string_result(&self, bytes: Vec<u8>) -> Value {
        string_value(bytes, self.is_binary())
    }

    /// A result of text made by the function itself.
    pub fn text_result(&self, text: String) -> Value {
        if self.is_binary() {
            Value::Bytes(text.into_bytes().into())
        } else {
            Value::from(text)
        }
    }

    /// Whether a result of that many bytes is more than `max_allowed_packet`: then it is NULL, with warning 1301.
    pub fn too_long(&self, function: &str, bytes: u64) -> SqlResult<bool> {
        let most = self.ctx.settings.max_allowed_packet;
        if bytes > most {
            self.ctx
                .warn(SqlError::new(ErrorKind::AllowedPacketOverflowed, &[&function, &most]))?;
        }
        governor::ensure(usize::try_from(bytes.min(most)).unwrap_or(usize::MAX))?;
        Ok(bytes > most)
    }

    /// Whether the argument is a binary string, whose characters are its bytes.
    pub fn is_binary_arg(&self, i: usize) -> bool {
        self.exprs[i].ty.charset() == CharsetId::BINARY && matches!(self.values[i], Value::Bytes(_) | Value::Bit(_))
    }
}

/// A string that a function has made: bytes, or text.
pub fn string_value(bytes: Vec<u8>, is_binary: bool) -> Value {
    if is_binary {
        return Value::Bytes(bytes.into());
    }
    match Str::from_utf8(bytes) {
        Ok(text) => Value::Str(text),
        Err(bytes) => Value::from(lossy(&bytes).into_owned()),
    }
}
