//! Charts as SVG, written by hand: no script, the same in print, and colours from the page's style so that one
//! drawing serves light and dark.
//!
//! 1. [`scale`]: from values to pixels, and where ticks go.
//! 2. [`plot`]: lines against two axes, labelled at their ends.
//! 3. [`strips`]: a rung's seconds one above the other; the verdict of each rung.
//! 4. [`heat`]: the distribution of latency, second by second.
//! 5. [`bars`]: bars with whiskers, and stacked ones.
//! 6. [`topology`]: who talks to whom.
//!
//! What a chart shows is traced as everything else: a mark carries `data-from`, a line over seconds the formula of its
//! list, and the group around them `data-x` and `data-y` (kind, lowest, highest, pixels), so that a test can hold the
//! drawing against the files.

pub mod bars;
pub mod heat;
pub mod plot;
pub mod scale;
pub mod strips;
pub mod topology;

use crate::text::escaped;

/// How many series colours (and shapes of marks) the style has.
pub const COLOURS: usize = 8;

/// Width of a character of 12 px text in a wide font; labels are laid out by it, since a page cannot know which font
/// its reader has.
const CHAR_PX: f64 = 7.3;
/// The same for bold labels.
const BOLD_PX: f64 = 8.5;

/// An SVG being written.
pub struct Canvas {
    out: String,
}

impl Canvas {
    /// `name` is read out in place of the picture.
    pub fn new(kind: &str, name: &str, width: f64, height: f64) -> Canvas {
        let out = format!(
            "<svg class=\"chart {kind}\" data-chart=\"{kind}\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" xmlns=\"http://www.w3.org/2000/svg\">",
            escaped(name)
        );
        Canvas { out }
    }

    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// Markup as it is.
    pub fn raw(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        self.out.push_str(&format!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    pub fn rect(&mut self, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), inside: &str) {
        self.out.push_str(&format!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"",
            width.max(0.0),
            height.max(0.0)
        ));
        if inside.is_empty() {
            self.out.push_str("/>");
        } else {
            self.out.push('>');
            self.out.push_str(inside);
            self.out.push_str("</rect>");
        }
    }

    /// `class` says the size and the anchor too: `tick`, `tick end`, `label c3`, …
    pub fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        self.out.push_str(&format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            escaped(text)
        ));
    }

    /// Text whose pieces are traced.
    pub fn sentence(&mut self, class: &str, (x, y): (f64, f64), sentence: &crate::page::Sentence) {
        self.out.push_str(&format!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            crate::html::inline_svg(sentence)
        ));
    }

    pub fn polyline(&mut self, class: &str, points: &[(f64, f64)], from: &str) {
        let mut list = String::new();
        for (x, y) in points {
            list.push_str(&format!("{x:.1},{y:.2} "));
        }
        let traced = if from.is_empty() {
            String::new()
        } else {
            format!(" data-from=\"{}\"", escaped(from))
        };
        self.out.push_str(&format!(
            "<polyline class=\"{class}\"{traced} points=\"{}\"/>",
            list.trim_end()
        ));
    }
}

/// The series' class; colours start again after [`COLOURS`].
pub fn colour(index: usize) -> String {
    format!("c{}", index % COLOURS)
}

pub fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHAR_PX
}

pub fn bold_width(text: &str) -> f64 {
    text.chars().count() as f64 * BOLD_PX
}

/// Cut to fit, with an ellipsis.
pub fn fitted(text: &str, width: f64) -> String {
    cut(text, width / CHAR_PX)
}

pub fn fitted_bold(text: &str, width: f64) -> String {
    cut(text, width / BOLD_PX)
}

fn cut(text: &str, room: f64) -> String {
    let room = room.floor().max(2.0) as usize;
    if text.chars().count() <= room {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(room - 1).collect();
    short.push('…');
    short
}

/// Moves labels apart until none is nearer to another than `gap`, as little as possible, within the two limits.
pub fn spread_labels(wanted: &[f64], gap: f64, lowest: f64, highest: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = wanted.to_vec();
    let mut floor = lowest;
    for &at in &order {
        placed[at] = placed[at].max(floor);
        floor = placed[at] + gap;
    }
    let mut ceiling = highest;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_never_overlap_and_stay_inside() {
        let placed = spread_labels(&[50.0, 52.0, 51.0, 290.0, 299.0], 14.0, 10.0, 300.0);
        let mut sorted = placed.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= 13.999), "{placed:?}");
        assert!(sorted.iter().all(|y| (10.0..=300.0).contains(y)));
        assert!(placed[0] < placed[2] && placed[2] < placed[1], "the order is kept");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(fitted("abc", 100.0), "abc");
        assert_eq!(fitted("a long name of a target", 73.0), "a long na…");
    }
}
