//! The state of one group.

use std::borrow::Cow;
use std::cmp::Ordering;

use governor::stepwise::{Set, Stepwise};
use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::json::{Members, Node};
use types::{CollationId, SqlResult, TypeKind, Value};

use super::super::Expr;
use super::super::arithmetic::{self, BitOp, Domain};
use super::super::context::EvalContext;
use super::super::convert;
use super::super::functions::json;
use super::concat::Concatenation;
use super::distinct::group_key;
use super::{AggregateCall, AggregateFunction};

/// What a group has come to.
#[derive(Debug, Clone)]
pub struct Accumulator {
    state: State,
    /// The keys of the rows taken, under DISTINCT.
    seen: Option<Set<Box<[u8]>>>,
    /// Bytes behind `seen`.
    seen_bytes: usize,
}

#[derive(Debug, Clone)]
enum State {
    Count(u64),
    /// SUM and AVG of integers and decimals. Integers gather in `whole` until it may overflow.
    Exact {
        whole: i128,
        sum: Decimal,
        count: u64,
    },
    /// SUM and AVG of everything else.
    Approximate {
        sum: f64,
        count: u64,
    },
    /// MIN, MAX.
    Extreme(Value),
    Bits(u64),
    /// BIT_AND, BIT_OR, BIT_XOR of binary strings, which all have one length; none before the first.
    ByteBits(Option<Box<[u8]>>),
    /// Welford's recurrence, as MySQL has it: mean so far, sum of squares of distances.
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    Concat(Concatenation),
    /// Names and values; without names for an array.
    Json(Stepwise<Vec<(String, Node)>>),
}

impl Accumulator {
    pub(super) fn new(call: &AggregateCall) -> Accumulator {
        use AggregateFunction::*;
        let state = match call.function {
            Count => State::Count(0),
            Sum | Avg if call.domain() == Domain::Double => State::Approximate { sum: 0.0, count: 0 },
            Sum | Avg => State::Exact {
                whole: 0,
                sum: Decimal::ZERO,
                count: 0,
            },
            Min | Max => State::Extreme(Value::Null),
            BitAnd | BitOr | BitXor if call.ty.kind.is_binary() => State::ByteBits(None),
            BitAnd => State::Bits(u64::MAX),
            BitOr | BitXor => State::Bits(0),
            StddevPop | StddevSamp | VarPop | VarSamp => State::Variance {
                count: 0,
                mean: 0.0,
                squares: 0.0,
            },
            GroupConcat => State::Concat(Concatenation::default()),
            JsonArrayAgg | JsonObjectAgg => State::Json(Stepwise::default()),
        };
        // The smallest of all is the smallest of the distinct ones.
        let distinct = call.distinct && !matches!(call.function, Min | Max | BitAnd | BitOr);
        Accumulator {
            state,
            seen: distinct.then(Set::new),
            seen_bytes: 0,
        }
    }

    /// Bytes on the heap, for the memory budget of the query.
    pub fn heap_bytes(&self) -> usize {
        self.seen_bytes
            + match &self.state {
                State::Extreme(value) => value.heap_bytes(),
                State::ByteBits(bits) => bits.as_ref().map_or(0, |bits| bits.len()),
                State::Concat(concatenation) => concatenation.heap_bytes(),
                State::Json(items) => items
                    .iter()
                    .map(|(name, value)| 64 + name.len() + node_bytes(value))
                    .sum(),
                _ => 0,
            }
    }

