//! Keys of GROUP BY that may not be computed again for a group: it could have another value then, as RAND() has.
//!
//! The wide row has a slot more for each. Everything that is computed of groups reads it in place of the key. A rollup has slots for all
//! of its keys, and needs none of these.

use sql_expr::{Expr, ExprKind};
use types::Value;

use super::rollup::{in_slot, name_of};

/// Where such keys are in the wide row.
#[derive(Debug, Default)]
pub struct KeptKeys {
    keys: Vec<KeptKey>,
    offset: usize,
}

#[derive(Debug)]
struct KeptKey {
    /// Its place among the keys.
    key: usize,
    name: String,
    /// The item that it is. Another one of the same text is computed on its own.
    item: Option<usize>,
}

impl KeptKeys {
    /// Their slots begin at `offset`. `named` has the items that GROUP BY names.
    pub fn of(keys: &[Expr], named: &[Option<usize>], items: &[Expr], offset: usize) -> KeptKeys {
        let kept = |(key, expr): (usize, &Expr)| {
            let name = name_of(expr);
            let same = || items.iter().position(|item| name_of(item) == name);
            let item = named[key].or_else(same);
            KeptKey { key, name, item }
        };
        let volatile = keys.iter().enumerate().filter(|(_, key)| key.is_volatile());
        KeptKeys {
            keys: volatile.map(kept).collect(),
            offset,
        }
    }

    /// Slots that they take.
    pub fn width(&self) -> usize {
        self.keys.len()
    }

    /// Fills the slots for a group with these keys.
    pub fn fill(&self, row: &mut [Value], values: &[Value]) {
        for (slot, kept) in (self.offset..).zip(&self.keys) {
            row[slot] = values[kept.key].clone();
        }
    }

    /// Lets items, HAVING and ORDER BY read the slots. In the latter two the names of items stand as what the items are.
    pub fn replace<'e>(&self, items: &mut [Expr], others: impl Iterator<Item = &'e mut Expr>) {
        for (slot, kept) in (self.offset..).zip(&self.keys) {
            if let Some(item) = kept.item.and_then(|item| items.get_mut(item)) {
                *item = in_slot(slot, item);
            }
        }
        if self.keys.is_empty() {
            return;
        }
        for expr in others {
            expr.transform(&mut |node| {
                if matches!(node.kind, ExprKind::Column(_) | ExprKind::Literal(_)) {
                    return;
                }
                let name = name_of(node);
                let found = (self.offset..).zip(&self.keys).find(|(_, kept)| kept.name == name);
                if let Some((slot, _)) = found {
                    *node = in_slot(slot, node);
                }
            });
        }
    }
}
