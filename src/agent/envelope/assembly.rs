//! The verb `envelope`: selects the items for the renderer.
//!
//! The items come from the state, not from an earlier recall. The envelope omits expired, superseded and too sensitive
//! items. The state contains no forgotten items. Every text is scanned again, because the scan may have new rules since
//! the text was written.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - MKE-1: a secret that the scan recognises is never shown, regardless of how it was stored.
//! - MKE-2: an item is hidden as superseded only by an item of at least equal trust, in a scope of the request.
//! - MKE-3: every record belongs to a scope of the request.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::{Envelope, Shown};
use super::render::{Boundary, Omitted, Record, Request};
use super::sections::Section;
use super::selection::Selection;
use super::shelves::{Shelf, Shelves, times};
use crate::agent::index_keys::key_at;
use crate::agent::item::{Item, Sensitivity};
use crate::agent::search::search;
use crate::agent::session::root_session;
use crate::agent::superseding::{Superseding, object_at};
use crate::agent::titles::{BETWEEN, Titles};
use crate::agent::vocabulary::kind;
use crate::agent::{Agent, Reach, RecallQuery};
use crate::digest::Root;
use crate::engine::{Memory, View};
use crate::error::Result;
use crate::object::{Id, Object, Time};
use treering_text::recall::{Key, tokens};
use treering_text::scan::{Category, Severity};

/// The maximum number of candidates of a section. More candidates would not fit into a usual budget.
const CANDIDATES_MAX: usize = 300;
/// The maximum number of hits of a query.
const HITS_MAX: usize = 100;
/// The maximum number of rules in the flags of a record.
const FLAGS_SHOWN: usize = 3;
/// The default budget: 20,000 characters.
const BUDGET_TOKENS: usize = 5000;

/// A request for an envelope.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EnvelopeRequest {
    /// The query that facts must match. Without a query, the envelope shows pinned facts, then the newest facts.
    pub query: Option<String>,
    /// The scopes to read.
    pub reach: Reach,
    /// The maximum size of the whole text, in tokens.
    pub budget_tokens: usize,
    /// The session whose context the host compacts. The envelope shows the notes of its root session.
    pub compaction: Option<String>,
    /// Whether the envelope shows untrusted items, in a separate section.
    pub with_untrusted: bool,
    /// The most sensitive class of items that the envelope shows.
    pub sensitivity_max: Sensitivity,
    /// A word in the opening and closing lines that no record may repeat.
    pub boundary: Option<Boundary>,
    /// Whether the envelope shows the notes of every session of these scopes, because a session begins with them.
    pub all_notes: bool,
    /// Only these items, best first, as far as the request permits them. They take the place of a query.
    pub only: Option<Vec<Id>>,
}

impl EnvelopeRequest {
    /// Returns a request for one turn of a conversation: at most 5,000 tokens, no untrusted items, and nothing more
    /// sensitive than `internal`.
    pub fn new(reach: Reach) -> Self {
        Self {
            query: None,
            reach,
            budget_tokens: BUDGET_TOKENS,
            compaction: None,
            with_untrusted: false,
            sensitivity_max: Sensitivity::Internal,
            boundary: None,
            all_notes: false,
            only: None,
        }
    }

    fn shows_notes(&self) -> bool {
        self.all_notes || self.compaction.is_some()
    }

    /// Checks whether the request permits the kind, origin and sensitivity of an object.
    fn may_show(&self, object: &Object) -> bool {
        let has_place = match Section::of_kind(object.kind()) {
            Some(Section::SessionNotes) => self.shows_notes(),
            section => section.is_some(),
        };
        has_place
            && (self.with_untrusted || object.origin().is_trusted())
            && Item::from(object.clone()).sensitivity() <= self.sensitivity_max
    }
}

