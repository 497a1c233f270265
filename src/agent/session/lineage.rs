//! Sessions and their parent sessions.
//!
//! A session is an object of the kind `session`. The object of a child session is below the object of its parent
//! session, so the engine refuses cycles, even from concurrent writers.
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - SLN-1: a session has one root, reached in at most `DEPTH_MAX` steps. An unknown session is its own root.
//! - SLN-2: a verb accesses a session only if its reach contains the scopes of the session and of all sessions
//!   above it.
//! - SLN-3: a session is in the scope of its parent.
//! - SLN-4: a session is staged only if its name passes the review (REV-1, REV-2).

use super::entries::Append;
use crate::agent::change::Change;
use crate::agent::item::known_kind;
use crate::agent::scope::Reach;
use crate::agent::vocabulary::kind;
pub(in crate::agent) use crate::engine::SESSION_PREFIX;
pub use crate::engine::parent_session;
use crate::engine::{SESSION_DEPTH_MAX as DEPTH_MAX, View, session_line};
use crate::error::{Error, ErrorCode, Result};
use crate::object::{Id, NewObject, Object, Origin, Scope};

/// The maximum length of a session's name, in bytes. The limit leaves room for the ids of entries, which contain the
/// name.
const NAME_BYTES_MAX: usize = 200;

/// Returns the id of the object of a session.
///
/// # Errors
/// `InvalidInput`: the name is empty, too long, or not valid in an id.
pub(in crate::agent) fn session_id(session: &str) -> Result<Id> {
    if session.is_empty() || session.len() > NAME_BYTES_MAX {
        return Err(Error::invalid(format!(
            "the name of a session must have 1 to {NAME_BYTES_MAX} bytes"
        ))
        .with_code(ErrorCode::OverLimit));
    }
    Id::new(&format!("{SESSION_PREFIX}{session}"))
}

/// Returns the name of the session that `object` represents. Returns `None` for an object that is not a session.
pub fn session_of(object: &Object) -> Option<&str> {
    if object.kind() != kind::SESSION {
        return None;
    }
    object.id().as_str().strip_prefix(SESSION_PREFIX)
}

/// Returns the root of a session: the session itself if it has no parent or is unknown.
///
/// # Errors
/// The errors of `session_id`; `Corrupt` or `Io` if an object cannot be read.
pub fn root_session(view: &View, session: &str) -> Result<String> {
    root_among(|id| view.get(id), session)
}

/// Returns the root of a session as [`root_session`] does. Reads objects with `get`, which may return staged objects.
pub(super) fn root_among(get: impl Fn(&Id) -> Result<Option<Object>>, session: &str) -> Result<String> {
    let mut root = session.to_owned();
    for above in line_of(get, session) {
        (root, _) = above?;
    }
    Ok(root)
}

/// Iterates a session and the sessions above it, each with its object as `get` returns it. SLN-1: the last session is
/// the root.
pub(super) fn line_of(
    get: impl Fn(&Id) -> Result<Option<Object>>,
    session: &str,
) -> impl Iterator<Item = Result<(String, Option<Object>)>> {
    let bad_name = session_id(session).err().map(Err);
    bad_name.into_iter().chain(session_line(get, session))
}

/// Refuses a session whose scope, or the scope of a session above it, is not in `reach` (SLN-2). Accepts an unknown
/// session.
///
/// # Errors
/// `InvalidInput` (code `other_scope`); also the errors of [`root_session`].
pub(in crate::agent) fn check_reach(view: &View, reach: &Reach, session: &str) -> Result<()> {
    for above in line_of(|id| view.get(id), session) {
        let (name, known) = above?;
        if known.is_some_and(|object| session_of(&object).is_some() && !reach.has(object.scope())) {
            return Err(other_scope(&name));
        }
    }
    Ok(())
}

/// Returns the error for a session that does not exist.
pub(super) fn no_session(session: &str) -> Error {
    Error::not_found(format!("there is no session '{session}'"))
        .with_code(ErrorCode::NoSession)
        .with_hint("`session append` creates a session with its first entry")
}

/// Returns the error for a session of another scope. The error does not name that scope, which the caller may not read.
fn other_scope(session: &str) -> Error {
    Error::invalid(format!("the session '{session}' belongs to another scope"))
        .with_code(ErrorCode::OtherScope)
        .with_hint("choose another name, or add the scope of the session with `--scope`")
}

