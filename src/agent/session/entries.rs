//! The transcript of a session: entries are appended, and read in their order.
//!
//! An entry is an object of the kind `entry` below the object of its session. Its position is its arrival: the number
//! of its commit, and its place in that commit. So appending reads no other entry, and a clock jump does not reorder
//! entries. Two processes that append at once get the same id, and one of them retries.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SAE-1: entries are read in the order of their commits, and within a commit in the given order.
//! - SAE-2: the origin of an entry is at most the writer's class, the class of the speaker's role, and the origin that the host gives.

use schemars::JsonSchema;
use serde::Serialize;

use super::lineage::{line_of, may_name_user, root_among, session_id, session_of, stage_session};
use crate::agent::Agent;
use crate::agent::change::names::refuse_secret;
use crate::agent::change::{Change, Fate, Rule, change};
use crate::agent::item::{Item, NewItem, integer_of, known_kind, text_of};
use crate::agent::scope::Reach;
use crate::agent::vocabulary::{attribute, kind};
use crate::digest::{keyed, to_hex};
use crate::engine::{CommitInfo, View, Writer};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, NewObject, Object, Origin, Position, Scope, Time, Value};
use crate::scan::Verdict;

/// Names under which the person speaks in any session, in lower case.
const PERSON: [&str; 3] = ["user", "human", "person"];
/// The maximum number of entries of one commit. The position of an entry has 20 bits for its place in the commit.
const BATCH_MAX: u64 = 1 << 20;

/// An entry to append.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewEntry {
    /// The text.
    pub text: String,
    /// The speaker: `user`, `assistant`, `tool`, `system`, or a name.
    pub speaker: Option<String>,
    /// The time when it was said.
    pub time: Option<Time>,
    /// Its position, if the host numbers the entries; by default its arrival.
    pub order: Option<i64>,
    /// Its origin, if the host knows it; else the speaker decides. The class of the writer is the limit.
    pub origin: Option<Origin>,
}

/// Entries to append to a session.
#[derive(Clone, Debug, Default)]
pub struct Append {
    /// The name of the session.
    pub session: String,
    /// Its parent session.
    pub parent: Option<String>,
    /// Its scope. By default it is the scope of the session, of its parent, or `usual_scope`.
    pub scope: Option<Scope>,
    /// The scope of a new session without `scope` and parent.
    pub usual_scope: Scope,
    /// The scopes in which an existing session may be. A session of any other scope is refused.
    pub reach: Reach,
    /// The name of the person in this session, besides `user`; it applies from this call on.
    pub user: Option<String>,
    /// The entries, in their order.
    pub entries: Vec<NewEntry>,
}

/// An entry that was not stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotStored {
    /// Its place in the call, from 0.
    pub place: usize,
    /// The verdict of the scan.
    pub verdict: Verdict,
    /// The matching rules.
    pub rules: Vec<&'static str>,
}

/// The answer to [`Agent::append`].
#[derive(Clone, Debug)]
pub struct Appended {
    /// The scope of the session.
    pub scope: Scope,
    /// The root of the session.
    pub root_session: String,
    /// The ids of the new entries.
    pub ids: Vec<Id>,
    /// Quarantined and refused entries.
    pub not_stored: Vec<NotStored>,
    /// The number of entries stored with flags.
    pub flagged: u64,
    /// The name under `rejected/` of the quarantined entries.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}

/// Appends entries as [`Agent::append`] does. `progress` is called with the answer before each attempt to commit.
pub(crate) fn follow_append(
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
    let done = change(agent, writer, &Rule::APPEND, |change| {
        let answer = stage_append(agent, change, append)?;
        progress(&answer);
        Ok(answer)
    })?;
    Ok(Appended {
        held: done.held,
        commit: done.committed.commit,
        ..done.value
    })
}

fn stage_append(agent: &Agent, change: &mut Change<'_>, append: &Append) -> Result<Appended> {
    if let Some(user) = &append.user {
        refuse_secret(agent.scanner(), "the name of the person", user)?;
    }
    let session = session_id(&append.session)?;
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
        not_stored: Vec::new(),
        flagged: 0,
        held: None,
        commit: head,
    };
    let mut least = Origin::DirectUser;
    for (place, entry) in append.entries.iter().enumerate() {
        let arrival = seq.saturating_mul(BATCH_MAX).saturating_add(place as u64);
        let key = format!("{arrival:016x}");
        let id = free_id(
            agent,
            change,
            &format!("{}/{}/{key}", kind::ENTRY, append.session),
        )?;
        let position = Position::new(&key)?;
        // If another writer took the same place, the change is repeated on the next head.
        change.expect(&id, None);
        let class = match role_of(entry.speaker.as_deref(), user.as_deref()) {
            Some(role) => Origin::least(role, entry.origin.unwrap_or(role)),
            None => entry.origin.unwrap_or(Origin::ToolExternal),
        };
        let item = item_of(entry, &append.session, &scope, arrival);
        let passed = change.put(id.clone(), item, class, |object| {
            object.parent = Some(session.clone());
            object.position = Some(position);
        })?;
        match passed.fate {
            Fate::Staged(_) => {
                let stored = change.get(&id)?;
                least = stored.map_or(least, |entry| Origin::least(least, entry.origin()));
                answer.flagged += u64::from(passed.verdict == Verdict::Flag);
                answer.ids.push(id);
            }
            Fate::Held | Fate::Refused => answer.not_stored.push(NotStored {
                place,
                verdict: passed.verdict,
                rules: passed.rules,
            }),
        }
    }
    note_on_line(change, &append.session, answer.not_stored.len(), least)?;
    Ok(answer)
}

