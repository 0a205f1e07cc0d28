//! Takes secrets out of a statement's text before anybody else sees it: in the process list, in logs and in messages.
//!
//! The text is looked at word by word, not parsed: a statement with a mistake in it holds its password all the same. What is
//! taken for a secret rather errs on the side of silence:
//!
//! * after `IDENTIFIED`: what follows `BY`, `AS` or `REPLACE`;
//! * what follows a word that ends in `PASSWORD`, with `=`, `(` or `FOR account =` between them;
//! * a string that holds such a statement itself (`PREPARE … FROM '…'`).

use std::borrow::Cow;
use std::ops::Range;

use governor::bulk;

/// What stands in place of a secret, as MySQL writes it.
const PLACEHOLDER: &[u8] = b"<secret>";

/// The text without its secrets.
pub fn redacted(text: &[u8]) -> Cow<'_, [u8]> {
    redacted_from(text, 0)
}

/// The text from `offset` on, without secrets: also of one that begins before.
pub(crate) fn redacted_from(text: &[u8], offset: usize) -> Cow<'_, [u8]> {
    let secrets = secrets(text);
    let mut secrets = secrets.into_iter().filter(|secret| secret.end > offset).peekable();
    if secrets.peek().is_none() {
        return Cow::Borrowed(&text[offset..]);
    }
    let mut result = Vec::with_capacity(text.len() - offset);
    let mut from = offset;
    for secret in secrets {
        result.extend_from_slice(&text[from..secret.start.max(from)]);
        result.extend_from_slice(PLACEHOLDER);
        from = secret.end;
    }
    result.extend_from_slice(&text[from..]);
    Cow::Owned(result)
}

/// Where the words before have led.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Nothing,
    /// What comes next is secret.
    Secret,
    /// A literal that comes next is secret, also after `=` or `(`.
    Password,
    /// An account, then `=` and a secret.
    AccountOfPassword,
}

/// Strings in strings are looked into so far.
const DEEPEST: usize = 2;

/// The places of secrets, in their order.
fn secrets(text: &[u8]) -> Vec<Range<usize>> {
    secrets_below(text, 0)
}

fn secrets_below(text: &[u8], depth: usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if depth > DEEPEST || !mentions_secrets(text) {
        return found;
    }
    let (mut identified, mut expects) = (false, Expects::Nothing);
    let mut at = 0;
    while let Some((token, kind)) = next_token(text, at) {
        governor::pause();
        at = token.end;
        let bytes = &text[token.clone()];
        let is = |word: &str| bytes.eq_ignore_ascii_case(word.as_bytes());
        match kind {
            TokenKind::Literal => {
                match expects {
                    Expects::Secret | Expects::Password => found.push(token),
                    Expects::AccountOfPassword => continue,
                    Expects::Nothing if !secrets_below(inside(bytes), depth + 1).is_empty() => found.push(token),
                    Expects::Nothing => {}
                }
                expects = Expects::Nothing;
            }
            TokenKind::Word => {
                let ends_in_password = bytes.len() >= 8 && bytes[bytes.len() - 8..].eq_ignore_ascii_case(b"PASSWORD");
                expects = match expects {
                    Expects::Secret if is("RANDOM") => Expects::Nothing,
                    _ if ends_in_password => Expects::Password,
                    // Without quotes it is a mistake, and a secret.
                    Expects::Secret => {
                        found.push(token);
                        Expects::Nothing
                    }
                    Expects::Password if is("FOR") => Expects::AccountOfPassword,
                    Expects::AccountOfPassword => Expects::AccountOfPassword,
                    Expects::Nothing | Expects::Password if identified && (is("BY") || is("AS") || is("REPLACE")) => {
                        Expects::Secret
                    }
                    Expects::Nothing | Expects::Password => Expects::Nothing,
                };
                identified |= is("IDENTIFIED");
            }
            TokenKind::Sign => {
                expects = match (bytes, expects) {
                    (b";", _) => {
                        identified = false;
                        Expects::Nothing
                    }
                    (b"=", Expects::AccountOfPassword) => Expects::Password,
                    (b"=" | b":" | b"(", Expects::Password) => Expects::Password,
                    (_, Expects::AccountOfPassword) => Expects::AccountOfPassword,
                    (b"(", Expects::Secret) => Expects::Secret,
                    _ => Expects::Nothing,
                };
            }
        }
    }
    found
}

/// A quick look: most statements hold neither word.
fn mentions_secrets(text: &[u8]) -> bool {
    const WORDS: [&[u8]; 2] = [b"IDENTIFIED", b"PASSWORD"];
    /// The length of the shorter word: of each word that the text holds, one byte lies at a multiple of it.
    const STRIDE: usize = 8;
    const LETTERS: [bool; 256] = letters_of(WORDS);
    const _: () = assert!(bulk::PIECE.is_multiple_of(STRIDE));
    let is_in_word = |at: usize| {
        LETTERS[usize::from(text[at])]
            && WORDS.iter().any(|word| {
                let around = at.saturating_sub(word.len() - 1)..text.len().min(at + word.len());
                text[around]
                    .windows(word.len())
                    .any(|window| window.eq_ignore_ascii_case(word))
            })
    };
    (0..text.len()).step_by(bulk::PIECE).any(|from| {
        governor::pause();
        (from..text.len().min(from + bulk::PIECE))
            .step_by(STRIDE)
            .any(is_in_word)
    })
}

/// The bytes that the words are made of, in either case.
const fn letters_of(words: [&[u8]; 2]) -> [bool; 256] {
    let mut letters = [false; 256];
    let mut at = 0;
    while at < words.len() {
        let mut letter = 0;
        while letter < words[at].len() {
            letters[words[at][letter].to_ascii_uppercase() as usize] = true;
            letters[words[at][letter].to_ascii_lowercase() as usize] = true;
            letter += 1;
        }
        at += 1;
    }
    letters
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    /// A string or a hexadecimal or binary literal.
    Literal,
    /// A name, a keyword, a number, or a name in backquotes.
    Word,
    Sign,
}

