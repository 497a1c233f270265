//! Imports files of other memory systems. No code in a file is ever evaluated.
//!
//! Each format has a separate module, which maps a file to objects. This module reviews and commits the objects. An
//! imported object has at most the origin `import`. Importing the same file again changes nothing. Importing a changed
//! file updates the objects of the earlier import.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - IMP-1: an imported object is never trusted, and never replaces a trusted object.
//! - IMP-2: a name of the other system always maps to the same id, and two names never map to the same id.

mod agent_files;
mod basic_memory;
mod letta;
mod mapping;
mod mem0;
pub(crate) mod odek;
mod server_memory;
mod snap;

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

pub use self::mapping::Foreign;
pub(crate) use self::mapping::ForeignFinding;
pub use self::mapping::ForeignFormat;
use self::mapping::{Mapped, is_partial};
use crate::agent::Agent;
use crate::agent::change::review::review;
use crate::agent::change::{Change, Fate, Rule, admit, change};
use crate::agent::item::item_of;
use crate::agent::vocabulary::attribute;
use crate::engine::{CommitInfo, Query, Staged, Writer};
use crate::error::Result;
use crate::object::{Id, NewObject, Origin, Scope};
use treering_text::scan::Verdict;

/// The numbers of imported objects, by result.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct ForeignCounts {
    /// The number of new objects.
    pub created: u64,
    /// The number of objects with a new version.
    pub updated: u64,
    /// The number of removed objects, which an earlier state of the file had.
    pub removed: u64,
    /// The number of objects that the file did not change.
    pub unchanged: u64,
    /// The number of objects that the scan flagged and that are stored.
    pub flagged: u64,
    /// The number of quarantined objects.
    pub quarantined: u64,
    /// The number of refused objects, and of parts of the file that cannot be read.
    pub refused: u64,
    /// The number of earlier versions that were added to history.
    pub past: u64,
}

/// The result of an import.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ForeignTaken {
    /// The numbers of objects with each result.
    #[serde(flatten)]
    pub counts: ForeignCounts,
    /// The faults of the file.
    pub findings: Vec<ForeignFinding>,
    /// The names of the references below `rejected/`, one for each of the quarantined objects.
    pub held: Vec<String>,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// Imports a file of another system in one commit of the operation `import`.
