//! Makes what was found small: fewer statements first, then shorter ones, as long as the same kind of difference remains.

/// Whether a script still shows what was found.
pub trait Shows {
    fn shows(&mut self, script: &[String]) -> bool;
    /// Whether there is time for another try.
    fn may_try(&mut self) -> bool;
}

/// The smallest script that `found` still accepts; the last statement is the one that shows it.
pub fn shrink(script: Vec<String>, found: &mut impl Shows) -> Vec<String> {
    let mut script = concerned(script, found);
    // The last statement first: a query is tried again and again on the same rows, and what it no longer names need not be made.
    if let Some(last) = script.len().checked_sub(1) {
        script = shorter(script, last, found);
    }
    script = concerned(script, found);
    script = fewer(script, found);
    for at in (0..script.len()).rev() {
        script = shorter(script, at, found);
    }
    fewer(script, found)
}

/// Leaves out what names none of the tables that the last statement is about.
fn concerned(script: Vec<String>, found: &mut impl Shows) -> Vec<String> {
    let Some((last, before)) = script.split_last() else {
        return script;
    };
    let tables = |sql: &str| -> Vec<String> {
        let words = sql.split(|c: char| !c.is_ascii_alphanumeric());
        let is_table = |word: &&str| {
            word.len() > 1 && word.starts_with(['t', 'v']) && word[1..].chars().all(|c| c.is_ascii_digit())
        };
        words.filter(is_table).map(str::to_owned).collect()
    };
    let mut known = tables(last);
    // A view or a child is made of others, which come before it.
    for sql in before.iter().rev().filter(|sql| sql.starts_with("CREATE ")) {
        let named = tables(sql);
        if named.first().is_some_and(|name| known.contains(name)) {
            known.extend(named);
        }
    }
    let mut without: Vec<String> = before
        .iter()
        .filter(|sql| tables(sql).first().is_some_and(|name| known.contains(name)))
        .cloned()
        .collect();
    without.push(last.clone());
    match without.len() < script.len() && found.may_try() && found.shows(&without) {
        true => without,
        false => script,
    }
}

/// Leaves out runs of statements, halves first.
fn fewer(mut script: Vec<String>, found: &mut impl Shows) -> Vec<String> {
    let mut len = script.len() / 2;
    while len > 0 {
        let mut at = 0;
        while at + len < script.len() {
            let mut without = script.clone();
            without.drain(at..at + len);
            if !found.may_try() {
                return script;
            }
            if found.shows(&without) {
                script = without;
            } else {
                at += len;
            }
        }
        len /= 2;
    }
    script
}

fn shorter(mut script: Vec<String>, at: usize, found: &mut impl Shows) -> Vec<String> {
    loop {
        let mut progress = false;
        for candidate in candidates(&script[at]) {
            if !found.may_try() {
                return script;
            }
            let mut smaller = script.clone();
            smaller[at] = candidate;
            if found.shows(&smaller) {
                script = smaller;
                progress = true;
                break;
            }
        }
        if !progress {
            return script;
        }
    }
}

/// Shorter forms of a statement, the shortest first; many of them are no SQL.
fn candidates(sql: &str) -> Vec<String> {
    let tokens = tokens(sql);
    let mut found: Vec<String> = Vec::new();
    let mut without = |from: usize, to: usize, instead: &str| {
        let mut text = tokens[..from].concat();
        if !instead.is_empty() {
            text += instead;
        }
        text += &tokens[to..].concat();
        found.push(text.trim().to_owned());
    };
    for at in 0..tokens.len() {
        let token = tokens[at].as_str();
        if token == "(" {
            let Some(end) = closing(&tokens, at) else { continue };
            let call = at > 0 && is_word(&tokens[at - 1]);
            let from = if call { at - 1 } else { at };
            // The whole, or a call with its name, becomes a constant or its first part.
            for constant in ["NULL", "1", "'a'"] {
                if end + 1 - from > 1 && tokens[from..=end].concat() != constant {
                    without(from, end + 1, constant);
                }
            }
            for (first, last) in parts(&tokens, at + 1, end) {
                // An argument becomes a constant; the last of several goes.
                if last - first > 1 {
                    without(first, last, "1");
                }
                if end == last && first > at + 1 {
                    without(first - 1, last, "");
                }
                if last - first < end - from {
                    without(from, end + 1, &tokens[first..last].concat());
                }
            }
        }
        if token == "," {
            let end = end_of_part(&tokens, at + 1);
            without(at, end, "");
            let start = start_of_part(&tokens, at);
            without(start, at + 1, "");
        }
        if is_clause(token) {
            let end = end_of_clause(&tokens, at);
            without(at, end, "");
        }
        if ["DISTINCT", "IGNORE", "NOT", "DESC"].contains(&token) {
            without(at, at + 1, "");
        }
    }
    found.retain(|candidate| candidate.len() < sql.len());
    found.sort_by_key(String::len);
    found.dedup();
    found
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic())
        && ![
            "AND", "OR", "IN", "ON", "WHERE", "SELECT", "AS", "VALUES", "USING", "XOR", "NOT", "BY", "FROM", "EXISTS",
        ]
        .contains(&token)
}

