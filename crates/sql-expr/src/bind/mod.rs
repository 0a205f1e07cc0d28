//! From the parser's tree to [`Expr`]: names become slots, types are worked out, operands converted, constants computed.

mod call;
pub(super) mod literal;
mod operator;
mod syntax;
mod target;

use parser::ast;
use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, Value};

use super::collation::Coercibility;
use super::context::{EvalContext, StatementContext, Strictness, type_of_variable};
use super::functions::{self, Stability};
use super::scope::{Resolved, Scope};
use super::{ColumnRef, Expr, ExprKind, SubqueryExpr, SubqueryKind};

pub(crate) use operator::is_binary_string;
pub use syntax::interval_unit;
pub use target::{cast_type, charset_by_name, collation_by_name};

/// What the binder is told beside the tree.
#[derive(Debug, Clone, Copy, Default)]
pub struct BindOptions<'a> {
    /// The type of each `?`. A parameter beyond the list has none: it takes part in comparisons as the other side would
    /// have it, and is a string elsewhere. What was bound for one list of types serves values of those types only.
    pub params: &'a [SqlType],
}

/// Binds expressions of one place in one statement.
pub struct Binder<'a> {
    scope: &'a mut dyn Scope,
    ctx: EvalContext<'a>,
    options: BindOptions<'a>,
    /// Aggregates may not stand inside aggregates.
    inside_aggregate: bool,
}

