//! The writer of a commit. Its class limits the trust of the objects that it writes.
//!
//! # Layer
//! L5.

use crate::error::{Error, Result};
use crate::object::Origin;
use crate::store::lane_of;

/// The writer of a change: actor, session, source, class of trust and reason.
#[derive(Clone, Debug)]
pub struct Writer {
    /// The person, agent or program.
    pub actor: Option<String>,
    /// The session the work belongs to.
    pub session: Option<String>,
    /// Where the written information comes from.
    pub source: Option<String>,
    /// The class of the writer: the highest origin its objects can get.
    pub trust: Origin,
    /// Why.
    pub reason: Option<String>,
}

impl Default for Writer {
    fn default() -> Self {
        Self {
            actor: None,
            session: None,
            source: None,
            trust: Origin::DirectUser,
            reason: None,
        }
    }
}

impl Writer {
    /// A trusted writer without a name.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same writer as `actor`.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// The same writer in `session`.
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// The same writer with a reason.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// The same writer with another class of trust.
    #[must_use]
    pub fn trust(mut self, trust: Origin) -> Self {
        self.trust = trust;
        self
    }

    /// Whose undo and whose ring of snapshots this writer has: its session, else its actor, else `default`.
    pub fn lane(&self) -> &str {
        lane_of(self.session.as_deref(), self.actor.as_deref())
    }

    /// Whether a commit takes these names and texts.
    ///
    /// # Errors
    /// `InvalidInput`: one is empty or too long.
    pub(crate) fn check(&self) -> Result<()> {
        for (what, text) in [("actor", &self.actor), ("session", &self.session)] {
            let Some(text) = text else { continue };
            if text.is_empty() || text.len() > 256 || text.chars().any(char::is_control) {
                return Err(Error::invalid(format!(
                    "the {what} must have 1 to 256 bytes and no control characters"
                )));
            }
        }
        for (what, text) in [("source", &self.source), ("reason", &self.reason)] {
            if text.as_ref().is_some_and(|text| text.len() > 1 << 16) {
                return Err(Error::invalid(format!(
                    "the {what} must have at most 65,536 bytes"
                )));
            }
        }
        Ok(())
    }
}
