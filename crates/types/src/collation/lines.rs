//! Finding a string where characters weigh together, in linear time.
//!
//! The units of a text depend on where the reading begins: Danish `aaab` is `aa ab` with the units `aa`, `a`, `b`, but from the second letter on
//! it is `aa`, `b`. Each beginning is on a *line* of units; lines run beside each other for a while, then into one:
//!
//! ```text
//!   main line   aa  aa  a   b        from 0, 2, 4, 5
//!   another       aa  aa ───┘        from 1, 3
//! ```
//!
//! A character is on one line, up to where that joins another, so all lines together are not longer than the text; and since a unit has few
//! characters there are few beside each other. The weights from a place on are those of its line up to where it joins the next one, and so on. Their
//! fingerprint is put together of those of beginnings of lines, which marks on the lines give for any number of weights.

use super::rolling::Print;
use super::weights::{LEVELS, Weights};

/// Weights between two marks.
const SPACING: usize = 256;
/// Bytes between two marks where there are hardly any weights.
const FAR: usize = 4096;

pub(super) struct Lines<'a> {
    weights: &'a Weights,
    text: &'a [u8],
    /// The first is the main line; the others go when they have joined.
    lines: Vec<Option<Line>>,
}

struct Line {
    /// The first unit from which the line has not yet been looked at.
    start: Place,
    /// Marks at each level, from the line's beginning on.
    marks: [Vec<Mark>; LEVELS],
    /// The mark that was used last, moved on.
    recent: [Mark; LEVELS],
    /// How many weights there are, once the end of the text has been seen.
    total: [Option<usize>; LEVELS],
    joins: Option<Join>,
}

/// Where a line joins another one: in its own counting, and in that of the other.
struct Join {
    line: usize,
    here: Place,
    there: Place,
}

/// A place between two units of a line.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    levels: [Beginning; LEVELS],
}

/// The beginning of a line at one level: how many weights, and their fingerprint.
#[derive(Clone, Copy)]
struct Beginning {
    count: usize,
    print: Print,
}

#[derive(Clone, Copy)]
struct Mark {
    at: usize,
    beginning: Beginning,
}