/// An envelope, with the counts of omitted items.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct EnvelopeAnswer {
    /// The text for the prompt; empty if there are no records. Never put it into a message with the role `system`.
    pub text: String,
    /// The records in the text, in order.
    pub shown: Vec<Shown>,
    /// The numbers of omitted items.
    pub left_out: Omitted,
    /// The root of the state that the envelope shows.
    pub root: Root,
    /// The size of the text, in tokens.
    pub tokens: usize,
}

/// Implements [`Agent::envelope`].
pub(in crate::agent) fn envelope(
    agent: &Agent,
    view: &View,
    request: &EnvelopeRequest,
) -> Result<EnvelopeAnswer> {
    let query = request.query.as_deref();
    let hits = match (&request.only, query) {
        (Some(ids), _) => Some(found_items(view, ids)?),
        (None, Some(query)) => Some(hits(agent, view, request, query)?),
        (None, None) => None,
    };
    let session = request.compaction.as_deref();
    let compacted = session.map(|session| root_session(view, session)).transpose()?;
    let root = view.root().to_hex();
    let of_page = Request {
        root: &root,
        compacted: compacted.as_deref(),
        all_notes: request.all_notes,
        budget_tokens: request.budget_tokens,
        with_untrusted: request.with_untrusted,
        boundary: request.boundary.clone(),
    };
    let (envelope, left_out) = agent.with_shelves(view, |shelves| {
        let assembly = Assembly {
            view,
            request,
            shelves,
            hits: hits.as_deref(),
            agent,
        };
        assembly.select(&of_page)
    })?;
    if let Some(hits) = &hits {
        touch_shown(agent.memory(), view, hits, &envelope.shown);
    }
    let text = envelope.to_string();
    Ok(EnvelopeAnswer {
        tokens: tokens(&text),
        text,
        shown: envelope.shown,
        left_out,
        root: view.root(),
    })
}

/// An item that recall found.
struct FoundItem {
    item: Item,
    key: Key,
    section: Section,
}

/// Returns the items that recall finds among the objects that may be shown, best first.
fn hits(agent: &Agent, view: &View, request: &EnvelopeRequest, query: &str) -> Result<Vec<FoundItem>> {
    let asked = RecallQuery {
        limit: HITS_MAX,
        // Most hits may not fit into the budget, so `touch_shown` counts only the shown hits as used.
        touch: false,
        include_superseded: false,
        with_untrusted: request.with_untrusted,
        ..RecallQuery::new(query, request.reach.clone())
    };
    let found = search(agent, view, &asked, Some(&|object| request.may_show(object)))?;
    found_items(view, found.hits.iter().map(|hit| &hit.id))
}

/// Returns the items with these ids that have a section, in their order.
fn found_items<'a>(view: &View, ids: impl IntoIterator<Item = &'a Id>) -> Result<Vec<FoundItem>> {
    let mut items = Vec::new();
    for id in ids {
        let item = view.get(id)?.map(Item::from);
        items.extend(item.and_then(|item| {
            Some(FoundItem {
                section: Section::of_kind(item.object().kind())?,
                key: key_at(&view.key(id)),
                item,
            })
        }));
    }
    Ok(items)
}

/// Updates the last-access times of the shown hits, which decay reads.
fn touch_shown(memory: &Memory, view: &View, hits: &[FoundItem], shown: &[Shown]) {
    if view.root() != memory.view().root() {
        return;
    }
    let shown: HashSet<&str> = shown.iter().map(|shown| shown.id.as_str()).collect();
    let ids = hits.iter().map(|hit| hit.item.object().id());
    let used: Vec<&Id> = ids.filter(|id| shown.contains(id.as_str())).collect();
    memory.touch(used, view.now());
}

/// The selection of the items of one state.
struct Assembly<'a> {
    view: &'a View,
    request: &'a EnvelopeRequest,
    shelves: &'a Shelves,
    /// The hits of the query.
    hits: Option<&'a [FoundItem]>,
    agent: &'a Agent,
}

