//! Facts at the end of a session: the prompt, the reader of a model's reply, and the gates.
//!
//! A reply is external text. The answer is a list of facts and skipped parts, or one reason why there are none. The gates only
//! decide: the caller stores, quarantines or drops.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! FCT-1: the reader of a reply never panics, bounds its recursion, and passes over the reply a few times at most.
//! - FCT-2: facts are stored only of a trusted session that is long enough and has extraction enabled.
//! - FCT-3: at most `facts_max` facts of one reply are stored, and no scope grows over its cap.

mod gates;
mod reply;

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

pub(crate) use self::gates::{GateReason, Gates, SessionState, gate};
#[cfg(test)]
use self::reply::SkipReason;
pub(crate) use self::reply::{Fact, FactScope, Reply, SkippedFact, read_reply};

/// Limits of extraction. Characters are Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactSettings {
    /// Whether facts are extracted.
    #[serde(rename = "enabled")]
    pub is_enabled: bool,
    /// The fewest turns of the person that a session needs.
    pub turns_min: usize,
    /// The maximum number of facts that one session stores; facts that are already stored do not count.
    pub facts_max: usize,
    /// The maximum number of characters of one fact.
    pub fact_chars_max: usize,
    /// The maximum number of characters of all facts about the person.
    pub user_chars_max: usize,
    /// The maximum number of characters of all facts about the environment.
    pub env_chars_max: usize,
    /// The maximum number of bytes of a reply.
    pub reply_bytes_max: usize,
    /// The deepest nesting of the JSON of a reply.
    pub depth_max: usize,
    /// The maximum number of facts of a reply that are read.
    pub items_max: usize,
    /// The maximum number of characters of the session's text in a prompt, which keeps the newest.
    pub prompt_chars_max: usize,
}

impl Default for FactSettings {
    /// Extraction is off. A session needs 3 turns and stores 5 facts of 500 characters each. The facts about the person
    /// have 4,000 characters, those about the environment 8,000. A reply has 64 KiB, 16 levels and 100 facts. A prompt
    /// has 24,000 characters of the session.
    fn default() -> Self {
        Self {
            is_enabled: false,
            turns_min: 3,
            facts_max: 5,
            fact_chars_max: 500,
            user_chars_max: 4_000,
            env_chars_max: 8_000,
            reply_bytes_max: 64 * 1024,
            depth_max: 16,
            items_max: 100,
            prompt_chars_max: 24_000,
        }
    }
}

named! {
    /// The reason why a reply holds no facts.
    pub(crate) enum ReplyReason {
        Empty => "the reply is empty",
        TooLong => "the reply is longer than allowed",
        NotJson => "the reply has no complete JSON value",
        TooDeep => "the reply is nested too deep",
        KeyTwice => "an object of the reply has a key twice",
        NotFacts => "the reply is neither a list of facts nor an object with `facts`",
    }
}

/// Returns the prompt that asks for the facts of a session, given the speaker and text of each turn.
///
/// Each turn is one line of JSON, so no text of the session can end the transcript. The newest turns are kept, long texts are
/// cut, and omitted turns are counted.
pub(crate) fn prompt(turns: &[(String, &str)], settings: &FactSettings) -> String {
    let mut out = include_str!("prompt.txt")
        .replace("{facts_max}", &settings.facts_max.to_string())
        .replace("{chars_max}", &settings.fact_chars_max.to_string());
    let (mut lines, mut left) = (Vec::new(), settings.prompt_chars_max);
    for (speaker, text) in turns.iter().rev() {
        if left == 0 {
            break;
        }
        let shown: String = text.chars().take(left).collect();
        let mut line = json!({"speaker": speaker, "text": shown});
        if shown.len() < text.len() {
            line["cut"] = true.into();
        }
        // An empty turn counts as one character, or a million of them would fit.
        left = left.saturating_sub(shown.chars().count().max(1));
        lines.push(format!("{line}\n"));
    }
    if let left_out @ 1.. = turns.len() - lines.len() {
        let _infallible = writeln!(out, "({left_out} earlier turns are left out.)");
    }
    out.extend(lines.into_iter().rev());
    out
}

#[cfg(test)]
mod tests;
