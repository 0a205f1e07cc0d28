//! Lines against two axes: a mark per measured value, whiskers for its interval, the name at the line's end.

use super::scale::Scale;
use super::{Canvas, bold_width, colour, fitted_bold, spread_labels, text_width};
use crate::figure::Figure;
use crate::page::Sentence;
use crate::text::escaped;

pub const WIDTH: f64 = 560.0;
pub const HEIGHT: f64 = 340.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
const LABEL_GAP: f64 = 15.0;

/// A chart of lines.
pub struct Plot {
    pub kind: &'static str,
    /// Read out in place of the picture.
    pub name: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
    /// A line under all others, through points that no other beats.
    pub front: Vec<(f64, f64)>,
    /// Horizontal limits, with their text.
    pub limits: Vec<(Figure, Sentence)>,
}

pub struct Axis {
    /// With the unit.
    pub title: String,
    pub scale: Scale,
    /// Instead of round values: the loads that were measured.
    pub ticks: Option<Vec<(f64, String)>>,
}

pub struct Line {
    pub name: String,
    pub colour: usize,
    pub marks: Vec<Mark>,
    /// Small text at each mark (its threads), where there is room.
    pub annotated: bool,
    /// Drawn pale: something else is better in every way.
    pub faint: bool,
}

pub struct Mark {
    pub x: f64,
    /// If x is measured too.
    pub x_from: Option<String>,
    pub y: Figure,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Shown when pointed at.
    pub tip: String,
    pub annotation: String,
}

impl Mark {
    /// The value alone; the rest is for the caller to fill.
    pub fn at(y: Figure) -> Mark {
        Mark {
            x: 0.0,
            x_from: None,
            y,
            low: None,
            high: None,
            tip: String::new(),
            annotation: String::new(),
        }
    }
}

impl Plot {
    pub fn draw(self) -> String {
        let widest = self.lines.iter().map(|line| bold_width(&line.name)).fold(0.0, f64::max);
        let right = (widest + 22.0).clamp(30.0, 160.0);
        let y_ticks = self.y.ticks.clone().unwrap_or_else(|| self.y.scale.ticks(5));
        let left = y_ticks.iter().map(|(_, text)| text_width(text)).fold(28.0, f64::max) + 14.0;
        let (x_end, y_end) = (WIDTH - right, HEIGHT - BOTTOM);
        let x = self.x.scale.clone().on(left, x_end);
        let y = self.y.scale.clone().on(y_end, TOP);
        let mut canvas = Canvas::new(self.kind, &self.name, WIDTH, HEIGHT);
        axes(&mut canvas, (&self.x, &x), (&self.y, &y, &y_ticks), left);
        canvas.raw(&format!(
            "<g class=\"plot\" data-x=\"{}\" data-y=\"{}\">",
            x.described(),
            y.described()
        ));
        for (limit, _) in &self.limits {
            let at = y.px(limit.value);
            canvas.line("limit", (left, at), (x_end, at));
        }
        if self.front.len() > 1 {
            let front: Vec<(f64, f64)> = self.front.iter().map(|&(at, value)| (x.px(at), y.px(value))).collect();
            canvas.polyline("front", &front, "");
        }
        for line in &self.lines {
            draw_line(&mut canvas, line, &x, &y);
        }
        canvas.raw("</g>");
        for (limit, words) in &self.limits {
            // Latency rises with load: below the limit, the right end is free.
            canvas.sentence("limit-text end", (x_end - 4.0, y.px(limit.value) + 14.0), words);
        }
        annotate(&mut canvas, &self.lines, &x, &y);
        label_ends(&mut canvas, &self.lines, &x, &y, (x_end, right));
        canvas.finish()
    }
}

fn axes(
    canvas: &mut Canvas,
    (x_axis, x): (&Axis, &Scale),
    (y_axis, y, y_ticks): (&Axis, &Scale, &[(f64, String)]),
    left: f64,
) {
    let right = x.px(x.high());
    let (bottom, top) = (HEIGHT - BOTTOM, TOP);
    for (value, text) in y_ticks {
        let at = y.px(*value);
        canvas.line(if *value == 0.0 { "axis" } else { "grid" }, (left, at), (right, at));
        canvas.text("tick end", (left - 8.0, at + 4.0), text);
    }
    let mut free_from = f64::NEG_INFINITY;
    for (value, text) in x_axis.ticks.clone().unwrap_or_else(|| x.ticks(6)) {
        let at = x.px(value);
        canvas.line("axis", (at, bottom), (at, bottom + 4.0));
        let half = text_width(&text) / 2.0;
        if at - half >= free_from {
            canvas.text("tick middle", (at, bottom + 17.0), &text);
            free_from = at + half + 6.0;
        }
    }
    canvas.line("axis", (left, bottom), (right, bottom));
    canvas.text("axis-title", (8.0, top - 17.0), &y_axis.title);
    canvas.text("axis-title middle", ((left + right) / 2.0, HEIGHT - 9.0), &x_axis.title);
}

fn class_of(line: &Line) -> String {
    let faint = if line.faint { " pale" } else { "" };
    format!("{}{faint}", colour(line.colour))
}

