//! The transcript of a session: appends entries, and numbers them in order.
//!
//! An entry is an object of the kind `entry` below the object of its session. The position of an entry is its arrival
//! number: the seq of its commit, followed by its index in that commit. So appending reads no other entry, and a clock
//! jump does not reorder entries. If two processes append at once, both choose the same id, and one process retries.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SAE-1: entries are read in the order of their commits, and within a commit in the given order.
//! - SAE-2: the origin of an entry never exceeds the writer's class, the class of its speaker, the origin that the
//!   caller states, and the class of the session.
//! - SAE-3: an entry that the scan stops taints the session (TNT-1), because the model may have read the entry.
//! - SAE-4: an entry that is stored already changes nothing: one with the same speaker and text, and the same id of the
//!   host or the same time and order. Another text under the same id is another entry, so no entry hides a text.
//! - SAE-5: an entry that a hook captures, and that the session had until somebody took it back, stays away. Only redo and
//!   restore bring it back.

use schemars::JsonSchema;
use serde::Serialize;

use super::lineage::{may_name_user, root_among, session_id, stage_session};
use super::prompts::{Captured, stage_prompt};
use crate::agent::Agent;
use crate::agent::change::names::refuse_secret;
use crate::agent::change::{Change, Fate, Rule, admit, change};
use crate::agent::item::{Item, NewItem, known_kind, text_of};
use crate::agent::scope::Reach;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::{keyed, to_hex};
use crate::engine::{CommitInfo, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Attributes, Id, Object, Origin, Position, Scope, Time, role_of, turn_class};
use treering_text::scan::Verdict;

/// The maximum number of entries of one commit. The position of an entry has 20 bits for its index in the commit.
const BATCH_MAX: u64 = 1 << 20;

/// An entry to append.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewEntry {
    /// The text.
    pub text: String,
    /// The speaker: `user`, `assistant`, `tool`, `system`, or a name.
    pub speaker: Option<String>,
    /// The time of the utterance.
    pub time: Option<Time>,
    /// The number of the entry, if the host numbers entries. With `None`, the arrival number of the entry.
    pub order: Option<i64>,
    /// The origin of the text, if the host knows the origin. It lowers the class of the speaker, and never raises it.
    pub origin: Option<Origin>,
    /// The id of the entry in the system of the host. If the session has the id with the same speaker and text, the entry
    /// changes nothing.
    pub key: Option<String>,
    /// What gave the text, such as an address or a path.
    pub source: Option<String>,
    /// The digest of what a tool read, if the entry only notes it.
    #[doc(hidden)]
    pub digest: Option<String>,
    /// How a hook of a client got the text.
    #[doc(hidden)]
    pub captured: Captured,
    /// The session in which the client had the text before. The entry changes nothing if that session has or had it.
    #[doc(hidden)]
    pub elsewhere: Option<String>,
}

/// Entries to append to a session.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// The name of the session.
    pub session: String,
    /// The name of the parent session.
    pub parent: Option<String>,
    /// The scope of the session. The default is the scope of the existing session, else the scope of its parent, else
    /// `usual_scope`.
    pub scope: Option<Scope>,
    /// The scope of a new session without `scope` and parent.
    pub usual_scope: Scope,
    /// The scopes that this call may access. An existing session in another scope is refused.
    pub reach: Reach,
    /// A speaker name that means the person in this session, in addition to `user`. The name applies from this call on.
    pub user: Option<String>,
    /// The entries, in their order.
    pub entries: Vec<NewEntry>,
}

/// An entry that was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotStored {
    /// The index of the entry in the call, from 0.
    pub place: usize,
    /// The verdict of the scan.
    pub verdict: Verdict,
    /// The rules of the scan that match the text.
    pub rules: Vec<&'static str>,
}

