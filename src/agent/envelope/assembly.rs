//! The verb: which items go to the renderer, with what the scan says of them today.
//!
//! The state decides, not what a recall found before: what is expired, superseded or too sensitive is left out by the view
//! that the envelope is made from, forgotten items are not in it, and every text is scanned once more, since the scan may
//! know more than when the text was written.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - MKE-1: no secret that the scan knows is shown, whenever and however it got in.
//! - MKE-2: an item is hidden as superseded only by one that is trusted as much, in a scope that is read.
//! - MKE-3: what is shown comes from the scopes of the request and no other.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::document::Shown;
use super::record::Record;
use super::render::{Boundary, LeftOut, Purpose, Request, render};
use super::sections::Section;
use crate::agent::item::{Item, Sensitivity};
use crate::agent::search::recall_among;
use crate::agent::session::root_session;
use crate::agent::superseding::takes_place;
use crate::agent::vocabulary::kind;
use crate::agent::{Agent, Reach, RecallQuery};
use crate::digest::Root;
use crate::engine::{Memory, Query, View};
use crate::error::Result;
use crate::object::{Id, Kind, Object, Scope, Time};
use crate::recall::tokens;
use crate::scan::{Category, Scanner, Severity};

/// Items of a section that are handed to the renderer: more than a usual budget has room for.
const CANDIDATES_MAX: usize = 300;
/// What a query finds.
const HITS_MAX: usize = 100;
/// Rules that are named beside a record.
const FLAGS_SHOWN: usize = 3;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct EnvelopeRequest {
    /// What the facts shall be about; without it, the pinned and the newest are shown.
    pub query: Option<String>,
    /// The scopes it is made from.
    pub reach: Reach,
    /// The most tokens of the whole text.
    pub budget_tokens: usize,
    /// The root session whose context is being compacted: its notes are shown.
    pub compaction: Option<String>,
    /// Whether what is not trusted is shown, apart.
    pub with_untrusted: bool,
    /// What is more sensitive than this is left out.
    pub sensitivity_max: Sensitivity,
    /// What the first and the last line say and no record may.
    pub boundary: Option<Boundary>,
}

impl EnvelopeRequest {
    /// An envelope for a turn, in at most 5,000 tokens, without what is not trusted and without credentials.
    pub fn new(reach: Reach) -> Self {
        Self {
            query: None,
            reach,
            budget_tokens: Request::new("").budget_tokens,
            compaction: None,
            with_untrusted: false,
            sensitivity_max: Sensitivity::Internal,
            boundary: None,
        }
    }
}

impl EnvelopeRequest {
    /// Whether an object can be shown at all, as far as it tells itself.
    fn may_show(&self, object: &Object) -> bool {
        let has_place = match section_of(object) {
            Some(Section::SessionNotes) => self.compaction.is_some(),
            section => section.is_some(),
        };
        has_place
            && (self.with_untrusted || object.origin().is_trusted())
            && Item::from(object.clone()).sensitivity() <= self.sensitivity_max
    }
}

/// The section of an object; none for what is never shown.
fn section_of(object: &Object) -> Option<Section> {
    Section::of_kind(object.kind()).filter(|_| object.kind() != kind::SESSION)
}

/// Items that did not get as far as the renderer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Withheld {
    /// Their time is over.
    pub expired: usize,
    /// Another one takes their place.
    pub superseded: usize,
    /// They are more sensitive than was asked for.
    pub sensitive: usize,
    /// A query was given, and does not find them; or newer ones fill the section.
    pub beside: usize,
}

/// An envelope, and what is not in it.
#[derive(Clone, Debug)]
pub struct EnvelopeAnswer {
    /// The text for the prompt; empty if there is nothing to show. Never to be given the role of the system.
    pub text: String,
    /// What it shows, in order.
    pub shown: Vec<Shown>,
    /// What the renderer left out.
    pub left_out: LeftOut,
    /// What it was not given.
    pub withheld: Withheld,
    /// The state that it was made from.
    pub root: Root,
    /// What the text is taken for.
    pub tokens: usize,
}

/// An item that may be shown.
struct Candidate {
    object: Object,
    section: Section,
    /// Which go first within a section: pinned ones, then hits in their order.
    rank: u32,
    made: Time,
    changed: Time,
}

/// An item of a section that waits for its turn, until it is known what supersedes it: without its text, since there may be
/// very many.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    rank: u32,
    newest: Reverse<Time>,
    id: String,
    made: Time,
    changed: Time,
}