fn draw_line(canvas: &mut Canvas, line: &Line, x: &Scale, y: &Scale) {
    let class = class_of(line);
    let points: Vec<(f64, f64)> = line
        .marks
        .iter()
        .map(|mark| (x.px(mark.x), y.px(mark.y.value)))
        .collect();
    if points.len() > 1 {
        canvas.polyline(&format!("line {class}"), &points, "");
    }
    for (mark, &(at_x, at_y)) in line.marks.iter().zip(&points) {
        if let (Some(low), Some(high)) = (mark.low, mark.high) {
            canvas.line(&format!("whisker {class}"), (at_x, y.px(low)), (at_x, y.px(high)));
        }
        let x_from = mark
            .x_from
            .as_ref()
            .map_or(String::new(), |from| format!(" data-x-from=\"{}\"", escaped(from)));
        canvas.raw(&format!(
            "<g class=\"mark {class}\" data-from=\"{}\"{x_from}><use href=\"#m{}\" x=\"{at_x:.2}\" y=\"{at_y:.2}\"/><title>{}</title></g>",
            escaped(&mark.y.from),
            line.colour % super::COLOURS,
            escaped(&mark.tip),
        ));
    }
}

/// Text beside marks, left out where it would cover another mark or text.
fn annotate(canvas: &mut Canvas, all: &[Line], x: &Scale, y: &Scale) {
    let mut taken: Vec<(f64, f64)> = all
        .iter()
        .flat_map(|line| line.marks.iter().map(|mark| (x.px(mark.x), y.px(mark.y.value))))
        .collect();
    for line in all.iter().filter(|line| line.annotated) {
        for mark in &line.marks {
            let (at_x, at_y) = (x.px(mark.x), y.px(mark.y.value));
            let text_y = at_y - 9.0;
            let half = text_width(&mark.annotation) / 2.0;
            let free = taken.iter().all(|&(other_x, other_y)| {
                (other_x, other_y) == (at_x, at_y)
                    || (other_x - at_x).abs() > 2.0 * half + 2.0
                    || (other_y - (text_y - 4.0)).abs() > 11.0
            });
            if free {
                let class = format!("tick middle {}", colour(line.colour));
                canvas.text(&class, (at_x, text_y), &mark.annotation);
                taken.push((at_x, text_y - 4.0));
            }
        }
    }
}

/// Each line's name at its last mark, moved apart; a hair leads back where it had to move.
fn label_ends(canvas: &mut Canvas, lines: &[Line], x: &Scale, y: &Scale, (x_end, right): (f64, f64)) {
    let ended: Vec<&Line> = lines.iter().filter(|line| !line.marks.is_empty()).collect();
    let ends: Vec<(f64, f64)> = ended
        .iter()
        .map(|line| {
            let last = &line.marks[line.marks.len() - 1];
            (x.px(last.x), y.px(last.y.value))
        })
        .collect();
    let wanted: Vec<f64> = ends.iter().map(|&(_, y)| y).collect();
    let placed = spread_labels(&wanted, LABEL_GAP, TOP + 4.0, HEIGHT - BOTTOM - 4.0);
    for ((line, &(end_x, end_y)), at) in ended.iter().zip(&ends).zip(placed) {
        let class = class_of(line);
        if x_end - end_x > 14.0 || (at - end_y).abs() > 4.0 {
            canvas.line(&format!("hair {class}"), (end_x + 6.0, end_y), (x_end + 8.0, at));
        }
        canvas.raw(&format!(
            "<text class=\"label name {class}\" x=\"{:.1}\" y=\"{:.1}\">{}<title>{}</title></text>",
            x_end + 11.0,
            at + 4.0,
            escaped(&fitted_bold(&line.name, right - 14.0)),
            escaped(&line.name)
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_joins_its_points_and_the_beaten_are_pale() {
        let line = |name: &str, x: f64, y: f64, faint: bool| Line {
            name: name.into(),
            colour: 0,
            marks: vec![Mark {
                x,
                ..Mark::at(Figure::constant(y))
            }],
            annotated: false,
            faint,
        };
        let axis = |highest: f64| Axis {
            title: String::new(),
            scale: Scale::from_zero(highest),
            ticks: None,
        };
        let plot = Plot {
            kind: "pareto-rate",
            name: "price against rate".into(),
            x: axis(4.0),
            y: axis(1_000.0),
            lines: vec![
                line("small", 1.0, 400.0, false),
                line("large", 4.0, 900.0, false),
                line("beaten", 4.0, 300.0, true),
            ],
            front: vec![(1.0, 400.0), (4.0, 900.0)],
            limits: Vec::new(),
        };
        let svg = plot.draw();
        let (_, front) = svg.split_once("<polyline class=\"front\" points=\"").unwrap();
        let points = front.split('"').next().unwrap();
        for mark in ["small", "large"].iter().zip(points.split_whitespace()) {
            let (x, y) = mark.1.split_once(',').unwrap();
            let at = |mark: &str| mark.contains(&format!(" x=\"{x}")) && mark.contains(&format!(" y=\"{y}\""));
            assert!(svg.split("<use").skip(1).any(at), "{mark:?} is not under a mark: {svg}");
        }
        assert_eq!(svg.matches("class=\"mark c0 pale\"").count(), 1, "{svg}");
    }
}
