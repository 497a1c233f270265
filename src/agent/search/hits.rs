//! Implements `recall` for a query with words: ranks the items of all kinds and scopes in any state.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - ASK-1: a hit belongs to a scope of the reach and meets every condition of the query.
//! - ASK-2: a hit never ranks above a hit that supersedes it.
//! - ASK-3: recall changes no state: the root stays the same.
//! - ASK-4: an untrusted item is a hit only if the query asks for untrusted items. The answer counts the omitted
//!   untrusted items.
//! - ASK-5: freshness ranks no untrusted item above a trusted item with a higher score.
//! - ASK-7: a hit ranks above turns of a transcript for being stated only if it is trusted.
//! - ASK-6: freshness compares two items only if both have event times, or were first written by different commits, or
//!   belong to one named session, whose order is known.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use super::found::{Found, RecallHit, Recalled, ScopeMatches, time_of};
use super::indexed::Content;
use super::query::RecallQuery;
use crate::agent::agent::Agent;
use crate::agent::item::Item;
use crate::agent::scope::Reach;
use crate::agent::superseding::{Superseding, object_at};
use crate::engine::View;
use crate::error::Result;
use crate::object::{Id, Object, Time};
use treering_text::recall::{self, Key, Meaning, Moved, Scratch, Signal, WEAK};

/// The maximum number of matches that are counted in a scope outside the reach.
pub const MATCHES_MAX: usize = 1_000;
/// The time in which a recall computes vectors that texts do not have yet.
const EMBEDDING_MAX: Duration = Duration::from_millis(300);
/// The maximum number of reasons that a hit lists in words.
const REASONS_TOLD: usize = 3;

/// Answers a query with words. If `among` is given, only objects for which `among` returns true can be hits. Does not
/// record the hits as used.
pub(in crate::agent) fn search(
    agent: &Agent,
    view: &View,
    query: &RecallQuery,
    among: Option<&dyn Fn(&Object) -> bool>,
) -> Result<Recalled> {
    let recalled = search_once(agent, view, query, among);
    // What a damaged file of vectors gave is not used, and the files are not read again.
    if agent.recall_index().drop_damaged_vectors(agent.memory()) {
        return search_once(agent, view, query, among);
    }
    recalled
}

fn search_once(
    agent: &Agent,
    view: &View,
    query: &RecallQuery,
    among: Option<&dyn Fn(&Object) -> bool>,
) -> Result<Recalled> {
    let recall_index = agent.recall_index();
    let limit = if query.embeds {
        EMBEDDING_MAX
    } else {
        Duration::ZERO
    };
    let vectors = recall_index.embed(agent.memory(), view, Some(limit))?;
    recall_index.read(view, |indexed, reached| {
        let search = Search {
            view,
            query,
            among,
            content: indexed.value(),
            now: view.now(),
            accepted: RefCell::default(),
            superseding: RefCell::new(Superseding::new(view)),
        };
        let recalled = search.recalled(agent)?;
        Ok(Recalled {
            reached: Some(reached),
            vectors: vectors.clone(),
            ..recalled
        })
    })
}

/// A query on one state.
struct Search<'a> {
    view: &'a View,
    query: &'a RecallQuery,
    /// An additional condition on objects.
    among: Option<&'a dyn Fn(&Object) -> bool>,
    content: &'a Content,
    now: Time,
    /// For each object that was checked, whether the object meets the conditions of the query.
    accepted: RefCell<HashMap<Key, bool>>,
    superseding: RefCell<Superseding<'a>>,
}

