//! `LIKE`.
//!
//! The pattern is walked along the text; at a mismatch the walk goes back to the last `%` alone and lets it swallow
//! one character more. Earlier ones need not be tried again: what they matched is as short as can be.

use super::CollationId;
use super::chars;
use super::weights::Family;

pub(super) fn matches(collation: CollationId, pattern: &[u8], text: &[u8], escape: Option<char>) -> bool {
    let escape = escape.map(u32::from);
    match collation.family() {
        Family::Bytes if collation == CollationId::BINARY => walk(
            pattern,
            text,
            escape,
            |text, at| (u32::from(text[at]), 1),
            |a, b| a == b,
        ),
        Family::Bytes | Family::Utf8 => walk(pattern, text, escape, chars::decode, |a, b| a == b),
        Family::Weights(weights) => walk(pattern, text, escape, chars::decode, |a, b| weights.same_char(a, b)),
    }
}

/// One step of a pattern.
enum Step {
    AnyString,
    AnyChar,
    Char(u32),
}

fn walk(
    pattern: &[u8],
    text: &[u8],
    escape: Option<u32>,
    decode: impl Fn(&[u8], usize) -> (u32, usize),
    same: impl Fn(u32, u32) -> bool,
) -> bool {
    let step_at = |at: usize| {
        let (c, len) = decode(pattern, at);
        let next = at + len;
        if Some(c) == escape && next < pattern.len() {
            let (c, len) = decode(pattern, next);
            return (Step::Char(c), next + len);
        }
        let step = match char::from_u32(c) {
            Some('%') => Step::AnyString,
            Some('_') => Step::AnyChar,
            _ => Step::Char(c),
        };
        (step, next)
    };

    let (mut at, mut in_pattern) = (0, 0);
    // Where to go on after a mismatch: behind the last `%`, with the text from which it last tried.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let mut advanced = false;
        if in_pattern < pattern.len() {
            let (step, after) = step_at(in_pattern);
            match step {
                Step::AnyString => {
                    if after == pattern.len() {
                        return true;
                    }
                    retry = Some((after, at));
                    in_pattern = after;
                    continue;
                }
                Step::AnyChar | Step::Char(_) if at >= text.len() => {}
                Step::AnyChar => {
                    at += decode(text, at).1;
                    in_pattern = after;
                    advanced = true;
                }
                Step::Char(wanted) => {
                    let (found, len) = decode(text, at);
                    if found == wanted || same(found, wanted) {
                        at += len;
                        in_pattern = after;
                        advanced = true;
                    }
                }
            }
        } else if at == text.len() {
            return true;
        }
        if advanced {
            continue;
        }
        match retry {
            Some((behind, from)) if from < text.len() => {
                at = from + decode(text, from).1;
                in_pattern = behind;
                retry = Some((behind, at));
            }
            _ => return false,
        }
    }
}
