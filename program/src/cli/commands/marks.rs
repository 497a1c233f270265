//! The marks of items that recall hides or ranks below others: superseded, and expired.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Limits
//! In a store with more than `OBJECTS_MAX` objects, only `recall` names what supersedes an item, because it has the index.

use super::prelude::*;
use treering::agent::{Agent, Settings};

/// The number of objects of a store in which the marks may need an index of all texts.
const OBJECTS_MAX: u64 = 50_000;

/// Finds the marks of the objects of one state.
pub(super) struct Marks {
    agent: Option<Agent>,
}

impl Marks {
    /// JSON has the fields, and no marks.
    pub(super) fn new(context: &Context, memory: &Memory, view: &View) -> Self {
        let is_small = view.len() <= OBJECTS_MAX;
        let has_marks = !context.output.is_json() && is_small;
        Self {
            agent: has_marks.then(|| Agent::new(memory.clone(), Settings::default())),
        }
    }

    /// Returns the mark of an object, such as "superseded by facts/tea".
    pub(super) fn of(&self, view: &View, object: &Object) -> Result<Option<String>> {
        let Some(agent) = &self.agent else {
            return Ok(None);
        };
        let newer = agent.successors(view, object.id())?;
        if let Some(newer) = newer.first() {
            return Ok(Some(format!("superseded by {}", one_line(newer.as_str()))));
        }
        let is_expired = object.expires().is_some_and(|expires| expires <= view.now());
        Ok(is_expired.then(|| "expired".to_owned()))
    }
}
