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

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::format::Format;
use super::json::ObjectLine;
use super::statement::{Rest, Statement};
use super::text;
use super::{jsonl, markdown, org};
use crate::error::{Error, Result};
use crate::object::{Attributes, Id, Kind, Time, Value};

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
    /// The kind of its object, where it is not that of a section.
    pub(super) stated_kind: Option<Kind>,
    pub(super) rest: Rest,
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
    /// A heading, before its place in the tree is known.
    pub(super) fn heading(line: u64) -> Self {
        Self {
            kind: SectionKind::Heading,
            stated_kind: None,
            rest: Rest::default(),
            parent: None,
            line,
            id: None,
            attributes: Attributes::new(),
            content: None,
            event_time: None,
        }
    }

    /// Takes in what the file states of it.
    ///
    /// # Errors
    /// `InvalidInput`: another kind than a heading without an id.
    fn state(&mut self, statement: &Statement) -> Result<()> {
        if statement.id.is_some() {
            self.id.clone_from(&statement.id);
        }
        let kind = statement.kind.as_ref();
        self.stated_kind = kind.filter(|kind| kind.as_str() != self.kind.name()).cloned();
        self.rest = statement.rest.clone();
        match &self.stated_kind {
            Some(kind) if self.id.is_none() => {
                Err(Error::invalid(format!("an object of kind `{kind}` needs an id"))
                    .with_hint("state one, as exports do"))
            }
            _ => Ok(()),
        }
    }

    /// The kind of its object.
    pub(super) fn kind_name(&self) -> &str {
        self.stated_kind.as_ref().map_or(self.kind.name(), Kind::as_str)
    }

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

/// A place in a file, for messages.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    document: &'a Id,
    /// Counted from 1; 0 is the whole file.
    line: u64,
}

impl Place<'_> {
    /// The error about the object `id`, told with its place and the document.
    pub(super) fn name(self, id: &Id, error: Error) -> Error {
        self.tell(error)
            .with_ids(vec![id.to_string(), self.document.to_string()])
    }

    /// The error, told with its place, and with the document among its ids.
    pub(super) fn add_to(self, error: Error) -> Error {
        let mut ids = error.ids().to_vec();
        ids.push(self.document.to_string());
        self.tell(error).with_ids(ids)
    }

    fn tell(self, error: Error) -> Error {
        match self.line {
            0 => error.context(self.document),
            line => error.context(format_args!("{}:{line}", self.document)),
        }
    }
}

/// A file read into the objects that it stands for. Made by [`Document::read`], used by
/// [`plan`](super::plan()).
#[derive(Clone, Debug)]
pub struct Document {
    pub(super) path: Id,
    pub(super) format: Format,
    /// Whether the file is no document, but a list of objects that stand for themselves.
    pub(super) is_list: bool,
    pub(super) rest: Rest,
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

    /// A document of nothing but its attributes.
    pub(super) fn new(path: Id, format: Format, attributes: Attributes) -> Self {
        Self {
            path,
            format,
            is_list: false,
            rest: Rest::default(),
            attributes,
            content: None,
            sections: Vec::new(),
            objects: Vec::new(),
        }
    }

    /// Takes in the text before the first heading and what is stated of the document.
    pub(super) fn state(
        &mut self,
        statement: Statement,
        content: Option<String>,
        unquote: fn(&str) -> String,
    ) {
        self.content = content;
        if statement.quoted {
            self.content = self.content.take().map(|text| unquote(&text));
        }
        self.rest = statement.rest.clone();
        statement.correct(&mut self.attributes, &mut self.content);
    }

    /// Refuses what a list of objects must not have: anything of its own, and objects that would be known by nothing.
    pub(super) fn check(&self) -> Result<()> {
        if !self.is_list {
            return Ok(());
        }
        if self.content.is_some() || self.attributes.len() > 1 {
            return Err(text::at(
                &self.path,
                1,
                "a list of objects has a text or attributes of its own",
            )
            .with_hint("put them below a heading"));
        }
        match self
            .sections
            .iter()
            .find(|section| section.parent.is_none() && section.id.is_none())
        {
            None => Ok(()),
            Some(section) => Err(text::at(
                &self.path,
                section.line,
                "a heading at the top of a list of objects has no id",
            )
            .with_hint("state an id below it")),
        }
    }

