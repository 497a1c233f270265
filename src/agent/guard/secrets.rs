//! Redacts the secrets of a guarded change before any part of the change is written to the log.
//!
//! Refused and staged changes are saved as drafts, so they are in the log even if they are never committed.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - GRD-4: no guarded change writes a secret that the scan recognises into the log. Markers replace secrets in texts.
//!   A name that contains a secret is refused.

use std::collections::HashMap;

use crate::agent::Agent;
use crate::agent::change::names::check_names;
use crate::agent::change::names::redact_object;
use crate::digest::ObjectDigest;
use crate::engine::{Draft, OriginRule};
use crate::error::Result;
use crate::object::Object;

/// Replaces the secrets in every staged object and earlier version with markers. Updates references to a redacted
/// version to its new digest.
///
/// # Errors
/// `Denied` (code `refused`): a name contains a secret. `InvalidInput`: a text is too long after markers replaced
/// secrets.
pub(super) fn redact_staged(agent: &Agent, draft: &mut Draft) -> Result<()> {
    let mut replaced: HashMap<ObjectDigest, ObjectDigest> = HashMap::new();
    let mut is_first = true;
    loop {
        let before = replaced.len();
        let past = draft.past().into_iter().map(|object| (object, true));
        let mut objects: Vec<(Object, bool)> = past.collect();
        for change in draft.changes() {
            let object = draft.get(&change.id)?.filter(|_| change.new.is_some());
            objects.extend(object.map(|object| (object, false)));
        }
        for (object, is_past) in objects {
            if replaced.contains_key(&object.digest()) {
                continue;
            }
            let mut new = object.to_new()?;
            let mut is_changed = false;
            if is_first {
                check_names(agent, &new)?;
                is_changed = redact_object(agent.scanner(), &mut new);
            }
            for source in &mut new.derived_from {
                if let Some(by) = replaced.get(source) {
                    *source = *by;
                    is_changed = true;
                }
            }
            if is_changed {
                let id = new.id.clone();
                let digest = if is_past {
                    draft.put_past(&new, object.origin())?
                } else {
                    draft.stage(new, OriginRule::AtMost(object.origin()))?;
                    draft.digest(&id)?.unwrap_or(object.digest())
                };
                replaced.insert(object.digest(), digest);
            }
        }
        is_first = false;
        // Updating a reference changes the digest of its version, so references to that version need an update too.
        if replaced.len() == before {
            break;
        }
    }
    for digest in replaced.keys() {
        draft.drop_past(*digest);
    }
    Ok(())
}
