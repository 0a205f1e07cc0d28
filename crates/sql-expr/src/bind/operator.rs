//! Operators: logic, comparison, arithmetic, bits, CASE, COLLATE.

use governor::sort::sort_by;
use governor::stepwise::Stepwise;
use parser::ast;
use parser::ast::{BinaryOp, UnaryOp};
use types::decimal::Decimal;
use types::error::{ErrorKind, SqlError};
use types::{CollationId, SqlResult, SqlType, TypeKind, Value};

use super::{Binder, collation_by_name, scalar, type_of_value};
use crate::arithmetic::{self, ArithmeticOp, BitOp};
use crate::collation::{self, Coercibility};
use crate::compare::{self, CompareOp, Comparison, ListComparison};
use crate::functions::Inference;
use crate::{
    Arithmetic, Between, Bitwise, Case, Compare, Escape, Expr, ExprKind, In, InItems, Like, Subquery, SubqueryExpr,
    SubqueryKind, When, convert,
};

impl Binder<'_> {
    /// AND and OR; what is decided by its constants is decided here.
    pub(super) fn junction(&mut self, trees: &[ast::Expr], kind: fn(Vec<Expr>) -> ExprKind) -> SqlResult<Expr> {
        let operands = trees
            .iter()
            .map(|tree| self.bind_condition(tree))
            .collect::<SqlResult<Vec<_>>>()?;
        let nullable = operands.iter().any(|operand| operand.ty.nullable);
        Ok(Expr::boolean(kind(operands), nullable))
    }

    /// What counts by its truth. JSON is true where it is not the number 0, so `false`, `null` and `""` of JSON are; as a number,
    /// which IF and CASE ask for, they would not be.
    pub(super) fn truth(&self, operand: Expr) -> SqlResult<Expr> {
        if operand.ty.kind != TypeKind::Json {
            return Ok(operand);
        }
        self.ctx
            .with_warnings(|warnings| warnings.warn(ErrorKind::JsonInBooleanContext.into()));
        let zero = Expr::literal(Value::Int(0), SqlType::bigint());
        Ok(self.fold(self.comparison(CompareOp::Ne, operand, zero)?))
    }

    pub(super) fn unary(&mut self, unary: &ast::Unary) -> SqlResult<Expr> {
        if let (UnaryOp::Minus, ast::Expr::Literal(ast::Literal::Int(number))) = (unary.op, &unary.operand) {
            return Ok(negative_integer(*number));
        }
        let mut operand = &unary.operand;
        // NOT NOT NOT is NOT: a run of them takes no more stack than that.
        while let (UnaryOp::Not, ast::Expr::Unary(second)) = (unary.op, operand)
            && let (UnaryOp::Not, ast::Expr::Unary(third)) = (second.op, &second.operand)
            && third.op == UnaryOp::Not
        {
            operand = &third.operand;
        }
        let operand = self.bind(operand)?;
        match unary.op {
            UnaryOp::Not => {
                let operand = self.truth(operand)?;
                let nullable = operand.ty.nullable;
                Ok(Expr::boolean(ExprKind::Not(Box::new(operand)), nullable))
            }
            UnaryOp::Plus => Ok(operand),
            UnaryOp::Minus => {
                let is_hex = matches!(operand.kind, ExprKind::HexLiteral(_));
                let operand = convert::as_number(operand);
                if let Some(Value::Int(i64::MIN)) = operand.as_literal() {
                    return Ok(super::literal::decimal_literal(-Decimal::from(i64::MIN)));
                }
                let (domain, ty) = match is_hex {
                    true => arithmetic::infer_negation(&arithmetic::double_type(0).not_null()),
                    false => arithmetic::infer_negation(&operand.ty),
                };
                let kind = ExprKind::Negate {
                    domain,
                    operand: Box::new(operand),
                };
                Ok(Expr {
                    kind,
                    ty,
                    coercibility: Coercibility::Numeric,
                })
            }
            UnaryOp::BitNot => {
                let operand = if is_binary_string(&operand) {
                    operand
                } else {
                    convert::as_number(operand)
                };
                let ty = bit_type(&operand, None);
                Ok(Expr {
                    kind: ExprKind::BitNot(Box::new(operand)),
                    ty,
                    coercibility: Coercibility::Numeric,
                })
            }
            UnaryOp::Binary => self.native_bound("BINARY", vec![operand]),
        }
    }

    pub(super) fn binary(&mut self, binary: &ast::Binary) -> SqlResult<Expr> {
        let arithmetic = |op| Some(op);
        let op = match binary.op {
            BinaryOp::Add => arithmetic(ArithmeticOp::Add),
            BinaryOp::Sub => arithmetic(ArithmeticOp::Sub),
            BinaryOp::Mul => arithmetic(ArithmeticOp::Mul),
            BinaryOp::Div => arithmetic(ArithmeticOp::Div),
            BinaryOp::IntDiv => arithmetic(ArithmeticOp::IntDiv),
            BinaryOp::Mod => arithmetic(ArithmeticOp::Mod),
            _ => None,
        };
        if let Some(op) = op {
            let (left, right) = (self.bind(&binary.left)?, self.bind(&binary.right)?);
            return Ok(self.arithmetic(op, left, right));
        }
        if let Some(op) = CompareOp::of(binary.op) {
            let (left, right) = (self.bind_any(&binary.left)?, self.bind_any(&binary.right)?);
            return self.comparison(op, left, right);
        }
        let (left, right) = (self.bind(&binary.left)?, self.bind(&binary.right)?);
        let nullable = left.ty.nullable || right.ty.nullable;
        let bits = |op, left, right| Ok(bitwise(op, left, right));
        match binary.op {
            BinaryOp::Xor => {
                let operands = [self.truth(left)?, self.truth(right)?];
                Ok(Expr::boolean(ExprKind::Xor(Box::new(operands)), nullable))
            }
            BinaryOp::BitOr => bits(BitOp::Or, left, right),
            BinaryOp::BitAnd => bits(BitOp::And, left, right),
            BinaryOp::BitXor => bits(BitOp::Xor, left, right),
            BinaryOp::ShiftLeft => bits(BitOp::ShiftLeft, left, right),
            BinaryOp::ShiftRight => bits(BitOp::ShiftRight, left, right),
            BinaryOp::SoundsLike => {
                let (left, right) = (
                    self.native_bound("SOUNDEX", vec![left])?,
                    self.native_bound("SOUNDEX", vec![right])?,
                );
                self.comparison(CompareOp::Eq, left, right)
            }
            _ => Err(SqlError::internal(
                "an operator that is neither arithmetic, comparison, bits nor logic",
            )),
        }
    }

    /// `left op right` over numbers.
    pub fn arithmetic(&self, op: ArithmeticOp, left: Expr, right: Expr) -> Expr {
        let (left, right) = (convert::as_number(left), convert::as_number(right));
        let settings = self.ctx.settings;
        let (domain, ty) = arithmetic::infer(
            op,
            &left.ty,
            &right.ty,
            settings.div_precision_increment,
            settings.sql_mode,
        );
        let kind = ExprKind::Arithmetic(Box::new(Arithmetic {
            op,
            domain,
            left,
            right,
        }));
        Expr {
            kind,
            ty,
            coercibility: Coercibility::Numeric,
        }
    }

    /// `left op right` as a condition.
    pub fn comparison(&self, op: CompareOp, left: Expr, right: Expr) -> SqlResult<Expr> {
        let (how, left, right) = self.unify(left, right, op.symbol())?;
        let how = how.by_days(&left, &right);
        let nullable = op != CompareOp::NullSafeEq && (nullable(&left) || nullable(&right));
        Ok(Expr::boolean(
            ExprKind::Compare(Box::new(Compare { op, how, left, right })),
            nullable,
        ))
    }

    fn unify(&self, left: Expr, right: Expr, operation: &str) -> SqlResult<(Comparison, Expr, Expr)> {
        compare::unify(left, right, operation, self.connection(), &self.ctx)
    }

    pub(super) fn is(&mut self, is: &ast::Is) -> SqlResult<Expr> {
        let operand = match is.test {
            ast::IsTest::True | ast::IsTest::False => self.bind_condition(&is.operand)?,
            _ => self.bind(&is.operand)?,
        };
        // Text is no number, and still not unknown.
        let test = match is.test {
            ast::IsTest::Unknown => ast::IsTest::Null,
            test => test,
        };
        let kind = ExprKind::Is {
            operand: Box::new(operand),
            test,
            negated: is.negated,
        };
        Ok(Expr::boolean(kind, false))
    }

    pub(super) fn between(&mut self, between: &ast::Between) -> SqlResult<Expr> {
        let operand = self.bind(&between.operand)?;
        let (low, high) = (self.bind(&between.low)?, self.bind(&between.high)?);
        // Where one bound is a date, text on either place is read as one.
        let among = |is_such: fn(&SqlType) -> bool| [&operand, &low, &high].iter().any(|expr| is_such(&expr.ty));
        let temporal = among(is_dated);
        // A date, a text and a number meet as doubles.
        if temporal && among(|ty| ty.kind.is_text()) && among(|ty| ty.kind.is_numeric()) {
            let as_doubles = |operand, bound| Ok((Comparison::Double, operand, bound));
            return between_by(operand, low, high, between.negated, as_doubles);
        }
        if temporal && !among(|ty| ty.kind.is_numeric() || ty.kind == TypeKind::Json) {
            return self.between_dates(operand, low, high, between.negated);
        }
        if let Some(collation) = self.shared_collation(&[&operand, &low, &high], "between")? {
            let as_texts = |operand, bound| Ok((Comparison::of_text(collation), operand, bound));
            return between_by(operand, low, high, between.negated, as_texts);
        }
        let unify = |operand: Expr, bound: Expr| match bound.ty.kind {
            // Beside a year the number stays as it is for the other bound.
            TypeKind::Year => {
                let list = ListComparison::by_operand();
                list.unify(operand, bound, "between", self.connection(), &self.ctx)
            }
            _ => self.unify(operand, bound, "between"),
        };
        between_by(operand, low, high, between.negated, unify)
    }

    /// Every text is read as a date; one that is none warns whenever it is compared.
    fn between_dates(&self, operand: Expr, low: Expr, high: Expr, negated: bool) -> SqlResult<Expr> {
        // The texts must have a collation in common, whether or not one of them is read as a text.
        let mixed = collation::aggregate([&operand, &low, &high], self.connection(), "between", true)?;
        // Between two equal texts is `=` with them, which they must be fit for.
        let are_equal = match (low.as_literal(), high.as_literal()) {
            (Some(Value::Str(low)), Some(Value::Str(high))) => {
                mixed.collation.compare(low.as_bytes(), high.as_bytes()).is_eq()
            }
            _ => false,
        };
        if are_equal && is_dated(&operand.ty) {
            self.unify(operand.clone(), low.clone(), "between")?;
        }
        let list = ListComparison::of_dates();
        let unify = |left, right| list.unify(left, right, "between", self.connection(), &self.ctx);
        between_by(operand, low, high, negated, unify)
    }

    pub(super) fn in_list(&mut self, list: &ast::InList) -> SqlResult<Expr> {
        let operand = self.bind_any(&list.operand)?;
        let items = list
            .list
            .iter()
            .map(|item| self.bind_any(item))
            .collect::<SqlResult<Vec<_>>>()?;
        self.in_items(operand, items, list.negated)
    }

    /// The collation under which texts are compared of which there are several; `None` where one of them is no text.
    fn shared_collation(&self, operands: &[&Expr], operation: &str) -> SqlResult<Option<CollationId>> {
        let is_text = |expr: &Expr| expr.ty.kind.is_text() || expr.ty.kind.is_binary();
        let is_choice = |expr: &Expr| matches!(expr.ty.kind, TypeKind::Enum | TypeKind::Set);
        let fits = |expr: &&Expr| {
            governor::pause();
            expr.width() == 1 && (is_text(expr) || is_choice(expr) || expr.ty.kind == TypeKind::Null)
        };
        if operands.len() < 3 || !operands.iter().all(fits) {
            return Ok(None);
        }
        let mixed = collation::aggregate(operands.iter().copied(), self.connection(), operation, true)?;
        Ok(operands.iter().all(|expr| is_text(expr)).then_some(mixed.collation))
    }

    /// `operand [NOT] IN (items)`
    pub fn in_items(&self, operand: Expr, items: Vec<Expr>, negated: bool) -> SqlResult<Expr> {
        let is_nullable = |item| {
            governor::pause();
            nullable(item)
        };
        let nullable = nullable(&operand) || items.iter().any(is_nullable);
        let (mut operand, items) = flat_rows(operand, items)?;
        let mut unified = Vec::with_capacity(items.len());
        let all: Vec<&Expr> = std::iter::once(&operand).chain(&items).collect();
        // With one item it is `=`.
        let operation = if items.len() == 1 { "=" } else { " IN " };
        let shared = self.shared_collation(&all, operation)?;
        let several =
            (items.len() > 1 || operand.width() > 1).then(|| ListComparison::of_list(&operand, &items, &self.ctx));
        for item in items {
            governor::tick()?;
            if let Some(collation) = shared {
                unified.push((Comparison::of_text(collation), item));
                continue;
            }
            let (how, left, item) = match &several {
                None => {
                    let (how, left, item) = self.unify(operand.clone(), item, operation)?;
                    (how.by_days(&left, &item), left, item)
                }
                Some(list) => list.unify(operand.clone(), item, operation, self.connection(), &self.ctx)?,
            };
            // A hex literal before IN becomes a number for numbers only; keep it as it is otherwise. A date is one for all items.
            let of_dates = matches!(how, Comparison::DateTime | Comparison::ListedDates);
            let is_date = several.is_some() && left.as_literal().is_some() && of_dates;
            if is_date || matches!(operand.kind, ExprKind::HexLiteral(_)) {
                operand = left;
            }
            unified.push((how, item));
        }
        let is_numeric =
            |how: &Comparison| matches!(how, Comparison::Integer | Comparison::Decimal | Comparison::Double);
        if unified
            .iter()
            .inspect(|_| governor::pause())
            .all(|(how, _)| is_numeric(how))
        {
            operand = convert::as_number(operand);
        }
        let list = match self.sorted_items(&unified)? {
            Some(sorted) => {
                drop(Stepwise::from(unified));
                sorted
            }
            None => InItems::Each(unified),
        };
        let nullable = nullable || matches!(list, InItems::Sorted { has_null: true, .. });
        Ok(Expr::boolean(
            ExprKind::In(Box::new(In { operand, list, negated })),
            nullable,
        ))
    }

    /// The items in order, when they are constants and compare alike.
    fn sorted_items(&self, items: &[(Comparison, Expr)]) -> SqlResult<Option<InItems>> {
        let Some((how, _)) = items.iter().find(|(_, item)| !item.is_null_literal()) else {
            return Ok(None);
        };
        let how = how.clone();
        if matches!(how, Comparison::Row(_)) {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(items.len());
        let mut has_null = false;
        for (item_how, item) in items {
            governor::tick()?;
            match item.as_literal() {
                Some(value) if value.is_null() => has_null = true,
                Some(value) if *item_how == how => values.push(value.clone()),
                _ => return Ok(None),
            }
        }
        // Bad text among numbers warns at every comparison, as MySQL's does: leave it to the evaluation.
        let reads_cleanly = |value: &Value| {
            governor::pause();
            match how {
                Comparison::Text(_) | Comparison::Bytes => true,
                _ => !matches!(value, Value::Str(_) | Value::Bytes(_)),
            }
        };
        if !values.iter().all(reads_cleanly) {
            return Ok(None);
        }
        let mut failed = false;
        sort_by(&mut values, |a, b| match how.compare(a, b, &self.ctx) {
            Ok(order) => order.unwrap_or(std::cmp::Ordering::Equal),
            Err(_) => {
                failed = true;
                std::cmp::Ordering::Equal
            }
        })?;
        Ok((!failed).then_some(InItems::Sorted { how, values, has_null }))
    }

    pub(super) fn in_subquery(&mut self, tree: &ast::InSubquery) -> SqlResult<Expr> {
        self.within_subquery(&tree.operand, &tree.query, tree.negated)
    }

    fn within_subquery(&mut self, operand: &ast::Expr, query: &ast::Query, negated: bool) -> SqlResult<Expr> {
        let operand = self.bind_any(operand)?;
        let query = self.scope.subquery(query)?;
        let (operand, how) = self.subquery_columns(operand, &*query, "in")?;
        let nullable = nullable(&operand) || query.columns().iter().any(|column| column.nullable);
        let ty = SqlType {
            nullable,
            ..SqlType::boolean()
        };
        let kind = SubqueryKind::In { operand, how, negated };
        Ok(Expr::subquery(SubqueryExpr { query, kind }, ty, Coercibility::Numeric))
    }

    /// How an operand compares with a subquery's columns; 1241 when their numbers differ.
    fn subquery_columns(
        &self,
        operand: Expr,
        query: &dyn Subquery,
        operation: &str,
    ) -> SqlResult<(Expr, Vec<Comparison>)> {
        let columns = query.columns();
        let width = operand.width();
        if width != columns.len() {
            return Err(SqlError::new(ErrorKind::OperandColumns, &[&width]));
        }
        let mut stand_ins = columns.iter().enumerate().map(|(slot, ty)| Expr {
            coercibility: query.coercibility(slot),
            ..Expr::column(slot, "", ty.clone())
        });
        match operand.kind {
            ExprKind::Row(parts) => {
                let mut hows = Vec::with_capacity(width);
                let mut operands = Vec::with_capacity(width);
                for (part, stand_in) in parts.into_iter().zip(stand_ins) {
                    let (how, part, _) = self.unify(part, stand_in, operation)?;
                    hows.push(how);
                    operands.push(part);
                }
                Ok((Expr::row(operands), hows))
            }
            // A subquery of a row.
            _ if width > 1 => {
                let parts = operand.column_stand_ins().into_iter().zip(stand_ins);
                let hows = parts.map(|(part, stand_in)| self.unify(part, stand_in, operation).map(|(how, ..)| how));
                let hows = hows.collect::<SqlResult<_>>()?;
                Ok((operand, hows))
            }
            _ => {
                let stand_in = stand_ins.next().unwrap_or_else(Expr::null);
                let (how, operand, _) = self.unify(operand, stand_in, operation)?;
                Ok((operand, vec![how]))
            }
        }
    }

    pub(super) fn quantified(&mut self, tree: &ast::Quantified) -> SqlResult<Expr> {
        let op = CompareOp::of(tree.op).ok_or_else(|| SqlError::internal("ALL and ANY follow a comparison"))?;
        // Rows are equal to one of the subquery's, or to none.
        if matches!(tree.left, ast::Expr::Row(_) | ast::Expr::Subquery(_)) {
            match (op, tree.quantifier) {
                (CompareOp::Eq, ast::Quantifier::Any) => return self.within_subquery(&tree.left, &tree.query, false),
                (CompareOp::Ne, ast::Quantifier::All) => return self.within_subquery(&tree.left, &tree.query, true),
                _ => {}
            }
        }
        let operand = self.bind_any(&tree.left)?;
        let operand = scalar(operand)?;
        let query = self.scope.subquery(&tree.query)?;
        let (operand, mut hows) = self.subquery_columns(operand, &*query, op.symbol())?;
        let how = hows
            .pop()
            .ok_or_else(|| SqlError::internal("a subquery has a column"))?;
        let kind = SubqueryKind::Quantified {
            operand,
            op,
            how,
            quantifier: tree.quantifier,
        };
        Ok(Expr::subquery(
            SubqueryExpr { query, kind },
            SqlType::boolean(),
            Coercibility::Numeric,
        ))
    }

    pub(super) fn like(&mut self, like: &ast::Like) -> SqlResult<Expr> {
        let (operand, pattern) = (self.bind(&like.operand)?, self.bind(&like.pattern)?);
        let escape = like.escape.as_ref().map(|tree| self.bind(tree)).transpose()?;
        // The escape's collation counts as those of the texts do.
        let mixed = [&operand, &pattern].into_iter().chain(&escape);
        let mixed = collation::aggregate(mixed, self.connection(), "like", true)?;
        let escape = match escape {
            None => Escape::Char(Some('\\').filter(|_| {
                !self
                    .ctx
                    .settings
                    .sql_mode
                    .has(crate::sql_mode::SqlMode::NO_BACKSLASH_ESCAPES)
            })),
            Some(bound) => escape_of(bound)?,
        };
        let nullable = operand.ty.nullable || pattern.ty.nullable;
        let kind = Like {
            operand,
            pattern,
            escape,
            collation: mixed.collation,
            negated: like.negated,
        };
        Ok(Expr::boolean(ExprKind::Like(Box::new(kind)), nullable))
    }

    pub(super) fn regexp(&mut self, regexp: &ast::Regexp) -> SqlResult<Expr> {
        let call = self.native("REGEXP_LIKE", &[&regexp.operand, &regexp.pattern])?;
        if !regexp.negated {
            return Ok(call);
        }
        let nullable = call.ty.nullable;
        let call = self.fold(call);
        Ok(Expr::boolean(ExprKind::Not(Box::new(call)), nullable))
    }

    pub(super) fn case(&mut self, case: &ast::Case) -> SqlResult<Expr> {
        let mut operand = case.operand.as_ref().map(|tree| self.bind(tree)).transpose()?;
        let mut whens = Vec::with_capacity(case.whens.len());
        for (condition, result) in &case.whens {
            let condition = self.bind(condition)?;
            let (how, condition) = match &mut operand {
                None => (None, condition),
                // Other than `=`, CASE compares JSON with strings as texts, with numbers as numbers.
                Some(operand) if operand.ty.kind == TypeKind::Json && condition.ty.kind.is_text() => {
                    (Some(Comparison::Text(CollationId::UTF8MB4_BIN)), condition)
                }
                Some(operand) if operand.ty.kind == TypeKind::Json && condition.ty.kind.is_numeric() => {
                    (Some(Comparison::Double), condition)
                }
                Some(operand) => {
                    let list = ListComparison::by_operand();
                    let (how, left, condition) =
                        list.unify(operand.clone(), condition, "case", self.connection(), &self.ctx)?;
                    if matches!(operand.kind, ExprKind::HexLiteral(_)) {
                        *operand = left;
                    }
                    (Some(how), condition)
                }
            };
            whens.push(When {
                how,
                condition,
                result: self.bind(result)?,
            });
        }
        let otherwise = case.otherwise.as_ref().map(|tree| self.bind(tree)).transpose()?;
        let mut results: Stepwise<Vec<Expr>> = whens.iter().map(|when| when.result.clone()).collect();
        results.extend(otherwise.clone());
        let (ty, coercibility) = {
            let mut inference = Inference {
                name: "case",
                args: &mut results,
                ctx: &self.ctx,
                coercibility: None,
            };
            let ty = inference.common_type(0)?;
            (ty, inference.coercibility)
        };
        let nullable = otherwise.is_none() || results.iter().any(|result| result.ty.nullable);
        let coercibility = coercibility.unwrap_or_else(|| Coercibility::of_result(&ty));
        let kind = ExprKind::Case(Box::new(Case {
            operand,
            whens,
            otherwise,
        }));
        Ok(Expr {
            kind,
            ty: SqlType { nullable, ..ty },
            coercibility,
        })
    }

    pub(super) fn collate(&mut self, collate: &ast::Collate) -> SqlResult<Expr> {
        let operand = self.bind(&collate.operand)?;
        let collation = collation_by_name(&collate.collation)?;
        self.with_collation(operand, collation)
    }

    /// `operand COLLATE collation`. 1253 when the collation is of another character set.
    fn with_collation(&self, operand: Expr, collation: CollationId) -> SqlResult<Expr> {
        let stringlike = collation::is_stringlike(&operand.ty);
        let charset = match operand.ty.kind {
            TypeKind::Json => types::CharsetId::UTF8MB4,
            TypeKind::Null | TypeKind::Bit => types::CharsetId::BINARY,
            _ if stringlike => operand.ty.charset(),
            // A number or a date can be written in any.
            _ => collation.charset(),
        };
        // Of a parameter without a value nothing is known yet.
        let is_open =
            self.options.params.is_empty() && operand.any(&mut |part| matches!(part.kind, ExprKind::Param(_)));
        if collation.charset() != charset && !is_open {
            let mismatch = ErrorKind::CollationCharsetMismatch;
            return Err(SqlError::new(mismatch, &[&collation.name(), &charset.name()]));
        }
        let ty = if operand.ty.kind.is_text() || operand.ty.kind.is_binary() {
            SqlType {
                collation,
                ..operand.ty.clone()
            }
        } else {
            let chars = crate::functions::printed_chars(&operand.ty);
            SqlType {
                nullable: operand.ty.nullable,
                ..crate::functions::string_type(chars, collation)
            }
        };
        Ok(Expr {
            kind: ExprKind::Collate(Box::new(operand)),
            ty,
            coercibility: Coercibility::Explicit,
        })
    }
}