/// The texts of a record, without secrets.
struct Texts {
    id: String,
    text: String,
    source: String,
    flags: String,
    owner: String,
}

/// Renders the items for a prompt into one text.
pub(in crate::agent) fn assemble(
    agent: &Agent,
    view: &View,
    request: &EnvelopeRequest,
) -> Result<EnvelopeAnswer> {
    let mut standing = Standing::default();
    let hits = match &request.query {
        Some(query) => Some(hits(agent, view, request, query)?),
        None => None,
    };
    each_item(view, &request.reach, &mut |object| {
        standing.take(view, object, request, hits.as_ref())
    })?;
    let (candidates, withheld) = standing.finish(view)?;
    let texts: Vec<Texts> = candidates
        .iter()
        .map(|one| Texts::of(agent.scanner(), one))
        .collect();
    let shown = candidates.iter().zip(&texts);
    let records: Vec<Record> = shown.map(|(one, texts)| texts.record(one)).collect();
    let session = request.compaction.as_deref();
    let root = session.map(|session| root_session(view, session)).transpose()?;
    let hex = view.root().to_hex();
    let rendered = render(
        &records,
        &Request {
            purpose: match &root {
                Some(root_session) => Purpose::Compaction { root_session },
                None => Purpose::Turn,
            },
            budget_tokens: request.budget_tokens,
            with_untrusted: request.with_untrusted,
            boundary: request.boundary.clone(),
            ..Request::new(&hex)
        },
    );
    if let Some(hits) = &hits {
        touch_shown(agent.memory(), view, hits, &rendered.envelope.shown)?;
    }
    Ok(EnvelopeAnswer {
        tokens: tokens(&rendered.text),
        text: rendered.text,
        shown: rendered.envelope.shown,
        left_out: rendered.left_out,
        withheld,
        root: view.root(),
    })
}

/// The ids that recall finds among the objects that may be shown, each with its place from 1.
fn hits(agent: &Agent, view: &View, request: &EnvelopeRequest, query: &str) -> Result<HashMap<String, u32>> {
    let asked = RecallQuery {
        limit: HITS_MAX,
        // The budget may have no room for most hits: only those that are shown count as used.
        touch: false,
        include_superseded: false,
        with_untrusted: request.with_untrusted,
        ..RecallQuery::new(query, request.reach.clone())
    };
    let found = recall_among(agent, view, &asked, &|object| request.may_show(object))?;
    let found = found.hits.into_iter();
    Ok(found.map(|hit| hit.id).zip(1..).collect())
}

/// Counts the hits that are shown as used, for decay.
fn touch_shown(memory: &Memory, view: &View, hits: &HashMap<String, u32>, shown: &[Shown]) -> Result<()> {
    if view.root() != memory.view().root() {
        return Ok(());
    }
    let used = shown.iter().filter(|shown| hits.contains_key(&shown.id));
    let ids = used.map(|shown| Id::new(&shown.id)).collect::<Result<Vec<_>>>()?;
    memory.touch(&ids, view.now());
    Ok(())
}

impl Texts {
    fn of(scanner: &Scanner, candidate: &Candidate) -> Self {
        let item = Item::from(candidate.object.clone());
        // The scan reads more than is shown, so that it knows a secret that is cut off at the end.
        let chars = item.text().chars().take(4 * candidate.section.chars_max());
        let text: String = chars.collect();
        let mut rules = Vec::new();
        for finding in scanner.scan(&text).findings {
            let is_told = finding.category != Category::Secret && finding.severity > Severity::Low;
            if is_told && !rules.contains(&finding.rule) {
                rules.push(finding.rule);
            }
        }
        rules.truncate(FLAGS_SHOWN);
        // MKE-1
        let clean = |text: &str| scanner.redact(text).into_owned();
        Self {
            id: clean(candidate.object.id()),
            text: clean(&text),
            source: clean(&item.source().unwrap_or_default()),
            flags: rules.join(", "),
            owner: item.owner().unwrap_or_default(),
        }
    }

    fn record<'a>(&'a self, of: &'a Candidate) -> Record<'a> {
        Record {
            time_us: Some(of.made.as_micros()),
            kind: of.object.kind(),
            trust: of.object.origin(),
            flags: &self.flags,
            source: &self.source,
            updated_us: (of.changed > of.made).then_some(of.changed.as_micros()),
            root_session: &self.owner,
            rank: of.rank,
            ..Record::new(of.section, &self.id, &self.text)
        }
    }
}

