//! A question to recall, and its answer.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::agent::followed::Reached;
use crate::agent::item::Item;
use crate::agent::scope::Reach;
use crate::digest::{ObjectDigest, Root};
use crate::object::{Id, Kind, Object, Origin, Time, Value};
use crate::recall::{Reason, five_digits, snippet};

/// The default limit of hits.
pub(crate) const LIMIT: usize = 10;
/// The maximum number of characters of a snippet.
pub(super) const SNIPPET_CHARS: usize = 160;
/// The default weight of recency. A hit with all words and the present time gains this share of the best score of words
/// alone. After a day it gains half of that, after two days a third.
pub(super) const RECENCY: f32 = 0.3;

/// A question, and the conditions of its hits. A hit meets all of them.
#[expect(clippy::struct_excessive_bools, reason = "each flag is an independent option")]
#[must_use]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecallQuery {
    /// The question, or a statement. Without a word in it, recall shows the summaries around [`Self::when`].
    pub text: String,
    /// The scopes to search.
    pub reach: Reach,
    /// The limit of hits.
    pub limit: usize,
    /// The limit of the hits' texts together, in tokens. Recall skips a hit that does not fit.
    pub budget: Option<usize>,
    /// Only these kinds; empty means any.
    pub kinds: Vec<Kind>,
    /// Only items with all of these tags.
    pub tags: Vec<String>,
    /// Only items with at least one of these tags.
    pub any_tags: Vec<String>,
    /// Only items from this time on.
    pub since: Option<Time>,
    /// Only items before this time.
    pub until: Option<Time>,
    /// Also untrusted items.
    pub with_untrusted: bool,
    /// Only items of this speaker, or about this subject if they have no speaker. Case does not count.
    pub speaker: Option<String>,
    /// Only items with these attributes.
    pub attributes: Vec<(String, Value)>,
    /// Also expired items.
    pub include_expired: bool,
    /// Also superseded items; they rank below the items that supersede them.
    pub include_superseded: bool,
    /// The weight of recency; see `RECENCY`.
    pub recency: f32,
    /// Whether the newer of two leading hits comes first if the question asks for a current state.
    pub freshness: bool,
    /// The time of a query without words; without a time it shows the newest summaries.
    pub when: Option<Time>,
    /// Whether hits carry the whole text; of shortened items, the original text.
    pub full: bool,
    /// Whether hits carry every term of their scores.
    pub explain: bool,
    /// Whether hits count as used, for decay.
    pub touch: bool,
}

impl RecallQuery {
    /// Creates a question to all items of `reach`. It finds at most 10 trusted items that have not expired, superseded
    /// ones last. Each hit counts as used, for decay.
    pub fn new(text: impl Into<String>, reach: Reach) -> Self {
        Self {
            text: text.into(),
            reach,
            limit: LIMIT,
            budget: None,
            kinds: Vec::new(),
            tags: Vec::new(),
            any_tags: Vec::new(),
            since: None,
            until: None,
            with_untrusted: false,
            speaker: None,
            attributes: Vec::new(),
            include_expired: false,
            include_superseded: true,
            recency: RECENCY,
            freshness: true,
            when: None,
            full: false,
            explain: false,
            touch: true,
        }
    }

    /// Limits the number of hits.
    pub fn limit(mut self, hits: usize) -> Self {
        self.limit = hits;
        self
    }

    /// Limits the texts of the hits together, in tokens.
    pub fn budget(mut self, tokens: usize) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Finds items of this kind, and of the other kinds that are named.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Finds items with this tag, and with the other tags that are named.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Finds untrusted items too.
    pub fn with_untrusted(mut self) -> Self {
        self.with_untrusted = true;
        self
    }

    /// Counts no hit as used.
    pub fn without_touch(mut self) -> Self {
        self.touch = false;
        self
    }

    /// Whether a condition needs the object itself and not only the index.
    pub(super) fn looks_at_objects(&self) -> bool {
        !(self.kinds.is_empty()
            && self.tags.is_empty()
            && self.any_tags.is_empty()
            && self.attributes.is_empty()
            && self.since.is_none()
            && self.until.is_none()
            && self.speaker.is_none())
    }

    /// Whether an item of the time `time` meets every condition except expiry, supersession and trust.
    pub(super) fn accepts(&self, object: &Object, time: Time) -> bool {
        let item = Item::from(object.clone());
        // Two scopes share a key of the index only by chance. Even then nothing leaks (ASC-1).
        self.reach.has(object.scope())
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == object.kind()))
            && self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time < until)
            && item.has_tags(&self.tags, &self.any_tags)
            && self.speaker.as_ref().is_none_or(|asked| {
                let said = item.speaker().or_else(|| item.subject());
                said.is_some_and(|said| said.to_lowercase() == asked.to_lowercase())
            })
            && self
                .attributes
                .iter()
                .all(|(name, value)| object.attribute(name).as_ref() == Some(value))
    }
}

/// A hit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct RecallHit {
    /// Its id.
    pub id: Id,
    /// Its kind.
    pub kind: String,
    /// Its scope.
    pub scope: String,
    /// Its score; comparable within one answer.
    #[serde(serialize_with = "five_digits")]
    pub score: f32,
    /// The confidence that it answers the question, 0 to 1; comparable between answers.
    #[serde(serialize_with = "five_digits")]
    pub confidence: f32,
    /// The part of the text around the match.
    pub snippet: String,
    /// Its event time, else the time of the first commit with its id.
    pub time: Time,
    /// Its class of origin: a person, a model, a tool, a document. [`Memory::history`](crate::Memory::history) has the
    /// name of each writer.
    pub trust: Origin,
    /// The size of its text in tokens of about four characters.
    pub tokens: usize,
    /// The reasons in words, the most important first.
    pub why: Vec<&'static str>,
    /// The ids in reach that supersede it.
    pub superseded_by: Vec<Id>,
    /// The speaker that the item names; `None` if it names none. This is not the writer.
    pub speaker: Option<String>,
    /// Its session.
    pub session: Option<String>,
    /// The digest of its version.
    pub digest: ObjectDigest,
    /// The whole text, if [`RecallQuery::full`] is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Every term of the score, on request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<Reason>>,
}

/// The answer of a recall.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Recalled {
    /// The hits, best first; without a question the summaries in order of time.
    pub hits: Vec<RecallHit>,
    /// The size of their texts, in tokens.
    pub tokens: usize,
    /// The number of ranked hits that did not fit into the budget.
    pub skipped: usize,
    /// The number of untrusted matches that the answer omits, counted up to the limit of hits.
    #[serde(serialize_with = "left_out")]
    #[schemars(with = "LeftOut")]
    pub left_out: usize,
    /// The root of the state.
    pub root: Root,
    /// The terms of the question, as the index writes them.
    #[serde(skip)]
    pub terms: Vec<String>,
    /// The way in which the index reached the state; `None` for summaries, which need no index.
    #[serde(skip)]
    pub reached: Option<Reached>,
}

/// The count of omitted hits in JSON.
#[derive(Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    /// The number of untrusted matches.
    pub(crate) untrusted: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn left_out<S: Serializer>(count: &usize, serializer: S) -> Result<S::Ok, S::Error> {
    LeftOut { untrusted: *count }.serialize(serializer)
}

impl Recalled {
    /// The ranges of the matched words in a hit's snippet, in bytes.
    pub(crate) fn matches(&self, hit: &RecallHit) -> Vec<Range<usize>> {
        snippet(&hit.snippet, &self.terms, usize::MAX).matches
    }
}
