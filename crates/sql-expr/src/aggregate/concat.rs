//! GROUP_CONCAT.

use std::cmp::Ordering;

use governor::bulk;
use governor::sort::sort_by;
use governor::stepwise::Stepwise;
use types::error::{ErrorKind, SqlError};
use types::value::{lossy, utf8_string};
use types::{CollationId, SqlResult, Value};

use super::super::context::EvalContext;
use super::super::convert;
use super::AggregateCall;

/// The pieces of one group, in their order of arrival; with ORDER BY each has the values that sort it.
#[derive(Debug, Clone, Default)]
pub struct Concatenation {
    pieces: Stepwise<Vec<Piece>>,
    bytes: usize,
    /// Without ORDER BY, what comes after the limit need not be kept.
    full: bool,
}

#[derive(Debug, Clone)]
struct Piece {
    text: Vec<u8>,
    keys: Box<[Value]>,
}

impl Concatenation {
    pub fn heap_bytes(&self) -> usize {
        self.bytes + self.pieces.len() * 64
    }

    pub fn add(
        &mut self,
        call: &AggregateCall,
        values: &[Value],
        row: &[Value],
        ctx: &EvalContext<'_>,
    ) -> SqlResult<()> {
        if self.full {
            return Ok(());
        }
        let mut text = Vec::new();
        for (value, arg) in values.iter().zip(&call.args) {
            let piece = match call.ty.collation {
                CollationId::BINARY => convert::to_encoded_bytes(value, &arg.ty),
                _ => convert::to_bytes_as(value, &arg.ty),
            };
            bulk::append(&mut text, &piece);
        }
        let keys = call
            .order_by
            .iter()
            .map(|key| key.expr.eval(row, ctx))
            .collect::<SqlResult<_>>()?;
        self.bytes += text.len() + call.separator.len();
        self.full = call.order_by.is_empty() && self.bytes as u64 > ctx.settings.group_concat_max_len;
        // No room that is not used: pieces may be many.
        text.shrink_to_fit();
        self.pieces.push(Piece { text, keys });
        Ok(())
    }

    pub fn finish(&self, call: &AggregateCall, ctx: &EvalContext<'_>) -> SqlResult<Value> {
        if self.pieces.is_empty() {
            return Ok(Value::Null);
        }
        let mut order: Vec<&Piece> = self.pieces.iter().inspect(|_| governor::pause()).collect();
        if !call.order_by.is_empty() {
            let mut failed = None;
            sort_by(&mut order, |a, b| match by_keys(call, a, b, ctx) {
                Ok(order) => order,
                Err(error) => {
                    failed.get_or_insert(error);
                    Ordering::Equal
                }
            })?;
            if let Some(error) = failed {
                return Err(error);
            }
        }
        let most = ctx.settings.group_concat_max_len as usize;
        let mut out = Vec::with_capacity(self.bytes.min(most));
        for (i, piece) in order.iter().enumerate() {
            governor::tick()?;
            if i > 0 {
                bulk::append(&mut out, call.separator.as_bytes());
            }
            bulk::append(&mut out, &piece.text);
            if out.len() > most {
                ctx.warn(SqlError::new(ErrorKind::CutValueGroupConcat, &[&(i + 1)]))?;
                break;
            }
        }
        if call.ty.collation == CollationId::BINARY {
            out.truncate(most);
            return Ok(Value::Bytes(out.into()));
        }
        match utf8_string(out) {
            Ok(mut text) => {
                text.truncate(text.floor_char_boundary(most));
                Ok(Value::from(text))
            }
            Err(bytes) => {
                let text = lossy(&bytes);
                Ok(Value::from(bulk::copy_text(&text[..text.floor_char_boundary(most)])))
            }
        }
    }
}

fn by_keys(call: &AggregateCall, a: &Piece, b: &Piece, ctx: &EvalContext<'_>) -> SqlResult<Ordering> {
    for ((key, how), (a, b)) in call
        .order_by
        .iter()
        .zip(call.comparisons())
        .zip(a.keys.iter().zip(&b.keys))
    {
        let order = match how.compare(a, b, ctx)? {
            Some(order) => order,
            None => b.is_null().cmp(&a.is_null()),
        };
        let order = if key.descending { order.reverse() } else { order };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(Ordering::Equal)
}
