//! Sessions and the sessions that they were started from.
//!
//! A session is an object of the kind `session`; the object of a child session is below that of its parent, so that the
//! engine refuses cycles whoever writes at the same time.
//!
//! # Layer
//! L7, inside `agent`.
//!
//! # Invariants
//! - SLN-1: a session has one root, reached in at most `DEPTH_MAX` steps; one that nobody has written of is its own.

use crate::agent::item::known_kind;
use crate::agent::vocabulary::kind;
use crate::engine::{Draft, View};
use crate::error::{Error, Result};
use crate::object::{Id, NewObject, Object, Scope};

/// Before the name of a session, in the id of its object.
const PREFIX: &str = "session/";
/// Bytes of the longest name of a session: the ids of its entries must fit.
const NAME_BYTES_MAX: usize = 200;
/// How deep sessions may be below their root.
pub(super) const DEPTH_MAX: usize = 64;

/// Returns the id of the object of a session.
///
/// # Errors
/// `InvalidInput`: the name is empty, too long, or nothing that an id can hold.
pub fn session_id(session: &str) -> Result<Id> {
    if session.is_empty() || session.len() > NAME_BYTES_MAX {
        return Err(Error::invalid(format!(
            "the name of a session must have 1 to {NAME_BYTES_MAX} bytes"
        ))
        .with_code("over_limit"));
    }
    Id::new(&format!("{PREFIX}{session}"))
}

/// Returns the name of the session that an object stands for; `None` if it stands for none.
pub fn session_of(object: &Object) -> Option<&str> {
    if object.kind() != kind::SESSION {
        return None;
    }
    object.id().strip_prefix(PREFIX)
}

/// Returns the session that `session` descends from: itself, if it has no parent or is not known.
///
/// # Errors
/// As [`session_id`]; `Corrupt` or `Io` if an object cannot be read.
pub fn root_session(view: &View, session: &str) -> Result<String> {
    let mut root = session.to_owned();
    // SLN-1.
    for _ in 0..DEPTH_MAX {
        let object = view.get(&session_id(&root)?)?;
        match parent_session(object.as_ref()) {
            Some(parent) => parent.clone_into(&mut root),
            None => break,
        }
    }
    Ok(root)
}

/// Returns the name of the session that the one of an object was started from.
pub fn parent_session(object: Option<&Object>) -> Option<&str> {
    object
        .filter(|object| object.kind() == kind::SESSION)?
        .parent()?
        .strip_prefix(PREFIX)
}

/// Stages the object of a session, below that of its parent if one is given. A parent that nobody has written of gets an
/// object too; a session that has a parent keeps it. Returns the scope of the session.
///
/// # Errors
/// `InvalidInput`: the session is in another scope (`other_scope`), has another parent (`other_parent`), is its own
/// ancestor (`cycle`), or is too deep (`over_limit`).
pub(super) fn stage_session(
    draft: &mut Draft,
    session: &str,
    parent: Option<&str>,
    scope: Option<&Scope>,
    usual: &Scope,
) -> Result<Scope> {
    let id = session_id(session)?;
    if let Some(known) = draft.get(&id)? {
        let own = session_of(&known)
            .map(|_| Scope::new(known.scope()))
            .transpose()?;
        let Some(own) = own else {
            return Err(taken(&id));
        };
        if let Some(other) = scope.filter(|scope| **scope != own) {
            return Err(
                Error::invalid(format!("the session '{session}' is not in the scope '{other}'"))
                    .with_code("other_scope")
                    .with_hint("a session stays in the scope of its first entry"),
            );
        }
        return match (parent, parent_session(Some(&known))) {
            (Some(wanted), Some(had)) if wanted != had => Err(Error::invalid(format!(
                "the session '{session}' was started from '{had}', not from '{wanted}'"
            ))
            .with_code("other_parent")),
            (Some(wanted), None) => {
                let scope = stage_new(draft, session, Some(wanted), Some(&own), &own)?;
                Ok(scope)
            }
            _ => Ok(own),
        };
    }
    stage_new(draft, session, parent, scope, usual)
}

fn stage_new(
    draft: &mut Draft,
    session: &str,
    parent: Option<&str>,
    scope: Option<&Scope>,
    usual: &Scope,
) -> Result<Scope> {
    let id = session_id(session)?;
    let above = match parent {
        Some(parent) => {
            check_ancestors(draft, session, parent)?;
            let above = session_id(parent)?;
            let known = draft.get(&above)?;
            match &known {
                Some(object) if session_of(object).is_none() => return Err(taken(&above)),
                Some(object) => Some((above, Scope::new(object.scope())?)),
                None => {
                    let scope = scope.unwrap_or(usual).clone();
                    let mut object = NewObject::new(above.clone(), known_kind(kind::SESSION));
                    object.scope = scope.clone();
                    draft.put(object)?;
                    Some((above, scope))
                }
            }
        }
        None => None,
    };
    let inherited = above.as_ref().map(|(_, scope)| scope);
    let scope = scope.or(inherited).unwrap_or(usual).clone();
    let mut object = NewObject::new(id, known_kind(kind::SESSION));
    object.scope = scope.clone();
    object.parent = above.map(|(id, _)| id);
    draft.put(object)?;
    Ok(scope)
}

/// Refuses a parent that is below the session, or too deep.
fn check_ancestors(draft: &Draft, session: &str, parent: &str) -> Result<()> {
    let mut above = parent.to_owned();
    for _ in 1..DEPTH_MAX {
        if above == session {
            return Err(Error::invalid(format!(
                "the session '{session}' would be its own ancestor below '{parent}'"
            ))
            .with_code("cycle"));
        }
        let object = draft.get(&session_id(&above)?)?;
        match parent_session(object.as_ref()) {
            Some(next) => next.clone_into(&mut above),
            None => return Ok(()),
        }
    }
    Err(
        Error::invalid(format!("the session '{parent}' is {DEPTH_MAX} sessions deep"))
            .with_code("over_limit")
            .with_hint("start the session from one that is nearer to the root"),
    )
}

fn taken(id: &Id) -> Error {
    Error::invalid(format!("the id '{id}' belongs to something that is no session"))
        .with_code("id_taken")
        .with_hint("name the session otherwise")
}
