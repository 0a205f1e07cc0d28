//! Differences that are known: `explained.txt` lists them with the reason of each, so that a run goes on.
//!
//! A line is `CLASS | TEXT & TEXT | WHY`: a difference whose class begins with CLASS, where every TEXT stands in the statement or in
//! what is told of the two answers. The class `warnings of values` is that of warnings of which each is of one value.

use crate::compare::Difference;

pub struct Explained {
    rules: Vec<Rule>,
}

struct Rule {
    class: String,
    texts: Vec<String>,
    why: String,
}

impl Explained {
    pub fn built_in() -> Explained {
        Explained::parse(include_str!("explained.txt"))
    }

    fn parse(text: &str) -> Explained {
        let rules = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let rules = rules.filter_map(|line| {
            let mut parts = line.splitn(3, " | ");
            let (class, texts, why) = (parts.next()?, parts.next()?, parts.next()?);
            Some(Rule {
                class: class.trim().to_owned(),
                texts: texts
                    .split(" & ")
                    .map(|text| text.trim().to_owned())
                    .filter(|text| text != "*")
                    .collect(),
                why: why.trim().to_owned(),
            })
        });
        Explained { rules: rules.collect() }
    }

    /// Why the difference is no surprise.
    pub fn why(&self, sql: &str, difference: &Difference) -> Option<&str> {
        // What explains a difference explains it beside typed parameters, too.
        let class = difference.class.strip_prefix("typed ").unwrap_or(&difference.class);
        let fits = |rule: &&Rule| {
            let stands = |text: &String| sql.contains(text.as_str()) || difference.detail.contains(text.as_str());
            let is_of_class = match rule.class.as_str() {
                "warnings of values" => is_of_values(class),
                known => class.starts_with(known) || difference.class.starts_with(known),
            };
            is_of_class && rule.texts.iter().all(stands)
        };
        self.rules.iter().find(fits).map(|rule| rule.why.as_str())
    }
}

/// Whether a class `warnings [1292] [3020]` names only warnings that a comparison or a function raises for a value that it meets.
fn is_of_values(class: &str) -> bool {
    const OF_VALUES: [&str; 9] = ["1292", "1365", "1366", "1411", "1441", "1525", "3020", "3156", "6527"];
    let Some(codes) = class.strip_prefix("warnings ") else {
        return false;
    };
    let mut codes = codes
        .split(|c: char| !c.is_ascii_digit())
        .filter(|code| !code.is_empty());
    codes.all(|code| OF_VALUES.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_three_parts() {
        for line in include_str!("explained.txt")
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            assert_eq!(line.splitn(3, " | ").count(), 3, "{line}");
        }
    }

    #[test]
    fn rules_match_class_and_text() {
        let explained = Explained::parse("scale | IF( & / | branches keep their scale\nrows | * | all");
        let why = |class: &str, sql: &str| explained.why(sql, &Difference::new(class, "")).map(str::to_owned);
        assert_eq!(
            why("scale", "SELECT IF(1, 1/3, 2)").as_deref(),
            Some("branches keep their scale")
        );
        assert_eq!(why("scale", "SELECT IF(1, 1, 2)"), None);
        assert_eq!(why("rows", "x").as_deref(), Some("all"));
    }
}
