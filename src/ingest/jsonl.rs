//! Reads JSON Lines. Each line is a whole object, or an entry of a transcript.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use super::document::Document;
use super::format::Format;
use super::{json, transcript};
use crate::error::{Error, Result};
use crate::object::{CONTENT_BYTES_MAX, Id};

/// Reads the text of a JSON Lines file. Skips blank lines.
pub(super) fn parse(path: Id, text: &str) -> Result<Document> {
    let mut document = Document::new(path, Format::JsonLines);
    for (line, written) in (1..).zip(text.split('\n')) {
        if written.trim().is_empty() {
            continue;
        }
        let locate = |error: Error| error.context(format!("{}:{line}", document.path));
        let parsed = json::parse(written).map_err(locate)?;
        if parsed.get("id").is_some() && parsed.get("kind").is_some() {
            let stated = json::object_from_json(parsed).map_err(locate)?;
            document.objects.push((line, stated));
        } else {
            let entry = transcript::entry(line, &parsed).map_err(locate)?;
            document.sections.push(entry);
        }
    }
    document.root.content = listing(&document)?;
    Ok(document)
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
