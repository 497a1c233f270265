//! What the scan, a gate or a guard held back, with the reason: kept outside the state until a person decides.
//!
//! It stands under `rejected/`, the newest 20, and garbage collection lets it go after 7 days.
//!
//! # Layer
//! L7, inside `agent`.

use super::{PersonSays, person};
use crate::agent::Agent;
use crate::agent::envelope::one_line;
use crate::agent::vocabulary::op;
use crate::engine::{Committed, Draft, ReferenceInfo, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::object::{Object, Time};

/// The class of names of what was held back.
const CLASS: &str = "rejected/";
/// Ids that are named of one change.
const IDS_SHOWN: usize = 20;
/// Characters of a text that are shown.
const PREVIEW_CHARS: usize = 200;

/// A change that was held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Its name, such as `rejected/17`.
    pub name: String,
    /// Why it was held back.
    pub reason: Option<String>,
    /// When.
    pub time: Time,
    /// Who wanted to write it.
    pub actor: Option<String>,
    /// In which session.
    pub session: Option<String>,
    /// What it would have changed: at most 20 ids.
    pub ids: Vec<String>,
    /// How many ids it would have changed.
    pub ids_total: usize,
    /// How the first text begins, without secrets, in one line, what cannot be seen written out.
    pub preview: String,
}

impl Agent {
    /// Everything that is held back, newest first.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if one cannot be read.
    pub fn quarantined(&self) -> Result<Vec<Quarantined>> {
        let references = self.memory().references().into_iter();
        references
            .filter(|reference| reference.name.starts_with(CLASS))
            .map(|reference| self.told(reference))
            .collect()
    }

    fn told(&self, reference: ReferenceInfo) -> Result<Quarantined> {
        let mut told = Quarantined {
            name: reference.name,
            reason: reference.reason,
            time: reference.time,
            actor: reference.actor,
            session: reference.session,
            ids: Vec::new(),
            ids_total: 0,
            preview: String::new(),
        };
        let draft = match self.memory().open_draft(&told.name, Writer::new()) {
            Ok(draft) => draft,
            // The state that it was made on is not kept: what is left is who and why.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(told),
            Err(error) => return Err(error),
        };
        let changes = draft.changes();
        told.ids_total = changes.len();
        for change in changes.into_iter().take(IDS_SHOWN) {
            if told.preview.is_empty() {
                let object = draft.get(&change.id)?;
                told.preview = self.preview(object.as_ref().and_then(Object::content).unwrap_or_default());
            }
            told.ids.push(change.id.to_string());
        }
        Ok(told)
    }

    /// The beginning of a text as it may be shown to anybody.
    pub(in crate::agent) fn preview(&self, text: &str) -> String {
        one_line(&self.scanner().redact(text), PREVIEW_CHARS)
    }

    /// Commits what was held back, as a person decides; it is as little trusted as it was.
    ///
    /// # Errors
    /// `NotFound`: there is nothing of that name. `Conflict`: what it would change was changed since. `Denied` (code
    /// `not_a_person`): the writer is of another class. As [`Memory::commit`](crate::Memory::commit).
    pub fn release(&self, name: &str, says: PersonSays, writer: &Writer) -> Result<Committed> {
        let writer = person(writer, says, "release what was held back")?;
        let name = full_name(name)?;
        let mut draft = self.opened(&name, writer.clone())?;
        draft.snapshot_before(true);
        let committed = self.memory().commit(draft, op::RELEASE)?;
        self.memory().delete_draft(&name, &writer)?;
        Ok(committed)
    }

    /// Drops what was held back.
    ///
    /// # Errors
    /// `NotFound`: there is nothing of that name. As [`Memory::commit`](crate::Memory::commit).
    pub fn discard(&self, name: &str, writer: &Writer) -> Result<()> {
        let name = full_name(name)?;
        let deleted = self
            .memory()
            .delete_draft(&name, &self.without_secrets(writer.clone())?);
        deleted.map_err(|error| not_held(&name, error))
    }

    fn opened(&self, name: &str, writer: Writer) -> Result<Draft> {
        let opened = self.memory().open_draft(name, self.without_secrets(writer)?);
        opened.map_err(|error| not_held(name, error))
    }
}

fn not_held(name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::not_found(format!("{name} is not held back"))
            .with_hint("`quarantine` lists what is; after 7 days, or behind 20 newer ones, it is gone")
    } else {
        error
    }
}

/// The name with its class; a number alone is one of those that were held back.
fn full_name(name: &str) -> Result<String> {
    match name.split_once('/') {
        None => Ok(format!("{CLASS}{name}")),
        Some(_) if name.starts_with(CLASS) => Ok(name.to_owned()),
        Some(_) => Err(
            Error::invalid(format!("'{name}' is no name of what was held back"))
                .with_hint("such as rejected/17, or 17"),
        ),
    }
}
