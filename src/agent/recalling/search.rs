//! `recall`: one ranked list over kinds and scopes, of any state.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - ASK-1: a hit belongs to a scope of the reach, and has every condition of the query.
//! - ASK-2: no item stands above one that takes its place, where both are hits.
//! - ASK-3: recall changes no state: the root before it is the root after it.
//! - ASK-4: what is not trusted is no hit unless it is asked for, and it is said that there is some.

use std::cell::RefCell;
use std::collections::HashMap;

use super::index::Indexed;
use super::query::{RecallHit, RecallQuery, Recalled, SNIPPET_CHARS};
use crate::agent::agent::Agent;
use crate::agent::item::Item;
use crate::agent::superseding::takes_place;
use crate::engine::View;
use crate::error::{ErrorKind, Result};
use crate::object::{Id, Object, Time};
use crate::recall::{self, Key, Moved, Scratch, Signal, snippet, tokens};

/// Reasons that are told in words.
const REASONS_TOLD: usize = 3;
/// What stands where a snippet was cut.
const CUT: &str = "\u{2026}";

impl Agent {
    /// Answers `query` from the state of `view`, at the time that the view says.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read; as [`Agent::with_index`].
    pub fn recall(&self, view: &View, query: &RecallQuery) -> Result<Recalled> {
        let recalled = if query.text.trim().is_empty() {
            self.reflect(view, query)?
        } else {
            self.search(view, query, None)?
        };
        if query.touch && view.root() == self.memory().view().root() {
            let ids = recalled.hits.iter().map(|hit| Id::new(&hit.id));
            let ids: Vec<Id> = ids.collect::<Result<_>>()?;
            self.memory().touch(&ids, view.now());
        }
        Ok(recalled)
    }

    /// Answers a query with words in it by the objects that `among` accepts, and counts nothing as used.
    ///
    /// # Errors
    /// As [`Agent::recall`].
    pub(crate) fn recall_among(
        &self,
        view: &View,
        query: &RecallQuery,
        among: &dyn Fn(&Object) -> bool,
    ) -> Result<Recalled> {
        self.search(view, query, Some(among))
    }

    fn search(
        &self,
        view: &View,
        query: &RecallQuery,
        among: Option<&dyn Fn(&Object) -> bool>,
    ) -> Result<Recalled> {
        let (indexed, reached) = self.indexed(view)?;
        let search = Search {
            view,
            query,
            among,
            indexed: &indexed,
            now: view.now(),
            accepted: RefCell::default(),
            links: RefCell::default(),
        };
        let answer = self.with_scratch(|scratch| {
            let scopes = query.reach.names();
            let filter = |key: &Key| search.accepts(key);
            let takes_place = |new: &Key, old: &Key| search.takes_place(new, old).unwrap_or(true);
            indexed.index.recall(
                &recall::Query {
                    scopes: scopes.as_deref(),
                    filter: search.needs_filter().then_some(&filter),
                    takes_place: Some(&takes_place),
                    embedder: self.embedder(),
                    now: Some(seconds(search.now)),
                    recency: query.recency,
                    freshness: query.freshness,
                    limit: query.limit,
                    ..recall::Query::new(&query.text)
                },
                scratch,
            )
        });
        let mut taking = Taking::new(query);
        for hit in &answer.hits {
            let Some(object) = object_at(view, &hit.key)? else {
                continue;
            };
            let item = Item::from(object);
            if item.session().is_none() && !says_something(hit) {
                continue;
            }
            let time = time_of(view, item.object())?;
            let mut reasons = hit.explain();
            let moved = hit.moved.map(|moved| match moved {
                Moved::Fresher => "newer than one that fits about as well",
                Moved::Successor => "takes the place of the one below",
            });
            let why = moved.into_iter().chain(told(&reasons)).collect();
            if !query.explain {
                reasons.clear();
            }
            let hit = RecallHit {
                score: hit.score,
                confidence: hit.confidence,
                why,
                reasons,
                superseded_by: search.successors(&hit.key)?,
                ..self.plain_hit(query, &item, time, &answer.terms)?
            };
            taking.take(hit);
        }
        let mut recalled = taking.finish(view);
        recalled.left_out = self.with_scratch(|scratch| search.left_out(scratch));
        recalled.reached = Some(reached);
        recalled.terms = answer.terms;
        Ok(recalled)
    }

