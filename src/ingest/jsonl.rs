//! Reads JSON Lines. Each line is a whole object, or a line of a transcript. A file may also be the export of a chat
//! service, which is one JSON value.
//!
//! # Layer
//! Layer 6, inside `ingest`.
//!
//! # Invariants
//! - JLN-1: a bad line of a transcript costs only itself, and is named. A bad line among objects refuses the file,
//!   because its object would be removed.

use serde_json::Value as Json;

use super::document::{Document, Skipped};
use super::format::Format;
use super::transcript::{Copies, Line, chats, read_line};
use super::{json, text};
use crate::error::{Error, Result};
use crate::object::{CONTENT_BYTES_MAX, Id};

/// Reads the bytes of a JSON Lines file. Skips blank lines.
pub(super) fn parse(path: Id, bytes: &[u8]) -> Result<Document> {
    let mut document = Document::new(path, Format::JsonLines);
    let bytes = text::without_mark(bytes);
    if let Some(export) = export_of(bytes) {
        chats::read(&mut document, &export)?;
        return Ok(document);
    }
    let (mut entries, mut refused) = (Copies::default(), None);
    for (line, written) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if written.trim_ascii().is_empty() {
            continue;
        }
        let locate = |error: Error| error.context(format!("{}:{line}", document.path));
        match read(
            line,
            written,
            &mut document.objects,
            &mut entries,
            &mut document.skipped,
        ) {
            Ok(()) => {}
            Err(BadLine::OfObject(error)) => return Err(locate(error)),
            Err(BadLine::Other(error)) => {
                document.skipped.bad(line, error.message());
                refused.get_or_insert(locate(error));
            }
        }
    }
    // JLN-1: only a transcript may have bad lines.
    let is_transcript = !entries.is_empty() || !document.skipped.other.is_empty();
    if let Some(refused) = refused.filter(|_| !document.objects.is_empty() || !is_transcript) {
        return Err(refused);
    }
    (document.sections, document.skipped.copies) = entries.finish();
    document.root.content = listing(&document)?;
    Ok(document)
}

/// The error of a line.
enum BadLine {
    /// The line states an object.
    OfObject(Error),
    Other(Error),
}

impl From<Error> for BadLine {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// Reads one line: an object, or a line of a transcript.
fn read(
    line: u64,
    written: &[u8],
    objects: &mut Vec<super::document::StatedObject>,
    entries: &mut Copies,
    skipped: &mut Skipped,
) -> Result<(), BadLine> {
    let written =
        std::str::from_utf8(written).map_err(|error| text::not_utf8(written, error.valid_up_to()))?;
    let is_object = |parsed: &Json| parsed.get("id").is_some() && parsed.get("kind").is_some();
    let parsed = match json::parse(written) {
        Ok(parsed) if is_object(&parsed) => {
            let object = json::object_from_json(parsed).map_err(BadLine::OfObject)?;
            objects.push((line, object));
            return Ok(());
        }
        Ok(parsed) => parsed,
        // A transcript is read as its program reads it. The bytes of an object must mean one value only.
        Err(error) => match json::mended(written) {
            Some(mended) if is_object(&mended) => return Err(BadLine::OfObject(error)),
            Some(mended) => mended,
            None => return Err(error.into()),
        },
    };
    match read_line(line, &parsed)? {
        Line::Entries(read) => read
            .into_iter()
            .for_each(|(entry, mark)| entries.add(entry, mark)),
        Line::Echo(entry) => entries.add_echo(entry),
        Line::Other(kind) => skipped.other(&kind),
    }
    Ok(())
}

/// Returns the export of a chat service, if the whole file is one.
fn export_of(bytes: &[u8]) -> Option<Json> {
    let start = bytes.trim_ascii_start();
    let first_line = start.split(|byte| *byte == b'\n').next()?;
    let is_list = start.starts_with(b"[");
    // A map on the first line alone is a line of a transcript, unless it is a conversation.
    let is_whole = start.starts_with(b"{")
        && (serde_json::from_slice::<serde::de::IgnoredAny>(first_line).is_err()
            || start.trim_ascii_end().len() == first_line.trim_ascii_end().len());
    if !is_list && !is_whole {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let export = json::parse(text).ok().or_else(|| json::mended(text))?;
    chats::is_export(&export).then_some(export)
}

/// Returns the ids of the objects that the file states, sorted and one on each line. This list is the content of the
/// file's document.
///
/// The objects may have any kind and parent, so only this list shows which objects belong to the file. Ingestion uses
/// it to remove an object whose line was removed.
fn listing(document: &Document) -> Result<Option<String>> {
    let objects = document.live_objects();
    let mut ids: Vec<&str> = objects.map(|(_, stated)| stated.object.id.as_str()).collect();
    ids.sort_unstable();
    let listing = ids.join("\n");
    if listing.len() > CONTENT_BYTES_MAX {
        return Err(Error::invalid(format!(
            "the ids of the objects in {} are too long: they have {} bytes",
            document.path,
            listing.len()
        ))
        .with_hint(format!(
            "split the file, so that the ids in each part have at most {CONTENT_BYTES_MAX} bytes, or use `put --jsonl`"
        )));
    }
    Ok((!ids.is_empty()).then_some(listing))
}
