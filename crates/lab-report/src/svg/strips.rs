//! A rung's seconds, track under track over one time axis; and the verdicts of all rungs as a strip.

use super::scale::Scale;
use super::{Canvas, bold_width, colour, fitted, fitted_bold, text_width};
use crate::page::Sentence;
use crate::text::escaped;

const WIDTH: f64 = 560.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
/// Room that the number of an event takes.
const NUMBER_PX: f64 = 42.0;

/// Tracks over the seconds of one rung.
pub struct Timeline {
    pub name: String,
    /// Length of the time axis.
    pub seconds: f64,
    pub tracks: Vec<Track>,
    /// Phases, one after the other: numbered beneath the tracks, every other one shaded.
    pub bands: Vec<(f64, f64)>,
    /// Seconds at which something happened; they are numbered, and the texts stand beneath the chart.
    pub events: Vec<f64>,
    /// Seconds at which something else changed; without numbers.
    pub changes: Vec<f64>,
}

pub struct Track {
    /// With the unit.
    pub title: Sentence,
    pub height: f64,
    pub scale: Scale,
    /// Ends of the scale only, for low tracks.
    pub few_ticks: bool,
    pub curves: Vec<Curve>,
}

pub struct Curve {
    pub colour: usize,
    /// Second and value; a gap in the seconds is a gap in the line.
    pub values: Vec<(f64, f64)>,
    pub from: String,
    /// Filled down to the axis.
    pub area: bool,
}

impl Timeline {
    pub fn draw(self) -> String {
        let top = if self.events.is_empty() { 6.0 } else { 22.0 };
        let tracks: f64 = self.tracks.iter().map(|track| track.height + 34.0).sum();
        let height = top + tracks + 34.0;
        let mut canvas = Canvas::new("timeline", &self.name, WIDTH, height);
        let x = Scale::linear(0.0, self.seconds).on(LEFT, WIDTH - RIGHT);
        for (from, until) in self.bands.iter().skip(1).step_by(2) {
            let (left, right) = (x.px(*from), x.px(*until));
            canvas.rect("band", (left, top), (right - left, tracks), "");
        }
        let mut y = top;
        for track in &self.tracks {
            canvas.sentence("axis-title", (8.0, y + 13.0), &track.title);
            y += 26.0;
            draw_track(&mut canvas, track, &x, y);
            y += track.height + 8.0;
        }
        let ticks = x.ticks(6);
        for (second, text) in &ticks {
            canvas.line("axis", (x.px(*second), y), (x.px(*second), y + 4.0));
            canvas.text("tick middle", (x.px(*second), y + 17.0), text);
        }
        canvas.line("axis", (LEFT, y), (WIDTH - RIGHT, y));
        canvas.text(
            "axis-title middle",
            ((LEFT + WIDTH - RIGHT) / 2.0, y + 31.0),
            "seconds since the interval began",
        );
        for (number, (from, until)) in self.bands.iter().enumerate() {
            let (text, width) = ((number + 1).to_string(), x.px(*until) - x.px(*from));
            if text_width(&text) + 2.0 < width {
                canvas.text("tick middle band-text", (x.px(*from) + width / 2.0, y - 3.0), &text);
            }
        }
        for second in &self.changes {
            canvas.line("change", (x.px(*second), top), (x.px(*second), y));
        }
        for second in &self.events {
            canvas.line("event", (x.px(*second), 18.0), (x.px(*second), y));
        }
        for (at, text) in event_labels(&self.events.iter().map(|second| x.px(*second)).collect::<Vec<_>>()) {
            canvas.text("tick middle event-text", (at, 13.0), &text);
        }
        canvas.finish()
    }
}

/// Numbers over the lines; those of lines that stand close together share one label.
fn event_labels(at: &[f64]) -> Vec<(f64, String)> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (number, x) in at.iter().enumerate() {
        match groups.last_mut() {
            Some((first, last)) if x - at[*first] < NUMBER_PX => *last = number,
            _ => groups.push((number, number)),
        }
    }
    groups
        .into_iter()
        .map(|(first, last)| {
            let text = if first == last {
                format!("{}", first + 1)
            } else {
                format!("{}–{}", first + 1, last + 1)
            };
            (at[first], text)
        })
        .collect()
}

