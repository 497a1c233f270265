//! The objects that a file states, before the plan compares them with the memory.
//!
//! Org and Markdown files are a tree of headings, and transcripts are a list of entries. Both consist of [`Section`]s,
//! in a flat list in the order of the file. Each section has the index of its parent, so nested sections need no
//! recursion. A JSON Lines file may also state whole objects.
//!
//! # Layer
//! Layer 6, inside `ingest`.
//!
//! # Invariants
//! - ING-2: a section comes after its parent in [`Document::sections`].

use std::collections::BTreeMap;

use super::format::Format;
use super::json::{Fields, ObjectLine};
use crate::digest::to_hex;
use crate::error::Error;
use crate::object::{Attributes, Id, Kind, Time, Value};

/// The kind of the object for a whole file.
pub(super) const DOCUMENT_KIND: &str = SectionKind::Document.name();
/// The kind of a heading.
pub(crate) const HEADING_KIND: &str = SectionKind::Heading.name();
/// The kind of a turn of a transcript.
pub(crate) const ENTRY_KIND: &str = SectionKind::Entry.name();

named! {
    /// The kind of a section.
    pub(super) enum SectionKind {
        /// A whole file.
        Document => "document",
        /// A heading of an Org or Markdown file.
        Heading => "heading",
        /// A turn of a transcript.
        Entry => "entry",
    }
}

/// A unit of a file: the whole file with the text before its first heading, a heading with the text up to the next
/// heading, or an entry of a transcript.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) kind: SectionKind,
    /// The index of the parent in the sections of the document; `None` if the parent is the document itself.
    pub(super) parent: Option<usize>,
    /// The number of the section's first line, counted from 1, for messages; 0 for the whole file.
    pub(super) line: u64,
    /// The id, if the file states an id for this section.
    pub(super) id: Option<Id>,
    pub(super) attributes: Attributes,
    pub(super) content: Option<String>,
    pub(super) event_time: Option<Time>,
    /// The other fields that the file states.
    pub(super) stated: Fields,
}

impl Section {
    /// Returns a section without a parent, an id and a text.
    pub(super) fn new(kind: SectionKind, line: u64) -> Self {
        Self {
            kind,
            parent: None,
            line,
            id: None,
            attributes: Attributes::new(),
            content: None,
            event_time: None,
            stated: Fields::default(),
        }
    }

    /// Returns the kind of the section's object.
    pub(super) fn kind_name(&self) -> &str {
        self.stated.kind.as_ref().map_or(self.kind.name(), Kind::as_str)
    }

    /// Returns the title of a heading; empty for an entry.
    pub(super) fn title(&self) -> &str {
        title_of(&self.attributes)
    }
}

/// Returns the text of the attribute `title`, or an empty text.
pub(super) fn title_of(attributes: &Attributes) -> &str {
    attributes
        .get("title")
        .and_then(Value::as_text)
        .unwrap_or_default()
}

/// The texts of one object of a document.
pub(crate) struct Part<'a> {
    /// The number of the first line, counted from 1; 0 for the whole file.
    pub(crate) line: u64,
    pub(crate) attributes: &'a mut Attributes,
    pub(crate) content: &'a mut Option<String>,
}

/// The parts of a file that ingestion skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The lines that cannot be read, with the reasons.
    pub bad: Vec<(u64, String)>,
    /// The number of lines that are no messages, by their type.
    pub other: BTreeMap<String, u64>,
    /// The number of copies of messages.
    pub copies: u64,
    /// The reason why the front matter of a note is kept as text.
    pub front_matter: Option<String>,
}

impl Skipped {
    /// Notes a line that cannot be read.
    pub(super) fn bad(&mut self, line: u64, why: &str) {
        self.bad.push((line, why.to_owned()));
    }

    /// Counts a line of another type. A file may invent types, so only short names and few of them are kept.
    pub(super) fn other(&mut self, kind: &str) {
        const KINDS_MAX: usize = 64;
        let is_name = kind.len() <= 40 && !kind.contains(char::is_control);
        let is_kept = is_name && (self.other.len() < KINDS_MAX || self.other.contains_key(kind));
        let kind = if is_kept { kind } else { "other" };
        *self.other.entry(kind.to_owned()).or_default() += 1;
    }
}

/// The line number and the fields of an object in a JSON Lines file.
pub(super) type StatedObject = (u64, ObjectLine);

