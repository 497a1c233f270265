//! Citations. A citation is read from typed text, an attribute or a file.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::object::Value;

/// Matches a citation. Digits after a colon are a line number only if a colon or the end follows. Otherwise the digits
/// belong to the file, as the port of an address does.
static FORM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new("(?s)^(?<file>.*?)(?::(?<line>[0-9]+)(?::(?<note>.*))?)?$").expect("the regex is valid")
});

/// A reference to a place in a file that supports a statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The path or address of the file.
    pub file: String,
    /// The number of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// A comment on the citation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Citation {
    /// Parses `FILE`, `FILE:LINE` or `FILE:LINE:NOTE`.
    ///
    /// # Errors
    /// `InvalidInput`: the file is missing, or the line is 0.
    #[doc(hidden)]
    pub fn from_text(text: &str) -> Result<Self> {
        let parts = FORM.captures(text);
        let part = |name: &str| Some(parts.as_ref()?.name(name)?.as_str());
        let file = part("file").unwrap_or_default();
        let line = part("line").map(|line| {
            line.parse()
                .map_err(|_| Error::invalid(format!("the line number {line} of a citation is too large")))
        });
        let line = line.transpose()?;
        if file.is_empty() || line == Some(0) {
            return Err(Error::invalid(
                "a citation must be FILE, FILE:LINE or FILE:LINE:NOTE, with lines from 1",
            ));
        }
        Ok(Self {
            file: file.to_owned(),
            line,
            note: part("note").filter(|note| !note.is_empty()).map(str::to_owned),
        })
    }

    /// Reads a citation from the value of an attribute. Returns `None` for any other value.
    pub(in crate::agent) fn of(value: &Value) -> Option<Self> {
        let Value::Map(map) = value else { return None };
        let line = map.get("line").and_then(Value::as_integer);
        Some(Self {
            file: map.get("file")?.as_text()?.to_owned(),
            line: line.and_then(|line| u64::try_from(line).ok()),
            note: map.get("note").and_then(Value::as_text).map(str::to_owned),
        })
    }
}

/// Returns the value of the attribute `citations`, or `None` for an empty list, because then no attribute is stored.
pub(in crate::agent) fn citations_value(citations: Vec<Citation>) -> Option<Value> {
    let list: Vec<Value> = citations.into_iter().map(citation_value).collect();
    (!list.is_empty()).then_some(Value::List(list))
}

fn citation_value(citation: Citation) -> Value {
    let mut map = BTreeMap::from([("file".to_owned(), Value::Text(citation.file))]);
    if let Some(line) = citation.line.and_then(|line| i64::try_from(line).ok()) {
        map.insert("line".to_owned(), Value::Integer(line));
    }
    if let Some(note) = citation.note {
        map.insert("note".to_owned(), Value::Text(note));
    }
    Value::Map(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_citation_is_read_from_text() {
        let read = |text: &str| {
            let citation = Citation::from_text(text).unwrap();
            (citation.file, citation.line, citation.note)
        };
        let file = |name: &str| name.to_owned();
        assert_eq!(read("a.rs"), (file("a.rs"), None, None));
        assert_eq!(read("a.rs:7"), (file("a.rs"), Some(7), None));
        assert_eq!(
            read("a.rs:7:here: it is"),
            (file("a.rs"), Some(7), Some(file("here: it is")))
        );
        assert_eq!(read("http://a:80/b:3"), (file("http://a:80/b"), Some(3), None));
        assert_eq!(read("C:\\a.rs"), (file("C:\\a.rs"), None, None));
        for text in ["", ":3", "a:0", "a:99999999999999999999"] {
            assert!(Citation::from_text(text).is_err(), "{text}");
        }
    }
}
