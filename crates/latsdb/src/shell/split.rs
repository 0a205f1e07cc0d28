//! Where one statement ends and the next begins: at `;` or `\G` outside of quotes and comments.

/// How a statement ended, which says how its answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ender {
    Semicolon,
    /// `\G`: each row as a list.
    Vertical,
}

/// Text that arrives in pieces, cut into statements.
#[derive(Debug, Default)]
pub struct Splitter {
    text: String,
}

impl Splitter {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Nothing but white space waits for its end.
    pub fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The next complete statement. Empty ones are passed over.
    pub fn next(&mut self) -> Option<(String, Ender)> {
        loop {
            let (end, after, ender) = find_end(&self.text)?;
            let statement = self.text[..end].trim().to_owned();
            self.text.drain(..after);
            if !statement.is_empty() {
                return Some((statement, ender));
            }
        }
    }

    /// What is left at the end of a script: a statement without its semicolon.
    pub fn rest(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.text).trim().to_owned();
        (!rest.is_empty()).then_some(rest)
    }
}

/// Where the first statement ends, where the text after its ender begins, and which ender that is.
fn find_end(text: &str) -> Option<(usize, usize, Ender)> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match rest {
            [b';', ..] => return Some((at, at + 1, Ender::Semicolon)),
            [b'\\', b'G', ..] => return Some((at, at + 2, Ender::Vertical)),
            [b'\\', b'g', ..] => return Some((at, at + 2, Ender::Semicolon)),
            [quote @ (b'\'' | b'"' | b'`'), ..] => at += 1 + quoted_len(&rest[1..], *quote)?,
            [b'#', ..] => at += line_len(rest)?,
            [b'-', b'-', after, ..] if after.is_ascii_whitespace() => at += line_len(rest)?,
            [b'/', b'*', ..] => at += 4 + text[at + 2..].find("*/")?,
            _ => at += 1,
        }
    }
    None
}

/// Bytes up to and with the closing quote; `None` while it is missing.
fn quoted_len(bytes: &[u8], quote: u8) -> Option<usize> {
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' if quote != b'`' => at += 2,
            // A doubled quote reads as the end of one text and the beginning of the next.
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn line_len(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> (Vec<String>, Option<String>) {
        let mut splitter = Splitter::new();
        splitter.push(text);
        let complete = std::iter::from_fn(|| splitter.next())
            .map(|(statement, _)| statement)
            .collect();
        (complete, splitter.rest())
    }

    #[test]
    fn statements_end_at_semicolons() {
        assert_eq!(
            statements("select 1; select 2;;"),
            (vec!["select 1".into(), "select 2".into()], None)
        );
        assert_eq!(statements("select 1"), (vec![], Some("select 1".into())));
    }

    #[test]
    fn quotes_and_comments_hide_semicolons() {
        for whole in [
            "select ';'",
            "select 'it''s; \\'; ok'",
            "select \"a;\\\"b;\" ",
            "select `a;b\\`",
            "select 1 -- ; no\n + 2",
            "select 1 # ; no\n",
            "select /* ; '*/ 1",
        ] {
            assert_eq!(
                statements(&format!("{whole};")),
                (vec![whole.trim().to_owned()], None),
                "{whole}"
            );
        }
        assert_eq!(
            statements("select 1--;"),
            (vec!["select 1--".into()], None),
            "-- needs a space after it"
        );
    }

    #[test]
    fn an_open_quote_waits() {
        let mut splitter = Splitter::new();
        splitter.push("select 'a;\n");
        assert_eq!(splitter.next(), None);
        splitter.push("b' \\G");
        assert_eq!(splitter.next(), Some(("select 'a;\nb'".into(), Ender::Vertical)));
        assert!(splitter.is_empty());
    }
}
