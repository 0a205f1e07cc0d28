//! Lengths of time as a plan writes them: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, or a bare number of seconds.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// A length of time; prints as it would be written in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub Duration);

impl Span {
    pub const fn seconds(seconds: u64) -> Span {
        Span(Duration::from_secs(seconds))
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }
}

const UNITS: &[(&str, f64)] = &[("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
const LONGEST_S: f64 = 7.0 * 86_400.0;

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Span, String> {
        let refuse = || format!("`{text}` is not a length of time: write `\"500ms\"`, `\"30s\"`, `\"5m\"` or `\"1h\"`");
        let digits = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let number: f64 = number.parse().map_err(|_| refuse())?;
        let unit = match unit.trim() {
            "" => "s",
            unit => unit,
        };
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(refuse)?;
        from_seconds(number * factor)
    }
}

fn from_seconds(seconds: f64) -> Result<Span, String> {
    if (0.0..=LONGEST_S).contains(&seconds) {
        Ok(Span(Duration::from_secs_f64(seconds)))
    } else {
        Err(format!(
            "{seconds} seconds is not a length of time between 0 and 7 days"
        ))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        match ms {
            0 => write!(f, "0s"),
            _ if ms.is_multiple_of(3_600_000) => write!(f, "{}h", ms / 3_600_000),
            _ if ms.is_multiple_of(60_000) => write!(f, "{}m", ms / 60_000),
            _ if ms.is_multiple_of(1000) => write!(f, "{}s", ms / 1000),
            _ => write!(f, "{ms}ms"),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as \"30s\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Span, E> {
                from_seconds(seconds as f64).map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Span, E> {
                from_seconds(seconds).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_as_it_is_written() {
        for text in ["250ms", "30s", "90s", "5m", "2h"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("1.5".parse::<Span>().unwrap(), Span(Duration::from_millis(1500)));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "s", "ten", "5 days", "-1s", "1e9h", "300h"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }
}
