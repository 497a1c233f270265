//! A strict reader of rendered envelopes, which the tests use as an independent check of the renderer.
//!
//! The reader does not parse XML. It accepts only the lines of an envelope in their order, and refuses any other text.

use super::super::document::{self, Envelope, Shown, USE, moment};
use super::super::line::{content, line};
use super::super::render::Boundary;
use super::super::sections::Section;
use crate::object::Origin;
use treering_text::calendar::SECOND_MICROS;

/// The error for a text that is not an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParseError {
    /// The byte offset of the first difference between the text and an envelope.
    pub(super) at: usize,
    /// A description of the text that the reader expects there.
    pub(super) expected: &'static str,
}

/// The five special characters of XML, and their escapes.
const ESCAPES: [(char, &str); 5] = [
    ('&', "&amp;"),
    ('<', "&lt;"),
    ('>', "&gt;"),
    ('"', "&quot;"),
    ('\'', "&apos;"),
];

/// Reads an envelope as `render` writes it. The empty text is an envelope without records.
///
/// # Errors
/// Returns the first position at which the text differs from an envelope.
pub(super) fn parse(text: &str) -> Result<Envelope, ParseError> {
    if text.is_empty() {
        return Ok(Envelope::default());
    }
    let mut reader = Reader { text, at: 0 };
    let boundary = reader.opening()?;
    let mut shown = Vec::new();
    for section in Section::ALL {
        reader.section(section, &mut shown)?;
    }
    let envelope = reader.closing(boundary, shown)?;
    if reader.at < text.len() {
        return Err(reader.error("the end"));
    }
    Ok(envelope)
}