    pub(super) fn add(&mut self, call: &AggregateCall, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<()> {
        // The quick ones: a count, a sum of a column.
        if let (State::Count(count), None) = (&mut self.state, &self.seen) {
            let counts = match call.args.first() {
                None => true,
                // A constant that is not NULL need not be known.
                Some(arg) if !arg.ty.nullable && arg.is_constant() => true,
                Some(arg) => !arg.eval_ref(row, ctx)?.is_null(),
            };
            *count += u64::from(counts);
            return Ok(());
        }
        if self.seen.is_none() && call.args.len() == 1 && !matches!(self.state, State::Concat(_) | State::Json(_)) {
            let value = self.operand(&call.args[0], call.args[0].eval_ref(row, ctx)?, ctx)?;
            return if value.is_null() {
                Ok(())
            } else {
                self.take(call, &value, ctx)
            };
        }
        let values = call
            .args
            .iter()
            .map(|arg| arg.eval(row, ctx))
            .collect::<SqlResult<Vec<Value>>>()?;
        if let State::Json(items) = &mut self.state {
            return add_json(call, items, &values);
        }
        if values.iter().any(Value::is_null) || !self.is_new(call, &values) {
            return Ok(());
        }
        match &mut self.state {
            State::Concat(concatenation) => concatenation.add(call, &values, row, ctx),
            State::Count(count) => {
                *count += 1;
                Ok(())
            }
            _ => {
                let value = self.operand(&call.args[0], Cow::Borrowed(&values[0]), ctx)?;
                self.take(call, &value, ctx)
            }
        }
    }

    /// What is computed of numbers reads a TEXT column without a warning.
    fn operand<'v>(&self, arg: &Expr, value: Cow<'v, Value>, ctx: &EvalContext<'_>) -> SqlResult<Cow<'v, Value>> {
        Ok(match self.state {
            State::Approximate { .. } | State::Variance { .. } => convert::as_operand_of_double(arg, value),
            State::Bits(_) if matches!(value.as_ref(), Value::Str(_)) => {
                Cow::Owned(Value::UInt(convert::bits_of(arg, &value, ctx)?))
            }
            _ => value,
        })
    }

    /// Whether DISTINCT has not met the values before.
    fn is_new(&mut self, call: &AggregateCall, values: &[Value]) -> bool {
        let Some(seen) = &mut self.seen else { return true };
        let collation = |i: usize| match call.args[i].ty.kind {
            TypeKind::Enum | TypeKind::Set | TypeKind::Json => CollationId::BINARY,
            _ => call.args[i].ty.collation,
        };
        let key = group_key(values, collation);
        let bytes = key.len() + 32;
        let new = seen.insert(key);
        if new {
            self.seen_bytes += bytes;
        }
        new
    }

    fn take(&mut self, call: &AggregateCall, value: &Value, ctx: &EvalContext<'_>) -> SqlResult<()> {
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Exact { whole, sum, count } => {
                *count += 1;
                match value {
                    Value::Int(number) => add_whole(whole, sum, i128::from(*number), call)?,
                    Value::UInt(number) => add_whole(whole, sum, i128::from(*number), call)?,
                    other => {
                        let number = convert::to_decimal(other, ctx)?;
                        *sum = sum.checked_add(number).map_err(|_| out_of_range(call))?;
                    }
                }
            }
            State::Approximate { sum, count } => {
                *count += 1;
                *sum += convert::to_f64(value, ctx)?;
            }
            State::Extreme(best) => {
                let better = if call.function == AggregateFunction::Min {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
                let replace = match call.comparisons()[0].compare(value, best, ctx)? {
                    Some(order) => order == better,
                    None => best.is_null(),
                };
                if replace {
                    *best = value.clone();
                }
            }
            State::Bits(bits) => {
                let operand = convert::to_bits(value, ctx)?;
                match call.function {
                    AggregateFunction::BitAnd => *bits &= operand,
                    AggregateFunction::BitOr => *bits |= operand,
                    _ => *bits ^= operand,
                }
            }
            State::ByteBits(bits) => {
                let Value::Bytes(operand) = value else {
                    return Err(SqlError::internal("a binary string is no bytes"));
                };
                *bits = Some(match bits {
                    None => operand.to_vec().into(),
                    Some(bits) => arithmetic::binary_bits(bit_op(call.function), bits, operand)?.into(),
                });
            }
            State::Variance { count, mean, squares } => {
                let number = convert::to_f64(value, ctx)?;
                *count += 1;
                if *count == 1 {
                    *mean = number;
                } else {
                    let distance = number - *mean;
                    *mean += distance / *count as f64;
                    *squares += distance * (number - *mean);
                }
            }
            State::Concat(_) | State::Json(_) => {
                return Err(SqlError::internal("an aggregate over several values was given one"));
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, call: &AggregateCall, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<bool> {
        if self.seen.is_some() {
            return Ok(false);
        }
        let value = match call.args.as_slice() {
            [] => Value::Int(1),
            [arg] => arg.eval(row, ctx)?,
            _ => return Ok(false),
        };
        if value.is_null() {
            return Ok(!matches!(self.state, State::Json(_)));
        }
        match &mut self.state {
            State::Count(count) => *count -= 1,
            State::Exact { whole, sum, count } => {
                match value {
                    Value::Int(number) => add_whole(whole, sum, -i128::from(number), call)?,
                    Value::UInt(number) => add_whole(whole, sum, -i128::from(number), call)?,
                    other => {
                        let number = convert::to_decimal(&other, ctx)?;
                        *sum = sum.checked_sub(number).map_err(|_| out_of_range(call))?;
                    }
                }
                *count -= 1;
            }
            // What was not the extreme one is not missed.
            State::Extreme(best) => {
                let order = call.comparisons()[0].compare(&value, best, ctx)?;
                return Ok(order.is_some_and(|order| order != Ordering::Equal));
            }
            State::Approximate { .. }
            | State::Bits(_)
            | State::ByteBits(_)
            | State::Variance { .. }
            | State::Concat(_)
            | State::Json(_) => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn finish(&self, call: &AggregateCall, ctx: &EvalContext<'_>) -> SqlResult<Value> {
        Ok(match &self.state {
            State::Count(count) => Value::Int(*count as i64),
            State::Exact { count: 0, .. } | State::Approximate { count: 0, .. } => Value::Null,
            State::Exact { whole, sum, count } => {
                let sum = sum
                    .checked_add(Decimal::from_scaled(*whole, 0))
                    .map_err(|_| out_of_range(call))?;
                if call.function == AggregateFunction::Avg {
                    // With the digits beyond those of its type, as a division.
                    let average = sum.div_extended(Decimal::from(*count), ctx.settings.div_precision_increment);
                    let average = average.ok().flatten().ok_or_else(|| out_of_range(call))?;
                    return Ok(Value::Decimal(average));
                }
                Value::Decimal(sum.round(call.ty.decimals).map_err(|_| out_of_range(call))?)
            }
            State::Approximate { sum, count } => {
                let result = if call.function == AggregateFunction::Avg {
                    sum / *count as f64
                } else {
                    *sum
                };
                super::super::arithmetic::finite(result, &|| call.to_string())?
            }
            State::Extreme(value) => value.clone(),
            State::Bits(bits) => Value::UInt(*bits),
            State::ByteBits(Some(bits)) => Value::Bytes(bits.to_vec().into()),
            // Of as many bytes as the argument may have.
            State::ByteBits(None) => {
                let byte = match call.function {
                    AggregateFunction::BitAnd => 0xff,
                    _ => 0,
                };
                Value::Bytes(vec![byte; call.args[0].ty.length as usize].into())
            }
            State::Variance { count, squares, .. } => {
                let sample = matches!(
                    call.function,
                    AggregateFunction::VarSamp | AggregateFunction::StddevSamp
                );
                let divisor = if sample { count.saturating_sub(1) } else { *count };
                if divisor == 0 {
                    return Ok(Value::Null);
                }
                let variance = squares / divisor as f64;
                let root = matches!(
                    call.function,
                    AggregateFunction::StddevPop | AggregateFunction::StddevSamp
                );
                let result = if root { variance.sqrt() } else { variance };
                super::super::arithmetic::finite(result, &|| call.to_string())?
            }
            State::Concat(concatenation) => concatenation.finish(call, ctx)?,
            State::Json(items) => finish_json(call, items)?,
        })
    }
}

/// Adds to the integer part of a sum, which moves over to the decimal before it overflows.
fn add_whole(whole: &mut i128, sum: &mut Decimal, number: i128, call: &AggregateCall) -> SqlResult<()> {
    const HIGH: i128 = i128::MAX / 4;
    *whole += number;
    if !(-HIGH..HIGH).contains(whole) {
        *sum = sum
            .checked_add(Decimal::from_scaled(*whole, 0))
            .map_err(|_| out_of_range(call))?;
        *whole = 0;
    }
    Ok(())
}

fn out_of_range(call: &AggregateCall) -> SqlError {
    SqlError::new(ErrorKind::DataOutOfRange, &[&"DECIMAL", &call.to_string()])
}

/// JSON_OBJECTAGG refuses NULL names (3158); of equal names the last counts.
fn add_json(call: &AggregateCall, items: &mut Vec<(String, Node)>, values: &[Value]) -> SqlResult<()> {
    let name = match (call.function, &values[0]) {
        (AggregateFunction::JsonArrayAgg, _) => String::new(),
        (_, Value::Null) => return Err(ErrorKind::JsonDocumentNullKey.into()),
        (_, name) => convert::to_text_as(name, &call.args[0].ty).into_owned(),
    };
    let last = values.len() - 1;
    items.push((name, json::node(&values[last], &call.args[last])));
    Ok(())
}

fn finish_json(call: &AggregateCall, items: &[(String, Node)]) -> SqlResult<Value> {
    if items.is_empty() {
        return Ok(Value::Null);
    }
    let document = match call.function {
        AggregateFunction::JsonArrayAgg => {
            let mut copies = Stepwise::from(Vec::with_capacity(items.len()));
            for (_, value) in items {
                governor::tick()?;
                copies.push(value.clone());
            }
            Node::Array(copies)
        }
        _ => {
            let mut copies = Stepwise::from(Vec::with_capacity(items.len()));
            for item in items {
                governor::tick()?;
                copies.push(item.clone());
            }
            Node::Object(Members::new(std::mem::take(&mut *copies)))
        }
    };
    json::finish(&document)
}

/// A rough size on the heap.
fn node_bytes(node: &Node) -> usize {
    size_of::<Node>()
        + match node {
            Node::Str(text) => text.len(),
            Node::Opaque(_, bytes) => bytes.len(),
            Node::Array(items) => items.iter().map(node_bytes).sum(),
            Node::Object(members) => members.iter().map(|(name, value)| name.len() + node_bytes(value)).sum(),
            _ => 0,
        }
}

fn bit_op(function: AggregateFunction) -> BitOp {
    match function {
        AggregateFunction::BitAnd => BitOp::And,
        AggregateFunction::BitOr => BitOp::Or,
        _ => BitOp::Xor,
    }
}