/// What IN compares, with the rows inside of rows as the columns that they have: rows are equal where all of them are. 1241 where an
/// item is of another shape.
fn flat_rows(operand: Expr, mut items: Vec<Expr>) -> SqlResult<(Expr, Vec<Expr>)> {
    let is_row = |expr: &Expr| matches!(expr.kind, ExprKind::Row(_));
    let nests = |expr: &Expr| {
        governor::pause();
        matches!(&expr.kind, ExprKind::Row(columns) if columns.iter().any(is_row))
    };
    if !nests(&operand) && !items.iter().any(nests) {
        return Ok((operand, items));
    }
    for item in &items {
        check_shape(&operand, item)?;
    }
    for item in &mut items {
        *item = flat_row(std::mem::replace(item, Expr::null()));
    }
    Ok((flat_row(operand), items))
}

fn check_shape(left: &Expr, right: &Expr) -> SqlResult<()> {
    governor::tick()?;
    match (&left.kind, &right.kind) {
        (ExprKind::Row(lefts), ExprKind::Row(rights)) if lefts.len() == rights.len() => lefts
            .iter()
            .zip(rights)
            .try_for_each(|(left, right)| check_shape(left, right)),
        _ if left.width() == 1 && right.width() == 1 => Ok(()),
        _ => Err(SqlError::new(ErrorKind::OperandColumns, &[&left.width()])),
    }
}

