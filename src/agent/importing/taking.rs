//! Memories of other systems into this one: read as data, mapped to ids of ours, reviewed like any other text.
//!
//! What comes in has the origin `import` at most. The same file again changes nothing, and a changed one updates what it
//! brought before; it never replaces what somebody who is trusted wrote.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - IMP-1: nothing that was imported is trusted, and nothing trusted is replaced by it.

use std::collections::HashSet;

use super::mapping::{Incoming, is_of_a_part, map};
use crate::agent::Agent;
use crate::agent::item::item_of;
use crate::agent::scope::Place;
use crate::agent::session::extraction::FactScope;
use crate::agent::staging::{Fate, Staging, with_tries};
use crate::agent::vocabulary::op;
use crate::engine::{CommitInfo, Staged, Writer};
use crate::error::Result;
use crate::object::{NewObject, Origin, Scope};

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFormat {
    /// The graph of the MCP reference server `memory`, in JSON Lines.
    ServerMemory,
    /// A fact file of odek, about the person or the environment.
    Odek(FactScope),
    /// The `memory.snap` of the published core.
    Snap,
}

impl ForeignFormat {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ServerMemory => "server-memory",
            Self::Odek(_) => "odek",
            Self::Snap => "snap",
        }
    }
}

/// A file of another system.
#[derive(Clone, Debug)]
pub struct Foreign<'a> {
    /// What it is.
    pub format: ForeignFormat,
    /// What is in it.
    pub bytes: &'a [u8],
    /// Where it belongs; else facts about the person and the objects of the published core go to `global`, and the rest to
    /// the project.
    pub scope: Option<Scope>,
    /// What the project is.
    pub place: Place,
}

/// Something that was not taken, or not as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignFinding {
    /// Where it stands: a line, an entry, a name.
    pub at: String,
    /// What it is.
    pub what: String,
}

/// A file of another system was taken in.
#[derive(Clone, Debug)]
pub struct ForeignTaken {
    /// New objects.
    pub created: u64,
    /// Objects with a new version.
    pub updated: u64,
    /// Objects that say what the file says.
    pub unchanged: u64,
    /// Objects that were stored with the rules that they met.
    pub flagged: u64,
    /// Objects that wait for a person.
    pub quarantined: u64,
    /// Objects that were not taken.
    pub refused: u64,
    /// Earlier versions that went into history.
    pub past: u64,
    /// What was not as it should be.
    pub findings: Vec<ForeignFinding>,
    /// Under which name a person finds what is held back.
    pub held: Option<String>,
    /// The commit, or the head if nothing changed.
    pub commit: CommitInfo,
}

impl Agent {
    /// Takes a file of another system in, in one commit of the operation `import`.
    ///
    /// # Errors
    /// `InvalidInput` (code `unreadable`) if nothing of the file can be read; as a commit. What is wrong with a part of it is
    /// a finding.
    pub fn take_foreign(&self, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
        with_tries(|| self.try_take_foreign(foreign, writer))
    }

    fn try_take_foreign(&self, foreign: &Foreign<'_>, writer: &Writer) -> Result<ForeignTaken> {
        let mut staging = Staging::new(self, writer)?;
        let mut mapped = map(foreign, self.names_key())?;
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
            commit: staging.draft.base().commit(),
        };
        let (mut gone, mut seen) = (HashSet::new(), HashSet::new());
        for Incoming { at, mut object } in std::mem::take(&mut mapped.incoming) {
            // IMP-2.
            if !seen.insert(object.id.clone()) {
                taken.refused += 1;
                mapped.say(
                    at,
                    format!(
                        "another name of the file becomes '{}' too; the first holds",
                        object.id
                    ),
                );
                continue;
            }
            if let Some(parent) = object.parent.take_if(|parent| gone.contains(parent)) {
                mapped.say(&at, format!("its parent '{parent}' was not taken; it has none"));
            }
            let id = object.id.clone();
            let passed = self.take_object(&mut staging, object);
            let (fate, said) = match passed {
                Ok(passed) => passed,
                Err(error) if is_of_a_part(&error) => (Fate::Refused, Some(error.message().to_owned())),
                Err(error) => return Err(error),
            };
            taken.flagged += u64::from(matches!(fate, Fate::Staged(_)) && said.is_some());
            match fate {
                Fate::Staged(Staged::Created) => taken.created += 1,
                Fate::Staged(Staged::Updated) => taken.updated += 1,
                Fate::Staged(Staged::Unchanged) => taken.unchanged += 1,
                Fate::Held => taken.quarantined += 1,
                Fate::Refused => taken.refused += 1,
            }
            if !matches!(fate, Fate::Staged(_)) && staging.draft.digest(&id)?.is_none() {
                gone.insert(id);
            }
            if let Some(said) = said {
                mapped.say(at, said);
            }
        }
        for object in std::mem::take(&mut mapped.past) {
            let id = object.id.clone();
            match self.take_past(&mut staging, object) {
                Ok(is_taken) => taken.past += u64::from(is_taken),
                Err(error) if is_of_a_part(&error) => {
                    mapped.say(id.as_str(), format!("an earlier version: {}", error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        let done = staging.commit(self.memory(), op::IMPORT)?;
        taken.findings = mapped.findings;
        taken.held = done.held;
        taken.commit = done.committed.commit;
        Ok(taken)
    }

    /// Puts an earlier version into history, unless the scan minds: history is not a way around it.
    fn take_past(&self, staging: &mut Staging, object: NewObject) -> Result<bool> {
        let id = object.id.clone();
        let reviewed = self.review(item_of(object)?)?;
        if reviewed.verdict > crate::scan::Verdict::Flag {
            return Ok(false);
        }
        let object = reviewed.item.into_object(id)?;
        staging.draft.put_past(&object, Origin::Import)?;
        Ok(true)
    }

    /// Stages one object; what there is to say of it comes along.
    fn take_object(&self, staging: &mut Staging, object: NewObject) -> Result<(Fate, Option<String>)> {
        if let Some(present) = staging.draft.get(&object.id)? {
            // IMP-1.
            if present.scope() != object.scope.as_str() {
                let what = format!("the id '{}' is of the scope {}", object.id, present.scope());
                return Ok((Fate::Refused, Some(what)));
            }
            if present.origin().is_trusted() || present.kind() != object.kind.as_str() {
                let what = format!(
                    "the id '{}' belongs to something that was not imported",
                    object.id
                );
                return Ok((Fate::Refused, Some(what)));
            }
        }
        let (parent, position) = (object.parent.clone(), object.position.clone());
        let id = object.id.clone();
        let passed = staging.put(self, id, item_of(object)?, Origin::Import, |object| {
            object.parent = parent;
            object.position = position;
        })?;
        let said = (!passed.rules.is_empty()).then(|| format!("the scan found {}", passed.rules.join(", ")));
        Ok((passed.fate, said))
    }
}
