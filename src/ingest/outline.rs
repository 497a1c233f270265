//! Builds a document from its headings and their levels.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::HashMap;

use super::document::{Document, HEADING_KIND, Section};
use super::json::Fields;
use super::text;
use crate::error::Result;
use crate::object::Id;

/// The position of a heading in the text of a file.
pub(super) struct Found {
    pub(super) level: usize,
    pub(super) line: u64,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A document whose headings are added in the order of the file.
pub(super) struct Outline {
    pub(super) document: Document,
    /// Removes the quoting of the format from a text: the fence of a Markdown code block, or the commas of Org.
    unquote: fn(&str) -> String,
    /// The level and the index of the last heading and its ancestors, the outermost first.
    open: Vec<(usize, usize)>,
    /// The indexes of the headings that state an id.
    places: HashMap<Id, usize>,
}

impl Outline {
    /// Makes an outline from the text before the first heading, and from the fields that the file states for the
    /// document.
    pub(super) fn new(
        mut document: Document,
        stated: Fields,
        preamble: &str,
        unquote: fn(&str) -> String,
    ) -> Self {
        let stated = Fields { kind: None, ..stated };
        fill(&mut document.root, preamble, stated, unquote);
        Self {
            document,
            unquote,
            open: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// Adds the next heading of the file at `level`, with the text below it and its stated fields.
    ///
    /// The level is stored only if it does not follow from the depth: normally, a heading is one level below its
    /// parent.
    ///
    /// # Errors
    /// `InvalidInput` if the stated parent is not further up in the file, or if a heading that states another kind has
    /// no id.
    pub(super) fn push(
        &mut self,
        level: usize,
        mut heading: Section,
        body: &str,
        stated: Fields,
    ) -> Result<()> {
        let refused = |message: String| text::at(&self.document.path, heading.line, message);
        let id = stated.id.as_ref().or(heading.id.as_ref()).cloned();
        if let Some(kind) = &stated.kind
            && kind.as_str() != HEADING_KIND
            && id.is_none()
        {
            let error = refused(format!("an object of kind `{kind}` needs an id"));
            return Err(error
                .with_hint("write an id below the heading: `:ID:` in Org, `<!-- id: ... -->` in Markdown"));
        }
        let place = self.document.sections.len();
        heading.parent = if let Some(under) = &stated.parent {
            let parent = self.places.get(under).copied();
            let missing = || format!("the parent `{under}` is not a heading further up in this file");
            Some(parent.ok_or_else(|| refused(missing()))?)
        } else {
            while self.open.last().is_some_and(|(above, _)| *above >= level) {
                self.open.pop();
            }
            let parent = self.open.last().copied();
            if level != parent.map_or(0, |(above, _)| above) + 1 {
                let level = i64::try_from(level).expect("a level is at most the file's length");
                heading.attributes.insert("level", level);
            }
            self.open.push((level, place));
            parent.map(|(_, place)| place)
        };
        if let Some(id) = &id {
            self.places.entry(id.clone()).or_insert(place);
        }
        heading.id = id;
        fill(&mut heading, body, stated, self.unquote);
        self.document.sections.push(heading);
        Ok(())
    }

    /// Returns the whole document.
    ///
    /// # Errors
    /// `InvalidInput` for a list of objects that has attributes or a text before its first heading, or a top heading
    /// without an id.
    pub(super) fn finish(self) -> Result<Document> {
        let document = self.document;
        if !document.is_list {
            return Ok(document);
        }
        let refused =
            |line, message, hint: &str| Err(text::at(&document.path, line, message).with_hint(hint));
        if document.root.content.is_some() || document.root.attributes.len() > 1 {
            let message = "a list of objects has a text or attributes before its first heading";
            return refused(1, message, "move the text and attributes below a heading");
        }
        let mut top = document
            .sections
            .iter()
            .filter(|section| section.parent.is_none());
        if let Some(section) = top.find(|section| section.id.is_none()) {
            let message = "a heading at the top of a list of objects has no id";
            return refused(section.line, message, "write an id below the heading");
        }
        Ok(document)
    }
}

/// Sets the text of a section, and the fields that the file states for it.
fn fill(section: &mut Section, text: &str, stated: Fields, unquote: fn(&str) -> String) {
    section.content = text::body(text);
    if stated.quoted {
        section.content = section.content.take().map(|text| unquote(&text));
    }
    stated.correct(&mut section.attributes, &mut section.content);
    section.stated = stated;
}
