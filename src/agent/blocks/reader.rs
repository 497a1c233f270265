//! Reader of block files.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use serde_json::Value as Json;

use super::block::{Block, KEPT, KEYS, Unfit, WHITESPACE, bare, unquoted};
use super::id::{BlockId, BlockIdError};
use crate::Time;
use crate::agent::item::Citation;
use crate::ingest::json::parse_within;

/// The deepest nesting of JSON on a line.
const DEPTH_MAX: usize = 8;

/// A block and the faults of its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BlockFile {
    /// The block.
    pub block: Block,
    /// Faults of the file, and how the reader treated them.
    pub faults: Vec<Fault>,
}

/// A fault of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// It begins with a byte order mark, which the reader ignores.
    ByteOrderMark,
    /// Its lines have Windows ends, which the reader accepts.
    WindowsLines,
    /// A key occurs more than once; its last line counts.
    KeyTwice {
        /// The key.
        key: String,
        /// The line that counts, from 1.
        line: usize,
    },
    /// This line of the front matter, from 1, is not `key: value`; it is ignored.
    NotAPair(usize),
    /// The id is missing; the id of the path counts.
    IdMissing,
    /// The id is invalid; the id of the path counts.
    IdWrong {
        /// The text in its place.
        text: String,
        /// The reason why it is invalid.
        error: BlockIdError,
    },
    /// The id differs from this id of the path; the id in the file counts.
    IdNotOfPath(BlockId),
    /// A time is invalid and ignored; a block without a valid expiry never expires.
    TimeWrong {
        /// The key.
        key: &'static str,
        /// The text in its place.
        text: String,
    },
    /// The tags are not a JSON list; they are read as words between commas.
    TagsAreWords,
    /// The tag at this place, from 0, is not text; it is ignored.
    TagWrong(usize),
    /// The citations are not a JSON list; they are ignored.
    CitationsWrong,
    /// The citation at this place, from 0, has no file; it is ignored.
    CitationWrong(usize),
    /// The line of the citation at this place is not a whole number above 0, or its note is not text; the field is
    /// ignored.
    CitationFieldWrong(usize),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteOrderMark => f.write_str("the byte order mark is ignored"),
            Self::WindowsLines => f.write_str("the file has Windows line endings"),
            Self::KeyTwice { key, line } => {
                write!(f, "the key `{key}` occurs more than once; line {line} counts")
            }
            Self::NotAPair(line) => write!(f, "line {line} is not `key: value` and is ignored"),
            Self::IdMissing => f.write_str("the id is missing; the id of the path counts"),
            Self::IdWrong { text, error } => {
                write!(
                    f,
                    "`{text}` is not a valid id: {error}; the id of the path counts"
                )
            }
            Self::IdNotOfPath(path_id) => {
                write!(
                    f,
                    "the id differs from the path `{path_id}`; the id in the file counts"
                )
            }
            Self::TimeWrong { key, text } => write!(f, "`{text}` in `{key}` is not a time and is ignored"),
            Self::TagsAreWords => f.write_str("the tags are not a JSON list; they are read as words"),
            Self::TagWrong(place) => write!(f, "tag {place} is not text and is ignored"),
            Self::CitationsWrong => f.write_str("the citations are not a JSON list and are left out"),
            Self::CitationWrong(place) => write!(f, "citation {place} has no file and is ignored"),
            Self::CitationFieldWrong(place) => {
                write!(f, "the line or note of citation {place} is wrong and is ignored")
            }
        }
    }
}

/// Reads a file. `path_id` is the id of its path, if the path has one.
///
/// # Errors
/// An [`Unfit`] if the file holds no block. Every other fault is a finding.
pub(super) fn read_block(bytes: &[u8], path_id: Option<&BlockId>) -> Result<BlockFile, Unfit> {
    let mut reader = Reader::default();
    let text = std::str::from_utf8(bytes).map_err(|error| Unfit::NotText(error.valid_up_to()))?;
    let text = reader.plain(text);
    let (front, content) = split(&text)?;
    let keys = reader.pairs(front);
    let id = reader.id(&keys, path_id).ok_or(Unfit::NoId)?;
    let content = if keys.value(WHITESPACE) == Some(KEPT) {
        let content = content.strip_prefix('\n').unwrap_or(content);
        content.strip_suffix('\n').unwrap_or(content)
    } else {
        bare(content)
    };
    let block = Block {
        id,
        scope: keys
            .value("scope")
            .map(|scope| unquoted(scope).to_owned())
            .filter(|scope| !scope.is_empty()),
        created_micros: reader.time(&keys, "created"),
        updated_micros: reader.time(&keys, "updated"),
        expires_micros: reader.time(&keys, "expires"),
        tags: reader.tags(&keys),
        citations: reader.citations(&keys),
        other: keys.other(),
        content: content.to_owned(),
    };
    Ok(BlockFile {
        block,
        faults: reader.faults,
    })
}

