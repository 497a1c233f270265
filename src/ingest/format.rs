//! The formats of files, and how to detect them.
//!
//! # Layer
//! Layer 6, inside `ingest`.

named! {
    /// A file format.
    pub enum Format {
        /// Org: headlines with TODO states, tags, planning lines and property drawers.
        Org => "org",
        /// Markdown (`CommonMark`) with front matter.
        Markdown => "markdown",
        /// JSON Lines: objects, or the entries of a transcript.
        JsonLines => "jsonl",
    }
}

impl Format {
    /// Returns the format of a file by its extension.
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let (stem, extension) = name.rsplit_once('.')?;
        match extension.to_ascii_lowercase().as_str() {
            "org" => Some(Self::Org),
            "md" | "markdown" | "mdown" | "mkd" | "mdx" | "mdc" | "txt" => Some(Self::Markdown),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            // Chat services write their exports under this name.
            "json" if stem.starts_with("conversations") => Some(Self::JsonLines),
            _ => None,
        }
    }

    /// Returns the format by the extension of the path, else by the first line that is typical of a format. The default
    /// is Markdown, because any text is valid Markdown.
    pub(crate) fn detect(path: &str, text: &str) -> Self {
        Self::from_path(path).unwrap_or_else(|| {
            text.lines()
                .take(DETECTION_LINES_MAX)
                .find_map(format_of_line)
                .unwrap_or(Self::Markdown)
        })
    }
}

/// The number of lines that are read to detect the format.
const DETECTION_LINES_MAX: usize = 200;

fn format_of_line(line: &str) -> Option<Format> {
    // A single star may be a Markdown list; two stars and a space are a headline.
    let is_headline = line.starts_with("**") && line.trim_start_matches('*').starts_with(' ');
    if line.starts_with("{\"") || line.starts_with("{ \"") {
        Some(Format::JsonLines)
    } else if line.starts_with("#+") || line.starts_with(":PROPERTIES:") || is_headline {
        Some(Format::Org)
    } else if line.starts_with("# ") || line.starts_with("## ") || line == "---" || line.starts_with("```") {
        Some(Format::Markdown)
    } else {
        None
    }
}
