//! What evaluating an expression costs for one row.

#[path = "../tests/support/mod.rs"]
#[expect(dead_code, reason = "the tests print what the benchmark only evaluates")]
mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use sql::expr::scope::unknown_column;
use sql::expr::{Binder, Clause, Resolved, Scope, Settings, StatementContext};
use types::time::UnixTime;
use types::{CollationId, Decimal, SqlResult, SqlType, Value};

struct Table;

impl Scope for Table {
    fn resolve(&mut self, column: &parser::ast::ColumnName) -> SqlResult<Resolved> {
        let text = SqlType::varchar(120, CollationId::UTF8MB4_0900_AI_CI);
        let (slot, ty) = match &*column.name {
            "id" => (0, SqlType::int().not_null()),
            "k" => (1, SqlType::int()),
            "c" => (2, text),
            "d" => (3, SqlType::decimal(12, 2)),
            _ => return Err(unknown_column(column, Clause::Where)),
        };
        Ok(Resolved::Column {
            slot,
            name: (&*column.name).into(),
            ty,
        })
    }
}

fn evaluate(c: &mut Criterion) {
    let (settings, session) = (Settings::default(), support::TestSession::default());
    let statement = StatementContext::new(
        &settings,
        &session,
        UnixTime {
            micros: 1_700_000_000_000_000,
            fsp: 6,
        },
    );
    let ctx = statement.eval();
    let row = [
        Value::Int(4711),
        Value::Int(815),
        Value::str("68487932199-96439406143-93774651418-41631865787-96406072701"),
        Value::Decimal(Decimal::parse("1234.50").expect("a decimal")),
    ];
    for text in [
        "id = 4711",
        "id BETWEEN 4000 AND 5000 AND k > 100",
        "id IN (1, 17, 4711, 9999)",
        "k + 1",
        "d * 2 + 0.5",
        "c = '68487932199-96439406143-93774651418-41631865787-96406072701'",
        "c LIKE '%41631865787%'",
        "SUBSTRING(c, 1, 11)",
        "CONCAT('c', k)",
        "CASE WHEN k > 100 THEN 'a' ELSE 'b' END",
    ] {
        let tree = parser::parse_expr(text.as_bytes(), Default::default()).expect(text);
        let expr = Binder::new(&mut Table, ctx, Default::default())
            .bind(&tree)
            .expect(text);
        c.bench_function(text, |b| b.iter(|| expr.eval(black_box(&row), &ctx)));
    }
}

criterion_group!(benches, evaluate);
criterion_main!(benches);
