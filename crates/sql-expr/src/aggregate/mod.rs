//! Aggregate functions as state machines: an [`AggregateCall`] says what is computed, an [`Accumulator`] is the state of one
//! group.
//!
//! ```text
//!   let mut state = call.start();
//!   for row in group { call.add(&mut state, row, ctx)?; }
//!   let result = call.finish(&state, ctx)?;
//! ```

mod concat;
mod distinct;
mod state;

use parser::ast::AggregateFn;
use types::error::{ErrorKind, SqlError};
use types::sql_type::NOT_FIXED_DECIMALS;
use types::{SqlResult, SqlType, TypeKind, Value};

use super::arithmetic::{self, Domain};
use super::bind::is_binary_string;
use super::collation::Coercibility;
use super::compare::{self, Comparison};
use super::context::EvalContext;
use super::functions::string_type;
use super::{Expr, collation, convert};

pub use distinct::write_group_key;
pub use state::Accumulator;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateFunction {
    /// Without argument: `COUNT(*)`.
    Count,
    Sum,
    Avg,
    Min,
    Max,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    GroupConcat,
    JsonArrayAgg,
    JsonObjectAgg,
}

impl AggregateFunction {
    /// None: known to the grammar, not to this server.
    pub fn of(function: AggregateFn) -> Option<AggregateFunction> {
        Some(match function {
            AggregateFn::Count => AggregateFunction::Count,
            AggregateFn::Sum => AggregateFunction::Sum,
            AggregateFn::Avg => AggregateFunction::Avg,
            AggregateFn::Min => AggregateFunction::Min,
            AggregateFn::Max => AggregateFunction::Max,
            AggregateFn::BitAnd => AggregateFunction::BitAnd,
            AggregateFn::BitOr => AggregateFunction::BitOr,
            AggregateFn::BitXor => AggregateFunction::BitXor,
            AggregateFn::StddevPop => AggregateFunction::StddevPop,
            AggregateFn::StddevSamp => AggregateFunction::StddevSamp,
            AggregateFn::VarPop => AggregateFunction::VarPop,
            AggregateFn::VarSamp => AggregateFunction::VarSamp,
            AggregateFn::GroupConcat => AggregateFunction::GroupConcat,
            AggregateFn::JsonArrayAgg => AggregateFunction::JsonArrayAgg,
            AggregateFn::JsonObjectAgg => AggregateFunction::JsonObjectAgg,
            AggregateFn::StCollect => return None,
        })
    }

    /// As MySQL prints it.
    pub fn name(self) -> &'static str {
        match self {
            AggregateFunction::Count => "count",
            AggregateFunction::Sum => "sum",
            AggregateFunction::Avg => "avg",
            AggregateFunction::Min => "min",
            AggregateFunction::Max => "max",
            AggregateFunction::BitAnd => "bit_and",
            AggregateFunction::BitOr => "bit_or",
            AggregateFunction::BitXor => "bit_xor",
            AggregateFunction::StddevPop => "std",
            AggregateFunction::StddevSamp => "stddev_samp",
            AggregateFunction::VarPop => "variance",
            AggregateFunction::VarSamp => "var_samp",
            AggregateFunction::GroupConcat => "group_concat",
            AggregateFunction::JsonArrayAgg => "json_arrayagg",
            AggregateFunction::JsonObjectAgg => "json_objectagg",
        }
    }
}

/// `ORDER BY expr [DESC]` inside GROUP_CONCAT.
#[derive(Debug, Clone)]
pub struct SortKey {
    pub expr: Expr,
    pub descending: bool,
}

/// One aggregate of a query block, its arguments bound to the block's input row.
#[derive(Debug, Clone)]
pub struct AggregateCall {
    pub function: AggregateFunction,
    pub distinct: bool,
    pub args: Vec<Expr>,
    pub order_by: Vec<SortKey>,
    /// It was not written.
    order_is_implied: bool,
    pub separator: String,
    /// The type of the result.
    pub ty: SqlType,
    pub coercibility: Coercibility,
    /// How MIN, MAX compare, or how each sort key does.
    how: Vec<Comparison>,
    /// In what SUM and AVG add.
    domain: Domain,
}

