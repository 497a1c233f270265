//! Authorisation: decides by a writer's class and the origins of objects which objects the writer may replace, remove
//! and restore.
//!
//! A [`Draft`] carries its rule, and the commit enforces it. The default protects trusted objects from untrusted
//! writers. Verbs that commit without a draft (rollback, undo, redo, erase, deleting a snapshot or a rejected change)
//! call the functions here themselves.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - STN-1: an untrusted writer's remove, undo, redo, rollback and restore change no object that is more trusted than
//!   the writer. This rule applies to the version that leaves the state and to the version that enters it. So an
//!   untrusted writer cannot bring back an object that a person removed.
//! - STN-2: an untrusted writer may not erase, delete the name of a snapshot, or delete a rejected change.
//! - STN-3: an untrusted writer takes back no commit of a more trusted writer, by undo, redo, rollback or revert, even if
//!   the commit changed only untrusted objects. What a person took back stays taken back. Such a writer may revert a
//!   session with such a commit only if nothing of the commit changes. Nor does it roll back over thinned commits, or
//!   revert later or derived work, because their trust is unknown or not checked.
//! - STN-4: in a memory that is opened for a server, STN-1 and STN-3 hold for the undo, redo, rollback, restore and revert
//!   of every writer but the person. So a model takes back nothing that a person wrote.
//! - STN-5: the undo, redo, rollback, restore and revert of a writer that is confined to scopes change no object of
//!   another scope.

use std::sync::Arc;

use crate::digest::KeyPath;
use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Object, Origin};

use super::merge::conflict::is_conflict_id;
use super::{Draft, StagedChange, Writer, named};
use crate::engine::settings::Settings;
use crate::store::{CommitEntry, IdChanges, Store};

/// The rule by which the commit of a [`Draft`] decides whether its writer may replace and remove more trusted objects.
/// See [`Draft::authorise`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorisation {
    /// An untrusted writer may not replace or remove a more trusted object. The default.
    #[default]
    Untrusted,
    /// A writer, trusted or not, may not replace or remove a more trusted object. A trusted writer may remove an
    /// expired object.
    Everyone,
    /// No untrusted version may replace a more trusted object, and an untrusted writer may not remove such an object.
    /// So a trusted writer may not replace such an object by a version that got its origin from an untrusted source or
    /// a tainted session. [`Memory::put`](crate::Memory::put) uses this rule.
    Replacements,
    /// The commit checks nothing, because the caller has already checked a policy of its own.
    Decided,
}

impl Authorisation {
    /// Returns the class that a version needs at most so that a writer of class `writer` may make `change`. Returns
    /// `None` if this rule does not restrict the change.
    fn restriction(self, writer: Origin, change: &StagedChange) -> Option<Origin> {
        change.old?;
        let untrusted = |class: Origin| Some(class).filter(|class| !class.is_trusted());
        match self {
            Self::Untrusted => untrusted(writer),
            Self::Everyone => Some(writer),
            Self::Replacements => {
                let new = change.new.as_ref().map(|new| new.object.origin());
                untrusted(Origin::least(writer, new.unwrap_or(writer)))
            }
            Self::Decided => None,
        }
    }
}

impl Draft {
    /// Sets the rule that the commit enforces. The default is [`Authorisation::Untrusted`].
    pub fn authorise(&mut self, rule: Authorisation) {
        self.authorisation = rule;
    }

    /// Returns the error with which the commit would refuse the staged changes. A dry run calls this function.
    ///
    /// # Errors
    /// `Denied` (code `less_trusted`), naming the ids; the errors of [`Self::get`].
    pub(crate) fn check_authorisation(&self) -> Result<()> {
        let (mut least, mut above) = (self.writer().trust, Vec::new());
        // Staging and merging decide about conflicts by a rule of their own.
        let changes = self.staged.values();
        for change in changes.filter(|change| !is_conflict_id(change.id.as_str())) {
            if let Some(class) = self.authorisation.restriction(self.writer().trust, change)
                && self.is_protected(class, change)?
            {
                least = Origin::least(least, class);
                above.push(change.id.to_string());
            }
        }
        if above.is_empty() {
            return Ok(());
        }
        above.sort_unstable();
        Err(less_trusted(least, above))
    }

    /// Returns whether the change replaces or removes a version that is more trusted than `class`. A trusted writer may
    /// remove an expired version.
    fn is_protected(&self, class: Origin, change: &StagedChange) -> Result<bool> {
        let old = match self.base().get(&change.id) {
            // An erased version has no content left to protect.
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            other => other?,
        };
        let Some(old) = old.filter(|old| old.origin().is_above(class)) else {
            return Ok(false);
        };
        let is_expired = old.expires().is_some_and(|expires| expires <= self.base().now());
        Ok(!(is_expired && class.is_trusted() && change.new.is_none()))
    }
}

