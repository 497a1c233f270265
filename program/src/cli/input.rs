//! Input of verbs: files and standard input, whole or by lines, with size limits.
//!
//! # Layer
//! Layer 10, part of cli.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use serde_json::Value as Json;

use crate::cli::context::{Context, shown};
use crate::cli::errors::{input_error, refused, usage_error};
use treering::Time;
use treering::inspect::ingest::json::loose_time_from_json;
use treering::inspect::ingest::not_utf8;
use treering::inspect::object::CONTENT_BYTES_MAX;
use treering::{Error, ErrorCode, Result};

/// The longest line in bytes: the longest content with every byte escaped, plus the other fields.
const LINE_BYTES_MAX: u64 = 8 * CONTENT_BYTES_MAX as u64;
/// The longest line of a script, in bytes.
const SCRIPT_LINE_BYTES_MAX: u64 = 1 << 20;

/// Opens a file, or standard input for `-`. Refuses `-` in the debug shell, which reads its
/// commands from standard input.
pub(crate) fn open_input(context: &Context, file: &Path) -> Result<Box<dyn BufRead>> {
    if file == Path::new("-") {
        if context.kept.is_some() {
            return Err(usage_error(
                "`-` cannot mean standard input here, because the shell reads its commands from standard input",
                "name a file, or pass the text as an argument",
            ));
        }
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    if file.is_dir() {
        return Err(input_error(file, io::ErrorKind::IsADirectory.into()));
    }
    let opened = File::open(file).map_err(|error| input_error(file, error))?;
    Ok(Box::new(BufReader::with_capacity(1 << 16, opened)))
}

/// Opens a regular file. Refuses a named pipe, a socket or a device, whose reader may wait for ever.
pub(crate) fn open_regular(file: &Path) -> Result<File> {
    let metadata = fs::metadata(file).map_err(|error| input_error(file, error))?;
    if metadata.is_dir() {
        return Err(input_error(file, io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        let text = format!(
            "{} is not a regular file, but a pipe, a socket or a device",
            shown(file)
        );
        let hint = "write its content into a file, then name that file";
        return Err(refused(ErrorCode::NotRegularFile, text, hint));
    }
    File::open(file).map_err(|error| input_error(file, error))
}

/// Reads the bytes of a file, or of standard input for `-`.
pub(crate) fn read_input(context: &Context, file: &Path, bytes_max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open_input(context, file)?
        .take(bytes_max + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| input_error(file, error))?;
    if bytes.len() as u64 > bytes_max {
        let name = match file.to_str() {
            Some("-") => "standard input".to_owned(),
            _ => shown(file),
        };
        let text = format!("{name} has more than {} MiB", bytes_max >> 20);
        return Err(Error::invalid(text).with_code(ErrorCode::OverLimit));
    }
    Ok(bytes)
}

/// Reads the text on standard input.
pub(crate) fn content_from_input(context: &Context) -> Result<String> {
    let bytes = read_input(context, Path::new("-"), CONTENT_BYTES_MAX as u64)?;
    String::from_utf8(bytes).map_err(|_| {
        let error = Error::invalid("the content on standard input is not UTF-8");
        error.with_hint("a content must be UTF-8 text")
    })
}

/// Returns the text of an option, or the text on standard input for `-`.
pub(crate) fn text_or_input(context: &Context, text: String) -> Result<String> {
    if text == "-" {
        content_from_input(context)
    } else {
        Ok(text)
    }
}

/// Prefixes an error with the number of the line that caused it.
pub(crate) fn at_line(number: u64, error: Error) -> Error {
    error.context(format_args!("line {number}"))
}

/// Reads the time in the field `name` of a line. The error does not quote the value, which may be a secret.
pub(crate) fn time_of(name: &str, value: &Json) -> Result<Time> {
    loose_time_from_json(value).map_err(|_| {
        Error::invalid(format!("the field `{name}` is not a time"))
            .with_hint("write the time as 2026-01-31T08:15:00Z, or as seconds since 1970")
    })
}

/// A reader of numbered lines of bounded length. Skips blank lines.
pub(crate) struct Lines<'a> {
    input: &'a mut dyn BufRead,
    /// The name of the input in messages. Empty if the command reads only one input.
    name: &'a str,
    bytes_max: u64,
    number: u64,
    buffer: Vec<u8>,
}

impl<'a> Lines<'a> {
    /// Returns a reader of the lines of `input`, each of at most [`LINE_BYTES_MAX`] bytes.
    pub(crate) fn of(input: &'a mut dyn BufRead) -> Self {
        Self {
            input,
            name: "",
            bytes_max: LINE_BYTES_MAX,
            number: 0,
            buffer: Vec::new(),
        }
    }

    /// Returns a reader of the lines of the script `input`, each of at most [`SCRIPT_LINE_BYTES_MAX`] bytes.
    pub(crate) fn of_script(name: &'a str, input: &'a mut dyn BufRead) -> Self {
        Self {
            name,
            bytes_max: SCRIPT_LINE_BYTES_MAX,
            ..Self::of(input)
        }
    }

    /// Returns the number of the last line read.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the name of the input and the number of the last line read, for messages.
    pub(crate) fn place(&self) -> String {
        match self.name {
            "" => format!("line {}", self.number),
            name => format!("{name}:{}", self.number),
        }
    }

    /// Reads the next line, which must be UTF-8.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, &str)>> {
        if self.next_bytes()?.is_none() {
            return Ok(None);
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(text) => Ok(Some((self.number, text))),
            Err(error) => Err(not_utf8(&self.buffer, error.valid_up_to()).context(self.place())),
        }
    }

    /// Reads the lines as values, with their numbers. The error for a bad line contains the number of the line.
    pub(crate) fn read<T>(
        &mut self,
        read: impl Fn(&str) -> Result<T>,
    ) -> impl Iterator<Item = Result<(u64, T)>> {
        std::iter::from_fn(move || {
            let (number, line) = match self.next_line().transpose()? {
                Ok(line) => line,
                Err(error) => return Some(Err(error)),
            };
            let value = read(line).map_err(|error| at_line(number, error));
            Some(value.map(|value| (number, value)))
        })
    }

    /// Reads the next line as bytes.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<(u64, &[u8])>> {
        loop {
            self.buffer.clear();
            self.number += 1;
            let read = (&mut *self.input)
                .take(self.bytes_max + 1)
                .read_until(b'\n', &mut self.buffer)
                .map_err(|error| Error::io(format_args!("reading {}", self.place()), error))?;
            if read == 0 {
                self.number -= 1;
                return Ok(None);
            }
            if read as u64 > self.bytes_max && !self.buffer.ends_with(b"\n") {
                let refused = Error::invalid(format!("the line has more than {} bytes", self.bytes_max))
                    .with_code(ErrorCode::OverLimit);
                return Err(refused.context(self.place()));
            }
            if self.number == 1 && self.buffer.starts_with("\u{feff}".as_bytes()) {
                self.buffer.drain(..3);
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, &self.buffer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Result<Vec<(u64, String)>> {
        let mut input = text;
        let mut lines = Lines::of(&mut input);
        let mut found = Vec::new();
        while let Some((number, text)) = lines.next_line()? {
            found.push((number, text.trim().to_owned()));
        }
        Ok(found)
    }

    #[test]
    fn blank_lines_count_but_are_passed_over() {
        let found = read("\u{feff}a\r\n\n  \nb".as_bytes()).unwrap();
        assert_eq!(found, [(1, "a".to_owned()), (4, "b".to_owned())]);
    }

    #[test]
    fn a_line_that_is_no_text_is_named() {
        assert_eq!(
            read(b"a\nb\xff\n").unwrap_err().message(),
            "line 2: the byte 0xff at byte offset 1 is not UTF-8"
        );
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut endless = BufReader::new(io::repeat(b'x'));
        let mut lines = Lines::of(&mut endless);
        let error = lines.next_line().unwrap_err();
        assert_eq!(error.code(), ErrorCode::OverLimit);
    }
}