/// The answer to [`Agent::append`].
#[derive(Clone, Debug)]
pub struct Appended {
    /// The scope of the session.
    pub scope: Scope,
    /// The name of the root session.
    pub root_session: String,
    /// The ids of the new entries.
    pub ids: Vec<Id>,
    /// The number of entries that the session already had.
    pub unchanged: u64,
    /// Quarantined and refused entries.
    pub not_stored: Vec<NotStored>,
    /// The number of entries that the scan flagged and that are stored.
    pub flagged: u64,
    /// The names of the references below `rejected/`, one for each of the quarantined entries.
    pub held: Vec<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}

/// Appends entries as [`Agent::append`] does. Calls `progress` with the answer before each attempt to commit.
///
/// # Errors
/// The errors of [`Agent::append`], and those of `progress`.
pub fn follow_append(
    agent: &Agent,
    append: &Append,
    writer: &Writer,
    progress: impl FnMut(&Appended),
) -> Result<Appended> {
    let done = append_once(agent, append, writer, progress);
    done.or_else(|error| {
        // INVARIANT TNT-4: a session is tainted when a call gives an untrusted class, even if the call is refused. The
        // entries before the untrusted one keep their class, so the taint waits until the call fails.
        let view = agent.memory().view();
        let session = session_id(&append.session).map(|id| view.get(&id));
        let user = append.user.clone();
        let user = user.or_else(|| user_noted(session.ok()?.ok()?.as_ref()?));
        let class_of = |entry: &NewEntry| turn_class(entry.speaker.as_deref(), user.as_deref(), entry.origin);
        let least = append
            .entries
            .iter()
            .map(class_of)
            .fold(writer.trust, Origin::least);
        admit(agent, writer, least, Some(&append.session))?;
        Err(error)
    })
}

fn append_once(
    agent: &Agent,
    append: &Append,
    writer: &Writer,
    mut progress: impl FnMut(&Appended),
) -> Result<Appended> {
    let count = append.entries.len() as u64;
    if count > BATCH_MAX {
        let error = Error::invalid(format!("{count} entries are too many for one call"));
        let hint = format!("append at most {BATCH_MAX} in a call");
        return Err(error.with_code(ErrorCode::OverLimit).with_hint(hint));
    }
    let is_prompt = |entry: &NewEntry| matches!(entry.captured, Captured::AtPrompt(_));
    let rule = if append.entries.iter().any(is_prompt) {
        &Rule::PROMPT
    } else {
        &Rule::APPEND
    };
    let done = change(agent, writer, rule, |change| {
        let answer = stage_append(agent, change, append)?;
        progress(&answer);
        Ok(answer)
    })?;
    let appended = Appended {
        held: done.held,
        commit: done.committed.commit,
        ..done.value
    };
    // INVARIANT TNT-6: an event that was there already is no new prompt.
    let is_new = done.committed.changed && !appended.ids.is_empty();
    if is_new && agent.settings().sessions.taint_ends_at_prompt && append.entries.iter().all(is_prompt) {
        agent
            .memory()
            .end_taint(&append.session, &appended.commit, writer)?;
    }
    Ok(appended)
}

