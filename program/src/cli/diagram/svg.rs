//! Writes a diagram as SVG: rows of text, each under its parent, with arcs in the left margin.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fmt::Write as _;

use super::{Diagram, escaped};

/// The height of a row, in pixels. The script of the HTML page uses the same layout constants.
pub(super) const ROW: usize = 24;
/// The indentation of a child, in pixels.
pub(super) const INDENT: usize = 22;
/// The distance of lines from the centre of a dot, in pixels.
pub(super) const DOT: usize = 6;
/// The margin left of the first row in a diagram without arcs, in pixels.
const MARGIN: usize = 24;
/// The margin left of the first row in a diagram with arcs, in pixels.
const ARC_MARGIN: usize = 130;
/// The space above the first row for the title, in pixels.
pub(super) const TOP: usize = 56;
/// The approximate width of a character, in pixels.
const CHARACTER: usize = 8;

const STYLE: &str = include_str!("diagram.css");

/// Returns the diagram as a complete SVG document.
pub(in crate::cli) fn svg(diagram: &Diagram) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}",
        element(diagram, &format!("<style>{STYLE}</style>"))
    )
}

/// Returns the `svg` element, with `head` as its first child.
pub(super) fn element(diagram: &Diagram, head: &str) -> String {
    let depths = diagram.depths();
    let left = if diagram.arcs.is_empty() {
        MARGIN
    } else {
        ARC_MARGIN
    };
    let rows = diagram.rows.iter().zip(&depths);
    let reach = rows.map(|(row, depth)| {
        let tags: usize = row.tags.iter().map(|tag| tag.chars().count() + 3).sum();
        depth * INDENT + (row.name.chars().count() + row.text.chars().count() + tags + 4) * CHARACTER
    });
    let title = (diagram.title.chars().count() + 4) * CHARACTER;
    let width = left + reach.max().unwrap_or(0).max(title) + MARGIN;
    let height = TOP + (diagram.rows.len() + 1) * ROW;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{0}\" class=\"picture\" role=\"img\" aria-label=\"{1}\" \
         width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n{head}\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"28\">{1}</text>",
        diagram.name,
        escaped(&diagram.title),
    );
    for arc in &diagram.arcs {
        let (from, to) = (TOP + arc.0 * ROW, TOP + arc.1 * ROW);
        let bend = left.saturating_sub((30 + to.abs_diff(from) / 8).min(left - 8));
        let _ = writeln!(
            out,
            "<path class=\"arc\" d=\"M{left} {from} C{bend} {from} {bend} {to} {left} {to}\"/>"
        );
    }
    if diagram.name == "history" && !diagram.rows.is_empty() {
        let end = TOP + (diagram.rows.len() - 1) * ROW;
        let _ = writeln!(out, "<path class=\"line\" d=\"M{left} {TOP}V{end}\"/>");
    }
    for (number, row) in diagram.rows.iter().enumerate() {
        let (x, y) = (left + depths[number] * INDENT, TOP + number * ROW);
        let branch = row.parent.map_or_else(String::new, |parent| {
            let up = (number - parent) * ROW - DOT;
            format!("<path class=\"branch\" d=\"M-{INDENT} -{up}V0H-{DOT}\"/>")
        });
        let span = |class: &str, gap: usize, text: &str| {
            format!("<tspan class=\"{class}\" dx=\"{gap}\">{}</tspan>", escaped(text))
        };
        let tags = row
            .tags
            .iter()
            .map(|tag| span("tag", 8, &format!("\u{25c6} {tag}")));
        let text = (!row.text.is_empty()).then(|| span("text", 10, &row.text));
        let _ = writeln!(
            out,
            "<g class=\"row {}\" data-row=\"{number}\" transform=\"translate({x} {y})\">\
             <title>{}</title>{branch}<circle r=\"5\"/>\
             <text x=\"12\" y=\"4\"><tspan class=\"name\">{}</tspan>{}</text></g>",
            row.mark.look().0,
            escaped(&tooltip(row)),
            escaped(&row.name),
            tags.chain(text).collect::<String>(),
        );
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the tooltip of a row.
fn tooltip(row: &super::Row) -> String {
    let mut text = row.name.clone();
    for (name, value) in &row.details {
        let value: String = value.chars().take(200).collect();
        let _ = write!(text, "\n{name}: {value}");
    }
    text
}
