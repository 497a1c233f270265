//! Sessions and their taint: once something untrusted is written in a session, nothing in that session is trusted.
//!
//! The object of a session has the id `session/NAME` and the kind `session`. Its parent is the object of the parent
//! session. A draft writes in the session of its writer, and in the session that a verb names ([`Draft::enter`]).
//!
//! A taint is a reference (`ReferenceName::of_taint`), because no rollback moves a reference. It is written in the batch of the commit, or of the kept draft, that taints the session. If the write is refused
//! or changes nothing, a batch without a commit contains it. A tainted session writes no second taint.
//!
//! # Layer
//! Layer 5.
//!
//! # Invariants
//! - TNT-1: a commit or a kept draft that writes an untrusted version in a session taints that session and all sessions
//!   above it. Undo, redo, rollback, removal, erasure and garbage collection leave the taint as it is.
//! - TNT-2: a version that is written in a tainted session, or below one, is untrusted. Exempt are a promotion (ORI-2),
//!   a version whose text stays the same (ORI-3), and what a person said at a prompt (TNT-5).
//! - TNT-3: a commit with a trusted version fails if its session was tainted after the version was staged.
//! - TNT-4: a session is tainted when a call gives an untrusted class, even if the call is refused or changes nothing.
//!   Only a dry run and a read-only handle leave no taint, because they write nothing.
//! - TNT-5: a taint lowers no text that a prompt event of a client gives, nor a text made of such texts only. It clears no
//!   taint, and everything else that is written in the session stays untrusted.
//! - TNT-6: only a new prompt of the person ends a taint, and only where a setting of the user says so. The prompt is newer
//!   than the taint and the newest commit, and the taint of a session above stays.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, Result};
use crate::log::{BatchBuilder, RecordKind};
use crate::object::{Id, Object, Origin, ReferenceName};
use crate::store::Store;

use super::commit::Tip;
use super::{Draft, Writer};
use crate::engine::inner::Inner;
#[cfg(feature = "agent")]
use crate::engine::read::View;

/// The prefix of the id of a session's object.
pub(crate) const SESSION_PREFIX: &str = "session/";
/// The kind of a session's object.
pub(crate) const SESSION_KIND: &str = "session";
/// The operation under which a request waits for a batch with taints. Such a batch has no commit, so no log shows it.
pub(super) const TAINT_OP: &str = "taint";
/// The maximum depth of a session below its root.
pub(crate) const SESSION_DEPTH_MAX: usize = 64;

/// Iterates a session and the sessions above it, each with its object as `get` returns it. The last session is the
/// root. A name that is not valid in an id has no object.
pub(crate) fn session_line(
    get: impl Fn(&Id) -> Result<Option<Object>>,
    session: &str,
) -> impl Iterator<Item = Result<(String, Option<Object>)>> {
    let mut next = Some(session.to_owned());
    let line = std::iter::from_fn(move || {
        let name = next.take()?;
        let id = Id::new(&format!("{SESSION_PREFIX}{name}")).ok();
        let object = id.map_or(Ok(None), |id| get(&id));
        Some(object.map(|object| {
            next = parent_session(object.as_ref()).map(str::to_owned);
            (name, object)
        }))
    });
    line.take(SESSION_DEPTH_MAX + 1)
}

/// Returns the name of the parent of the session that `object` represents.
pub fn parent_session(object: Option<&Object>) -> Option<&str> {
    object
        .filter(|object| object.kind() == SESSION_KIND)?
        .parent()?
        .strip_prefix(SESSION_PREFIX)
}

/// Returns whether a session or a session above it is tainted. `has_taint` tells whether a session has a taint of its
/// own.
fn is_tainted(
    has_taint: impl Fn(&str) -> bool,
    get: impl Fn(&Id) -> Result<Option<Object>>,
    session: &str,
) -> Result<bool> {
    let mut goes_on = false;
    for above in session_line(get, session) {
        let (name, object) = above?;
        if has_taint(&name) || object.as_ref().is_some_and(is_untrusted) {
            return Ok(true);
        }
        goes_on = parent_session(object.as_ref()).is_some();
    }
    // INVARIANT TNT-2: sessions above the depth limit are not read, so they count as tainted.
    Ok(goes_on)
}

/// Returns whether the object of a session is untrusted, or says that the session is. Builds before the taint stated
/// this in two attributes.
fn is_untrusted(session: &Object) -> bool {
    let class = session.attribute("class");
    let class = class
        .as_ref()
        .and_then(|class| Origin::from_name(class.as_text()?));
    let withheld = session.attribute("withheld").and_then(|count| count.as_integer());
    !session.origin().is_trusted()
        || class.is_some_and(|class| !class.is_trusted())
        || withheld.is_some_and(|count| count > 0)
}

/// Returns the found object, or `None` instead of the error for an erased or lost version.
fn unless_absent(found: Result<Option<Object>>) -> Result<Option<Object>> {
    match found {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found,
    }
}

#[cfg(feature = "agent")]
impl View {
    /// Returns whether a session or a session above it is tainted (TNT-1). The taint counts in past states too.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object of a session cannot be read.
    #[doc(hidden)]
    pub fn is_tainted(&self, session: &str) -> Result<bool> {
        let store = self.opened().store();
        let has_taint = |session: &str| store.references().is_tainted(session);
        is_tainted(has_taint, |id| unless_absent(self.get(id)), session)
    }
}

