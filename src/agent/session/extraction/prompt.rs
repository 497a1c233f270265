//! The prompt for a model at the end of a session.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use std::fmt::Write as _;

use serde_json::json;

use super::FactSettings;

/// Something that was said in a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn<'a> {
    /// The speaker.
    pub speaker: &'a str,
    /// The text.
    pub text: &'a str,
}

/// Returns the prompt that asks for the facts of a session.
///
/// Each turn is one line of JSON, so that nothing said in the session can end the transcript. The newest turns are
/// kept; what is too long is cut, and what is left out is counted.
pub fn prompt(turns: &[Turn<'_>], settings: &FactSettings) -> String {
    let mut out = include_str!("prompt.txt")
        .replace("{facts_max}", &settings.facts_max.to_string())
        .replace("{chars_max}", &settings.fact_chars_max.to_string());
    let (lines, left_out) = transcript(turns, settings.prompt_chars_max);
    if left_out > 0 {
        let _infallible = writeln!(out, "({left_out} earlier turns are left out.)");
    }
    for line in lines.iter().rev() {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// The lines of the newest turns, newest first, and how many turns there are before them.
fn transcript(turns: &[Turn<'_>], chars_max: usize) -> (Vec<String>, usize) {
    let mut lines = Vec::new();
    let mut left = chars_max;
    for turn in turns.iter().rev() {
        let chars = turn.text.chars().count();
        if left == 0 {
            break;
        }
        let line = if chars <= left {
            json!({"speaker": turn.speaker, "text": turn.text})
        } else {
            let text: String = turn.text.chars().take(left).collect();
            json!({"speaker": turn.speaker, "text": text, "cut": true})
        };
        // A turn without text costs something too, or a million of them would fit.
        left = left.saturating_sub(chars.max(1));
        lines.push(line.to_string());
    }
    let left_out = turns.len() - lines.len();
    (lines, left_out)
}