impl Search<'_> {
    fn recalled(&self, agent: &Agent) -> Result<Recalled> {
        let recall_index = agent.recall_index();
        let answer = recall_index.lend(|scratch| {
            let meaning = recall_index.meaning(&self.query.text);
            let meaning = meaning.as_ref().map(|meaning| meaning as &dyn Meaning);
            self.answer(meaning, scratch)
        });
        let mut found = Found::new(agent, self.view, self.query, &answer.terms);
        found.recalled.no_good_match = true;
        for hit in &answer.hits {
            let Some(object) = object_at(self.view, &hit.key)? else {
                continue;
            };
            let item = Item::from(object);
            if item.session().is_none() && !says_something(hit) {
                continue;
            }
            let is_weak = hit.score < WEAK;
            // A good match counts even if the budget has no room for it.
            found.recalled.no_good_match &= is_weak;
            let time = time_of(self.view, item.object())?;
            let reasons = hit.explain();
            let moved = hit.moved.map(|moved| match moved {
                Moved::Fresher => "newer than a hit of about the same relevance",
                Moved::Stated => "was stated as a fact, and the hits below were said",
                Moved::Tells => "states something, and the hits below ask what the question asks",
                Moved::Successor => "supersedes a hit that is ranked below",
            });
            let why = moved.into_iter().chain(in_words(&reasons)).collect();
            found.add(RecallHit {
                score: hit.score,
                is_weak,
                confidence: hit.confidence,
                why,
                reasons: self.query.explain.then_some(reasons),
                superseded_by: self.successors(&hit.key)?,
                ..found.hit(&item, time)?
            });
        }
        let mut recalled = found.recalled;
        recalled.left_out = answer.hidden;
        // With a model, unrelated items of the reach are weak hits.
        if recalled.no_good_match && self.among.is_none() {
            recalled.elsewhere = recall_index.lend(|scratch| self.elsewhere(scratch));
        }
        Ok(recalled)
    }

    /// Returns the ranked hits of the index.
    fn answer(&self, meaning: Option<&dyn Meaning>, scratch: &mut Scratch) -> recall::Answer {
        let scopes = self.query.reach.names();
        let filter = |key: &Key| self.accepts(key);
        let is_left_out = |key: &Key| self.content.is_untrusted(key) && self.meets(key);
        let supersedes = |new: &Key, old: &Key| self.supersedes(new, old).unwrap_or(true);
        let is_fresher = |new: &Key, old: &Key| self.is_fresher(new, old).unwrap_or(false);
        let text_of = |key: &Key| {
            let object = object_at(self.view, key).ok().flatten()?;
            object.content().map(str::to_owned)
        };
        self.content.index.recall(
            &recall::Query {
                scopes: scopes.as_deref(),
                filter: Some(&filter),
                hidden: self.leaves_out().then_some(&is_left_out),
                is_successor: Some(&supersedes),
                is_fresher: Some(&is_fresher),
                meaning,
                now: Some(self.now.as_micros().div_euclid(1_000_000)),
                recency: self.query.recency,
                freshness: self.query.freshness,
                limit: self.query.limit,
                text_of: Some(&text_of),
                // Who asks for turns may look for a question.
                omits_itself: self.query.kinds.is_empty(),
                ..recall::Query::new(&self.query.text)
            },
            scratch,
        )
    }

    /// Checks whether the answer may omit untrusted matches, and counts them. A caller that passes `among` does not use
    /// the count.
    fn leaves_out(&self) -> bool {
        let may = self.among.is_none() && !self.query.with_untrusted && !self.content.untrusted.is_empty();
        let has_some = |scope: &&str| self.content.has_untrusted_in(scope);
        may && (self.query.reach.names()).is_none_or(|scopes| scopes.iter().any(has_some))
    }

    /// Returns the scopes outside the reach that contain matches.
    fn elsewhere(&self, scratch: &mut Scratch) -> Vec<ScopeMatches> {
        let Some(searched) = self.query.reach.names() else {
            return Vec::new();
        };
        let query = RecallQuery {
            reach: Reach::All,
            ..self.query.clone()
        };
        let everywhere = Search {
            query: &query,
            view: self.view,
            among: None,
            content: self.content,
            now: self.now,
            accepted: RefCell::default(),
            superseding: RefCell::new(Superseding::new(self.view)),
        };
        let index = &self.content.index;
        let is_searched = |key: &Key| index.scope_of(key).is_some_and(|scope| searched.contains(&scope));
        let filter = |key: &Key| !is_searched(key) && everywhere.accepts(key);
        let matches = index.matches_by_scope(&self.query.text, &filter, MATCHES_MAX, scratch);
        let matches = matches.into_iter();
        matches
            .map(|(scope, matches)| ScopeMatches { scope, matches })
            .collect()
    }

    /// Checks whether the item with this key may be a hit (ASK-1).
    fn accepts(&self, key: &Key) -> bool {
        (self.query.with_untrusted || !self.content.is_untrusted(key)) && self.meets(key)
    }

    /// Checks whether the item with this key meets every condition except trust. Returns false if the item cannot be
    /// read.
    fn meets(&self, key: &Key) -> bool {
        let is_over = || {
            self.content
                .expiry(key)
                .is_some_and(|at| at <= self.now.as_micros())
        };
        if !self.query.include_expired && is_over() {
            return false;
        }
        if !self.query.include_superseded && self.has_successor(key).unwrap_or(false) {
            return false;
        }
        if self.among.is_none() && !self.query.looks_at_objects() {
            return true;
        }
        if !self.may_meet(key) {
            return false;
        }
        if let Some(known) = self.accepted.borrow().get(key) {
            return *known;
        }
        let found = object_at(self.view, key).ok().flatten();
        let accepted = found.is_some_and(|object| {
            let time = time_of(self.view, &object);
            time.is_ok_and(|time| self.query.accepts(self.view, &object, time))
                && self.among.is_none_or(|among| among(&object))
        });
        self.accepted.borrow_mut().insert(*key, accepted);
        accepted
    }

    /// Checks whether the item with this key may meet the conditions on its kind and tags, as far as the index tells. A
    /// search by meaning asks for very many items, so it reads only those.
    fn may_meet(&self, key: &Key) -> bool {
        let query = self.query;
        let has_tag = |tag: &String| self.content.may_have_tag(key, tag);
        (query.kinds.is_empty()
            || query
                .kinds
                .iter()
                .any(|kind| self.content.may_be(key, kind.as_str())))
            && query.tags.iter().all(has_tag)
            && (query.any_tags.is_empty() || query.any_tags.iter().any(has_tag))
    }

    /// Checks whether the item `new` supersedes the item `old`, which `new` names in `supersedes`.
    fn supersedes(&self, new: &Key, old: &Key) -> Result<bool> {
        self.superseding.borrow_mut().supersedes(new, old)
    }

    /// Checks whether the item `new` is newer than the item `old`, and may come before it (ASK-5, ASK-6).
    fn is_fresher(&self, new: &Key, old: &Key) -> Result<bool> {
        if self.content.is_untrusted(new) && !self.content.is_untrusted(old) {
            return Ok(false);
        }
        if self.content.index.is_later_in_session(new, old) {
            return Ok(true);
        }
        let (Some(new), Some(old)) = (object_at(self.view, new)?, object_at(self.view, old)?) else {
            return Ok(false);
        };
        let created = |object: &Object| -> Result<Option<Time>> {
            Ok(self.view.stamps(object.id())?.map(|(created, _)| created))
        };
        let have_times = new.event_time().is_some() && old.event_time().is_some();
        let are_apart = have_times || created(&new)? != created(&old)?;
        Ok(are_apart && time_of(self.view, &new)? > time_of(self.view, &old)?)
    }

    /// Checks whether an item within the reach of the query supersedes an item.
    fn has_successor(&self, key: &Key) -> Result<bool> {
        for successor in self.content.index.superseded_by(key) {
            if self.supersedes(&successor, key)? && self.in_reach(&successor)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns an object if it is within the reach of the query.
    fn in_reach(&self, key: &Key) -> Result<Option<Object>> {
        Ok(object_at(self.view, key)?.filter(|object| self.query.reach.has(object.scope())))
    }

    /// Returns the ids of the items that supersede an item. Omits items outside the reach of the query.
    fn successors(&self, key: &Key) -> Result<Vec<Id>> {
        let mut ids = Vec::new();
        for successor in self.content.index.superseded_by(key) {
            if !self.supersedes(&successor, key)? {
                continue;
            }
            ids.extend(self.in_reach(&successor)?.map(|object| object.id().clone()));
        }
        Ok(ids)
    }
}

/// Checks whether a hit may be an answer. The hit must match the question, or be next to a match in a conversation. Any
/// other neighbour of a match is excluded: it was only stored at about the same time, so it is unrelated.
fn says_something(hit: &recall::Hit) -> bool {
    use Signal::{Base, Date, Event, Speaker, Vector};
    let own = [Base, Speaker, Date, Event, Vector];
    hit.conversation || hit.moved.is_some() || own.iter().any(|&signal| hit.signals[signal as usize] > 0.0)
}

/// Returns the reasons that added most to the score, in words.
fn in_words(reasons: &[recall::Reason]) -> Vec<&'static str> {
    let gain = |reason: &recall::Reason| reason.value * reason.weight;
    let mut gains: Vec<&recall::Reason> = reasons.iter().filter(|reason| gain(reason) > 0.0).collect();
    gains.sort_by(|one, two| gain(two).total_cmp(&gain(one)));
    gains.truncate(REASONS_TOLD);
    gains.into_iter().map(|reason| reason.meaning).collect()
}

#[cfg(test)]
mod tests;