    /// A hit as the item alone tells it.
    pub(super) fn plain_hit(
        &self,
        query: &RecallQuery,
        item: &Item,
        time: Time,
        terms: &[String],
    ) -> Result<RecallHit> {
        let object = item.object();
        let text = if query.full {
            Some(self.full_text(item)?)
        } else {
            None
        };
        Ok(RecallHit {
            id: object.id().to_owned(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            score: 1.0,
            confidence: 1.0,
            snippet: shown(item.text(), terms),
            time,
            trust: object.origin(),
            tokens: tokens(text.as_deref().unwrap_or_else(|| item.text())),
            why: Vec::new(),
            reasons: Vec::new(),
            superseded_by: Vec::new(),
            speaker: item.speaker(),
            session: item.session(),
            digest: object.digest(),
            text,
        })
    }

    /// The text of an item; of one that decay shortened, that of the original if it is still kept.
    fn full_text(&self, item: &Item) -> Result<String> {
        let original = self.original_of(item)?;
        let text = original.as_ref().and_then(Object::content);
        Ok(text.unwrap_or_else(|| item.text()).to_owned())
    }
}

/// Hits that are taken as long as the budget lasts.
pub(super) struct Taking<'a> {
    query: &'a RecallQuery,
    hits: Vec<RecallHit>,
    tokens: usize,
    skipped: usize,
}

impl<'a> Taking<'a> {
    pub(super) fn new(query: &'a RecallQuery) -> Self {
        Self {
            query,
            hits: Vec::new(),
            tokens: 0,
            skipped: 0,
        }
    }

    pub(super) fn take(&mut self, hit: RecallHit) {
        let sum = self.tokens.saturating_add(hit.tokens);
        if self.query.budget.is_some_and(|budget| sum > budget) {
            self.skipped += 1;
            return;
        }
        self.tokens = sum;
        self.hits.push(hit);
    }

    pub(super) fn finish(self, view: &View) -> Recalled {
        Recalled {
            hits: self.hits,
            tokens: self.tokens,
            skipped: self.skipped,
            left_out: 0,
            root: view.root(),
            terms: Vec::new(),
            reached: None,
        }
    }
}

/// One question to one state.
struct Search<'a> {
    view: &'a View,
    query: &'a RecallQuery,
    /// A further condition.
    among: Option<&'a dyn Fn(&Object) -> bool>,
    indexed: &'a Indexed,
    now: Time,
    /// What the conditions said of the objects that were looked at.
    accepted: RefCell<HashMap<Key, bool>>,
    /// Which of the links that were looked at count, the newer item first.
    links: RefCell<HashMap<(Key, Key), bool>>,
}

impl Search<'_> {
    fn looks_at_objects(&self) -> bool {
        self.among.is_some() || self.query.looks_at_objects()
    }

    fn needs_filter(&self) -> bool {
        self.looks_at_objects()
            || !self.query.include_superseded
            || (!self.query.include_expired && !self.indexed.expiries.is_empty())
            || self.leaves_untrusted_out()
    }

    /// Whether there is something to leave out.
    fn leaves_untrusted_out(&self) -> bool {
        !self.query.with_untrusted && !self.indexed.untrusted.is_empty()
    }

    /// How many of the untrusted have words of the question, counted up to the limit of hits.
    fn left_out(&self, scratch: &mut Scratch) -> usize {
        // Who chooses among objects does not read the answer.
        if self.among.is_some() || !self.leaves_untrusted_out() {
            return 0;
        }
        let scopes = self.query.reach.names();
        let index = &self.indexed.index;
        if let Some(scopes) = &scopes
            && !self.indexed.untrusted.iter().any(|key| index.is_in(key, scopes))
        {
            return 0;
        }
        let filter = |key: &Key| self.indexed.untrusted.contains(key) && self.meets(key);
        let found = index.nearest(
            &self.query.text,
            scopes.as_deref(),
            &filter,
            self.query.limit,
            scratch,
        );
        found.len()
    }

    /// Whether the item with this key may be a hit (ASK-1).
    fn accepts(&self, key: &Key) -> bool {
        (self.query.with_untrusted || !self.indexed.untrusted.contains(key)) && self.meets(key)
    }

    /// Whether every condition but that of trust holds. What cannot be read meets none.
    fn meets(&self, key: &Key) -> bool {
        let expired = || self.indexed.expiries.get(key).is_some_and(|at| *at <= self.now);
        if !self.query.include_expired && expired() {
            return false;
        }
        if !self.query.include_superseded && self.successors(key).is_ok_and(|ids| !ids.is_empty()) {
            return false;
        }
        if !self.looks_at_objects() {
            return true;
        }
        if let Some(known) = self.accepted.borrow().get(key) {
            return *known;
        }
        let found = object_at(self.view, key).ok().flatten();
        let accepted = found.is_some_and(|object| {
            let time = time_of(self.view, &object);
            time.is_ok_and(|time| self.query.accepts(&object, time))
                && self.among.is_none_or(|among| among(&object))
        });
        self.accepted.borrow_mut().insert(*key, accepted);
        accepted
    }

    /// The ids of what takes the place of an item, as far as the reach shows them.
    fn successors(&self, key: &Key) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for successor in self.indexed.index.superseded_by(key) {
            if !self.takes_place(&successor, key)? {
                continue;
            }
            let object = object_at(self.view, &successor)?;
            if let Some(object) = object.filter(|object| self.query.reach.has(object.scope())) {
                ids.push(object.id().to_owned());
            }
        }
        Ok(ids)
    }
}

