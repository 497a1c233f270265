//! Writes all diagrams on one self-contained page, which needs no network and no other file.
//!
//! The page contains the details of its rows as JSON, in a block that browsers do not execute. The security policy of
//! the page allows only one script, identified by its digest. So even an unescaped text of a memory could not run
//! (PIC-1).
//!
//! # Layer
//! Layer 10, part of cli.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::svg::{DOT, INDENT, ROW, TOP, element};
use super::{Diagram, escaped};
use crate::answers::json::to_json;
use treering::inspect::digest::sha256;

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// Returns the page with all of `diagrams`.
pub(in crate::cli) fn html(title: &str, diagrams: &[Diagram]) -> String {
    let drawn: String = diagrams.iter().map(|diagram| element(diagram, "")).collect();
    let data = json!({
        "top": TOP,
        "row": ROW,
        "indent": INDENT,
        "dot": DOT,
        "pictures": diagrams,
    });
    // The data must not contain the end tag of its block, so each `<` becomes a JSON escape.
    let data = to_json(&data).unwrap_or_default().replace('<', "\\u003c");
    let style = concat!(include_str!("page.css"), include_str!("diagram.css"));
    let filled = |name: &str| match name {
        "HASH" => STANDARD.encode(sha256(SCRIPT.as_bytes())),
        "TITLE" => escaped(title),
        "STYLE" => style.to_owned(),
        "PICTURES" => drawn.clone(),
        "DATA" => data.clone(),
        "SCRIPT" => SCRIPT.to_owned(),
        _ => String::new(),
    };
    // Replaces all placeholders in one pass, so inserted text never counts as a placeholder.
    let part = |(at, part): (usize, &str)| match at % 2 {
        0 => part.to_owned(),
        _ => filled(part),
    };
    PAGE.split('@').enumerate().map(part).collect()
}
