//! MEMORY USAGE: about how many bytes a key is charged with.

use std::ops::ControlFlow;

use store::Direction;
use types::IndexId;

use crate::call::{Call, is_word};
use crate::collection::Collection;
use crate::failure::{Outcome, syntax};
use crate::head::Kind;
use crate::types::long::PIECE;
use crate::work::parts_of;

/// What a row costs beside its own bytes: its record, its key, its place in an index.
const ROW_BYTES: u64 = 96;
/// Rows that are looked at, whose average stands for all.
const SAMPLES: i64 = 5;

pub fn usage(call: &mut Call) -> Outcome {
    let key = call.arg(2);
    let mut samples = SAMPLES;
    let mut options = call.options(3);
    while let Some(option) = options.next() {
        match option {
            option if is_word(option, "SAMPLES") && !options.is_empty() => {
                samples = options.integer()?;
                if samples < 0 {
                    return Err(syntax());
                }
            }
            _ => return Err(syntax()),
        }
    }
    let Some(head) = call.work.head(&call.db, key) else {
        call.reply.null();
        return Ok(());
    };
    let mut bytes = ROW_BYTES + (key.len() + head.value.len() + head.meta.len()) as u64;
    if let Some(collection) = Collection::of(head.as_ref()) {
        for &part in parts_of(head.kind) {
            let (mut rows, mut seen) = (0u64, 0u64);
            let (index, forward) = (IndexId::PRIMARY, Direction::Forward);
            call.work
                .scan(&call.db, part, index, collection.id, forward, |_, row, primary_key| {
                    rows += 1;
                    seen += ROW_BYTES + (row.len() + primary_key.len()) as u64;
                    Ok(match samples > 0 && rows >= samples as u64 {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    })
                })?;
            // Only of the first part is it known how many rows there are.
            let all = match parts_of(head.kind).first() == Some(&part) {
                true if head.kind == Kind::String => collection.len.div_ceil(PIECE as u64).max(rows),
                true => collection.len.max(rows),
                false => rows,
            };
            bytes += (u128::from(seen) * u128::from(all) / u128::from(rows.max(1))) as u64;
        }
    }
    call.reply.integer(bytes as i64);
    Ok(())
}
