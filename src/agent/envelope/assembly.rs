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

use std::cmp::Reverse;
use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::document::Shown;
use super::render::{Boundary, Omitted, Record, Request};
use super::sections::Section;
use super::selection::choose;
use crate::agent::followed::key_at;
use crate::agent::item::{Item, Sensitivity};
use crate::agent::search::search;
use crate::agent::session::root_session;
use crate::agent::superseding::Superseding;
use crate::agent::titles::{BETWEEN, Titles};
use crate::agent::vocabulary::kind;
use crate::agent::{Agent, Reach, RecallQuery};
use crate::digest::Root;
use crate::engine::{Memory, Query, View};
use crate::error::Result;
use crate::object::{Id, Kind, Object, Scope, Time};
use crate::recall::{Key, tokens};
use crate::scan::{Category, Scanner, Severity};

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
        }
    }

    /// Checks whether the request permits the kind, origin and sensitivity of an object.
    fn may_show(&self, object: &Object) -> bool {
        let has_place = match Section::of_kind(object.kind()) {
            Some(Section::SessionNotes) => self.compaction.is_some(),
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

/// A candidate before the check for superseding items. A candidate does not contain the text, to save memory: there may
/// be very many candidates.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// The priority within a section: 0 for pinned items, otherwise the rank of the hit.
    rank: u32,
    newest: Reverse<Time>,
    id: Id,
    made: Time,
    changed: Time,
}

/// Implements [`Agent::envelope`].
pub(in crate::agent) fn envelope(
    agent: &Agent,
    view: &View,
    request: &EnvelopeRequest,
) -> Result<EnvelopeAnswer> {
    let query = request.query.as_deref();
    let hits = query.map(|query| hits(agent, view, request, query)).transpose()?;
    let selected = Candidates::of(view, request, hits.as_ref())?;
    let (records, omitted) = selected.finish(view, agent.scanner())?;
    let session = request.compaction.as_deref();
    let compacted = session.map(|session| root_session(view, session)).transpose()?;
    let (envelope, left_out) = choose(
        &records,
        &Request {
            root: &view.root().to_hex(),
            compacted: compacted.as_deref(),
            budget_tokens: request.budget_tokens,
            with_untrusted: request.with_untrusted,
            boundary: request.boundary.clone(),
        },
        omitted,
    );
    if let Some(hits) = &hits {
        touch_shown(agent.memory(), view, hits, &envelope.shown)?;
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

/// Returns the ids that recall finds among the objects that may be shown, each with its rank from 1.
fn hits(agent: &Agent, view: &View, request: &EnvelopeRequest, query: &str) -> Result<HashMap<String, u32>> {
    let asked = RecallQuery {
        limit: HITS_MAX,
        // Most hits may not fit into the budget, so `touch_shown` counts only the shown hits as used.
        touch: false,
        include_superseded: false,
        with_untrusted: request.with_untrusted,
        ..RecallQuery::new(query, request.reach.clone())
    };
    let found = search(agent, view, &asked, Some(&|object| request.may_show(object)))?;
    let found = found.hits.into_iter();
    Ok(found.map(|hit| hit.id.to_string()).zip(1..).collect())
}

/// Updates the last-access times of the shown hits, which decay reads.
fn touch_shown(memory: &Memory, view: &View, hits: &HashMap<String, u32>, shown: &[Shown]) -> Result<()> {
    if view.root() != memory.view().root() {
        return Ok(());
    }
    let used = shown.iter().filter(|shown| hits.contains_key(&shown.id));
    let ids = used.map(|shown| Id::new(&shown.id)).collect::<Result<Vec<_>>>()?;
    memory.touch(&ids, view.now());
    Ok(())
}

/// Returns the record of an item. Markers replace the secrets in its texts.
fn record_of(item: &Item, titles: Titles, section: Section, place: &Waiting, scanner: &Scanner) -> Record {
    let (made, changed) = (place.made, place.changed);
    // The scan reads more text than is shown, to recognise a secret that the limit would cut in two.
    let text: String = item.text().chars().take(4 * section.chars_max()).collect();
    let findings = scanner.scan(&text).findings.into_iter();
    let shown = findings.filter(|one| one.category != Category::Secret && one.severity > Severity::Low);
    let rules: Vec<_> = shown.map(|finding| finding.rule).take(FLAGS_SHOWN).collect();
    // MKE-1: secrets that the scan recognises are never shown.
    let clean = |text: &str| scanner.redact(text).into_owned();
    Record {
        section,
        time_us: Some(made.as_micros()),
        id: clean(item.object().id().as_str()),
        title: clean(&titles.into_path().join(BETWEEN)),
        text: clean(&text),
        kind: item.object().kind().to_owned(),
        trust: item.object().origin(),
        flags: rules.join(", "),
        source: clean(&item.source().unwrap_or_default()),
        updated_us: (changed > made).then_some(changed.as_micros()),
        root_session: item.owner().unwrap_or_default(),
        rank: place.rank,
    }
}

/// The candidates of each section, and the items that may supersede them.
#[derive(Default)]
struct Candidates {
    sections: HashMap<Section, Vec<Waiting>>,
    /// For each id, the keys of the objects that claim to supersede it.
    superseded: HashMap<String, Vec<Key>>,
    omitted: Omitted,
}

impl Candidates {
    /// Collects the candidates among all items of the requested scopes (MKE-3), and counts the omitted items. Skips
    /// kinds that are never shown, because most objects of a store may be transcript entries.
    fn of(view: &View, request: &EnvelopeRequest, hits: Option<&HashMap<String, u32>>) -> Result<Self> {
        let mut found = Self::default();
        if !view.settings().indexes {
            // Read all objects directly, because a query without indexes would read each object twice.
            for object in view.kept_objects() {
                let object = object?;
                if request.reach.has(object.scope()) && object.kind() != kind::SESSION {
                    found.take(view, object, request, hits)?;
                }
            }
            return Ok(found);
        }
        let scopes: Vec<Option<Scope>> = match &request.reach {
            Reach::All => vec![None],
            Reach::Scopes(scopes) => scopes.iter().cloned().map(Some).collect(),
        };
        for scope in scopes {
            let mut query = Query::default().with_expired();
            query.scope = scope;
            query.not_kinds = vec![Kind::new(kind::ENTRY)?, Kind::new(kind::SESSION)?];
            for object in view.query(&query)? {
                found.take(view, object?, request, hits)?;
            }
        }
        Ok(found)
    }

    fn take(
        &mut self,
        view: &View,
        object: Object,
        request: &EnvelopeRequest,
        hits: Option<&HashMap<String, u32>>,
    ) -> Result<()> {
        let Some(section) = Section::of_kind(object.kind()) else {
            return Ok(());
        };
        if object.expires().is_some_and(|expires| expires <= view.now()) {
            self.omitted.expired += 1;
            return Ok(());
        }
        let item = Item::from(object);
        let others = item.supersedes().into_iter();
        for old in others.filter(|old| old != item.object().id().as_str()) {
            let claims = self.superseded.entry(old).or_default();
            claims.push(key_at(&view.key(item.object().id())));
        }
        if item.sensitivity() > request.sensitivity_max {
            self.omitted.sensitive += 1;
            return Ok(());
        }
        let place = hits.and_then(|hits| hits.get(item.object().id().as_str()).copied());
        let rank = match (item.is_pinned(), hits, place) {
            (true, ..) => 0,
            (_, None, _) => 1,
            (_, Some(_), Some(place)) => place,
            // A query filters only facts. Other sections also show items that are not hits, after the hits.
            (_, Some(_), None) if section != Section::PersistentMemory => u32::MAX,
            _ => {
                self.omitted.beside += 1;
                return Ok(());
            }
        };
        let stamps = view.stamps(item.object().id())?;
        let unknown = item.object().event_time().unwrap_or(Time::from_micros(0));
        let (created, changed) = stamps.unwrap_or((unknown, unknown));
        let made = item.time(created);
        let changed = if changed > created { changed } else { made };
        self.sections.entry(section).or_default().push(Waiting {
            rank,
            newest: Reverse(made.max(changed)),
            id: item.object().id().clone(),
            made,
            changed,
        });
        Ok(())
    }

    /// Returns the records of the highest-ranked candidates of each section, without superseded candidates (MKE-2).
    fn finish(mut self, view: &View, scanner: &Scanner) -> Result<(Vec<Record>, Omitted)> {
        let mut all = Vec::new();
        let mut superseding = Superseding::new(view);
        for (section, mut waiting) in std::mem::take(&mut self.sections) {
            waiting.sort_unstable();
            let mut left = CANDIDATES_MAX;
            for one in waiting {
                let found = (left > 0).then(|| view.get(&one.id)).transpose()?;
                let Some(object) = found.flatten() else {
                    self.omitted.beside += 1;
                    continue;
                };
                let (key, mut is_superseded) = (key_at(&view.key(&one.id)), false);
                for new in self.superseded.get(one.id.as_str()).into_iter().flatten() {
                    is_superseded = is_superseded || superseding.supersedes(new, &key)?;
                }
                if is_superseded {
                    self.omitted.superseded += 1;
                    continue;
                }
                left -= 1;
                let titles = Titles::of(&object, |id| view.get(id))?;
                all.push(record_of(&Item::from(object), titles, section, &one, scanner));
            }
        }
        Ok((all, self.omitted))
    }
}
