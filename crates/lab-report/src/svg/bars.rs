//! Horizontal bars: one figure each with its whisker, or parts one after the other.

use super::scale::Scale;
use super::{Canvas, bold_width, colour, fitted, text_width};
use crate::figure::Figure;
use crate::page::Sentence;
use crate::text::escaped;

const WIDTH: f64 = 560.0;

/// Bars from 0, with the value at the end of each.
pub struct Bars {
    pub kind: &'static str,
    pub name: String,
    /// With the unit and which direction is better.
    pub axis: String,
    pub bars: Vec<Bar>,
}

pub struct Bar {
    pub label: String,
    /// Under the label, smaller.
    pub under: String,
    pub colour: usize,
    pub value: Figure,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Before and after the value.
    pub shown: Sentence,
    /// Hatched: not measured here.
    pub elsewhere: bool,
}

impl Bars {
    pub fn draw(self) -> String {
        let row = 44.0;
        let top = 30.0;
        let height = top + self.bars.len() as f64 * row + 30.0;
        let widest = self
            .bars
            .iter()
            .map(|bar| text_width(&bar.label).max(text_width(&bar.under) * 0.9))
            .fold(0.0, f64::max);
        let left = (widest + 14.0).clamp(60.0, 270.0);
        let value_room = self
            .bars
            .iter()
            .map(|bar| bold_width(&bar.shown.plain()))
            .fold(40.0, f64::max)
            + 14.0;
        let highest = self
            .bars
            .iter()
            .map(|bar| bar.high.unwrap_or(bar.value.value).max(bar.value.value))
            .fold(0.0, f64::max);
        let x = Scale::from_zero(highest).on(left, WIDTH - value_room);
        let mut canvas = Canvas::new(self.kind, &self.name, WIDTH, height);
        canvas.text("axis-title", (8.0, 15.0), &self.axis);
        let bottom = top + self.bars.len() as f64 * row;
        let mut free_from = f64::NEG_INFINITY;
        for (value, text) in x.ticks(4) {
            let at = x.px(value);
            canvas.line(if value == 0.0 { "axis" } else { "grid" }, (at, top), (at, bottom));
            let half = text_width(&text) / 2.0;
            if at - half >= free_from {
                canvas.text("tick middle", (at, bottom + 17.0), &text);
                free_from = at + half + 8.0;
            }
        }
        canvas.raw(&format!("<g class=\"plot\" data-x=\"{}\">", x.described()));
        for (at, bar) in self.bars.iter().enumerate() {
            let y = top + at as f64 * row + 8.0;
            let class = colour(bar.colour);
            let hatch = if bar.elsewhere { " elsewhere" } else { "" };
            canvas.raw(&format!(
                "<g class=\"bar {class}{hatch}\" data-from=\"{}\">",
                escaped(&bar.value.from)
            ));
            canvas.rect("bar-fill", (left, y), (x.px(bar.value.value) - left, 24.0), "");
            canvas.raw("</g>");
            let mut end = x.px(bar.value.value);
            if let (Some(low), Some(high)) = (bar.low, bar.high) {
                canvas.line("bar-whisker", (x.px(low), y + 12.0), (x.px(high), y + 12.0));
                end = end.max(x.px(high));
            }
            let label_y = if bar.under.is_empty() { y + 16.0 } else { y + 10.0 };
            canvas.raw(&format!(
                "<text class=\"label end name\" x=\"{:.1}\" y=\"{label_y:.1}\">{}<title>{}</title></text>",
                left - 9.0,
                escaped(&fitted(&bar.label, left - 10.0)),
                escaped(&bar.label),
            ));
            canvas.text(
                "under end name",
                (left - 9.0, y + 24.0),
                &fitted(&bar.under, (left - 10.0) * 1.1),
            );
            canvas.sentence("value", (end + 7.0, y + 16.5), &bar.shown);
        }
        canvas.raw("</g>");
        canvas.finish()
    }
}

/// Parts one after the other, against a whole.
pub struct Stack {
    pub kind: &'static str,
    pub name: String,
    pub axis: String,
    /// Each row: its name and its parts (name, colour, value).
    pub rows: Vec<(String, Vec<(String, usize, Figure)>)>,
}

impl Stack {
    pub fn draw(self) -> String {
        let row = 42.0;
        let top = 30.0;
        let left = self.rows.iter().map(|(name, _)| text_width(name)).fold(60.0, f64::max) + 16.0;
        let mut parts: Vec<(&str, usize)> = Vec::new();
        for (name, colour, _) in self.rows.iter().flat_map(|(_, parts)| parts) {
            if !parts.contains(&(name.as_str(), *colour)) {
                parts.push((name, *colour));
            }
        }
        let mut legend_lines = 1.0;
        let mut legend_x = left;
        for (name, _) in &parts {
            if legend_x + text_width(name) + 34.0 > WIDTH {
                legend_x = left;
                legend_lines += 1.0;
            }
            legend_x += text_width(name) + 34.0;
        }
        let bottom = top + self.rows.len() as f64 * row;
        let height = bottom + 30.0 + legend_lines * 20.0;
        let sum = |parts: &[(String, usize, Figure)]| parts.iter().map(|(_, _, part)| part.value.max(0.0)).sum::<f64>();
        let highest = self.rows.iter().map(|(_, parts)| sum(parts)).fold(0.0, f64::max);
        let x = Scale::from_zero(highest).on(left, WIDTH - 18.0);
        let mut canvas = Canvas::new(self.kind, &self.name, WIDTH, height);
        canvas.text("axis-title", (8.0, 15.0), &self.axis);
        for (value, text) in x.ticks(5) {
            canvas.line(
                if value == 0.0 { "axis" } else { "grid" },
                (x.px(value), top),
                (x.px(value), bottom),
            );
            canvas.text("tick middle", (x.px(value), bottom + 17.0), &text);
        }
        for (at, (name, parts)) in self.rows.iter().enumerate() {
            let y = top + at as f64 * row + 8.0;
            canvas.raw(&format!(
                "<text class=\"label end name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                left - 9.0,
                y + 17.0,
                escaped(&fitted(name, left - 10.0))
            ));
            let mut start = 0.0;
            for (name, index, value) in parts {
                let width = x.px(start + value.value.max(0.0)) - x.px(start);
                canvas.raw(&format!(
                    "<g class=\"bar {}\" data-from=\"{}\" data-width=\"{width:.2}\" data-px-per-unit=\"{}\">",
                    colour(*index),
                    escaped(&value.from),
                    x.px(1.0) - x.px(0.0),
                ));
                let tip = format!("<title>{}</title>", escaped(name));
                canvas.rect("bar-fill part", (x.px(start), y), (width, 26.0), &tip);
                canvas.raw("</g>");
                start += value.value.max(0.0);
            }
        }
        let (mut legend_x, mut legend_y) = (left, bottom + 40.0);
        for (name, index) in parts {
            if legend_x + text_width(name) + 34.0 > WIDTH && legend_x > left {
                legend_x = left;
                legend_y += 20.0;
            }
            canvas.raw(&format!("<g class=\"bar {}\">", colour(index)));
            canvas.rect("bar-fill", (legend_x, legend_y - 10.0), (12.0, 12.0), "");
            canvas.raw("</g>");
            canvas.text("label name", (legend_x + 18.0, legend_y), name);
            legend_x += text_width(name) + 34.0;
        }
        canvas.finish()
    }
}
