//! Settings: every limit and threshold of the module `agent`.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

mod file;
mod rules;

pub(in crate::agent) use self::file::fault;
pub use self::rules::Fault;

use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::notes::rank::NoteSettings;
use super::session::attribution::AttributionSettings;
use super::session::extraction::FactSettings;
use treering_text::scan;

/// The number of microseconds in an hour.
const HOUR: i64 = 3_600_000_000;

/// The limits of items and scopes. Characters are Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Quotas {
    /// The maximum number of characters of a text.
    pub text_chars_max: usize,
    /// The maximum number of unexpired items in a scope.
    pub items_max: usize,
    /// The maximum number of tags of an item.
    pub tags_max: usize,
    /// The maximum number of characters of a tag.
    pub tag_chars_max: usize,
    /// The maximum number of citations of an item.
    pub citations_max: usize,
    /// The maximum number of characters in the file name of a citation.
    pub citation_file_chars_max: usize,
    /// The maximum number of characters of the note of a citation.
    pub citation_note_chars_max: usize,
    /// Whether ids that a caller passes must follow the grammar of the ids of Markdown blocks.
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
    /// The quotas of the profile `blocks`, for memory blocks in Markdown files.
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

/// The times without use after which decay shortens an item, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecaySettings {
    /// The time after which a full text becomes a summary. Default: 24 hours.
    #[serde(rename = "summary_after", deserialize_with = "micros")]
    pub summary_after_micros: i64,
    /// The time after which a summary becomes keywords. Default: 7 days.
    #[serde(rename = "keywords_after", deserialize_with = "micros")]
    pub keywords_after_micros: i64,
    /// The time after which an item with only keywords is forgotten. Default: 30 days.
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

/// The model for recall by meaning, which `meaning::with_model` reads (feature `semantic`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MeaningSettings {
    /// `"bundled"`, `"none"`, or the name of an installed model.
    pub model: Option<String>,
    /// The address of a server of embeddings, for example `"http://127.0.0.1:11434"`.
    pub address: Option<String>,
    /// The name of the server's model.
    pub address_model: Option<String>,
    /// How to ask the server. Default: as `OpenAI` does.
    pub protocol: MeaningProtocol,
    /// The address again, if it is on another machine, because texts of the memory are sent to it.
    pub texts_leave_to: Option<String>,
    /// A program and its arguments, which reads texts and writes vectors as lines of JSON.
    pub command: Vec<String>,
}

impl MeaningSettings {
    /// Returns these settings, or the model that the variable `TREERING_MODEL` names if it is set.
    #[must_use]
    pub fn or_model_of_environment(self) -> Self {
        match std::env::var("TREERING_MODEL") {
            Ok(name) if !name.is_empty() => Self {
                model: Some(name),
                ..Self::default()
            },
            _ => self,
        }
    }
}

/// How to ask a server of embeddings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeaningProtocol {
    /// `POST /v1/embeddings`, as `OpenAI` and many others.
    #[default]
    Openai,
    /// `POST /api/embed`, as Ollama.
    Ollama,
}

/// How long the taint of a session lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSettings {
    /// Whether the taint of a session ends when a hook stores the next prompt of the person. Default: no.
    pub taint_ends_at_prompt: bool,
}

/// All settings of an agent.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether writing is disabled. If so, `remember` returns the status `disabled`, and other writing verbs return an
    /// error with the code `disabled`.
    pub is_disabled: bool,
    /// The limits of items and scopes.
    pub quotas: Quotas,
    /// The verdicts of the scan.
    pub scan: scan::VerdictTable,
    /// The treatment of secrets.
    pub secrets: Secrets,
    /// The times of decay.
    pub decay: DecaySettings,
    /// The parameters for ranking notes.
    pub notes: NoteSettings,
    /// The limits for facts that the end of a session stores.
    pub facts: FactSettings,
    /// The limits for separating a person's own words from pasted text.
    pub attribution: AttributionSettings,
    /// The model for recall by meaning.
    pub meaning: MeaningSettings,
    /// How long the taint of a session lasts.
    pub sessions: SessionSettings,
}

/// Parses a duration, for example `"24h"` or `"30d"`. Returns microseconds.
pub(in crate::agent) fn micros<'de, D: Deserializer<'de>>(input: D) -> Result<i64, D::Error> {
    let text = String::deserialize(input)?;
    parse_micros(&text).ok_or_else(|| D::Error::custom("not a duration such as \"24h\", \"30d\" or \"90s\""))
}

fn parse_micros(text: &str) -> Option<i64> {
    let length = text
        .parse::<Span>()
        .ok()?
        .to_duration(SpanRelativeTo::days_are_24_hours());
    let length = length.ok().filter(|length| *length >= SignedDuration::ZERO)?;
    i64::try_from(length.as_micros()).ok()
}

/// Parses a number that must be finite and not negative.
pub(in crate::agent) fn factor<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let number = f64::deserialize(input)?;
    if number.is_finite() && number >= 0.0 {
        return Ok(number);
    }
    Err(D::Error::custom("not a finite number of 0 or more"))
}
