//! Secrets go out of a guarded change before anything of it is written, whether it is kept or refused.
//!
//! A change that is refused is kept for a person to look at, and a staged one is a saved draft: both are in the log before any
//! check has the last word.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - GRD-4: no secret that the scan knows gets into the log by a guarded change: texts get markers, and names that hold one are refused.

use std::collections::HashMap;

use crate::agent::Agent;
use crate::digest::ObjectDigest;
use crate::engine::Draft;
use crate::error::Result;
use crate::object::{NewObject, Object, Value};
use crate::scan::Scanner;

impl Agent {
    /// Puts markers in the place of secrets, in everything that is staged or goes into history with it. What was made from a version
    /// that had one is made from the version with the marker.
    ///
    /// # Errors
    /// `Denied` (code `refused`): a name holds a secret. `InvalidInput`: with a marker a text is too long.
    pub(super) fn redact_staged(&self, draft: &mut Draft) -> Result<()> {
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
                    self.refuse_bad_names(&new)?;
                    is_changed = self.redact_object(&mut new);
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
                        draft.put_at_most(new, object.origin())?;
                        draft.digest(&id)?.unwrap_or(object.digest())
                    };
                    replaced.insert(object.digest(), digest);
                }
            }
            is_first = false;
            if replaced.len() == before {
                break;
            }
        }
        for digest in replaced.keys() {
            draft.drop_past(*digest);
        }
        Ok(())
    }

    /// Puts markers in the place of secrets; returns whether there were any.
    pub(super) fn redact_object(&self, object: &mut NewObject) -> bool {
        let scanner = self.scanner();
        let mut is_changed = false;
        if let Some(content) = &mut object.content {
            is_changed |= redact(scanner, "", content);
        }
        let names: Vec<String> = object.attributes.iter().map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(mut value) = object.attributes.get(&name).cloned() else {
                continue;
            };
            if redact_value(scanner, &name, &mut value) {
                drop(object.attributes.insert(name, value));
                is_changed = true;
            }
        }
        is_changed
    }
}

fn redact(scanner: &Scanner, name: &str, text: &mut String) -> bool {
    let clean = scanner.redact_field(name, text).into_owned();
    let is_changed = clean != *text;
    *text = clean;
    is_changed
}

/// Values are nested no deeper than the engine allows.
fn redact_value(scanner: &Scanner, name: &str, value: &mut Value) -> bool {
    match value {
        Value::Text(text) => redact(scanner, name, text),
        Value::List(list) => list.iter_mut().fold(false, |is_changed, value| {
            redact_value(scanner, name, value) | is_changed
        }),
        Value::Map(map) => map.iter_mut().fold(false, |is_changed, (key, value)| {
            redact_value(scanner, key, value) | is_changed
        }),
        _ => false,
    }
}
