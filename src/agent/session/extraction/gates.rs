//! The gates: whether a session may store facts, and which ones.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

use std::collections::HashSet;
use std::fmt;

use serde::{Serialize, Serializer};

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

/// The reason why a fact is not stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GateReason {
    /// Extraction is off, as by default.
    Off,
    /// An entry of the session is untrusted.
    Untrusted,
    /// The session is too short.
    TooFewTurns {
        /// The number of turns that it has.
        turns: usize,
        /// The number of turns that it needs.
        turns_min: usize,
    },
    /// The session has stored this number of facts, which is the limit.
    TooMany(usize),
    /// The facts of the scope would have more than this number of characters.
    ScopeFull(FactScope, usize),
}

impl Serialize for GateReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for GateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("extraction of facts is off"),
            Self::Untrusted => f.write_str("the session has an untrusted entry"),
            Self::TooFewTurns { turns, turns_min } => {
                write!(f, "the session has {turns} turns, fewer than {turns_min}")
            }
            Self::TooMany(facts_max) => write!(f, "the session has stored {facts_max} facts, the limit"),
            Self::ScopeFull(scope, chars_max) => {
                let scope = scope.name();
                write!(
                    f,
                    "the facts of `{scope}` would have more than {chars_max} characters"
                )
            }
        }
    }
}

/// The fate of an admitted fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// Store it.
    Store,
    /// The same text is stored already.
    Known,
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
        Err(GateReason::TooFewTurns {
            turns: session.turns,
            turns_min: settings.turns_min,
        })
    } else {
        Ok(())
    }
}

/// The gates that each fact of one session passes in turn.
pub(crate) struct Gates<'a> {
    session: SessionState,
    settings: &'a FactSettings,
    /// The stored facts of each scope.
    present: [Present; 2],
    /// The number of facts that the session has stored.
    stored: usize,
}

/// The stored facts of a scope.
#[derive(Default)]
struct Present {
    texts: HashSet<String>,
    chars: usize,
}

impl<'a> Gates<'a> {
    /// Returns the gates of a session, without stored facts.
    pub(crate) fn new(session: SessionState, settings: &'a FactSettings) -> Self {
        Self {
            session,
            settings,
            present: <[Present; 2]>::default(),
            stored: 0,
        }
    }

    /// Adds a stored fact; `is_own` if this session stored it.
    pub(crate) fn add(&mut self, scope: FactScope, text: &str, is_own: bool) {
        let present = &mut self.present[scope as usize];
        present.chars += text.chars().count() + SEPARATOR_CHARS;
        present.texts.insert(text.trim().to_owned());
        self.stored += usize::from(is_own);
    }

    /// Judges the next fact. Known facts do not count against `facts_max`. A fact that does not fit does not stop
    /// shorter ones.
    ///
    /// # Errors
    /// The reason why the fact is not stored.
    pub(crate) fn admit(&mut self, scope: FactScope, text: &str) -> Result<Admission, GateReason> {
        gate(self.session, self.settings)?;
        let present = &self.present[scope as usize];
        if present.texts.contains(text.trim()) {
            return Ok(Admission::Known);
        }
        // FCT-3: at most `facts_max` facts are stored.
        let facts_max = self.settings.facts_max;
        if self.stored >= facts_max {
            return Err(GateReason::TooMany(facts_max));
        }
        let chars_max = match scope {
            FactScope::User => self.settings.user_chars_max,
            FactScope::Env => self.settings.env_chars_max,
        };
        // Each present fact counts with its separator, so the new one needs no separator.
        if present.chars + text.chars().count() > chars_max {
            return Err(GateReason::ScopeFull(scope, chars_max));
        }
        self.add(scope, text, true);
        Ok(Admission::Store)
    }
}
