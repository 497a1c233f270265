//! Colours by meaning, and escapes for characters that could control a terminal.
//!
//! # Layer
//! Layer 10, part of cli. Pure.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use crate::visible::written_out;

/// The meaning of a coloured piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A name that the user can type: an id, a digest, a revision.
    Name,
    /// A success, or a new object.
    Good,
    /// A change, or a value that needs a check.
    Changed,
    /// A removal, or an error.
    Bad,
    /// Less important text: times, hints.
    Quiet,
    /// A heading.
    Heading,
}

/// Returns the text with invisible characters written out, so that it cannot control a terminal (VIS-2).
pub(crate) fn printable(text: &str) -> String {
    written_out(text).into_owned()
}

/// Returns the text in the colour of its meaning, if colours are enabled.
pub(crate) fn paint(coloured: bool, meaning: Meaning, text: impl Display) -> String {
    if !coloured {
        return text.to_string();
    }
    let style = match meaning {
        Meaning::Name => AnsiColor::Cyan.on_default(),
        Meaning::Good => AnsiColor::Green.on_default(),
        Meaning::Changed => AnsiColor::Yellow.on_default(),
        Meaning::Bad => AnsiColor::Red.on_default().bold(),
        Meaning::Quiet => Style::new().dimmed(),
        Meaning::Heading => Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_steer_the_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\tc\n"), "a\\u{1b}[31mb\tc\n");
        assert_eq!(printable("abc\u{202e}cba"), "abc\\u{202e}cba");
        assert_eq!(printable("Grüße"), "Grüße");
    }

    #[test]
    fn colour_is_only_there_when_wanted() {
        assert_eq!(paint(false, Meaning::Bad, "x"), "x");
        assert!(paint(true, Meaning::Bad, "x").contains("\u{1b}["));
    }
}
