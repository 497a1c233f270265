//! One object with its versions, its writers and what it is derived from.
//!
//! # Layer
//! Layer 9, part of serve.

use serde::{Deserialize, Serialize};

use super::objects::ObjectRow;
use super::reader::Reader;
use super::shown::{gist, object_named};
use super::{ROWS, ROWS_MAX};
use crate::answers::history::{HistoryLine, LogLine};
use crate::answers::objects::Listed;
use treering::View;
use treering::agent::Item;
use treering::{Error, ErrorKind, Id, Object, ObjectDigest, Origin, Result, Root};

/// The most characters of a content.
const CONTENT_CHARS_MAX: usize = 100_000;
/// The most parents above an object, and the most versions that it is derived from.
const ABOVE_MAX: usize = 32;
/// The most children of an answer.
const CHILDREN_MAX: usize = 100;

/// The object that a request asks for.
#[derive(Deserialize)]
pub(crate) struct ObjectAsked {
    id: String,
    at: Option<String>,
}

/// An object of a state.
#[derive(Serialize)]
pub(crate) struct ObjectPage {
    root: Root,
    seq: u64,
    #[serde(flatten)]
    listed: Listed,
    #[serde(flatten)]
    text: Text,
    /// The commit that wrote the version; `None` if it was thinned.
    writer: Option<LogLine>,
    /// Whether untrusted text entered the session of that commit.
    tainted: bool,
    /// The objects above, from the top down.
    parents: Vec<ObjectRow>,
    children: Vec<ObjectRow>,
    children_total: u64,
    sources: Vec<SourceVersion>,
    /// Whether the head has another version, or none.
    outdated: bool,
}

/// The text of a version.
#[derive(Serialize)]
struct Text {
    gist: String,
    flags: Vec<String>,
    content: Option<String>,
    /// Whether the content is longer.
    cut: bool,
    content_erased: bool,
}

impl Text {
    fn of(object: &Object) -> Self {
        let content = object.content();
        let end = content.and_then(|content| content.char_indices().nth(CONTENT_CHARS_MAX));
        let shown = content.map(|content| &content[..end.map_or(content.len(), |(end, _)| end)]);
        Self {
            gist: gist(object),
            flags: Item::from(object.clone()).flags(),
            content: shown.map(str::to_owned),
            cut: end.is_some(),
            content_erased: object.lacks_content(),
        }
    }
}

/// A version that an object is derived from.
#[derive(Serialize)]
struct SourceVersion {
    digest: ObjectDigest,
    #[serde(flatten)]
    version: Option<Version>,
}

/// A version of an object, in short.
#[derive(Serialize)]
struct Version {
    id: String,
    /// The class of the version.
    class: Origin,
    gist: String,
    flags: Vec<String>,
}

impl Version {
    fn of(object: &Object) -> Option<Self> {
        (!object.is_placeholder()).then(|| Self {
            id: object.id().to_string(),
            class: object.origin(),
            gist: gist(object),
            flags: Item::from(object.clone()).flags(),
        })
    }
}

/// Returns an object of a state.
///
/// # Errors
/// `NotFound` if the state has no such object; `Corrupt` or `Io` if it cannot be read.
pub(crate) fn object(reader: &Reader, asked: &ObjectAsked) -> Result<ObjectPage> {
    let (memory, view) = (reader.memory(), reader.state(asked.at.as_deref())?);
    let object = object_named(&view, &asked.id)?;
    let id = object.id().clone();
    let writer = view.writer_of(&id)?;
    let session = writer
        .as_ref()
        .and_then(|writer| writer.commit.session.as_deref());
    let (children, children_total) = view.first_children(&id, CHILDREN_MAX)?;
    let sources = object.derived_from().take(ABOVE_MAX).map(|digest| {
        let version = memory.version(digest)?.as_ref().and_then(Version::of);
        Ok(SourceVersion { digest, version })
    });
    let now = without_erased(memory.view().get(&id))?;
    Ok(ObjectPage {
        root: view.root(),
        seq: view.commit().commit.seq,
        text: Text::of(&object),
        tainted: session.map_or(Ok(false), |session| view.is_tainted(session))?,
        writer: writer
            .as_ref()
            .map(|writer| LogLine::of(memory, writer))
            .transpose()?,
        parents: parents(&view, &object)?,
        children: children
            .iter()
            .map(|id| ObjectRow::of_id(&view, id))
            .collect::<Result<_>>()?,
        children_total,
        sources: sources.collect::<Result<_>>()?,
        outdated: now.is_none_or(|now| now.digest() != object.digest()),
        listed: in_text(Listed::of(&view, object)?),
    })
}