impl Search<'_> {
    /// Whether an item that names another as superseded takes its place.
    fn takes_place(&self, new: &Key, old: &Key) -> Result<bool> {
        if let Some(known) = self.links.borrow().get(&(*new, *old)) {
            return Ok(*known);
        }
        let counts = match (object_at(self.view, new)?, object_at(self.view, old)?) {
            (Some(new), Some(old)) => takes_place(self.view, &new, &old)?,
            _ => false,
        };
        self.links.borrow_mut().insert((*new, *old), counts);
        Ok(counts)
    }
}

/// Whether a hit has anything of the question itself. What stands beside a match in a session or a conversation may be the
/// answer; elsewhere it was only stored at about the same time.
fn says_something(hit: &recall::Hit) -> bool {
    let own = [Signal::Base, Signal::Date, Signal::Event];
    hit.conversation
        || hit.dense > 0.0
        || hit.moved.is_some()
        || own.iter().any(|&signal| hit.signals[signal as usize] > 0.0)
}

/// The object that the index names so; `None` if it was erased.
fn object_at(view: &View, key: &Key) -> Result<Option<Object>> {
    match view.object_at(&key.0) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => Ok(found?.filter(|object| !object.is_placeholder())),
    }
}

/// When an item happened, else when it was first written.
pub(super) fn time_of(view: &View, object: &Object) -> Result<Time> {
    if let Some(time) = object.event_time() {
        return Ok(time);
    }
    let stamps = view.stamps(&Id::new(object.id())?)?;
    Ok(stamps.map_or_else(|| view.commit().commit.time, |(created, _)| created))
}

/// Seconds since 1970, as the index counts.
pub(super) fn seconds(time: Time) -> i64 {
    time.as_micros().div_euclid(1_000_000)
}

/// The part of a text that shows the terms, with marks where it was cut.
fn shown(text: &str, terms: &[String]) -> String {
    // Most texts are short: nothing has to be looked for in them.
    if text.len() <= SNIPPET_CHARS {
        return text.to_owned();
    }
    let found = snippet(text, terms, SNIPPET_CHARS);
    let (before, after) = found.cut;
    let front = if before { CUT } else { "" };
    let back = if after { CUT } else { "" };
    format!("{front}{}{back}", found.text)
}

/// What added most to the score, in words.
fn told(reasons: &[recall::Reason]) -> Vec<&'static str> {
    let gain = |reason: &recall::Reason| reason.value * reason.weight;
    let mut gains: Vec<&recall::Reason> = reasons.iter().filter(|reason| gain(reason) > 0.0).collect();
    gains.sort_by(|one, two| gain(two).total_cmp(&gain(one)));
    gains.truncate(REASONS_TOLD);
    gains.into_iter().map(|reason| reason.meaning).collect()
}

#[cfg(test)]
mod tests;
