//! What an XPath query finds in a document.

use std::borrow::Cow;
use std::cmp::Ordering;

use types::error::ErrorKind;
use types::{CollationId, SqlResult, Value};

use super::document::{Document, Kind};
use super::xpath::{Axis, Expr, Function, Operator, Path, Start, Step};
use crate::context::EvalContext;
use crate::convert;
use crate::functions::args::Args;

pub enum Found {
    /// Each once, in the order of the document.
    Nodes(Vec<usize>),
    /// None is NULL.
    Number(Option<f64>),
    Truth(bool),
    Text(String),
}

/// A node among those that a step has found from one node.
#[derive(Clone, Copy)]
struct Context {
    node: usize,
    /// From 1 on.
    position: usize,
    size: usize,
}

pub struct Evaluation<'a> {
    document: &'a Document<'a>,
    ctx: &'a EvalContext<'a>,
    collation: CollationId,
}

impl<'a> Evaluation<'a> {
    pub fn new(document: &'a Document<'a>, args: &Args<'a>) -> Evaluation<'a> {
        Evaluation {
            document,
            ctx: args.ctx,
            collation: args.ty.collation,
        }
    }

    pub fn whole(&self, query: &Expr) -> SqlResult<Found> {
        let root = Context {
            node: 0,
            position: 1,
            size: 1,
        };
        self.expr(query, root)
    }

    /// The texts right in the nodes, with blanks between them.
    pub fn text(&self, found: &Found) -> SqlResult<Option<String>> {
        Ok(match found {
            Found::Nodes(nodes) => {
                let mut text = String::new();
                let mut is_first = true;
                for piece in self.ordered_texts(nodes)? {
                    governor::tick()?;
                    if !is_first {
                        text.push(' ');
                    }
                    governor::ensure(self.document.name(piece).len())?;
                    text.push_str(self.document.name(piece));
                    is_first = false;
                }
                Some(text)
            }
            Found::Number(number) => number.map(shown),
            Found::Truth(truth) => Some(u8::from(*truth).to_string()),
            Found::Text(text) => Some(text.clone()),
        })
    }

    fn texts(&self, node: usize) -> impl Iterator<Item = usize> {
        let nodes = &self.document.nodes;
        self.document
            .children(node)
            .filter(move |child| nodes[*child].kind == Kind::Text)
    }

    /// Texts of an element may stand behind those of elements in it.
    fn ordered_texts(&self, nodes: &[usize]) -> SqlResult<Vec<usize>> {
        let mut texts = Vec::new();
        for node in nodes {
            for text in self.texts(*node) {
                governor::tick()?;
                texts.push(text);
            }
        }
        governor::sort::sort_by(&mut texts, Ord::cmp)?;
        Ok(texts)
    }

    fn number(&self, found: &Found) -> SqlResult<Option<f64>> {
        Ok(match found {
            Found::Number(number) => *number,
            Found::Truth(truth) => Some(f64::from(u8::from(*truth))),
            Found::Nodes(_) | Found::Text(_) => match self.text(found)? {
                Some(text) if !text.is_empty() => Some(convert::to_f64(&Value::from(text), self.ctx)?),
                _ => Some(0.0),
            },
        })
    }

    fn truth(&self, found: &Found) -> SqlResult<bool> {
        Ok(match found {
            Found::Nodes(nodes) => !nodes.is_empty(),
            Found::Truth(truth) => *truth,
            Found::Number(_) | Found::Text(_) => self.number(found)?.is_some_and(|number| number != 0.0),
        })
    }

    fn expr(&self, expr: &Expr, context: Context) -> SqlResult<Found> {
        governor::tick()?;
        governor::descend()?;
        Ok(match expr {
            Expr::Path(path) => Found::Nodes(self.path(path, context)?),
            Expr::Union(sets) => {
                let mut all = Vec::new();
                for set in sets {
                    if let Found::Nodes(nodes) = self.expr(set, context)? {
                        all.extend(nodes);
                    }
                }
                Found::Nodes(sorted(all)?)
            }
            Expr::Number(number) => Found::Number(Some(*number)),
            Expr::Text(text) => Found::Text(text.clone()),
            Expr::UserVariable(name) => match self.ctx.services.user_variable(name).map(|variable| variable.value) {
                None | Some(Value::Null) => Found::Number(None),
                Some(value @ (Value::Int(_) | Value::UInt(_) | Value::Double(_) | Value::Decimal(_))) => {
                    Found::Number(Some(convert::to_f64(&value, self.ctx)?))
                }
                Some(value) => Found::Text(value.to_string()),
            },
            Expr::Call(function, arguments) => self.call(*function, arguments, context)?,
            Expr::Negative(operand) => {
                let operand = self.expr(operand, context)?;
                Found::Number(self.number(&operand)?.map(|number| -number))
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right, context)?,
        })
    }

    fn path(&self, path: &Path, context: Context) -> SqlResult<Vec<usize>> {
        let mut nodes = match &path.start {
            Start::Root => vec![0],
            Start::Context => vec![context.node],
            Start::Nodes(expr) => match self.expr(expr, context)? {
                Found::Nodes(nodes) => nodes,
                _ => Vec::new(),
            },
        };
        for step in &path.steps {
            let mut found = Vec::new();
            for node in nodes {
                governor::tick()?;
                found.extend(self.step(step, node)?);
            }
            nodes = sorted(found)?;
        }
        Ok(nodes)
    }

    /// What a step finds from one node, the nearest first.
    fn step(&self, step: &Step, from: usize) -> SqlResult<Vec<usize>> {
        let nodes = &self.document.nodes;
        let mut found = Vec::new();
        let mut take = |node: usize| -> SqlResult<()> {
            governor::tick()?;
            if step.name.as_deref().is_none_or(|name| name == self.document.name(node)) {
                found.push(node);
            }
            Ok(())
        };
        match step.axis {
            Axis::Itself => take(from)?,
            Axis::Parent => take(nodes[from].parent)?,
            Axis::Child | Axis::Attribute => {
                let kind = match step.axis {
                    Axis::Attribute => Kind::Attribute,
                    _ => Kind::Element,
                };
                let mut children = self.document.children(from);
                children.try_for_each(|node| match nodes[node].kind == kind {
                    true => take(node),
                    false => Ok(governor::tick()?),
                })?;
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                if step.axis == Axis::DescendantOrSelf {
                    take(from)?;
                }
                let mut below = from + 1..nodes[from].end;
                below.try_for_each(|node| match nodes[node].kind == Kind::Element {
                    true => take(node),
                    false => Ok(governor::tick()?),
                })?;
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                if step.axis == Axis::AncestorOrSelf {
                    take(from)?;
                }
                let mut node = nodes[from].parent;
                while node != 0 {
                    take(node)?;
                    node = nodes[node].parent;
                }
            }
        }
        for predicate in &step.predicates {
            found = self.filtered(found, predicate)?;
        }
        Ok(found)
    }

    fn filtered(&self, nodes: Vec<usize>, predicate: &Expr) -> SqlResult<Vec<usize>> {
        let size = nodes.len();
        let mut kept = Vec::new();
        for (place, node) in nodes.into_iter().enumerate() {
            governor::tick()?;
            let context = Context {
                node,
                position: place + 1,
                size,
            };
            let found = self.expr(predicate, context)?;
            let is_kept = match predicate.gives_truth() {
                true => self.truth(&found)?,
                false => self
                    .number(&found)?
                    .is_some_and(|number| number.round() == context.position as f64),
            };
            if is_kept {
                kept.push(node);
            }
        }
        Ok(kept)
    }

    fn binary(&self, operator: Operator, left: &Expr, right: &Expr, context: Context) -> SqlResult<Found> {
        let left = self.expr(left, context)?;
        match operator {
            Operator::And if !self.truth(&left)? => return Ok(Found::Truth(false)),
            Operator::Or if self.truth(&left)? => return Ok(Found::Truth(true)),
            _ => {}
        }
        let right = self.expr(right, context)?;
        let compared = |is_such: fn(Ordering) -> bool| self.compared(&left, &right, is_such).map(Found::Truth);
        let (number, other) = match operator {
            Operator::Or | Operator::And => return Ok(Found::Truth(self.truth(&right)?)),
            Operator::Equal => return compared(Ordering::is_eq),
            Operator::NotEqual => return compared(Ordering::is_ne),
            Operator::Less => return compared(Ordering::is_lt),
            Operator::LessOrEqual => return compared(Ordering::is_le),
            Operator::Greater => return compared(Ordering::is_gt),
            Operator::GreaterOrEqual => return compared(Ordering::is_ge),
            _ => (self.number(&left)?, self.number(&right)?),
        };
        let (Some(number), Some(other)) = (number, other) else {
            return Ok(Found::Number(None));
        };
        if matches!(operator, Operator::Divide | Operator::Remainder) && other == 0.0 {
            self.ctx.warn(ErrorKind::DivisionByZero.into())?;
            return Ok(Found::Number(None));
        }
        Ok(Found::Number(Some(match operator {
            Operator::Add => number + other,
            Operator::Subtract => number - other,
            Operator::Multiply => number * other,
            // MySQL divides to whole numbers.
            Operator::Divide => (number / other).trunc(),
            _ => number % other,
        })))
    }

    /// Of a set of nodes, one whose text compares so is enough.
    fn compared(&self, left: &Found, right: &Found, is_such: fn(Ordering) -> bool) -> SqlResult<bool> {
        let (nodes, other, order): (_, _, fn(Ordering) -> Ordering) = match (left, right) {
            (Found::Nodes(nodes), other) => (nodes, other, |order| order),
            (other, Found::Nodes(nodes)) => (nodes, other, Ordering::reverse),
            _ => return Ok(self.order(left, right)?.is_some_and(is_such)),
        };
        for node in nodes {
            for text in self.texts(*node) {
                governor::tick()?;
                let text = Found::Text(self.document.name(text).to_owned());
                if self.order(&text, other)?.map(order).is_some_and(is_such) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Texts compare as texts, all else as numbers. None where one is NULL.
    fn order(&self, left: &Found, right: &Found) -> SqlResult<Option<Ordering>> {
        if let (Found::Text(left), Found::Text(right)) = (left, right) {
            return Ok(Some(self.collation.compare(left.as_bytes(), right.as_bytes())));
        }
        let (left, right) = (self.number(left)?, self.number(right)?);
        Ok(left.zip(right).and_then(|(left, right)| left.partial_cmp(&right)))
    }

    fn call(&self, function: Function, arguments: &[Expr], context: Context) -> SqlResult<Found> {
        let own = || Found::Nodes(vec![context.node]);
        let found = arguments
            .iter()
            .map(|argument| self.expr(argument, context))
            .collect::<SqlResult<Vec<_>>>()?;
        let text = |at: usize| -> SqlResult<Cow<'_, str>> {
            Ok(match found.get(at) {
                Some(Found::Text(text)) => Cow::Borrowed(&**text),
                Some(found) => Cow::Owned(self.text(found)?.unwrap_or_default()),
                None => Cow::Owned(self.text(&own())?.unwrap_or_default()),
            })
        };
        let number = |at: usize| match found.get(at) {
            Some(found) => self.number(found),
            None => self.number(&own()),
        };
        let rounded = |round: fn(f64) -> f64| -> SqlResult<Found> { Ok(Found::Number(number(0)?.map(round))) };
        let count = |count: usize| Ok(Found::Number(Some(count as f64)));
        match function {
            Function::True => Ok(Found::Truth(true)),
            Function::False => Ok(Found::Truth(false)),
            Function::Boolean => Ok(Found::Truth(self.truth(&found[0])?)),
            Function::Not => Ok(Found::Truth(!self.truth(&found[0])?)),
            Function::Ceiling => rounded(f64::ceil),
            Function::Floor => rounded(f64::floor),
            Function::Round => rounded(f64::round_ties_even),
            Function::Number => Ok(Found::Number(number(0)?)),
            Function::Position => count(context.position),
            Function::Last => count(context.size),
            Function::Count => match &found[0] {
                Found::Nodes(nodes) => count(nodes.len()),
                _ => count(0),
            },
            Function::Sum => self.sum(&found[0]),
            Function::Contains => Ok(Found::Truth(
                self.collation
                    .find(text(0)?.as_bytes(), text(1)?.as_bytes(), 0)
                    .is_some(),
            )),
            Function::StringLength => count(self.collation.char_count(text(0)?.as_bytes())),
            Function::Concat => {
                let mut joined = String::new();
                for at in 0..found.len() {
                    let piece = text(at)?;
                    governor::ensure(joined.len() + piece.len())?;
                    joined.push_str(&piece);
                }
                Ok(Found::Text(joined))
            }
            Function::Substring => {
                let length = if found.len() > 2 { number(2)? } else { Some(f64::MAX) };
                Ok(Found::Text(substring(&text(0)?, number(1)?, length)))
            }
        }
    }

    fn sum(&self, found: &Found) -> SqlResult<Found> {
        let mut sum = 0.0;
        if let Found::Nodes(nodes) = found {
            for text in self.ordered_texts(nodes)? {
                governor::tick()?;
                let text = Value::from(self.document.name(text).to_owned());
                sum += convert::to_f64(&text, self.ctx)?;
            }
        }
        Ok(Found::Number(Some(sum)))
    }
}

/// In the order of the document, each once.
fn sorted(mut nodes: Vec<usize>) -> SqlResult<Vec<usize>> {
    governor::sort::sort_by(&mut nodes, Ord::cmp)?;
    nodes.dedup_by(|one, other| {
        governor::pause();
        one == other
    });
    Ok(nodes)
}

/// From the character of that number on, as SUBSTRING counts: from the end where it is negative, nothing where it is 0.
fn substring(text: &str, from: Option<f64>, length: Option<f64>) -> String {
    let (Some(from), Some(length)) = (from, length) else {
        return String::new();
    };
    let (from, length) = (from.round(), length.round());
    if from == 0.0 || length < 1.0 {
        return String::new();
    }
    let skipped = match from > 0.0 {
        true => from as usize - 1,
        false => match text.chars().count().checked_sub(-from as usize) {
            Some(skipped) => skipped,
            None => return String::new(),
        },
    };
    text.chars().skip(skipped).take(length as usize).collect()
}

/// Without the digits in which doubles differ from the decimals that MySQL computes with.
fn shown(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    // There is no -0 among decimals.
    Value::Double(rounded + 0.0).to_string()
}
