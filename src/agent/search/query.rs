//! What recall is asked, and what it answers.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::ops::Range;

use super::indexed::Reached;
use crate::agent::item::Item;
use crate::agent::scope::Reach;
use crate::digest::{ObjectDigest, Root};
use crate::object::{Attributes, Kind, Object, Origin, Time, Value};
use crate::recall::{Reason, snippet};

/// Hits of a query that names no number.
pub const LIMIT: usize = 10;
/// Characters of a snippet.
pub const SNIPPET_CHARS: usize = 160;
/// What recency weighs unless said otherwise: a hit that has all the words and happened just now gains this much of the
/// best score that words alone can have, half as much after a day, a third after two.
pub const RECENCY: f32 = 0.3;

/// What is asked, and which items may answer. All conditions that are given must hold.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition or a wish of its own"
)]
#[derive(Clone, Debug)]
pub struct RecallQuery {
    /// The question, or a statement. Without a word in it, recall reflects: it shows the summaries around [`Self::when`].
    pub text: String,
    /// The scopes that may answer.
    pub reach: Reach,
    /// The most hits.
    pub limit: usize,
    /// The most tokens that the texts of the hits take together; what does not fit is skipped.
    pub budget: Option<usize>,
    /// Only these kinds; empty is any.
    pub kinds: Vec<Kind>,
    /// Only items with all of these tags.
    pub tags: Vec<String>,
    /// Only items with one of these tags at least.
    pub any_tags: Vec<String>,
    /// Only what happened then or later.
    pub since: Option<Time>,
    /// Only what happened before then.
    pub until: Option<Time>,
    /// Also items of the untrusted classes of origin.
    pub with_untrusted: bool,
    /// Only items of this speaker, or about this subject where nobody speaks; upper and lower case are the same.
    pub speaker: Option<String>,
    /// Only items with these attributes.
    pub attributes: Vec<(String, Value)>,
    /// Also items that have expired.
    pub include_expired: bool,
    /// Also items that others take the place of; they stand below those.
    pub include_superseded: bool,
    /// What recency weighs; see [`RECENCY`].
    pub recency: f32,
    /// Whether the newer of two leading hits comes first where the question asks how things stand.
    pub freshness: bool,
    /// The time that an empty query looks around; without one it shows the newest summaries.
    pub when: Option<Time>,
    /// Whether hits carry the whole text, of shortened items that of the original.
    pub full: bool,
    /// Whether hits carry every term of their score.
    pub explain: bool,
    /// Whether what is returned counts as used, for decay.
    pub touch: bool,
}

impl RecallQuery {
    /// A question to all items of `reach`, with the usual settings.
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

    /// Whether a condition looks at more than the index knows.
    pub(super) fn looks_at_objects(&self) -> bool {
        !(self.kinds.is_empty()
            && self.tags.is_empty()
            && self.any_tags.is_empty()
            && self.attributes.is_empty()
            && self.since.is_none()
            && self.until.is_none()
            && self.speaker.is_none())
    }

    /// Whether every condition but expiry, supersession and trust holds for an item that happened at `time`.
    pub(super) fn accepts(&self, object: &Object, time: Time) -> bool {
        let item = Item::from(object.clone());
        // Two scopes may share a key of the index only by chance; nothing may leak even then (ASC-1).
        self.reach.has(object.scope())
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == object.kind()))
            && self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time < until)
            && self.accepts_tags(&item)
            && self.accepts_speaker(&item)
            && self.accepts_attributes(&object.attributes())
    }

    fn accepts_tags(&self, item: &Item) -> bool {
        if self.tags.is_empty() && self.any_tags.is_empty() {
            return true;
        }
        let tags = item.tags();
        self.tags.iter().all(|tag| tags.contains(tag))
            && (self.any_tags.is_empty() || self.any_tags.iter().any(|tag| tags.contains(tag)))
    }

    fn accepts_speaker(&self, item: &Item) -> bool {
        let Some(asked) = &self.speaker else { return true };
        let said = item.speaker().or_else(|| item.subject());
        said.is_some_and(|said| said.to_lowercase() == asked.to_lowercase())
    }

    fn accepts_attributes(&self, attributes: &Attributes) -> bool {
        self.attributes
            .iter()
            .all(|(name, value)| attributes.get(name) == Some(value))
    }
}

/// An item that was found.
#[derive(Clone, Debug)]
pub struct RecallHit {
    /// Its id.
    pub id: String,
    /// What sort of item.
    pub kind: String,
    /// Where it belongs.
    pub scope: String,
    /// How well it fits; comparable within one answer.
    pub score: f32,
    /// How sure it is that it says what the query says, 0 to 1; comparable between answers.
    pub confidence: f32,
    /// The part of the text around what was found.
    pub snippet: String,
    /// When it happened, else when it was stored.
    pub time: Time,
    /// The class of source that it comes from.
    pub trust: Origin,
    /// What its text takes in a prompt, a token being about four characters.
    pub tokens: usize,
    /// In words, what brought it here, most important first.
    pub why: Vec<&'static str>,
    /// Every term of the score, if they were asked for.
    pub reasons: Vec<Reason>,
    /// The ids of the items of the same reach that take its place.
    pub superseded_by: Vec<String>,
    /// Who said it.
    pub speaker: Option<String>,
    /// The session it was said in.
    pub session: Option<String>,
    /// Its version.
    pub digest: ObjectDigest,
    /// The whole text, if it was asked for.
    pub text: Option<String>,
}

/// What recall answers.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The hits, best first; of an empty query the summaries in order of time.
    pub hits: Vec<RecallHit>,
    /// What their texts take together.
    pub tokens: usize,
    /// How many that ranked among them did not fit into the budget.
    pub skipped: usize,
    /// How many items have words of the question, or are summaries of a reflection, and are left out because they are not
    /// trusted; more than the limit of hits are not counted.
    pub left_out: usize,
    /// The state that answered.
    pub root: Root,
    /// What was looked for, as the index writes words.
    pub terms: Vec<String>,
    /// How the index came to that state; `None` of a reflection, which needs none.
    pub reached: Option<Reached>,
}

impl Recalled {
    /// The words of a hit's snippet that were looked for, as ranges of its bytes.
    pub fn matches(&self, hit: &RecallHit) -> Vec<Range<usize>> {
        snippet(&hit.snippet, &self.terms, usize::MAX).matches
    }
}
