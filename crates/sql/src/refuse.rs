//! Names for what is not implemented.

use parser::ast::Statement;

/// The leading words of a statement, as 1235 names it.
pub fn name_of(statement: &Statement) -> String {
    let text = statement.to_string();
    let words = text.split(|c: char| c.is_whitespace() || c == '`' || c == '(');
    let words: Vec<&str> = words
        .take_while(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
        .take(4)
        .collect();
    if words.is_empty() {
        "this statement".to_owned()
    } else {
        words.join(" ")
    }
}