    /// The id of the object that stands for the file: its path as given, with `/` between the parts and
    /// without `./` and `x/../`.
    pub fn id(&self) -> &Id {
        &self.path
    }

    /// A line of it, 0 for the whole.
    pub(super) fn place(&self, line: u64) -> Place<'_> {
        let document = &self.path;
        Place { document, line }
    }

    /// Where the file states the id, if it does.
    pub(super) fn place_of(&self, id: &str) -> Option<Place<'_>> {
        let mut sections = self.sections.iter();
        let mut objects = self.objects.iter();
        let section = sections.find(|section| section.id.as_ref().is_some_and(|own| own.as_str() == id));
        let line = match section {
            Some(section) => section.line,
            None => {
                objects
                    .find(|object| object.stated.object.id.as_str() == id)?
                    .line
            }
        };
        Some(self.place(line))
    }

    /// The format that it was read as.
    pub fn format(&self) -> Format {
        self.format
    }
}

/// The path that a file is known by as a document: relative to the folder `current` if it is below that, else
/// absolute. Which of its forms is given makes no difference; the disk is not asked, so links count as written.
pub fn document_path(current: &str, path: &str) -> String {
    let whole = if slashed(path).starts_with('/') {
        normal_path(path)
    } else {
        normal_path(&format!("{current}/{path}"))
    };
    let current = normal_path(current);
    match whole.strip_prefix(current.trim_end_matches('/')) {
        Some("") => String::new(),
        Some(below) if below.starts_with('/') => below[1..].to_owned(),
        _ => whole,
    }
}

fn slashed(path: &str) -> Cow<'_, str> {
    if cfg!(windows) {
        Cow::Owned(path.replace('\\', "/"))
    } else {
        Cow::Borrowed(path)
    }
}

/// A path with `/` between the parts, without `./`, and without `../` as far as there is a part before it.
fn normal_path(path: &str) -> String {
    let path = slashed(path);
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if absolute { "/" } else { "" }, parts.join("/"))
}

/// The id of the document at `path`.
fn document_id(path: &str) -> Result<Id> {
    let normal: String = normal_path(path).nfc().collect();
    if matches!(normal.rsplit('/').next(), None | Some("" | "..")) {
        return Err(Error::invalid(format!(
            "`{}` does not name a file",
            path.escape_debug()
        )));
    }
    Id::new(&normal).map_err(|error| {
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
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS: usize = 60;
    let mut start = String::new();
    for character in text.chars().take(CHARACTERS) {
        match character {
            '"' | '\'' | '\\' => start.push(character),
            other => start.extend(other.escape_debug()),
        }
    }
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
    /// Where stated ids stand.
    places: HashMap<Id, usize>,
}

impl Outline {
    /// Adds the next heading of the file, which has `level`, with what is stated of it.
    ///
    /// The level is stored only where it does not follow from the depth: a heading is one level below its
    /// parent unless it says otherwise.
    ///
    /// # Errors
    /// `InvalidInput`: a parent is stated that does not stand above, or another kind than a heading without an id.
    pub(super) fn push(&mut self, level: usize, mut heading: Section, statement: Statement) -> Result<()> {
        heading.state(&statement)?;
        let place = self.sections.len();
        if let Some(id) = &heading.id {
            self.places.entry(id.clone()).or_insert(place);
        }
        if let Some(under) = &statement.parent {
            let parent = self.places.get(under).filter(|parent| **parent < place);
            heading.parent = Some(*parent.ok_or_else(|| {
                Error::invalid(format!("the parent `{under}` does not stand above in this file"))
            })?);
        } else {
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
            self.open.push((level, place));
        }
        statement.correct(&mut heading.attributes, &mut heading.content);
        self.sections.push(heading);
        Ok(())
    }

    pub(super) fn finish(self) -> Vec<Section> {
        self.sections
    }
}