impl Settings {
    /// Returns whether a writer may take back and bring back only versions that are no more trusted (STN-4). This holds for
    /// every writer that is confined to scopes (STN-5).
    pub(crate) fn restricts(&self, writer: &Writer) -> bool {
        if writer.scopes.is_some() {
            true
        } else if self.has_strict_reversals {
            writer.trust != Origin::DirectUser
        } else {
            !writer.trust.is_trusted()
        }
    }
}

/// Returns an error if a [restricted](Settings::restricts) writer replaces one of the two `versions` by the other version,
/// and either version is more trusted than the writer (STN-1), or is of a scope that the writer is not confined to
/// (STN-5). Does not read the versions for other writers.
///
/// # Errors
/// `Denied` (code `less_trusted`), naming the id, or (code `other_scope`); the errors of `versions`.
pub(crate) fn check_return(
    settings: &Settings,
    writer: &Writer,
    versions: impl FnOnce() -> Result<[Option<Object>; 2]>,
) -> Result<()> {
    if !settings.restricts(writer) {
        return Ok(());
    }
    let versions = versions()?;
    let versions = || versions.iter().flatten();
    if let Some(scopes) = &writer.scopes {
        let is_outside = |version: &&Object| scopes.iter().all(|scope| scope.as_str() != version.scope());
        if versions().any(|version| !version.is_placeholder() && is_outside(&version)) {
            // The id is not named, because a caller outside of the scope may not learn it.
            return Err(Error::denied(
                ErrorCode::OtherScope,
                "the call would change objects of scopes that this writer does not reach",
            )
            .with_hint(
                "nothing was changed; leave out the other scopes, or let a writer do it that reaches them",
            ));
        }
    }
    match versions().find(|version| version.origin().is_above(writer.trust)) {
        Some(version) => {
            let (class, id, needed) = (writer.trust, version.id(), version.origin());
            let text = format!(
                "a writer of class {class} may not change '{id}', which has a version of class {needed}"
            );
            let hint = format!("nothing was changed; a writer of class {needed} may do this");
            Err(Error::denied(ErrorCode::LessTrusted, text)
                .with_ids(vec![id.to_string()])
                .with_hint(hint))
        }
        None => Ok(()),
    }
}

/// Returns an error if the writer is [restricted](Settings::restricts), and the `commit` to take back is more trusted
/// (STN-3).
///
/// # Errors
/// `Denied` (code `less_trusted`).
pub(crate) fn check_takes_back(settings: &Settings, writer: &Writer, commit: &CommitEntry) -> Result<()> {
    if !settings.restricts(writer) || !commit.commit.trust.is_above(writer.trust) {
        return Ok(());
    }
    let (class, seq) = (writer.trust, commit.seq());
    let text = format!("a writer of class {class} may not take back the more trusted commit seq:{seq}");
    Err(Error::denied(ErrorCode::LessTrusted, text)
        .with_hint("nothing was changed; a writer that is as trusted as the commit may take it back"))
}

/// Returns an error if the writer is [restricted](Settings::restricts) and would bring back an absent id that a more trusted
/// commit removed, or took back (STN-3).
///
/// # Errors
/// `Denied` (code `less_trusted`); `Corrupt` or `Io` if history cannot be read.
pub(crate) fn check_brings_back(
    settings: &Settings,
    writer: &Writer,
    store: &Arc<Store>,
    key: KeyPath,
) -> Result<()> {
    if !settings.restricts(writer) {
        return Ok(());
    }
    let newest = IdChanges::new(Arc::clone(store), key)?.next()?;
    let known = newest.filter(|change| !change.is_behind_gap);
    known.map_or(Ok(()), |change| {
        check_takes_back(settings, writer, &change.commit)
    })
}

/// Returns an error if the writer is [restricted](Settings::restricts), for an operation that may take back work of unknown
/// trust (STN-3). `what` names the work.
///
/// # Errors
/// `Denied` (code `less_trusted`).
pub(crate) fn check_takes_back_any(settings: &Settings, writer: &Writer, what: &str) -> Result<()> {
    if !settings.restricts(writer) {
        return Ok(());
    }
    let class = writer.trust;
    let text = format!("a writer of class {class} may not take back {what}, which may be more trusted");
    Err(Error::denied(ErrorCode::LessTrusted, text)
        .with_hint("nothing was changed; a trusted writer may take it back"))
}

/// Returns an error if `class` is untrusted, for an operation that only trusted writers may do (STN-2). `act` names the
/// operation.
///
/// # Errors
/// `Denied` (code `less_trusted`).
pub(crate) fn check_trusted(class: Origin, act: &str) -> Result<()> {
    if class.is_trusted() {
        return Ok(());
    }
    let message = format!("a writer of class {class} may not {act}");
    Err(Error::denied(ErrorCode::LessTrusted, message)
        .with_hint("nothing was changed; a trusted writer may do this"))
}

pub(super) fn less_trusted(class: Origin, ids: Vec<String>) -> Error {
    let named = named(&ids);
    let message = format!("a writer of class {class} may not change more trusted objects: {named}");
    Error::denied(ErrorCode::LessTrusted, message)
        .with_ids(ids)
        .with_hint("nothing was changed; a writer that is as trusted as these objects may change them")
}
