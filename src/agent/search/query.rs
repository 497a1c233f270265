//! The query of a recall.
//!
//! # Layer
//! Layer 7, inside `agent`.

use crate::agent::item::Item;
use crate::agent::scope::Reach;
use crate::agent::vocabulary::kind;
use crate::engine::View;
use crate::object::{Id, Kind, Object, Time, Value};

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
    /// Whether recall first computes vectors of texts that have none. Without it, a recall by meaning takes less time, and
    /// finds such texts by words only.
    pub embeds: bool,
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
            embeds: true,
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
    pub(super) fn accepts(&self, view: &View, object: &Object, time: Time) -> bool {
        let item = Item::from(object.clone());
        // The keys of two scopes can collide in the index. This check excludes hits of the wrong scope (ASC-1).
        self.reach.has(object.scope())
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind.as_str() == object.kind()))
            && self.since.is_none_or(|since| since <= time)
            && self.until.is_none_or(|until| time < until)
            && (item.has_tags(&self.tags, &self.any_tags) || self.has_tags_above(view, object))
            && self.speaker.as_ref().is_none_or(|asked| {
                let said = item.speaker().or_else(|| item.subject());
                said.is_some_and(|said| said.to_lowercase() == asked.to_lowercase())
            })
            && self
                .attributes
                .iter()
                .all(|(name, value)| object.attribute(name).as_ref() == Some(value))
    }

    /// Checks whether a section of a document has the tags together with the headings above it and the document, as in
    /// Org. A section that cannot be read has none.
    fn has_tags_above(&self, view: &View, object: &Object) -> bool {
        /// The maximum number of objects above a section that are read.
        const DEPTH_MAX: usize = 16;
        if object.kind() != kind::HEADING {
            return false;
        }
        let mut tags = Item::from(object.clone()).tags();
        let mut next = Some(object.clone());
        for _ in 0..DEPTH_MAX {
            let parent = next.and_then(|object| Id::new(object.parent()?).ok());
            next = parent.and_then(|parent| view.get(&parent).ok().flatten());
            let Some(above) = &next else { break };
            tags.extend(Item::from(above.clone()).tags());
        }
        self.tags.iter().all(|tag| tags.contains(tag))
            && (self.any_tags.is_empty() || self.any_tags.iter().any(|tag| tags.contains(tag)))
    }
}
