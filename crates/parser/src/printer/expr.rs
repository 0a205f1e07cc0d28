//! Expressions. Levels are the parser's binding powers: an operand that binds looser than its place is put in parentheses.

use super::{Printer, Style, is_plain_word};
use crate::ast::*;
use crate::keywords;
use crate::parser::{is_plain_call, level};

/// Above every operator, prefix ones too.
const PRIMARY: u8 = level::SIMPLE + 1;

impl Printer {
    pub(super) fn expr(&mut self, expr: &Expr) {
        self.expr_at(expr, level::LOWEST);
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) {
        self.list(exprs, Self::expr);
    }

    pub(super) fn expr_at(&mut self, expr: &Expr, least: u8) {
        if level_of(expr) < least || self.style == Style::Shown && is_operation(expr) {
            self.text("(");
            self.expr_bare(expr);
            self.text(")");
        } else {
            self.expr_bare(expr);
        }
    }

    fn expr_bare(&mut self, expr: &Expr) {
        match expr {
            Expr::Literal(literal) => self.literal(literal),
            Expr::Param(_) => self.text("?"),
            Expr::Local(local) => self.ident(&local.name),
            Expr::Column(column) => self.column_name(column),
            Expr::UserVar(name) => self.user_var(name),
            Expr::SystemVar(variable) => self.system_var(variable),
            Expr::Assign(assign) => {
                self.user_var(&assign.name);
                self.text(" := ");
                self.expr(&assign.value);
            }
            Expr::And(operands) => self.chain(operands, " AND ", level::AND),
            Expr::Or(operands) => self.chain(operands, " OR ", level::OR),
            Expr::Unary(unary) => self.unary(unary),
            Expr::Binary(binary) => self.binary(binary),
            Expr::Is(is) => {
                self.expr_at(&is.operand, level::COMPARISON);
                self.text(if is.negated { " IS NOT " } else { " IS " });
                self.text(match is.test {
                    IsTest::Null => "NULL",
                    IsTest::True => "TRUE",
                    IsTest::False => "FALSE",
                    IsTest::Unknown => "UNKNOWN",
                });
            }
            Expr::Between(between) => {
                self.predicate(&between.operand, between.negated, "BETWEEN ");
                self.expr_at(&between.low, level::BIT_OR);
                self.text(" AND ");
                self.expr_at(&between.high, level::PREDICATE);
            }
            Expr::InList(list) => {
                self.predicate(&list.operand, list.negated, "IN ");
                self.paren_list(&list.list, Self::expr);
            }
            Expr::InSubquery(subquery) => {
                self.predicate(&subquery.operand, subquery.negated, "IN ");
                self.subquery(&subquery.query);
            }
            Expr::Like(like) => {
                self.predicate(&like.operand, like.negated, "LIKE ");
                self.expr_at(&like.pattern, level::CONCAT);
                self.opt(" ESCAPE ", &like.escape, |p, escape| p.expr_at(escape, level::CONCAT));
            }
            Expr::Regexp(regexp) => {
                self.predicate(&regexp.operand, regexp.negated, "REGEXP ");
                self.expr_at(&regexp.pattern, level::BIT_OR);
            }
            Expr::MemberOf(member) => {
                self.predicate(&member.operand, false, "MEMBER OF (");
                self.expr_at(&member.array, level::CONCAT);
                self.text(")");
            }
            Expr::Quantified(quantified) => {
                self.expr_at(&quantified.left, level::COMPARISON);
                self.text(operator(quantified.op));
                self.text(match quantified.quantifier {
                    Quantifier::All => "ALL ",
                    Quantifier::Any => "ANY ",
                });
                self.subquery(&quantified.query);
            }
            Expr::Exists(query) => {
                self.text("EXISTS ");
                self.subquery(query);
            }
            Expr::Subquery(query) => self.subquery(query),
            Expr::Row(values) => {
                self.text("ROW");
                self.paren_list(values, Self::expr);
            }
            Expr::Case(case) => self.case(case),
            Expr::Collate(collate) => {
                self.expr_at(&collate.operand, PRIMARY);
                self.text(" COLLATE ");
                self.ident(&collate.collation);
            }
            Expr::Default => self.text("DEFAULT"),
            Expr::DefaultOf(column) => {
                self.text("DEFAULT(");
                self.column_name(column);
                self.text(")");
            }
            Expr::InsertValue(column) => {
                self.text("VALUES(");
                self.column_name(column);
                self.text(")");
            }
            _ => self.function(expr),
        }
    }

