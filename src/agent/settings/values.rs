//! Values of a settings file that serde does not read by itself.
//!
//! # Layer
//! L7, inside `agent`. Pure.

use jiff::{SignedDuration, Span, SpanRelativeTo};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// Reads a length of time such as `"24h"` or `"30d"`, in microseconds.
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
    Err(D::Error::custom("not a number from 0 on"))
}