fn flat_row(row: Expr) -> Expr {
    fn add(expr: Expr, columns: &mut Vec<Expr>) {
        match expr.kind {
            ExprKind::Row(parts) => parts.into_iter().for_each(|part| add(part, columns)),
            _ => columns.push(expr),
        }
    }
    let mut columns = Vec::new();
    add(row, &mut columns);
    Expr::row(columns)
}

/// What follows ESCAPE: a constant; 1210 otherwise.
fn escape_of(bound: Expr) -> SqlResult<Escape> {
    match bound.as_literal() {
        Some(value) => Escape::of_value(value).map(Escape::Char),
        None if bound.is_constant() => Ok(Escape::Computed(bound)),
        None => Err(SqlError::new(ErrorKind::WrongArguments, &[&"ESCAPE"])),
    }
}

fn nullable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Row(columns) => columns.iter().any(nullable),
        _ => expr.ty.nullable,
    }
}

/// BETWEEN, whose operand `unify` compares with each bound.
fn between_by(
    operand: Expr,
    low: Expr,
    high: Expr,
    negated: bool,
    unify: impl Fn(Expr, Expr) -> SqlResult<(Comparison, Expr, Expr)>,
) -> SqlResult<Expr> {
    let nullable = [&operand, &low, &high].iter().any(|expr| expr.ty.nullable);
    let (low_how, operand, low) = unify(operand, low)?;
    let (high_how, operand, high) = unify(operand, high)?;
    let kind = ExprKind::Between(Box::new(Between {
        operand,
        low,
        high,
        low_how,
        high_how,
        negated,
    }));
    Ok(Expr::boolean(kind, nullable))
}

