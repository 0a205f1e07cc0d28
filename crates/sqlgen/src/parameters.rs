//! Literals of a statement as parameters.

use crate::rng::Rng;

/// The statement with `?` in the place of some literals, and the literals; nothing where it has none.
pub fn taken_out(rng: &mut Rng, sql: &str) -> Option<(String, Vec<String>)> {
    let mut text = String::new();
    let mut values = Vec::new();
    let mut rest = sql;
    while let Some((before, literal, after)) = next_literal(rest) {
        text += before;
        match rng.chance(40) {
            true => {
                text.push('?');
                values.push(literal.to_owned());
            }
            false => text += literal,
        }
        rest = after;
    }
    text += rest;
    (!values.is_empty()).then_some((text, values))
}

/// The next text in quotes or whole number that stands by itself, between what is before and behind it.
fn next_literal(sql: &str) -> Option<(&str, &str, &str)> {
    let mut previous = ' ';
    let mut chars = sql.char_indices();
    while let Some((start, c)) = chars.next() {
        let end = match c {
            '\'' => start + 1 + sql[start + 1..].find('\'')? + 1,
            '0'..='9' => {
                let digits = sql[start..].find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
                digits.map_or(sql.len(), |len| start + len)
            }
            other => {
                previous = other;
                continue;
            }
        };
        let stands_alone = matches!(previous, ' ' | '(' | ',');
        if stands_alone {
            return Some((&sql[..start], &sql[start..end], &sql[end..]));
        }
        previous = c;
        // Goes on behind a literal that belongs to a word before it.
        while chars.clone().next().is_some_and(|(at, _)| at < end) {
            chars.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_become_parameters() {
        let sql = "SELECT a1.c2 + 42, DATE'2021-03-04', 'x y' FROM t1 a1 WHERE c3 IN ('a', 7)";
        let mut found = Vec::new();
        let mut rest = sql;
        while let Some((_, literal, after)) = next_literal(rest) {
            found.push(literal);
            rest = after;
        }
        assert_eq!(found, ["42", "'x y'", "'a'", "7"]);
        let mut rng = Rng::new(3);
        let (text, values) = (0..20).find_map(|_| taken_out(&mut rng, sql)).expect("some literal");
        assert_eq!(text.matches('?').count(), values.len());
    }
}
