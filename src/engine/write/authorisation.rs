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

use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Object, Origin};

use super::{Draft, StagedChange, named};

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
    /// An untrusted writer may not remove a more trusted object. An untrusted writer may replace such an object: the
    /// new version has the writer's lower origin. [`Memory::put`](crate::Memory::put) uses this rule.
    Removals,
    /// The commit checks nothing, because the caller has already checked a policy of its own.
    Decided,
}

impl Authorisation {
    /// Returns whether this rule restricts `change` by a writer of `class`.
    fn covers(self, class: Origin, change: &StagedChange) -> bool {
        // A change that only adds a verb's own attributes (ORI-4) changes neither the text nor the origin of the
        // version.
        let touches = change.old.is_some() && !change.is_note;
        touches
            && match self {
                Self::Untrusted => !class.is_trusted(),
                Self::Everyone => true,
                Self::Removals => !class.is_trusted() && change.new.is_none(),
                Self::Decided => false,
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
        let class = self.writer().trust;
        let mut above = Vec::new();
        for change in self.staged.values() {
            if self.authorisation.covers(class, change) && self.is_protected(class, change)? {
                above.push(change.id.to_string());
            }
        }
        if above.is_empty() {
            return Ok(());
        }
        above.sort_unstable();
        Err(less_trusted(class, above))
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

/// Returns an error if an untrusted writer replaces one of the two `versions` by the other version, and either version
/// is more trusted than the writer (STN-1). A trusted writer may replace any object, so the function does not read the
/// versions.
///
/// # Errors
/// `Denied` (code `less_trusted`), naming the id; the errors of `versions`.
pub(crate) fn check_return(
    class: Origin,
    versions: impl FnOnce() -> Result<[Option<Object>; 2]>,
) -> Result<()> {
    if class.is_trusted() {
        return Ok(());
    }
    let mut versions = versions()?.into_iter().flatten();
    match versions.find(|version| version.origin().is_above(class)) {
        Some(version) => Err(less_trusted(class, vec![version.id().to_string()])),
        None => Ok(()),
    }
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

fn less_trusted(class: Origin, ids: Vec<String>) -> Error {
    let named = named(&ids);
    let message = format!("a writer of class {class} may not change more trusted objects: {named}");
    Error::denied(ErrorCode::LessTrusted, message)
        .with_ids(ids)
        .with_hint("nothing was changed; a writer that is as trusted as these objects may change them")
}
