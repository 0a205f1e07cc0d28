//! The table of functions. A function is one row of its family's table: name, number of arguments, a function that gives the
//! result's type (and may convert arguments), and one that computes.
//!
//! Functions with a syntax of their own (`CAST`, `TRIM(BOTH ..)`, `EXTRACT(.. FROM ..)`) are rows too: the binder turns the
//! syntax into arguments.

mod aes;
mod args;
mod bit;
pub mod control;
mod crypto;
mod gtid;
mod info;
pub(crate) mod json;
mod json_schema;
mod network;
mod numeric;
mod regexp;
mod statement_digest;
mod string;
mod temporal;
mod temporal_format;
pub(crate) mod temporal_math;
mod text_format;
mod text_search;
mod xml;

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use types::{SqlResult, SqlType, Value};

pub use json::is_boolean;

use super::context::EvalContext;
use super::{Coercibility, Expr};

pub use args::{Args, Inference, printed_chars, string_type, units_of};
pub use text_format::lower_hex;

/// A row of the table.
pub struct Function {
    /// Upper case.
    pub name: &'static str,
    pub arity: Arity,
    pub infer: Infer,
    pub eval: Eval,
    pub stability: Stability,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arity {
    pub least: usize,
    /// None: any number.
    pub most: Option<usize>,
}

/// Gives the type of the result; may convert the arguments.
pub type Infer = fn(&mut Inference<'_>) -> SqlResult<SqlType>;

#[derive(Clone, Copy)]
pub enum Eval {
    /// Gets its arguments computed; is NULL where one of them is.
    Strict(fn(&Args<'_>) -> SqlResult<Value>),
    /// Gets its arguments computed, NULLs among them.
    Nullable(fn(&Args<'_>) -> SqlResult<Value>),
    /// As `Nullable`; is NULL, and computes no further argument, where one at these places is.
    Until(fn(usize) -> bool, fn(&Args<'_>) -> SqlResult<Value>),
    /// As `Strict`, and decimal arguments come with all the digits that they were computed with.
    Exact(fn(&Args<'_>) -> SqlResult<Value>),
    /// Computes those of its arguments that it needs.
    Lazy(fn(&Expr, &[Expr], &[Value], &EvalContext<'_>) -> SqlResult<Value>),
}

/// How long a result holds for equal arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stability {
    /// For ever: constant calls are computed when binding.
    Immutable,
    /// As long as variables of the session stay: its locale, its time zone. Definitions may use it, as in MySQL.
    Session,
    /// Until the statement ends: `NOW()`, `DATABASE()`.
    Statement,
    /// Not even within the statement: `RAND()`, `UUID()`.
    Volatile,
}

const fn exactly(n: usize) -> Arity {
    Arity {
        least: n,
        most: Some(n),
    }
}

const fn between(least: usize, most: usize) -> Arity {
    Arity {
        least,
        most: Some(most),
    }
}

const fn at_least(least: usize) -> Arity {
    Arity { least, most: None }
}

impl Function {
    const fn new(name: &'static str, arity: Arity, infer: Infer, eval: Eval) -> Function {
        Function {
            name,
            arity,
            infer,
            eval,
            stability: Stability::Immutable,
        }
    }

    const fn strict(
        name: &'static str,
        arity: Arity,
        infer: Infer,
        eval: fn(&Args<'_>) -> SqlResult<Value>,
    ) -> Function {
        Function::new(name, arity, infer, Eval::Strict(eval))
    }

    const fn exact(
        name: &'static str,
        arity: Arity,
        infer: Infer,
        eval: fn(&Args<'_>) -> SqlResult<Value>,
    ) -> Function {
        Function::new(name, arity, infer, Eval::Exact(eval))
    }

    const fn nullable(
        name: &'static str,
        arity: Arity,
        infer: Infer,
        eval: fn(&Args<'_>) -> SqlResult<Value>,
    ) -> Function {
        Function::new(name, arity, infer, Eval::Nullable(eval))
    }

    const fn until(
        name: &'static str,
        arity: Arity,
        infer: Infer,
        ends_at: fn(usize) -> bool,
        eval: fn(&Args<'_>) -> SqlResult<Value>,
    ) -> Function {
        Function::new(name, arity, infer, Eval::Until(ends_at, eval))
    }

    const fn lazy(
        name: &'static str,
        arity: Arity,
        infer: Infer,
        eval: fn(&Expr, &[Expr], &[Value], &EvalContext<'_>) -> SqlResult<Value>,
    ) -> Function {
        Function::new(name, arity, infer, Eval::Lazy(eval))
    }

    const fn per_session(self) -> Function {
        Function {
            stability: Stability::Session,
            ..self
        }
    }

    const fn per_statement(self) -> Function {
        Function {
            stability: Stability::Statement,
            ..self
        }
    }

    const fn volatile(self) -> Function {
        Function {
            stability: Stability::Volatile,
            ..self
        }
    }

    pub fn takes(&self, arguments: usize) -> bool {
        arguments >= self.arity.least && self.arity.most.is_none_or(|most| arguments <= most)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A table for each family.
const FAMILIES: [&[Function]; 19] = [
    aes::FUNCTIONS,
    bit::FUNCTIONS,
    control::FUNCTIONS,
    crypto::FUNCTIONS,
    gtid::FUNCTIONS,
    info::FUNCTIONS,
    json::FUNCTIONS,
    json_schema::FUNCTIONS,
    network::FUNCTIONS,
    numeric::FUNCTIONS,
    regexp::FUNCTIONS,
    statement_digest::FUNCTIONS,
    string::FUNCTIONS,
    temporal::FUNCTIONS,
    temporal_format::FUNCTIONS,
    temporal_math::FUNCTIONS,
    text_format::FUNCTIONS,
    text_search::FUNCTIONS,
    xml::FUNCTIONS,
];

/// Every function: for tests that leave none out.
pub fn all() -> impl Iterator<Item = &'static Function> {
    FAMILIES.into_iter().flatten()
}

/// The function of that name, in any letter case.
pub fn find(name: &str) -> Option<&'static Function> {
    static TABLE: LazyLock<HashMap<&'static str, &'static Function>> = LazyLock::new(|| {
        let mut table = HashMap::new();
        for function in all() {
            let before = table.insert(function.name, function);
            debug_assert!(before.is_none(), "{} stands in the table twice", function.name);
        }
        table
    });
    if name.bytes().any(|b| b.is_ascii_lowercase()) {
        return TABLE.get(name.to_ascii_uppercase().as_str()).copied();
    }
    TABLE.get(name).copied()
}

/// Whether MySQL has a function of that name which this server has not: 1235 rather than 1305.
pub fn is_known_elsewhere(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "ASYMMETRIC_DECRYPT",
        "ASYMMETRIC_DERIVE",
        "ASYMMETRIC_ENCRYPT",
        "ASYMMETRIC_SIGN",
        "ASYMMETRIC_VERIFY",
        "MASTER_POS_WAIT",
        "MBRCONTAINS",
        "MBRCOVEREDBY",
        "MBRCOVERS",
        "MBRDISJOINT",
        "MBREQUALS",
        "MBRINTERSECTS",
        "MBROVERLAPS",
        "MBRTOUCHES",
        "MBRWITHIN",
        "POINT",
        "LINESTRING",
        "POLYGON",
        "MULTIPOINT",
        "MULTILINESTRING",
        "MULTIPOLYGON",
        "GEOMETRYCOLLECTION",
        "PS_CURRENT_THREAD_ID",
        "PS_THREAD_ID",
        "ROLES_GRAPHML",
        "SOURCE_POS_WAIT",
        "WAIT_FOR_EXECUTED_GTID_SET",
        "WAIT_UNTIL_SQL_THREAD_AFTER_GTIDS",
    ];
    let name = name.to_ascii_uppercase();
    NAMES.contains(&name.as_str()) || name.starts_with("ST_")
}

/// Computes a call.
#[inline]
pub fn call(
    expr: &Expr,
    function: &'static Function,
    args: &[Expr],
    row: &[Value],
    ctx: &EvalContext<'_>,
) -> SqlResult<Value> {
    const FEW: usize = 4;
    governor::tick()?;
    governor::descend()?;
    let eval = match function.eval {
        Eval::Lazy(eval) => return eval(expr, args, row, ctx),
        Eval::Strict(eval) | Eval::Exact(eval) | Eval::Nullable(eval) | Eval::Until(_, eval) => eval,
    };
    let ends_at = |at| match function.eval {
        Eval::Nullable(_) => false,
        Eval::Until(ends_at, _) => ends_at(at),
        _ => true,
    };
    let exact = matches!(function.eval, Eval::Exact(_));
    let mut few = [const { Value::Null }; FEW];
    let mut many;
    let values: &mut [Value] = if args.len() <= FEW {
        &mut few[..args.len()]
    } else {
        many = vec![Value::Null; args.len()];
        &mut many
    };
    for (at, (slot, arg)) in values.iter_mut().zip(args).enumerate() {
        *slot = if exact {
            arg.eval_exact(row, ctx)?
        } else {
            arg.eval_shown(row, ctx)?
        };
        if slot.is_null() && ends_at(at) {
            return Ok(Value::Null);
        }
    }
    let value = eval(&Args {
        name: function.name,
        ty: &expr.ty,
        exprs: args,
        values,
        ctx,
    })?;
    // What was cut short in the middle of a long text is no result.
    governor::check()?;
    Ok(value)
}

/// The standing of the collation of a call's result, for functions that do not say.
pub fn default_coercibility(ty: &SqlType) -> Coercibility {
    Coercibility::of_result(ty)
}
