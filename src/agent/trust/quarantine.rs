//! The quarantine: changes that the scan, a gate or the guard stopped. They are outside the state until a person decides.
//!
//! The changes are kept under `rejected/`. Garbage collection removes them after 7 days. If newer changes push an older
//! one out, the reason of a newer one names it.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The 200 newest rejected changes are kept. A writer with many names can push older ones out before their 7 days.
//!   The reasons of the newer ones name the removed ones.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::Agent;
use crate::agent::change::drafts;
use crate::agent::envelope::one_line;
use crate::agent::guard::{ChangedObject, changes_of};
use crate::agent::scope::Reach;
use crate::engine::{Draft, ReferenceInfo, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Time;

/// The prefix of the names of quarantined changes.
pub(super) const CLASS: &str = "rejected/";
/// The maximum number of ids of a change in a list.
const IDS_SHOWN: usize = 20;
/// The maximum number of characters of a text in a preview.
const PREVIEW_CHARS: usize = 200;

/// A quarantined change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Quarantined {
    /// Its name, for example `rejected/17`.
    pub name: String,
    /// The reason why it was quarantined.
    pub reason: Option<String>,
    /// The time of the quarantine.
    pub time: Time,
    /// The name of its writer.
    pub actor: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// The ids within the reach that it would change, at most 20.
    pub ids: Vec<String>,
    /// The number of ids that it would change, in any scope.
    pub ids_total: usize,
    /// The beginning of the first text: one line, without secrets, with invisible characters escaped.
    pub preview: String,
}

/// Returns the reason of a quarantined change, with the names of older changes that it pushed out.
pub(crate) fn held_reason(agent: &Agent, name: &str) -> Option<String> {
    let references = agent.memory().references().into_iter();
    let mut named = references.filter(|reference| reference.name == name);
    named.next()?.reason
}

/// Returns the objects of a quarantined change, by id.
///
/// # Errors
/// `NotFound`: no quarantined change has this name. `Corrupt` or `Io` if it cannot be read.
pub(crate) fn held_objects(agent: &Agent, name: &str) -> Result<Vec<ChangedObject>> {
    changes_of(&opened(agent, &full_name(name)?, &Writer::user())?)
}

pub(super) fn described(
    agent: &Agent,
    reference: ReferenceInfo,
    reach: &Reach,
) -> Result<Option<Quarantined>> {
    let mut change = Quarantined {
        name: reference.name,
        reason: reference.reason,
        time: reference.time,
        actor: reference.actor,
        session: reference.session,
        ids: Vec::new(),
        ids_total: 0,
        preview: String::new(),
    };
    let changes = match agent.memory().open_draft(&change.name, &Writer::user()) {
        Ok(draft) => changes_of(&draft)?,
        // The base of the change is not kept, so only the writer and the reason are left.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(change)),
        Err(error) => return Err(error),
    };
    change.ids_total = changes.len();
    let seen = changes.iter().filter(|one| reach.has(one.scope()));
    for one in seen.take(IDS_SHOWN) {
        if change.preview.is_empty() {
            change.preview = preview(agent, one.text());
        }
        change.ids.push(one.id.to_string());
    }
    Ok((change.ids_total == 0 || !change.ids.is_empty()).then_some(change))
}

/// Returns the beginning of a text in a form that anybody may see.
pub(crate) fn preview(agent: &Agent, text: &str) -> String {
    one_line(&agent.scanner().redact(text), PREVIEW_CHARS)
}

pub(super) fn opened(agent: &Agent, name: &str, writer: &Writer) -> Result<Draft> {
    drafts::open(agent, name, writer).map_err(|error| not_held(name, error))
}

pub(super) fn not_held(name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::not_found(format!("{name} is not in quarantine")).with_hint(
            "`quarantine` lists the changes; a change is removed after 7 days, or when newer ones need its place",
        )
    } else {
        error
    }
}

/// Returns the name with its class. A number alone means a quarantined change.
pub(super) fn full_name(name: &str) -> Result<String> {
    match name.split_once('/') {
        None => Ok(format!("{CLASS}{name}")),
        Some(_) if name.starts_with(CLASS) => Ok(name.to_owned()),
        Some(_) => Err(
            Error::invalid(format!("'{name}' is not the name of a quarantined change"))
                .with_hint("write it as rejected/17, or 17"),
        ),
    }
}