/// A text, and the position up to which it is read.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, expected: &'static str) -> ParseError {
        ParseError {
            at: self.at,
            expected,
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips `expected` if it is next in the text. Returns whether `expected` was next.
    fn skips(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn skip(&mut self, expected: &str, what: &'static str) -> Result<(), ParseError> {
        if self.skips(expected) {
            Ok(())
        } else {
            Err(self.error(what))
        }
    }

    /// Reads and unescapes text up to `end`, and skips `end`.
    fn escaped(&mut self, end: char) -> Result<String, ParseError> {
        let rest = self.rest();
        let length = rest.find(end).ok_or_else(|| self.error("text that ends"))?;
        let text = unescape(&rest[..length]).map_err(|at| ParseError {
            at: self.at + at,
            expected: "escaped",
        })?;
        self.at += length + end.len_utf8();
        Ok(text)
    }

    /// Reads the attribute `name` of at most `chars_max` characters. Returns `None` if another text is next.
    fn attribute(&mut self, name: &str, chars_max: usize) -> Result<Option<String>, ParseError> {
        let start = self.at;
        if !(self.skips(" ") && self.skips(name) && self.skips("=\"")) {
            self.at = start;
            return Ok(None);
        }
        let value = self.escaped('"')?;
        let is_shown = line(&value, chars_max, false) == value;
        if is_shown {
            Ok(Some(value))
        } else {
            Err(ParseError {
                at: start,
                expected: "an attribute in the form that the renderer writes",
            })
        }
    }

    /// Reads an attribute that the renderer omits if it is empty.
    fn optional(&mut self, name: &str, chars_max: usize) -> Result<String, ParseError> {
        let value = self.attribute(name, chars_max)?;
        if value.as_ref().is_some_and(String::is_empty) {
            return Err(self.error("a non-empty attribute before this offset"));
        }
        Ok(value.unwrap_or_default())
    }

    fn required(&mut self, name: &str, chars_max: usize, what: &'static str) -> Result<String, ParseError> {
        self.attribute(name, chars_max)?.ok_or_else(|| self.error(what))
    }

    fn boundary(&mut self) -> Result<Option<String>, ParseError> {
        let boundary = self.attribute("boundary", document::ID_CHARS_MAX)?;
        if boundary
            .as_ref()
            .is_some_and(|word| Boundary::new(word).is_none())
        {
            return Err(self.error("a boundary of 16 to 64 letters and digits before this offset"));
        }
        Ok(boundary)
    }

    /// Reads the first line.
    fn opening(&mut self) -> Result<Option<String>, ParseError> {
        self.skip("<memory", "`<memory`")?;
        self.skip(" version=\"2\"", "the version, 2")?;
        self.skip(&format!(" use=\"{USE}\""), "what it is used for")?;
        let boundary = self.boundary()?;
        self.skip(">\n", "the end of the first line")?;
        Ok(boundary)
    }

    /// Reads `section`. Reads nothing if the next text is not the tag of `section`.
    fn section(&mut self, section: Section, shown: &mut Vec<Shown>) -> Result<(), ParseError> {
        let [open, close] = document::section_tags(section);
        if !self.skips(&open) {
            return Ok(());
        }
        let mut records = 0;
        loop {
            shown.push(self.record(section)?);
            records += 1;
            if self.skips(&close) {
                return Ok(());
            }
            if records == section.records_max() {
                return Err(self.error("the end of the section, because it is full"));
            }
        }
    }

    /// Reads one record.
    fn record(&mut self, section: Section) -> Result<Shown, ParseError> {
        let item = section.layout().item;
        self.skip(&format!("<{item}"), "a record of its section")?;
        let id = self.required("id", document::ID_CHARS_MAX, "an id")?;
        let trust = self.trust(section)?;
        let title = self.optional("title", document::ID_CHARS_MAX)?;
        let flags = self.optional("flags", document::SOURCE_CHARS_MAX)?;
        let source = self.optional("source", document::SOURCE_CHARS_MAX)?;
        let time = self.moment("time")?;
        let updated = self.moment("updated")?;
        if !updated.is_empty() && updated == time {
            return Err(self.error("a time of change that differs from the time of creation"));
        }
        self.skip(">", "the end of a tag")?;
        let start = self.at;
        let text = self.escaped('<')?;
        if text.is_empty() || content(&text, section.chars_max(), section.has_lines()) != text {
            return Err(ParseError {
                at: start,
                expected: "a text as it is shown",
            });
        }
        self.skip(&format!("/{item}>\n"), "the end of a record")?;
        Ok(Shown {
            id,
            section,
            trust,
            title,
            flags,
            source,
            time,
            updated,
            text,
        })
    }

    /// Reads a class of origin that `section` may show.
    fn trust(&mut self, section: Section) -> Result<Origin, ParseError> {
        let name = self.required("trust", document::ID_CHARS_MAX, "a class of origin")?;
        let trust = Origin::from_name(&name);
        trust
            .filter(|trust| trust.is_trusted() || section == Section::Quarantine)
            .ok_or_else(|| self.error("a class of origin that this section may show"))
    }

    fn moment(&mut self, name: &str) -> Result<String, ParseError> {
        let moment = self.optional(name, document::ID_CHARS_MAX)?;
        let is_read = moment.is_empty() || is_moment(&moment);
        if is_read {
            Ok(moment)
        } else {
            Err(self.error("a valid moment"))
        }
    }

    /// Reads a number, and refuses any form that the renderer does not write.
    fn number(&mut self, name: &str) -> Result<usize, ParseError> {
        let digits = self.required(name, document::ID_CHARS_MAX, "a count")?;
        let number = digits
            .parse()
            .ok()
            .filter(|number: &usize| number.to_string() == digits);
        number.ok_or_else(|| self.error("a number before this offset"))
    }

    /// Reads the text after the sections.
    fn closing(&mut self, boundary: Option<String>, shown: Vec<Shown>) -> Result<Envelope, ParseError> {
        self.skip("<state", "the next section in order, or the element `state`")?;
        if self.boundary()? != boundary {
            return Err(self.error("the boundary of the first line"));
        }
        let root = self.required("root", document::ROOT_CHARS_MAX, "a root")?;
        if self.number("shown")? != shown.len() || shown.is_empty() {
            return Err(self.error("the number of shown records"));
        }
        let skipped = self.number("skipped")?;
        self.skip("/>\n</memory>", "the end of the envelope")?;
        Ok(Envelope {
            boundary,
            root,
            shown,
            skipped,
        })
    }
}

/// Decodes the escapes of `escaped`.
///
/// # Errors
/// Returns the byte offset of a special character without an escape, or of an `&` that begins no known escape.
pub(super) fn unescape(escaped: &str) -> Result<String, usize> {
    let mut text = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some(at) = rest.find(ESCAPES.map(|(special, _)| special)) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = ESCAPES.into_iter().find(|(_, escape)| rest.starts_with(escape));
        let Some((char, escape)) = known else {
            return Err(escaped.len() - rest.len());
        };
        text.push(char);
        rest = &rest[escape.len()..];
    }
    text.push_str(rest);
    Ok(text)
}

/// Checks whether `text` has the form that [`moment`] writes.
fn is_moment(text: &str) -> bool {
    const FORM: &[u8] = b"0000-00-00T00:00:00Z";
    let fits = |(byte, form): (u8, &u8)| {
        if *form == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == *form
        }
    };
    text.len() == FORM.len() && text.bytes().zip(FORM).all(fits)
}

#[test]
fn moments_have_four_digits_of_a_year() {
    let table = [
        (-1, "1969-12-31T23:59:59Z"),
        (1_787_306_400 * SECOND_MICROS + 999_999, "2026-08-21T10:00:00Z"),
        (i64::MAX, "9999-12-31T23:59:59Z"),
        (i64::MIN, "0000-01-01T00:00:00Z"),
    ];
    for (time_us, expected) in table {
        assert_eq!(moment(time_us), expected);
        assert!(is_moment(expected));
    }
}
