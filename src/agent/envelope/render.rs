//! What a host asks the renderer for, and what it gets.
//!
//! # Layer
//! Pure: imports only from its own folder.

use super::document::Envelope;
use super::record::Record;
use super::selection::choose;

/// The budget unless another is given: 20,000 characters.
const BUDGET_TOKENS: usize = 5000;

/// What the envelope is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose<'a> {
    /// A turn of the agent: no notes.
    Turn,
    /// The context of a session is being compacted: its own notes are shown.
    Compaction {
        /// The root session; child sessions are to be traced to it by the caller.
        root_session: &'a str,
    },
}

/// What is asked of [`render`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The root of the state that the records are from.
    pub root: &'a str,
    /// What the envelope is for.
    pub purpose: Purpose<'a>,
    /// The most tokens of the whole text, as [`tokens`](super::tokens) counts them.
    pub budget_tokens: usize,
    /// Whether records that are not trusted are shown, in the quarantine.
    pub with_untrusted: bool,
    /// What the first and the last line say and no record may.
    pub boundary: Option<Boundary>,
}

impl<'a> Request<'a> {
    /// Asks for an envelope of trusted records for a turn, without a boundary, in at most 5,000 tokens.
    pub fn new(root: &'a str) -> Self {
        Self {
            root,
            purpose: Purpose::Turn,
            budget_tokens: BUDGET_TOKENS,
            with_untrusted: false,
            boundary: None,
        }
    }
}

/// A word that the host drew at random for a session: 16 to 64 ASCII letters and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boundary(String);

impl Boundary {
    /// Returns the boundary, or nothing if `word` is too short, too long, or has other characters.
    pub fn new(word: &str) -> Option<Self> {
        let fits = (16..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self(word.to_owned()))
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Records that are not shown, by the reason that was found first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// They are entries of a transcript.
    pub entries: usize,
    /// They are notes, and this is no compaction, or that of another session.
    pub notes: usize,
    /// They are not trusted, and were not asked for.
    pub untrusted: usize,
    /// Their section is full.
    pub full: usize,
    /// There is nothing in them to show.
    pub empty: usize,
    /// They repeat the boundary.
    pub forged: usize,
    /// The same text is shown already, perhaps in another section.
    pub duplicates: usize,
    /// The budget has no room for them.
    pub budget: usize,
}

impl LeftOut {
    /// Those that there was no room for; the envelope says how many.
    pub fn skipped(&self) -> usize {
        self.full + self.budget
    }

    /// All of them.
    pub fn total(&self) -> usize {
        let held_back = self.entries + self.notes + self.untrusted + self.forged;
        held_back + self.empty + self.duplicates + self.skipped()
    }
}

/// An envelope that was rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text for the prompt; empty if no record is shown. Never to be given the role of the system.
    pub text: String,
    /// What it says.
    pub envelope: Envelope,
    /// What it does not say.
    pub left_out: LeftOut,
}

/// Renders records into one envelope.
///
/// Records are looked at one section after another, in the order of what a session needs most, and within a section by
/// rank, newest first. One that does not fit is skipped, the ones behind it are still looked at. The work is linear in the
/// records and in the characters of them that may be shown, besides sorting; hand over what a recall found, not a store.
pub fn render(records: &[Record], request: &Request) -> Rendered {
    let (envelope, left_out) = choose(records, request);
    Rendered {
        text: envelope.to_string(),
        envelope,
        left_out,
    }
}
