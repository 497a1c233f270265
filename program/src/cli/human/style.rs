//! The style of lines for people: colours, and the width.
//!
//! # Layer
//! Layer 10, part of cli. Pure.

use std::fmt::Display;

use crate::cli::output::{Meaning, paint};

/// The style of lines for people.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Style {
    /// Whether colours are enabled.
    pub(crate) coloured: bool,
    /// The width of a line. `None` without a terminal, where no text is cut.
    pub(crate) width: Option<usize>,
    /// Whether a language model reads the lines, so that texts which are not trusted stay out.
    pub(crate) hides_untrusted: bool,
}

impl Style {
    /// Returns the text in the colour of its meaning, if colours are enabled.
    pub(crate) fn paint(self, meaning: Meaning, text: impl Display) -> String {
        paint(self.coloured, meaning, text)
    }
}

/// Breaks the text into lines of at most `width` characters, at spaces where possible. Preserves leading spaces.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > width {
        let space = rest[..=width].iter().rposition(|character| *character == ' ');
        let space = space.filter(|at| rest[..*at].iter().any(|character| *character != ' '));
        let (end, next) = space.map_or((width, width), |at| (at, at + 1));
        lines.push(rest[..end].iter().collect());
        rest.drain(..next);
    }
    lines.push(rest.into_iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_at_spaces_and_never_lost() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("onetwothree", 4), ["onet", "woth", "ree"]);
        assert_eq!(wrapped("    indented text", 10), ["    indent", "ed text"]);
        assert_eq!(wrapped("", 5), [""]);
        assert_eq!(wrapped("ab", 0), ["a", "b"]);
    }
}