    /// What is written like a function.
    fn function(&mut self, expr: &Expr) {
        match expr {
            Expr::Function(call) => self.call(call),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate),
            Expr::Window(window) => self.window_call(window),
            Expr::Cast(cast) => self.cast(cast),
            Expr::ConvertUsing(convert) => {
                self.text("CONVERT(");
                self.expr(&convert.operand);
                self.text(" USING ");
                self.ident(&convert.charset);
                self.text(")");
            }
            Expr::DateArith(arith) => {
                self.expr_at(&arith.date, level::ADD);
                self.text(match arith.op {
                    DateOp::Add => " + ",
                    DateOp::Sub => " - ",
                });
                self.interval(&arith.amount, arith.unit);
            }
            Expr::Extract(extract) => {
                self.text("EXTRACT(");
                self.text(unit(extract.unit));
                self.text(" FROM ");
                self.expr(&extract.operand);
                self.text(")");
            }
            Expr::TimestampDiff(diff) => {
                self.text("TIMESTAMPDIFF(");
                self.text(unit(diff.unit));
                self.text(", ");
                self.expr(&diff.from);
                self.text(", ");
                self.expr(&diff.to);
                self.text(")");
            }
            Expr::GetFormat(format) => {
                self.text("GET_FORMAT(");
                self.text(match format.kind {
                    TemporalKind::Date => "DATE, ",
                    TemporalKind::Time => "TIME, ",
                    TemporalKind::DateTime => "DATETIME, ",
                });
                self.expr(&format.region);
                self.text(")");
            }
            Expr::Trim(trim) if self.style == Style::Shown && trim.side == TrimSide::Both && trim.remove.is_none() => {
                self.text("TRIM(");
                self.expr(&trim.operand);
                self.text(")");
            }
            Expr::Trim(trim) => {
                self.text("TRIM(");
                self.text(match trim.side {
                    TrimSide::Both => "BOTH ",
                    TrimSide::Leading => "LEADING ",
                    TrimSide::Trailing => "TRAILING ",
                });
                if let Some(remove) = &trim.remove {
                    self.expr(remove);
                    self.text(" ");
                }
                self.text("FROM ");
                self.expr(&trim.operand);
                self.text(")");
            }
            Expr::Char(char) => {
                self.text("CHAR(");
                self.exprs(&char.args);
                self.opt(" USING ", &char.charset, Self::ident);
                self.text(")");
            }
            Expr::WeightString(weight) => {
                self.text("WEIGHT_STRING(");
                self.expr(&weight.operand);
                match weight.cast {
                    Some(WeightStringAs::Char(length)) => self.text(&format!(" AS CHAR({length})")),
                    Some(WeightStringAs::Binary(length)) => self.text(&format!(" AS BINARY({length})")),
                    None => {}
                }
                self.text(")");
            }
            Expr::MatchAgainst(search) => {
                self.text("MATCH ");
                self.paren_list(&search.columns, Self::column_name);
                self.text(" AGAINST (");
                self.expr_at(&search.against, level::BIT_OR);
                self.text(match search.mode {
                    MatchMode::NaturalLanguage => "",
                    MatchMode::QueryExpansion => " WITH QUERY EXPANSION",
                    MatchMode::Boolean => " IN BOOLEAN MODE",
                });
                self.text(")");
            }
            Expr::JsonValue(value) => {
                self.text("JSON_VALUE(");
                self.expr_at(&value.document, level::CONCAT);
                self.text(", ");
                self.expr(&value.path);
                self.opt(" RETURNING ", &value.returning, Self::cast_type);
                self.json_responses(&value.on_empty, &value.on_error);
                self.text(")");
            }
            _ => unreachable!("every other expression is printed by the caller"),
        }
    }

    pub(super) fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.text("NULL"),
            Literal::Bool(true) => self.text("TRUE"),
            Literal::Bool(false) => self.text("FALSE"),
            Literal::Int(value) => self.number(value),
            Literal::Decimal(text) | Literal::Float(text) => self.raw(text),
            Literal::String(value) => self.string(value),
            Literal::Introduced(string) => {
                self.text("_");
                self.text(&string.charset);
                self.text(" ");
                match string.form {
                    IntroducedForm::Text => self.string(&string.value),
                    IntroducedForm::Hex => self.hex(&string.value),
                    IntroducedForm::Bit => self.bit(&string.value),
                }
            }
            Literal::Hex(value) => self.hex(value),
            Literal::Bit(value) => self.bit(value),
            Literal::Date(value) => {
                self.text("DATE ");
                self.string(value);
            }
            Literal::Time(value) => {
                self.text("TIME ");
                self.string(value);
            }
            Literal::Timestamp(value) => {
                self.text("TIMESTAMP ");
                self.string(value);
            }
        }
    }

    fn hex(&mut self, value: &[u8]) {
        self.text("X'");
        for byte in value {
            self.text(&format!("{byte:02X}"));
        }
        self.text("'");
    }

    fn bit(&mut self, value: &[u8]) {
        self.text("B'");
        for byte in value {
            self.text(&format!("{byte:08b}"));
        }
        self.text("'");
    }

    pub(super) fn user_var(&mut self, name: &Ident) {
        self.text("@");
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
        if !name.is_empty() && name.bytes().all(plain) {
            self.raw(name)
        } else {
            self.ident(name)
        }
    }

    pub(super) fn system_var(&mut self, variable: &SystemVar) {
        self.text("@@");
        self.opt("", &variable.scope, |p, scope| {
            p.scope(*scope);
            p.text(".");
        });
        self.opt("", &variable.component, |p, component| {
            p.word(component);
            p.text(".");
        });
        self.word(&variable.name);
    }

    pub(super) fn scope(&mut self, scope: VarScope) {
        self.text(match scope {
            VarScope::Global => "GLOBAL",
            VarScope::Session => "SESSION",
            VarScope::Persist => "PERSIST",
            VarScope::PersistOnly => "PERSIST_ONLY",
        });
    }

    fn chain(&mut self, operands: &[Expr], operator: &str, power: u8) {
        for (index, operand) in operands.iter().enumerate() {
            self.when(index > 0, operator);
            self.expr_at(operand, power + 1);
        }
    }

    fn unary(&mut self, unary: &Unary) {
        if unary.op == UnaryOp::Not {
            self.text("NOT ");
            return self.expr_at(&unary.operand, level::NOT);
        }
        self.text(match unary.op {
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
            _ => "BINARY ",
        });
        let encloses = self.style == Style::Shown
            && matches!(unary.op, UnaryOp::Minus | UnaryOp::BitNot)
            && !matches!(unary.operand, Expr::Literal(_))
            && level_of(&unary.operand) == PRIMARY
            && !is_operation(&unary.operand);
        self.when(encloses, "(");
        self.expr_at(&unary.operand, PRIMARY);
        self.when(encloses, ")");
    }

    fn binary(&mut self, binary: &Binary) {
        let power = binary_level(binary.op);
        let left = if binary.op == BinaryOp::SoundsLike {
            level::BIT_OR
        } else {
            power
        };
        self.expr_at(&binary.left, left);
        self.operator(binary.op);
        self.expr_at(&binary.right, power + 1);
    }

    fn operator(&mut self, op: BinaryOp) {
        match op {
            // The one operator that MySQL shows in upper case.
            BinaryOp::IntDiv => self.raw(operator(op)),
            _ => self.text(operator(op)),
        }
    }

    /// `operand [NOT] name`
    fn predicate(&mut self, operand: &Expr, negated: bool, name: &str) {
        self.expr_at(operand, level::BIT_OR);
        self.text(if negated { " NOT " } else { " " });
        self.text(name);
    }

    fn case(&mut self, case: &Case) {
        self.text("CASE");
        self.opt(" ", &case.operand, Self::expr);
        for (when, then) in &case.whens {
            self.text(" WHEN ");
            self.expr(when);
            self.text(" THEN ");
            self.expr(then);
        }
        self.opt(" ELSE ", &case.otherwise, Self::expr);
        self.text(" END");
    }

    fn call(&mut self, call: &FunctionCall) {
        if let Some(schema) = &call.schema {
            self.ident(schema);
            self.text(".");
            self.ident(&call.name);
        } else if reads_as_call(&call.name) {
            self.text(&call.name);
        } else {
            self.ident(&call.name);
        }
        self.paren_list(&call.args, Self::expr);
    }

    fn cast(&mut self, cast: &Cast) {
        self.text("CAST(");
        self.expr(&cast.operand);
        self.opt(" AT TIME ZONE ", &cast.at_time_zone, |p, zone| p.string(zone));
        self.text(" AS ");
        self.cast_type(&cast.target);
        self.when(cast.array, " ARRAY");
        self.text(")");
    }

    /// `INTERVAL amount unit`
    pub(super) fn interval(&mut self, amount: &Expr, interval_unit: IntervalUnit) {
        self.text("INTERVAL ");
        self.expr(amount);
        self.text(" ");
        self.text(unit(interval_unit));
    }

    pub(super) fn json_responses(&mut self, on_empty: &Option<JsonOnResponse>, on_error: &Option<JsonOnResponse>) {
        self.opt(" ", on_empty, Self::json_response);
        self.when(on_empty.is_some(), " ON EMPTY");
        self.opt(" ", on_error, Self::json_response);
        self.when(on_error.is_some(), " ON ERROR");
    }

    fn json_response(&mut self, response: &JsonOnResponse) {
        match response {
            JsonOnResponse::Error => self.text("ERROR"),
            JsonOnResponse::Null => self.text("NULL"),
            JsonOnResponse::Default(value) => {
                self.text("DEFAULT ");
                self.expr(value);
            }
        }
    }

    // ---- aggregates and windows ----

    fn aggregate(&mut self, aggregate: &Aggregate) {
        self.text(match aggregate.function {
            AggregateFn::Count => "COUNT(",
            AggregateFn::Sum => "SUM(",
            AggregateFn::Avg => "AVG(",
            AggregateFn::Min => "MIN(",
            AggregateFn::Max => "MAX(",
            AggregateFn::BitAnd => "BIT_AND(",
            AggregateFn::BitOr => "BIT_OR(",
            AggregateFn::BitXor => "BIT_XOR(",
            AggregateFn::StddevPop => "STDDEV_POP(",
            AggregateFn::StddevSamp => "STDDEV_SAMP(",
            AggregateFn::VarPop => "VAR_POP(",
            AggregateFn::VarSamp => "VAR_SAMP(",
            AggregateFn::GroupConcat => "GROUP_CONCAT(",
            AggregateFn::JsonArrayAgg => "JSON_ARRAYAGG(",
            AggregateFn::JsonObjectAgg => "JSON_OBJECTAGG(",
            AggregateFn::StCollect => "ST_COLLECT(",
        });
        self.when(aggregate.distinct, "DISTINCT ");
        if aggregate.function == AggregateFn::Count && aggregate.args.is_empty() {
            self.text("*");
        }
        self.exprs(&aggregate.args);
        self.order_by(&aggregate.order_by);
        self.opt(" SEPARATOR ", &aggregate.separator, |p, separator| p.string(separator));
        self.text(")");
        self.opt(" OVER ", &aggregate.over, Self::over);
    }

    fn window_call(&mut self, call: &WindowCall) {
        self.text(match call.function {
            WindowFn::RowNumber => "ROW_NUMBER",
            WindowFn::Rank => "RANK",
            WindowFn::DenseRank => "DENSE_RANK",
            WindowFn::CumeDist => "CUME_DIST",
            WindowFn::PercentRank => "PERCENT_RANK",
            WindowFn::Ntile => "NTILE",
            WindowFn::Lead => "LEAD",
            WindowFn::Lag => "LAG",
            WindowFn::FirstValue => "FIRST_VALUE",
            WindowFn::LastValue => "LAST_VALUE",
            WindowFn::NthValue => "NTH_VALUE",
        });
        self.paren_list(&call.args, Self::expr);
        self.when(call.from_last, " FROM LAST");
        self.when(call.ignore_nulls, " IGNORE NULLS");
        self.text(" OVER ");
        self.over(&call.over);
    }

    fn over(&mut self, over: &Over) {
        match over {
            Over::Name(name) => self.ident(name),
            Over::Spec(spec) => self.window_spec(spec),
        }
    }

    pub(super) fn window_spec(&mut self, spec: &WindowSpec) {
        self.text("(");
        self.opt("", &spec.base, Self::ident);
        if !spec.partition_by.is_empty() {
            self.text(" PARTITION BY ");
            self.list(&spec.partition_by, Self::order_item);
        }
        self.order_by(&spec.order_by);
        self.opt(" ", &spec.frame, Self::frame);
        self.text(")");
    }

    fn frame(&mut self, frame: &Frame) {
        self.text(match frame.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        });
        self.when(frame.end.is_some(), "BETWEEN ");
        self.frame_bound(&frame.start);
        self.opt(" AND ", &frame.end, Self::frame_bound);
        self.opt(" EXCLUDE ", &frame.exclude, |p, exclude| {
            p.text(match exclude {
                FrameExclusion::CurrentRow => "CURRENT ROW",
                FrameExclusion::Group => "GROUP",
                FrameExclusion::Ties => "TIES",
                FrameExclusion::NoOthers => "NO OTHERS",
            });
        });
    }

    fn frame_bound(&mut self, bound: &FrameBound) {
        match bound {
            FrameBound::UnboundedPreceding => self.text("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.text("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.text("CURRENT ROW"),
            FrameBound::Preceding(offset) => {
                self.frame_offset(offset);
                self.text(" PRECEDING");
            }
            FrameBound::Following(offset) => {
                self.frame_offset(offset);
                self.text(" FOLLOWING");
            }
        }
    }

    fn frame_offset(&mut self, offset: &FrameOffset) {
        match offset {
            FrameOffset::Rows(rows) => self.expr_at(rows, level::SIMPLE),
            FrameOffset::Interval(amount, unit) => self.interval(amount, *unit),
        }
    }
}

