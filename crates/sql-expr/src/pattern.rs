//! Compiled regular expressions.
//!
//! Short searches go to `regex` as they are. A search in a long text, or for a large pattern, cannot be left to a library call that nothing
//! interrupts: the lazy automaton of `regex-automata` is walked byte by byte here, with a tick for each. It finds what `regex` finds.
//!
//! MySQL's limits are of a matcher that tries one way after the other, on a stack. Here all ways are followed at once: a step is a byte of
//! the text at which a match may be under way, and what would be on the stack is in the compiled pattern.

use std::cell::RefCell;
use std::ops::Range;

use regex::{Captures, Regex, RegexBuilder};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::regex::Regex as Automata;
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use types::SqlResult;
use types::error::{ErrorKind, SqlError};

/// Most bytes of a compiled pattern.
const PATTERN_BYTES: usize = 2 << 20;
/// Most bytes of a pattern: classes of characters take a hundred times as much while they are compiled.
const TEXT_BYTES: usize = 64 << 10;
/// Bytes of a text times bytes of a pattern that `regex` may look at in one call.
const AT_ONCE: usize = 256 << 10;
/// Most of the same for the groups of one match, which cannot be found in pieces.
const GROUPS_AT_ONCE: usize = 16 << 20;
/// Steps of a search that take about a millisecond.
const STEPS_PER_UNIT: u64 = 1 << 18;
/// What the states of an automaton may take before it begins anew.
const CACHE_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, Default)]
pub struct Flags {
    pub ignore_case: bool,
    pub multi_line: bool,
    pub dot_all: bool,
}

/// What one search may take; 0: all there is.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `regexp_time_limit`, in about milliseconds.
    pub time: u64,
    /// `regexp_stack_limit`: of the compiled pattern, and of the automaton's states.
    pub stack_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            time: 32,
            stack_bytes: 8_000_000,
        }
    }
}

impl Limits {
    fn steps(self) -> u64 {
        match self.time {
            0 => u64::MAX,
            units => units.saturating_mul(STEPS_PER_UNIT),
        }
    }

