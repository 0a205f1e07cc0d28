//! Latency over the seconds: columns of time, rows of latency (logarithmic), a stronger colour for more of the column's
//! transactions.
//!
//! Percentile lines hide what a distribution does: two humps (a cache that hits or misses), a stripe that comes every
//! ten seconds (a checkpoint), a gap (nothing was answered). Here they are seen.

use super::scale::Scale;
use super::{Canvas, colour, text_width};
use crate::distribution::Distribution;
use crate::figure::Figure;
use crate::page::Sentence;
use crate::text::escaped;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 68.0;
/// More columns than this are folded: several seconds share one.
const COLUMNS: u64 = 120;
/// Of a column's transactions, the least share of each shade but the first.
pub const SHADES: [f64; 4] = [0.01, 0.05, 0.15, 0.40];
const SHADE_NAMES: [&str; 5] = ["under 1%", "1%", "5%", "15%", "40% and more"];

/// How the plane is cut into cells: stands in the formula, so that anybody can cut it again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Seconds of a column.
    pub width_s: u64,
    pub columns: u64,
    /// Rows of a tenfold of latency.
    pub steps: u32,
    /// Row 0 begins at 10^(first / steps) µs.
    pub first: i64,
    pub rows: u64,
}

/// Seconds since the beginning, each with its distribution.
pub type Seconds<'a> = [(u64, &'a Distribution)];

impl Grid {
    /// Fits all that the seconds hold; `None` if that is nothing.
    pub fn of(seconds: &Seconds) -> Option<Grid> {
        let last = seconds.iter().map(|(second, _)| *second).max()?;
        let all = || seconds.iter().filter_map(|(_, latency)| latency.ends_us());
        let low = all().map(|(low, _)| low).min()?.max(1) as f64;
        let high = all().map(|(_, high)| high).max()?.max(1) as f64;
        let steps = if (high / low).log10() > 4.0 { 5 } else { 10 };
        let row = |us: f64| (us.log10() * f64::from(steps)).floor() as i64;
        // Values that lie on an edge must not fall out by a rounding.
        let (first, last_row) = (row(low) - 1, row(high) + 1);
        let width_s = (last + 1).div_ceil(COLUMNS);
        Some(Grid {
            width_s,
            columns: (last + 1).div_ceil(width_s),
            steps,
            first,
            rows: (last_row - first + 1) as u64,
        })
    }

    /// Lower edge of a row, µs.
    fn edge_us(&self, row: u64) -> f64 {
        10_f64.powf((self.first + row as i64) as f64 / f64::from(self.steps))
    }

    /// Column by column, the share of its transactions in each row.
    pub fn shares(&self, seconds: &Seconds) -> Vec<Vec<f64>> {
        let edges: Vec<f64> = (0..self.rows).map(|row| self.edge_us(row)).collect();
        let mut counts = vec![vec![0.0; self.rows as usize]; self.columns as usize];
        for (second, latency) in seconds {
            let column = &mut counts[(second / self.width_s) as usize];
            for (us, count) in latency.buckets() {
                let row = edges.partition_point(|edge| *edge <= us as f64).max(1) - 1;
                column[row] += count as f64;
            }
        }
        for column in &mut counts {
            let whole: f64 = column.iter().sum();
            if whole > 0.0 {
                column.iter_mut().for_each(|share| *share /= whole);
            }
        }
        counts
    }

    /// `heat(r7/seconds#/latency,1,10,24,18)`: seconds of a column, rows of a tenfold, the first row, how many.
    pub fn formula(&self, place: &str) -> String {
        format!(
            "heat({place},{},{},{},{})",
            self.width_s, self.steps, self.first, self.rows
        )
    }
}

/// Which shade a share has, from 1; nothing for none.
fn shade(share: f64) -> Option<usize> {
    (share > 0.0).then(|| 1 + SHADES.iter().filter(|least| share >= **least).count())
}

pub struct Heat<'a> {
    pub name: String,
    /// With the unit.
    pub what: &'static str,
    pub colour: usize,
    pub grid: Grid,
    pub seconds: &'a Seconds<'a>,
    /// Of the seconds' distributions, for the formula.
    pub place: String,
    /// What must not be exceeded, in ms.
    pub limit: Option<(Figure, Sentence)>,
    /// Seconds at which something happened, numbered.
    pub events: Vec<f64>,
}