fn stage_append(agent: &Agent, change: &mut Change<'_>, append: &Append) -> Result<Appended> {
    if let Some(user) = &append.user {
        refuse_secret(agent.scanner(), "the name of the person", user)?;
    }
    let session = session_id(&append.session)?;
    change.enter(Some(&append.session));
    let scope = stage_session(change, append)?;
    if let Some(user) = &append.user {
        note_user(change, &session, user)?;
    }
    let user = change.get(&session)?.as_ref().and_then(user_noted);
    let head = change.base().commit();
    let seq = head.commit.seq + 1;
    let mut answer = Appended {
        scope: scope.clone(),
        root_session: root_among(|id| change.get(id), &append.session)?,
        ids: Vec::with_capacity(append.entries.len()),
        unchanged: 0,
        not_stored: Vec::new(),
        flagged: 0,
        held: Vec::new(),
        commit: head,
    };
    for (place, entry) in append.entries.iter().enumerate() {
        let arrival = seq.saturating_mul(BATCH_MAX).saturating_add(place as u64);
        let key = format!("{arrival:016x}");
        let place_of = |name: &str| place_in(&append.session, name);
        let class = turn_class(entry.speaker.as_deref(), user.as_deref(), entry.origin);
        if matches!(entry.captured, Captured::AtPrompt(_) | Captured::AsPrompt(_)) {
            match stage_prompt(agent, change, append, entry, arrival, &key)? {
                None => answer.unchanged += 1,
                Some((id, passed)) if matches!(passed.fate, Fate::Staged(_)) => {
                    answer.flagged += u64::from(passed.verdict == Verdict::Flag);
                    answer.ids.push(id);
                }
                // The person said it, so it taints nothing.
                Some((_, passed)) => answer.not_stored.push(NotStored {
                    place,
                    verdict: passed.verdict,
                    rules: passed.rules,
                }),
            }
            continue;
        }
        let id = match mark_of(agent, &append.session, entry) {
            Some(mark) => {
                let id = Id::new(&place_of(&mark))?;
                if is_entry_of(change, &id, &session)? || was_captured(agent, append, entry, &id)? {
                    // The model may have read the text again, so its class counts again (TNT-1).
                    if !change.class_of(class)?.is_trusted() {
                        change.taint(&append.session)?;
                    }
                    answer.unchanged += 1;
                    continue;
                }
                id
            }
            None => free_id(agent, change, &place_of(&key))?,
        };
        let position = Position::new(&key)?;
        // If another writer commits the same id first, the commit conflicts, and the change is repeated on the new
        // head.
        change.expect(&id, None);
        let item = item_of(entry, &append.session, &scope, arrival);
        let passed = change.put(id.clone(), item, class, |object| {
            object.parent = Some(session.clone());
            object.position = Some(position);
        })?;
        match passed.fate {
            Fate::Staged(_) => {
                answer.flagged += u64::from(passed.verdict == Verdict::Flag);
                answer.ids.push(id);
            }
            Fate::Held | Fate::Refused => {
                // INVARIANT SAE-3: an entry that the scan stops taints the session (TNT-1), because the model may have
                // read the entry.
                change.taint(&append.session)?;
                answer.not_stored.push(NotStored {
                    place,
                    verdict: passed.verdict,
                    rules: passed.rules,
                });
            }
        }
    }
    // A session that gets its parent after its taint also taints the parent.
    if change.is_tainted(&append.session)? {
        change.taint(&append.session)?;
    }
    Ok(answer)
}

/// Returns the mark by which a repeated entry is recognised, or `None` for an entry without an id and a time (SAE-4). The
/// mark depends on a secret, so another writer cannot store an object under it beforehand.
fn mark_of(agent: &Agent, session: &str, entry: &NewEntry) -> Option<String> {
    if let Captured::Read(call) = &entry.captured {
        return Some(mark(agent, &[session, "read", call]));
    }
    let name = match (&entry.key, entry.time) {
        (Some(key), _) => format!("id {key}"),
        (None, Some(time)) => format!("said {time} {:?}", entry.order),
        (None, None) => return None,
    };
    let speaker = entry.speaker.as_deref().unwrap_or_default();
    Some(mark(agent, &[session, &name, speaker, &entry.text]))
}

/// Checks whether a hook captured an entry before: the session had it until somebody took it back (SAE-5), or the session in
/// which the client had it before has or had it.
fn was_captured(agent: &Agent, append: &Append, entry: &NewEntry, id: &Id) -> Result<bool> {
    if entry.captured == Captured::No {
        return Ok(false);
    }
    let memory = agent.memory();
    if memory.has_had(id)? {
        return Ok(true);
    }
    let elsewhere = entry
        .elsewhere
        .as_ref()
        .filter(|session| **session != append.session);
    let Some((session, mark)) = elsewhere.and_then(|one| Some((one, mark_of(agent, one, entry)?))) else {
        return Ok(false);
    };
    Id::new(&place_in(session, &mark)).map_or(Ok(false), |id| memory.has_had(&id))
}

/// Returns the text of the id of an entry.
pub(super) fn place_in(session: &str, mark: &str) -> String {
    format!("{}/{session}/{mark}", kind::ENTRY)
}

