//! Literals of a statement as parameters.

use mysql_client::{BinaryDateTime, BinaryTime, ColumnType, Parameter};

use crate::rng::Rng;

/// The statement with `?` in the place of some literals, and the literals; nothing where it has none.
pub fn taken_out(rng: &mut Rng, sql: &str) -> Option<(String, Vec<String>)> {
    let mut text = String::new();
    let mut values = Vec::new();
    let mut rest = sql;
    while let Some((before, literal, after)) = next_literal(rest) {
        text += before;
        match rng.chance(40) {
            true => {
                text.push('?');
                values.push(literal.to_owned());
            }
            false => text += literal,
        }
        rest = after;
    }
    text += rest;
    (!values.is_empty()).then_some((text, values))
}

/// The statement with `?` in the place of some literals, and their values as a client sends them: numbers, dates, text, bytes, NULL.
/// Nothing where it has none.
pub fn typed(rng: &mut Rng, sql: &str) -> Option<(String, Vec<Parameter>)> {
    let mut text = String::new();
    let mut values = Vec::new();
    let mut rest = sql;
    while let Some((before, literal, after)) = next_typed(rest) {
        text += before;
        match rng.chance(40).then(|| value_of(rng, literal)).flatten() {
            Some(value) => {
                text.push('?');
                values.push(value);
            }
            None => text += literal,
        }
        rest = after;
    }
    text += rest;
    (!values.is_empty()).then_some((text, values))
}

/// As [`next_literal`], and `DATE'…'`, `TIME'…'`, `TIMESTAMP'…'`.
fn next_typed(sql: &str) -> Option<(&str, &str, &str)> {
    let plain = next_literal(sql);
    let until = plain.map_or(sql.len(), |(before, ..)| before.len());
    let dated = ["TIMESTAMP'", "DATE'", "TIME'"].iter().filter_map(|word| {
        let start = sql[..until].find(word)?;
        let end = start + word.len() + sql[start + word.len()..].find('\'')? + 1;
        Some((start, end))
    });
    match dated.min() {
        Some((start, end)) => Some((&sql[..start], &sql[start..end], &sql[end..])),
        None => plain,
    }
}

fn value_of(rng: &mut Rng, literal: &str) -> Option<Parameter> {
    if rng.chance(6) {
        return Some(Parameter::Null);
    }
    let quoted = literal.split('\'').nth(1);
    if let Some(text) = quoted {
        let is_dated = literal.starts_with(['D', 'T']);
        return match (is_dated, literal.starts_with("TIME'")) {
            // MySQL forgets the days of a time.
            (true, true) => time(text).filter(|time| time.days == 0).map(Parameter::Time),
            (true, false) if literal.starts_with("DATE") => date_time(text).map(Parameter::Date),
            (true, false) => date_time(text).map(Parameter::DateTime),
            (false, _) if rng.chance(15) => Some(Parameter::Blob(text.as_bytes().to_vec())),
            (false, _) => Some(Parameter::Text(text.to_owned())),
        };
    }
    if literal.contains(['e', 'E']) {
        return literal.parse().ok().map(Parameter::Double);
    }
    if literal.contains('.') {
        return Some(Parameter::Decimal(literal.to_owned()));
    }
    let number: i64 = literal.parse().ok()?;
    Some(match rng.below(4) {
        0 => Parameter::Unsigned(number as u64),
        1 if number < 128 => Parameter::Int(ColumnType::Tiny, number),
        2 if number < 1 << 31 => Parameter::Int(ColumnType::Long, number),
        _ => Parameter::Int(ColumnType::LongLong, number),
    })
}

/// `2021-03-04`, and `2021-03-04 05:06:07.5`.
fn date_time(text: &str) -> Option<BinaryDateTime> {
    let (date, rest) = text.split_once(' ').unwrap_or((text, "0:0:0"));
    let mut parts = date.split('-').map(str::parse::<u16>);
    let mut part = || parts.next()?.ok();
    let (year, month, day) = (part()?, part()?, part()?);
    let time = time(rest)?;
    Some(BinaryDateTime {
        year,
        month: month as u8,
        day: day as u8,
        hour: time.hour,
        minute: time.minute,
        second: time.second,
        microsecond: time.microsecond,
    })
}

/// `-01:30:00`, `100:00:00.5`.
fn time(text: &str) -> Option<BinaryTime> {
    let (clock, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let mut parts = clock.trim_start_matches('-').split(':').map(str::parse::<u32>);
    let mut part = || parts.next()?.ok();
    let (hours, minute, second) = (part()?, part()?, part()?);
    Some(BinaryTime {
        negative: clock.starts_with('-'),
        days: hours / 24,
        hour: (hours % 24) as u8,
        minute: minute as u8,
        second: second as u8,
        microsecond: format!("{fraction:0<6}").parse().ok()?,
    })
}

/// The next text in quotes or whole number that stands by itself, between what is before and behind it.
fn next_literal(sql: &str) -> Option<(&str, &str, &str)> {
    let mut previous = ' ';
    let mut chars = sql.char_indices();
    while let Some((start, c)) = chars.next() {
        let end = match c {
            '\'' => start + 1 + sql[start + 1..].find('\'')? + 1,
            '0'..='9' => {
                let digits = sql[start..].find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
                digits.map_or(sql.len(), |len| start + len)
            }
            other => {
                previous = other;
                continue;
            }
        };
        let stands_alone = matches!(previous, ' ' | '(' | ',');
        if stands_alone {
            return Some((&sql[..start], &sql[start..end], &sql[end..]));
        }
        previous = c;
        // Goes on behind a literal that belongs to a word before it.
        while chars.clone().next().is_some_and(|(at, _)| at < end) {
            chars.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_typed() {
        let sql = "SELECT DATE'2021-03-04', TIME'-01:30:00', TIMESTAMP'2020-02-29 23:59:59.5', 42, 'x'";
        let mut found = Vec::new();
        let mut rest = sql;
        while let Some((_, literal, after)) = next_typed(rest) {
            found.push(literal);
            rest = after;
        }
        assert_eq!(found.len(), 5);
        let time = time("100:00:00.5").expect("a time");
        assert_eq!((time.days, time.hour, time.microsecond), (4, 4, 500_000));
        let moment = date_time("2020-02-29 23:59:59.5").expect("a moment");
        assert_eq!((moment.day, moment.second, moment.microsecond), (29, 59, 500_000));
        let mut rng = Rng::new(5);
        let (text, values) = (0..20).find_map(|_| typed(&mut rng, sql)).expect("some literal");
        assert_eq!(text.matches('?').count(), values.len());
    }

    #[test]
    fn literals_become_parameters() {
        let sql = "SELECT a1.c2 + 42, DATE'2021-03-04', 'x y' FROM t1 a1 WHERE c3 IN ('a', 7)";
        let mut found = Vec::new();
        let mut rest = sql;
        while let Some((_, literal, after)) = next_literal(rest) {
            found.push(literal);
            rest = after;
        }
        assert_eq!(found, ["42", "'x y'", "'a'", "7"]);
        let mut rng = Rng::new(3);
        let (text, values) = (0..20).find_map(|_| taken_out(&mut rng, sql)).expect("some literal");
        assert_eq!(text.matches('?').count(), values.len());
    }
}