impl AggregateCall {
    /// Works out the result's type. 1582 for a wrong number of arguments, 1271 for collations that do not mix.
    pub fn new(
        function: AggregateFunction,
        distinct: bool,
        args: Vec<Expr>,
        mut order_by: Vec<SortKey>,
        separator: Option<String>,
        ctx: &EvalContext<'_>,
    ) -> SqlResult<AggregateCall> {
        let order_is_implied = function == AggregateFunction::GroupConcat && distinct && order_by.is_empty();
        let expected = match function {
            AggregateFunction::Count if distinct => !args.is_empty(),
            AggregateFunction::Count => args.len() <= 1,
            AggregateFunction::GroupConcat => !args.is_empty(),
            AggregateFunction::JsonObjectAgg => args.len() == 2,
            _ => args.len() == 1,
        };
        if !expected {
            return Err(SqlError::new(
                ErrorKind::WrongParamcountToNativeFct,
                &[&function.name()],
            ));
        }
        // Bits of a literal are a number; MIN and COUNT look at the string.
        let numeric = !matches!(
            function,
            AggregateFunction::Count | AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::GroupConcat
        );
        let is_json = matches!(
            function,
            AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg
        );
        let of_bits = matches!(
            function,
            AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor
        );
        let of_bytes = of_bits && is_binary_string(&args[0]);
        if of_bytes && args[0].ty.length > MAX_BIT_BYTES {
            return Err(ErrorKind::InvalidBitwiseAggregateOperandsSize.into());
        }
        let args = match numeric && !of_bytes {
            false => args,
            true if is_json => args.into_iter().map(convert::hex_as_number).collect(),
            true => args.into_iter().map(convert::as_number).collect(),
        };
        let mut how = Vec::new();
        let (ty, coercibility) = match function {
            AggregateFunction::Min | AggregateFunction::Max => {
                let (comparison, ..) = compare::unify(
                    args[0].clone(),
                    args[0].clone(),
                    function.name(),
                    ctx.settings.collation,
                    ctx,
                )?;
                how.push(comparison);
                (
                    SqlType {
                        nullable: true,
                        ..args[0].ty.clone().of_result()
                    },
                    args[0].coercibility,
                )
            }
            AggregateFunction::GroupConcat => {
                // MySQL keeps what it has seen in its order.
                if order_is_implied {
                    let key = |arg: &Expr| SortKey {
                        expr: arg.clone(),
                        descending: false,
                    };
                    order_by = args.iter().map(key).collect();
                }
                for key in &order_by {
                    let (comparison, ..) = compare::unify(
                        key.expr.clone(),
                        key.expr.clone(),
                        "order by",
                        ctx.settings.collation,
                        ctx,
                    )?;
                    how.push(comparison);
                }
                let mixed = collation::aggregate(&args, ctx.settings.collation, "group_concat", false)?;
                let bytes = ctx.settings.group_concat_max_len;
                let chars = bytes / u64::from(mixed.collation.charset().max_bytes_per_char());
                // MySQL: a result beyond 512 characters is a TEXT.
                let ty = match string_type(chars.max(1), mixed.collation) {
                    long if chars > 512 && !long.kind.is_lob() => match mixed.collation {
                        types::CollationId::BINARY => SqlType::blob(TypeKind::Blob),
                        collation => SqlType::text(TypeKind::Text, collation),
                    },
                    ty => ty,
                };
                (ty, mixed.coercibility)
            }
            _ if of_bytes => {
                let ty = string_type(u64::from(args[0].ty.length) + 1, types::CollationId::BINARY).not_null();
                (ty, Coercibility::Implicit)
            }
            _ => {
                let ty = numeric_type(function, &args, ctx);
                let coercibility = Coercibility::of_result(&ty);
                (ty, coercibility)
            }
        };
        let domain = args.first().map_or(Domain::Integer { unsigned: false }, |arg| {
            arithmetic::numeric_domain(&arg.ty)
        });
        let separator = separator.unwrap_or_else(|| ",".to_owned());
        Ok(AggregateCall {
            function,
            distinct,
            args,
            order_by,
            order_is_implied,
            separator,
            ty,
            coercibility,
            how,
            domain,
        })
    }

    /// The state of a group without rows.
    pub fn start(&self) -> Accumulator {
        Accumulator::new(self)
    }