impl<'a> Lines<'a> {
    /// To search the text from `from` on.
    pub(super) fn new(weights: &'a Weights, text: &'a [u8], from: usize) -> Lines<'a> {
        Lines {
            weights,
            text,
            lines: vec![Some(Line::new(Place::beginning(from), None))],
        }
    }

    /// The first place from which on the weights begin with those of `needle`.
    pub(super) fn find(mut self, needle: &[u8]) -> Option<usize> {
        let wanted: [Beginning; LEVELS] = std::array::from_fn(|level| {
            let mut wanted = Beginning::NOTHING;
            if level < self.weights.levels() {
                let weights = self.weights.weights(needle, level as u8);
                weights.for_each(|weight| wanted.enter(weight));
            }
            wanted
        });
        let mut start = self.line(0).start.at;
        while start < self.text.len() && governor::go_on() {
            let on = |line: &Option<Line>| line.as_ref().is_some_and(|line| line.start.at == start);
            let line = match self.lines.iter().position(on) {
                Some(line) => line,
                None => self.begin(start),
            };
            let from = self.line(line).start.levels;
            let shown = (0..self.weights.levels()).all(|level| {
                let print = self.print(line, level, from[level], wanted[level].count);
                print.is_some_and(|print| print.shows(wanted[level].print))
            });
            if shown && self.weights.begins_with(&self.text[start..], needle).is_ok() {
                return Some(start);
            }
            self.advance(line);
            start += super::chars::decode(self.text, start).1;
        }
        None
    }

    fn line(&self, line: usize) -> &Line {
        self.lines[line].as_ref().expect("a line is there until it has joined")
    }

    fn line_mut(&mut self, line: usize) -> &mut Line {
        self.lines[line].as_mut().expect("a line is there until it has joined")
    }

    /// A line that begins at `at`, where no other one has a unit's beginning.
    fn begin(&mut self, at: usize) -> usize {
        let mut own = Place::beginning(at);
        let starts = self.lines.iter().enumerate();
        let mut others: Vec<(usize, Place)> = starts.filter_map(|(i, line)| Some((i, line.as_ref()?.start))).collect();
        // Whoever is behind goes on, until two are at one place.
        let join = loop {
            if let Some(&(line, there)) = others.iter().find(|(_, place)| place.at == own.at) {
                break Join { line, here: own, there };
            }
            let last = others.iter_mut().min_by_key(|(_, place)| place.at);
            match last {
                Some((_, place)) if place.at < own.at => *place = self.behind(*place),
                _ => own = self.behind(own),
            }
            if !governor::go_on() {
                break Join {
                    line: 0,
                    here: own,
                    there: own,
                };
            }
        };
        let line = Some(Line::new(Place::beginning(at), Some(join)));
        match self.lines.iter().position(Option::is_none) {
            Some(free) => {
                self.lines[free] = line;
                free
            }
            None => {
                self.lines.push(line);
                self.lines.len() - 1
            }
        }
    }

    /// The place behind the unit at a place.
    fn behind(&self, place: Place) -> Place {
        let mut next = place;
        for level in 0..self.weights.levels() {
            let beginning = &mut next.levels[level];
            let len = self
                .weights
                .unit(self.text, place.at, level as u8, |weight| beginning.enter(weight));
            next.at = place.at + len;
        }
        next
    }

    fn advance(&mut self, line: usize) {
        let next = self.behind(self.line(line).start);
        match &self.line(line).joins {
            Some(join) if join.here.at <= next.at => self.lines[line] = None,
            _ => self.line_mut(line).start = next,
        }
    }

    /// The fingerprint of `count` weights behind a beginning of a line; none where the text has fewer.
    fn print(&mut self, mut line: usize, level: usize, mut from: Beginning, mut count: usize) -> Option<Print> {
        let mut print = Print::EMPTY;
        loop {
            let to = from.count + count;
            match &self.line(line).joins {
                Some(join) if join.here.levels[level].count < to => {
                    let here = join.here.levels[level];
                    print = print.followed_by(here.print.without(from.print));
                    count = to - here.count;
                    (line, from) = (join.line, join.there.levels[level]);
                }
                _ => {
                    let whole = self.beginning(line, level, to)?;
                    return Some(print.followed_by(whole.without(from.print)));
                }
            }
        }
    }

    /// The fingerprint of the first `count` weights of a line.
    fn beginning(&mut self, line: usize, level: usize, count: usize) -> Option<Print> {
        let (weights, text) = (self.weights, self.text);
        let line = self.line_mut(line);
        if line.total[level].is_some_and(|total| total < count) {
            return None;
        }
        let (marks, recent) = (&mut line.marks[level], &mut line.recent[level]);
        if !(recent.beginning.count..recent.beginning.count + SPACING).contains(&count) {
            let behind = marks.partition_point(|mark| mark.beginning.count <= count);
            *recent = marks[behind - 1];
        }
        loop {
            let Mark { at, mut beginning } = *recent;
            if beginning.count == count {
                return Some(beginning.print);
            }
            if at >= text.len() {
                line.total[level] = Some(beginning.count);
                return None;
            }
            if !governor::go_on() {
                return None;
            }
            let mut found = None;
            let len = weights.unit(text, at, level as u8, |weight| {
                beginning.enter(weight);
                if beginning.count == count {
                    found = Some(beginning.print);
                }
            });
            if found.is_some() {
                return found;
            }
            *recent = Mark {
                at: at + len,
                beginning,
            };
            let is_far = |last: &Mark| last.beginning.count + SPACING <= beginning.count || last.at + FAR <= recent.at;
            if marks.last().is_none_or(is_far) {
                marks.push(*recent);
            }
        }
    }
}

impl Line {
    fn new(start: Place, joins: Option<Join>) -> Line {
        let mark = Mark {
            at: start.at,
            beginning: Beginning::NOTHING,
        };
        Line {
            start,
            marks: std::array::from_fn(|_| vec![mark]),
            recent: [mark; LEVELS],
            total: [None; LEVELS],
            joins,
        }
    }
}

impl Place {
    fn beginning(at: usize) -> Place {
        Place {
            at,
            levels: [Beginning::NOTHING; LEVELS],
        }
    }
}

impl Beginning {
    const NOTHING: Beginning = Beginning {
        count: 0,
        print: Print::EMPTY,
    };

    fn enter(&mut self, weight: u32) {
        self.count += 1;
        self.print.enter(weight.into());
    }
}
