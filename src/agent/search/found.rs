//! Collects the hits of an answer within the budget of its query.
//!
//! # Layer
//! Layer 7, inside `agent`.

use std::ops::Range;

use super::query::{RecallHit, RecallQuery, Recalled, SNIPPET_CHARS};
use crate::agent::agent::Agent;
use crate::agent::decay::original_of;
use crate::agent::item::Item;
use crate::agent::stored_text::{clean, flags};
use crate::agent::titles::Titles;
use crate::engine::View;
use crate::error::Result;
use crate::object::{Object, Time};
use treering_text::recall::{snippet, tokens};

/// The mark at each end of a snippet where text was cut off.
const CUT: &str = "\u{2026}";
/// The length in bytes up to which the scan reads the whole text of a hit for its snippet.
const SCANNED_MAX: usize = 64 << 10;
/// The number of bytes that the scan reads on each side of the snippet of a longer text. A secret that the snippet cuts
/// is recognised if this context contains it.
const CONTEXT: usize = 8 << 10;

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
                tokens: 0,
                skipped: 0,
                left_out: 0,
                elsewhere: Vec::new(),
                root: view.root(),
                scopes: scopes.map(|names| names.into_iter().map(str::to_owned).collect()),
                reached: None,
                terms: terms.to_vec(),
            },
        }
    }

    /// Returns the hit for an item. The score and the reasons of the hit are placeholders that the caller replaces.
    pub(super) fn hit(&self, item: &Item, time: Time) -> Result<RecallHit> {
        let object = item.object();
        let scanner = self.agent.scanner();
        let mut text = self.query.full.then(|| self.full_text(item)).transpose()?;
        // The size is that of the stored text, so markers do not change which hits fit into a budget.
        let tokens = tokens(text.as_deref().unwrap_or_else(|| item.text()));
        // INVARIANT STX-1: neither the snippet nor the whole text shows a secret.
        let (shown, mut rules) = clean(scanner, self.near_match(item.text()));
        if let Some(text) = &mut text {
            (*text, rules) = clean(scanner, text);
        }
        let titles = Titles::of(object, |id| self.view.get(id))?.into_path();
        let titles = titles.iter().map(|title| {
            let (title, matched) = clean(scanner, title);
            rules.extend(matched);
            title
        });
        let titles = titles.collect();
        Ok(RecallHit {
            id: object.id().clone(),
            kind: object.kind().to_owned(),
            scope: object.scope().to_owned(),
            score: 1.0,
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