/// Writes every attribute as text, because a browser rounds integers beyond 2^53.
fn in_text(mut listed: Listed) -> Listed {
    for value in listed.attributes.values_mut().filter(|value| !value.is_string()) {
        *value = value.to_string().into();
    }
    listed
}

fn without_erased(found: Result<Option<Object>>) -> Result<Option<Object>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found,
    }
}

/// Returns the objects above an object, from the top down.
fn parents(view: &View, object: &Object) -> Result<Vec<ObjectRow>> {
    let mut rows = Vec::new();
    let mut above = object.parent().map(Id::new).transpose()?;
    while let Some(id) = above.filter(|_| rows.len() < ABOVE_MAX) {
        let parent = without_erased(view.get(&id))?;
        rows.push(ObjectRow::of_id(view, &id)?);
        above = parent
            .and_then(|parent| parent.parent().map(Id::new))
            .transpose()?;
    }
    rows.reverse();
    Ok(rows)
}

/// The versions that a request asks for.
#[derive(Deserialize)]
pub(crate) struct VersionsAsked {
    id: String,
    #[serde(default)]
    start: usize,
    count: Option<usize>,
}

/// A page of the changes of an object.
#[derive(Serialize)]
pub(crate) struct Versions {
    rows: Vec<VersionRow>,
    more: bool,
}

/// A change of an object, with the version that it made.
#[derive(Serialize)]
struct VersionRow {
    #[serde(flatten)]
    line: HistoryLine,
    version: Option<Version>,
    /// The class before the change, if it differs.
    class_before: Option<Origin>,
    /// Whether this is the first change that history keeps.
    first: bool,
    /// Whether the head has this version.
    present: bool,
}

/// Returns a page of the changes of an object, newest first. The object may be removed.
///
/// # Errors
/// `NotFound` if no kept state has such an object; `Corrupt` or `Io` if a commit or version cannot be read.
pub(crate) fn versions(reader: &Reader, asked: &VersionsAsked) -> Result<Versions> {
    let (memory, head) = (reader.memory(), reader.head()?);
    let id = match object_named(&head, &asked.id) {
        Ok(object) => object.id().clone(),
        Err(_) => Id::new(&asked.id)?,
    };
    let present = without_erased(head.get(&id))?.map(|object| object.digest());
    let count = asked.count.unwrap_or(ROWS).clamp(1, ROWS_MAX);
    // One more shows the class before the oldest row.
    let entries = memory.changes_of(&id).skip(asked.start).take(count + 1);
    let entries = entries.collect::<Result<Vec<_>>>()?;
    if entries.is_empty() && asked.start == 0 {
        return Err(Error::not_found(format!("no kept commit has an object '{id}'")));
    }
    let objects = entries.iter().map(|entry| {
        let found = entry
            .digest
            .map(|digest| memory.version(digest))
            .transpose()?
            .flatten();
        Ok(found.as_ref().and_then(Version::of))
    });
    let mut versions = objects.collect::<Result<Vec<_>>>()?;
    let more = entries.len() > count;
    let classes: Vec<_> = versions
        .iter()
        .map(|version| version.as_ref().map(|version| version.class))
        .collect();
    let rows = entries.iter().take(count).enumerate().map(|(at, entry)| {
        let before = classes.get(at + 1).copied().flatten();
        Ok(VersionRow {
            line: HistoryLine::of(memory, entry)?,
            version: versions[at].take(),
            class_before: before.filter(|before| classes[at].is_some_and(|class| class != *before)),
            first: at + 1 == entries.len(),
            present: at + asked.start == 0 && entry.digest == present && present.is_some(),
        })
    });
    Ok(Versions {
        rows: rows.collect::<Result<_>>()?,
        more,
    })
}
