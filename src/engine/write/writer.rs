//! The writer of a commit. Its class limits the trust of the objects that it writes.
//!
//! # Layer
//! L5.

use crate::error::{Error, Result};
use crate::object::Origin;
use crate::store::lane_of;

/// The writer of a change: class of trust, actor, session, source and reason.
///
/// Each constructor names the class, because the class limits the trust of every object that the writer stores.
///
/// ```
/// use treering::{Origin, Writer};
///
/// let vera = Writer::person("vera").session("monday").reason("she said so");
/// assert_eq!(vera.trust, Origin::DirectUser);
/// assert_eq!(vera.lane(), "monday");
///
/// let page = Writer::tool("browser").source("https://example.org/");
/// assert!(!page.trust.is_trusted());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Writer {
    /// The person, agent or program.
    pub actor: Option<String>,
    /// The session that the work belongs to.
    pub session: Option<String>,
    /// The source of the written information, such as a URL.
    pub source: Option<String>,
    /// The class of the writer: the highest origin its objects can get.
    pub trust: Origin,
    /// The reason, for the audit log.
    pub reason: Option<String>,
}

impl Writer {
    /// A writer of the class `trust`, without a name.
    pub fn of(trust: Origin) -> Self {
        Self {
            actor: None,
            session: None,
            source: None,
            trust,
            reason: None,
        }
    }

    /// The person who owns the memory, without a name. The most trusted class.
    pub fn user() -> Self {
        Self::of(Origin::DirectUser)
    }

    /// A person by name. The most trusted class.
    pub fn person(name: impl Into<String>) -> Self {
        Self::user().actor(name)
    }

    /// The program that hosts the agent, by name.
    pub fn host(name: impl Into<String>) -> Self {
        Self::of(Origin::Host).actor(name)
    }

    /// A model that writes its own words, by name.
    pub fn model(name: impl Into<String>) -> Self {
        Self::of(Origin::Model).actor(name)
    }

    /// A tool that returns text from outside, by name. Its objects are untrusted.
    pub fn tool(name: impl Into<String>) -> Self {
        Self::of(Origin::ToolExternal).actor(name)
    }

    /// A tool that reads only internal data, by name. Its objects are trusted.
    pub fn internal_tool(name: impl Into<String>) -> Self {
        Self::of(Origin::ToolInternal).actor(name)
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

    /// The same writer with the source of what it writes, such as a URL or a file.
    #[must_use]
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The lane of the writer: its session, else its actor, else `default`. Undo, redo and the ring of snapshots are per lane.
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
