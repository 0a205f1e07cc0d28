//! A page as GitHub's Markdown and as plain text for a terminal: charts are left out, their tables are not.

use crate::page::{Block, Page, Sentence, Table};

pub fn page(page: &Page) -> String {
    let mut out = format!("# {}\n\n", escaped(&page.title));
    for line in &page.subtitle {
        out.push_str(&format!("{}  \n", escaped(line)));
    }
    out.push('\n');
    for section in &page.sections {
        if !has_words(&section.blocks) {
            continue;
        }
        out.push_str(&format!("## {}\n\n", escaped(&section.title)));
        section.blocks.iter().for_each(|block| push(&mut out, block));
    }
    out
}

/// A section of charts alone has nothing to read here.
fn has_words(blocks: &[Block]) -> bool {
    blocks.iter().any(|block| match block {
        Block::Charts(_) | Block::Heading(_) | Block::Note(_) => false,
        Block::Folded { blocks, .. } => has_words(blocks),
        Block::Text(_) | Block::List(_) | Block::Table(_) => true,
    })
}

fn push(out: &mut String, block: &Block) {
    match block {
        Block::Text(sentence) | Block::Note(sentence) => out.push_str(&format!("{}\n\n", escaped(sentence))),
        Block::Heading(sentence) => out.push_str(&format!("### {}\n\n", escaped(sentence))),
        Block::List(items) => {
            for item in items {
                out.push_str(&format!("* {}\n", escaped(item)));
            }
            out.push('\n');
        }
        Block::Table(table) => push_table(out, table),
        Block::Charts(_) => {}
        Block::Folded { title, blocks } => {
            if has_words(blocks) {
                out.push_str(&format!("**{}**\n\n", escaped(title)));
                blocks.iter().for_each(|block| push(out, block));
            }
        }
    }
}

fn push_table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        out.push_str(&format!("**{}**\n\n", escaped(&table.caption)));
    }
    let titles: Vec<String> = table
        .columns
        .iter()
        .map(|column| match column.unit.as_str() {
            "" => cell(&column.title),
            unit => format!("{} ({})", cell(&column.title), cell(unit)),
        })
        .collect();
    out.push_str(&format!("| {} |\n|", titles.join(" | ")));
    for column in &table.columns {
        out.push_str(if column.numeric { "---:|" } else { "---|" });
    }
    out.push('\n');
    for row in &table.rows {
        let cells: Vec<String> = row.cells.iter().map(|sentence| cell(&sentence.plain())).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out.push('\n');
}

/// What Markdown would take for markup stays text; no control character reaches a terminal.
fn marked(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '#' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

fn escaped(sentence: &Sentence) -> String {
    marked(&sentence.plain())
}

fn cell(text: &str) -> String {
    marked(text).replace('|', "\\|")
}

/// For a terminal: aligned columns, no markup. Lines of prose are broken at `width`.
pub fn plain(page: &Page, width: usize) -> String {
    let mut out = format!("{}\n", clean(&page.title.plain()));
    for line in &page.subtitle {
        wrap(&mut out, "", &line.plain(), width);
    }
    for section in page.sections.iter().filter(|section| has_words(&section.blocks)) {
        let title = clean(&section.title.plain());
        out.push_str(&format!("\n{title}\n{}\n", "─".repeat(title.chars().count())));
        section
            .blocks
            .iter()
            .for_each(|block| push_plain(&mut out, block, width));
    }
    out
}

fn push_plain(out: &mut String, block: &Block, width: usize) {
    match block {
        Block::Text(sentence) | Block::Note(sentence) => wrap(out, "", &sentence.plain(), width),
        Block::Heading(sentence) => out.push_str(&format!("\n{}\n", clean(&sentence.plain()))),
        Block::List(items) => items.iter().for_each(|item| wrap(out, "• ", &item.plain(), width)),
        Block::Table(table) => push_plain_table(out, table),
        Block::Charts(_) => {}
        Block::Folded { title, blocks } => {
            out.push_str(&format!("\n{}\n", clean(&title.plain())));
            blocks.iter().for_each(|block| push_plain(out, block, width));
        }
    }
}

fn push_plain_table(out: &mut String, table: &Table) {
    if !table.caption.is_empty() {
        out.push_str(&format!("\n{}\n", clean(&table.caption.plain())));
    }
    let mut lines: Vec<Vec<String>> = vec![
        table.columns.iter().map(|column| clean(&column.title)).collect(),
        table.columns.iter().map(|column| clean(&column.unit)).collect(),
    ];
    lines.extend(
        table
            .rows
            .iter()
            .map(|row| row.cells.iter().map(|cell| clean(&cell.plain())).collect()),
    );
    if lines[1].iter().all(String::is_empty) {
        lines.remove(1);
    }
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|at| {
            lines
                .iter()
                .filter_map(|line| line.get(at))
                .map(|text| text.chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for line in &lines {
        let cells: Vec<String> = line
            .iter()
            .enumerate()
            .map(|(at, text)| {
                let room = " ".repeat(widths[at].saturating_sub(text.chars().count()));
                if table.columns[at].numeric {
                    format!("{room}{text}")
                } else {
                    format!("{text}{room}")
                }
            })
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out.push('\n');
}

fn wrap(out: &mut String, bullet: &str, text: &str, width: usize) {
    let indent = bullet.chars().count();
    let mut column = indent;
    out.push_str(bullet);
    for (at, word) in clean(text).split_whitespace().enumerate() {
        let long = word.chars().count();
        if at > 0 && column + 1 + long > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if at > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += long;
    }
    out.push('\n');
}

fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Column, Row, Section};

    fn sample() -> Page {
        Page {
            title: "a | b".into(),
            sections: vec![Section {
                id: "x".into(),
                title: "Rates".into(),
                blocks: vec![
                    Block::Text(Sentence::words("one *two* three")),
                    Block::Table(Table {
                        columns: vec![Column::text("name"), Column::number("TPS", "1/s")],
                        rows: vec![Row::of(vec!["a|b".into(), "1,234".into()])],
                        ..Table::default()
                    }),
                ],
            }],
            ..Page::default()
        }
    }

    #[test]
    fn markup_in_names_stays_text() {
        let text = page(&sample());
        assert!(text.contains("one \\*two\\* three"), "{text}");
        assert!(text.contains("| a\\|b | 1,234 |"), "{text}");
        assert!(text.contains("|---|---:|"), "{text}");
    }

    #[test]
    fn a_terminal_gets_aligned_columns_and_broken_lines() {
        let text = plain(&sample(), 10);
        assert!(text.contains("one *two*\nthree"), "{text}");
        assert!(text.contains("name    TPS\n"), "{text}");
        assert!(text.contains("a|b   1,234\n"), "{text}");
    }
}
