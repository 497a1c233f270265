//! Settings: every limit and threshold of the layer.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

mod file;

pub(in crate::agent) use self::file::fault;

use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::notes::rank::NoteSettings;
use super::session::attribution::AttributionSettings;
use super::session::extraction::FactSettings;
use crate::scan;

/// Microseconds of an hour.
const HOUR: i64 = 3_600_000_000;

/// Quotas. Characters are Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// The maximum number of characters of a text.
    pub text_chars_max: usize,
    /// The maximum number of items of a scope that have not expired.
    pub items_max: usize,
    /// The maximum number of tags of an item.
    pub tags_max: usize,
    /// The maximum number of characters of a tag.
    pub tag_chars_max: usize,
    /// The maximum number of citations of an item.
    pub citations_max: usize,
    /// The maximum number of characters of the file of a citation.
    pub citation_file_chars_max: usize,
    /// The maximum number of characters of the note of a citation.
    pub citation_note_chars_max: usize,
    /// Whether given ids must follow the grammar of Markdown blocks.
    #[serde(rename = "strict_ids")]
    pub are_ids_strict: bool,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            text_chars_max: 1 << 20,
            items_max: 1_000_000,
            tags_max: 100,
            tag_chars_max: 256,
            citations_max: 100,
            citation_file_chars_max: 4_096,
            citation_note_chars_max: 4_096,
            are_ids_strict: false,
        }
    }
}

impl Quotas {
    /// The quotas of blocks that are Markdown files.
    pub(crate) const BLOCKS: Self = Self {
        text_chars_max: 2_048,
        items_max: 50,
        tags_max: 10,
        tag_chars_max: 64,
        citations_max: 10,
        citation_file_chars_max: 512,
        citation_note_chars_max: 256,
        are_ids_strict: true,
    };
}

/// The treatment of secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Secrets {
    /// A keyed marker replaces the secret.
    #[default]
    Redact,
    /// The write is refused.
    Refuse,
}

/// The times after which decay shortens unused items, in microseconds since the last use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecaySettings {
    /// The time until a full text becomes a summary: 24 hours.
    #[serde(rename = "summary_after", deserialize_with = "micros")]
    pub summary_after_micros: i64,
    /// The time until a summary becomes keywords: 7 days.
    #[serde(rename = "keywords_after", deserialize_with = "micros")]
    pub keywords_after_micros: i64,
    /// The time until keywords are forgotten: 30 days.
    #[serde(rename = "forget_after", deserialize_with = "micros")]
    pub forget_after_micros: i64,
}

impl Default for DecaySettings {
    fn default() -> Self {
        Self {
            summary_after_micros: 24 * HOUR,
            keywords_after_micros: 7 * 24 * HOUR,
            forget_after_micros: 30 * 24 * HOUR,
        }
    }
}

/// All settings.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether the memory is switched off: `remember` then answers with a status, other writing verbs with an error of the code
    /// `disabled`.
    pub is_disabled: bool,
    /// Quotas.
    pub quotas: Quotas,
    /// The verdicts of the scan.
    pub scan: scan::VerdictTable,
    /// The treatment of secrets.
    pub secrets: Secrets,
    /// The times of decay.
    pub decay: DecaySettings,
    /// The parameters for ranking notes.
    pub notes: NoteSettings,
    /// The limits of facts at the end of a session.
    pub facts: FactSettings,
    /// The limits for the attribution of the words of a turn: own or pasted.
    pub attribution: AttributionSettings,
}

/// Reads a duration, for example `"24h"` or `"30d"`, in microseconds.
pub(in crate::agent) fn micros<'de, D: Deserializer<'de>>(input: D) -> Result<i64, D::Error> {
    let text = String::deserialize(input)?;
    let span = text.parse::<Span>().ok();
    let length = span.and_then(|span| span.to_duration(SpanRelativeTo::days_are_24_hours()).ok());
    let length = length.filter(|length| *length >= SignedDuration::ZERO);
    length
        .and_then(|length| i64::try_from(length.as_micros()).ok())
        .ok_or_else(|| D::Error::custom("not a length of time such as \"24h\", \"30d\" or \"90s\""))
}

/// Reads a number that is finite and not negative.
pub(in crate::agent) fn factor<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(input)?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(D::Error::custom("not a number of 0 or more"))
}
