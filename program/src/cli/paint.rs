//! Colours by meaning, and escapes for characters that could control a terminal.
//!
//! # Layer
//! Layer 10, part of cli. Pure.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

pub(crate) use treering_text::visible::printable;

/// The character that begins a command to a terminal.
const ESCAPE: char = '\u{1b}';
/// The commands of [`paint`] behind the escape character.
const COLOURS: [&str; 7] = ["[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[36m"];

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

/// Returns a line of output with invisible characters written out, except the colours of [`paint`] if `coloured`.
pub(crate) fn printable_line(coloured: bool, line: &str) -> String {
    let mut parts = line.split(ESCAPE);
    let mut safe = printable(parts.next().unwrap_or_default());
    for part in parts {
        let colour = if coloured { colour_of(part) } else { "" };
        if colour.is_empty() {
            safe.extend(ESCAPE.escape_unicode());
        } else {
            safe.push(ESCAPE);
            safe.push_str(colour);
        }
        safe.push_str(&printable(&part[colour.len()..]));
    }
    safe
}

/// Returns the colour at the start of the text behind an escape character, or an empty text. Only the commands of
/// [`paint`] are colours, because others, such as `[8m`, hide text.
fn colour_of(text: &str) -> &'static str {
    let colour = COLOURS.into_iter().find(|colour| text.starts_with(colour));
    colour.unwrap_or_default()
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
    fn a_line_keeps_its_colours_and_nothing_else_that_a_terminal_obeys() {
        let line = format!(
            "{} \u{1b}]0;title\u{7} \u{1b}[2J te\u{200b}a",
            paint(true, Meaning::Bad, "x")
        );
        let shown = printable_line(true, &line);
        assert!(shown.starts_with(&paint(true, Meaning::Bad, "x")), "{shown:?}");
        assert!(
            shown.ends_with(r" \u{1b}]0;title\u{7} \u{1b}[2J te\u{200b}a"),
            "{shown:?}"
        );
        assert!(!printable_line(false, &line).contains(ESCAPE));
        assert_eq!(printable_line(true, "\u{1b}[8mhidden"), "\\u{1b}[8mhidden");
        for meaning in [
            Meaning::Name,
            Meaning::Good,
            Meaning::Changed,
            Meaning::Bad,
            Meaning::Quiet,
            Meaning::Heading,
        ] {
            let painted = paint(true, meaning, "x");
            assert_eq!(printable_line(true, &painted), painted);
        }
        assert_eq!(printable_line(true, "plain\tGrüße"), "plain\tGrüße");
    }

    #[test]
    fn colour_is_only_there_when_wanted() {
        assert_eq!(paint(false, Meaning::Bad, "x"), "x");
        assert!(paint(true, Meaning::Bad, "x").contains("\u{1b}["));
    }
}
