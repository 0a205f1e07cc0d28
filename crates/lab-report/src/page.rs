//! What a report says, before it is drawn: sections of sentences, tables and charts.
//!
//! Sentences are made of pieces, so that a number keeps its formula and a name its place in the files until it is
//! printed. One page gives `report.html` and `report.md` (which leaves charts out), and a comparison's text.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::figure::{Estimate, Figure};
use crate::text;

#[derive(Debug, Clone, Default)]
pub struct Page {
    pub title: Sentence,
    /// One line under the title.
    pub subtitle: Vec<Sentence>,
    /// The few figures that matter most.
    pub tiles: Vec<Tile>,
    pub sections: Vec<Section>,
}

/// A large figure with what it is.
#[derive(Debug, Clone, Default)]
pub struct Tile {
    pub title: Sentence,
    pub figure: Sentence,
    pub notes: Vec<Sentence>,
    /// Which series colour it carries.
    pub colour: Option<usize>,
}

#[derive(Debug, Clone, Default)]
pub struct Section {
    /// For links: letters and hyphens.
    pub id: String,
    pub title: Sentence,
    pub blocks: Vec<Block>,
}

#[derive(Debug, Clone)]
pub enum Block {
    Text(Sentence),
    /// Said smaller: how to read what stands above.
    Note(Sentence),
    List(Vec<Sentence>),
    Heading(Sentence),
    Table(Table),
    /// Charts that stand side by side where there is room.
    Charts(Vec<Chart>),
    /// Shown when opened; always open in print.
    Folded {
        title: Sentence,
        blocks: Vec<Block>,
    },
}

#[derive(Debug, Clone, Default)]
pub struct Table {
    pub caption: Sentence,
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub title: String,
    /// Under the title, smaller.
    pub unit: String,
    pub numeric: bool,
    /// Whole sentences: broken into lines where others are kept on one.
    pub long: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Row {
    pub cells: Vec<Sentence>,
    /// Set apart: what it holds does not count (a void rung).
    pub faint: bool,
    /// The first of a group.
    pub group: bool,
}

/// An SVG with its words.
#[derive(Debug, Clone)]
pub struct Chart {
    /// `throughput`, `latency`, …: for tests and links.
    pub kind: &'static str,
    pub title: Sentence,
    pub svg: String,
    pub note: Sentence,
    /// Takes the whole width.
    pub wide: bool,
}

/// Text whose numbers and names are traced.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sentence(pub Vec<Piece>);

#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Our own words; they hold no measured number.
    Words(String),
    /// A number as shown, and its formula.
    Figure { shown: String, from: String },
    /// Text as it stands in a file (a name, a version, an option): the place, or several.
    Verbatim { text: String, of: String },
    /// A number of the method itself: 95%, 2,000 resamples.
    Fixed(String),
}

impl Sentence {
    pub fn new() -> Self {
        Sentence::default()
    }

    pub fn words(text: impl Into<String>) -> Self {
        Sentence::new().and(text)
    }

    pub fn and(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Words(text.into()));
        self
    }

    pub fn fixed(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Fixed(text.into()));
        self
    }

    pub fn figure(self, figure: &Figure) -> Self {
        self.shown(text::number(figure.value), figure)
    }

    /// Dollars, to a tenth of a cent and more where they are few.
    pub fn money(self, figure: &Figure) -> Self {
        let shown = if figure.value >= 1.0 && figure.value.is_finite() {
            format!("{:.3}", figure.value)
        } else {
            text::number(figure.value)
        };
        self.shown(shown, figure)
    }

    /// A share, as whole percents.
    pub fn percent(self, share: &Figure) -> Self {
        let percent = share.scaled(100.0);
        let shown = if percent.value.is_finite() {
            format!("{:.0}", percent.value)
        } else {
            "–".into()
        };
        self.shown(shown, &percent).and("%")
    }

    /// With a sign.
    pub fn change(self, figure: &Figure) -> Self {
        self.shown(text::signed(figure.value), figure)
    }

    pub fn shown(mut self, shown: String, figure: &Figure) -> Self {
        self.0.push(Piece::Figure {
            shown,
            from: figure.from.clone(),
        });
        self
    }

    /// A figure that is not a number (a time), by its formula.
    pub fn derived(mut self, shown: impl Into<String>, from: impl Into<String>) -> Self {
        self.0.push(Piece::Figure {
            shown: shown.into(),
            from: from.into(),
        });
        self
    }

    pub fn verbatim(mut self, text: impl Into<String>, of: impl Into<String>) -> Self {
        self.0.push(Piece::Verbatim {
            text: text.into(),
            of: of.into(),
        });
        self
    }

    /// The middle and, where there is one, its interval.
    pub fn estimate(self, estimate: &Estimate) -> Self {
        let with = self.figure(&estimate.middle);
        match (&estimate.low, &estimate.high) {
            (Some(low), Some(high)) => with.and(" [").figure(low).and("–").figure(high).and("]"),
            _ => with,
        }
    }

    pub fn join(mut self, other: &Sentence) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is read.
    pub fn plain(&self) -> String {
        self.0.iter().map(Piece::text).collect()
    }
}

impl Piece {
    pub fn text(&self) -> &str {
        match self {
            Piece::Words(text) | Piece::Fixed(text) | Piece::Verbatim { text, .. } => text,
            Piece::Figure { shown, .. } => shown,
        }
    }
}

impl From<&Figure> for Sentence {
    fn from(figure: &Figure) -> Self {
        Sentence::new().figure(figure)
    }
}

impl From<&Option<Figure>> for Sentence {
    fn from(figure: &Option<Figure>) -> Self {
        figure.as_ref().map_or_else(|| Sentence::words("–"), Sentence::from)
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Self {
        Sentence::words(text)
    }
}

/// In `summary.json`: the text, and the figures in it with their formulas.
impl Serialize for Sentence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let figures: Vec<(&str, &str)> = self
            .0
            .iter()
            .filter_map(|piece| match piece {
                Piece::Figure { shown, from } => Some((shown.as_str(), from.as_str())),
                _ => None,
            })
            .collect();
        let mut state = serializer.serialize_struct("Sentence", 2)?;
        state.serialize_field("text", &self.plain())?;
        state.serialize_field("figures", &figures)?;
        state.end()
    }
}

impl Column {
    pub fn text(title: &str) -> Self {
        Column {
            title: title.into(),
            unit: String::new(),
            numeric: false,
            long: false,
        }
    }

    pub fn number(title: &str, unit: &str) -> Self {
        Column {
            title: title.into(),
            unit: unit.into(),
            numeric: true,
            long: false,
        }
    }

    /// For sentences.
    pub fn long(title: &str) -> Self {
        Column {
            long: true,
            ..Column::text(title)
        }
    }
}

impl Row {
    pub fn of(cells: Vec<Sentence>) -> Self {
        Row {
            cells,
            ..Row::default()
        }
    }
}