/// Returns the id of a new entry. Another writer may have taken the predictable id; then the id gets an unpredictable
/// part.
fn free_id(agent: &Agent, change: &Change<'_>, text: &str) -> Result<Id> {
    let id = Id::new(text)?;
    if change.digest(&id)?.is_none() {
        return Ok(id);
    }
    let secret = to_hex(&keyed(agent.names_key(), text.as_bytes())[..8]);
    Id::new(&format!("{text}-{secret}"))
}

/// Records, on a session and its ancestors, the number of entries that were not stored and the class of the least
/// trusted entry. The record stays when entries are removed, because the model has seen them.
fn note_on_line(change: &mut Change<'_>, session: &str, count: usize, class: Origin) -> Result<()> {
    let (mut count, mut class) = (i64::try_from(count).unwrap_or(i64::MAX), class);
    let line = line_of(|id| change.get(id), session).collect::<Result<Vec<_>>>()?;
    let sessions = line
        .iter()
        .map_while(|(_, known)| known.as_ref().filter(|known| session_of(known).is_some()));
    for (depth, known) in sessions.enumerate() {
        let least = Origin::least(class_noted(known), class);
        count = match depth {
            0 => withheld(known).saturating_add(count),
            // The count of a parent includes that of its child.
            _ => withheld(known).max(count),
        };
        let mut notes: Vec<(&str, Value)> = Vec::new();
        if count > withheld(known) {
            notes.push((attribute::WITHHELD, Value::Integer(count)));
        }
        if least != class_noted(known) {
            notes.push((attribute::CLASS, Value::from(least.name())));
        }
        change.note(known, notes)?;
        class = Origin::least(least, known.origin());
    }
    Ok(())
}

/// Records the name of the person on the session.
fn note_user(change: &mut Change<'_>, session: &Id, user: &str) -> Result<()> {
    let class = change.class();
    if !may_name_user(class) {
        let message = format!("a writer of class {class} may not name the person of a session");
        return Err(Error::denied(ErrorCode::LessTrusted, message)
            .with_hint("leave the name out, or let the host give it"));
    }
    if let Some(known) = change.get(session)? {
        // If neither the person nor the host made the object, its other attributes are dropped. Its class and count stay.
        let is_host = may_name_user(known.origin());
        let object = if is_host {
            known.to_new()
        } else {
            noted_anew(&known)
        };
        let mut object = object?;
        drop(object.attributes.insert(attribute::USER, user));
        if is_host {
            change.restate(object)?;
        } else {
            change.put_plain(object)?;
        }
    }
    Ok(())
}

/// Returns the object of a session with only its place in the tree, its class and its count of entries that were not
/// stored.
fn noted_anew(known: &Object) -> Result<NewObject> {
    let old = known.to_new()?;
    let mut object = NewObject::new(old.id, old.kind);
    (object.scope, object.parent, object.position) = (old.scope, old.parent, old.position);
    let noted = &mut object.attributes;
    drop(noted.insert(attribute::CLASS, class_seen(known).name()));
    if withheld(known) > 0 {
        drop(noted.insert(attribute::WITHHELD, withheld(known)));
    }
    Ok(object)
}

/// Returns the name under which the person speaks in a session, in addition to the standard names.
fn user_noted(session: &Object) -> Option<String> {
    text_of(session, attribute::USER).filter(|_| may_name_user(session.origin()))
}

/// Whether the person said an entry of this session.
pub(super) fn is_person(item: &Item, session: &Object) -> bool {
    let user = user_noted(session);
    item.object().origin() == Origin::DirectUser
        && item
            .speaker()
            .is_some_and(|speaker| role_of(Some(&speaker), user.as_deref()) == Some(Origin::DirectUser))
}

/// Returns the least class of the session itself and of every entry that it ever had.
pub(super) fn class_seen(session: &Object) -> Origin {
    Origin::least(class_noted(session), session.origin())
}

pub(super) fn class_noted(session: &Object) -> Origin {
    let name = text_of(session, attribute::CLASS);
    name.and_then(|name| Origin::from_name(&name))
        .unwrap_or(Origin::DirectUser)
}

/// Returns the number of entries of a session that were not stored.
pub(super) fn withheld(session: &Object) -> i64 {
    integer_of(session, attribute::WITHHELD).unwrap_or(0)
}

fn item_of(entry: &NewEntry, session: &str, scope: &Scope, arrival: u64) -> NewItem {
    let mut item = NewItem::new(entry.text.clone());
    item.kind = known_kind(kind::ENTRY);
    item.scope = scope.clone();
    item.session = Some(session.to_owned());
    item.speaker.clone_from(&entry.speaker);
    item.time = entry.time;
    item.order = entry.order.or_else(|| i64::try_from(arrival).ok());
    item
}

/// Returns the place of an entry among all entries that were ever appended.
pub(super) fn arrival_of(item: &Item) -> u64 {
    let position = item.object().position();
    position
        .and_then(|key| u64::from_str_radix(key, 16).ok())
        .unwrap_or(0)
}

/// Returns a number above the arrival of every entry in the state of `view`.
pub(super) fn arrivals_before(view: &View) -> u64 {
    (view.commit().commit.seq + 1).saturating_mul(BATCH_MAX)
}

/// SAE-2: the highest class of the words of a role; `None` for other names. Those count as tools with external text, unless the
/// host gives the origin.
fn role_of(speaker: Option<&str>, user: Option<&str>) -> Option<Origin> {
    match speaker.map(str::to_lowercase).as_deref() {
        None => Some(Origin::DirectUser),
        Some(name) if PERSON.contains(&name) || user.is_some_and(|user| user.to_lowercase() == name) => {
            Some(Origin::DirectUser)
        }
        Some("system" | "developer" | "host") => Some(Origin::Host),
        Some("assistant" | "model" | "ai" | "agent") => Some(Origin::Model),
        Some(_) => None,
    }
}
