//! The answer of the inbox: what waits for a person, what was learned, and what the memory says.
//!
//! Without `with_untrusted`, the answer has no untrusted text, id, kind, scope or writer (STX-2, SRV-3).
//!
//! # Layer
//! Layer 8, part of answers.

use schemars::JsonSchema;
use serde::Serialize;

use treering::agent::{Agent, EnvelopeRequest, Item, Quarantined, Reach, StoredText};
use treering::inspect::agent::inbox::{Group, conflicts, learned_scopes, noted};
use treering::merge::MergeConflict;
use treering::{ErrorKind, Id, Object, ObjectDigest, Result, Root, Scope, Time, View};
use treering_text::visible::cut;

/// The maximum number of characters of a text.
const TEXT_CHARS: usize = 600;
/// The default number of items of a list.
pub(crate) const ITEMS: usize = 20;
/// The maximum number of scopes whose items the answer shows.
const SCOPES_MAX: usize = 6;
/// The size of what the memory says of a scope, in tokens of an envelope.
const SAID_TOKENS: usize = 1_500;
/// What the name of a field that is an attribute begins with.
const ATTRIBUTE: &str = "attr:";
/// The period of what was learned by default: one day.
const DAY_MICROS: i64 = 86_400_000_000;

/// What a person should look at.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Inbox {
    pub(crate) root: Root,
    pub(crate) seq: u64,
    /// The beginning of the period of `learned`.
    pub(crate) since: Time,
    /// The number of things that wait for a decision.
    pub(crate) waiting: usize,
    /// The changes that the scan or a rule stopped. They are not part of the memory until a person releases them.
    pub(crate) quarantined: Stopped,
    /// The untrusted items. Recall withholds them until a person promotes them.
    pub(crate) withheld: Listed,
    /// The other items in which the scan found something.
    pub(crate) flagged: Listed,
    /// Pairs of items that contradict each other.
    pub(crate) conflicting: Disputes,
    /// The conflicts that merges left open. A person decides them with `treering resolve`.
    pub(crate) merge_conflicts: LeftOpen,
    /// The items that were written since `since`, the newest first.
    pub(crate) learned: Listed,
    /// The items that an agent reads at the start of a session, by scope: `global` first.
    pub(crate) says: Vec<Said>,
}

/// The quarantined changes, the newest first.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Stopped {
    pub(crate) total: usize,
    pub(crate) items: Vec<Quarantined>,
}

/// Items, the newest first.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The number of all such items.
    pub(crate) total: usize,
    pub(crate) items: Vec<InboxItem>,
}

/// Pairs of contradicting items.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Disputes {
    pub(crate) total: usize,
    pub(crate) pairs: Vec<Dispute>,
}

/// The objects about whose versions a merge could not decide.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct LeftOpen {
    pub(crate) total: usize,
    pub(crate) items: Vec<OpenObject>,
}

/// An object about which somebody must decide.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct OpenObject {
    /// Null if the item is not trusted, because its id is an untrusted text, too.
    pub(crate) id: Option<Id>,
    pub(crate) fields: Vec<String>,
}

/// Two items that cannot both be true.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Dispute {
    pub(crate) newer: InboxItem,
    pub(crate) older: InboxItem,
}

/// What the memory says in one scope.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Said {
    pub(crate) scope: String,
    pub(crate) items: Vec<InboxItem>,
}

/// An item of the inbox.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct InboxItem {
    /// Null if the text is withheld, because the id of an untrusted item is an untrusted text, too.
    pub(crate) id: Option<Id>,
    pub(crate) digest: ObjectDigest,
    pub(crate) kind: Option<String>,
    pub(crate) scope: Option<String>,
    #[serde(flatten)]
    pub(crate) shown: StoredText,
    /// The time of the version.
    pub(crate) time: Option<Time>,
    /// The writer of the version.
    pub(crate) actor: Option<String>,
    pub(crate) session: Option<String>,
}

/// What an inbox shows.
pub(crate) struct InboxAsked<'a> {
    /// The scopes.
    pub(crate) reach: &'a Reach,
    /// The beginning of the period of `learned` [default: one day before now].
    pub(crate) since: Option<Time>,
    /// The most items of a list.
    pub(crate) limit: usize,
    /// Whether untrusted texts are shown, because the reader is a person.
    pub(crate) with_untrusted: bool,
}

impl Inbox {
    /// Returns the inbox of a state.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if an object cannot be read.
    pub(crate) fn of(agent: &Agent, view: &View, asked: &InboxAsked<'_>) -> Result<Self> {
        let since = asked.since.unwrap_or_else(|| view.now().plus_micros(-DAY_MICROS));
        let list = |group: Group, since: Option<Time>| -> Result<Listed> {
            let (items, total) = noted(agent, view, group, asked.reach, since, asked.limit)?;
            let items = items.iter().map(|item| InboxItem::of(agent, view, item, asked));
            Ok(Listed {
                total,
                items: items.collect::<Result<_>>()?,
            })
        };
        let (withheld, flagged) = (list(Group::Withheld, None)?, list(Group::Flagged, None)?);
        let (quarantined, conflicting) = (Stopped::of(agent, asked)?, Disputes::of(agent, view, asked)?);
        let merge_conflicts = LeftOpen::of(view, asked)?;
        let items = withheld.total + flagged.total + conflicting.total;
        Ok(Self {
            root: view.root(),
            seq: view.commit().commit.seq,
            since,
            waiting: quarantined.total + items + merge_conflicts.total,
            quarantined,
            withheld,
            flagged,
            conflicting,
            merge_conflicts,
            learned: list(Group::Learned, Some(since))?,
            says: said(agent, view, asked)?,
        })
    }
}