/// A file, read as sections or objects. [`Document::read`] makes it, and `plan` compares it with the memory.
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) path: Id,
    pub(super) format: Format,
    /// Whether the file is an exported list of objects. If so, ingestion makes no object for the file itself.
    pub(super) is_list: bool,
    /// The section of the whole file. This section always has the id and the kind of a document.
    pub(super) root: Section,
    pub(super) sections: Vec<Section>,
    pub(super) objects: Vec<StatedObject>,
    pub(super) skipped: Skipped,
    /// Whether the title of the file is the title of its first heading.
    pub(super) is_titled_by_heading: bool,
    /// The digest of the bytes of the file.
    pub(super) bytes: [u8; 32],
}

impl Document {
    /// Makes a document that has only a path and a format.
    pub(super) fn new(path: Id, format: Format) -> Self {
        let mut root = Section::new(SectionKind::Document, 0);
        root.attributes.insert("format", format.name());
        Self {
            path,
            format,
            is_list: false,
            root,
            sections: Vec::new(),
            objects: Vec::new(),
            skipped: Skipped::default(),
            is_titled_by_heading: false,
            bytes: [0; 32],
        }
    }

    /// Returns the id of the document. The id is the path of the file as given, with `/` between the parts, and without
    /// `./` and `x/../`.
    pub fn id(&self) -> &Id {
        &self.path
    }

    /// Returns the format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the attributes of the file without its title, and its content, if the title is only that of the first
    /// heading.
    #[cfg(feature = "agent")]
    pub(crate) fn without_title_of_heading(&self) -> Option<(Attributes, Option<String>)> {
        let mut attributes = self.root.attributes.clone();
        drop(attributes.remove("title"));
        self.is_titled_by_heading
            .then(|| (attributes, self.root.content.clone()))
    }

    /// Gives the document the title of its first heading, if it has no title of its own.
    pub(crate) fn put_title_of_heading(&mut self) {
        if self.is_titled_by_heading
            && let Some(first) = self.sections.first()
        {
            let title = first.title().to_owned();
            drop(self.root.attributes.insert("title", title));
        }
    }

    /// Returns a digest of the file and of what is read of it, and the number of objects of the document. Returns `None`
    /// if the document has objects elsewhere.
    #[doc(hidden)]
    pub fn fingerprint(&self) -> Option<(String, u64)> {
        let objects = 1 + self.sections.len() as u64;
        let has_others = self.is_list || !self.objects.is_empty();
        (!has_others).then(|| {
            (
                format!("{} {objects} {}", to_hex(&self.bytes), self.format.name()),
                objects,
            )
        })
    }

    /// Returns the parts of the file that ingestion skipped.
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Returns the document, its sections and its objects, to change their texts.
    pub(crate) fn parts_mut(&mut self) -> Vec<Part<'_>> {
        let sections = std::iter::once(&mut self.root).chain(&mut self.sections);
        let sections = sections.map(|section| Part {
            line: section.line,
            attributes: &mut section.attributes,
            content: &mut section.content,
        });
        let objects = self.objects.iter_mut().map(|(line, stated)| Part {
            line: *line,
            attributes: &mut stated.object.attributes,
            content: &mut stated.object.content,
        });
        sections.chain(objects).collect()
    }

    /// Adds the path and the line to the error, and the id of the document to the error's ids. The line is 0 for the
    /// whole file.
    pub(super) fn locate(&self, line: u64, error: Error) -> Error {
        let mut ids = error.ids().to_vec();
        ids.push(self.path.to_string());
        let error = match line {
            0 => error.context(&self.path),
            line => error.context(format_args!("{}:{line}", self.path)),
        };
        error.with_ids(ids)
    }

    /// Returns the explicit ids in the file, with their lines. Omits objects that are only for history.
    pub(super) fn stated_ids(&self) -> impl Iterator<Item = (&Id, u64)> {
        let sections = self.sections.iter();
        let sections = sections.filter_map(|section| Some((section.id.as_ref()?, section.line)));
        sections.chain(
            self.live_objects()
                .map(|(line, stated)| (&stated.object.id, *line)),
        )
    }

    /// Returns the objects of a JSON Lines file, except objects that are only for history.
    pub(super) fn live_objects(&self) -> impl Iterator<Item = &StatedObject> {
        self.objects.iter().filter(|(_, stated)| !stated.past)
    }
}
