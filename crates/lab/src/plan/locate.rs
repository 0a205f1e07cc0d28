//! Which line of a plan a finding is about.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Line (from 1) of the value at `path`, such as `target.0.hosts`; of its nearest parent if it is not written.
pub fn line(text: &str, path: &str) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut best = None;
    let mut steps = path.split('.');
    let mut at: &Spanned<DeValue<'_>> = root.get_ref().get(steps.next()?)?;
    loop {
        best = Some(at.span().start).or(best);
        let Some(step) = steps.next() else { break };
        let next = match at.get_ref() {
            DeValue::Table(table) => table.get(step),
            DeValue::Array(values) => step.parse().ok().and_then(|index: usize| values.get(index)),
            _ => None,
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    best.map(|offset| line_at(text, offset))
}

/// Line (from 1) of a byte of `text`.
pub fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_line_of_a_nested_value() {
        let text = "name = \"x\"\n\n[[target]]\nname = \"a\"\n\n[[target]]\nname = \"b\"\nhosts = [\n  \"h\",\n]\n";
        assert_eq!(line(text, "name"), Some(1));
        assert_eq!(line(text, "target.1.name"), Some(7));
        assert_eq!(line(text, "target.1.hosts.0"), Some(9));
        assert_eq!(
            line(text, "target.1.user"),
            Some(6),
            "the table, where the key is missing"
        );
        assert_eq!(line(text, "ladder"), None);
    }
}