impl Heat<'_> {
    pub fn draw(self) -> String {
        let grid = self.grid;
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut canvas = Canvas::new("heat", &self.name, WIDTH, HEIGHT);
        let y = Scale::log_exact(grid.edge_us(0) / 1_000.0, grid.edge_us(grid.rows) / 1_000.0).on(bottom, TOP);
        let cell = (right - LEFT) / grid.columns as f64;
        let row = (bottom - TOP) / grid.rows as f64;
        canvas.text("axis-title", (8.0, 15.0), self.what);
        for (value, text) in y.ticks(6) {
            let at = y.px(value);
            canvas.line("grid", (LEFT, at), (right, at));
            canvas.text("tick end", (LEFT - 8.0, at + 4.0), &text);
        }
        canvas.raw(&format!(
            "<g class=\"heat-cells {}\" data-heat=\"{}\" data-cell=\"{LEFT},{bottom},{cell},{row}\" data-columns=\"{}\">",
            colour(self.colour),
            escaped(&grid.formula(&self.place)),
            grid.columns,
        ));
        let mut paths = vec![String::new(); SHADES.len() + 1];
        for (column, shares) in grid.shares(self.seconds).iter().enumerate() {
            for (at, share) in shares.iter().enumerate() {
                if let Some(shade) = shade(*share) {
                    let x = LEFT + column as f64 * cell;
                    let top = bottom - (at + 1) as f64 * row;
                    // A hair wider than the cell, so that no seam shows.
                    paths[shade - 1].push_str(&format!(
                        "M{x:.1} {top:.1}h{:.1}v{:.1}h-{:.1}z",
                        cell + 0.1,
                        row + 0.1,
                        cell + 0.1
                    ));
                }
            }
        }
        for (at, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            canvas.raw(&format!("<path class=\"shade s{}\" d=\"{path}\"/>", at + 1));
        }
        canvas.raw("</g>");
        if let Some((limit, words)) = self
            .limit
            .as_ref()
            .filter(|(limit, _)| (grid.edge_us(0) / 1_000.0..grid.edge_us(grid.rows) / 1_000.0).contains(&limit.value))
        {
            let at = y.px(limit.value);
            canvas.line("limit", (LEFT, at), (right, at));
            canvas.sentence("limit-text end", (right - 4.0, at - 4.0), words);
        }
        time_axis(&mut canvas, grid, (right, bottom));
        for second in &self.events {
            let at = LEFT + second / grid.width_s as f64 * cell;
            canvas.line("event", (at, TOP - 4.0), (at, bottom));
        }
        legend(&mut canvas, self.colour);
        canvas.finish()
    }
}

fn time_axis(canvas: &mut Canvas, grid: Grid, (right, bottom): (f64, f64)) {
    let whole = (grid.columns * grid.width_s) as f64;
    let x = Scale::linear(0.0, whole).on(LEFT, right);
    for (second, text) in x.ticks(6) {
        canvas.line("axis", (x.px(second), bottom), (x.px(second), bottom + 4.0));
        canvas.text("tick middle", (x.px(second), bottom + 17.0), &text);
    }
    canvas.line("axis", (LEFT, bottom), (right, bottom));
    let title = match grid.width_s {
        1 => "seconds since the interval began".to_owned(),
        width => format!("seconds since the interval began; a column is {width} of them"),
    };
    canvas.text("axis-title middle", ((LEFT + right) / 2.0, bottom + 33.0), &title);
}

fn legend(canvas: &mut Canvas, index: usize) {
    let y = HEIGHT - 16.0;
    canvas.text("tick", (LEFT, y + 10.0), "share of the column:");
    let mut x = LEFT + text_width("share of the column:") + 8.0;
    canvas.raw(&format!("<g class=\"{}\">", colour(index)));
    for (at, name) in SHADE_NAMES.iter().enumerate() {
        canvas.rect(&format!("shade s{}", at + 1), (x, y), (12.0, 12.0), "");
        canvas.text("tick", (x + 17.0, y + 10.0), name);
        x += 17.0 + text_width(name) + 8.0;
    }
    canvas.raw("</g>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_results::Latency;

    fn of(values: &[u64]) -> Distribution {
        let mut latency = Latency::default();
        values.iter().for_each(|us| latency.record_us(*us));
        Distribution::from(&latency)
    }

    #[test]
    fn every_transaction_of_a_column_is_in_one_row() {
        let (calm, odd) = (of(&[1_000; 90]), of(&[1_000, 1_000, 1_000, 250_000]));
        let seconds = [(0, &calm), (1, &odd), (3, &calm)];
        let grid = Grid::of(&seconds).unwrap();
        assert_eq!((grid.width_s, grid.columns), (1, 4));
        let shares = grid.shares(&seconds);
        let sum = |column: usize| shares[column].iter().sum::<f64>();
        assert!((sum(0) - 1.0).abs() < 1e-9 && (sum(1) - 1.0).abs() < 1e-9);
        assert_eq!(sum(2), 0.0, "a second without an answer is empty");
        let row = |share: f64| shares[1].iter().position(|found| *found == share).unwrap();
        assert!(grid.edge_us(row(0.25) as u64) <= 250_000.0 && grid.edge_us(row(0.25) as u64 + 1) > 200_000.0);
        assert!(row(0.75) < row(0.25));
    }

    #[test]
    fn long_intervals_are_folded_and_nothing_is_no_chart() {
        let one = of(&[500]);
        let seconds: Vec<(u64, &Distribution)> = (0..3_600).map(|second| (second, &one)).collect();
        let grid = Grid::of(&seconds).unwrap();
        assert_eq!((grid.width_s, grid.columns), (30, 120));
        assert_eq!(Grid::of(&[]), None);
        let empty = Distribution::default();
        assert_eq!(Grid::of(&[(0, &empty)]), None);
    }

    #[test]
    fn shades_part_where_the_legend_says() {
        let found = [0.0, 0.001, 0.01, 0.049, 0.05, 0.15, 0.39, 0.40, 1.0].map(shade);
        let wanted = [
            None,
            Some(1),
            Some(2),
            Some(2),
            Some(3),
            Some(4),
            Some(4),
            Some(5),
            Some(5),
        ];
        assert_eq!(found, wanted);
    }
}
