//! The lines of a script: UTF-8 and of bounded length, for any source.
//!
//! # Layer
//! L10, part of cli.

use std::io::{BufRead, Read as _};

use crate::error::{Error, ErrorCode, Result};

/// The longest line that is read, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;
const UTF8_MARK: &str = "\u{feff}";

/// Reads a script line by line.
pub(super) struct Lines<R> {
    source: R,
    /// The name of the source in messages.
    name: String,
    /// The number of the last line read, counted from 1.
    number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Returns a reader of the lines of `source`, which messages call `name`.
    pub(super) fn new(name: String, source: R) -> Self {
        Self {
            source,
            name,
            number: 0,
        }
    }

    /// The place of the last line, for messages.
    pub(super) fn place(&self) -> String {
        if self.name.is_empty() {
            format!("line {}", self.number)
        } else {
            format!("{}:{}", self.name, self.number)
        }
    }

    /// Returns the next line without its line break, or `None` at the end.
    ///
    /// # Errors
    /// `InvalidInput`, with the location, for a line that is too long or not UTF-8. `Io` if reading fails.
    pub(super) fn next(&mut self) -> Result<Option<String>> {
        let mut bytes = Vec::new();
        let mut bounded = self.source.by_ref().take(LINE_BYTES_MAX + 1);
        self.number += 1;
        let read = bounded.read_until(b'\n', &mut bytes);
        if let Err(error) = read {
            return Err(Error::io(format_args!("reading {}", self.source_name()), error));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let line = match bytes.strip_suffix(b"\n") {
            Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
            None => &bytes,
        };
        if line.len() as u64 > LINE_BYTES_MAX {
            let why = format!("this line has more than {} MiB", LINE_BYTES_MAX >> 20);
            return Err(self.refused(&why).with_code(ErrorCode::OverLimit));
        }
        let line = std::str::from_utf8(line).map_err(|error| {
            let byte = error.valid_up_to() + 1;
            self.refused(&format!("byte {byte} of this line is not UTF-8"))
        })?;
        // Some editors write a byte order mark before the first line.
        let line = if self.number == 1 {
            line.strip_prefix(UTF8_MARK).unwrap_or(line)
        } else {
            line
        };
        Ok(Some(line.to_owned()))
    }

    fn source_name(&self) -> &str {
        if self.name.is_empty() {
            "standard input"
        } else {
            &self.name
        }
    }

    fn refused(&self, why: &str) -> Error {
        let hint = format!("{} contains commands, one per line", self.source_name());
        Error::invalid(format!("{}: {why}", self.place())).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Lines<&[u8]> {
        Lines::new("script".into(), bytes)
    }

    #[test]
    fn lines_are_read_without_their_ends_and_without_a_mark() {
        let mut script = lines("\u{feff}head\r\n\nlist\u{feff}".as_bytes());
        assert_eq!(script.next().unwrap().unwrap(), "head");
        assert_eq!(script.next().unwrap().unwrap(), "");
        assert_eq!(script.next().unwrap().unwrap(), "list\u{feff}");
        assert_eq!(script.place(), "script:3");
        assert_eq!(script.next().unwrap(), None);
    }

    #[test]
    fn a_line_has_a_longest_length() {
        let most = LINE_BYTES_MAX as usize;
        let mut whole = vec![b'x'; most];
        whole.push(b'\n');
        assert_eq!(lines(&whole).next().unwrap().unwrap().len(), most);
        let refused = lines(&vec![b'x'; most + 1]).next().unwrap_err();
        assert_eq!(refused.to_string(), "script:1: this line has more than 1 MiB");
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_place() {
        let mut script = lines(b"head\nget \xff\n");
        script.next().unwrap();
        let refused = script.next().unwrap_err();
        assert_eq!(refused.to_string(), "script:2: byte 5 of this line is not UTF-8");
        assert_eq!(refused.kind(), crate::error::ErrorKind::InvalidInput);
    }
}
