//! Removes envelopes from a text, so that recalled memory is not stored again.
//!
//! An envelope is a block from a tag `<memory>`, `<session_memory>` or `<persistent_memory>` to its closing tag. Case
//! and attributes do not matter. Blocks nest, and a closing tag also closes the open blocks inside. A block without a
//! closing tag may have been cut off, or the text may only mention the tag. So only the tag is removed. All other text
//! is unchanged.
//!
//! `memory` is also a name in program code. An unclosed tag counts as program code if it has no attributes and occurs
//! in a usual context, as in `Arc<Memory>`, `#include <memory>`, `<Memory as Store>` or between backquotes. A closed
//! block of another format, for example libvirt's `<memory unit="KiB">`, counts as an envelope.
//!
//! # Layer
//! Pure.
//!
//! # Limits
//! - The text after an unclosed tag stays. So if a text was cut off within an envelope, the content of that envelope
//!   stays. `Scrubbed::unclosed` counts such tags.
//!
//! # Invariants
//! - SCR-1: a scrubbed text contains no envelope. The texts around a removed block do not combine into one either.
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
/// The maximum length of a tag in bytes, from `<` to the end of its name.
const START_MAX: usize = "</persistent_memory".len();
/// The number of bytes before a tag that are checked to recognise program code.
const WORD_CONTEXT: usize = 64;

/// A text without its envelopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed<'a> {
    /// The remaining text.
    pub text: Cow<'a, str>,
    /// The number of removed envelopes.
    pub envelopes: usize,
    /// The number of removed tags without a closing tag. The text after these tags may be recalled memory.
    pub unclosed: usize,
}

/// Returns `text` without its envelopes, and the number of removed envelopes.
pub fn scrubbed(text: &str) -> Scrubbed<'_> {
    without(text, &ENVELOPES, |tag| !is_word(text, tag))
}

/// Returns `text` without `<entry>` blocks. Tags without a closing tag stay.
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

/// A tag with one of the searched names, and its byte offsets.
struct Tag {
    role: Role,
    /// The name of the tag, in lower case.
    name: String,
    start: usize,
    /// The offset after the name of the tag.
    name_end: usize,
    /// The offset after the last byte of the tag.
    end: usize,
}

/// Returns a pattern that matches a tag from `<` to the end of its name, without regard to case.
fn tags_of(names: &str) -> Regex {
    Regex::new(&format!("(?i-u)</?(?:{names})")).expect("the pattern is valid")
}

/// Returns `text` without the blocks of `names`. `goes` returns whether to remove a tag that has no closing tag.
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

/// Returns the ranges to remove, in order: the outermost blocks of `names`, and the tags without a closing tag that
/// `goes` selects. Also returns the number of these tags.
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
                        // The new block contains all blocks that were opened after it, so remove these from the list.
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

/// Returns the tag that begins with `begun`. Returns `None` if the name continues after the match, as in `<memory_id>`.
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

/// Removes an incomplete tag from the end of `out` if `rest` would complete it.
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
        // SCR-1: the two halves of a tag must not join after the block between them is removed.
        out.truncate(start);
        last = out.bytes().rev().take(START_MAX);
    }
}

/// Checks whether a tag without a closing tag is program code, or a tag that the text only mentions.
fn is_word(text: &str, tag: &Tag) -> bool {
    let bytes = text.as_bytes();
    let behind = &bytes[tag.name_end..];
    // A tag without `>` may change when a block after it is removed, so ` as ` after the tag does not make the tag
    // program code.
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
