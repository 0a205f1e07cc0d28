//! The parts of an expression, for rewriting it in place.

use super::{Aggregate, ColumnName, Expr, FrameBound, FrameOffset, JsonOnResponse, OrderItem, Over, Query, WindowSpec};

/// What an expression is made of.
#[derive(Debug)]
pub enum Part<'a> {
    Expr(&'a mut Expr),
    Query(&'a mut Query),
    /// A column that stands by its name alone: in MATCH, DEFAULT() and VALUES().
    Column(&'a mut ColumnName),
}

impl Expr {
    /// Visits the parts directly below this expression, in the order in which they are written.
    pub fn for_each_part(&mut self, visit: &mut dyn FnMut(Part<'_>)) {
        match self {
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::Local(_)
            | Expr::UserVar(_)
            | Expr::SystemVar(_)
            | Expr::Default => {}
            Expr::Assign(assign) => visit(Part::Expr(&mut assign.value)),
            Expr::And(list) | Expr::Or(list) | Expr::Row(list) => exprs(list, visit),
            Expr::Unary(unary) => visit(Part::Expr(&mut unary.operand)),
            Expr::Binary(binary) => exprs([&mut binary.left, &mut binary.right], visit),
            Expr::Is(is) => visit(Part::Expr(&mut is.operand)),
            Expr::Between(between) => exprs([&mut between.operand, &mut between.low, &mut between.high], visit),
            Expr::InList(list) => {
                visit(Part::Expr(&mut list.operand));
                exprs(&mut list.list, visit);
            }
            Expr::InSubquery(inner) => {
                visit(Part::Expr(&mut inner.operand));
                visit(Part::Query(&mut inner.query));
            }
            Expr::Like(like) => {
                exprs([&mut like.operand, &mut like.pattern], visit);
                exprs(&mut like.escape, visit);
            }
            Expr::Regexp(regexp) => exprs([&mut regexp.operand, &mut regexp.pattern], visit),
            Expr::MemberOf(member) => exprs([&mut member.operand, &mut member.array], visit),
            Expr::Quantified(quantified) => {
                visit(Part::Expr(&mut quantified.left));
                visit(Part::Query(&mut quantified.query));
            }
            Expr::Exists(query) | Expr::Subquery(query) => visit(Part::Query(query)),
            Expr::Case(case) => {
                exprs(&mut case.operand, visit);
                for (when, then) in &mut case.whens {
                    exprs([when, then], visit);
                }
                exprs(&mut case.otherwise, visit);
            }
            Expr::Collate(collate) => visit(Part::Expr(&mut collate.operand)),
            Expr::Function(call) => exprs(&mut call.args, visit),
            Expr::Aggregate(aggregate) => of_aggregate(aggregate, visit),
            Expr::Window(window) => {
                exprs(&mut window.args, visit);
                of_over(&mut window.over, visit);
            }
            Expr::Cast(cast) => visit(Part::Expr(&mut cast.operand)),
            Expr::ConvertUsing(convert) => visit(Part::Expr(&mut convert.operand)),
            Expr::DateArith(arith) => exprs([&mut arith.date, &mut arith.amount], visit),
            Expr::Extract(extract) => visit(Part::Expr(&mut extract.operand)),
            Expr::TimestampDiff(diff) => exprs([&mut diff.from, &mut diff.to], visit),
            Expr::GetFormat(format) => visit(Part::Expr(&mut format.region)),
            Expr::Trim(trim) => {
                exprs(&mut trim.remove, visit);
                visit(Part::Expr(&mut trim.operand));
            }
            Expr::Char(char) => exprs(&mut char.args, visit),
            Expr::WeightString(weight) => visit(Part::Expr(&mut weight.operand)),
            Expr::MatchAgainst(search) => {
                for column in &mut search.columns {
                    visit(Part::Column(column));
                }
                visit(Part::Expr(&mut search.against));
            }
            Expr::JsonValue(value) => {
                exprs([&mut value.document, &mut value.path], visit);
                for response in [&mut value.on_empty, &mut value.on_error].into_iter().flatten() {
                    if let JsonOnResponse::Default(default) = response {
                        visit(Part::Expr(default));
                    }
                }
            }
            Expr::DefaultOf(column) | Expr::InsertValue(column) => visit(Part::Column(column)),
        }
    }
}

impl WindowSpec {
    /// Visits its expressions.
    pub fn for_each_part(&mut self, visit: &mut dyn FnMut(Part<'_>)) {
        of_items(&mut self.partition_by, visit);
        of_items(&mut self.order_by, visit);
        let Some(frame) = &mut self.frame else { return };
        for bound in [Some(&mut frame.start), frame.end.as_mut()].into_iter().flatten() {
            if let FrameBound::Preceding(offset) | FrameBound::Following(offset) = bound {
                let (FrameOffset::Rows(expr) | FrameOffset::Interval(expr, _)) = offset;
                visit(Part::Expr(expr));
            }
        }
    }
}

fn exprs<'a>(list: impl IntoIterator<Item = &'a mut Expr>, visit: &mut dyn FnMut(Part<'_>)) {
    for expr in list {
        visit(Part::Expr(expr));
    }
}

fn of_items(items: &mut [OrderItem], visit: &mut dyn FnMut(Part<'_>)) {
    exprs(items.iter_mut().map(|item| &mut item.expr), visit);
}

fn of_aggregate(aggregate: &mut Aggregate, visit: &mut dyn FnMut(Part<'_>)) {
    exprs(&mut aggregate.args, visit);
    of_items(&mut aggregate.order_by, visit);
    if let Some(over) = &mut aggregate.over {
        of_over(over, visit);
    }
}

fn of_over(over: &mut Over, visit: &mut dyn FnMut(Part<'_>)) {
    if let Over::Spec(spec) = over {
        spec.for_each_part(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlMode;

    /// Puts `new_` before every column at any depth.
    fn rename(expr: &mut Expr) {
        if let Expr::Column(column) = expr {
            column.name = format!("new_{}", column.name.as_str()).as_str().into();
        }
        expr.for_each_part(&mut |part| match part {
            Part::Expr(expr) => rename(expr),
            Part::Query(query) => {
                if let crate::ast::QueryBody::Select(select) = &mut query.body {
                    for item in &mut select.items {
                        if let crate::ast::SelectItem::Expr { expr, .. } = item {
                            rename(expr);
                        }
                    }
                }
            }
            Part::Column(column) => column.name = format!("new_{}", column.name.as_str()).as_str().into(),
        });
    }

    #[test]
    fn every_part_of_every_kind_of_expression_is_visited() {
        for text in [
            "c1 + -c2 * c3 AND c4 OR NOT c5",
            "c1 IS NULL AND c2 BETWEEN c3 AND c4 AND c5 IN (c6, c7) AND c8 LIKE c9 ESCAPE '!'",
            "c1 IN (SELECT c2) AND c3 > ALL (SELECT c4) AND EXISTS (SELECT c5) AND (SELECT c6) = 1",
            "c1 REGEXP c2 AND c3 MEMBER OF (c4)",
            "CASE c1 WHEN c2 THEN c3 ELSE c4 END",
            "CASE WHEN c1 THEN c2 END",
            "c1 COLLATE utf8mb4_bin",
            "IF(c1, c2, c3)",
            "GROUP_CONCAT(DISTINCT c1, c2 ORDER BY c3 DESC SEPARATOR '-')",
            "SUM(c1) OVER (PARTITION BY c2 ORDER BY c3 ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)",
            "LAG(c1, 1, c2) OVER (PARTITION BY c3 ORDER BY c4)",
            "CAST(c1 AS CHAR)",
            "CONVERT(c1 USING utf8mb4)",
            "c1 + INTERVAL c2 DAY",
            "EXTRACT(YEAR FROM c1)",
            "TIMESTAMPDIFF(DAY, c1, c2)",
            "GET_FORMAT(DATE, c1)",
            "TRIM(BOTH c1 FROM c2)",
            "CHAR(c1, c2 USING utf8mb4)",
            "WEIGHT_STRING(c1)",
            "MATCH (c1, c2) AGAINST (c3)",
            "JSON_VALUE(c1, '$.a' DEFAULT 1 ON EMPTY)",
            "(c1, c2) = ROW(c3, c4)",
            "DEFAULT(c1)",
            "VALUES(c1)",
            "@a := c1",
        ] {
            let mut expr = crate::parse_expr(text.as_bytes(), SqlMode::default()).expect(text);
            let columns = text.split(|c: char| !c.is_alphanumeric()).filter(|word| {
                word.strip_prefix('c')
                    .is_some_and(|number| number.parse::<u32>().is_ok())
            });
            rename(&mut expr);
            assert_eq!(
                expr.to_string().matches("`new_c").count(),
                columns.count(),
                "{text}: {expr}"
            );
        }
    }
}
