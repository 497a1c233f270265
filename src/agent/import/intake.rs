//! The import of a file of another system: mapped to objects, then reviewed like any other text.
//!
//! Imported objects have the origin `import` at most. The same file again changes nothing. A changed file updates the
//! objects of its last import; it never replaces an object of a trusted writer.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - IMP-1: an import is never trusted, and never replaces a trusted object.

use std::collections::HashSet;

use super::foreign::{Foreign, ForeignFormat, ForeignTaken};
use super::mapped::{Incoming, Mapped, is_partial};
use super::{odek, server_memory, snap};
use crate::agent::Agent;
use crate::agent::change::review::review;
use crate::agent::change::{Change, Fate, Rule, change};
use crate::agent::item::item_of;
use crate::engine::{Staged, Writer};
use crate::error::Result;
use crate::object::{NewObject, Origin};
use crate::scan::Verdict;

/// Imports a file in one commit.
pub(in crate::agent) fn take(agent: &Agent, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
    let done = change(agent, writer, &Rule::IMPORT, |change| {
        let mut mapped = map(foreign, agent.names_key())?;
        let mut taken = ForeignTaken {
            created: 0,
            updated: 0,
            unchanged: 0,
            flagged: 0,
            quarantined: 0,
            refused: 0,
            past: 0,
            findings: Vec::new(),
            held: None,
            commit: change.base().commit(),
        };
        take_all(change, &mut mapped, &mut taken)?;
        for object in std::mem::take(&mut mapped.past) {
            let id = object.id.clone();
            match take_past(change, object) {
                Ok(is_taken) => taken.past += u64::from(is_taken),
                Err(error) if is_partial(&error) => {
                    mapped.say(id.as_str(), format!("an earlier version: {}", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        taken.findings = mapped.findings;
        Ok(taken)
    })?;
    Ok(ForeignTaken {
        held: done.held,
        commit: done.committed.commit,
        ..done.value
    })
}

fn map(foreign: &Foreign<'_>, key: &[u8; 32]) -> Result<Mapped> {
    match foreign.format {
        ForeignFormat::ServerMemory => server_memory::map(foreign, key),
        ForeignFormat::Odek(about) => odek::map(foreign, about, key),
        ForeignFormat::Snap => snap::map(foreign, key),
    }
}

/// Stages the objects of a file, and counts the fate of each.
fn take_all(change: &mut Change<'_>, mapped: &mut Mapped, taken: &mut ForeignTaken) -> Result<()> {
    let (mut gone, mut seen) = (HashSet::new(), HashSet::new());
    for Incoming { at, mut object } in std::mem::take(&mut mapped.incoming) {
        let id = object.id.clone();
        // IMP-2.
        if !seen.insert(id.clone()) {
            taken.refused += 1;
            let what = format!("another name of the file has the id '{id}' too; the first counts");
            mapped.say(at, what);
            continue;
        }
        if let Some(parent) = object.parent.take_if(|parent| gone.contains(parent)) {
            mapped.say(
                &at,
                format!("its parent '{parent}' was not imported; it has none"),
            );
        }
        let (fate, said) = match take_object(change, object) {
            Ok(passed) => passed,
            Err(error) if is_partial(&error) => (Fate::Refused, Some(error.message().to_owned())),
            Err(error) => return Err(error),
        };
        let is_staged = matches!(fate, Fate::Staged(_));
        taken.flagged += u64::from(is_staged && said.is_some());
        *match fate {
            Fate::Staged(Staged::Created) => &mut taken.created,
            Fate::Staged(Staged::Updated) => &mut taken.updated,
            Fate::Staged(Staged::Unchanged) => &mut taken.unchanged,
            Fate::Held => &mut taken.quarantined,
            Fate::Refused => &mut taken.refused,
        } += 1;
        if !is_staged && change.digest(&id)?.is_none() {
            gone.insert(id);
        }
        if let Some(said) = said {
            mapped.say(at, said);
        }
    }
    Ok(())
}

/// Stages one object, and returns its fate with the reason or the rules of the scan.
fn take_object(change: &mut Change<'_>, object: NewObject) -> Result<(Fate, Option<String>)> {
    let id = object.id.clone();
    if let Some(present) = change.get(&id)? {
        // IMP-1.
        let refusal = if present.scope() != object.scope.as_str() {
            Some(format!("the id '{id}' is of the scope {}", present.scope()))
        } else if present.origin().is_trusted() || present.kind() != object.kind.as_str() {
            Some(format!(
                "the id '{id}' belongs to an object that was not imported"
            ))
        } else {
            None
        };
        if refusal.is_some() {
            return Ok((Fate::Refused, refusal));
        }
    }
    let (parent, position) = (object.parent.clone(), object.position.clone());
    let passed = change.put(id, item_of(object)?, Origin::Import, |object| {
        object.parent = parent;
        object.position = position;
    })?;
    let said = (!passed.rules.is_empty()).then(|| format!("the scan found {}", passed.rules.join(", ")));
    Ok((passed.fate, said))
}

/// Puts an earlier version into history, unless the scan holds it back.
fn take_past(change: &mut Change<'_>, object: NewObject) -> Result<bool> {
    let id = object.id.clone();
    let reviewed = review(change.agent(), item_of(object)?)?;
    if reviewed.verdict > Verdict::Flag {
        return Ok(false);
    }
    let object = reviewed.item.into_object(id)?;
    change.put_past(&object, Origin::Import)?;
    Ok(true)
}
