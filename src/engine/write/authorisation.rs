//! Authorisation: what a writer may replace, remove and bring back, by its class and the origins of the objects.
//!
//! A [`Draft`] carries its rule, and the commit enforces it. A caller that forgets to choose gets the default, which protects
//! trusted objects from untrusted writers. Verbs that commit without a draft (rollback, undo, redo, erase, deleting a
//! snapshot or a rejected change) call the functions here themselves.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - STN-1: remove, undo, redo, rollback and restore by an untrusted writer touch no object that is more trusted than the
//!   writer: neither the version that leaves the state nor the version that comes back. So what a person took back stays so.
//! - STN-2: an untrusted writer does not erase, and deletes neither the name of a snapshot nor a rejected change.

use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Object, Origin};

use super::draft::{Draft, StagedChange};

/// Ids that a refusal shows at most.
const IDS_SHOWN: usize = 5;

/// The rule by which the commit of a [`Draft`] decides whether its writer may replace and remove objects that are more
/// trusted than the writer. See [`Draft::authorise`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Authorisation {
    /// An untrusted writer replaces and removes no object that is more trusted. The default.
    #[default]
    Untrusted,
    /// No writer replaces or removes an object that is more trusted. A trusted writer may remove one that has expired.
    Everyone,
    /// An untrusted writer removes no object that is more trusted. It may replace one: the new version has the writer's
    /// own low origin. [`Memory::put`](crate::Memory::put) works so.
    Removals,
    /// The caller has decided by a policy of its own; the commit checks nothing.
    Decided,
}

impl Authorisation {
    /// Whether a writer of `class` needs permission to make `change`.
    fn covers(self, class: Origin, change: &StagedChange) -> bool {
        // A note says nothing of its own: the version keeps its text and its origin.
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
    /// Sets the rule that the commit enforces in place of [`Authorisation::Untrusted`].
    pub fn authorise(&mut self, rule: Authorisation) {
        self.authorisation = rule;
    }

    /// Refuses now what the commit would refuse, for a dry run.
    ///
    /// # Errors
    /// `Denied` (code `less_trusted`), naming the ids; as [`Self::get`].
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

    /// Whether the change takes a version out of the state that is more trusted than `class`.
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

/// Refuses that an untrusted writer sets an id from the version `now` to the version `then` (STN-1).
///
/// # Errors
/// `Denied` (code `less_trusted`), naming the id.
pub(crate) fn check_return(class: Origin, now: Option<&Object>, then: Option<&Object>) -> Result<()> {
    if class.is_trusted() {
        return Ok(());
    }
    let mut versions = [now, then].into_iter().flatten();
    match versions.find(|version| version.origin().is_above(class)) {
        Some(version) => Err(less_trusted(class, vec![version.id().to_owned()])),
        None => Ok(()),
    }
}

/// Refuses an act on the store that only a trusted writer may do (STN-2); `act` names it.
///
/// # Errors
/// `Denied` (code `less_trusted`).
pub(crate) fn check_trusted(class: Origin, act: &str) -> Result<()> {
    if class.is_trusted() {
        return Ok(());
    }
    let message = format!("a writer of class {class} does not {act}");
    Err(Error::denied(ErrorCode::LessTrusted, message)
        .with_hint("nothing was changed; somebody who is trusted may do it"))
}

fn less_trusted(class: Origin, ids: Vec<String>) -> Error {
    let mut named: Vec<String> = ids.iter().take(IDS_SHOWN).map(|id| format!("'{id}'")).collect();
    if ids.len() > IDS_SHOWN {
        named.push(format!("{} more", ids.len() - IDS_SHOWN));
    }
    let message = format!(
        "a writer of class {class} does not touch what is more trusted: {}",
        named.join(", ")
    );
    Error::denied(ErrorCode::LessTrusted, message)
        .with_ids(ids)
        .with_hint("nothing was changed; somebody who is trusted as much may do it")
}
