//! The answer of a recall: its types, and the collection of the hits within the budget of the query.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::query::{RecallQuery, SNIPPET_CHARS};
use super::vectors::VectorCounts;
use crate::agent::agent::Agent;
use crate::agent::decay::original_of;
use crate::agent::item::Item;
use crate::agent::stored_text::{clean, flags};
use crate::agent::titles::Titles;
use crate::agent::vocabulary::kind;
use crate::digest::{ObjectDigest, Root};
use crate::engine::Reached;
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, Object, Origin, Time};
use treering_text::recall::{Reason, five_digits, snippet, tokens};

/// The mark at each end of a snippet where text was cut off.
const CUT: &str = "\u{2026}";
/// The length in bytes up to which the scan reads the whole text of a hit for its snippet.
const SCANNED_MAX: usize = 64 << 10;
/// The number of bytes that the scan reads on each side of the snippet of a longer text. A secret that the snippet cuts
/// is recognised if this context contains it.
const CONTEXT: usize = 8 << 10;

/// A hit of a recall.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct RecallHit {
    /// The id of the item.
    pub id: Id,
    /// The kind of the item.
    pub kind: String,
    /// The scope of the item.
    pub scope: String,
    /// How well the hit answers the question, from 0 to 1. Scores of different answers can be compared. The best hit has
    /// the confidence of the answer; the other hits are in proportion to it, in the order of their ranks.
    #[serde(serialize_with = "five_digits")]
    pub score: f32,
    /// Whether the hit is no good match: its score is below 0.35. It may share only a common word with the question.
    #[serde(rename = "weak")]
    pub is_weak: bool,
    /// The confidence of this hit alone, from 0 to 1: how much of the question its words contain.
    #[serde(serialize_with = "five_digits")]
    pub confidence: f32,
    /// The titles of the item: those above it from the top down, then its own.
    pub titles: Vec<String>,
    /// The part of the text around the match, with markers instead of secrets.
    pub snippet: String,
    /// The event time of the item. Without an event time, the time of the first commit with the id of the item.
    pub time: Time,
    /// The origin class of the item, such as a person, a model, a tool or a document.
    /// [`Memory::history`](crate::Memory::history) returns the name of each writer.
    pub trust: Origin,
    /// The rules of the scan that the text matched when it was written, or matches now. `merge-conflict`: a merge left a
    /// conflict about the item open.
    pub flags: Vec<String>,
    /// The size of the text in tokens of about four characters.
    pub tokens: usize,
    /// The reasons for the rank of the hit in words, the most important first.
    pub why: Vec<&'static str>,
    /// The ids of the items in the searched scopes that supersede this item.
    pub superseded_by: Vec<Id>,
    /// The speaker of the text, if the item names one. The speaker can differ from the writer.
    pub speaker: Option<String>,
    /// The session in which the text was said, if the item names one.
    pub session: Option<String>,
    /// The digest of the version of the item.
    pub digest: ObjectDigest,
    /// The whole text with markers instead of secrets, if [`RecallQuery::full`] is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// All reasons for the score with their values, if [`RecallQuery::explain`] is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<Reason>>,
}

/// The answer to a recall.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Recalled {
    /// The hits, best first. For an empty question, the summaries in order of time.
    pub hits: Vec<RecallHit>,
    /// Whether no hit is a good match: the question has words, and every hit is weak.
    pub no_good_match: bool,
    /// The total size of the texts of the hits, in tokens.
    pub tokens: usize,
    /// The number of ranked hits that did not fit into the budget.
    pub skipped: usize,
    /// The number of untrusted matches that the answer omits, counted up to the limit of hits.
    #[serde(serialize_with = "left_out")]
    #[schemars(with = "LeftOut")]
    pub left_out: usize,
    /// If there is no good match, the other scopes that contain matches, in the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<ScopeMatches>,
    /// The root of the state that was searched.
    pub root: Root,
    /// The searched scopes. There is no list if all scopes were searched.
    pub scopes: Option<Vec<String>>,
    /// The way in which the index was prepared. Summaries need no index, so they have no way.
    #[serde(rename = "index")]
    pub reached: Option<Reached>,
    /// How many texts of the state have vectors. There are none without a model, and for summaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vectors: Option<VectorCounts>,
    /// The terms of the question, in the form that the index contains.
    #[serde(skip)]
    pub terms: Vec<String>,
}

/// A scope outside the reach of a query, and what it contains of the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct ScopeMatches {
    /// The name of the scope.
    pub scope: String,
    /// The number of items that contain a word of the question and meet the conditions of the query, counted up to
    /// 1,000.
    pub matches: usize,
}

/// The JSON form of the number of omitted hits.
#[derive(Serialize, JsonSchema)]
pub struct LeftOut {
    /// The number of untrusted matches that the answer omits.
    pub(crate) untrusted: usize,
    /// The ways to see these matches; empty if there are none.
    pub(crate) shown_by: &'static [&'static str],
}

/// The ways to see untrusted items: in one answer, or from then on, after a person reviewed or ingested them.
const SHOWN_BY: &[&str] = &["--with-untrusted", "promote ID", "ingest --as-me PATH"];

