//! Removes envelopes from a text, so that memory is not remembered again.
//!
//! A block is `<memory>`, `<session_memory>` or `<persistent_memory>`, in any case and with any attributes, up to its
//! closing tag. Blocks nest; a closing tag also closes open blocks inside. A block without an end may have been cut
//! off, or the text may only mention it, so only its tag is removed. The remaining text stays byte for byte.
//!
//! `memory` is also a word in program texts. A tag without an end counts as such a word if it has no attributes and is
//! in a usual place, as in `Arc<Memory>`, `#include <memory>`, `<Memory as Store>` or between backquotes. A closed
//! block of another program, for example libvirt's `<memory unit="KiB">`, counts as an envelope.
//!
//! # Layer
//! Pure.
//!
//! # Limits
//! - The text after an unclosed tag stays. A text that was cut off within an envelope keeps the rest of that envelope,
//!   and the caller gets a finding.
//!
//! # Invariants
//! - SCR-1: a scrubbed text holds no envelope, even where the pieces around a removed block meet.
//! - SCR-2: the time is linear in the text: a byte is read at most as many times as a tag has bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Match, Regex};

static ENVELOPES: LazyLock<Regex> = LazyLock::new(|| tags_of("memory|session_memory|persistent_memory"));
static ENTRIES: LazyLock<Regex> = LazyLock::new(|| tags_of("entry"));
/// The rest of a tag after its name. It contains no `<`, and contains `>` only in quotes.
static REST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^(?:[^<>"']|"[^"<]*"|'[^'<]*')*>"#).expect("the pattern is valid"));
/// The maximum number of bytes of a tag up to the end of its name.
const START_MAX: usize = "</persistent_memory".len();
/// The number of bytes before a tag that decide whether it is a word of a program.
const WORD_CONTEXT: usize = 64;

/// A text without its envelopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scrubbed<'a> {
    /// The remaining text.
    pub text: Cow<'a, str>,
    /// The number of removed envelopes.
    pub envelopes: usize,
    /// The number of removed tags without an end. The text after them may be memory.
    pub unclosed: usize,
}

/// Returns `text` without its envelopes, and their number.
pub(crate) fn scrubbed(text: &str) -> Scrubbed<'_> {
    without(text, &ENVELOPES, |tag| !is_word(text, tag))
}

/// Returns `text` without its closed transcript entries.
pub(super) fn without_entries(text: &str) -> Cow<'_, str> {
    without(text, &ENTRIES, |_| false).text
}

/// The role of a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Opens,
    Closes,
    /// A tag that opens and closes a block without content.
    Empty,
}

/// A tag with one of the names, and its byte offsets.
struct Tag {
    role: Role,
    /// Its name in lower case.
    name: String,
    start: usize,
    /// The offset after its name.
    name_end: usize,
    /// The offset after its last byte.
    end: usize,
}

/// Returns the pattern of a tag up to the end of its name, in any case.
fn tags_of(names: &str) -> Regex {
    Regex::new(&format!("(?i-u)</?(?:{names})")).expect("the pattern is valid")
}

/// Returns `text` without the blocks of `names`. For a tag without an end, `goes` returns whether to remove it.
fn without<'a>(text: &'a str, names: &Regex, goes: impl Fn(&Tag) -> bool) -> Scrubbed<'a> {
    let (blocks, unclosed) = blocks(text, names, goes);
    let envelopes = blocks.len() - unclosed;
    let mut rest = Cow::Borrowed(text);
    if !blocks.is_empty() {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for block in blocks {
            out.push_str(&text[at..block.start]);
            at = block.end;
            drop_fragments(&mut out, &text[at..], names);
        }
        out.push_str(&text[at..]);
        rest = Cow::Owned(out);
    }
    Scrubbed {
        text: rest,
        envelopes,
        unclosed,
    }
}

/// Returns the outermost blocks of `names` in order, and the number of them that are tags without an end.
fn blocks(text: &str, names: &Regex, goes: impl Fn(&Tag) -> bool) -> (Vec<Range<usize>>, usize) {
    let (mut blocks, mut open) = (Vec::new(), Vec::<Tag>::new());
    let mut open_of: HashMap<String, usize> = HashMap::new();
    for tag in names.find_iter(text).filter_map(|begun| tag(text, begun)) {
        let count = open_of.entry(tag.name.clone()).or_default();
        match tag.role {
            Role::Empty => blocks.push(tag.start..tag.end),
            Role::Opens => {
                *count += 1;
                open.push(tag);
            }
            Role::Closes if *count > 0 => {
                while let Some(last) = open.pop() {
                    *open_of.entry(last.name.clone()).or_default() -= 1;
                    if last.name == tag.name {
                        // The block contains those that were closed since it was opened.
                        let before = blocks.partition_point(|block| block.start < last.start);
                        blocks.truncate(before);
                        blocks.push(last.start..tag.end);
                        break;
                    }
                }
            }
            Role::Closes => {}
        }
    }
    let closed = blocks.len();
    blocks.extend(open.iter().filter(|tag| goes(tag)).map(|tag| tag.start..tag.end));
    let unclosed = blocks.len() - closed;
    blocks.sort_unstable_by_key(|block| block.start);
    (blocks, unclosed)
}

/// Returns the tag that begins with `begun`; `None` if its name goes on.
fn tag(text: &str, begun: Match<'_>) -> Option<Tag> {
    let after = text.as_bytes().get(begun.end());
    let is_name = after.is_none_or(|byte| byte.is_ascii_whitespace() || b"/>".contains(byte));
    let rest = REST.find(&text[begun.end()..]).map_or("", |rest| rest.as_str());
    is_name.then(|| Tag {
        role: match begun.as_str().starts_with("</") {
            true => Role::Closes,
            false if rest.ends_with("/>") => Role::Empty,
            false => Role::Opens,
        },
        name: begun.as_str().replace(['<', '/'], "").to_ascii_lowercase(),
        start: begun.start(),
        name_end: begun.end(),
        end: begun.end() + rest.len(),
    })
}

/// Removes the start of a tag from the end of `out` if `rest` would complete the tag.
fn drop_fragments(out: &mut String, rest: &str, names: &Regex) {
    let next: String = rest.chars().take(START_MAX + 1).collect();
    let mut last = out.bytes().rev().take(START_MAX);
    while let Some(back) = last.position(|byte| byte == b'<') {
        let start = out.len() - 1 - back;
        let joint = format!("{}{next}", &out[start..]);
        let first = names.find(&joint).and_then(|begun| tag(&joint, begun));
        if !first.is_some_and(|tag| tag.start == 0 && tag.name_end >= out.len() - start) {
            return;
        }
        // SCR-1: half a tag must not meet its other half.
        out.truncate(start);
        last = out.bytes().rev().take(START_MAX);
    }
}

/// Whether a tag without an end is a word of a program, or a name that the text mentions.
fn is_word(text: &str, tag: &Tag) -> bool {
    let bytes = text.as_bytes();
    let behind = &bytes[tag.name_end..];
    // A tag that does not end before the next block may become another tag when that block is removed.
    let is_ended = tag.end > tag.name_end;
    if is_ended && behind.starts_with(b" as ") {
        return true;
    }
    if !matches!(behind.first(), None | Some(b'>')) {
        return false;
    }
    let before = &bytes[tag.start.saturating_sub(WORD_CONTEXT)..tag.start];
    let is_argument = before
        .last()
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || b"_:`".contains(byte));
    let include = before.trim_ascii_end();
    is_argument || include.ends_with(b"#include") || include.ends_with(b"import")
}
