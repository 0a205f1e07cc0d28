//! A page as one self-contained HTML file: style and the few lines of script are inside, nothing is fetched.
//!
//! Every number carries `data-from` (its formula), every text taken from a file `data-text` (its place). Clicking
//! a number shows the formula; without script the page only lacks that.

use std::collections::BTreeMap;

use crate::page::{Block, Chart, Page, Piece, Row, Section, Sentence, Table, Tile};
use crate::svg;
use crate::text::escaped;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The whole file. `files` says what the short names in formulas stand for.
pub fn page(page: &Page, files: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(1 << 20);
    out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // Nothing may be fetched, whatever a name in a file contains.
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n");
    out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
    // An icon of no content: browsers would ask a server for one.
    out.push_str("<link rel=\"icon\" href=\"data:,\">\n");
    out.push_str(&format!(
        "<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escaped(&page.title.plain())
    ));
    out.push_str(&marks());
    out.push_str(&format!("<header>\n<h1>{}</h1>\n", inline(&page.title)));
    for line in &page.subtitle {
        out.push_str(&format!("<p class=\"subtitle\">{}</p>\n", inline(line)));
    }
    out.push_str("<p class=\"subtitle hint\">Click a number to see what it was computed from.</p>\n");
    out.push_str("</header>\n<nav aria-label=\"Sections\"><ul>");
    for section in &page.sections {
        out.push_str(&format!(
            "<li><a href=\"#{}\">{}</a></li>",
            escaped(&section.id),
            escaped(&section.title.plain())
        ));
    }
    out.push_str("</ul></nav>\n<main>\n");
    if !page.tiles.is_empty() {
        out.push_str("<div class=\"tiles\">\n");
        page.tiles.iter().for_each(|tile| push_tile(&mut out, tile));
        out.push_str("</div>\n");
    }
    for section in &page.sections {
        push_section(&mut out, section);
    }
    out.push_str("</main>\n<aside id=\"source\" hidden><button type=\"button\" aria-label=\"Close\">×</button><p></p><dl></dl></aside>\n");
    let files = serde_json::to_string(files).unwrap_or_else(|_| "{}".into());
    // In a script element only `</` could end it.
    out.push_str(&format!(
        "<script type=\"application/json\" id=\"file-names\">{}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        files.replace("</", "<\\/")
    ));
    out
}

/// Marks by colour: shapes differ, so that lines can be told apart without colours.
fn marks() -> String {
    let shapes = [
        "<circle r=\"4\"/>",
        "<rect x=\"-3.7\" y=\"-3.7\" width=\"7.4\" height=\"7.4\"/>",
        "<path d=\"M0,-4.9L4.6,3.6L-4.6,3.6Z\"/>",
        "<path d=\"M0,-5.2L5.2,0L0,5.2L-5.2,0Z\"/>",
        "<path d=\"M0,4.9L4.6,-3.6L-4.6,-3.6Z\"/>",
        "<path d=\"M-4.4,-1.4H-1.4V-4.4H1.4V-1.4H4.4V1.4H1.4V4.4H-1.4V1.4H-4.4Z\"/>",
        "<path d=\"M-4.6,-2.7L0,-5.3L4.6,-2.7V2.7L0,5.3L-4.6,2.7Z\"/>",
        "<path d=\"M-5,0A5,5 0 0 1 5,0Z\"/>",
    ];
    debug_assert_eq!(shapes.len(), svg::COLOURS);
    let symbols: String = shapes
        .iter()
        .enumerate()
        .map(|(at, shape)| format!("<g id=\"m{at}\">{shape}</g>"))
        .collect();
    format!(
        "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>{symbols}<pattern id=\"hatch\" width=\"6\" height=\"6\" \
         patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><rect width=\"2.4\" height=\"6\" fill=\"currentColor\"/></pattern></defs></svg>\n"
    )
}

fn push_tile(out: &mut String, tile: &Tile) {
    let class = tile
        .colour
        .map_or(String::new(), |index| format!(" {}", svg::colour(index)));
    out.push_str(&format!(
        "<div class=\"tile{class}\"><h3>{}</h3><p class=\"big\">{}</p>",
        inline(&tile.title),
        inline(&tile.figure)
    ));
    for note in &tile.notes {
        out.push_str(&format!("<p class=\"note\">{}</p>", inline(note)));
    }
    out.push_str("</div>\n");
}