    /// Takes a row of the group.
    pub fn add(&self, state: &mut Accumulator, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<()> {
        state.add(self, row, ctx)
    }

    /// Takes a row back that was taken, so that a frame can move on. False, and nothing done: what is left can only be found out from the
    /// rows that stay. Sums of floating-point numbers are among that, for they would come out otherwise.
    pub fn remove(&self, state: &mut Accumulator, row: &[Value], ctx: &EvalContext<'_>) -> SqlResult<bool> {
        state.remove(self, row, ctx)
    }

    /// The result of the rows so far.
    pub fn finish(&self, state: &Accumulator, ctx: &EvalContext<'_>) -> SqlResult<Value> {
        state.finish(self, ctx)
    }

    pub(super) fn comparisons(&self) -> &[Comparison] {
        &self.how
    }

    fn domain(&self) -> Domain {
        self.domain
    }

    /// Whether MySQL computes it of rows that are sorted by group.
    pub fn needs_sorted_rows(&self) -> bool {
        use AggregateFunction::{Avg, Count, GroupConcat, JsonArrayAgg, JsonObjectAgg, Sum};
        match self.function {
            GroupConcat | JsonArrayAgg | JsonObjectAgg => true,
            Count | Sum | Avg => self.distinct,
            _ => false,
        }
    }

    /// Everything that it computes from the row.
    pub fn for_each_expr<'c>(&'c self, visit: &mut dyn FnMut(&'c Expr)) {
        self.args.iter().for_each(&mut *visit);
        self.order_by.iter().for_each(|key| visit(&key.expr));
    }

    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.args.iter_mut().for_each(&mut *visit);
        self.order_by.iter_mut().for_each(|key| visit(&mut key.expr));
    }
}

impl std::fmt::Display for AggregateCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}(", self.function.name())?;
        if self.distinct {
            f.write_str("distinct ")?;
        }
        if self.args.is_empty() {
            f.write_str("*")?;
        }
        for (i, arg) in self.args.iter().enumerate() {
            let comma = if i > 0 { "," } else { "" };
            write!(f, "{comma}{arg}")?;
        }
        let written = self.order_by.iter().filter(|_| !self.order_is_implied);
        for (i, key) in written.enumerate() {
            let before = if i > 0 { "," } else { " order by " };
            let after = if key.descending { " desc" } else { "" };
            write!(f, "{before}{}{after}", key.expr)?;
        }
        if self.function == AggregateFunction::GroupConcat {
            write!(f, " separator '{}'", self.separator)?;
        }
        f.write_str(")")
    }
}

/// Bytes of a binary string that BIT_AND and its kin take.
const MAX_BIT_BYTES: u32 = 511;

/// MySQL adds 22 digits (those of BIGINT and a sign) for sums.
const SUM_DIGITS: u32 = 22;

fn numeric_type(function: AggregateFunction, args: &[Expr], ctx: &EvalContext<'_>) -> SqlType {
    let exact = |extra_precision: u32, extra_scale: u32| {
        let arg = &args[0].ty;
        if arg.kind == TypeKind::Null {
            return arithmetic::double_type(extra_scale as u8);
        }
        let (precision, scale) = arithmetic::precision_and_scale(arg);
        match arithmetic::numeric_domain(arg) {
            Domain::Double
                if matches!(arg.kind, TypeKind::Float | TypeKind::Double) && arg.decimals < NOT_FIXED_DECIMALS =>
            {
                arithmetic::double_type(arg.decimals.saturating_add(extra_scale as u8))
            }
            Domain::Double => arithmetic::double_type(NOT_FIXED_DECIMALS),
            _ => arithmetic::decimal_type(precision + extra_precision, scale + extra_scale),
        }
    };
    let increment = u32::from(ctx.settings.div_precision_increment);
    match function {
        AggregateFunction::Count => SqlType {
            length: 21,
            ..SqlType::bigint()
        }
        .not_null(),
        AggregateFunction::Sum => exact(SUM_DIGITS, 0),
        AggregateFunction::Avg => exact(increment, increment),
        AggregateFunction::BitAnd | AggregateFunction::BitOr | AggregateFunction::BitXor => SqlType {
            length: 21,
            ..SqlType::bigint_unsigned()
        }
        .not_null(),
        AggregateFunction::JsonArrayAgg | AggregateFunction::JsonObjectAgg => SqlType::json(),
        _ => arithmetic::double_type(NOT_FIXED_DECIMALS),
    }
}
