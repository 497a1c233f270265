//! The text of an episode that no model wrote: sentences of the session, in the order in which they were said.
//!
//! What the session learnt is an item of its own, so it stands in no episode. An item that is forgotten takes the episodes
//! and summaries with it that say the same, because they were written before it was learnt. The end of the session writes
//! them anew. They go whole, so that a revert of the session leaves no rest of them.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - EPI-1: a sentence that its session learnt is in no episode that is written later, also if the item is gone.
//! - EPI-2: a forgotten item that was learnt from a session leaves no sentence with its text in the episodes and summaries
//!   of that session and of the sessions above it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::lineage::{line_of, session_id};
use super::stated::{Statement, stated};
use super::summarising::sentences;
use crate::agent::change::Change;
use crate::agent::decay::extract;
use crate::agent::item::{Item, known_kind, text_of, unless_erased};
use crate::agent::vocabulary::{attribute, kind};
use crate::agent::words;
use crate::engine::Query;
use crate::error::Result;
use crate::object::{Id, Object};

/// The maximum number of characters of an episode.
pub(super) const EPISODE_CHARS_MAX: usize = 1_024;
/// A sentence of at most so many words, without a number, is small talk such as "Thanks, that works".
const SMALL_TALK_WORDS: usize = 3;

/// A text of a session, and whether the person said it.
pub(super) type Said<'t> = (Cow<'t, str>, bool);

/// Returns the episode of these texts: the statements of the person that have room, and other sentences beside them, one
/// a line. Returns an empty text if there is only small talk.
pub(super) fn episode_of(texts: &[Said<'_>]) -> String {
    let (mut all, mut of_person) = (String::new(), Vec::new());
    let has_talk = |text: &str| !extract::sentences_of(text).into_iter().all(is_small_talk);
    for (text, is_said) in texts.iter().filter(|(text, _)| has_talk(text)) {
        let start = all.len();
        all.push_str(text);
        of_person.extend(is_said.then_some(start..all.len()));
        all.push('\n');
    }
    let mut room = EPISODE_CHARS_MAX;
    // Rules and decisions come before other sentences, because the episode keeps them when it is full.
    let mut kept = kept_statements(statements_in(&all, of_person), &mut room);
    let mut seen: HashSet<_> = kept
        .values()
        .map(|text| words::plain_statement(text).into_owned())
        .collect();
    let main = sentences(&all);
    let pieces = main.lines().flat_map(extract::sentences_of);
    let talk = places(&all, pieces.filter(|piece| !is_small_talk(piece)));
    for (at, piece) in &talk {
        let before = kept.range(..=at).next_back();
        let is_within = before.is_some_and(|(start, text)| *at < start + text.len());
        let left = room.checked_sub(piece.chars().count() + 1);
        if let Some(left) =
            left.filter(|_| !is_within && seen.insert(words::plain_statement(piece).into_owned()))
        {
            room = left;
            kept.insert(*at, piece);
        }
    }
    if let (true, Some((_, piece))) = (kept.is_empty(), talk.first()) {
        return piece.chars().take(EPISODE_CHARS_MAX).collect();
    }
    let lines: Vec<_> = kept.values().map(|text| words::collapsed(text)).collect();
    lines.join("\n")
}

/// Returns the places of parts of a text, which are in the order of the text.
pub(super) fn places<'p>(text: &str, parts: impl IntoIterator<Item = &'p str>) -> Vec<(usize, &'p str)> {
    let mut from = 0;
    let parts = parts.into_iter();
    let found = parts.filter_map(|part| {
        let at = from + text[from..].find(part)?;
        from = at + part.len();
        Some((at, part))
    });
    found.collect()
}

/// Returns the statements in these parts of a text, with their places.
fn statements_in(all: &str, parts: Vec<Range<usize>>) -> Vec<(usize, Statement<'_>)> {
    let mut found = Vec::new();
    for part in parts {
        let text = &all[part.clone()];
        let statements = stated(text);
        let texts = statements.iter().map(|statement| statement.text);
        let starts: BTreeMap<_, _> = places(text, texts)
            .into_iter()
            .map(|(at, text)| (text, at))
            .collect();
        let placed = statements.into_iter();
        found.extend(placed.filter_map(|one| Some((part.start + starts.get(one.text)?, one))));
    }
    found
}

/// Returns the statements that an episode has room for, by their places. Rules stand before decisions, and newer ones
/// before older ones, which they may replace.
fn kept_statements<'t>(
    mut statements: Vec<(usize, Statement<'t>)>,
    room: &mut usize,
) -> BTreeMap<usize, &'t str> {
    let mut seen = HashSet::new();
    statements.retain(|(_, statement)| seen.insert(statement.text));
    let rank = |kind| {
        let first = [kind::RULE, kind::DECISION];
        first.iter().position(|one| *one == kind).unwrap_or(usize::MAX)
    };
    statements.sort_by_key(|(at, statement)| (rank(statement.kind), Reverse(*at)));
    statements.retain(|(_, statement)| {
        let left = room.checked_sub(statement.text.chars().count() + 1);
        *room = left.unwrap_or(*room);
        left.is_some()
    });
    statements
        .into_iter()
        .map(|(at, statement)| (at, statement.text))
        .collect()
}

