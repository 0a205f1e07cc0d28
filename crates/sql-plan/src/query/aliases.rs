//! The items of a select list by their names.

use catalog::Names;
use sql_expr::{Expr, ExprKind};

/// What GROUP BY, HAVING and ORDER BY can name.
#[derive(Debug, Default)]
pub struct Aliases {
    names: Names,
    /// For each item whether its name stands for something else, too. That of the first one of a name counts.
    ambiguous: Vec<bool>,
    items: Vec<Expr>,
}

/// What a name stands for.
pub struct Alias<'a> {
    pub item: &'a Expr,
    /// Whether an item that is not the same column has the name, too.
    pub is_ambiguous: bool,
}

impl Aliases {
    pub fn new<'a>(items: impl Iterator<Item = (&'a str, &'a Expr)>) -> Aliases {
        let mut aliases = Aliases::default();
        for (name, item) in items {
            governor::pause();
            if let Some(first) = aliases.names.push(name) {
                let column = aliases.items[first].as_column();
                aliases.ambiguous[first] |= column.is_none() || column != item.as_column();
            }
            aliases.ambiguous.push(false);
            aliases.items.push(item.clone());
        }
        aliases
    }

    /// Whether the column is an item.
    pub fn has_column(&self, slot: usize) -> bool {
        self.items.iter().any(|item| item.as_column() == Some(slot))
    }

    pub fn get(&self, name: &str) -> Option<Alias<'_>> {
        let first = self.names.first(name)?;
        Some(Alias {
            item: &self.items[first],
            is_ambiguous: self.ambiguous[first],
        })
    }
}

/// The items of a select list by name, and those of them that are bound.
#[derive(Debug, Default)]
pub struct Beside {
    pub names: Names,
    pub bound: Vec<Expr>,
}

/// The columns that GROUP BY names.
#[derive(Debug, Default)]
pub struct GroupColumns {
    pub names: Names,
    pub slots: Vec<usize>,
}

/// Whether the value of an aggregate stands in it, of this query or of one around.
pub fn reads_group(expr: &Expr) -> bool {
    expr.any(&mut |part| match &part.kind {
        ExprKind::Column(column) | ExprKind::Outer { column, .. } => column.computed,
        _ => false,
    })
}
