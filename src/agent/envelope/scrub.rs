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
use std::ops::Range;

const ENVELOPES: &[&str] = &["memory", "session_memory", "persistent_memory"];
const ENTRIES: &[&str] = &["entry"];
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
    without(text, ENVELOPES, |tag| !is_word(text, tag))
}

/// Returns `text` without its closed transcript entries.
pub(super) fn without_entries(text: &str) -> Cow<'_, str> {
    without(text, ENTRIES, |_| false).text
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
    /// Its index in the list of names.
    name: usize,
    start: usize,
    /// The offset after its name.
    name_end: usize,
    /// The offset after its last byte.
    end: usize,
}

/// Returns `text` without the blocks of `names`. For a tag without an end, `goes` returns whether to remove it.
fn without<'a>(text: &'a str, names: &[&str], goes: impl Fn(&Tag) -> bool) -> Scrubbed<'a> {
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
fn blocks(text: &str, names: &[&str], goes: impl Fn(&Tag) -> bool) -> (Vec<Range<usize>>, usize) {
    let tags: Vec<Tag> = text
        .match_indices('<')
        .filter_map(|(at, _)| tag(text, at, names))
        .collect();
    let ends = ends(&tags, names.len());
    let mut blocks = Vec::new();
    let (mut done, mut unclosed) = (0, 0);
    for (tag, end) in tags.iter().zip(ends) {
        let end = match (tag.role, end) {
            _ if tag.start < done => continue,
            (Role::Empty, _) => tag.end,
            (Role::Opens, Some(end)) => end,
            (Role::Opens, None) if goes(tag) => {
                unclosed += 1;
                tag.end
            }
            _ => continue,
        };
        blocks.push(tag.start..end);
        done = end;
    }
    (blocks, unclosed)
}

/// Returns for each opening tag the end of its closing tag.
fn ends(tags: &[Tag], names: usize) -> Vec<Option<usize>> {
    let mut ends = vec![None; tags.len()];
    let mut open: Vec<usize> = Vec::new();
    let mut open_of = vec![0_usize; names];
    for (index, tag) in tags.iter().enumerate() {
        match tag.role {
            Role::Opens => {
                open.push(index);
                open_of[tag.name] += 1;
            }
            Role::Closes if open_of[tag.name] > 0 => {
                while let Some(last) = open.pop() {
                    open_of[tags[last].name] -= 1;
                    if tags[last].name == tag.name {
                        ends[last] = Some(tag.end);
                        break;
                    }
                }
            }
            Role::Closes | Role::Empty => {}
        }
    }
    ends
}

/// Reads the tag at `start`, the offset of a `<`, if it has one of the names.
fn tag(text: &str, start: usize, names: &[&str]) -> Option<Tag> {
    let bytes = text.as_bytes();
    let (name, name_end, is_closing) = name_at(&bytes[start..], names)?;
    let name_end = start + name_end;
    // A well-formed tag has no `<` inside, and `>` only in quotes.
    let mut quote = None;
    let last = bytes[name_end..].iter().position(|&byte| {
        match quote {
            _ if byte == b'<' => return true,
            None if byte == b'>' => return true,
            None if matches!(byte, b'"' | b'\'') => quote = Some(byte),
            Some(open) if byte == open => quote = None,
            _ => {}
        }
        false
    });
    let last = last
        .map(|last| name_end + last)
        .filter(|last| bytes[*last] == b'>');
    let role = match last {
        _ if is_closing => Role::Closes,
        Some(last) if bytes[last - 1] == b'/' => Role::Empty,
        _ => Role::Opens,
    };
    Some(Tag {
        role,
        name,
        start,
        name_end,
        end: last.map_or(name_end, |last| last + 1),
    })
}

/// Reads the name of the tag at the start of `bytes`: its index, its end, and whether the tag closes a block.
fn name_at(bytes: &[u8], names: &[&str]) -> Option<(usize, usize, bool)> {
    let rest = bytes.strip_prefix(b"<")?;
    let is_closing = rest.first() == Some(&b'/');
    let rest = &rest[usize::from(is_closing)..];
    let is_at = |name: &&str| {
        let found = rest.get(..name.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
            && rest
                .get(name.len())
                .is_none_or(|byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>'))
    };
    let name = names.iter().position(is_at)?;
    Some((name, 1 + usize::from(is_closing) + names[name].len(), is_closing))
}

/// Removes the start of a tag from the end of `out` if `rest` would complete the tag.
fn drop_fragments(out: &mut String, rest: &str, names: &[&str]) {
    // The longest incomplete tag is `</` and the whole name.
    let longest = 2 + names.iter().map(|name| name.len()).max().unwrap_or(0);
    loop {
        let window = &out.as_bytes()[out.len().saturating_sub(longest)..];
        let Some(start) = window.iter().rposition(|byte| *byte == b'<') else {
            return;
        };
        let start = out.len() - window.len() + start;
        let tail = &out.as_bytes()[start..];
        let mut joint = tail.to_vec();
        joint.extend(rest.bytes().take(longest + 1));
        let makes_a_tag = name_at(&joint, names).is_some_and(|(_, end, _)| end >= tail.len());
        if !makes_a_tag {
            return;
        }
        // SCR-1: half a tag must not meet its other half.
        out.truncate(start);
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
