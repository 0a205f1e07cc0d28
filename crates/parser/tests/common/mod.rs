//! The corpus: statements over the whole grammar, written by hand.

/// (file:line, statement) of every statement in `tests/corpus`.
pub fn corpus() -> Vec<(String, String)> {
    let files = [
        ("query.sql", include_str!("../corpus/query.sql")),
        ("expr.sql", include_str!("../corpus/expr.sql")),
        ("lexical.sql", include_str!("../corpus/lexical.sql")),
        ("dml.sql", include_str!("../corpus/dml.sql")),
        ("transaction.sql", include_str!("../corpus/transaction.sql")),
        ("show.sql", include_str!("../corpus/show.sql")),
        ("ddl.sql", include_str!("../corpus/ddl.sql")),
        ("stored.sql", include_str!("../corpus/stored.sql")),
        ("account.sql", include_str!("../corpus/account.sql")),
        ("admin.sql", include_str!("../corpus/admin.sql")),
    ];
    let mut statements = Vec::new();
    for (name, text) in files {
        for (index, line) in text.lines().enumerate() {
            if !line.is_empty() && !line.starts_with("--") {
                statements.push((format!("{name}:{}", index + 1), line.to_owned()));
            }
        }
    }
    statements
}
