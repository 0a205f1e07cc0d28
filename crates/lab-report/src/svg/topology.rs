//! Who talks to whom: a column per role, a box per machine, and the round trip between columns.

use super::{Canvas, fitted};
use crate::page::Sentence;
use crate::text::escaped;

pub struct Topology {
    pub name: String,
    /// From the load to the data.
    pub columns: Vec<Tier>,
    /// Between one column and the next: the round trip, if probed.
    pub between: Vec<Sentence>,
}

pub struct Tier {
    pub title: String,
    pub boxes: Vec<Machine>,
}

pub struct Machine {
    pub name: String,
    /// Which targets' colours it carries; none for the load generator.
    pub colours: Vec<usize>,
    pub lines: Vec<Sentence>,
}

const BOX: f64 = 236.0;
const GAP: f64 = 150.0;
const LINE: f64 = 17.0;

impl Topology {
    pub fn draw(self) -> String {
        let heights: Vec<f64> = self
            .columns
            .iter()
            .map(|tier| tier.boxes.iter().map(|machine| height_of(machine) + 14.0).sum::<f64>())
            .collect();
        let tallest = heights.iter().copied().fold(0.0, f64::max);
        let width = self.columns.len() as f64 * BOX + (self.columns.len().max(1) - 1) as f64 * GAP + 4.0;
        let height = tallest + 40.0;
        let mut canvas = Canvas::new("topology", &self.name, width, height);
        let mut middles: Vec<Vec<f64>> = Vec::new();
        for (column, tier) in self.columns.iter().enumerate() {
            let x = 2.0 + column as f64 * (BOX + GAP);
            canvas.text("axis-title", (x, 15.0), &tier.title);
            let mut y = 28.0 + (tallest - heights[column]) / 2.0;
            let mut tier_middles = Vec::new();
            for machine in &tier.boxes {
                let tall = height_of(machine);
                tier_middles.push(y + tall / 2.0);
                draw_machine(&mut canvas, machine, (x, y), tall);
                y += tall + 14.0;
            }
            middles.push(tier_middles);
        }
        for (column, pair) in middles.windows(2).enumerate() {
            let x = 2.0 + column as f64 * (BOX + GAP) + BOX;
            for &from in &pair[0] {
                for &to in &pair[1] {
                    canvas.raw(&format!(
                        "<path class=\"link\" d=\"M{:.1},{from:.1}C{:.1},{from:.1} {:.1},{to:.1} {:.1},{to:.1}\"/>",
                        x + 2.0,
                        x + GAP * 0.5,
                        x + GAP * 0.5,
                        x + GAP - 2.0
                    ));
                }
            }
            if let Some(words) = self.between.get(column).filter(|words| !words.is_empty()) {
                canvas.sentence("label middle halo", (x + GAP / 2.0, 15.0), words);
            }
        }
        canvas.finish()
    }
}

fn height_of(machine: &Machine) -> f64 {
    34.0 + machine.lines.len() as f64 * LINE
}

fn draw_machine(canvas: &mut Canvas, machine: &Machine, (x, y): (f64, f64), tall: f64) {
    canvas.raw(&format!(
        "<rect class=\"machine\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{BOX:.1}\" height=\"{tall:.1}\" rx=\"7\"/>"
    ));
    let share = tall / machine.colours.len().max(1) as f64;
    for (at, index) in machine.colours.iter().enumerate() {
        canvas.raw(&format!("<g class=\"bar {}\">", super::colour(*index)));
        canvas.rect("bar-fill", (x, y + 6.0 + at as f64 * share), (4.0, share - 12.0), "");
        canvas.raw("</g>");
    }
    canvas.raw(&format!(
        "<text class=\"label strong name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        x + 14.0,
        y + 21.0,
        escaped(&fitted(&machine.name, BOX - 24.0))
    ));
    for (at, line) in machine.lines.iter().enumerate() {
        canvas.sentence("small", (x + 14.0, y + 38.0 + at as f64 * LINE), line);
    }
}