fn is_small_talk(sentence: &str) -> bool {
    words::count(sentence) <= SMALL_TALK_WORDS && !sentence.contains(char::is_numeric)
}

/// The texts that tell of a session, of which forgotten items were learnt.
#[derive(Default)]
pub(in crate::agent) struct Told {
    /// The episodes and summaries that say the same, which are removed.
    pub(in crate::agent) gone: Vec<Item>,
    /// The episodes and summaries that may still say it: a model wrote them in other words, or they are pinned, or more
    /// trusted than the writer.
    pub(in crate::agent) still: BTreeSet<Id>,
}

/// Removes the episodes and summaries that say the same as forgotten items, of the sessions that these were learnt from
/// (EPI-2).
pub(in crate::agent) fn unsay(change: &mut Change<'_>, items: &[Item]) -> Result<Told> {
    let mut told = Told::default();
    let mut texts: BTreeMap<Id, Vec<&str>> = BTreeMap::new();
    for item in items.iter().filter(|item| !tells_of_session(item.object())) {
        for source in item.object().derived_from() {
            let source = unless_erased(change.agent().memory().version(source))?;
            let Some(source) = source.filter(tells_of_session) else {
                continue;
            };
            let session = text_of(&source, attribute::SESSION);
            for above in session
                .iter()
                .flat_map(|session| line_of(|id| change.get(id), session))
            {
                texts.entry(session_id(&above?.0)?).or_default().push(item.text());
            }
            if source.kind() == kind::EPISODE && change.get(source.id())?.is_some() {
                told.still.insert(source.id().clone());
            }
        }
    }
    for (session, texts) in texts {
        let mut below = Query::default().parent(session).with_expired();
        below.not_kinds = [kind::ENTRY, kind::SESSION].map(known_kind).into();
        for object in change.base().clone().query(&below)? {
            let item = Item::from(object?);
            let id = item.object().id().clone();
            let is_there = change.get(&id)?.is_some() && tells_of_session(item.object());
            if !is_there || !says_any(item.text(), &texts) {
                continue;
            }
            if item.is_pinned() || item.object().origin().is_above(change.class()) {
                told.still.insert(id);
            } else {
                change.remove(&id)?;
                told.still.remove(&id);
                told.gone.push(item);
            }
        }
    }
    Ok(told)
}

/// Checks whether an object is a part of a transcript, or a text that tells of one.
fn tells_of_session(object: &Object) -> bool {
    [kind::ENTRY, kind::EPISODE, kind::SUMMARY].contains(&object.kind())
}

/// Checks whether a sentence of a text states the same as one of these, perhaps behind the name of its speaker.
fn says_any(text: &str, stated: &[&str]) -> bool {
    let is_stated = |said: &str| {
        let said = words::plain_statement(said);
        stated.iter().any(|one| words::plain_statement(one) == said)
    };
    let mut sentences = text.lines().flat_map(extract::sentences_of);
    let is_whole = sentences.any(|sentence| {
        let said = sentence.split_once(": ").map_or(sentence, |(_, said)| said);
        is_stated(sentence) || is_stated(said)
    });
    // A statement may have a line break.
    is_whole || stated.iter().any(|one| one.contains('\n') && text.contains(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn episode(texts: &[(&str, bool)]) -> String {
        let said: Vec<Said<'_>> = texts
            .iter()
            .map(|(text, is_said)| (Cow::Borrowed(*text), *is_said))
            .collect();
        episode_of(&said)
    }

    #[test]
    fn sentences_stand_in_the_order_of_the_conversation_without_small_talk() {
        let said = episode(&[
            ("Hello there!", true),
            (
                "The login page shows an error after the last update. Thanks!",
                true,
            ),
            (
                "From now on always run\nthe linter. We decided to use Postgres for it.",
                true,
            ),
            ("Sure, one moment.", false),
        ]);
        assert_eq!(
            said,
            "The login page shows an error after the last update.\nFrom now on always run the linter.\nWe decided to use Postgres for it."
        );
        assert_eq!(episode(&[("Thanks!", true), ("You are welcome.", false)]), "");
        let long = "word ".repeat(600);
        assert_eq!(episode(&[(&long, true)]).chars().count(), EPISODE_CHARS_MAX);
    }

    #[test]
    fn a_text_says_a_sentence_whole() {
        let stated = ["We decided to use pnpm."];
        for text in [
            "We decided to use pnpm",
            "One is here.\nwe decided to use pnpm.\nTwo is there.",
            "user: We decided to use pnpm. It is fast.",
            "It is late. We decided to use pnpm. Go on.",
        ] {
            assert!(says_any(text, &stated), "{text}");
        }
        for text in [
            "We decided to use pnpm for it.",
            "He said we decided to use pnpm.",
            "",
            "a: b",
        ] {
            assert!(!says_any(text, &stated), "{text}");
        }
        assert!(says_any("user: Always\nask me.", &["Always\nask me."]));
    }
}
