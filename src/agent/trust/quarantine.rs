//! The quarantine contains changes that the scan, a gate or the guard stopped. These changes are not part of the state
//! until a person releases them.
//!
//! Quarantined changes are references below `rejected/`. Garbage collection removes them after 7 days. If a newer
//! change evicts an older change, the reason of the newer change names the older change.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - The quarantine retains the 1,000 newest changes. A writer that uses many names can evict older changes before their
//!   7 days are over. The reasons of the newer changes name the evicted changes.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::Agent;
use crate::agent::change::drafts;
use crate::agent::envelope::one_line;
use crate::agent::guard::{ChangedObject, changes_of};
use crate::agent::scope::Reach;
use crate::engine::{Draft, ReferenceInfo, Writer};
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Object, Origin, Time};

/// The prefix of the names of quarantined changes.
pub(super) const CLASS: &str = "rejected/";
/// The maximum number of ids that a list shows per change.
const IDS_SHOWN: usize = 20;
/// The maximum number of characters of a text in a preview.
const PREVIEW_CHARS: usize = 200;

/// A quarantined change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Quarantined {
    /// The name of the change, for example `rejected/17`.
    pub name: String,
    /// The reason why the change was quarantined.
    pub reason: Option<String>,
    /// The time of the quarantine.
    pub time: Time,
    /// The name of the writer of the change.
    pub actor: Option<String>,
    /// The session of the writer of the change.
    pub session: Option<String>,
    /// The ids that the change affects in the scopes of the reach, at most 20.
    pub ids: Vec<String>,
    /// The number of ids that the change affects, in all scopes.
    pub ids_total: usize,
    /// The class of the first text. `None` if its objects are not readable.
    pub trust: Option<Origin>,
    /// The beginning of the first text, on one line. Secrets are redacted, and invisible characters are escaped.
    pub preview: String,
    /// Whether an answer withholds the preview, because it is untrusted and the caller did not ask for untrusted texts.
    #[serde(rename = "withheld")]
    pub is_withheld: bool,
}

/// Returns the reason of a quarantined change, which also names the older changes that it evicted.
pub fn held_reason(agent: &Agent, name: &str) -> Option<String> {
    let name = full_name(name).ok()?;
    let references = agent.memory().references().into_iter();
    let mut named = references.filter(|reference| reference.name == name);
    named.next()?.reason
}

/// Returns the error for a text that was quarantined as `name` instead of being stored.
pub fn held_back(agent: &Agent, name: &str) -> Error {
    let why = held_reason(agent, name).map(|why| format!(": {why}"));
    let why = why.unwrap_or_default();
    let text = format!("the text is not stored, but quarantined as {name}{why}");
    Error::denied(ErrorCode::Quarantined, text)
        .with_names(vec![name.to_owned()])
        .with_hint(format!(
            "a person reviews it with: treering quarantine --release {name} --dry-run"
        ))
}

/// Returns the objects of a quarantined change, sorted by id.
///
/// # Errors
/// `NotFound`: no quarantined change has this name. `Corrupt` or `Io`: the change cannot be read.
pub fn held_objects(agent: &Agent, name: &str) -> Result<Vec<ChangedObject>> {
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
        trust: None,
        preview: String::new(),
        is_withheld: false,
    };
    let changes = match agent.memory().open_draft(&change.name, &Writer::user()) {
        Ok(draft) => changes_of(&draft)?,
        // The store no longer contains the base of the change, so only the change's writer and reason are
        // readable.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(change)),
        Err(error) => return Err(error),
    };
    change.ids_total = changes.len();
    let seen = changes.iter().filter(|one| reach.has(one.scope()));
    for one in seen.take(IDS_SHOWN) {
        if change.preview.is_empty() {
            change.preview = preview(agent, one.text());
            change.trust = one.object().map(Object::origin);
        }
        change.ids.push(one.id.to_string());
    }
    Ok((change.ids_total == 0 || !change.ids.is_empty()).then_some(change))
}

/// Returns the beginning of a text on one line. Redacts secrets, and escapes invisible characters.
fn preview(agent: &Agent, text: &str) -> String {
    one_line(&agent.scanner().redact(text), PREVIEW_CHARS)
}

pub(super) fn opened(agent: &Agent, name: &str, writer: &Writer) -> Result<Draft> {
    drafts::open(agent, name, writer).map_err(|error| not_held(name, error))
}

pub(super) fn not_held(name: &str, error: Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::not_found(format!("there is no quarantined change {name}")).with_hint(
            "`quarantine` lists the changes; a change is removed after 7 days, or earlier when the quarantine is full",
        )
    } else {
        error
    }
}

/// Returns the full name `rejected/NAME` of a quarantined change. Accepts the name with or without `rejected/`.
pub(super) fn full_name(name: &str) -> Result<String> {
    match name.split_once('/') {
        None => Ok(format!("{CLASS}{name}")),
        Some(_) if name.starts_with(CLASS) => Ok(name.to_owned()),
        Some(_) => Err(
            Error::invalid(format!("'{name}' is not the name of a quarantined change"))
                .with_hint("write the name like rejected/17, or 17"),
        ),
    }
}
