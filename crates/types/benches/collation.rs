//! What comparing, hashing and keys of strings cost under each collation. `cargo bench -p types --bench collation`.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use types::CollationId;

const COLLATIONS: [CollationId; 6] = [
    CollationId::UTF8MB4_0900_AI_CI,
    CollationId::UTF8MB4_0900_AS_CS,
    CollationId::UTF8MB4_UNICODE_CI,
    CollationId::UTF8MB4_GENERAL_CI,
    CollationId::UTF8MB4_BIN,
    CollationId::LATIN1_SWEDISH_CI,
];

fn collations(c: &mut Criterion) {
    let ascii = "lorem ipsum dolor sit amet consectetur ".repeat(4)[..120].to_owned();
    let mut other_end = ascii.clone();
    other_end.replace_range(119..120, "~");
    let upper = ascii.to_uppercase();
    let foreign = "ünïcödé жзик".repeat(5);
    for collation in COLLATIONS {
        let mut group = c.benchmark_group(collation.name());
        let mut compare = |name: &str, a: &str, b: &str| {
            group.bench_function(format!("compare: {name}"), |bencher| {
                bencher.iter(|| collation.compare(black_box(a.as_bytes()), black_box(b.as_bytes())));
            });
        };
        compare("120 ASCII, the last differs", &ascii, &other_end);
        compare("120 ASCII, in another case", &ascii, &upper);
        compare("60 others, in another case", &foreign, &foreign.to_uppercase());
        let mut key = Vec::with_capacity(512);
        for (name, text) in [("120 ASCII", &ascii), ("60 others", &foreign)] {
            group.bench_function(format!("sort key: {name}"), |bencher| {
                bencher.iter(|| {
                    key.clear();
                    collation.sort_key(black_box(text.as_bytes()), &mut key);
                });
            });
        }
        group.bench_function("hash: 120 ASCII", |bencher| {
            bencher.iter(|| {
                let mut hasher = DefaultHasher::new();
                collation.hash(black_box(ascii.as_bytes()), &mut hasher);
                hasher.finish()
            });
        });
        group.bench_function("LIKE '%amet%'", |bencher| {
            bencher.iter(|| collation.like(b"%amet%", black_box(ascii.as_bytes()), Some('\\')));
        });
        group.finish();
    }
}

criterion_group!(benches, collations);
criterion_main!(benches);
