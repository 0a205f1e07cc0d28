//! Expressions as text, in MySQL's spelling: EXPLAIN, and the messages that quote an expression.

use std::fmt::{self, Display, Formatter, Write};

use parser::ast::{IsTest, Quantifier, VarScope};
use types::{TypeKind, Value};

use super::{Escape, Expr, ExprKind, InItems, SubqueryKind, convert};

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(value) => literal(value, f),
            ExprKind::HexLiteral(value) => {
                f.write_str("0x")?;
                convert::to_bytes(value)
                    .iter()
                    .try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            ExprKind::Column(column) | ExprKind::Outer { column, .. } => match column.name.is_empty() {
                true => write!(f, "<column {}>", column.slot),
                false => f.write_str(&column.name),
            },
            ExprKind::Param(_) => f.write_char('?'),
            ExprKind::NoDefault(_) => f.write_str("default"),
            ExprKind::UserVariable { name, .. } => write!(f, "(@`{name}`)"),
            ExprKind::AssignUserVariable { name, value } => write!(f, "(@`{name}`:={value})"),
            ExprKind::SystemVariable { scope, name } => {
                let scope = match scope {
                    None => "",
                    Some(VarScope::Session) => "session.",
                    Some(_) => "global.",
                };
                write!(f, "@@{scope}{name}")
            }
            ExprKind::Aggregate(index) => write!(f, "<aggregate {index}>"),
            ExprKind::Window(index) => write!(f, "<window {index}>"),
            ExprKind::Row(columns) => list(f, "(", columns, ",", ")"),
            ExprKind::And(operands) => list(f, "(", operands, " and ", ")"),
            ExprKind::Or(operands) => list(f, "(", operands, " or ", ")"),
            ExprKind::Xor(pair) => write!(f, "({} xor {})", pair[0], pair[1]),
            ExprKind::Not(operand) => write!(f, "(not({operand}))"),
            ExprKind::Is { operand, test, negated } => {
                let not = if *negated { "not " } else { "" };
                let test = match test {
                    IsTest::Null | IsTest::Unknown => "null",
                    IsTest::True => "true",
                    IsTest::False => "false",
                };
                write!(f, "({operand} is {not}{test})")
            }
            ExprKind::Compare(node) => write!(f, "({} {} {})", node.left, node.op.symbol(), node.right),
            ExprKind::Between(node) => {
                let not = if node.negated { "not " } else { "" };
                write!(f, "({} {not}between {} and {})", node.operand, node.low, node.high)
            }
            ExprKind::In(node) => {
                let not = if node.negated { "not " } else { "" };
                write!(f, "({} {not}in (", node.operand)?;
                match &node.list {
                    InItems::Sorted { values, has_null, .. } => {
                        let mut comma = "";
                        for value in values {
                            f.write_str(comma)?;
                            literal(value, f)?;
                            comma = ",";
                        }
                        if *has_null {
                            write!(f, "{comma}NULL")?;
                        }
                    }
                    InItems::Each(items) => {
                        let mut comma = "";
                        for (_, item) in items {
                            write!(f, "{comma}{item}")?;
                            comma = ",";
                        }
                    }
                }
                f.write_str("))")
            }
            ExprKind::Like(node) => {
                let not = if node.negated { "not " } else { "" };
                write!(f, "({} {not}like {}", node.operand, node.pattern)?;
                match &node.escape {
                    Escape::Char(Some('\\')) => {}
                    Escape::Char(Some(escape)) => write!(f, " escape '{escape}'")?,
                    Escape::Char(None) => f.write_str(" escape ''")?,
                    Escape::Computed(constant) => write!(f, " escape {constant}")?,
                }
                f.write_char(')')
            }
            ExprKind::Arithmetic(node) => write!(f, "({} {} {})", node.left, node.op.symbol(), node.right),
            ExprKind::Bitwise(node) => write!(f, "({} {} {})", node.left, node.op.symbol(), node.right),
            ExprKind::Negate { operand, .. } => write!(f, "-({operand})"),
            ExprKind::BitNot(operand) => write!(f, "~({operand})"),
            ExprKind::Case(node) => {
                f.write_str("(case ")?;
                if let Some(operand) = &node.operand {
                    write!(f, "{operand} ")?;
                }
                for when in &node.whens {
                    write!(f, "when {} then {} ", when.condition, when.result)?;
                }
                if let Some(otherwise) = &node.otherwise {
                    write!(f, "else {otherwise} ")?;
                }
                f.write_str("end)")
            }
            ExprKind::Cast(node) => match &node.elements {
                Some(element) => write!(
                    f,
                    "cast({} as {} array)",
                    node.operand,
                    super::array::shown_type(element)
                ),
                None => write!(f, "cast({} as {})", node.operand, cast_name(self)),
            },
            ExprKind::Collate(operand) => write!(f, "({operand} collate {})", self.ty.collation.name()),
            ExprKind::Call(node) => {
                f.write_str(&node.function.name.to_ascii_lowercase())?;
                list(f, "(", &node.args, ",", ")")
            }
            ExprKind::Subquery(node) => match &node.kind {
                SubqueryKind::Scalar => f.write_str("(<subquery>)"),
                SubqueryKind::Function { name, args, .. } => {
                    f.write_str(name)?;
                    list(f, "(", args, ",", ")")
                }
                SubqueryKind::Exists => f.write_str("exists(<subquery>)"),
                SubqueryKind::In { operand, negated, .. } => {
                    let not = if *negated { "not " } else { "" };
                    write!(f, "({operand} {not}in (<subquery>))")
                }
                SubqueryKind::Quantified {
                    operand,
                    op,
                    quantifier,
                    ..
                } => {
                    let quantifier = if *quantifier == Quantifier::All { "all" } else { "any" };
                    write!(f, "({operand} {} {quantifier} (<subquery>))", op.symbol())
                }
            },
        }
    }
}

fn list(f: &mut Formatter<'_>, open: &str, items: &[Expr], between: &str, close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(between)?;
        }
        item.fmt(f)?;
    }
    f.write_str(close)
}

fn literal(value: &Value, f: &mut Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => f.write_str("NULL"),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Double(_) | Value::Decimal(_) | Value::Year(_) => {
            f.write_str(&convert::to_text(value))
        }
        Value::Date(date) => write!(f, "DATE'{date}'"),
        Value::Time(time) => write!(f, "TIME'{time}'"),
        Value::DateTime(datetime) => write!(f, "TIMESTAMP'{datetime}'"),
        Value::Bytes(bytes) if std::str::from_utf8(bytes).is_err() => {
            f.write_str("0x")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        }
        other => write!(
            f,
            "'{}'",
            convert::to_text(other).replace('\\', "\\\\").replace('\'', "\\'")
        ),
    }
}

fn cast_name(expr: &Expr) -> String {
    match expr.ty.kind {
        kind if kind.is_integer() => if expr.ty.unsigned { "unsigned" } else { "signed" }.to_owned(),
        kind if kind.is_text() => format!("char charset {}", expr.ty.charset().name()),
        kind if kind.is_binary() => "char charset binary".to_owned(),
        TypeKind::Null => "char".to_owned(),
        _ => expr.ty.to_string(),
    }
}
