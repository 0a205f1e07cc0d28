//! What a row and a key cost. `cargo bench -p types`.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use types::{CollationId, Decimal, KeyLayout, KeyPart, RowLayout, SqlType, Value};

fn keys(c: &mut Criterion) {
    let mut out = Vec::with_capacity(256);
    let mut bench = |name: &str, ty: SqlType, value: Value| {
        let layout = KeyLayout::new(vec![KeyPart::ascending(0, ty.not_null())]);
        let values = [value];
        c.bench_function(name, |b| {
            b.iter(|| {
                out.clear();
                layout.encode_values(black_box(&values), &mut out)
            });
        });
    };
    bench("key: int", SqlType::int(), Value::Int(123_456));
    bench("key: bigint", SqlType::bigint(), Value::Int(123_456));
    bench(
        "key: decimal(10,2)",
        SqlType::decimal(10, 2),
        Value::Decimal(Decimal::from_scaled(12_345, 2)),
    );
    bench(
        "key: varbinary of 16",
        SqlType::varbinary(16),
        Value::bytes(b"0123456789abcdef"),
    );
    let name = "Alice Liddell";
    bench(
        "key: varchar utf8mb4_0900_ai_ci of 13",
        SqlType::varchar(50, CollationId::DEFAULT),
        name.into(),
    );
    bench(
        "key: varchar utf8mb4_bin of 13",
        SqlType::varchar(50, CollationId::UTF8MB4_BIN),
        name.into(),
    );
}

/// The row of sysbench's tables.
fn rows(c: &mut Criterion) {
    let char = |n| SqlType::char(n, CollationId::DEFAULT).not_null();
    let layout = RowLayout::new(&[
        SqlType::int().not_null(),
        SqlType::int().not_null(),
        char(120),
        char(60),
    ]);
    let values = [
        Value::Int(1),
        Value::Int(2),
        Value::from("c".repeat(119)),
        Value::from("p".repeat(59)),
    ];
    let mut row = Vec::new();
    layout.encode(&values, &mut row);
    let mut out = Vec::with_capacity(512);
    c.bench_function("row: encode", |b| {
        b.iter(|| {
            out.clear();
            layout.encode(black_box(&values), &mut out);
        });
    });
    let changes = [(1, Value::Int(77))];
    c.bench_function("row: update one column", |b| {
        b.iter(|| {
            out.clear();
            layout.encode_update(black_box(&row), &changes, &mut out);
        });
    });
    c.bench_function("row: read an int", |b| b.iter(|| layout.column(black_box(&row), 1)));
    c.bench_function("row: read a string", |b| b.iter(|| layout.column(black_box(&row), 2)));
    c.bench_function("row: decode", |b| b.iter(|| layout.decode(black_box(&row))));
    c.bench_function("row: validate", |b| b.iter(|| layout.validate(black_box(&row))));
    let key = KeyLayout::new(vec![KeyPart::ascending(0, SqlType::int().not_null())]);
    c.bench_function("row: key of an int", |b| {
        b.iter(|| {
            out.clear();
            key.encode_row(&layout, black_box(&row), &mut out)
        });
    });
}

fn numbers(c: &mut Criterion) {
    let (a, b) = (Decimal::from_scaled(123_456_789, 4), Decimal::from_scaled(98_765, 2));
    let wide = Decimal::max(60, 20);
    c.bench_function("decimal: add", |bench| {
        bench.iter(|| black_box(a).checked_add(black_box(b)))
    });
    c.bench_function("decimal: multiply", |bench| {
        bench.iter(|| black_box(a).checked_mul(black_box(b)))
    });
    c.bench_function("decimal: divide", |bench| {
        bench.iter(|| black_box(a).checked_div(black_box(b), 4))
    });
    c.bench_function("decimal: divide 60 digits", |bench| {
        bench.iter(|| black_box(wide).checked_div(black_box(b), 4))
    });
    let mut out = Vec::with_capacity(64);
    c.bench_function("text: bigint", |bench| {
        bench.iter(|| {
            out.clear();
            types::number::write_i64(black_box(1_234_567_890), &mut out);
        });
    });
    c.bench_function("text: double", |bench| {
        bench.iter(|| {
            out.clear();
            types::number::write_double(black_box(1234.5678), &mut out);
        });
    });
}

criterion_group!(benches, keys, rows, numbers);
criterion_main!(benches);
