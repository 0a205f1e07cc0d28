//! Queries inside expressions.

use std::ops::ControlFlow;
use std::rc::Rc;

use governor::stepwise::Set;
use sql_expr::{Comparison, EvalContext, Expr, Subquery, SubqueryRunner};
use sql_plan::query::SubqueryPlan;
use types::{SqlError, SqlResult, Value};

use super::memo::{Memo, key_of as memo_key};
use super::{QueryContext, Rows, collect};
use crate::runtime::Runtime;

/// Rows that are computed once in a statement and read often.
#[derive(Debug, Default)]
pub struct KeptRows {
    pub rows: Rows,
    /// Keys of the rows, for IN; made at the first use.
    pub keys: std::cell::OnceCell<Option<KeySet>>,
}

impl KeptRows {
    pub fn new(rows: Rows) -> KeptRows {
        KeptRows {
            rows,
            keys: std::cell::OnceCell::new(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Vec<Value>> {
        self.rows.iter()
    }
}

/// The keys of rows, for a quick IN.
#[derive(Debug)]
pub struct KeySet {
    keys: Set<Vec<u8>>,
    /// Rows of one column only: with more, a NULL beside another value may still tell.
    has_null: bool,
    /// What the values of each column are, so that only comparable ones are looked up.
    kinds: Vec<ValueKind>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Integer,
    Text,
}

fn value_kind(value: &Value) -> Option<ValueKind> {
    match value {
        Value::Int(_) | Value::UInt(_) => Some(ValueKind::Integer),
        Value::Str(_) => Some(ValueKind::Text),
        _ => None,
    }
}

/// The plan behind what the binder made of a subquery.
fn planned(subquery: &dyn Subquery) -> SqlResult<&SubqueryPlan> {
    subquery
        .as_any()
        .downcast_ref()
        .ok_or_else(|| SqlError::internal("a subquery without a plan"))
}

/// The rows of a subquery that is not correlated, computed at the first use.
fn kept(subquery: &SubqueryPlan, ctx: &QueryContext<'_>) -> SqlResult<Rc<KeptRows>> {
    let place = std::ptr::from_ref(subquery) as usize;
    ctx.runtime.kept_rows(place, || collect(subquery.plan(), ctx))
}

/// The row of an aggregate, computed unless it was for the same values of the rows around.
fn known_row(
    subquery: &SubqueryPlan,
    columns: &[Expr],
    ctx: &QueryContext<'_>,
    give: &mut dyn FnMut(&[Value]) -> SqlResult<ControlFlow<()>>,
) -> SqlResult<()> {
    let place = std::ptr::from_ref(subquery) as usize;
    let memo = ctx.runtime.memo(place, || Memo::new(ctx));
    if memo.borrow().is_given_up() {
        return super::query_rows(subquery.plan(), ctx, give);
    }
    let key = memo_key(columns, ctx)?;
    let known = memo.borrow_mut().find(&key).map(<[Value]>::to_vec);
    if let Some(row) = known {
        let _one = give(&row)?;
        return Ok(());
    }
    let warned = ctx.with_warnings(|warnings| warnings.count());
    let mut one = None;
    super::query_rows(subquery.plan(), ctx, &mut |row| {
        one = Some(row.to_vec());
        give(row)
    })?;
    // What warns does so for each row around.
    if let Some(row) = one
        && ctx.with_warnings(|warnings| warnings.count()) == warned
    {
        memo.borrow_mut().keep(key, row);
    }
    Ok(())
}

impl SubqueryRunner for Runtime<'_> {
    fn call(&self, function: &dyn Subquery, args: &[Value], once: bool, ctx: &EvalContext<'_>) -> SqlResult<Value> {
        match once {
            true => self.kept_value(function, || self.programs()?.call(function, args, ctx)),
            false => self.programs()?.call(function, args, ctx),
        }
    }

    fn run(
        &self,
        subquery: &dyn Subquery,
        ctx: &EvalContext<'_>,
        row: &mut dyn FnMut(&[Value]) -> SqlResult<ControlFlow<()>>,
    ) -> SqlResult<()> {
        let subquery = planned(subquery)?;
        let ctx = QueryContext::new(self, ctx);
        if subquery.is_correlated() {
            return match subquery.plan().determined_by() {
                Some(columns) => known_row(subquery, columns, &ctx, row),
                None => super::query_rows(subquery.plan(), &ctx, row),
            };
        }
        let kept = kept(subquery, &ctx)?;
        for kept_row in kept.iter() {
            governor::tick()?;
            if row(kept_row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn contains(
        &self,
        subquery: &dyn Subquery,
        ctx: &EvalContext<'_>,
        hows: &[Comparison],
        key: &[Value],
    ) -> Option<SqlResult<Option<bool>>> {
        if subquery.is_correlated() {
            return None;
        }
        let mut collations = Vec::with_capacity(hows.len());
        for how in hows {
            collations.push(match how {
                Comparison::Integer => types::CollationId::BINARY,
                Comparison::Text(collation) => *collation,
                _ => return None,
            });
        }
        let kept = match planned(subquery).and_then(|subquery| kept(subquery, &QueryContext::new(self, ctx))) {
            Ok(kept) => kept,
            Err(error) => return Some(Err(error)),
        };
        let keys = kept.keys.get_or_init(|| key_set(&kept.rows, &collations));
        if let Err(stop) = governor::check() {
            return Some(Err(stop.into()));
        }
        let set = keys.as_ref()?;
        if let [Value::Null] = key {
            return Some(Ok(None));
        }
        let key = key_of(key, &set.kinds, &collations)?;
        Some(Ok(match set.keys.contains(&key) {
            true => Some(true),
            false if set.has_null => None,
            false => Some(false),
        }))
    }
}

/// `None`: the rows have to be compared one by one.
fn key_set(rows: &Rows, collations: &[types::CollationId]) -> Option<KeySet> {
    let one_column = collations.len() == 1;
    let mut kinds = Vec::with_capacity(collations.len());
    for column in 0..collations.len() {
        kinds.push(rows.iter().find_map(|row| value_kind(&row[column]))?);
    }
    let mut set = KeySet {
        keys: Set::new(),
        has_null: false,
        kinds,
    };
    for row in rows {
        // Cut short, the set is not looked at any more.
        if !governor::go_on() {
            break;
        }
        match row.as_slice() {
            [Value::Null] if one_column => set.has_null = true,
            row => {
                set.keys.insert(key_of(row, &set.kinds, collations)?);
            }
        }
    }
    Some(set)
}

/// What equal rows share; `None` where a value is NULL, or of another kind than those that it is looked up among.
fn key_of(row: &[Value], kinds: &[ValueKind], collations: &[types::CollationId]) -> Option<Vec<u8>> {
    let mut key = Vec::new();
    for ((value, kind), collation) in row.iter().zip(kinds).zip(collations) {
        if value_kind(value) != Some(*kind) {
            return None;
        }
        sql_expr::aggregate::write_group_key(value, *collation, &mut key);
    }
    Some(key)
}
