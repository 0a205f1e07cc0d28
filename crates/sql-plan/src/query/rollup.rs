//! GROUP BY … WITH ROLLUP: besides each group, the groups of ever fewer keys, down to the one of all rows.
//!
//! The wide row has two more slots per key: its value, NULL in the rows that sum over it, and whether they do (1 or 0), which is
//! what GROUPING() shows. Everything that is computed of groups reads those in place of the keys.

use sql_expr::{Call, Expr, ExprKind};
use types::{ErrorKind, SqlError, SqlResult, SqlType, Value};

/// Each row goes to one group more than there are keys.
pub const KEYS_OF_ROLLUP_MAX: usize = 127;

/// Where the keys of a rollup are in the wide row.
#[derive(Debug, Clone, Copy)]
pub struct Rollup {
    keys: usize,
    offset: usize,
}

impl Rollup {
    pub fn new(keys: usize, offset: usize) -> Rollup {
        Rollup { keys, offset }
    }

    /// Slots that it takes.
    pub fn width(self) -> usize {
        2 * self.keys
    }

    /// The slot of a key's value.
    pub fn value_slot(self, key: usize) -> usize {
        self.offset + key
    }

    /// The slot that tells whether the row sums over a key.
    pub fn mark_slot(self, key: usize) -> usize {
        self.offset + self.keys + key
    }

    /// Fills the slots for a group of the first `kept` keys; columns that are summed over are NULL themselves.
    pub fn fill(self, row: &mut [Value], keys: &[Expr], values: &[Value], kept: usize) {
        for (at, (key, value)) in keys.iter().zip(values).enumerate() {
            let summed = at >= kept;
            row[self.value_slot(at)] = if summed { Value::Null } else { value.clone() };
            row[self.mark_slot(at)] = Value::from(summed);
            if let Some(slot) = key.as_column().filter(|_| summed) {
                row[slot] = Value::Null;
            }
        }
    }

    /// Lets an item that GROUP BY names read the slot of its key.
    pub fn replace_with_key(self, item: &mut Expr, key: usize) {
        *item = self.value_of(key, item);
    }

    fn value_of(self, key: usize, expr: &Expr) -> Expr {
        let mut value = in_slot(self.value_slot(key), expr);
        // Sums of all groups have NULL there.
        value.ty.nullable = true;
        value
    }

    /// Lets an expression over groups read the slots of the keys; 3602 for another argument of GROUPING.
    pub fn replace_keys(self, expr: &mut Expr, keys: &[Expr]) -> SqlResult<()> {
        let names: Vec<String> = keys.iter().map(name_of).collect();
        // A whole number is a key where it is all of the item: inside of it stands for itself, as an argument that is counted by.
        let is_number = |key: &Expr| key.is_constant() && key.ty.kind.is_integer();
        let key_of = |node: &Expr| {
            let name = name_of(node);
            let known = |(key, known): (&Expr, &String)| !is_number(key) && *known == name;
            keys.iter().zip(&names).position(known)
        };
        let whole = name_of(expr);
        let mut pairs = keys.iter().zip(&names);
        if let Some(key) = pairs.position(|(key, known)| is_number(key) && *known == whole) {
            *expr = self.value_of(key, expr);
            return Ok(());
        }
        let mut wrong = None;
        expr.transform(&mut |node| {
            if let Some(call) = grouping_call(node) {
                for (at, argument) in call.args.iter_mut().enumerate() {
                    // A whole number is a key here, too.
                    let name = name_of(argument);
                    match names.iter().position(|known| *known == name) {
                        Some(key) => *argument = Expr::column(self.mark_slot(key), "", SqlType::bigint()),
                        None => wrong = wrong.or(Some(at + 1)),
                    }
                }
            } else if let Some(key) = key_of(node) {
                *node = self.value_of(key, node);
            } else if !matches!(node.kind, ExprKind::Column(_) | ExprKind::Literal(_)) {
                // Its operands may be NULL now.
                node.ty.nullable = true;
            }
        });
        match wrong {
            None => Ok(()),
            Some(at) => Err(SqlError::new(ErrorKind::FieldInGroupingNotGroupBy, &[&at])),
        }
    }
}

/// An expression that is computed already, and in a slot of the wide row.
pub(super) fn in_slot(slot: usize, expr: &Expr) -> Expr {
    Expr {
        coercibility: expr.coercibility,
        ..Expr::column(slot, name_of(expr).as_str(), expr.ty.clone())
    }
}

/// What makes an expression the same as another, also when parts of both are in slots. Each parameter is one of its own.
pub(super) fn name_of(expr: &Expr) -> String {
    let mut name = expr.to_string();
    expr.walk(&mut |node| {
        if let ExprKind::Param(number) = node.kind {
            name += &format!(" ?{number}");
        }
    });
    name
}

/// 1111 for GROUPING without a rollup.
pub fn check_no_grouping(expr: &Expr) -> SqlResult<()> {
    let is_grouping = |node: &Expr| matches!(&node.kind, ExprKind::Call(call) if call.function.name == "GROUPING");
    match expr.any(&mut |node| is_grouping(node)) {
        true => Err(ErrorKind::InvalidGroupFuncUse.into()),
        false => Ok(()),
    }
}

fn grouping_call(node: &mut Expr) -> Option<&mut Call> {
    match &mut node.kind {
        ExprKind::Call(call) if call.function.name == "GROUPING" => Some(call),
        _ => None,
    }
}
