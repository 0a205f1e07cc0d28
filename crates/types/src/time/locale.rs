//! The names of months and days in the languages that MySQL knows: `lc_time_names`.
//!
//! `locales.txt` has a paragraph for each set of names: the locales that share it, then months, their short names, weekdays from
//! Monday, and their short names.

use std::sync::LazyLock;

/// The names that dates are printed with.
#[derive(Debug)]
pub struct Locale {
    /// As `de_DE`.
    name: &'static str,
    months: Vec<&'static str>,
    short_months: Vec<&'static str>,
    weekdays: Vec<&'static str>,
    short_weekdays: Vec<&'static str>,
}

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    let paragraphs = include_str!("locales.txt").split("\n\n");
    paragraphs.flat_map(read).collect()
});

static ENGLISH: LazyLock<&'static Locale> =
    LazyLock::new(|| Locale::by_name("en_US").expect("the locales have the default one"));

/// The locales of a paragraph.
fn read(paragraph: &'static str) -> impl Iterator<Item = Locale> {
    let mut lines = paragraph.lines();
    let names = lines.next().unwrap_or_default();
    let mut words = || -> Vec<&'static str> { lines.next().unwrap_or_default().split('|').collect() };
    let (months, short_months, weekdays, short_weekdays) = (words(), words(), words(), words());
    names.split(' ').map(move |name| Locale {
        name,
        months: months.clone(),
        short_months: short_months.clone(),
        weekdays: weekdays.clone(),
        short_weekdays: short_weekdays.clone(),
    })
}

impl Locale {
    /// The locale of that name, in any letter case.
    pub fn by_name(name: &str) -> Option<&'static Locale> {
        LOCALES.iter().find(|locale| locale.name.eq_ignore_ascii_case(name))
    }

    /// `en_US`, the default.
    pub fn english() -> &'static Locale {
        &ENGLISH
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Of month 1 to 12.
    pub fn month(&self, month: u8) -> Option<&'static str> {
        self.months.get(usize::from(month).checked_sub(1)?).copied()
    }

    pub fn short_month(&self, month: u8) -> Option<&'static str> {
        self.short_months.get(usize::from(month).checked_sub(1)?).copied()
    }

    /// Of day 0, Monday, to 6.
    pub fn weekday(&self, day: u8) -> Option<&'static str> {
        self.weekdays.get(usize::from(day)).copied()
    }

    pub fn short_weekday(&self, day: u8) -> Option<&'static str> {
        self.short_weekdays.get(usize::from(day)).copied()
    }

    /// Most characters of a weekday's name.
    pub fn widest_weekday(&self) -> usize {
        widest(&self.weekdays)
    }

    /// Most characters of a month's name.
    pub fn widest_month(&self) -> usize {
        widest(&self.months)
    }
}

fn widest(names: &[&str]) -> usize {
    names.iter().map(|name| name.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_has_all_its_names() {
        assert_eq!(LOCALES.len(), 111);
        for locale in LOCALES.iter() {
            let counts = [
                &locale.months,
                &locale.short_months,
                &locale.weekdays,
                &locale.short_weekdays,
            ]
            .map(Vec::len);
            assert_eq!(counts, [12, 12, 7, 7], "{}", locale.name);
        }
        assert_eq!(Locale::english().weekday(0), Some("Monday"));
        assert_eq!(
            Locale::by_name("DE_de").and_then(|locale| locale.month(3)),
            Some("März")
        );
    }
}
