//! Trees to canonical SQL.
//!
//! What is printed parses, in the default SQL mode, to an equal tree: keywords in upper case, names in backticks,
//! parentheses only where the structure asks for them. `Display` is for messages and for text that is known to be UTF-8;
//! string literals may hold any bytes, and [`to_sql`] keeps them.

mod account;
mod admin;
mod dml;
mod expr;
mod query;
mod schema;
mod show;
mod statement;
mod stored;
mod table;
mod transaction;

use std::fmt;

use crate::ast::*;
use crate::keywords::{self, Class};

/// The statement as canonical SQL.
pub fn to_sql(statement: &Statement) -> Vec<u8> {
    print(|printer| printer.statement(statement))
}

/// The expression as canonical SQL.
pub fn expr_to_sql(expr: &Expr) -> Vec<u8> {
    print(|printer| printer.expr(expr))
}

/// The expression as MySQL shows those of definitions: keywords and functions in lower case, each operation in parentheses, which tools
/// cut off. It parses to a tree that differs in the case of functions' names only, unless the parentheses nest deeper than the parser goes.
pub fn shown_expr(expr: &Expr) -> Vec<u8> {
    print_in(Style::Shown, |printer| printer.expr(expr))
}

fn print(write: impl FnOnce(&mut Printer)) -> Vec<u8> {
    print_in(Style::Canonical, write)
}

fn print_in(style: Style, write: impl FnOnce(&mut Printer)) -> Vec<u8> {
    let mut printer = Printer {
        out: Vec::with_capacity(128),
        style,
    };
    write(&mut printer);
    printer.out
}

macro_rules! display {
    ($($type:ty => $method:ident,)*) => {
        $(impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&String::from_utf8_lossy(&print(|printer| printer.$method(self))))
            }
        })*
    };
}

display! {
    Statement => statement,
    Expr => expr,
    Literal => literal,
    Query => query,
    TableName => table_name,
    ColumnName => column_name,
    DataType => data_type,
    ColumnDef => column_def,
    KeyDef => key_def,
    ForeignKey => foreign_key,
    CheckConstraint => check,
    TableOption => table_option,
    Partitioning => partition_by,
    Account => account,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Canonical,
    /// As [`shown_expr`] says.
    Shown,
}

pub(crate) struct Printer {
    out: Vec<u8>,
    style: Style,
}

impl Printer {
    /// Text whose case means nothing.
    fn text(&mut self, text: &str) {
        let start = self.out.len();
        self.raw(text);
        if self.style == Style::Shown {
            self.out[start..].make_ascii_lowercase();
        }
    }

    fn raw(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// The text, if `condition` holds.
    fn when(&mut self, condition: bool, text: &str) {
        if condition {
            self.text(text);
        }
    }

    fn number(&mut self, number: impl fmt::Display) {
        self.text(&number.to_string());
    }

    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        let comma = match self.style {
            Style::Canonical => ", ",
            Style::Shown => ",",
        };
        for (index, one) in items.iter().enumerate() {
            self.when(index > 0, comma);
            item(self, one);
        }
    }

    fn paren_list<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        self.text("(");
        self.list(items, item);
        self.text(")");
    }

    /// A value with the text before it, if there is one.
    fn opt<T>(&mut self, before: &str, value: &Option<T>, write: impl FnOnce(&mut Self, &T)) {
        if let Some(value) = value {
            self.text(before);
            write(self, value);
        }
    }

    /// A name in backticks.
    fn ident(&mut self, ident: &Ident) {
        self.text("`");
        for (index, part) in ident.split('`').enumerate() {
            self.when(index > 0, "``");
            self.raw(part);
        }
        self.text("`");
    }

    fn idents(&mut self, idents: &[Ident]) {
        self.list(idents, Self::ident);
    }

    /// ` (a, b)`, or nothing.
    fn opt_idents(&mut self, idents: &[Ident]) {
        if !idents.is_empty() {
            self.text(" ");
            self.paren_list(idents, Self::ident);
        }
    }

    /// A name without backticks where it needs none: functions, system variables, character sets.
    fn word(&mut self, ident: &Ident) {
        if is_plain_word(ident) && !is_reserved(ident) {
            self.text(ident)
        } else {
            self.ident(ident)
        }
    }

    /// An index; `PRIMARY` is the keyword.
    fn index_name(&mut self, name: &Ident) {
        if name.is("PRIMARY") {
            self.text("PRIMARY")
        } else {
            self.ident(name)
        }
    }

    fn table_name(&mut self, name: &TableName) {
        if let Some(schema) = &name.schema {
            self.ident(schema);
            self.text(".");
        }
        self.ident(&name.name);
    }

    fn column_name(&mut self, name: &ColumnName) {
        for qualifier in [&name.schema, &name.table].into_iter().flatten() {
            self.ident(qualifier);
            self.text(".");
        }
        self.ident(&name.name);
    }

    /// A quoted string with everything escaped that would not come back as it is.
    fn string(&mut self, value: &[u8]) {
        self.out.push(b'\'');
        for &byte in value {
            match byte {
                0 => self.text("\\0"),
                b'\n' => self.text("\\n"),
                b'\r' => self.text("\\r"),
                26 => self.raw("\\Z"),
                b'\\' => self.text("\\\\"),
                b'\'' => self.text("''"),
                _ => self.out.push(byte),
            }
        }
        self.out.push(b'\'');
    }

    fn str(&mut self, value: &str) {
        self.string(value.as_bytes());
    }
}

/// A word that reads as one name token.
fn is_plain_word(word: &str) -> bool {
    let first_is_letter = word.bytes().next().is_some_and(|first| first.is_ascii_alphabetic());
    first_is_letter
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

fn is_reserved(word: &str) -> bool {
    keywords::lookup(word.as_bytes()).is_some_and(|keyword| keyword.class() == Class::Reserved)
}