    /// The smaller one of this and the limit.
    fn bytes(self, at_most: usize) -> usize {
        match usize::try_from(self.stack_bytes) {
            Ok(0) | Err(_) => at_most,
            Ok(limit) => at_most.min(limit),
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    text: String,
    flags: Flags,
    limits: Limits,
    /// Whether its classes have characters of ASCII only.
    for_ascii_alone: bool,
    /// Made for the first long text.
    automata: RefCell<Option<Box<Stepwise>>>,
}

#[derive(Debug)]
struct Stepwise {
    automata: Automata,
    forward: Cache,
    reverse: Cache,
    /// Those that the search has left.
    steps: u64,
}

/// Why a search did not come to its end.
enum Stopped {
    Statement(governor::Stop),
    /// A word boundary beside a letter that is not ASCII: the automaton cannot tell.
    Undecided,
    OutOfTime,
}

impl Pattern {
    pub fn new(text: &str, flags: Flags, limits: Limits) -> SqlResult<Pattern> {
        if text.is_empty() {
            return Err(ErrorKind::RegexpIllegalArgument.into());
        }
        if text.len() > TEXT_BYTES {
            return Err(ErrorKind::RegexpPatternTooBig.into());
        }
        let written = word_boundaries(text);
        let build = |text: &str| {
            RegexBuilder::new(text)
                .case_insensitive(flags.ignore_case)
                .multi_line(flags.multi_line)
                .dot_matches_new_line(flags.dot_all)
                .size_limit(limits.bytes(PATTERN_BYTES))
                .build()
        };
        let mut text = named_classes(&written, Letters::All);
        let mut built = build(&text);
        let is_large = matches!(built, Err(regex::Error::CompiledTooBig(_)));
        // Classes of all characters that are repeated by count are large; those of ASCII are not, and do for a text of ASCII.
        if is_large {
            text = named_classes(&written, Letters::Ascii);
            built = build(&text);
        }
        let regex = built.map_err(|error| match error {
            regex::Error::CompiledTooBig(limit) if limit < PATTERN_BYTES => ErrorKind::RegexpStackOverflow.into(),
            error => refuse(&error),
        })?;
        Ok(Pattern {
            regex,
            text,
            flags,
            limits,
            for_ascii_alone: is_large,
            automata: RefCell::default(),
        })
    }

    /// 3700 for a text that the pattern's classes were too large for.
    fn check_text(&self, text: &str) -> SqlResult<()> {
        match self.for_ascii_alone && !text.is_ascii() {
            true => Err(ErrorKind::RegexpPatternTooBig.into()),
            false => Ok(()),
        }
    }

    pub fn is_match(&self, text: &str) -> SqlResult<bool> {
        self.check_text(text)?;
        match self.is_short(text.len()) {
            true => Ok(self.regex.is_match(text)),
            false => self.stepwise(
                text,
                |stepwise| Ok(stepwise.end(text, 0, Ends::First)?.is_some()),
                |regex| regex.is_match(text),
            ),
        }
    }

    /// The leftmost match that begins at `from` or later.
    pub fn find_at(&self, text: &str, from: usize) -> SqlResult<Option<Range<usize>>> {
        self.check_text(&text[from..])?;
        let by_regex = |regex: &Regex| regex.find_at(text, from).map(|found| found.range());
        match self.is_short(text.len() - from) {
            true => Ok(by_regex(&self.regex)),
            false => self.stepwise(text, |stepwise| stepwise.find(text, from), by_regex),
        }
    }

    /// All matches, which do not overlap.
    pub fn find_iter<'t>(&'t self, text: &'t str) -> impl Iterator<Item = SqlResult<Range<usize>>> + 't {
        let mut from = 0;
        let mut last_end = None;
        std::iter::from_fn(move || {
            loop {
                if from > text.len() {
                    return None;
                }
                if let Err(stop) = governor::tick() {
                    return Some(Err(stop.into()));
                }
                let found = match self.find_at(text, from).transpose()? {
                    Ok(found) => found,
                    Err(error) => return Some(Err(error)),
                };
                from = found.end;
                if found.is_empty() {
                    // Not again, and not right behind another match.
                    from += text[found.end..].chars().next().map_or(1, char::len_utf8);
                    if last_end == Some(found.end) {
                        continue;
                    }
                }
                last_end = Some(found.end);
                return Some(Ok(found));
            }
        })
    }

    /// The groups of a match that [`find_at`](Self::find_at) found; 3699 when it is too long for them.
    pub fn groups<'t>(&self, text: &'t str, found: &Range<usize>) -> SqlResult<Captures<'t>> {
        if found.len().saturating_mul(self.text.len()) > GROUPS_AT_ONCE {
            return Err(ErrorKind::RegexpTimeOut.into());
        }
        let captures = self.regex.captures_at(text, found.start);
        captures.ok_or_else(|| SqlError::internal("a match has its groups"))
    }

    fn is_short(&self, bytes: usize) -> bool {
        bytes.saturating_mul(self.regex_bytes()) <= AT_ONCE
    }

    /// About what the pattern costs for each byte of a text: counted repetitions multiply.
    fn regex_bytes(&self) -> usize {
        match self.text.contains('{') {
            true => PATTERN_BYTES,
            false => self.text.len(),
        }
    }

    /// By the automata; what they cannot tell, by `regex`, if the text is not long (3699).
    fn stepwise<R>(
        &self,
        text: &str,
        search: impl FnOnce(&mut Stepwise) -> Result<R, Stopped>,
        by_regex: impl FnOnce(&Regex) -> R,
    ) -> SqlResult<R> {
        let mut place = self.automata.borrow_mut();
        let stepwise = match &mut *place {
            Some(stepwise) => stepwise,
            place => place.insert(Box::new(Stepwise::new(&self.text, self.flags, self.limits)?)),
        };
        stepwise.steps = self.limits.steps();
        match search(stepwise) {
            Ok(found) => Ok(found),
            Err(Stopped::Statement(stop)) => Err(stop.into()),
            Err(Stopped::Undecided) if text.len().saturating_mul(self.text.len()) <= GROUPS_AT_ONCE => {
                Ok(by_regex(&self.regex))
            }
            Err(Stopped::Undecided | Stopped::OutOfTime) => Err(ErrorKind::RegexpTimeOut.into()),
        }
    }
}

/// Which end of the leftmost match is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    First,
    Preferred,
}