fn is_clause(token: &str) -> bool {
    [
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "WITH",
        "PARTITION",
        "ROWS",
        "RANGE",
        "JOIN",
        "LEFT",
        "RIGHT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
    ]
    .contains(&token)
}

/// Words, quoted texts, spaces and single characters; joined they are the statement.
fn tokens(sql: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = sql.chars().peekable();
    while let Some(c) = chars.next() {
        let mut token = c.to_string();
        if c == '\'' {
            for c in chars.by_ref() {
                token.push(c);
                if c == '\'' {
                    break;
                }
            }
        } else if c.is_alphanumeric() || c == '_' {
            while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
                token.push(c);
            }
        }
        tokens.push(token);
    }
    tokens
}

fn closing(tokens: &[String], open: usize) -> Option<usize> {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The parts between commas of `from..to`.
fn parts(tokens: &[String], from: usize, to: usize) -> Vec<(usize, usize)> {
    let mut parts = Vec::new();
    let mut start = from;
    while start < to {
        let end = end_of_part(tokens, start).min(to);
        parts.push((start, end));
        start = end + 1;
    }
    parts
}

/// Where the part that begins here ends: at a comma, a closing parenthesis or a clause of the same depth.
fn end_of_part(tokens: &[String], from: usize) -> usize {
    end_where(tokens, from, |token| {
        token == "," || is_clause(token) || token == "FROM"
    })
}

/// Where the part that this comma ends begins.
fn start_of_part(tokens: &[String], comma: usize) -> usize {
    let mut depth = 0;
    for at in (0..comma).rev() {
        match tokens[at].as_str() {
            ")" => depth += 1,
            "(" if depth == 0 => return at + 1,
            "(" => depth -= 1,
            "," | "SELECT" | "DISTINCT" | "SET" | "BY" | "VALUES" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    comma
}

fn end_of_clause(tokens: &[String], from: usize) -> usize {
    end_where(tokens, from + 1, |token| is_clause(token) && token != "JOIN")
}

fn end_where(tokens: &[String], from: usize, ends: impl Fn(&str) -> bool) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.as_str() {
            "(" => depth += 1,
            ")" if depth == 0 => return at,
            ")" => depth -= 1,
            other if depth == 0 && ends(other) => return at,
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Holds<F>(F, usize);

    impl<F: Fn(&[String]) -> bool> Shows for Holds<F> {
        fn shows(&mut self, script: &[String]) -> bool {
            (self.0)(script)
        }

        fn may_try(&mut self) -> bool {
            self.1 += 1;
            self.1 < 10_000
        }
    }

    #[test]
    fn what_does_not_matter_goes() {
        let script: Vec<String> = (0..20).map(|at| format!("CREATE TABLE t{at} (a INT)")).collect();
        let script = [
            script,
            vec!["SELECT ABS(x), (SELECT LN(SIN(2 + t7.a))) FROM t7 WHERE (a = 1) ORDER BY 1, 2".to_owned()],
        ]
        .concat();
        let mut found = Holds(
            |script: &[String]| {
                let last = script.last().map(String::as_str).unwrap_or_default();
                last.starts_with("SELECT")
                    && last.contains("SIN(")
                    && script.iter().any(|sql| sql.starts_with("CREATE TABLE t7"))
            },
            0,
        );
        let small = shrink(script, &mut found);
        assert_eq!(small.len(), 2);
        assert!(small[1].len() <= "SELECT SELECT SIN(1) FROM t7".len(), "{}", small[1]);
    }

    #[test]
    fn tokens_are_the_statement() {
        let sql = "SELECT 'it', a1.c2+1 FROM t WHERE (x LIKE '%')";
        assert_eq!(tokens(sql).concat(), sql);
    }
}