/// Splits a file into the front matter and the text after it.
fn split(text: &str) -> Result<(&str, &str), Unfit> {
    let mut lines = text.split_inclusive('\n');
    let is_fence = |line: &str| line.trim_end() == "---";
    let first = lines
        .next()
        .filter(|line| is_fence(line))
        .ok_or(Unfit::NoFrontMatter)?;
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            return Ok((&text[first.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err(Unfit::OpenFrontMatter)
}

/// The pairs of a front matter, each key once, in the order of their first lines.
struct Pairs<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Pairs<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.0
            .iter()
            .find(|(own, _)| *own == key)
            .map(|(_, value)| *value)
    }

    fn other(&self) -> Vec<(String, String)> {
        let other = self.0.iter().filter(|(key, _)| !KEYS.contains(key));
        other
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }
}

#[derive(Default)]
struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    /// Returns the text without the marks and line ends that editors add.
    fn plain<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        if let Some(rest) = text.strip_prefix('\u{FEFF}') {
            self.faults.push(Fault::ByteOrderMark);
            text = Cow::Owned(rest.to_owned());
        }
        // The first line shows how the file was saved. Later line ends may belong to the content.
        if text
            .split_inclusive('\n')
            .next()
            .is_some_and(|line| line.ends_with("\r\n"))
        {
            self.faults.push(Fault::WindowsLines);
            text = Cow::Owned(text.replace("\r\n", "\n"));
        }
        text
    }

    fn pairs<'a>(&mut self, front: &'a str) -> Pairs<'a> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        let mut places = HashMap::new();
        // The first line of the file is the fence.
        for (line, number) in front.split('\n').zip(2..) {
            let line = bare(line);
            if line.is_empty() {
                continue;
            }
            let pair = line.split_once(':').filter(|_| !line.starts_with('#'));
            let pair = pair.map(|(key, value)| (bare(key), bare(value)));
            let Some((key, value)) = pair.filter(|(key, _)| !key.is_empty()) else {
                self.faults.push(Fault::NotAPair(number));
                continue;
            };
            if value.is_empty() {
                continue;
            }
            match places.entry(key) {
                Entry::Occupied(place) => {
                    let held: &mut (&str, &str) = &mut pairs[*place.get()];
                    held.1 = value;
                    let key = key.to_owned();
                    self.faults.push(Fault::KeyTwice { key, line: number });
                }
                Entry::Vacant(place) => {
                    place.insert(pairs.len());
                    pairs.push((key, value));
                }
            }
        }
        Pairs(pairs)
    }

    fn id(&mut self, pairs: &Pairs<'_>, path_id: Option<&BlockId>) -> Option<BlockId> {
        let Some(text) = pairs.value("id").map(unquoted) else {
            self.faults.push(Fault::IdMissing);
            return path_id.cloned();
        };
        match BlockId::new(text) {
            Ok(id) => {
                if let Some(path_id) = path_id.filter(|path_id| **path_id != id) {
                    self.faults.push(Fault::IdNotOfPath(path_id.clone()));
                }
                Some(id)
            }
            Err(error) => {
                let text = text.to_owned();
                self.faults.push(Fault::IdWrong { text, error });
                path_id.cloned()
            }
        }
    }

    fn time(&mut self, pairs: &Pairs<'_>, key: &'static str) -> Option<i64> {
        let text = unquoted(pairs.value(key)?);
        let time = text.parse().ok().map(Time::as_micros);
        if time.is_none() {
            let text = text.to_owned();
            self.faults.push(Fault::TimeWrong { key, text });
        }
        time
    }

    fn tags(&mut self, pairs: &Pairs<'_>) -> Vec<String> {
        let Some(value) = pairs.value("tags") else {
            return Vec::new();
        };
        if let Ok(Json::Array(items)) = parse_within(value, DEPTH_MAX) {
            let texts = items.iter().enumerate().filter_map(|(place, item)| {
                let text = item.as_str();
                if text.is_none() {
                    self.faults.push(Fault::TagWrong(place));
                }
                text.map(str::to_owned)
            });
            return texts.collect();
        }
        self.faults.push(Fault::TagsAreWords);
        let inner = value.strip_prefix('[').unwrap_or(value);
        let inner = inner.strip_suffix(']').unwrap_or(inner);
        let words = inner.split(',').map(|word| unquoted(bare(word)));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn citations(&mut self, pairs: &Pairs<'_>) -> Vec<Citation> {
        let Some(value) = pairs.value("citations") else {
            return Vec::new();
        };
        let Ok(Json::Array(items)) = parse_within(value, DEPTH_MAX) else {
            self.faults.push(Fault::CitationsWrong);
            return Vec::new();
        };
        let citations = items.iter().enumerate();
        citations
            .filter_map(|(place, item)| self.citation(place, item))
            .collect()
    }

    fn citation(&mut self, place: usize, item: &Json) -> Option<Citation> {
        let Some(file) = item
            .get("file")
            .and_then(Json::as_str)
            .filter(|file| !file.is_empty())
        else {
            self.faults.push(Fault::CitationWrong(place));
            return None;
        };
        let present = |key: &str| item.get(key).filter(|value| !value.is_null());
        let line = present("line").map(|line| line.as_u64().filter(|line| *line > 0));
        let note = present("note").map(|note| note.as_str().map(str::to_owned));
        if line == Some(None) || note == Some(None) {
            self.faults.push(Fault::CitationFieldWrong(place));
        }
        Some(Citation {
            file: file.to_owned(),
            line: line.flatten(),
            note: note.flatten(),
        })
    }
}
