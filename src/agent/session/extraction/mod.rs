//! Facts at the end of a session: the prompt, the reader of a model's reply, and the gates.
//!
//! A reply is external text. The reader returns a list of facts and skipped parts, or the reason why the reply has no
//! facts. The gates only decide: the caller stores, quarantines or drops each fact.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.
//!
//! # Invariants
//! - FCT-1: the reader of a reply never panics, limits its recursion, and scans the reply only a few times.
//! - FCT-2: a session stores facts only if the session is trusted and long enough, and extraction is enabled.
//! - FCT-3: a session stores at most `facts_max` facts, and the facts of a scope never exceed its limit of characters.

mod gates;
mod reply;

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::json;

pub(crate) use self::gates::{GateReason, Gates, SessionState, gate};
pub use self::reply::FactScope;
#[cfg(test)]
use self::reply::SkipReason;
pub(crate) use self::reply::SkippedFact;
pub(crate) use self::reply::{Fact, Reply, read_reply};

/// Limits of extraction. Characters are Unicode scalar values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactSettings {
    /// Whether facts are extracted.
    #[serde(rename = "enabled")]
    pub is_enabled: bool,
    /// The minimum number of turns of the person in a session that stores facts.
    pub turns_min: usize,
    /// The maximum number of facts that one session stores. A fact that is already stored does not count again.
    pub facts_max: usize,
    /// The maximum number of characters of one fact.
    pub fact_chars_max: usize,
    /// The maximum number of characters of all facts about the person.
    pub user_chars_max: usize,
    /// The maximum number of characters of all facts about the environment.
    pub env_chars_max: usize,
    /// The maximum number of bytes of a reply.
    pub reply_bytes_max: usize,
    /// The maximum nesting depth of the JSON of a reply.
    pub depth_max: usize,
    /// The maximum number of facts that are read from a reply.
    pub items_max: usize,
    /// The maximum number of characters of the transcript in a prompt. The prompt retains the newest turns.
    pub prompt_chars_max: usize,
}

impl Default for FactSettings {
    /// Extraction is disabled. A session needs 3 turns and stores at most 5 facts of 500 characters each. The facts
    /// about the person have at most 4,000 characters, the facts about the environment 8,000. A reply has at most 64
    /// KiB, 16 levels and 100 facts. A prompt contains at most 24,000 characters of the transcript.
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
    /// The reason why a reply cannot be read.
    pub(crate) enum ReplyReason {
        Empty => "the reply is empty",
        TooLong => "the reply is longer than allowed",
        NotJson => "the reply contains no complete JSON value",
        TooDeep => "the reply is nested too deep",
        KeyTwice => "an object of the reply repeats a key",
        NotFacts => "the JSON of the reply is neither a list of facts nor an object with `facts`",
    }
}

/// Returns the prompt that requests the facts of a session. `turns` contains the speaker and text of each turn.
///
/// Each turn is one line of JSON, so no text of the session can end the transcript. If the transcript is too long, the
/// prompt retains the newest turns, cuts the oldest retained turn, and reports the number of omitted turns.
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
        // Count an empty turn as one character. Otherwise any number of empty turns would fit.
        left = left.saturating_sub(shown.chars().count().max(1));
        lines.push(format!("{line}\n"));
    }
    if let left_out @ 1.. = turns.len() - lines.len() {
        let _infallible = writeln!(out, "({left_out} earlier turns are omitted.)");
    }
    out.extend(lines.into_iter().rev());
    out
}

#[cfg(test)]
mod tests;