impl Assembly<'_> {
    /// Selects the records, and counts the omitted items.
    fn select(&self, of_page: &Request<'_>) -> Result<(Envelope, Omitted)> {
        let mut left_out = Omitted::default();
        let shelves: Vec<Shelf> = self.all_shelves();
        let shown: Vec<&Shelf> = shelves
            .iter()
            .filter(|shelf| self.is_open(shelf, &mut left_out))
            .collect();
        let items = shown.iter().map(|shelf| shelf.live).sum();
        let mut selection = Selection::new(of_page, items, left_out);
        let mut superseding = Superseding::new(self.view);
        for section in Section::by_turn() {
            let in_section = shown.iter().copied().filter(|shelf| place_of(shelf) == section);
            let in_section: Vec<&Shelf> = in_section.collect();
            self.fill(&mut selection, section, &in_section, &mut superseding)?;
        }
        Ok(selection.finish())
    }

    /// Returns the shelves of the requested scopes (MKE-3).
    fn all_shelves(&self) -> Vec<Shelf> {
        let now = self.view.now();
        match self.request.reach.names() {
            None => self.shelves.of_scope(None, now),
            Some(mut scopes) => {
                scopes.sort_unstable();
                scopes.dedup();
                let scopes = scopes.into_iter();
                scopes
                    .flat_map(|scope| self.shelves.of_scope(Some(scope), now))
                    .collect()
            }
        }
    }

    /// Checks whether the items of a shelf may be shown, and counts the items that may not.
    fn is_open(&self, shelf: &Shelf, left_out: &mut Omitted) -> bool {
        left_out.expired += shelf.expired;
        let count = if shelf.sensitivity > self.request.sensitivity_max {
            &mut left_out.sensitive
        } else if shelf.section == Section::SessionNotes && !self.request.shows_notes() {
            &mut left_out.notes
        } else if !shelf.origin.is_trusted() && !self.request.with_untrusted {
            &mut left_out.untrusted
        } else {
            return true;
        };
        *count += shelf.live;
        false
    }

    /// Offers the items of a section: the pinned ones, the hits of the query, and then the others. [`Shelves::ranked`]
    /// orders the pinned ones and the others.
    fn fill(
        &self,
        selection: &mut Selection<'_>,
        section: Section,
        shelves: &[&Shelf],
        superseding: &mut Superseding<'_>,
    ) -> Result<()> {
        let now = self.view.now();
        let hits = self.hits.unwrap_or_default().iter();
        let are_all = self.request.only.is_some();
        let is_hit = |hit: &&FoundItem| {
            let is_here = place_of_item(&hit.item, hit.section) == section;
            is_here && (!hit.item.is_pinned() || (are_all && self.request.may_show(hit.item.object())))
        };
        let hits = hits.filter(is_hit);
        let hits: Vec<&FoundItem> = hits.collect();
        let found: HashSet<Key> = hits.iter().map(|hit| hit.key).collect();
        let (pinned, others): (Vec<&Shelf>, Vec<&Shelf>) = shelves.iter().partition(|shelf| shelf.is_pinned);
        // A query filters only facts. Other sections also show items that are not hits, after the hits.
        let (beside, others): (Vec<&Shelf>, Vec<&Shelf>) = others
            .into_iter()
            .partition(|shelf| self.hits.is_some() && shelf.section == Section::PersistentMemory);
        let count = |shelves: &[&Shelf]| shelves.iter().map(|shelf| shelf.live).sum::<usize>();
        let facts_found = hits
            .iter()
            .filter(|hit| hit.section == Section::PersistentMemory)
            .count();
        let mut left = count(shelves) - count(&beside) + facts_found;
        selection.next_section();
        selection.omit(
            |left_out| &mut left_out.beside,
            count(&beside).saturating_sub(facts_found),
        );
        let last_rank = self.hits.map_or(1, |_| u32::MAX);
        let pinned = self.shelves.ranked(section, &pinned, now).map(|key| (0, key));
        let pinned = (!are_all).then_some(pinned);
        let ranked = hits.iter().zip(1..).map(|(hit, rank)| (rank, hit.key));
        let others = self.shelves.ranked(section, &others, now);
        let others = others
            .filter(|key| !found.contains(key))
            .map(|key| (last_rank, key));
        let others = (!are_all).then_some(others);
        let mut room = CANDIDATES_MAX;
        for (rank, key) in pinned
            .into_iter()
            .flatten()
            .chain(ranked)
            .chain(others.into_iter().flatten())
        {
            let over = selection.is_done(section);
            let is_last = room == 0;
            if let Some(count) = over.or(is_last.then_some(|left_out| &mut left_out.beside)) {
                selection.omit(count, left);
                break;
            }
            left = left.saturating_sub(1);
            let Some(object) = object_at(self.view, &key)? else {
                continue;
            };
            if !self.request.reach.has(object.scope()) {
                // The hashes of two scopes collide (MKE-3).
                continue;
            }
            if self.is_superseded(&key, superseding)? {
                selection.omit(|left_out| &mut left_out.superseded, 1);
                continue;
            }
            room -= 1;
            let record = self.record_of(&Item::from(object), rank)?;
            if selection.admit(&record) == Some(section) {
                selection.offer(section, record);
            }
        }
        if are_all {
            selection.omit(|left_out| &mut left_out.beside, left);
        }
        Ok(())
    }

    /// Checks whether another item supersedes an item (MKE-2).
    fn is_superseded(&self, key: &Key, superseding: &mut Superseding<'_>) -> Result<bool> {
        for new in self.shelves.claims(key) {
            if superseding.supersedes(&new, key)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the record of an item. Markers replace the secrets in its texts.
    fn record_of(&self, item: &Item, rank: u32) -> Result<Record> {
        let object = item.object();
        // In a damaged store, the times may be unknown.
        let unknown = object.event_time().unwrap_or(Time::from_micros(0));
        let (created, updated) = self.view.stamps(object.id())?.unwrap_or((unknown, unknown));
        let (made, changed) = times(object, created, updated);
        let section = Section::of_kind(object.kind()).unwrap_or(Section::PersistentMemory);
        // The scan reads more text than is shown, to recognise a secret that the limit would cut in two.
        let text: String = item.text().chars().take(4 * section.chars_max()).collect();
        let findings = self.agent.scan_stored(&text, object.origin());
        let has_secret = findings.iter().any(|one| one.category == Category::Secret);
        let shown = findings.into_iter();
        let shown = shown.filter(|one| one.category != Category::Secret && one.severity > Severity::Low);
        let mut rules: Vec<_> = shown.map(|finding| finding.rule).take(FLAGS_SHOWN).collect();
        if self.view.conflict(object.id())?.is_some() {
            rules.push(kind::MERGE_CONFLICT);
        }
        // MKE-1: secrets that the scan recognises are never shown.
        let clean = |text: &str| self.agent.scanner().redact(text).into_owned();
        let titles = Titles::of(object, |id| self.view.get(id))?;
        Ok(Record {
            section,
            time_us: Some(made.as_micros()),
            id: clean(object.id().as_str()),
            title: clean(&titles.into_path().join(BETWEEN)),
            text: if has_secret { clean(&text) } else { text },
            kind: object.kind().to_owned(),
            trust: object.origin(),
            flags: rules.join(", "),
            source: clean(&item.source().unwrap_or_default()),
            updated_us: (changed > made).then_some(changed.as_micros()),
            root_session: item.owner().unwrap_or_default(),
            rank,
        })
    }
}

/// Returns the section in which the items of a shelf are shown.
fn place_of(shelf: &Shelf) -> Section {
    if shelf.origin.is_trusted() {
        shelf.section
    } else {
        Section::Quarantine
    }
}

fn place_of_item(item: &Item, section: Section) -> Section {
    if item.object().origin().is_trusted() {
        section
    } else {
        Section::Quarantine
    }
}