impl<'a> Binder<'a> {
    pub fn new(scope: &'a mut dyn Scope, ctx: EvalContext<'a>, options: BindOptions<'a>) -> Binder<'a> {
        Binder {
            scope,
            ctx,
            options,
            inside_aggregate: false,
        }
    }

    /// Binds an expression that has one value. 1241 for a row.
    pub fn bind(&mut self, tree: &ast::Expr) -> SqlResult<Expr> {
        let expr = self.bind_any(tree)?;
        scalar(expr)
    }

    /// Binds a condition: as [`bind`](Self::bind); what is not a condition counts by its truth.
    pub fn bind_condition(&mut self, tree: &ast::Expr) -> SqlResult<Expr> {
        let bound = self.bind(tree)?;
        self.truth(bound)
    }

    /// Binds an expression that may be a row.
    pub fn bind_any(&mut self, tree: &ast::Expr) -> SqlResult<Expr> {
        governor::tick()?;
        governor::descend()?;
        let bound = self.bind_tree(tree)?;
        Ok(self.fold(bound))
    }

    fn bind_tree(&mut self, tree: &ast::Expr) -> SqlResult<Expr> {
        match tree {
            ast::Expr::Literal(literal) => self.literal(literal),
            ast::Expr::Param(index) => Ok(self.param(*index as usize)),
            ast::Expr::Column(name) => self.column(name),
            ast::Expr::Local(local) => self.local(local),
            ast::Expr::UserVar(name) => Ok(self.user_variable(name)),
            ast::Expr::SystemVar(variable) => self.system_variable(variable),
            ast::Expr::Assign(assign) => self.assign(assign),
            ast::Expr::And(operands) => self.junction(operands, ExprKind::And),
            ast::Expr::Or(operands) => self.junction(operands, ExprKind::Or),
            ast::Expr::Unary(unary) => self.unary(unary),
            ast::Expr::Binary(binary) => self.binary(binary),
            ast::Expr::Is(is) => self.is(is),
            ast::Expr::Between(between) => self.between(between),
            ast::Expr::InList(list) => self.in_list(list),
            ast::Expr::InSubquery(query) => self.in_subquery(query),
            ast::Expr::Like(like) => self.like(like),
            ast::Expr::Regexp(regexp) => self.regexp(regexp),
            ast::Expr::MemberOf(member) => self.native("MEMBER OF", &[&member.operand, &member.array]),
            ast::Expr::Quantified(quantified) => self.quantified(quantified),
            ast::Expr::Exists(query) => self.exists(query),
            ast::Expr::Subquery(query) => self.scalar_subquery(query),
            ast::Expr::Row(items) => self.row(items),
            ast::Expr::Case(case) => self.case(case),
            ast::Expr::Collate(collate) => self.collate(collate),
            ast::Expr::Function(call) => self.function(call),
            ast::Expr::Aggregate(aggregate) if aggregate.over.is_none() => self.aggregate(aggregate),
            ast::Expr::Aggregate(_) | ast::Expr::Window(_) => self.scope.window(tree),
            ast::Expr::Cast(cast) => self.cast(cast),
            ast::Expr::ConvertUsing(convert) => self.convert_using(convert),
            ast::Expr::DateArith(arith) => self.date_arith(arith),
            ast::Expr::Extract(extract) => self.extract(extract),
            ast::Expr::TimestampDiff(diff) => self.timestamp_diff(diff),
            ast::Expr::GetFormat(format) => self.get_format(format),
            ast::Expr::Trim(trim) => self.trim(trim),
            ast::Expr::Char(char) => self.char_function(char),
            ast::Expr::WeightString(weight) => self.weight_string(weight),
            ast::Expr::MatchAgainst(search) => {
                let against = self.bind(&search.against)?;
                self.scope.full_text(search, against)
            }
            ast::Expr::JsonValue(value) => self.json_value(value),
            ast::Expr::Default => Err(SqlError::not_supported("DEFAULT as part of an expression")),
            ast::Expr::DefaultOf(column) => self.scope.default_of(column),
            ast::Expr::InsertValue(column) => self.scope.insert_value(column),
        }
    }

    /// A constant for what can be computed now; warnings keep it for the execution, which must raise them.
    pub(super) fn fold(&self, expr: Expr) -> Expr {
        if expr.as_literal().is_some() || self.scope.keeps_operations() || !self.folds(&expr) {
            return expr;
        }
        let scratch =
            StatementContext::new(self.ctx.settings, self.ctx.services, self.ctx.now).with_strictness(Strictness::Fail);
        match expr.eval_exact(&[], &scratch.eval()) {
            Ok(value) if scratch.take_warnings().is_empty() => {
                let coercibility = if value.is_null() && expr.ty.kind == types::TypeKind::Null {
                    Coercibility::Ignorable
                } else {
                    expr.coercibility
                };
                Expr {
                    kind: ExprKind::Literal(value),
                    ty: expr.ty,
                    coercibility,
                }
            }
            _ => expr,
        }
    }

    /// Whether the operands are literals, all of them, and the operation is the same at any time. Operands are folded
    /// before, so one level is looked at.
    fn folds(&self, expr: &Expr) -> bool {
        let stable = match &expr.kind {
            // What it chooses keeps its own digits, which a literal of this type would not.
            _ if expr.ty.kind == types::TypeKind::Decimal && expr.is_choice() => false,
            // As a number it is not what a literal of its text is.
            _ if crate::convert::has_own_number(expr) => false,
            // JSON makes other values of it than of a literal.
            _ if functions::json::is_told_by_kind(expr) => false,
            ExprKind::Call(call) => call.function.stability == Stability::Immutable,
            ExprKind::Literal(_) | ExprKind::HexLiteral(_) => true,
            // A row has no value; its columns are folded by themselves. COLLATE keeps its standing.
            ExprKind::Row(_) | ExprKind::Collate(_) => false,
            kind => kind.is_pure(),
        };
        let mut literals = true;
        expr.for_each_child(&mut |child| {
            literals &= match &child.kind {
                ExprKind::Row(columns) => columns.iter().all(|column| column.as_literal().is_some()),
                ExprKind::Collate(operand) => operand.as_literal().is_some(),
                _ => child.as_literal().is_some(),
            };
        });
        stable && literals
    }

    fn connection(&self) -> CollationId {
        self.ctx.settings.collation
    }

    fn bind_all<'t>(&mut self, trees: impl IntoIterator<Item = &'t ast::Expr>) -> SqlResult<Vec<Expr>> {
        trees.into_iter().map(|tree| self.bind(tree)).collect()
    }

