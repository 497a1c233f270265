//! The gates: whether a session may store facts, and which ones.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::HashSet;

use super::{FactScope, FactSettings};

/// The length in characters of the line between two facts in a fact file: the section sign and its line breaks.
const SEPARATOR_CHARS: usize = 3;

/// The state of a session: the input of the gates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionState {
    /// Whether every entry of the session is trusted.
    pub is_trusted: bool,
    /// The number of turns of the person.
    pub turns: usize,
}

named! {
    /// The reason why a fact is not stored. Extraction is off by default.
    pub(crate) enum GateReason {
        Known => "the same text is stored already",
        Off => "extraction of facts is off",
        Untrusted => "the session has an untrusted entry",
        TooFewTurns => "the person has fewer turns in the session than `turns_min`",
        TooMany => "the session has stored `facts_max` facts already",
        ScopeFull => "the facts of this scope would have more characters than allowed",
    }
}

/// Checks whether a session may store facts.
///
/// # Errors
/// The reason why the session may store no facts.
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

/// The gates that each fact of one session passes in turn.
pub(crate) struct Gates<'a> {
    session: SessionState,
    settings: &'a FactSettings,
    /// The characters of the stored facts of each scope.
    chars: [usize; 2],
    texts: HashSet<(FactScope, String)>,
    /// The number of facts that the session has stored.
    stored: usize,
}

impl<'a> Gates<'a> {
    /// Returns the gates of a session, without stored facts.
    pub(crate) fn new(session: SessionState, settings: &'a FactSettings) -> Self {
        Self {
            session,
            settings,
            chars: [0; 2],
            texts: HashSet::new(),
            stored: 0,
        }
    }

    /// Adds a stored fact; `is_own` if this session stored it.
    pub(crate) fn add(&mut self, scope: FactScope, text: &str, is_own: bool) {
        self.chars[scope as usize] += text.chars().count() + SEPARATOR_CHARS;
        self.texts.insert((scope, text.trim().to_owned()));
        self.stored += usize::from(is_own);
    }

    /// Judges the next fact. Known facts do not count against `facts_max`. A fact that does not fit does not stop
    /// shorter ones.
    ///
    /// # Errors
    /// The reason why the fact is not stored.
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
        // Each present fact counts with its separator, so the new one needs no separator.
        if self.chars[scope as usize] + text.chars().count() > chars_max {
            return Err(GateReason::ScopeFull);
        }
        self.add(scope, text, true);
        Ok(())
    }
}
