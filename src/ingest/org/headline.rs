//! The parts of an Org headline and the planning line below it.
//!
//! # Layer
//! Layer 6, inside `ingest`.

use std::collections::BTreeSet;

use crate::object::{Attributes, Value};

/// The TODO states that need no `#+TODO:` line.
const STATES: [&str; 5] = ["TODO", "NEXT", "WAITING", "DONE", "CANCELLED"];

/// The attributes of the planning line. The keyword of each attribute is its name in capital letters.
pub(in crate::ingest) const PLANNING: [&str; 3] = ["closed", "deadline", "scheduled"];

const SPACE: [char; 2] = [' ', '\t'];

/// Returns the TODO states of a file: the default states, and the states in `#+TODO:` lines anywhere in the file.
pub(in crate::ingest) fn todo_states(text: &str) -> BTreeSet<&str> {
    let mut states = BTreeSet::from(STATES);
    for line in text.lines() {
        let Some((name, value)) = line.strip_prefix("#+").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        if ["TODO", "SEQ_TODO", "TYP_TODO"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
        {
            // After a state, its fast key and logging may follow, as in `WAIT(w@/!)`.
            let words = value.split_whitespace().filter(|word| *word != "|");
            states.extend(
                words
                    .map(|word| word.split('(').next().unwrap_or(word))
                    .filter(|word| !word.is_empty()),
            );
        }
    }
    states
}

/// Reads the text after the stars into the attributes `todo`, `priority`, `title` and `tags`.
pub(super) fn read(rest: &str, states: &BTreeSet<&str>, attributes: &mut Attributes) {
    let mut rest = rest.trim_end_matches('\n').trim_matches(SPACE);
    let (word, after) = rest.split_at(rest.find(SPACE).unwrap_or(rest.len()));
    if states.contains(word) {
        attributes.insert("todo", word);
        rest = after.trim_start_matches(SPACE);
    }
    if let Some((priority, after)) = read_priority(rest) {
        attributes.insert("priority", priority);
        rest = after.trim_start_matches(SPACE);
    }
    let (title, last) = rest.split_at(rest.rfind(SPACE).map_or(0, |at| at + 1));
    if let Some(tags) = read_tags(last) {
        attributes.insert("tags", tags);
        rest = title.trim_end_matches(SPACE);
    }
    attributes.insert("title", rest);
}

/// Reads a priority cookie such as `[#A]` or `[#12]`: one capital letter, or a number below 65.
fn read_priority(text: &str) -> Option<(&str, &str)> {
    let (priority, after) = text.strip_prefix("[#")?.split_once(']')?;
    let letter = priority.len() == 1 && priority.as_bytes()[0].is_ascii_uppercase();
    let number = priority.bytes().all(|byte| byte.is_ascii_digit())
        && priority.parse::<u8>().is_ok_and(|number| number < 65);
    (letter || number).then_some((priority, after))
}

/// Reads tags such as `:work:urgent:`.
pub(super) fn read_tags(word: &str) -> Option<Vec<Value>> {
    let tags = word.strip_prefix(':')?.strip_suffix(':')?;
    tags.split(':')
        .map(|tag| is_tag(tag).then(|| Value::from(tag)))
        .collect()
}

fn is_tag(tag: &str) -> bool {
    !tag.is_empty()
        && tag
            .chars()
            .all(|character| character.is_alphanumeric() || "_@#%".contains(character))
}

/// Reads the optional planning line below a headline. Returns the text after it, and the number of that text's first
/// line.
pub(super) fn read_planning<'a>(body: &'a str, line: u64, attributes: &mut Attributes) -> (&'a str, u64) {
    let end = body.find('\n').map_or(body.len(), |at| at + 1);
    match planning_of(&body[..end]) {
        Some(planned) if !planned.is_empty() => {
            for (name, stamp) in planned {
                attributes.insert(name, stamp);
            }
            (&body[end..], line + 1)
        }
        _ => (body, line),
    }
}

/// Returns the time stamps of a planning line. Such a line has no other text, and each kind of stamp at most once.
fn planning_of(line: &str) -> Option<Vec<(&'static str, &str)>> {
    let mut rest = line.trim_matches([' ', '\t', '\n']);
    let mut planned: Vec<(&'static str, &str)> = Vec::new();
    while !rest.is_empty() {
        let (word, after) = rest.split_once(':')?;
        let name = PLANNING.into_iter().find(|name| name.to_uppercase() == word)?;
        let after = after.trim_start_matches(SPACE);
        let length = stamp_length(after)?;
        if planned.iter().any(|(earlier, _)| *earlier == name) {
            return None;
        }
        planned.push((name, &after[..length]));
        rest = after[length..].trim_start_matches(SPACE);
    }
    Some(planned)
}

/// Returns the length of the time stamp, or of the range of two stamps, at the start of `text`.
fn stamp_length(text: &str) -> Option<usize> {
    let first = one_stamp_length(text)?;
    let second = text[first..].strip_prefix("--").and_then(one_stamp_length);
    Some(second.map_or(first, |second| first + 2 + second))
}

fn one_stamp_length(text: &str) -> Option<usize> {
    let close = match text.chars().next()? {
        '<' => '>',
        '[' => ']',
        _ => return None,
    };
    Some(text.find(close)? + 1)
}