fn next_token(text: &[u8], from: usize) -> Option<(Range<usize>, TokenKind)> {
    let mut at = from;
    loop {
        let rest = &text[at..];
        match rest {
            [] => return None,
            [b'#', ..] => at += line_length(rest),
            [b'-', b'-', space, ..] if space.is_ascii_whitespace() || space.is_ascii_control() => {
                at += line_length(rest)
            }
            // What stands in an executable comment is a part of the statement.
            [b'/', b'*', b'!' | b'M', ..] => at += 3,
            [b'/', b'*', ..] => at += comment_length(rest),
            [b'*', b'/', ..] => at += 2,
            // A backslash stands before the quotes of a string in a string.
            [byte, ..] if byte.is_ascii_whitespace() || *byte == b'\\' => at += 1,
            _ => break,
        }
    }
    let rest = &text[at..];
    let (length, kind) = match rest {
        [b'\'' | b'"', ..] => (quoted_length(rest), TokenKind::Literal),
        [b'`', ..] => (quoted_length(rest), TokenKind::Word),
        [b'x' | b'X' | b'b' | b'B' | b'n' | b'N', b'\'', ..] => (1 + quoted_length(&rest[1..]), TokenKind::Literal),
        [b'0', b'x' | b'X' | b'b' | b'B', ..] => (word_length(rest), TokenKind::Literal),
        [byte, ..] if is_word(*byte) => (word_length(rest), TokenKind::Word),
        _ => (1, TokenKind::Sign),
    };
    Some((at..at + length, kind))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

fn word_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| is_word(**byte)).count().max(1)
}

fn line_length(text: &[u8]) -> usize {
    text.iter()
        .position(|byte| *byte == b'\n')
        .map_or(text.len(), |end| end + 1)
}

fn comment_length(text: &[u8]) -> usize {
    let end = text.windows(2).skip(2).position(|pair| pair == b"*/");
    end.map_or(text.len(), |end| end + 4)
}

/// A string to its closing quote, or to the end of the text without one.
fn quoted_length(text: &[u8]) -> usize {
    let quote = text[0];
    let mut at = 1;
    while at < text.len() {
        governor::pause();
        match text[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// What stands between the quotes.
fn inside(literal: &[u8]) -> &[u8] {
    match literal {
        [b'\'' | b'"', inner @ ..] => inner.split_last().map_or(&[], |(_, inner)| inner),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        String::from_utf8_lossy(&redacted(text.as_bytes())).into_owned()
    }

    #[test]
    fn passwords_are_taken_out_of_statements_about_accounts() {
        for text in [
            "create user a identified by 'S3CRET'",
            "CREATE USER a@b IDENTIFIED WITH caching_sha2_password BY \"S3CRET\", c IDENTIFIED BY 'S3CRET' ACCOUNT LOCK",
            "create user a identified with mysql_native_password as '*S3CRET'",
            "create user a identified with caching_sha2_password as 0x53334352",
            "alter user a identified by 'x\\'S3CRET' replace 'S3CRET' retain current password",
            "alter user a identified by 'it''S3CRET'",
            "set password = 'S3CRET'",
            "set password for 'a'@'%' = 'S3CRET'",
            "set password for a = password('S3CRET')",
            "grant select on *.* to a identified by password 'S3CRET'",
            "change replication source to source_password = 'S3CRET', source_host = 'h'",
            "create server s foreign data wrapper mysql options (host 'h', password 'S3CRET')",
            "clone instance from a@h:3306 identified by 'S3CRET'",
            "start group_replication user = 'a', password = 'S3CRET'",
            "select 1; create user a identified by 'S3CRET'",
            "/* ' */ create /*!50000 user a identified by 'S3CRET' */",
            "prepare p from 'create user a identified by \"S3CRET\"'",
            "set @a = 'set password = \\'S3CRET\\''",
            // These do not parse.
            "create user a identified by 'S3CRET",
            "create user a identified by S3CRET",
            "create usr a idntified identified by ('S3CRET') foo",
            "alter user a identified by 'x' foo replace 'S3CRET'",
        ] {
            let shown = shown(text);
            assert!(
                !shown.contains("S3CRET") && !shown.contains("0x53"),
                "{text} is shown as {shown}"
            );
            assert!(shown.contains("<secret>"), "{shown}");
        }
    }

    #[test]
    fn the_rest_is_left_as_it_is() {
        assert_eq!(
            shown("create user 'a'@'b' identified by 'x' comment 'hello'"),
            "create user 'a'@'b' identified by <secret> comment 'hello'"
        );
        for text in [
            "select 'a', password from users where name = 'b'",
            "alter user a password expire interval 3 day comment 'x'",
            "create user a identified by random password comment 'x'",
            "select * from t where a = 'it''s' -- password",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn secrets_are_found_wherever_they_stand() {
        for before in (0..20).chain(bulk::PIECE - 30..bulk::PIECE + 10) {
            let blanks = " ".repeat(before);
            for text in ["alter user a identified by 'S3CRET'", "set PassWord = 'S3CRET'"] {
                assert!(
                    !shown(&format!("{blanks}{text}")).contains("S3CRET"),
                    "{text} after {before}"
                );
            }
        }
    }

    #[test]
    fn any_bytes_are_taken() {
        for text in [
            "'",
            "\"\\",
            "/*",
            "x'",
            "password",
            "identified by",
            "password '\\",
            "`password",
            "\u{0}password=\u{1}",
        ] {
            let _ = shown(text);
        }
    }
}
