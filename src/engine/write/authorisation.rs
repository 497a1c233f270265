//! Who may take away, and bring back, what others said: a writer against the origins of what a change touches.
//!
//! # Layer
//! L5.
//!
//! # Invariants
//! - STN-1: remove, undo, redo, rollback and restore by a writer of an untrusted class touch nothing that is more trusted than the
//!   writer, neither what is there nor what would come back. So what a person took back stays so.
//! - STN-2: no writer of an untrusted class erases, or deletes the name of a snapshot.

use crate::error::{Error, ErrorCode, ErrorKind, Result};
use crate::object::{Object, Origin};

use super::draft::Draft;

impl Draft {
    /// As [`Self::check_standing`] of a writer of an untrusted class; whoever is trusted may.
    ///
    /// # Errors
    /// As [`Self::check_standing`].
    pub fn check_outsider(&self) -> Result<()> {
        if self.writer().trust.is_trusted() {
            return Ok(());
        }
        self.check_standing()
    }

    /// Refuses a draft that replaces or removes what is more trusted than its writer. [`Memory::commit`](crate::Memory::commit)
    /// does not ask: whoever takes away what others said, asks first.
    ///
    /// # Errors
    /// `Denied` (code `less_trusted`), naming the ids; as [`Self::get`].
    pub fn check_standing(&self) -> Result<()> {
        let class = self.writer().trust;
        let mut above = Vec::new();
        for change in self.changes().iter().filter(|change| change.old.is_some()) {
            // What was erased says nothing any more.
            let old = self.base().get(&change.id).or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(None),
                _ => Err(error),
            });
            // What has expired makes room, whoever of the trusted needs it.
            let is_over = |old: &Object| old.expires().is_some_and(|expires| expires <= self.base().now());
            let makes_room = |old: &Object| class.is_trusted() && change.new.is_none() && is_over(old);
            if old?.is_some_and(|old| old.origin().is_above(class) && !makes_room(&old)) {
                above.push(change.id.to_string());
            }
        }
        if above.is_empty() {
            return Ok(());
        }
        Err(less_trusted(class, above))
    }
}

/// Refuses that a writer of an untrusted class sets an id from one version to another (STN-1).
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

/// Refuses what no writer of an untrusted class may do to a store (STN-2); `what` says it.
///
/// # Errors
/// `Denied` (code `less_trusted`).
pub(crate) fn check_trusted(class: Origin, what: &str) -> Result<()> {
    if class.is_trusted() {
        return Ok(());
    }
    let told = format!("a writer of class {class} does not {what}");
    Err(Error::new(ErrorKind::Denied, told)
        .with_code(ErrorCode::LessTrusted)
        .with_hint("nothing was changed; somebody who is trusted may do it"))
}

/// The refusal of a writer who is less trusted than what the change touches.
fn less_trusted(class: Origin, ids: Vec<String>) -> Error {
    const NAMED: usize = 5;
    let mut named: Vec<String> = ids.iter().take(NAMED).map(|id| format!("'{id}'")).collect();
    if ids.len() > NAMED {
        named.push(format!("{} more", ids.len() - NAMED));
    }
    let told = format!(
        "a writer of class {class} does not touch what is more trusted: {}",
        named.join(", ")
    );
    Error::new(ErrorKind::Denied, told)
        .with_code(ErrorCode::LessTrusted)
        .with_ids(ids)
        .with_hint("nothing was changed; somebody who is trusted as much may do it")
}