impl Draft {
    /// Notes the taints of the draft's sessions if its writer is untrusted, and returns all taints of the draft.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object of a session cannot be read.
    pub(crate) fn admit(&mut self) -> Result<BTreeSet<String>> {
        if !self.writer.trust.is_trusted() {
            for session in self.sessions(None) {
                self.taint(&session)?;
            }
        }
        Ok(self.tainted.clone())
    }

    /// Makes the draft write in `session` too, besides the session of its writer. `None` leaves the session.
    #[cfg(feature = "agent")]
    pub(crate) fn enter(&mut self, session: Option<&str>) {
        self.entered = session.map(str::to_owned);
    }

    /// Returns the least trusted of `origin`, the class of the writer and the class of the sessions of the draft.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object of a session cannot be read.
    pub(crate) fn class_of(&self, origin: Origin) -> Result<Origin> {
        self.class_below(origin, None)
    }

    /// Returns the class as [`Self::class_of`] does, of a version below `parent`.
    ///
    /// # Errors
    /// The errors of [`Self::class_of`].
    pub(super) fn class_below(&self, origin: Origin, parent: Option<&Id>) -> Result<Origin> {
        let class = Origin::least(self.writer.trust, origin);
        if !class.is_trusted() {
            return Ok(class);
        }
        for session in self.sessions(parent) {
            if self.is_tainted(&session)? {
                // INVARIANT TNT-2: a version that is written in a tainted session, or below one, is untrusted.
                return Ok(Origin::ToolExternal);
            }
        }
        Ok(class)
    }

    /// Returns whether a session or a session above it is tainted, or will be when the draft is committed.
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object of a session cannot be read.
    pub(crate) fn is_tainted(&self, session: &str) -> Result<bool> {
        let store = self.store();
        let has_taint =
            |session: &str| self.tainted.contains(session) || store.references().is_tainted(session);
        is_tainted(has_taint, |id| unless_absent(self.get(id)), session)
    }

    /// Taints a session and the sessions above it when the draft is committed (TNT-1).
    ///
    /// # Errors
    /// `Corrupt` or `Io` if the object of a session cannot be read.
    #[doc(hidden)]
    pub fn taint(&mut self, session: &str) -> Result<()> {
        let line = self.line(session)?;
        self.tainted.extend(line);
        Ok(())
    }

    /// Returns a session and the sessions above it.
    fn line(&self, session: &str) -> Result<Vec<String>> {
        let line = session_line(|id| unless_absent(self.get(id)), session);
        line.map(|above| Ok(above?.0)).collect()
    }

    /// Notes that the draft gets a version of this origin in `sessions`, before anything can refuse the version.
    pub(super) fn admit_in(&mut self, sessions: BTreeSet<String>, origin: Origin) -> Result<()> {
        for session in sessions {
            if origin.is_trusted() {
                if !self.trusted_in.contains(&session) {
                    let line = self.line(&session)?;
                    self.trusted_in.extend(line);
                }
            } else if !self.tainted.contains(&session) {
                // INVARIANT TNT-4: a session is tainted when a call gives an untrusted class.
                self.taint(&session)?;
            }
        }
        Ok(())
    }

    /// Returns the sessions in which the draft writes a version below `parent`. The object of a session contains its
    /// transcript, so what is below that object is written in the session.
    pub(super) fn sessions(&self, parent: Option<&Id>) -> BTreeSet<String> {
        let above = parent.and_then(|parent| parent.as_str().strip_prefix(SESSION_PREFIX));
        if above.is_none() && self.writer.session.is_none() && self.entered.is_none() {
            // Most writers have no session, and a load asks for each object.
            return BTreeSet::new();
        }
        let named = self.writer.session.iter().chain(&self.entered).cloned();
        named.chain(above.map(str::to_owned)).collect()
    }
}

/// Fails if a session of the draft was tainted since the draft wrote a trusted version in it.
///
/// # Errors
/// `Conflict`, naming the session.
pub(super) fn check_untainted(store: &Store, tip: &Tip, draft: &Draft) -> Result<()> {
    // INVARIANT TNT-3: a commit with a trusted version fails if its session was tainted after the version was staged.
    let mut sessions = draft.trusted_in.iter();
    let Some(session) = sessions.find(|session| has_taint(store, tip, session)) else {
        return Ok(());
    };
    let text = format!("another writer wrote untrusted text in the session '{session}' meanwhile");
    Err(Error::conflict(text).with_hint("read the session again, then repeat the change"))
}

impl Inner {
    /// Adds the taints of a draft that neither the store nor an earlier draft of the group has. Returns their sessions.
    pub(super) fn new_taints(
        &self,
        store: &Store,
        batch: &mut BatchBuilder,
        tip: &Tip,
        draft: &Draft,
    ) -> Result<Vec<String>> {
        let mut tainted: Vec<String> = draft.tainted.iter().cloned().collect();
        tainted.retain(|session| !has_taint(store, tip, session));
        let writer = Writer {
            reason: None,
            ..draft.writer.clone()
        };
        for session in &tainted {
            let name = ReferenceName::of_taint(session)?;
            let reference = self.reference(batch, name, Some(tip.mark.commit), tip.time, &writer)?;
            batch.add(RecordKind::Reference, 0, &reference.encode()?);
        }
        Ok(tainted)
    }
}

/// Returns whether the store or an earlier draft of the group has the taint of a session.
fn has_taint(store: &Store, tip: &Tip, session: &str) -> bool {
    tip.end.tainted.contains(session) || store.references().is_tainted(session)
}
