//! A stored text as an answer shows it: with its class and flags, and with markers instead of secrets.
//!
//! Every answer of the agent's verbs takes its texts from here. An item may have a secret or an order that no review
//! saw, because `put` stores every text unchanged, and because the rules of the scan grow. So the text is scanned when
//! it is shown. The output writes out invisible characters (`visible`).
//!
//! # Layer
//! Layer 7, inside `agent`.
//!
//! # Invariants
//! - STX-1: a shown text contains no secret that the scan recognises, and comes with its class and its flags.
//! - STX-2: an untrusted text is shown only if the caller asks for untrusted texts.

use schemars::JsonSchema;
use serde::Serialize;

use super::agent::Agent;
use super::item::{Item, add_new};
use crate::object::{Object, Origin};
use treering_text::scan::Category;

/// The number of bytes of a long text that its start has, and of those behind it that the scan reads for it.
const START_MAX: usize = 4 << 10;
const CONTEXT: usize = 4 << 10;
/// The mark where text was cut off.
const CUT: char = '\u{2026}';

/// A stored text with its trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StoredText {
    /// The origin class of the text.
    pub trust: Origin,
    /// The rules of the scan that the text matched when it was written, or matches now.
    pub flags: Vec<String>,
    /// The text, with markers instead of secrets. `None` if the text is withheld.
    pub text: Option<String>,
    /// Whether the text is withheld, because it is untrusted and the caller did not ask for untrusted texts.
    #[serde(rename = "withheld")]
    pub is_withheld: bool,
}

impl StoredText {
    /// Returns the content of an object as an answer shows it.
    #[doc(hidden)]
    pub fn of(agent: &Agent, object: &Object, with_untrusted: bool) -> Self {
        Self::of_text(
            agent,
            object,
            object.content().unwrap_or_default(),
            with_untrusted,
        )
    }

    /// Returns the start of the content of an object, for an answer that lists it beside another one. A long text is not
    /// scanned as a whole again.
    pub(super) fn start_of(agent: &Agent, object: &Object, with_untrusted: bool) -> Self {
        let text = object.content().unwrap_or_default();
        if text.len() <= START_MAX {
            return Self::of(agent, object, with_untrusted);
        }
        let read = &text[..text.floor_char_boundary(START_MAX + CONTEXT)];
        let mut start = Self::of_text(agent, object, read, with_untrusted);
        if let Some(text) = &mut start.text {
            // INVARIANT STX-1: a secret that the end cuts is not shown.
            let length = START_MAX.min(text.len().saturating_sub(CONTEXT));
            text.truncate(text.floor_char_boundary(length));
            text.push(CUT);
        }
        start
    }

    /// Returns a `text` of an object, such as its title, as an answer shows it.
    #[doc(hidden)]
    pub fn of_text(agent: &Agent, object: &Object, text: &str, with_untrusted: bool) -> Self {
        let is_withheld = !with_untrusted && !object.origin().is_trusted();
        let (clean, rules) = clean(agent, text, object.origin());
        Self {
            trust: object.origin(),
            flags: flags(object, rules),
            text: (!is_withheld).then_some(clean),
            is_withheld,
        }
    }
}

/// Returns a text of this class with markers instead of its secrets, and the rules of the scan that it matches (STX-1).
pub(super) fn clean(agent: &Agent, text: &str, class: Origin) -> (String, Vec<&'static str>) {
    let found = agent.scan_stored(text, class);
    let has_secret = found.iter().any(|finding| finding.category == Category::Secret);
    let clean = if has_secret {
        agent.scanner().redact(text).into_owned()
    } else {
        text.to_owned()
    };
    (clean, found.into_iter().map(|finding| finding.rule).collect())
}

/// Returns the stored flags of an object and the `rules` that its text matches now, each once.
pub(super) fn flags(object: &Object, rules: Vec<&'static str>) -> Vec<String> {
    let mut flags = Item::from(object.clone()).flags();
    add_new(&mut flags, rules.into_iter().map(str::to_owned));
    flags
}
