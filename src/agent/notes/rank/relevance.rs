//! How well a text fits a query, by its words.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use crate::agent::words;

/// The most that a text gets that is not the query itself.
const INEXACT_MAX: f64 = 0.99;

/// Returns how well `text` fits `query`, in 0..=1 with six decimals.
///
/// 1 if they are equal in lower case. Else by the share `c` of the query's words that stand in the text, also inside
/// longer words: `0.15 + 0.55 c`, 0.2 more if the whole query stands there, and up to 0.1 for a text that is not longer
/// than the query; 0 if none does. A query without words, such as one sign or an emoji, is looked for as it stands.
pub fn relevance(query: &str, text: &str) -> f64 {
    let query = words::normalised(query);
    let text = words::normalised(text);
    if query.is_empty() {
        return 0.0;
    }
    if query == text {
        return 1.0;
    }
    let share_of_text = query.chars().count() as f64 / text.chars().count().max(1) as f64;
    let is_contiguous = text.contains(&query);
    let tokens = words::query_tokens(&query);
    let relevance = if tokens.is_empty() {
        if !is_contiguous {
            return 0.0;
        }
        0.8 + share_of_text / 5.0
    } else {
        let found = tokens
            .iter()
            .filter(|token| text.contains(token.as_str()))
            .count();
        if found == 0 {
            return 0.0;
        }
        let covered = found as f64 / tokens.len() as f64;
        let contiguous = if is_contiguous { 0.2 } else { 0.0 };
        0.15 + 0.55 * covered + contiguous + 0.1 * share_of_text.min(1.0)
    };
    rounded(relevance.min(INEXACT_MAX))
}

/// Six decimals, within 0..=1.
pub(crate) fn rounded(value: f64) -> f64 {
    ((value * 1e6).round() / 1e6).clamp(0.0, 1.0)
}
