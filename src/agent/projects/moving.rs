//! Moves all objects of a scope to another scope, in one commit.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Limits
//! - Ids do not change, and an id has the name of the scope in which its object was made.

use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::Agent;
use crate::agent::change::{Rule, change};
use crate::engine::{CommitInfo, Query, Writer};
use crate::error::Result;
use crate::object::Scope;

/// The answer to [`move_scope`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Moved {
    /// The scope that is empty now.
    pub from: Scope,
    /// The scope that has the objects now.
    pub to: Scope,
    /// The number of moved objects.
    pub moved: u64,
    /// The commit, or the head if nothing changed.
    #[serde(flatten)]
    pub commit: CommitInfo,
}

/// Moves all objects of a scope to another scope. Each keeps its id, its text and, if the writer is at least as trusted, its
/// class (ORI-3).
///
/// # Errors
/// `Denied` (code `less_trusted`) if an object is more trusted than an untrusted writer; the errors of a commit.
pub fn move_scope(agent: &Agent, from: &Scope, to: &Scope, writer: &Writer) -> Result<Moved> {
    let done = change(agent, writer, &Rule::MOVE, |change| {
        let mut query = Query::default().scope(from.clone());
        query.include_expired = true;
        let view = change.base().clone();
        let mut moved = 0;
        for object in view.query(&query)? {
            let object = object?;
            // The scope of an erased object is gone with it.
            if from == to || object.is_placeholder() {
                continue;
            }
            let mut new = object.to_new()?;
            new.scope = to.clone();
            change.restate(new)?;
            moved += 1;
        }
        Ok(moved)
    })?;
    Ok(Moved {
        from: from.clone(),
        to: to.clone(),
        moved: done.value,
        commit: done.committed.commit,
    })
}
