//! The gates decide whether a session may store facts, and which facts.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::HashSet;

use super::{FactScope, FactSettings};

/// The number of characters between two facts in a fact file: a section sign with a line break on each side.
const SEPARATOR_CHARS: usize = 3;

/// The properties of a session that the gates check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionState {
    /// Whether every entry of the session is trusted.
    pub is_trusted: bool,
    /// The number of turns in which the person speaks.
    pub turns: usize,
}

named! {
    /// The reason why a fact is not stored.
    pub enum GateReason {
        Known => "the same fact is already stored",
        Off => "the extraction of facts is disabled",
        Untrusted => "the session contains an untrusted entry",
        TooFewTurns => "the person has fewer turns in the session than the setting `turns_min` requires",
        TooMany => "the session has already stored as many facts as the setting `facts_max` allows",
        ScopeFull => "the facts of this scope would exceed their maximum number of characters",
    }
}

/// Checks whether a session may store any facts.
///
/// # Errors
/// Returns the reason if the session may not store facts.
pub(crate) fn gate(session: SessionState, settings: &FactSettings) -> Result<(), GateReason> {
    // FCT-2: only a session with extraction enabled stores facts.
    if !settings.is_enabled {
        Err(GateReason::Off)
    } else if !session.is_trusted {
        Err(GateReason::Untrusted)
    } else if session.turns < settings.turns_min {
        Err(GateReason::TooFewTurns)
    } else {
        Ok(())
    }
}

/// The gates for the facts of one session, with the counts of the stored facts and of the facts that passed so far.
pub(crate) struct Gates<'a> {
    session: SessionState,
    settings: &'a FactSettings,
    /// The number of characters of the stored facts of each scope, with one separator per fact.
    chars: [usize; 2],
    texts: HashSet<(FactScope, String)>,
    /// The number of facts that the session has stored, including the facts that passed so far.
    stored: usize,
}

impl<'a> Gates<'a> {
    /// Returns the gates of a session before any stored fact is added.
    pub(crate) fn new(session: SessionState, settings: &'a FactSettings) -> Self {
        Self {
            session,
            settings,
            chars: [0; 2],
            texts: HashSet::new(),
            stored: 0,
        }
    }

    /// Adds a stored fact to the counts. `is_own` states whether this session stored the fact.
    pub(crate) fn add(&mut self, scope: FactScope, text: &str, is_own: bool) {
        self.chars[scope as usize] += text.chars().count() + SEPARATOR_CHARS;
        self.texts.insert((scope, text.trim().to_owned()));
        self.stored += usize::from(is_own);
    }

    /// Checks the next fact, and adds the fact to the counts if the fact passes. A fact that is already stored does not
    /// count against `facts_max`. After a fact that exceeds the limit of its scope, a shorter fact can still pass.
    ///
    /// # Errors
    /// Returns the reason if the fact does not pass.
    pub(crate) fn admit(&mut self, scope: FactScope, text: &str) -> Result<(), GateReason> {
        gate(self.session, self.settings)?;
        if self.texts.contains(&(scope, text.trim().to_owned())) {
            return Err(GateReason::Known);
        }
        // FCT-3: at most `facts_max` facts are stored.
        if self.stored >= self.settings.facts_max {
            return Err(GateReason::TooMany);
        }
        let chars_max = match scope {
            FactScope::User => self.settings.user_chars_max,
            FactScope::Env => self.settings.env_chars_max,
        };
        // The count of each stored fact includes a separator, so the new fact needs no separator.
        if self.chars[scope as usize] + text.chars().count() > chars_max {
            return Err(GateReason::ScopeFull);
        }
        self.add(scope, text, true);
        Ok(())
    }
}