impl Stopped {
    fn of(agent: &Agent, asked: &InboxAsked<'_>) -> Result<Self> {
        let mut items = agent.quarantined(asked.reach)?;
        let total = items.len();
        items.truncate(asked.limit);
        for held in &mut items {
            held.is_withheld = !asked.with_untrusted && held.trust.is_none_or(|class| !class.is_trusted());
            if held.is_withheld {
                held.preview.clear();
                held.ids.clear();
            }
        }
        Ok(Self { total, items })
    }
}

impl Disputes {
    fn of(agent: &Agent, view: &View, asked: &InboxAsked<'_>) -> Result<Self> {
        let found = conflicts(agent, view, asked.reach)?;
        let item = |item: &Item| InboxItem::of(agent, view, item, asked);
        let pairs = found.iter().take(asked.limit).map(|(newer, older)| {
            Ok(Dispute {
                newer: item(newer)?,
                older: item(older)?,
            })
        });
        Ok(Self {
            total: found.len(),
            pairs: pairs.collect::<Result<_>>()?,
        })
    }
}

impl LeftOpen {
    fn of(view: &View, asked: &InboxAsked<'_>) -> Result<Self> {
        let mut open = view.open_conflicts()?;
        open.retain(|(conflict, _)| asked.reach.has(conflict.scope()));
        let items = open.iter().take(asked.limit).map(|(conflict, named)| {
            let object = match view.get(&named.id) {
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                object => object?,
            };
            // The conflict has the class of its least trusted version.
            let class = object.as_ref().map_or(conflict.origin(), Object::origin);
            let is_named = asked.with_untrusted || class.is_trusted();
            let fields = if asked.with_untrusted {
                named.fields.clone()
            } else {
                seen_fields(named, object.as_ref())
            };
            Ok(OpenObject {
                id: is_named.then(|| named.id.clone()),
                fields,
            })
        });
        Ok(Self {
            total: open.len(),
            items: items.collect::<Result<_>>()?,
        })
    }
}

/// Returns the fields of a conflict. The name of an attribute that only another version has may be an untrusted text.
pub(crate) fn seen_fields(conflict: &MergeConflict, object: Option<&Object>) -> Vec<String> {
    let is_of =
        |name: &str| object.is_some_and(|of| of.origin().is_trusted() && of.attribute(name).is_some());
    let fields = conflict.fields.iter();
    let fields = fields.map(|field| match field.strip_prefix(ATTRIBUTE) {
        Some(name) if !is_of(name) => "an attribute".to_owned(),
        _ => field.clone(),
    });
    fields.collect()
}

impl InboxItem {
    fn of(agent: &Agent, view: &View, item: &Item, asked: &InboxAsked<'_>) -> Result<Self> {
        let object = item.object();
        let mut shown = StoredText::of(agent, object, asked.with_untrusted);
        shown.text = shown.text.map(|text| cut(&text, TEXT_CHARS));
        let is_named = !shown.is_withheld;
        let writer = view.writer_of(object.id())?;
        let (actor, session) = match &writer {
            Some(writer) if is_named => (writer.commit.actor.clone(), writer.commit.session.clone()),
            _ => (None, None),
        };
        Ok(Self {
            id: is_named.then(|| object.id().clone()),
            digest: object.digest(),
            kind: is_named.then(|| object.kind().to_owned()),
            scope: is_named.then(|| object.scope().to_owned()),
            shown,
            time: writer.map(|writer| writer.commit.time),
            actor,
            session,
        })
    }
}

/// Returns what the memory says in each scope: the items that an envelope shows.
fn said(agent: &Agent, view: &View, asked: &InboxAsked<'_>) -> Result<Vec<Said>> {
    let mut scopes = learned_scopes(agent, view)?;
    scopes.retain(|scope| asked.reach.has(scope));
    // `global` is first, then the projects, then the others.
    scopes.sort_by_key(|scope| (scope != Scope::GLOBAL, !scope.starts_with("project:")));
    let mut all = Vec::new();
    for scope in scopes.into_iter().take(SCOPES_MAX) {
        let mut request = EnvelopeRequest::new(Reach::Scopes(vec![Scope::new(&scope)?]));
        request.budget_tokens = SAID_TOKENS;
        let shown = agent.envelope(view, &request)?.shown;
        // The newest item of a section is its last one.
        let ids = shown.iter().rev().filter_map(|one| Id::new(&one.id).ok());
        let mut items = Vec::new();
        for id in ids.take(asked.limit) {
            if let Some(object) = view.get(&id)? {
                items.push(InboxItem::of(agent, view, &Item::from(object), asked)?);
            }
        }
        if !items.is_empty() {
            all.push(Said { scope, items });
        }
    }
    Ok(all)
}
