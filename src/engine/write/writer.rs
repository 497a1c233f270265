//! The writer of a commit. The class of the writer limits the trust of the objects that the writer stores.
//!
//! # Layer
//! Layer 5.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::object::{Origin, Scope, lane_of};

/// The writer of a change: its class of trust, actor, session, source and reason.
///
/// Each constructor names a class, because the class limits the trust of every object that the writer stores.
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
#[must_use]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Writer {
    /// The person, agent or program that writes.
    pub actor: Option<String>,
    /// The session that the work belongs to.
    pub session: Option<String>,
    /// The source of the written information, such as a URL.
    pub source: Option<String>,
    /// The class of the writer: the most trusted origin that its objects can have.
    pub trust: Origin,
    /// The reason for the change, for the audit log.
    pub reason: Option<String>,
    /// The only scopes whose objects the writer takes back and brings back (STN-5). `None` means every scope.
    pub(crate) scopes: Option<Arc<[Scope]>>,
}

impl Writer {
    /// Makes a writer of the class `trust`, without an actor.
    pub fn of(trust: Origin) -> Self {
        Self {
            actor: None,
            session: None,
            source: None,
            trust,
            reason: None,
            scopes: None,
        }
    }

    /// Makes the writer for the person who owns the memory, without an actor. The class of this writer is the most
    /// trusted class.
    pub fn user() -> Self {
        Self::of(Origin::DirectUser)
    }

    /// Makes the writer for a person, by name. The class of this writer is the most trusted class.
    pub fn person(name: impl Into<String>) -> Self {
        Self::user().actor(name)
    }

    /// Makes the writer for the program that hosts the agent, by name.
    pub fn host(name: impl Into<String>) -> Self {
        Self::of(Origin::Host).actor(name)
    }

    /// Makes the writer for text that a model generated, by the name of the model.
    pub fn model(name: impl Into<String>) -> Self {
        Self::of(Origin::Model).actor(name)
    }

    /// Makes the writer for a tool that returns external text, by name. The objects of this writer are untrusted.
    pub fn tool(name: impl Into<String>) -> Self {
        Self::of(Origin::ToolExternal).actor(name)
    }

    /// Makes the writer for a tool that reads only internal data, by name. The objects of this writer are trusted.
    pub fn internal_tool(name: impl Into<String>) -> Self {
        Self::of(Origin::ToolInternal).actor(name)
    }

    /// Sets the actor: the name of the person, model or tool that writes.
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = Some(actor.into());
        self
    }

    /// Sets the session in which the writer acts.
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Sets the reason of the change.
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the source of the written information, such as a URL or a file.
    pub fn source(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Makes undo, redo, rollback, restore and revert of the writer change only objects of these scopes (STN-5).
    #[doc(hidden)]
    pub fn confined_to(mut self, scopes: Vec<Scope>) -> Self {
        self.scopes = Some(scopes.into());
        self
    }

    /// Returns the lane of the writer: its session, else its actor, else `default`. Each lane has its own undo, redo
    /// and ring of snapshots.
    pub fn lane(&self) -> &str {
        lane_of(self.session.as_deref(), self.actor.as_deref())
    }

    /// Checks that the names and texts of the writer are valid for a commit.
    ///
    /// # Errors
    /// `InvalidInput` if a name or text is empty or too long.
    #[doc(hidden)]
    pub fn check(&self) -> Result<()> {
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