fn push_section(out: &mut String, section: &Section) {
    out.push_str(&format!(
        "<section id=\"{}\">\n<h2>{}</h2>\n",
        escaped(&section.id),
        inline(&section.title)
    ));
    section.blocks.iter().for_each(|block| push_block(out, block));
    out.push_str("</section>\n");
}

fn push_block(out: &mut String, block: &Block) {
    match block {
        Block::Text(sentence) => out.push_str(&format!("<p>{}</p>\n", inline(sentence))),
        Block::Note(sentence) => out.push_str(&format!("<p class=\"note\">{}</p>\n", inline(sentence))),
        Block::Heading(sentence) => out.push_str(&format!("<h3>{}</h3>\n", inline(sentence))),
        Block::List(items) => {
            out.push_str("<ul class=\"findings\">\n");
            for item in items {
                out.push_str(&format!("<li>{}</li>\n", inline(item)));
            }
            out.push_str("</ul>\n");
        }
        Block::Table(table) => push_table(out, table),
        Block::Charts(charts) => {
            out.push_str("<div class=\"charts\">\n");
            charts.iter().for_each(|chart| push_chart(out, chart));
            out.push_str("</div>\n");
        }
        Block::Folded { title, blocks } => {
            out.push_str(&format!("<details><summary>{}</summary>\n", inline(title)));
            blocks.iter().for_each(|block| push_block(out, block));
            out.push_str("</details>\n");
        }
    }
}

fn push_chart(out: &mut String, chart: &Chart) {
    let wide = if chart.wide { " wide" } else { "" };
    out.push_str(&format!(
        "<figure class=\"{}{wide}\"><figcaption>{}</figcaption>{}",
        chart.kind,
        inline(&chart.title),
        chart.svg
    ));
    if !chart.note.is_empty() {
        out.push_str(&format!("<p class=\"note\">{}</p>", inline(&chart.note)));
    }
    out.push_str("</figure>\n");
}

fn push_table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"scroll\"><table>");
    if !table.caption.is_empty() {
        out.push_str(&format!("<caption><span>{}</span></caption>", inline(&table.caption)));
    }
    out.push_str("<thead><tr>");
    for column in &table.columns {
        let class = if column.numeric { " class=\"num\"" } else { "" };
        let unit = if column.unit.is_empty() {
            String::new()
        } else {
            format!("<small>{}</small>", escaped(&column.unit))
        };
        out.push_str(&format!(
            "<th scope=\"col\"{class}>{}{unit}</th>",
            escaped(&column.title)
        ));
    }
    out.push_str("</tr></thead><tbody>");
    table.rows.iter().for_each(|row| push_row(out, table, row));
    out.push_str("</tbody></table></div>\n");
}

fn push_row(out: &mut String, table: &Table, row: &Row) {
    let class = match (row.faint, row.group) {
        (true, _) => " class=\"faint\"",
        (false, true) => " class=\"group\"",
        (false, false) => "",
    };
    out.push_str(&format!("<tr{class}>"));
    for (cell, column) in row.cells.iter().zip(&table.columns) {
        let class = match (column.numeric, column.long) {
            (true, false) => " class=\"num\"",
            (true, true) => " class=\"num long\"",
            (false, true) => " class=\"long\"",
            (false, false) => "",
        };
        out.push_str(&format!("<td{class}>{}</td>", inline(cell)));
    }
    out.push_str("</tr>");
}

/// A sentence within HTML.
pub fn inline(sentence: &Sentence) -> String {
    pieces(sentence, "span")
}

/// A sentence within an SVG's text.
pub fn inline_svg(sentence: &Sentence) -> String {
    pieces(sentence, "tspan")
}

fn pieces(sentence: &Sentence, element: &str) -> String {
    sentence
        .0
        .iter()
        .map(|piece| match piece {
            Piece::Words(text) => escaped(text),
            Piece::Fixed(text) => format!("<{element} class=\"fixed\">{}</{element}>", escaped(text)),
            Piece::Figure { shown, from } => format!(
                "<{element} class=\"n\" data-from=\"{}\">{}</{element}>",
                escaped(from),
                escaped(shown)
            ),
            Piece::Verbatim { text, of } => format!(
                "<{element} class=\"v\" data-text=\"{}\">{}</{element}>",
                escaped(of),
                escaped(text)
            ),
        })
        .collect()
}
