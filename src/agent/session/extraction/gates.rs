//! The gates: whether a session may store facts, and which ones.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::collections::HashSet;
use std::fmt;

use super::{FactScope, FactSettings};

/// The characters of the separator of two facts in a fact file: a line with the section sign.
const SEPARATOR_CHARS: usize = 3;

/// The state of a session: the input of the gates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SessionState {
    /// Whether every entry of the session is trusted.
    pub is_trusted: bool,
    /// The number of turns of the person.
    pub turns: usize,
}

/// Why a session stores no facts.
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
}

impl fmt::Display for GateReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("extraction of facts is off"),
            Self::Untrusted => f.write_str("the session has an untrusted entry"),
            Self::TooFewTurns { turns, turns_min } => {
                write!(f, "the session has {turns} turns, fewer than {turns_min}")
            }
        }
    }
}

/// Why a fact goes into quarantine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HoldReason {
    /// The session may store no facts.
    Gate(GateReason),
    /// The session has stored its limit of facts.
    TooMany {
        /// The largest allowed number.
        facts_max: usize,
    },
    /// The facts of its scope would exceed their limit.
    ScopeFull {
        /// The scope.
        scope: FactScope,
        /// The largest allowed number of characters.
        chars_max: usize,
    },
}

impl fmt::Display for HoldReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gate(reason) => reason.fmt(f),
            Self::TooMany { facts_max } => write!(f, "{facts_max} facts of the session are stored already"),
            Self::ScopeFull { scope, chars_max } => {
                write!(
                    f,
                    "the facts of `{}` would have more than {chars_max} characters",
                    scope.name()
                )
            }
        }
    }
}

/// The verdict of the gates on a fact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// Store it.
    Store,
    /// The same text is stored already.
    Known,
    /// Quarantine it with the reason.
    Hold(HoldReason),
}

/// The facts that are stored already.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct PresentFacts<'a> {
    /// The facts about the person.
    pub user: &'a [&'a str],
    /// The facts about the environment.
    pub env: &'a [&'a str],
}

/// Checks whether a session may store facts.
///
/// # Errors
/// The reason against it.
pub(crate) fn gate(session: &SessionState, settings: &FactSettings) -> Result<(), GateReason> {
    // FCT-2.
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
pub(crate) struct Gates {
    gate: Result<(), GateReason>,
    scopes: [Room; 2],
    stored: usize,
    facts_max: usize,
}

impl Gates {
    /// Returns the gates of a session, given the facts that are already stored.
    pub(crate) fn new(session: &SessionState, present: &PresentFacts<'_>, settings: &FactSettings) -> Self {
        Self {
            gate: gate(session, settings),
            scopes: FactScope::ALL.map(|scope| Room::new(scope, present, settings)),
            stored: 0,
            facts_max: settings.facts_max,
        }
    }

    /// Judges the next fact. Known facts do not count against `facts_max`. A fact without room does not stop shorter ones.
    pub(crate) fn admit(&mut self, scope: FactScope, text: &str) -> Admission {
        if let Err(reason) = self.gate {
            return Admission::Hold(HoldReason::Gate(reason));
        }
        let room = &mut self.scopes[scope as usize];
        if room.texts.contains(text.trim()) {
            return Admission::Known;
        }
        // FCT-3.
        if self.stored == self.facts_max {
            let facts_max = self.facts_max;
            return Admission::Hold(HoldReason::TooMany { facts_max });
        }
        if !room.takes(text) {
            let chars_max = room.chars_max;
            return Admission::Hold(HoldReason::ScopeFull { scope, chars_max });
        }
        self.stored += 1;
        Admission::Store
    }
}

/// The facts of a scope, and the room left.
struct Room {
    texts: HashSet<String>,
    chars: usize,
    chars_max: usize,
}

impl Room {
    fn new(scope: FactScope, present: &PresentFacts<'_>, settings: &FactSettings) -> Self {
        let (texts, chars_max) = match scope {
            FactScope::User => (present.user, settings.user_chars_max),
            FactScope::Env => (present.env, settings.env_chars_max),
        };
        Self {
            texts: texts.iter().map(|text| text.trim().to_owned()).collect(),
            chars: texts
                .iter()
                .map(|text| text.chars().count() + SEPARATOR_CHARS)
                .sum(),
            chars_max,
        }
    }

    /// Adds a text if there is room for it.
    fn takes(&mut self, text: &str) -> bool {
        // Each present fact counts with its separator, so the new one needs no separator.
        let chars = self.chars + text.chars().count();
        let fits = chars <= self.chars_max;
        if fits {
            self.chars = chars + SEPARATOR_CHARS;
            self.texts.insert(text.trim().to_owned());
        }
        fits
    }
}