/// Stages the object of the session that `append` names, below its parent if `append` names one. Also creates the
/// parent if it is unknown. An existing parent cannot change. Returns the scope of the session.
///
/// # Errors
/// `InvalidInput`: the session or its parent is in another scope (`other_scope`), the session has another parent
/// (`other_parent`), the session would be its own ancestor (`cycle`), or the session would be too deep (`over_limit`).
/// `Denied`: a name fails the review (`refused`), or a writer who is neither the person nor the host adds a parent to a
/// session of the person or the host (`less_trusted`).
pub(super) fn stage_session(change: &mut Change<'_>, append: &Append) -> Result<Scope> {
    let session = append.session.as_str();
    let (scope, parent) = (append.scope.as_ref(), append.parent.as_deref());
    let reach = append.reach.with(scope.into_iter().chain([&append.usual_scope]));
    for name in parent.into_iter().chain([session]) {
        check_reach(change.base(), &reach, name)?;
    }
    let id = session_id(session)?;
    let Some(known) = change.get(&id)? else {
        return stage_new(change, append, scope);
    };
    check_kind(change, &id, kind::SESSION)?;
    let own = Scope::new(known.scope())?;
    if scope.is_some_and(|scope| *scope != own) {
        return Err(other_scope(session));
    }
    // Refuse a session that an untrusted writer created if its scope would decide the scope of a trusted writer's
    // entries.
    let is_foreign = !known.origin().is_trusted() && change.class().is_trusted();
    if scope.is_none() && own != append.usual_scope && is_foreign {
        return Err(other_scope(session));
    }
    match (parent, parent_session(Some(&known))) {
        (Some(wanted), Some(had)) if wanted != had => Err(Error::invalid(format!(
            "the session '{session}' already has the parent '{had}', so its parent cannot become '{wanted}'"
        ))
        .with_code(ErrorCode::OtherParent)),
        (Some(_), None) => stage_new(change, append, Some(&own)),
        _ => Ok(own),
    }
}

/// Stages a new session, or adds a parent to an existing session. `named` is the scope that the caller or the existing
/// session requires.
fn stage_new(change: &mut Change<'_>, append: &Append, named: Option<&Scope>) -> Result<Scope> {
    let session = append.session.as_str();
    let mut scope = named.unwrap_or(&append.usual_scope).clone();
    let mut parent = None;
    if let Some(name) = &append.parent {
        check_ancestors(change, session, name)?;
        let above = session_id(name)?;
        check_kind(change, &above, kind::SESSION)?;
        match change.get(&above)? {
            // SLN-3: a session is in the scope of its parent.
            Some(object) if named.is_some_and(|scope| scope.as_str() != object.scope()) => {
                return Err(other_scope(name));
            }
            Some(object) => scope = Scope::new(object.scope())?,
            None => {
                let mut object = NewObject::new(above.clone(), known_kind(kind::SESSION));
                object.scope = scope.clone();
                change.put_plain(object)?;
            }
        }
        parent = Some(above);
    }
    let id = session_id(session)?;
    let mut object = match change.get(&id)? {
        Some(known) => {
            check_host(change, session, known.origin())?;
            known.to_new()?
        }
        None => NewObject::new(id, known_kind(kind::SESSION)),
    };
    object.scope = scope.clone();
    object.parent = parent;
    // SLN-4: this call reviews the name of the session. The call also keeps the origin of an existing session, because
    // only the parent changes.
    change.restate_plain(object)?;
    Ok(scope)
}

/// Checks whether a writer of this class may set the name of the person of a session.
pub(super) fn may_name_user(class: Origin) -> bool {
    matches!(class, Origin::DirectUser | Origin::Host)
}

/// Refuses a write that would lower the origin of the session's object below `host`, because the name of the person
/// would become invalid.
fn check_host(change: &Change<'_>, session: &str, origin: Origin) -> Result<()> {
    let class = change.class();
    if !may_name_user(origin) || may_name_user(class) {
        return Ok(());
    }
    Err(Error::denied(
        ErrorCode::LessTrusted,
        format!(
            "a writer of class {class} may not set the parent of the session '{session}', which has the class {origin}"
        ),
    )
    .with_hint("omit the parent, or let the host set it"))
}

/// Refuses a parent that is below the session, or that is already at the maximum depth.
fn check_ancestors(change: &Change<'_>, session: &str, parent: &str) -> Result<()> {
    let line = line_of(|id| change.get(id), parent).collect::<Result<Vec<_>>>()?;
    if line.iter().any(|(above, _)| above == session) {
        return Err(Error::invalid(format!(
            "the parent '{parent}' would make the session '{session}' its own ancestor"
        ))
        .with_code(ErrorCode::Cycle));
    }
    if line.len() < DEPTH_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the session '{parent}' is at the maximum depth of {DEPTH_MAX}, so it cannot have child sessions"
    ))
    .with_code(ErrorCode::OverLimit)
    .with_hint("choose a parent session that has fewer ancestors"))
}

/// Refuses to overwrite an object of another kind.
///
/// # Errors
/// `InvalidInput` (code `id_taken`) if the id belongs to an object of another kind.
pub(super) fn check_kind(change: &Change<'_>, id: &Id, kind: &str) -> Result<()> {
    if change.get(id)?.is_none_or(|object| object.kind() == kind) {
        return Ok(());
    }
    Err(
        Error::invalid(format!("the id '{id}' belongs to an object that is not a {kind}"))
            .with_code(ErrorCode::IdTaken)
            .with_hint(format!(
                "to free the id, remove the object with `remove {id}`; `undo` restores the object"
            )),
    )
}
