//! The target of a request: a path and a query.

use std::borrow::Cow;

/// A target in origin form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    /// Begins with a slash.
    pub path: &'a str,
    /// Behind the question mark.
    pub query: &'a str,
}

impl<'a> Target<'a> {
    /// `None`: it is none of this server's (`*`, `host:port`), or not ASCII. Of an absolute one, the host is the same as that of the request.
    pub fn parse(target: &'a [u8]) -> Option<Target<'a>> {
        let target = std::str::from_utf8(target).ok()?;
        let target = match after_scheme(target.as_bytes()) {
            Some(rest) => {
                let rest = &target[target.len() - rest.len()..];
                &rest[rest.find('/')?..]
            }
            None => target,
        };
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        path.starts_with('/').then_some(Target { path, query })
    }

    /// Host and port of an absolute target.
    pub(crate) fn authority(target: &[u8]) -> Option<&[u8]> {
        let rest = after_scheme(target)?;
        rest.split(|byte| matches!(byte, b'/' | b'?')).next()
    }

    /// The query's pairs, decoded. `None` in the place of one that cannot be.
    pub fn pairs(self) -> impl Iterator<Item = Option<(Cow<'a, str>, Cow<'a, str>)>> {
        self.query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((form_decoded(name)?, form_decoded(value)?))
        })
    }
}

/// What is behind `http://` or `https://`.
fn after_scheme(target: &[u8]) -> Option<&[u8]> {
    let begins = |scheme: &&str| {
        let begin = target.get(..scheme.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(scheme.as_bytes()))
    };
    let scheme = ["http://", "https://"].into_iter().find(begins)?;
    Some(&target[scheme.len()..])
}

/// As [`decoded`]; in a query, a plus is a space.
fn form_decoded(text: &str) -> Option<Cow<'_, str>> {
    match text.contains('+') {
        false => decoded(text),
        true => Some(Cow::Owned(decoded(&text.replace('+', " "))?.into_owned())),
    }
}

/// Text with its percent signs resolved; `None` where they are wrong, or the bytes are not UTF-8.
pub fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('%') {
        return Some(Cow::Borrowed(text));
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digit = |at: usize| (digits[at] as char).to_digit(16);
        bytes.push((digit(0)? << 4 | digit(1)?) as u8);
        rest = after;
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Appends a text as a segment of a path: what is not plain goes behind a percent sign, a comma too.
pub fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(byte as char),
            byte => {
                const HEX: &[u8; 16] = b"0123456789ABCDEF";
                out.push('%');
                out.push(HEX[usize::from(byte >> 4)] as char);
                out.push(HEX[usize::from(byte & 15)] as char);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_paths_and_queries() {
        let target = Target::parse(b"/v1/x?a=1&b=%2B+c&d").expect("a target");
        let pairs: Vec<_> = target
            .pairs()
            .map(|pair| pair.map(|(a, b)| format!("{a}:{b}")))
            .collect();
        assert_eq!(pairs, [Some("a:1".into()), Some("b:+ c".into()), Some("d:".into())]);
        assert_eq!(Target::parse(b"http://db:8306/x").map(|target| target.path), Some("/x"));
        assert_eq!(Target::parse(b"*"), None);
        assert_eq!(Target::parse(b"db:8306"), None);
    }

    #[test]
    fn percent_signs_are_resolved() {
        assert_eq!(decoded("a%2Cb%C3%A4").as_deref(), Some("a,bä"));
        for wrong in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
        let mut text = String::new();
        encode("a,b/ä", &mut text);
        assert_eq!(
            (text.as_str(), decoded(&text).as_deref()),
            ("a%2Cb%2F%C3%A4", Some("a,b/ä"))
        );
    }
}
