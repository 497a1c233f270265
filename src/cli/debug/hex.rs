//! Bytes with names: offset, name, the bytes in hex, and what they say.
//!
//! # Layer
//! L9, part of cli.

use serde_json::{Value, json};

use crate::cli::errors::{DONE, Done, Failure};
use crate::cli::human;
use crate::cli::output::{Meaning, Output};
use crate::digest::to_hex;
use crate::log::Part;

/// Terminals narrower than this get eight bytes a line instead of sixteen.
const WIDE: usize = 100;
/// Widest name.
const NAME: usize = 16;

/// Shows parts, at most `most` bytes of each.
pub(super) fn show_parts(output: &mut Output, parts: &[Part], most: usize) -> Done {
    for part in parts {
        show(output, part, most)?;
    }
    Ok(DONE)
}

/// A part for programs.
pub(super) fn document(part: &Part) -> Value {
    json!({
        "offset": part.offset,
        "name": part.name,
        "hex": to_hex(&part.bytes),
        "number": number(&part.bytes),
        "text": as_text(part),
    })
}

fn show(output: &mut Output, part: &Part, most: usize) -> Result<(), Failure> {
    let across = if output.width().is_some_and(|width| width < WIDE) {
        8
    } else {
        16
    };
    let shown = part.bytes.get(..most).unwrap_or(&part.bytes);
    let zeros = shown.len() > across && shown.iter().all(|byte| *byte == 0);
    let mut lines = shown.chunks(across).take(if zeros { 1 } else { usize::MAX });
    let mut at = part.offset;
    let name = output.paint(Meaning::Name, format_args!("{:<NAME$}", part.name));
    let first = lines.next().unwrap_or_default();
    let says = says(part);
    let line = format!(
        "{at:>8}  {name}  {:<width$}  {says}",
        pairs(first),
        width = 3 * across - 1
    );
    output.line(line.trim_end())?;
    let is_text = as_text(part).is_some();
    for line in lines {
        at += across as u64;
        let readable = line
            .iter()
            .map(|byte| printable(*byte))
            .take(if is_text { across } else { 0 });
        let readable: String = readable.collect();
        let line = format!(
            "{at:>8}  {:<NAME$}  {:<width$}  {readable}",
            "",
            pairs(line),
            width = 3 * across - 1
        );
        output.line(line.trim_end())?;
    }
    if zeros || shown.len() < part.bytes.len() {
        let left = part.bytes.len() - if zeros { across } else { shown.len() };
        let what = if zeros { "zeros" } else { "bytes: --all shows them" };
        output.line(format_args!("{:>8}  {:<NAME$}  and {left} more {what}", "", ""))?;
    }
    Ok(())
}

/// What the bytes say: a number if they are few, text if they are that.
fn says(part: &Part) -> String {
    match (number(&part.bytes), as_text(part)) {
        (_, Some(text)) => format!("\"{}\"", human::cut(&human::one_line(&text), 24)),
        (Some(number), None) => number.to_string(),
        (None, None) => String::new(),
    }
}

fn number(bytes: &[u8]) -> Option<u64> {
    let mut whole = [0; 8];
    whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
    matches!(bytes.len(), 1 | 2 | 4 | 8).then(|| u64::from_le_bytes(whole))
}

/// Text that a person would take for text.
fn as_text(part: &Part) -> Option<String> {
    let text = std::str::from_utf8(&part.bytes)
        .ok()
        .filter(|_| part.may_be_text)?;
    let is_readable = |character: char| !character.is_control() || character.is_whitespace();
    (text.len() > 2 && text.chars().all(is_readable)).then(|| text.to_owned())
}

fn pairs(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}

fn printable(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' {
        char::from(byte)
    } else {
        '.'
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_are_a_number_and_readable_ones_text() {
        let part = |bytes: &[u8], may_be_text| {
            says(&Part {
                name: "x",
                offset: 0,
                bytes: bytes.to_vec(),
                may_be_text,
            })
        };
        assert_eq!(part(b"TRf1", false), "828789332");
        let part = |bytes| part(bytes, true);
        assert_eq!(part(&[5, 1]), "261");
        assert_eq!(part(b"TRf1"), "\"TRf1\"");
        assert_eq!(part(&[7; 16]), "");
        assert_eq!(part(&[0xff; 8]), u64::MAX.to_string());
        assert_eq!(part("gr\u{fc}n".as_bytes()), "\"gr\u{fc}n\"");
        assert_eq!(pairs(&[0, 0xab]), "00 ab");
    }
}