/// How tight the outermost operator of `expr` binds when printed.
fn level_of(expr: &Expr) -> u8 {
    match expr {
        Expr::Assign(_) => level::LOWEST,
        Expr::Or(_) => level::OR,
        Expr::And(_) => level::AND,
        Expr::Unary(unary) if unary.op == UnaryOp::Not => level::NOT,
        Expr::Unary(_) => level::SIMPLE,
        Expr::Is(is) if is.test != IsTest::Null => level::NOT,
        Expr::Is(_) | Expr::Quantified(_) => level::COMPARISON,
        Expr::Binary(binary) => binary_level(binary.op),
        Expr::Between(_)
        | Expr::InList(_)
        | Expr::InSubquery(_)
        | Expr::Like(_)
        | Expr::Regexp(_)
        | Expr::MemberOf(_) => level::PREDICATE,
        Expr::DateArith(_) => level::ADD,
        _ => PRIMARY,
    }
}

/// What stands in parentheses of its own in [`Style::Shown`].
fn is_operation(expr: &Expr) -> bool {
    match expr {
        Expr::Unary(unary) => unary.op == UnaryOp::Not,
        Expr::MemberOf(_) => false,
        Expr::Case(_) | Expr::Collate(_) => true,
        _ => level_of(expr) < PRIMARY,
    }
}