/// Hands over every item of the scopes that are read, expired ones too (MKE-3), but for what is never shown: most of a
/// memory may be transcripts.
fn each_item(view: &View, reach: &Reach, visit: &mut dyn FnMut(Object) -> Result<()>) -> Result<()> {
    if !view.keeps_indexes() {
        // Everything is read anyway: once, not once for each scope.
        for object in view.objects() {
            let object = object?;
            if !object.is_placeholder() && section_of(&object).is_some() && reach.has(object.scope()) {
                visit(object)?;
            }
        }
        return Ok(());
    }
    let scopes: Vec<Option<Scope>> = match reach {
        Reach::All => vec![None],
        Reach::Scopes(scopes) => scopes.iter().cloned().map(Some).collect(),
    };
    for scope in scopes {
        let query = Query {
            scope,
            not_kinds: vec![Kind::new(kind::ENTRY)?, Kind::new(kind::SESSION)?],
            include_expired: true,
            ..Query::default()
        };
        for object in view.query(&query)? {
            visit(object?)?;
        }
    }
    Ok(())
}

/// What stands in the state, while it is gone through.
#[derive(Default)]
struct Standing {
    sections: HashMap<Section, Vec<Waiting>>,
    /// What names an id among what it supersedes.
    superseded: HashMap<String, Vec<Object>>,
    withheld: Withheld,
}

impl Standing {
    fn take(
        &mut self,
        view: &View,
        object: Object,
        request: &EnvelopeRequest,
        hits: Option<&HashMap<String, u32>>,
    ) -> Result<()> {
        let Some(section) = section_of(&object) else {
            return Ok(());
        };
        if object.expires().is_some_and(|expires| expires <= view.now()) {
            self.withheld.expired += 1;
            return Ok(());
        }
        let item = Item::from(object);
        let others = item.supersedes().into_iter();
        for old in others.filter(|old| old != item.object().id()) {
            self.superseded
                .entry(old)
                .or_default()
                .push(item.object().clone());
        }
        if item.sensitivity() > request.sensitivity_max {
            self.withheld.sensitive += 1;
            return Ok(());
        }
        let place = hits.and_then(|hits| hits.get(item.object().id()).copied());
        let rank = match (item.is_pinned(), hits, place) {
            (true, ..) => 0,
            (_, None, _) => 1,
            (_, Some(_), Some(place)) => place,
            // Rules, decisions, summaries and notes are shown whatever is asked; facts only if they answer it.
            (_, Some(_), None) if section != Section::PersistentMemory => u32::MAX,
            _ => {
                self.withheld.beside += 1;
                return Ok(());
            }
        };
        let stamps = view.stamps(&Id::new(item.object().id())?)?;
        let unknown = item.object().event_time().unwrap_or(Time::from_micros(0));
        let (created, changed) = stamps.unwrap_or((unknown, unknown));
        let made = item.time(created);
        let changed = if changed > created { changed } else { made };
        self.sections.entry(section).or_default().push(Waiting {
            rank,
            newest: Reverse(made.max(changed)),
            id: item.object().id().to_owned(),
            made,
            changed,
        });
        Ok(())
    }

    /// The first of each section that stand (MKE-2).
    fn finish(mut self, view: &View) -> Result<(Vec<Candidate>, Withheld)> {
        let mut all = Vec::new();
        for (section, mut waiting) in std::mem::take(&mut self.sections) {
            waiting.sort_unstable();
            let mut left = CANDIDATES_MAX;
            for one in waiting {
                let object = if left > 0 {
                    view.get(&Id::new(&one.id)?)?
                } else {
                    None
                };
                let Some(object) = object else {
                    self.withheld.beside += 1;
                    continue;
                };
                let mut by = self.superseded.get(&one.id).into_iter().flatten();
                let taken = by.find_map(|new| match takes_place(view, new, &object) {
                    Ok(false) => None,
                    taken => Some(taken),
                });
                if taken.transpose()?.is_some() {
                    self.withheld.superseded += 1;
                    continue;
                }
                left -= 1;
                all.push(Candidate {
                    object,
                    section,
                    rank: one.rank,
                    made: one.made,
                    changed: one.changed,
                });
            }
        }
        Ok((all, self.withheld))
    }
}