impl Stepwise {
    fn new(text: &str, flags: Flags, limits: Limits) -> SqlResult<Stepwise> {
        let syntax = syntax::Config::new()
            .case_insensitive(flags.ignore_case)
            .multi_line(flags.multi_line)
            .dot_matches_new_line(flags.dot_all);
        let automata = Automata::builder()
            .syntax(syntax)
            .thompson(thompson::Config::new().nfa_size_limit(Some(PATTERN_BYTES)))
            .dfa(
                DFA::config()
                    .cache_capacity(limits.bytes(CACHE_BYTES))
                    .skip_cache_capacity_check(true)
                    .unicode_word_boundary(true),
            )
            .build(text)
            .map_err(|_| SqlError::from(ErrorKind::RegexpPatternTooBig))?;
        let (forward, reverse) = (automata.forward().create_cache(), automata.reverse().create_cache());
        Ok(Stepwise {
            automata,
            forward,
            reverse,
            steps: limits.steps(),
        })
    }

    fn find(&mut self, text: &str, from: usize) -> Result<Option<Range<usize>>, Stopped> {
        let mut from = from;
        while let Some(end) = self.end(text, from, Ends::Preferred)? {
            let start = self.start(text, from, end)?;
            // An empty match inside of a character is none.
            if start < end || text.is_char_boundary(end) {
                return Ok(Some(start..end));
            }
            from = text.ceil_char_boundary(end);
        }
        Ok(None)
    }

    /// Where the leftmost match ends.
    fn end(&mut self, text: &str, from: usize, wanted: Ends) -> Result<Option<usize>, Stopped> {
        let (dfa, cache) = (self.automata.forward(), &mut self.forward);
        let input = Input::new(text).range(from..);
        let mut state = dfa.start_state_forward(cache, &input).map_err(|_| Stopped::Undecided)?;
        // Where nothing has begun to match, looking for the place where something does costs nothing.
        let idle = state;
        let mut end = None;
        for (at, byte) in text.bytes().enumerate().skip(from) {
            state = step(dfa, cache, state, byte)?;
            if state != idle {
                count(&mut self.steps)?;
            }
            if state.is_tagged() {
                // A match is told a byte late.
                match state {
                    _ if state.is_match() => end = Some(at),
                    _ if state.is_dead() => return Ok(end),
                    _ if state.is_quit() => return Err(Stopped::Undecided),
                    _ => {}
                }
                if end.is_some() && wanted == Ends::First {
                    return Ok(end);
                }
            }
        }
        state = dfa.next_eoi_state(cache, state).map_err(|_| Stopped::Undecided)?;
        Ok(if state.is_match() { Some(text.len()) } else { end })
    }

    /// Where the match that ends at `end` begins, `from` or later.
    fn start(&mut self, text: &str, from: usize, end: usize) -> Result<usize, Stopped> {
        let (dfa, cache) = (self.automata.reverse(), &mut self.reverse);
        let input = Input::new(text).range(from..end).anchored(Anchored::Yes);
        let mut state = dfa.start_state_reverse(cache, &input).map_err(|_| Stopped::Undecided)?;
        let mut start = end;
        for at in (from..end).rev() {
            state = step(dfa, cache, state, text.as_bytes()[at])?;
            count(&mut self.steps)?;
            if state.is_match() {
                start = at + 1;
            } else if state.is_dead() {
                return Ok(start);
            } else if state.is_quit() {
                return Err(Stopped::Undecided);
            }
        }
        state = match from.checked_sub(1) {
            Some(before) => step(dfa, cache, state, text.as_bytes()[before])?,
            None => dfa.next_eoi_state(cache, state).map_err(|_| Stopped::Undecided)?,
        };
        if state.is_quit() {
            return Err(Stopped::Undecided);
        }
        Ok(if state.is_match() { from } else { start })
    }
}

#[inline(always)]
fn count(steps: &mut u64) -> Result<(), Stopped> {
    *steps = steps.checked_sub(1).ok_or(Stopped::OutOfTime)?;
    Ok(())
}

#[inline(always)]
fn step(dfa: &DFA, cache: &mut Cache, state: LazyStateID, byte: u8) -> Result<LazyStateID, Stopped> {
    governor::tick().map_err(Stopped::Statement)?;
    dfa.next_state(cache, state, byte).map_err(|_| Stopped::Undecided)
}