fn draw_track(canvas: &mut Canvas, track: &Track, x: &Scale, top: f64) {
    let bottom = top + track.height;
    let y = track.scale.clone().on(bottom, top);
    let mut ticks = y.ticks(if track.few_ticks { 2 } else { 4 });
    if track.few_ticks && ticks.len() > 2 {
        ticks = vec![ticks[0].clone(), ticks[ticks.len() - 1].clone()];
    }
    for (value, text) in ticks {
        canvas.line("grid", (LEFT, y.px(value)), (WIDTH - RIGHT, y.px(value)));
        canvas.text("tick end", (LEFT - 8.0, y.px(value) + 4.0), &text);
    }
    canvas.raw(&format!(
        "<g class=\"plot\" data-x=\"{}\" data-y=\"{}\">",
        x.described(),
        y.described()
    ));
    for curve in &track.curves {
        let class = colour(curve.colour);
        let points: Vec<(f64, f64)> = curve
            .values
            .iter()
            .map(|&(at, value)| (x.px(at), y.px(value)))
            .collect();
        if curve.area
            && let (Some(first), Some(last)) = (points.first(), points.last())
        {
            let mut path = format!("M{:.1},{bottom:.1}", first.0);
            for (at, value) in &points {
                path.push_str(&format!("L{at:.1},{value:.1}"));
            }
            canvas.raw(&format!(
                "<path class=\"area {class}\" d=\"{path}L{:.1},{bottom:.1}Z\"/>",
                last.0
            ));
        }
        canvas.polyline(&format!("line thin {class}"), &points, &curve.from);
    }
    canvas.raw("</g>");
}

/// One row per target, one cell per load.
pub struct Verdicts {
    pub name: String,
    /// What the columns are.
    pub columns: &'static str,
    pub loads: Vec<String>,
    pub rows: Vec<(String, usize, Vec<Option<VerdictCell>>)>,
}

pub struct VerdictCell {
    /// `sql-cpu`, `none`, `void`, …: chooses the fill.
    pub class: &'static str,
    pub text: String,
    /// The evidence.
    pub tip: String,
}

impl Verdicts {
    pub fn draw(self) -> String {
        let width = 1_136.0;
        let left = (self.rows.iter().map(|row| bold_width(&row.0)).fold(40.0, f64::max) + 20.0).min(190.0);
        let height = 26.0 + self.rows.len() as f64 * 34.0 + 22.0;
        let cell = (width - left) / self.loads.len().max(1) as f64;
        let mut canvas = Canvas::new("verdicts", &self.name, width, height);
        for (at, load) in self.loads.iter().enumerate() {
            let middle = left + cell * (at as f64 + 0.5);
            canvas.text("tick middle", (middle, 16.0), &fitted(load, cell));
        }
        for (row, (name, index, cells)) in self.rows.iter().enumerate() {
            let y = 26.0 + row as f64 * 34.0;
            canvas.raw(&format!(
                "<text class=\"label name {}\" x=\"0\" y=\"{:.1}\">{}</text>",
                colour(*index),
                y + 19.0,
                escaped(&fitted_bold(name, left - 14.0))
            ));
            for (at, found) in cells.iter().enumerate() {
                let x = left + cell * at as f64;
                match found {
                    Some(found) => {
                        canvas.raw("<g class=\"verdict-cell\">");
                        let tip = format!("<title>{}</title>", escaped(&found.tip));
                        canvas.rect(
                            &format!("verdict v-{}", found.class),
                            (x + 1.5, y),
                            (cell - 3.0, 29.0),
                            &tip,
                        );
                        canvas.text(
                            "verdict-text middle",
                            (x + cell / 2.0, y + 19.0),
                            &fitted_bold(&found.text, cell - 2.0),
                        );
                        canvas.raw("</g>");
                    }
                    None => canvas.rect("verdict v-absent", (x + 1.5, y), (cell - 3.0, 29.0), ""),
                }
            }
        }
        canvas.text("axis-title end", (width, height - 6.0), self.columns);
        canvas.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_close_together_share_a_label() {
        let labels = event_labels(&[100.0, 104.0, 130.0, 143.0, 300.0]);
        let texts: Vec<&str> = labels.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["1–3", "4", "5"]);
    }
}
