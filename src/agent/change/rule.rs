//! The rules for the commits of the verbs. docs/agent/write-path.md lists the rules.
//!
//! # Layer
//! Layer 7, inside `agent`.

use crate::engine::Authorisation;
use crate::object::Op;

/// The rule for the commits of a verb.
#[derive(Clone, Copy, Debug)]
pub(in crate::agent) struct Rule {
    /// The operation that the log shows.
    pub(in crate::agent) op: &'static str,
    /// The writers that may replace or remove an object. The commit enforces this authorisation (STA-2).
    pub(super) authorisation: Authorisation,
    /// Whether the change is repeated on the new head after a conflict with another writer.
    pub(super) retries: bool,
    /// Whether the commit first takes an automatic snapshot of the previous state for the lane of the writer.
    pub(super) snapshot_before: bool,
}

impl Rule {
    pub(in crate::agent) const REMEMBER: Self = Self::retried("remember", Authorisation::Everyone);
    pub(in crate::agent) const REMEMBER_ONCE: Self = Self::once("remember", Authorisation::Everyone);
    pub(in crate::agent) const NOTE: Self = Self::retried("note", Authorisation::Everyone);
    /// Every writer may append, because appending replaces nothing.
    pub(in crate::agent) const APPEND: Self = Self::retried("session", Authorisation::Untrusted);
    pub(in crate::agent) const LEARN: Self = Self::retried("learn", Authorisation::Untrusted);
    /// The commit of a prompt event begins a turn.
    pub(in crate::agent) const PROMPT: Self = Self::retried(Op::PROMPT, Authorisation::Untrusted);
    pub(in crate::agent) const SUMMARISE: Self = Self::retried("session", Authorisation::Untrusted);
    pub(in crate::agent) const END_SESSION: Self = Self::retried("session", Authorisation::Untrusted);
    pub(in crate::agent) const FORGET: Self = Self::once("forget", Authorisation::Everyone);
    /// The draft itself rejects a restore by an untrusted writer (STN-1).
    pub(in crate::agent) const UNFORGET: Self = Self::once(Op::UNFORGET, Authorisation::Untrusted);
    pub(in crate::agent) const EXPIRE: Self = Self::once("expire", Authorisation::Everyone);
    pub(in crate::agent) const DECAY: Self = Self::retried("decay", Authorisation::Untrusted);
    /// Only a person may promote an item.
    pub(in crate::agent) const PROMOTE: Self = Self::once("promote", Authorisation::Everyone);
    /// Only a person may release a quarantined change.
    pub(in crate::agent) const RELEASE: Self = Self::guarded("release");
    /// The trust check of the guard's policy decides who may change which objects.
    pub(in crate::agent) const GUARD: Self = Self::guarded("guard");
    pub(in crate::agent) const MOVE: Self = Self::once("move", Authorisation::Everyone);
    pub(in crate::agent) const IMPORT: Self = Self::retried("import", Authorisation::Everyone);

    const fn once(op: &'static str, authorisation: Authorisation) -> Self {
        Self {
            op,
            authorisation,
            retries: false,
            snapshot_before: false,
        }
    }

    const fn retried(op: &'static str, authorisation: Authorisation) -> Self {
        Self {
            retries: true,
            ..Self::once(op, authorisation)
        }
    }

    const fn guarded(op: &'static str) -> Self {
        Self {
            snapshot_before: true,
            ..Self::once(op, Authorisation::Decided)
        }
    }
}