/// The old library's `[[:<:]]` and `[[:>:]]` still stand in many applications.
fn word_boundaries(pattern: &str) -> String {
    pattern.replace("[[:<:]]", r"\b{start}").replace("[[:>:]]", r"\b{end}")
}

/// Of which characters the classes of a pattern are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Letters {
    All,
    Ascii,
}

/// `[:alpha:]` and its like are classes of all characters in MySQL; they also stand alone, outside of brackets.
fn named_classes(pattern: &str, letters: Letters) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = rest.find(['[', '\\']) {
        governor::pause();
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let taken = if let Some((name, negated)) = class_name(found) {
            push_class(name, negated, letters, &mut out);
            found.find(":]").map_or(found.len(), |end| end + 2)
        } else if let (Some((name, negated)), Letters::Ascii) = (escaped_class(found), letters) {
            push_class(name, negated, letters, &mut out);
            2
        } else {
            let escaped = if found.starts_with('\\') { 2 } else { 1 };
            let taken: usize = found.chars().take(escaped).map(char::len_utf8).sum();
            out.push_str(&found[..taken]);
            taken
        };
        rest = &found[taken..];
    }
    out + rest
}

/// The name in `[:name:]` or `[:^name:]`, and whether it is the latter.
fn class_name(text: &str) -> Option<(&str, bool)> {
    let inside = text.strip_prefix("[:")?;
    let (name, negated) = match inside.strip_prefix('^') {
        Some(name) => (name, true),
        None => (inside, false),
    };
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    (end > 0 && name[end..].starts_with(":]")).then_some((&name[..end], negated))
}

fn escaped_class(text: &str) -> Option<(&'static str, bool)> {
    Some(match text.as_bytes() {
        [b'\\', b'w', ..] => ("word", false),
        [b'\\', b'W', ..] => ("word", true),
        [b'\\', b'd', ..] => ("digit", false),
        [b'\\', b'D', ..] => ("digit", true),
        [b'\\', b's', ..] => ("space", false),
        [b'\\', b'S', ..] => ("space", true),
        _ => return None,
    })
}