impl LeftOut {
    /// Returns the form of the number of omitted matches.
    pub fn of(untrusted: usize) -> Self {
        let shown_by = if untrusted > 0 { SHOWN_BY } else { &[] };
        Self { untrusted, shown_by }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn left_out<S: Serializer>(count: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    LeftOut::of(*count).serialize(serializer)
}

impl Recalled {
    /// Returns the byte ranges of the matched words in the snippet of a hit.
    #[doc(hidden)]
    pub fn matches(&self, hit: &RecallHit) -> Vec<Range<usize>> {
        snippet(&hit.snippet, &self.terms, usize::MAX).matches
    }
}

/// The hits that fit into the budget of a query.
pub(super) struct Found<'a> {
    agent: &'a Agent,
    view: &'a View,
    query: &'a RecallQuery,
    /// The answer so far.
    pub(super) recalled: Recalled,
}

impl<'a> Found<'a> {
    pub(super) fn new(agent: &'a Agent, view: &'a View, query: &'a RecallQuery, terms: &[String]) -> Self {
        let scopes = query.reach.names();
        Self {
            agent,
            view,
            query,
            recalled: Recalled {
                hits: Vec::new(),
                no_good_match: false,
                tokens: 0,
                skipped: 0,
                left_out: 0,
                elsewhere: Vec::new(),
                root: view.root(),
                scopes: scopes.map(|names| names.into_iter().map(str::to_owned).collect()),
                reached: None,
                vectors: None,
                terms: terms.to_vec(),
            },
        }
    }

    /// Returns the hit for an item. The score and the reasons of the hit are placeholders that the caller replaces.
    pub(super) fn hit(&self, item: &Item, time: Time) -> Result<RecallHit> {
        let object = item.object();
        let mut text = self.query.full.then(|| self.full_text(item)).transpose()?;
        // The size is that of the stored text, so markers do not change which hits fit into a budget.
        let tokens = tokens(text.as_deref().unwrap_or_else(|| item.text()));
        // INVARIANT STX-1: neither the snippet nor the whole text shows a secret.
        let (shown, mut rules) = clean(self.agent, self.near_match(item.text()), object.origin());
        if let Some(text) = &mut text {
            (*text, rules) = clean(self.agent, text, object.origin());
        }
        let titles = Titles::of(object, |id| self.view.get(id))?.into_path();
        let titles = titles.iter().map(|title| {
            let (title, matched) = clean(self.agent, title, object.origin());
            rules.extend(matched);
            title
        });
        let titles = titles.collect();
        if self.view.conflict(object.id())?.is_some() {
            rules.push(kind::MERGE_CONFLICT);
        }
        Ok(RecallHit {
            id: object.id().clone(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            score: 1.0,
            is_weak: false,
            confidence: 1.0,
            titles,
            snippet: self.snippet(&shown),
            time,
            trust: object.origin(),
            flags: flags(object, rules),
            tokens,
            why: Vec::new(),
            superseded_by: Vec::new(),
            speaker: item.speaker(),
            session: item.session(),
            digest: object.digest(),
            text,
            reasons: self.query.explain.then(Vec::new),
        })
    }

    /// Returns the text of an item. Returns the original text of a shortened item if history still contains it.
    fn full_text(&self, item: &Item) -> Result<String> {
        let original = original_of(self.agent.memory(), item)?;
        let text = original.as_ref().and_then(Object::content);
        Ok(text.unwrap_or_else(|| item.text()).to_owned())
    }

    /// Returns the part of a text that the scan reads for a snippet: the whole text, or the context of the snippet.
    fn near_match<'t>(&self, text: &'t str) -> &'t str {
        if text.len() <= SCANNED_MAX {
            return text;
        }
        let found = snippet(text, &self.recalled.terms, SNIPPET_CHARS).text;
        let start = text.find(found).unwrap_or_default();
        &text[around(text, start..start + found.len())]
    }

    /// Returns the part of a text that contains the terms, with marks where text was cut off.
    fn snippet(&self, text: &str) -> String {
        // A short text is returned completely, without a search for the terms.
        if text.len() <= SNIPPET_CHARS {
            return text.to_owned();
        }
        let found = snippet(text, &self.recalled.terms, SNIPPET_CHARS);
        let mark = |is_cut: bool| if is_cut { CUT } else { "" };
        format!("{}{}{}", mark(found.cut.0), found.text, mark(found.cut.1))
    }

    /// Adds a hit if it fits into the budget. Otherwise counts it as skipped.
    pub(super) fn add(&mut self, hit: RecallHit) {
        let sum = self.recalled.tokens.saturating_add(hit.tokens);
        if self.query.budget.is_some_and(|budget| sum > budget) {
            self.recalled.skipped += 1;
            return;
        }
        self.recalled.tokens = sum;
        self.recalled.hits.push(hit);
    }
}

/// Returns `part` with [`CONTEXT`] on each side, at boundaries of characters.
fn around(text: &str, part: Range<usize>) -> Range<usize> {
    text.floor_char_boundary(part.start.saturating_sub(CONTEXT))
        ..text.ceil_char_boundary(part.end.saturating_add(CONTEXT))
}

/// Returns the event time of an object. Without an event time, returns the time of the first commit with the id of the
/// object.
pub(super) fn time_of(view: &View, object: &Object) -> Result<Time> {
    if let Some(time) = object.event_time() {
        return Ok(time);
    }
    let stamps = view.stamps(object.id())?;
    // In a damaged store, the time may be missing. Then the time of the commit of the state replaces it.
    Ok(stamps.map_or_else(|| view.commit().commit.time, |(created, _)| created))
}