fn binary_level(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Xor => level::XOR,
        BinaryOp::Eq
        | BinaryOp::NullSafeEq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge => level::COMPARISON,
        BinaryOp::SoundsLike => level::PREDICATE,
        BinaryOp::BitOr => level::BIT_OR,
        BinaryOp::BitAnd => level::BIT_AND,
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => level::SHIFT,
        BinaryOp::Add | BinaryOp::Sub => level::ADD,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::IntDiv | BinaryOp::Mod => level::MUL,
        BinaryOp::BitXor => level::BIT_XOR,
    }
}

pub(super) fn operator(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Xor => " XOR ",
        BinaryOp::Eq => " = ",
        BinaryOp::NullSafeEq => " <=> ",
        BinaryOp::Ne => " <> ",
        BinaryOp::Lt => " < ",
        BinaryOp::Le => " <= ",
        BinaryOp::Gt => " > ",
        BinaryOp::Ge => " >= ",
        BinaryOp::SoundsLike => " SOUNDS LIKE ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::BitXor => " ^ ",
        BinaryOp::ShiftLeft => " << ",
        BinaryOp::ShiftRight => " >> ",
        BinaryOp::Add => " + ",
        BinaryOp::Sub => " - ",
        BinaryOp::Mul => " * ",
        BinaryOp::Div => " / ",
        BinaryOp::IntDiv => " DIV ",
        BinaryOp::Mod => " % ",
    }
}