fn is_dated(ty: &SqlType) -> bool {
    matches!(ty.kind, TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp)
}

/// `-n` of an integer literal: the one way to write the smallest BIGINT.
fn negative_integer(number: u64) -> Expr {
    let value = match number {
        n if n <= 1 << 63 => Value::Int((n as i64).wrapping_neg()),
        n => return super::literal::decimal_literal(-Decimal::from(n)),
    };
    let ty = type_of_value(&value, CollationId::BINARY);
    let digits = number.checked_ilog10().unwrap_or(0) + 1;
    Expr::literal(
        value,
        SqlType {
            length: digits + 1,
            ..ty
        },
    )
}

/// Whether bit operations take the bytes, and not a number.
pub(crate) fn is_binary_string(expr: &Expr) -> bool {
    expr.ty.kind.is_binary() && !matches!(expr.kind, ExprKind::HexLiteral(_))
}

/// The type of a bit operation: BIGINT UNSIGNED, or a binary string where the operands are (MySQL 8.0).
fn bit_type(left: &Expr, right: Option<&Expr>) -> SqlType {
    let nullable = left.ty.nullable || right.is_some_and(|right| right.ty.nullable);
    let ty = if left.ty.kind.is_binary() {
        crate::functions::string_type(u64::from(left.ty.length), CollationId::BINARY)
    } else {
        SqlType {
            length: 21,
            ..SqlType::bigint_unsigned()
        }
    };
    SqlType { nullable, ..ty }
}

fn bitwise(op: BitOp, left: Expr, right: Expr) -> Expr {
    let shift = matches!(op, BitOp::ShiftLeft | BitOp::ShiftRight);
    // Byte strings work bytewise when one of them is more than a hex literal.
    let bytes = if shift {
        is_binary_string(&left)
    } else {
        left.ty.kind.is_binary() && right.ty.kind.is_binary() && (is_binary_string(&left) || is_binary_string(&right))
    };
    let (left, right) = match (bytes, shift) {
        (true, false) => (left, right),
        (true, true) => (left, convert::as_number(right)),
        (false, _) => (convert::as_number(left), convert::as_number(right)),
    };
    let ty = if bytes {
        bit_type(&left, Some(&right))
    } else {
        let nullable = left.ty.nullable || right.ty.nullable;
        SqlType {
            length: 21,
            nullable,
            ..SqlType::bigint_unsigned()
        }
    };
    Expr {
        kind: ExprKind::Bitwise(Box::new(Bitwise { op, left, right })),
        ty,
        coercibility: Coercibility::Numeric,
    }
}
