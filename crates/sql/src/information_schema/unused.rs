//! Tables about parts of MySQL that LatsDB does not have: tools and drivers read them, and find them empty.

use std::sync::LazyLock;

use super::{ColumnKind, VirtualColumn, VirtualTable, no_rows};

/// A table a line, `database.table column:kind …`; a kind that is a number is a text of so many characters. As in MySQL 9.7.
const TABLES: &str = include_str!("unused_tables.txt");

/// The tables, made once.
pub fn tables() -> impl Iterator<Item = &'static VirtualTable> {
    static MADE: LazyLock<Vec<VirtualTable>> = LazyLock::new(|| TABLES.lines().map(table).collect());
    MADE.iter()
}

fn table(line: &'static str) -> VirtualTable {
    let mut words = line.split(' ');
    let name = words.next().unwrap_or_default();
    let (database, name) = name.split_once('.').expect("a name has its database");
    let columns: Vec<VirtualColumn> = words.map(column).collect();
    VirtualTable {
        database,
        name,
        columns: columns.leak(),
        rows: no_rows,
    }
}

fn column(word: &'static str) -> VirtualColumn {
    let (name, kind) = word.split_once(':').expect("a column has its kind");
    let kind = match kind {
        "text" => ColumnKind::LongText,
        "number" => ColumnKind::Number,
        "signed" => ColumnKind::Signed,
        "real" => ColumnKind::Real,
        "moment" => ColumnKind::Moment,
        chars => ColumnKind::Text(chars.parse().expect("a number of characters")),
    };
    VirtualColumn { name, kind }
}

#[cfg(test)]
mod tests {
    use super::super::all_tables;

    #[test]
    fn no_table_is_there_twice() {
        let mut names: Vec<_> = all_tables().map(|table| (table.database, table.name)).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
