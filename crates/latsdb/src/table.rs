//! Columns of text, aligned: for `latsdb status` and the shell.

/// Width of `text` on a terminal, near enough: characters, wide East Asian ones and emoji counted twice.
pub fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
            0x1100..=0x115f
            | 0x2e80..=0xa4cf
            | 0xac00..=0xd7a3
            | 0xf900..=0xfaff
            | 0xfe30..=0xfe6f
            | 0xff00..=0xff60
            | 0x1f300..=0x1faff => 2,
            _ => 1,
        })
        .sum()
}

/// `text`, filled with spaces on the right to `wanted` columns.
pub fn padded(text: &str, wanted: usize) -> String {
    format!("{text}{}", " ".repeat(wanted.saturating_sub(width(text))))
}

/// A heading and rows under it, two spaces between columns, nothing at the ends of lines.
pub fn plain(heading: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = heading.iter().map(|title| width(title)).collect();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            widths[column] = widths[column].max(width(cell));
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells.zip(&widths).map(|(cell, width)| padded(cell, *width)).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    let mut text = line(&mut heading.iter().copied());
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_a_terminal_shows() {
        let rows = [
            vec!["1".to_owned(), "東京".to_owned()],
            vec!["100".to_owned(), "e\u{301}".to_owned()],
        ];
        assert_eq!(plain(&["id", "city"], &rows), "id   city\n1    東京\n100  e\u{301}\n");
    }
}