    fn param(&self, index: usize) -> Expr {
        match self.options.params.get(index) {
            Some(ty) => {
                let coercibility = Coercibility::of_result(ty);
                Expr {
                    kind: ExprKind::Param(index),
                    ty: ty.clone(),
                    coercibility,
                }
            }
            None => Expr {
                kind: ExprKind::Param(index),
                ty: SqlType::null(),
                coercibility: Coercibility::Coercible,
            },
        }
    }

    /// A variable of the program around: the parameters are its frame.
    fn local(&self, local: &ast::Local) -> SqlResult<Expr> {
        let slot = local.slot as usize;
        let Some(ty) = self.options.params.get(slot) else {
            return Err(SqlError::new(ErrorKind::SpUndeclaredVar, &[&local.name.as_str()]));
        };
        Ok(Expr {
            kind: ExprKind::Param(slot),
            ty: ty.clone(),
            coercibility: Coercibility::of_column(ty),
        })
    }

    fn column(&mut self, name: &ast::ColumnName) -> SqlResult<Expr> {
        Ok(match self.scope.resolve(name)? {
            Resolved::Column { slot, name, ty } => Expr::column(slot, name, ty),
            Resolved::Outer { depth, slot, name, ty } => {
                let coercibility = Coercibility::of_column(&ty);
                Expr {
                    kind: ExprKind::Outer {
                        depth,
                        column: ColumnRef {
                            slot,
                            name,
                            computed: false,
                            is_cached: false,
                        },
                    },
                    ty,
                    coercibility,
                }
            }
            Resolved::Expr(expr) => *expr,
        })
    }

    fn user_variable(&self, name: &ast::Ident) -> Expr {
        let name = name.to_lowercase();
        let ty = self
            .ctx
            .services
            .user_variable(&name)
            .map_or_else(SqlType::null, |variable| variable.ty);
        let coercibility = match ty.kind {
            types::TypeKind::Null => Coercibility::Ignorable,
            _ => Coercibility::of_column(&ty),
        };
        // A DECIMAL may have any digits by the time that it is read.
        let ty = match ty.kind {
            types::TypeKind::Decimal => SqlType::decimal(types::decimal::MAX_PRECISION, types::decimal::MAX_SCALE),
            // It may be given any value by then.
            types::TypeKind::Null if self.ctx.services.assigns_user_variables() => {
                SqlType::blob(types::TypeKind::MediumBlob)
            }
            _ => ty,
        };
        let ty = SqlType { nullable: true, ..ty };
        Expr {
            kind: ExprKind::UserVariable {
                name: name.into(),
                changes: self.ctx.services.assigns_user_variables(),
            },
            ty,
            coercibility,
        }
    }

    fn system_variable(&self, variable: &ast::SystemVar) -> SqlResult<Expr> {
        let name = match &variable.component {
            Some(component) => format!("{component:?}.{:?}", variable.name).replace('`', ""),
            None => variable.name.to_ascii_lowercase(),
        };
        let (_, ty) = self.ctx.services.system_variable(variable.scope, &name)?;
        let coercibility = match Coercibility::of_result(&ty) {
            Coercibility::Coercible => Coercibility::System,
            other => other,
        };
        Ok(Expr {
            kind: ExprKind::SystemVariable {
                scope: variable.scope,
                name: name.into(),
            },
            ty,
            coercibility,
        })
    }

    fn assign(&mut self, assign: &ast::Assign) -> SqlResult<Expr> {
        let value = self.bind(&assign.value)?;
        let (ty, coercibility) = (type_of_variable(value.ty.clone()), value.coercibility);
        let name = assign.name.to_lowercase().into();
        Ok(Expr {
            kind: ExprKind::AssignUserVariable {
                name,
                value: Box::new(value),
            },
            ty,
            coercibility,
        })
    }

    fn row(&mut self, items: &[ast::Expr]) -> SqlResult<Expr> {
        let columns = items.iter().map(|item| self.bind_any(item)).collect::<SqlResult<_>>()?;
        Ok(Expr::row(columns))
    }

