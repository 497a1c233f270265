//! The files of the page, which are part of the program.
//!
//! # Layer
//! Layer 9, part of serve.

/// A file of the page.
pub(crate) struct Asset {
    /// The name after `/assets/`. The first file is the page itself.
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) text: &'static str,
}

/// Lists files of `assets/`, each with its type.
macro_rules! assets {
    ($($name:literal: $kind:ident,)+) => {
        [$(Asset { name: $name, kind: $kind, text: include_str!(concat!("assets/", $name)) }),+]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// The files of the page; the first one is the page itself.
pub(crate) const ASSETS: [Asset; 22] = assets![
    "index.html": HTML,
    "base.css": CSS,
    "page.css": CSS,
    "inbox.css": CSS,
    "icon.svg": SVG,
    "main.js": SCRIPT,
    "api.js": SCRIPT,
    "dom.js": SCRIPT,
    "format.js": SCRIPT,
    "list.js": SCRIPT,
    "trust.js": SCRIPT,
    "inbox.js": SCRIPT,
    "acts.js": SCRIPT,
    "dialog.js": SCRIPT,
    "points.js": SCRIPT,
    "objects.js": SCRIPT,
    "object.js": SCRIPT,
    "timeline.js": SCRIPT,
    "sessions.js": SCRIPT,
    "changes.js": SCRIPT,
    "search.js": SCRIPT,
    "ways_back.js": SCRIPT,
];
