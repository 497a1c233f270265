//! The query of a recall, and the answer.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::agent::item::Item;
use crate::agent::scope::Reach;
use crate::digest::{ObjectDigest, Root};
use crate::engine::Reached;
use crate::object::{Id, Kind, Object, Origin, Time, Value};
use treering_text::recall::{Reason, five_digits, snippet};

/// The default limit on the number of hits.
pub const LIMIT: usize = 10;
/// The maximum number of characters of a snippet.
pub(super) const SNIPPET_CHARS: usize = 160;
/// The default weight of recency. A hit of the present time that contains all words gains this fraction of the best
/// score of words alone. A hit of one day ago gains half of this fraction, and a hit of two days ago a third.
pub(super) const RECENCY: f32 = 0.3;

/// A question, and the conditions on its hits. A hit meets all these conditions.
#[expect(clippy::struct_excessive_bools, reason = "each flag is an independent option")]
#[must_use]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RecallQuery {
    /// The question, or a statement. If the text is empty, recall returns the summaries around [`Self::when`].
    pub text: String,
    /// The scopes to search.
    pub reach: Reach,
    /// The maximum number of hits.
    pub limit: usize,
    /// The maximum total size of the texts of all hits, in tokens. Recall skips a hit that does not fit.
    pub budget: Option<usize>,
    /// Only items of these kinds. An empty list matches every kind.
    pub kinds: Vec<Kind>,
    /// Only items with all of these tags.
    pub tags: Vec<String>,
    /// Only items with at least one of these tags.
    pub any_tags: Vec<String>,
    /// Only items whose time is at or after this time.
    pub since: Option<Time>,
    /// Only items whose time is before this time.
    pub until: Option<Time>,
    /// Whether untrusted items can be hits.
    pub with_untrusted: bool,
    /// Only items of this speaker. An item without a speaker matches if its subject has this name. Case is ignored.
    pub speaker: Option<String>,
    /// Only items with these attributes.
    pub attributes: Vec<(String, Value)>,
    /// Whether expired items can be hits.
    pub include_expired: bool,
    /// Whether superseded items can be hits. A superseded item ranks below the items that supersede it.
    pub include_superseded: bool,
    /// The weight of recency in the score; 0 ignores recency.
    pub recency: f32,
    /// Whether a newer hit may rank above a slightly better hit if the question asks for the current state.
    pub freshness: bool,
    /// The time around which an empty question returns summaries. With `None`, an empty question returns the newest
    /// summaries.
    pub when: Option<Time>,
    /// Whether hits contain the complete text, and the original text of shortened items.
    pub full: bool,
    /// Whether each hit lists all reasons for its score, with their values.
    pub explain: bool,
    /// Whether recall records the hits as used, which delays their decay.
    pub touch: bool,
}

impl RecallQuery {
    /// Creates a query over all items of `reach`. The query finds at most 10 trusted items that have not expired. A
    /// superseded item ranks below the item that supersedes it. Each hit is recorded as used, which delays its decay.
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

    /// Limits the total size of the texts of all hits, in tokens.
    pub fn budget(mut self, tokens: usize) -> Self {
        self.budget = Some(tokens);
        self
    }

    /// Adds a kind to the accepted kinds. The query then finds only items of an accepted kind.
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Adds a required tag. The query then finds only items with all required tags.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Allows untrusted items as hits.
    pub fn with_untrusted(mut self) -> Self {
        self.with_untrusted = true;
        self
    }

    /// Sets [`Self::touch`] to false, so that recall does not record the hits as used.
    pub fn without_touch(mut self) -> Self {
        self.touch = false;
        self
    }

    /// Checks whether a condition needs the object itself, because the index does not contain the field.
    pub(super) fn looks_at_objects(&self) -> bool {
        !(self.kinds.is_empty()
            && self.tags.is_empty()
            && self.any_tags.is_empty()
            && self.attributes.is_empty()
            && self.since.is_none()
            && self.until.is_none()
            && self.speaker.is_none())
    }

    /// Checks whether an item with the time `time` meets every condition except expiry, supersession and trust.
    pub(super) fn accepts(&self, object: &Object, time: Time) -> bool {
        let item = Item::from(object.clone());
        // The keys of two scopes can collide in the index. This check excludes hits of the wrong scope (ASC-1).
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
    /// The score. Only scores of the same answer can be compared.
    #[serde(serialize_with = "five_digits")]
    pub score: f32,
    /// The confidence that the hit answers the question, 0 to 1. Confidences of different answers can be compared.
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
    /// The rules of the scan that the text matched when it was written, or matches now.
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
    /// The total size of the texts of the hits, in tokens.
    pub tokens: usize,
    /// The number of ranked hits that did not fit into the budget.
    pub skipped: usize,
    /// The number of untrusted matches that the answer omits, counted up to the limit of hits.
    #[serde(serialize_with = "left_out")]
    #[schemars(with = "LeftOut")]
    pub left_out: usize,
    /// If there are no hits, the other scopes that contain matches, in the order of their names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<ScopeMatches>,
    /// The root of the state that was searched.
    pub root: Root,
    /// The terms of the question, in the form that the index contains.
    #[serde(skip)]
    pub terms: Vec<String>,
    /// The way in which the index was prepared; `None` for summaries, because summaries need no index.
    #[serde(skip)]
    pub reached: Option<Reached>,
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
    pub fn matches(&self, hit: &RecallHit) -> Vec<Range<usize>> {
        snippet(&hit.snippet, &self.terms, usize::MAX).matches
    }
}
