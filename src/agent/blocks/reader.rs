//! Reads block files.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::block::{Block, DEPTH_MAX, KEPT, Unfit, WHITESPACE, bare, unquoted};
use super::id::block_id;
use crate::agent::fault::Fault;
use crate::agent::vocabulary::attribute;
use crate::ingest::json::{parse_within, value_from_json};
use crate::object::{Attributes, Id, Time, Value};

/// A block and the faults of its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BlockFile {
    /// The block.
    pub block: Block,
    /// The faults of the file, and how the reader handled each of them.
    pub faults: Vec<Fault<FileFault>>,
}

named! {
    /// A fault of a file that does not prevent reading it. A block without a valid expiry never expires.
    pub(super) enum FileFault {
        ByteOrderMark => "the byte order mark is ignored",
        WindowsLines => "the file has Windows line endings",
        KeyTwice => "the key `{}` occurs more than once; the last line is used",
        NotAPair => "line {} does not have the form `key: value` and is ignored",
        IdMissing => "the file has no id; the id that its path implies is used",
        IdWrong => "`{}` is not a valid id; the id that the file's path implies is used",
        IdNotOfPath => "the id in the file differs from the path `{}`; the id in the file is used",
        TimeWrong => "`{}` is not a valid time and is ignored",
        TagsAreWords => "the tags are not a JSON list; they are read as words between commas",
    }
}

/// Reads a file. Uses `path_id` if the file contains no valid id.
///
/// # Errors
/// Returns an [`Unfit`] if the file contains no block. All other faults are in the result.
pub(super) fn read_block(bytes: &[u8], path_id: &Id) -> Result<BlockFile, Unfit> {
    let mut faults = Vec::new();
    let text = std::str::from_utf8(bytes).map_err(|_| Unfit::NotText)?;
    let text = plain(text, &mut faults);
    let (front, content) = split(&text)?;
    let mut pairs = pairs(front, &mut faults);
    let id = id_of(pairs.remove("id"), path_id, &mut faults);
    let content = if pairs.remove(WHITESPACE) == Some(KEPT) {
        let content = content.strip_prefix('\n').unwrap_or(content);
        content.strip_suffix('\n').unwrap_or(content)
    } else {
        bare(content)
    };
    let scope = pairs.remove("scope").map(|scope| unquoted(scope).to_owned());
    let mut time = |key: &str| {
        let text = unquoted(pairs.remove(key)?);
        let time = text.parse::<Time>().ok();
        faults.extend(time.is_none().then(|| Fault::of(FileFault::TimeWrong, text)));
        time
    };
    let [created, updated, expires] = ["created", "updated", "expires"].map(&mut time);
    let mut attributes = Attributes::new();
    for (key, line) in pairs {
        let value = match value_of(line) {
            Value::Text(_) if key == attribute::TAGS => {
                faults.push(FileFault::TagsAreWords.into());
                words_of(line)
            }
            value => value,
        };
        attributes.insert(key, value);
    }
    let block = Block {
        id,
        scope: scope.filter(|scope| !scope.is_empty()),
        created,
        updated,
        expires,
        attributes,
        content: content.to_owned(),
    };
    Ok(BlockFile { block, faults })
}

/// Returns the text without the byte order mark and Windows line ends that editors add.
fn plain<'a>(text: &'a str, faults: &mut Vec<Fault<FileFault>>) -> Cow<'a, str> {
    let rest = text.strip_prefix('\u{FEFF}');
    faults.extend(rest.map(|_| FileFault::ByteOrderMark.into()));
    let text = rest.unwrap_or(text);
    // If the first line ends with `\r\n`, an editor saved the whole file with Windows line ends. Otherwise a `\r\n`
    // belongs to the content.
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if !first.ends_with("\r\n") {
        return text.into();
    }
    faults.push(FileFault::WindowsLines.into());
    text.replace("\r\n", "\n").into()
}

/// Splits a file into the front matter and the text after it.
pub(super) fn split(text: &str) -> Result<(&str, &str), Unfit> {
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

/// Returns the pairs of a front matter. If a key is repeated, the last line wins.
fn pairs<'a>(front: &'a str, faults: &mut Vec<Fault<FileFault>>) -> BTreeMap<&'a str, &'a str> {
    let mut pairs = BTreeMap::new();
    // The front matter begins on the second line of the file, after `---`.
    for (line, number) in front.split('\n').zip(2..) {
        let line = bare(line);
        if line.is_empty() {
            continue;
        }
        let pair = line.split_once(':').filter(|_| !line.starts_with('#'));
        let pair = pair.map(|(key, value)| (bare(key), bare(value)));
        match pair.filter(|(key, _)| !key.is_empty()) {
            None => faults.push(Fault::of(FileFault::NotAPair, number.to_string())),
            Some((_, "")) => {}
            Some((key, value)) => {
                let before = pairs.insert(key, value);
                faults.extend(before.map(|_| Fault::of(FileFault::KeyTwice, key)));
            }
        }
    }
    pairs
}

fn id_of(line: Option<&str>, path_id: &Id, faults: &mut Vec<Fault<FileFault>>) -> Id {
    let stated = line.map(unquoted);
    let id = stated.and_then(block_id);
    faults.extend(match (stated, &id) {
        (None, _) => Some(FileFault::IdMissing.into()),
        (Some(text), None) => Some(Fault::of(FileFault::IdWrong, text)),
        (Some(_), Some(id)) => (id != path_id).then(|| Fault::of(FileFault::IdNotOfPath, path_id.as_str())),
    });
    id.unwrap_or_else(|| path_id.clone())
}

/// Parses a value as JSON. Returns the line as text if it is not JSON.
fn value_of(line: &str) -> Value {
    let json = parse_within(line, DEPTH_MAX).ok();
    json.and_then(|json| value_from_json(json).ok())
        .unwrap_or_else(|| Value::from(line))
}

/// Parses a list of words that are separated by commas.
fn words_of(line: &str) -> Value {
    let inner = line.strip_prefix('[').unwrap_or(line);
    let inner = inner.strip_suffix(']').unwrap_or(inner);
    let words = inner.split(',').map(|word| unquoted(bare(word)));
    Value::List(words.filter(|word| !word.is_empty()).map(Value::from).collect())
}
