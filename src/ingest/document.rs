//! A file read into the objects that it stands for, before they are compared with a memory.
//!
//! Org and Markdown files are a tree of headings, transcripts a list of entries; both are [`Section`]s,
//! kept flat in the order of the file with the place of their parent, so that no depth needs recursion. A
//! JSON Lines file may also state whole objects.
//!
//! # Layer
//! L6, inside `ingest`.
//!
//! # Invariants
//! - ING-2: a section stands after its parent in [`Document::sections`].

use super::format::Format;
use super::json::ObjectLine;
use super::text;
use super::{jsonl, markdown, org};
use crate::error::{Error, Result};
use crate::object::{Attributes, Id, Time, Value};
use unicode_normalization::UnicodeNormalization;

/// The kind of the object that stands for a file.
pub const DOCUMENT_KIND: &str = "document";
/// The kind of a heading of an Org or Markdown file.
pub const HEADING_KIND: &str = "heading";
/// The kind of a turn of a transcript.
pub const ENTRY_KIND: &str = "entry";

/// What a section is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    Heading,
    Entry,
}

impl SectionKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Heading => HEADING_KIND,
            Self::Entry => ENTRY_KIND,
        }
    }
}

/// A heading with the text up to the next one, or an entry of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) kind: SectionKind,
    /// Place of the parent in the sections of the document; `None`: the document itself.
    pub(super) parent: Option<usize>,
    /// Where it starts, counted from 1, for messages only.
    pub(super) line: u64,
    /// The id that the file states.
    pub(super) id: Option<Id>,
    pub(super) attributes: Attributes,
    pub(super) content: Option<String>,
    pub(super) event_time: Option<Time>,
}

impl Section {
    /// The title of a heading; an entry has none.
    pub(super) fn title(&self) -> &str {
        title_of(&self.attributes)
    }
}

/// The text of the attribute `title`, or nothing.
pub(super) fn title_of(attributes: &Attributes) -> &str {
    attributes
        .get("title")
        .and_then(Value::as_text)
        .unwrap_or_default()
}

/// An object that a JSON Lines file states in full.
#[derive(Clone, Debug)]
pub(super) struct StatedObject {
    pub(super) line: u64,
    pub(super) stated: ObjectLine,
}

/// A file read into the objects that it stands for. Made by [`Document::read`], used by
/// [`plan`](super::plan()).
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) path: Id,
    pub(super) format: Format,
    pub(super) attributes: Attributes,
    pub(super) content: Option<String>,
    pub(super) sections: Vec<Section>,
    pub(super) objects: Vec<StatedObject>,
}

impl Document {
    /// Reads the bytes of the file that is known as `path`, in `format` or the one that
    /// [`Format::detect`] finds.
    ///
    /// # Errors
    /// `InvalidInput` with path and line: bytes that are not UTF-8, a path or id that cannot be an id, the
    /// same id twice in the file, front matter that is not YAML, a line that is not JSON or not of a known form.
    pub fn read(path: &str, bytes: &[u8], format: Option<Format>) -> Result<Self> {
        let id = document_id(path)?;
        let text = text::decode(id.as_str(), bytes)?;
        match format.unwrap_or_else(|| Format::detect(path, &text)) {
            Format::Org => org::parse(id, &text),
            Format::Markdown => markdown::parse(id, &text),
            Format::JsonLines => jsonl::parse(id, &text),
        }
    }

    /// The id of the object that stands for the file: its path as given, with `/` between the parts and
    /// without `./`.
    pub fn id(&self) -> &Id {
        &self.path
    }

    /// The format that it was read as.
    pub fn format(&self) -> Format {
        self.format
    }
}

/// The id of the document at `path`.
fn document_id(path: &str) -> Result<Id> {
    let slashed = if cfg!(windows) {
        path.replace('\\', "/")
    } else {
        path.to_owned()
    };
    let absolute = slashed.starts_with('/');
    let parts: Vec<&str> = slashed
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    if parts.is_empty() {
        return Err(Error::invalid(format!(
            "`{}` does not name a file",
            path.escape_debug()
        )));
    }
    let joined: String = parts.join("/").nfc().collect();
    Id::new(&if absolute { format!("/{joined}") } else { joined }).map_err(|error| {
        error
            .context(format!(
                "the path `{}` cannot be the id of a document",
                shown(path)
            ))
            .with_hint(
                "ingest it from a folder nearer to it, or rename it: a path is an id of at most 256 bytes",
            )
    })
}

/// The start of a text that may be very long or hold control characters, for a message.
pub(super) fn shown(text: &str) -> String {
    const CHARACTERS: usize = 60;
    let mut start: String = text
        .chars()
        .take(CHARACTERS)
        .flat_map(char::escape_debug)
        .collect();
    if text.chars().nth(CHARACTERS).is_some() {
        start.push_str("...");
    }
    start
}

/// Builds a tree of headings from their levels.
#[derive(Debug, Default)]
pub(super) struct Outline {
    sections: Vec<Section>,
    /// Level and place of the headings that are still open, outermost first.
    open: Vec<(usize, usize)>,
}

impl Outline {
    /// Adds the next heading of the file, which has `level`.
    ///
    /// The level is stored only where it does not follow from the depth: a heading is one level below its
    /// parent unless it says otherwise.
    pub(super) fn push(&mut self, level: usize, mut heading: Section) {
        while self.open.last().is_some_and(|(above, _)| *above >= level) {
            self.open.pop();
        }
        let parent = self.open.last();
        if level != parent.map_or(0, |(above, _)| *above) + 1 {
            heading.attributes.insert(
                "level",
                i64::try_from(level).expect("a level is at most the file's length"),
            );
        }
        heading.parent = parent.map(|(_, place)| *place);
        self.open.push((level, self.sections.len()));
        self.sections.push(heading);
    }

    pub(super) fn finish(self) -> Vec<Section> {
        self.sections
    }
}
