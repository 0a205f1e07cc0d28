//! Figures that others published, for comparison: never mixed with what was measured here.

use serde::Deserialize;

const SHIPPED: &str = include_str!("../../data/published.toml");

/// The shipped set.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    #[serde(default, rename = "figure")]
    pub figures: Vec<PublishedFigure>,
}

/// One figure as its authors gave it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// What was measured: database, cluster, machines.
    pub label: String,
    /// The full workload as far as the source tells it.
    pub workload: String,
    /// `TPS`, `events/s`, `ms`, …
    pub unit: String,
    pub value: f64,
    /// `higher` or `lower`: which is better.
    pub better: String,
    /// Threads in total, where the source says.
    pub threads: Option<u32>,
    pub source: String,
    /// What the reader must know before comparing.
    #[serde(default)]
    pub caution: String,
}

impl Published {
    pub fn shipped() -> Published {
        toml::from_str(SHIPPED).expect("the shipped figures are valid: a test reads them")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_figures_say_what_they_are_of_and_where_they_stand() {
        let published = Published::shipped();
        assert!(published.figures.iter().any(|figure| figure.value == 34_870.0));
        for figure in &published.figures {
            assert!(!figure.label.is_empty() && !figure.workload.is_empty() && !figure.source.is_empty());
            assert!(
                ["higher", "lower"].contains(&figure.better.as_str()),
                "{}",
                figure.better
            );
        }
    }
}
