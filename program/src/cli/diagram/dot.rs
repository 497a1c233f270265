//! Writes a diagram in DOT, the language of Graphviz.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fmt::Write as _;

use super::Diagram;

/// Returns the diagram as DOT, which `dot -Tsvg` converts to SVG.
pub(in crate::cli) fn dot(diagram: &Diagram) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "digraph {} {{", diagram.name);
    let _ = writeln!(out, "  label={};", quoted(&diagram.title));
    out.push_str("  labelloc=t; rankdir=LR; fontname=\"sans-serif\";\n");
    out.push_str("  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10];\n");
    for (number, row) in diagram.rows.iter().enumerate() {
        let lines = [&row.name, &row.text].into_iter().chain(&row.tags);
        let lines: Vec<&str> = lines
            .map(String::as_str)
            .filter(|line| !line.is_empty())
            .collect();
        let ((_, fill), label) = (row.mark.look(), quoted(&lines.join("\n")));
        let _ = writeln!(out, "  n{number} [label={label}, fillcolor=\"{fill}\"];");
    }
    let in_chain = diagram.name == "history";
    for (number, row) in diagram.rows.iter().enumerate() {
        // Rows without parents form a chain: each commit has an edge from the row above it.
        let from = row.parent.or_else(|| number.checked_sub(1).filter(|_| in_chain));
        if let Some(from) = from {
            let _ = writeln!(out, "  n{from} -> n{number};");
        }
    }
    for (from, to) in &diagram.arcs {
        let arc = "style=dashed, color=\"#b4441f\", constraint=false";
        let _ = writeln!(out, "  n{from} -> n{to} [{arc}];");
    }
    out.push_str("}\n");
    out
}

/// Returns a quoted DOT string. Escapes quotes, backslashes and line breaks, and replaces other control characters.
fn quoted(text: &str) -> String {
    let mut safe = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => safe.push_str("\\\""),
            '\\' => safe.push_str("\\\\"),
            '\n' => safe.push_str("\\n"),
            control if control.is_control() => safe.push('\u{fffd}'),
            plain => safe.push(plain),
        }
    }
    safe.push('"');
    safe
}
