//! Queries inside expressions, and the query of INSERT … SELECT.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::rc::Rc;

use types::{SqlResult, SqlType, Value};

use super::{collect, runtime};
use crate::exec::Runtime;
use crate::exec::dml::RowSource;
use crate::expr::{Comparison, EvalContext, Subquery};
use crate::plan::query::QueryPlan;

/// Rows that are computed once in a statement and read often.
#[derive(Debug, Default)]
pub struct KeptRows {
    pub rows: Vec<Vec<Value>>,
    /// Keys of the rows, for IN; made at the first use.
    pub keys: std::cell::OnceCell<Option<KeySet>>,
}

impl KeptRows {
    pub fn new(rows: Vec<Vec<Value>>) -> KeptRows {
        KeptRows {
            rows,
            keys: std::cell::OnceCell::new(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Vec<Value>> {
        self.rows.iter()
    }
}

/// The keys of one-column rows, for a quick IN.
#[derive(Debug)]
pub struct KeySet {
    keys: HashSet<Vec<u8>>,
    has_null: bool,
    /// What the values are, so that only comparable ones are looked up.
    kind: ValueKind,
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

/// A planned subquery.
#[derive(Debug)]
pub struct SubqueryPlan {
    plan: QueryPlan,
    types: Vec<SqlType>,
    deterministic: bool,
}

impl SubqueryPlan {
    pub fn new(plan: QueryPlan, deterministic: bool) -> SubqueryPlan {
        let types = plan.column_types();
        SubqueryPlan {
            plan,
            types,
            deterministic,
        }
    }

    pub fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    fn place(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    fn kept(&self, ctx: &EvalContext<'_>) -> SqlResult<Rc<KeptRows>> {
        runtime(ctx)?.kept_rows(self.place(), || collect(&self.plan, ctx))
    }
}

impl Subquery for SubqueryPlan {
    fn columns(&self) -> &[SqlType] {
        &self.types
    }

    fn is_correlated(&self) -> bool {
        self.plan.correlated
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    fn run(&self, ctx: &EvalContext<'_>, row: &mut dyn FnMut(&[Value]) -> SqlResult<ControlFlow<()>>) -> SqlResult<()> {
        if self.plan.correlated {
            return self.plan.rows(ctx, row);
        }
        let kept = self.kept(ctx)?;
        for kept_row in kept.iter() {
            governor::tick()?;
            if row(kept_row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn contains(&self, ctx: &EvalContext<'_>, hows: &[Comparison], key: &[Value]) -> Option<SqlResult<Option<bool>>> {
        let ([how], [value]) = (hows, key) else { return None };
        if self.plan.correlated {
            return None;
        }
        let collation = match how {
            Comparison::Integer => types::CollationId::BINARY,
            Comparison::Text(collation) => *collation,
            _ => return None,
        };
        let kept = match self.kept(ctx) {
            Ok(kept) => kept,
            Err(error) => return Some(Err(error)),
        };
        let keys = kept.keys.get_or_init(|| {
            let first = kept.rows.iter().find_map(|row| value_kind(&row[0]))?;
            let mut set = KeySet {
                keys: HashSet::with_capacity(kept.rows.len()),
                has_null: false,
                kind: first,
            };
            for row in &kept.rows {
                // Cut short, the set is not looked at any more.
                if !governor::go_on() {
                    break;
                }
                match &row[0] {
                    Value::Null => set.has_null = true,
                    value if value_kind(value) == Some(first) => {
                        let mut key = Vec::new();
                        crate::expr::aggregate::write_group_key(value, collation, &mut key);
                        set.keys.insert(key);
                    }
                    _ => return None,
                }
            }
            Some(set)
        });
        if let Err(stop) = governor::check() {
            return Some(Err(stop.into()));
        }
        let set = keys.as_ref()?;
        if value.is_null() {
            return Some(Ok(if kept.rows.is_empty() { Some(false) } else { None }));
        }
        if value_kind(value) != Some(set.kind) {
            return None;
        }
        let mut key = Vec::new();
        crate::expr::aggregate::write_group_key(value, collation, &mut key);
        Some(Ok(match set.keys.contains(&key) {
            true => Some(true),
            false if set.has_null => None,
            false => Some(false),
        }))
    }
}

/// The query of INSERT … SELECT.
#[derive(Debug)]
pub struct InsertSource {
    pub plan: QueryPlan,
    /// Its rows are complete before the first is inserted.
    pub reads_target: bool,
}

impl RowSource for InsertSource {
    fn plan(&self) -> &QueryPlan {
        &self.plan
    }

    fn is_buffered(&self) -> bool {
        self.reads_target
    }

    fn rows(
        &self,
        _runtime: &Runtime<'_>,
        ctx: &EvalContext<'_>,
        take: &mut dyn FnMut(&[Value]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        if self.reads_target {
            for row in collect(&self.plan, ctx)? {
                take(&row)?;
            }
            return Ok(());
        }
        self.plan
            .rows(ctx, &mut |row| take(row).map(|()| ControlFlow::Continue(())))
    }
}
