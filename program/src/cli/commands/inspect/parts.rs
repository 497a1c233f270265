//! Named byte ranges: their offset, their hex form, and their meaning.
//!
//! # Layer
//! Layer 10, part of cli.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cli::commands::prelude::*;
use treering::inspect::log;

/// The number of bytes of a part in the output for people, without `--all`.
pub(super) const SHOWN_BYTES: usize = 256;
/// The terminal width below which a line shows eight bytes instead of sixteen.
const WIDE: usize = 100;
/// The width of the column of names.
const NAME: usize = 16;

/// Bytes with a name.
#[derive(Serialize, JsonSchema)]
pub(super) struct Part {
    /// The offset in the file, or in the bytes that a digest covers.
    offset: u64,
    name: &'static str,
    hex: String,
    /// The little-endian number, if there are 1, 2, 4 or 8 bytes.
    number: Option<u64>,
    /// The text, if the bytes are readable text.
    text: Option<String>,
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl Part {
    pub(super) fn new(part: log::Part) -> Self {
        Self {
            offset: part.offset,
            name: part.name,
            hex: to_hex(&part.bytes),
            number: number(&part.bytes),
            text: text(&part.bytes).filter(|_| part.may_be_text),
            bytes: part.bytes,
        }
    }

    /// Prints at most `most` bytes in hex.
    fn show(&self, output: &mut Output, most: usize) -> Result<()> {
        let is_narrow = output.style().width.is_some_and(|width| width < WIDE);
        let across = if is_narrow { 8 } else { 16 };
        let shown = self.bytes.get(..most).unwrap_or(&self.bytes);
        let zeros = shown.len() > across && shown.iter().all(|byte| *byte == 0);
        let shown = if zeros { &shown[..across] } else { shown };
        let mut name = output.paint(Meaning::Name, format_args!("{:<NAME$}", self.name));
        let (mut at, mut says, width) = (self.offset, self.says(), 3 * across - 1);
        // A part without bytes still gets one line.
        let lines = shown.chunks(across).chain(shown.is_empty().then_some(shown));
        for line in lines {
            let pairs: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
            if at > self.offset {
                (name, says) = (
                    " ".repeat(NAME),
                    self.text.as_ref().map_or_else(String::new, |_| readable(line)),
                );
            }
            let line = format!("{at:>8}  {name}  {:<width$}  {says}", pairs.join(" "));
            output.line(line.trim_end())?;
            at += across as u64;
        }
        let left = self.bytes.len() - shown.len();
        if left > 0 {
            let what = if zeros {
                "zeros"
            } else {
                "bytes; --all shows all bytes"
            };
            output.line(format_args!("{:>8}  {:<NAME$}  and {left} more {what}", "", ""))?;
        }
        Ok(())
    }

    /// Returns the quoted text, else the number, else an empty text.
    fn says(&self) -> String {
        match (&self.text, self.number) {
            (Some(text), _) => format!("\"{}\"", cut(&one_line(text), 24)),
            (None, Some(number)) => number.to_string(),
            (None, None) => String::new(),
        }
    }
}

/// Prints at most `most` bytes of each part.
pub(super) fn show_parts(parts: &[Part], output: &mut Output, most: usize) -> Result<()> {
    parts.iter().try_for_each(|part| part.show(output, most))
}

fn number(bytes: &[u8]) -> Option<u64> {
    let mut whole = [0; 8];
    whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
    matches!(bytes.len(), 1 | 2 | 4 | 8).then(|| u64::from_le_bytes(whole))
}

/// Returns the bytes as text if the bytes are readable UTF-8 of at least 3 bytes.
fn text(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let is_readable = |character: char| !character.is_control() || character.is_whitespace();
    (text.len() > 2 && text.chars().all(is_readable)).then(|| text.to_owned())
}

/// Returns the bytes as ASCII, with a dot for each unprintable byte.
fn readable(bytes: &[u8]) -> String {
    let is_shown = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
    let characters = bytes
        .iter()
        .map(|byte| if is_shown(*byte) { char::from(*byte) } else { '.' });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_are_a_number_and_readable_ones_text() {
        let says = |bytes: &[u8], may_be_text| {
            Part::new(log::Part {
                name: "x",
                offset: 0,
                bytes: bytes.to_vec(),
                may_be_text,
            })
            .says()
        };
        assert_eq!(says(b"TRf1", false), "828789332");
        assert_eq!(says(&[5, 1], true), "261");
        assert_eq!(says(b"TRf1", true), "\"TRf1\"");
        assert_eq!(says(&[7; 16], true), "");
        assert_eq!(says(&[0xff; 8], true), u64::MAX.to_string());
        assert_eq!(says("gr\u{fc}n".as_bytes(), true), "\"gr\u{fc}n\"");
    }
}