///
/// # Errors
/// `InvalidInput` (code `unreadable`) if no part of the file can be read; also the errors of a commit. A fault in one
/// part is a finding, not an error.
pub fn take_foreign(agent: &Agent, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
    admit(agent, writer, Origin::Import, None)?;
    let done = change(agent, writer, &Rule::IMPORT, |change| {
        let key = agent.names_key();
        let mut mapped = match foreign.format {
            ForeignFormat::ServerMemory => server_memory::map(foreign, key),
            ForeignFormat::Mem0 => mem0::map(foreign, key),
            ForeignFormat::Letta => letta::map(foreign, key),
            ForeignFormat::BasicMemory => basic_memory::map(foreign, key),
            ForeignFormat::Odek(about) => odek::map(foreign, about, key),
            ForeignFormat::Snap => snap::map(foreign, key),
            ForeignFormat::AgentFiles(_) => agent_files::map(foreign, key),
        }?;
        let mut counts = ForeignCounts {
            refused: mapped.refused,
            ..ForeignCounts::default()
        };
        let seen = take_all(change, &mut mapped, &mut counts)?;
        for (scope, source) in &mapped.sources {
            counts.removed += remove_gone(change, scope, source, &seen)?;
        }
        for object in std::mem::take(&mut mapped.past) {
            let id = object.id.clone();
            match take_past(change, object) {
                Ok(is_taken) => counts.past += u64::from(is_taken),
                Err(error) if is_partial(&error) => {
                    mapped.say(id.as_str(), format!("an earlier version: {}", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        mapped.say_omitted();
        // RMB-1: an answer never contains a text that the scan stopped.
        for ForeignFinding { at, what } in &mut mapped.findings {
            *at = agent.scanner().redact(at).into_owned();
            *what = agent.scanner().redact(what).into_owned();
        }
        Ok((counts, mapped.findings))
    })?;
    let (counts, findings) = done.value;
    Ok(ForeignTaken {
        counts,
        findings,
        held: done.held,
        commit: done.committed.commit,
    })
}

/// Removes the imported items of a source that it no longer has. Returns their number.
fn remove_gone(change: &mut Change<'_>, scope: &Scope, source: &str, seen: &HashSet<Id>) -> Result<u64> {
    let query = Query::default()
        .scope(scope.clone())
        .attribute(attribute::SOURCE, source);
    let mut removed = 0;
    for object in change.base().clone().query(&query)? {
        let object = object?;
        let id = object.id();
        // IMP-1: a promoted item stays, because it is the person's now.
        if agent_files::is_imported(id) && !object.origin().is_trusted() && !seen.contains(id) {
            removed += u64::from(change.remove(id)?);
        }
    }
    Ok(removed)
}

/// Stages the objects of a file, and counts their results. Returns the ids in the file.
fn take_all(change: &mut Change<'_>, mapped: &mut Mapped, counts: &mut ForeignCounts) -> Result<HashSet<Id>> {
    let (mut gone, mut seen) = (HashSet::new(), HashSet::new());
    for (at, mut object) in std::mem::take(&mut mapped.incoming) {
        let id = object.id.clone();
        // IMP-2: two names never map to the same id.
        if !seen.insert(id.clone()) {
            counts.refused += 1;
            let what = format!(
                "another name in the file maps to the same id '{id}'; only the first object is imported"
            );
            mapped.say(at, what);
            continue;
        }
        if let Some(parent) = object.parent.take_if(|parent| gone.contains(parent)) {
            mapped.say(
                &at,
                format!("the parent '{parent}' was not imported, so the object has no parent"),
            );
        }
        let (fate, said) = match take_object(change, object) {
            Ok(passed) => passed,
            Err(error) if is_partial(&error) => (Fate::Refused, Some(error.message().to_owned())),
            Err(error) => return Err(error),
        };
        let is_staged = matches!(fate, Fate::Staged(_));
        counts.flagged += u64::from(is_staged && said.is_some());
        *match fate {
            Fate::Staged(Staged::Created) => &mut counts.created,
            Fate::Staged(Staged::Updated) => &mut counts.updated,
            Fate::Staged(Staged::Unchanged) => &mut counts.unchanged,
            Fate::Held => &mut counts.quarantined,
            Fate::Refused => &mut counts.refused,
        } += 1;
        if !is_staged && change.digest(&id)?.is_none() {
            gone.insert(id);
        }
        if let Some(said) = said {
            mapped.say(at, said);
        }
    }
    Ok(seen)
}

/// Stages one object. Returns its result, and a message about the refusal or the findings of the scan.
fn take_object(change: &mut Change<'_>, object: NewObject) -> Result<(Fate, Option<String>)> {
    let id = object.id.clone();
    if let Some(present) = change.get(&id)? {
        // IMP-1: an import never replaces a trusted object.
        let refused = |what: String| Ok((Fate::Refused, Some(format!("the id '{id}' belongs to {what}"))));
        if present.scope() != object.scope.as_str() {
            return refused(format!("an object of the scope {}", present.scope()));
        }
        if present.origin().is_trusted() || present.kind() != object.kind.as_str() {
            return refused("an object that an import may not replace".to_owned());
        }
    }
    let (parent, position) = (object.parent.clone(), object.position.clone());
    let passed = change.put(id, item_of(object), Origin::Import, |object| {
        object.parent = parent;
        object.position = position;
    })?;
    let outcome = match passed.fate {
        Fate::Staged(_) if passed.is_redacted => "a marker replaces the secret",
        Fate::Staged(_) => "the object is stored with a flag",
        Fate::Held => "the object is quarantined",
        Fate::Refused => "the object is refused",
    };
    let rules = passed.rules.join(", ");
    let said = (!passed.rules.is_empty()).then(|| format!("the scan found {rules}; {outcome}"));
    Ok((passed.fate, said))
}

/// Adds an earlier version to history. Returns `false` if the scan stops it.
fn take_past(change: &mut Change<'_>, object: NewObject) -> Result<bool> {
    let id = object.id.clone();
    let reviewed = review(change.agent(), item_of(object), change.class_of(Origin::Import)?)?;
    if reviewed.verdict > Verdict::Flag {
        return Ok(false);
    }
    let object = reviewed.item.into_object(id)?;
    change.put_past(&object, Origin::Import)?;
    Ok(true)
}

#[cfg(test)]
mod tests;
