//! Tells people which files and parts of files `ingest` skipped, and which files were renamed.
//!
//! # Layer
//! Layer 10, part of cli.

use std::collections::BTreeMap;

use super::prelude::*;
use crate::answers::commits::{BadLine, Ingested, PassedOver, SkippedParts};
use treering::ingest::{Document, Format};

use super::left_out::LeftOut;

/// The number of bad lines of a document in an answer.
const BAD_LINES_MAX: usize = 20;
/// The number of documents in a note.
const NAMED_MAX: usize = 5;
/// The endings that always mean their format. The files of other formats are told when a folder is read.
const USUAL: [&str; 4] = ["org", "md", "markdown", "jsonl"];

/// Returns the format of a file below a folder. A file whose name is not UTF-8 gets a format too, so that reading it
/// fails with an error. Without a format, the file would be skipped silently.
pub(super) fn form_of(path: &Path) -> Option<Format> {
    Format::from_path(&path.to_string_lossy())
}

/// Returns the format of a file that the user named. Such a file may be the export of a chat service under any name.
pub(super) fn format_of(path: &Path) -> Option<Format> {
    let is_json = ending_of(path).eq_ignore_ascii_case("json");
    form_of(path).or_else(|| is_json.then_some(Format::JsonLines))
}

fn ending_of(path: &Path) -> String {
    let ending = path.extension().map(|ending| ending.to_string_lossy());
    ending.unwrap_or_default().into_owned()
}

/// What the folders of a call have beside the usual documents.
#[derive(Default)]
pub(super) struct Found {
    paths: LeftOut,
    /// The number of files that are left out, by their endings.
    endings: BTreeMap<String, u64>,
    /// The files with less usual endings, which are read as Markdown.
    as_markdown: Vec<String>,
}

impl Found {
    pub(super) fn add(&mut self, path: &str, why: &str) {
        self.paths.add(path, why);
    }

    /// Counts a file that is left out because of its ending.
    pub(super) fn add_ending(&mut self, path: &Path) {
        *self.endings.entry(ending_of(path).to_lowercase()).or_default() += 1;
    }

    /// Notes a file that is read.
    pub(super) fn add_read(&mut self, path: &Path) {
        let is_usual = USUAL.contains(&ending_of(path).to_lowercase().as_str());
        if !is_usual && form_of(path) == Some(Format::Markdown) {
            self.as_markdown.push(shown(path));
        }
    }

    pub(super) fn answer(&self) -> PassedOver {
        PassedOver {
            paths: self.paths.paths().to_vec(),
            endings: self.endings.clone(),
        }
    }

    /// Prints notes about the paths.
    pub(super) fn note(&self, context: &mut Context) {
        let hint = "--hidden reads hidden names, and a link is read if you name it";
        self.paths.note(context, hint);
        if !self.endings.is_empty() {
            let count = counted(self.endings.values().sum(), "file");
            let endings = self.endings.iter().map(|(ending, count)| match ending.as_str() {
                "" => format!("{count} without an ending"),
                ending => format!("{count} .{}", printable(ending)),
            });
            let endings = endings.collect::<Vec<_>>().join(", ");
            let text = format!(
                "passed over {count} with other endings: {endings}; --format reads a file that you name"
            );
            context.note("other_endings", text);
        }
        if !self.as_markdown.is_empty() {
            let count = counted(self.as_markdown.len() as u64, "file");
            context.note(
                "as_markdown",
                format!("read {count} as Markdown: {}", some_of(&self.as_markdown)),
            );
        }
    }
}

/// Joins the first texts of a list, and counts the others.
fn some_of(texts: &[String]) -> String {
    let (named, more) = texts.split_at(texts.len().min(NAMED_MAX));
    let more = match more.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}

/// Returns the documents of which a part was skipped.
pub(super) fn parts_skipped<'a>(documents: impl Iterator<Item = &'a Document>) -> Vec<SkippedParts> {
    let parts = documents.map(|document| {
        let skipped = document.skipped();
        let bad = skipped
            .bad
            .iter()
            .take(BAD_LINES_MAX)
            .map(|(line, message)| BadLine {
                line: *line,
                message: message.clone(),
            });
        SkippedParts {
            path: document.id().to_string(),
            bad: skipped.bad.len() as u64,
            bad_lines: bad.collect(),
            other: skipped.other.clone(),
            copies: skipped.copies,
            front_matter: skipped.front_matter.clone(),
        }
    });
    let has_some = |parts: &SkippedParts| {
        parts.bad + parts.copies > 0 || !parts.other.is_empty() || parts.front_matter.is_some()
    };
    parts.filter(has_some).collect()
}

/// Prints notes about skipped parts and renamed files.
pub(super) fn note(context: &mut Context, answer: &Ingested) {
    let parts = &answer.parts_skipped;
    let bad = parts.iter().flat_map(|one| {
        let path = &one.path;
        one.bad_lines
            .iter()
            .map(move |bad| format!("{path}:{}: {}", bad.line, bad.message))
    });
    let bad: Vec<String> = bad.collect();
    let count: u64 = parts.iter().map(|one| one.bad).sum();
    if count > 0 {
        let text = format!(
            "skipped {} that cannot be read: {}",
            counted(count, "line"),
            some_of(&bad)
        );
        context.note("bad_line", text);
    }
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, count) in parts.iter().flat_map(|one| &one.other) {
        *kinds.entry(kind).or_default() += count;
    }
    let copies: u64 = parts.iter().map(|one| one.copies).sum();
    if copies > 0 {
        kinds.insert("copies of messages", copies);
    }
    if !kinds.is_empty() {
        let lines = counted(kinds.values().sum(), "line");
        let kinds: Vec<_> = kinds
            .iter()
            .map(|(kind, count)| format!("{count} {}", printable(kind)))
            .collect();
        context.note(
            "other_line",
            format!("skipped {lines} without a message: {}", kinds.join(", ")),
        );
    }
    let kept = parts.iter().filter_map(|one| {
        let why = one.front_matter.as_ref()?;
        Some(format!("{} ({why})", one.path))
    });
    let kept: Vec<String> = kept.collect();
    if !kept.is_empty() {
        let count = counted(kept.len() as u64, "document");
        let text = format!(
            "kept the front matter of {count} as text, because it is not YAML: {}",
            some_of(&kept)
        );
        context.note("front_matter", text);
    }
    let renamed: Vec<String> = answer
        .renamed
        .iter()
        .map(|one| format!("{} is now {}", one.from, one.to))
        .collect();
    if !renamed.is_empty() {
        let count = counted(renamed.len() as u64, "renamed document");
        context.note("renamed", format!("recognised {count}: {}", some_of(&renamed)));
    }
}