/// Returns a mark of texts, which depends on a secret of the store.
pub(super) fn mark(agent: &Agent, parts: &[&str]) -> String {
    // The lengths make the joined text unambiguous.
    let parts: String = parts
        .iter()
        .map(|part| format!("{}:{part}", part.len()))
        .collect();
    to_hex(&keyed(agent.names_key(), parts.as_bytes())[..16])
}

/// Checks whether an id belongs to an entry of a session, after the staged changes.
pub(super) fn is_entry_of(change: &Change<'_>, id: &Id, session: &Id) -> Result<bool> {
    let known = change.present(id)?;
    Ok(known.is_some_and(|known| known.kind() == kind::ENTRY && known.parent() == Some(session.as_str())))
}

/// Returns the id of a new entry. If another writer has taken the predictable id, the returned id has an unpredictable
/// suffix.
fn free_id(agent: &Agent, change: &Change<'_>, text: &str) -> Result<Id> {
    let id = Id::new(text)?;
    if change.digest(&id)?.is_none() {
        return Ok(id);
    }
    let secret = to_hex(&keyed(agent.names_key(), text.as_bytes())[..8]);
    Id::new(&format!("{text}-{secret}"))
}

/// Stores the name of the person in the session's object. Only the person and the host may set this name.
fn note_user(change: &mut Change<'_>, session: &Id, user: &str) -> Result<()> {
    let class = change.class();
    if !may_name_user(class) {
        let message = format!("a writer of class {class} may not name the person of a session");
        return Err(
            Error::denied(ErrorCode::LessTrusted, message).with_hint("omit the name, or let the host set it")
        );
    }
    if let Some(known) = change.get(session)? {
        let mut object = known.to_new()?;
        // An untrusted writer may have forged the object, so drop all its attributes.
        let is_host = may_name_user(known.origin());
        if !is_host {
            object.attributes = Attributes::new();
        }
        drop(object.attributes.insert(attribute::USER, user));
        if is_host {
            change.restate(object)?;
        } else {
            change.put_plain(object)?;
        }
    }
    Ok(())
}

/// Returns the additional speaker name that means the person in this session. Ignores a name that neither the person
/// nor the host set.
fn user_noted(session: &Object) -> Option<String> {
    text_of(session, attribute::USER).filter(|_| may_name_user(session.origin()))
}

/// Checks whether the speaker of an entry has the role of the person, whoever wrote the entry.
pub(super) fn has_role_of_person(item: &Item, session: &Object) -> bool {
    role_of(item.speaker().as_deref(), user_noted(session).as_deref()) == Some(Origin::DirectUser)
}

/// Checks whether the person is the speaker of an entry of this session.
pub(super) fn is_person(item: &Item, session: &Object) -> bool {
    let user = user_noted(session);
    item.object().origin() == Origin::DirectUser
        && item
            .speaker()
            .is_some_and(|speaker| role_of(Some(&speaker), user.as_deref()) == Some(Origin::DirectUser))
}

pub(super) fn item_of(entry: &NewEntry, session: &str, scope: &Scope, arrival: u64) -> NewItem {
    let mut item = NewItem::new(entry.text.clone());
    item.kind = known_kind(kind::ENTRY);
    item.scope = scope.clone();
    item.session = Some(session.to_owned());
    item.speaker.clone_from(&entry.speaker);
    item.source.clone_from(&entry.source);
    if let Some(digest) = &entry.digest {
        drop(item.others.insert(attribute::DIGEST, digest.as_str()));
    }
    item.time = entry.time;
    item.order = entry.order.or_else(|| i64::try_from(arrival).ok());
    item
}

/// Returns the arrival number of an entry, which rises with every appended entry.
pub(super) fn arrival_of(item: &Item) -> u64 {
    let position = item.object().position();
    position
        .and_then(|key| u64::from_str_radix(key, 16).ok())
        .unwrap_or(0)
}

/// Returns a number above the arrival number of every entry in the state of `view`.
pub(super) fn arrivals_before(view: &View) -> u64 {
    (view.commit().commit.seq + 1).saturating_mul(BATCH_MAX)
}
