//! STATEMENT_DIGEST and STATEMENT_DIGEST_TEXT: what statements that differ in values only have in common.

use parser::digest_text::digest_text;
use parser::{ParseError, ParseErrorKind};
use sha2::{Digest, Sha256};
use types::error::{ErrorKind, SqlError};
use types::{SqlResult, SqlType, TypeKind};

use super::args::{Args, Inference};
use super::text_format::lower_hex;
use super::{Function, exactly};
use crate::collation::Coercibility;

/// How they read depends on `sql_mode`.
pub const FUNCTIONS: &[Function] = &[
    Function::strict("STATEMENT_DIGEST", exactly(1), infer_hash, |args| {
        Ok(args.text_result(lower_hex(&Sha256::digest(text(args)?))))
    })
    .per_statement(),
    Function::strict("STATEMENT_DIGEST_TEXT", exactly(1), infer_text, |args| {
        Ok(args.text_result(text(args)?))
    })
    .per_statement(),
];

fn infer_hash(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    Ok(inference.connection_text(64))
}

fn infer_text(inference: &mut Inference<'_>) -> SqlResult<SqlType> {
    inference.coercibility = Some(Coercibility::Coercible);
    Ok(SqlType::text(TypeKind::LongText, inference.connection()))
}

/// The digest of the argument; 3676 unless it is one whole statement without parameters.
fn text(args: &Args<'_>) -> SqlResult<String> {
    let mode = args.ctx.settings.sql_mode.for_parser();
    let text = args.text(0);
    let sql = parser::without_end(text.as_bytes());
    check(sql, mode).map_err(|error| SqlError::new(ErrorKind::DigestOfBrokenText, &[&error]))?;
    let shown = digest_text(sql, mode);
    governor::check()?;
    Ok(shown)
}

fn check(sql: &[u8], mode: parser::SqlMode) -> Result<(), ParseError> {
    let parsed = parser::parse(sql, mode)?;
    if !parsed.last {
        return Err(unexpected_at(sql, parsed.consumed));
    }
    match parsed.params {
        0 => Ok(()),
        _ => Err(unexpected_at(
            sql,
            sql.iter().position(|&byte| byte == b'?').unwrap_or(0),
        )),
    }
}

fn unexpected_at(sql: &[u8], offset: usize) -> ParseError {
    const NEAR_CHARS: usize = 80;
    let (before, rest) = sql.split_at(offset);
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(4 * NEAR_CHARS)]);
    let near: String = rest.trim_start().chars().take(NEAR_CHARS).collect();
    let lines = 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u32;
    ParseError {
        kind: ParseErrorKind::Syntax {
            near: near.into(),
            line: lines,
        },
        offset,
    }
}