    fn scalar_subquery(&mut self, query: &ast::Query) -> SqlResult<Expr> {
        let query = self.scope.subquery(query)?;
        // No row is NULL.
        let ty = SqlType {
            nullable: true,
            ..query.columns().first().cloned().unwrap_or_else(SqlType::null)
        };
        let coercibility = query.coercibility(0);
        Ok(Expr::subquery(
            SubqueryExpr {
                query,
                kind: SubqueryKind::Scalar,
            },
            ty,
            coercibility,
        ))
    }

    fn exists(&mut self, query: &ast::Query) -> SqlResult<Expr> {
        let query = self.scope.subquery(query)?;
        query.note_existence();
        let ty = SqlType::boolean().not_null();
        Ok(Expr::subquery(
            SubqueryExpr {
                query,
                kind: SubqueryKind::Exists,
            },
            ty,
            Coercibility::Numeric,
        ))
    }
}

/// 1241 for a row where one value is wanted.
fn scalar(expr: Expr) -> SqlResult<Expr> {
    if expr.width() != 1 {
        return Err(SqlError::new(ErrorKind::OperandColumns, &[&1]));
    }
    Ok(expr)
}

impl Expr {
    /// A row of these columns.
    pub fn row(columns: Vec<Expr>) -> Expr {
        Expr {
            kind: ExprKind::Row(columns),
            ty: SqlType::null(),
            coercibility: Coercibility::Ignorable,
        }
    }

    fn subquery(subquery: SubqueryExpr, ty: SqlType, coercibility: Coercibility) -> Expr {
        Expr {
            kind: ExprKind::Subquery(Box::new(subquery)),
            ty,
            coercibility,
        }
    }

    /// How many columns it has: 1, unless it is a row or a subquery of several columns.
    pub fn width(&self) -> usize {
        match &self.kind {
            ExprKind::Row(columns) => columns.len(),
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                subquery.query.columns().len()
            }
            _ => 1,
        }
    }

    /// An expression per column, of the column's type: for working out how rows compare.
    pub(super) fn column_stand_ins(&self) -> Vec<Expr> {
        match &self.kind {
            ExprKind::Row(columns) => columns.clone(),
            ExprKind::Subquery(subquery) => subquery
                .query
                .columns()
                .iter()
                .enumerate()
                .map(|(slot, ty)| Expr::column(slot, "", ty.clone()))
                .collect(),
            _ => vec![self.clone()],
        }
    }

    /// A boolean made by an operator.
    pub fn boolean(kind: ExprKind, nullable: bool) -> Expr {
        let ty = SqlType {
            nullable,
            ..SqlType::boolean()
        };
        Expr {
            kind,
            ty,
            coercibility: Coercibility::Numeric,
        }
    }
}

/// The type of a literal that holds `value` and nothing else is known about it.
pub fn type_of_value(value: &Value, connection: CollationId) -> SqlType {
    let ty = match value {
        Value::Null => return SqlType::null(),
        Value::Int(_) => SqlType::bigint(),
        Value::UInt(_) => SqlType::bigint_unsigned(),
        Value::Float(_) => SqlType::float(),
        Value::Double(_) => SqlType::double(),
        Value::Decimal(number) => SqlType::decimal(number.precision().max(1), number.scale()),
        Value::Date(_) => SqlType::date(),
        Value::Time(time) => SqlType::time(time.fsp),
        Value::DateTime(datetime) => SqlType::datetime(datetime.fsp),
        Value::Timestamp(at) => SqlType::timestamp(at.fsp),
        Value::Year(_) => SqlType::year(),
        Value::Bit(bit) => SqlType::bit(bit.width),
        Value::Str(text) => super::functions::string_type(text.chars().count() as u64, connection),
        Value::Bytes(bytes) => super::functions::string_type(bytes.len() as u64, CollationId::BINARY),
        Value::Enum(value) => SqlType::enumeration(value.labels.clone(), connection),
        Value::Set(value) => SqlType::set(value.labels.clone(), connection),
        Value::Json(_) => SqlType::json(),
    };
    ty.not_null()
}