fn push_class(name: &str, negated: bool, letters: Letters, out: &mut String) {
    let (all, ascii) = match name.to_ascii_lowercase().as_str() {
        "alpha" => (r"\p{Alphabetic}", "A-Za-z"),
        "lower" => (r"\p{Lowercase}", "a-z"),
        "upper" => (r"\p{Uppercase}", "A-Z"),
        "digit" => (r"\p{Nd}", "0-9"),
        "alnum" => (r"\p{Alphabetic}\p{Nd}", "0-9A-Za-z"),
        "space" => (r"\s", r"\t-\r\x20"),
        "blank" => (r"\p{Zs}\t", r"\t\x20"),
        "punct" => (r"\p{P}", r##"!"#%&'()*,\-./:;?@\[\\\]_{}"##),
        "cntrl" => (r"\p{Cc}", r"\x00-\x1F\x7F"),
        "xdigit" => (r"\p{Nd}\p{Hex_Digit}", "0-9A-Fa-f"),
        "word" => (r"\w", "0-9A-Z_a-z"),
        "graph" => (r"[^\s\p{Cc}\p{Cn}]", "!-~"),
        "print" => (r"[^\s\p{Cc}\p{Cn}]\p{Zs}", r"\x20-~"),
        // The name of any other property.
        _ => {
            let sign = if negated { 'P' } else { 'p' };
            out.push_str(&format!(r"[\{sign}{{{name}}}]"));
            return;
        }
    };
    out.push_str(if negated { "[^" } else { "[" });
    out.push_str(match letters {
        Letters::All => all,
        Letters::Ascii => ascii,
    });
    out.push(']');
}

fn refuse(error: &regex::Error) -> SqlError {
    let text = error.to_string();
    let says = |words: &str| text.contains(words);
    let kind = match error {
        regex::Error::CompiledTooBig(_) => ErrorKind::RegexpPatternTooBig,
        _ if says("unclosed character class") => ErrorKind::RegexpMissingCloseBracket,
        _ if says("unclosed group") || says("unopened group") => ErrorKind::RegexpMismatchedParen,
        _ if says("Unicode property") => ErrorKind::RegexpIllegalArgument,
        _ if says("escape sequence") => ErrorKind::RegexpBadEscapeSequence,
        _ if says("invalid repetition count range") => ErrorKind::RegexpMaxLtMin,
        _ if says("repetition quantifier expects") || says("unclosed counted repetition") => {
            ErrorKind::RegexpBadInterval
        }
        _ if says("look-around") || says("backreferences") => {
            return SqlError::not_supported("look-around and back-references in regular expressions");
        }
        _ => return SqlError::new(ErrorKind::RegexpRuleSyntax, &[&1, &1]),
    };
    kind.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways give the same matches.
    #[test]
    fn the_automata_find_what_regex_finds() {
        let texts = [
            "",
            "a",
            "ab",
            "aab aab",
            "foo bar\nbaz",
            "éa中😀 é",
            "aaaaaaaa",
            "x1y22z333",
            "\n\n",
            "ab ab ab b",
        ];
        let patterns = [
            "a", "a*", "a*?", "b|ab", "ab|a", "^", "$", "^a", "a$", r"\bb", r"\b", "(a|b)+", "é|", ".", "[^a]", r"\d+",
            "a{2,3}", "(?i)AB", "(a.$|a)", "x*y", "😀?", "()",
        ];
        for flags in [
            Flags::default(),
            Flags {
                multi_line: true,
                dot_all: true,
                ignore_case: true,
            },
        ] {
            for (text, pattern) in texts.iter().flat_map(|text| patterns.map(|pattern| (*text, pattern))) {
                let made = Pattern::new(pattern, flags, Limits::default()).expect(pattern);
                let expected: Vec<_> = made.regex.find_iter(text).map(|found| found.range()).collect();
                let found: SqlResult<Vec<_>> = made.find_iter(text).collect();
                assert_eq!(found.expect("nothing stops it"), expected, "{pattern} in {text:?}");
                let mut stepwise = Stepwise::new(&made.text, flags, Limits::default()).expect(pattern);
                for from in (0..=text.len()).filter(|from| text.is_char_boundary(*from)) {
                    match stepwise.find(text, from) {
                        Ok(found) => {
                            let expected = made.regex.find_at(text, from).map(|found| found.range());
                            assert_eq!(found, expected, "{pattern} in {text:?} from {from}");
                        }
                        Err(_) => assert!(pattern.contains(r"\b") && !text.is_ascii()),
                    }
                }
            }
        }
    }

    #[test]
    fn a_search_has_its_limits() {
        let text = "ab".repeat(1 << 20);
        let searched = |pattern: &str, time, stack_bytes| {
            let made = Pattern::new(pattern, Flags::default(), Limits { time, stack_bytes });
            made.and_then(|made| made.is_match(&text)).map_err(|error| error.kind())
        };
        assert_eq!(searched("(a|b)*c", 32, 0), Ok(false));
        assert_eq!(searched("(a|b)*c", 1, 0), Err(ErrorKind::RegexpTimeOut));
        assert_eq!(searched("(a|b)*c", 0, 0), Ok(false));
        // Nothing begins to match.
        assert_eq!(searched("[x-z]+c", 1, 0), Ok(false));
        assert_eq!(searched("(a|b)*c", 32, 10), Err(ErrorKind::RegexpStackOverflow));
        assert_eq!(
            searched(r"\p{L}{100}c", 32, 100_000),
            Err(ErrorKind::RegexpStackOverflow)
        );
        // Of ASCII, as the text is, it is small.
        assert_eq!(searched(r"\w{100}c", 32, 100_000), Ok(false));
        assert_eq!(
            searched(r"(\p{L}{100}){100}c", 32, 0),
            Err(ErrorKind::RegexpPatternTooBig)
        );
    }

    #[test]
    fn a_long_search_ends_when_it_is_told() {
        let text = "ab".repeat(1 << 20);
        for pattern in ["(a|b)*c", "(a{0,100}){0,100}c", r"\w+$x"] {
            let made = Pattern::new(pattern, Flags::default(), Limits::default()).expect(pattern);
            assert!(!made.is_match(&text).expect("nothing stops it"));
            let killed = governor::probe::kill_at(1000, || made.is_match(&text));
            assert_eq!((killed.ticks, killed.result.is_err()), (1000, true));
        }
    }
}