pub(super) fn unit(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "MICROSECOND",
        IntervalUnit::Second => "SECOND",
        IntervalUnit::Minute => "MINUTE",
        IntervalUnit::Hour => "HOUR",
        IntervalUnit::Day => "DAY",
        IntervalUnit::Week => "WEEK",
        IntervalUnit::Month => "MONTH",
        IntervalUnit::Quarter => "QUARTER",
        IntervalUnit::Year => "YEAR",
        IntervalUnit::SecondMicrosecond => "SECOND_MICROSECOND",
        IntervalUnit::MinuteMicrosecond => "MINUTE_MICROSECOND",
        IntervalUnit::MinuteSecond => "MINUTE_SECOND",
        IntervalUnit::HourMicrosecond => "HOUR_MICROSECOND",
        IntervalUnit::HourSecond => "HOUR_SECOND",
        IntervalUnit::HourMinute => "HOUR_MINUTE",
        IntervalUnit::DayMicrosecond => "DAY_MICROSECOND",
        IntervalUnit::DaySecond => "DAY_SECOND",
        IntervalUnit::DayMinute => "DAY_MINUTE",
        IntervalUnit::DayHour => "DAY_HOUR",
        IntervalUnit::YearMonth => "YEAR_MONTH",
    }
}

/// Without backticks, `name(` is read as a call of that name.
fn reads_as_call(name: &Ident) -> bool {
    match keywords::lookup(name.as_bytes()) {
        Some(keyword) => is_plain_call(keyword),
        None => is_plain_word(name),
    }
}
