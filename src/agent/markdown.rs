//! Recognises Markdown files by their extension, and the Markdown syntax that limits where a text may be cut: indents,
//! code fences and list items.
//!
//! # Layer
//! Layer 7, inside `agent`. Pure.

/// The minimum indent of a line in an indented code block, in columns. A tab is this many columns wide.
pub(crate) const INDENT: usize = 4;

/// Returns the path of a Markdown file without its extension, or `None` for another file. The capitals of the extension do
/// not count, so that no file is ignored silently.
pub fn stem(path: &str) -> Option<&str> {
    let (stem, extension) = path.rsplit_once('.')?;
    extension.eq_ignore_ascii_case("md").then_some(stem)
}

/// Returns the indent of a line, in columns.
pub(crate) fn columns(line: &str) -> usize {
    let indent = line.chars().take_while(|letter| matches!(letter, ' ' | '\t'));
    indent.map(|letter| if letter == '\t' { INDENT } else { 1 }).sum()
}

/// A code fence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fence {
    sign: char,
    length: usize,
}

impl Fence {
    /// Returns the fence that a line opens, or `None`. The line may have any indent.
    pub(crate) fn opened_by(line: &str) -> Option<Self> {
        let bare = line.trim();
        let sign = bare.chars().next().filter(|sign| matches!(sign, '`' | '~'))?;
        let length = bare.chars().take_while(|next| *next == sign).count();
        // A line such as ```code``` opens no fence.
        (length >= 3 && !(sign == '`' && bare[length..].contains('`'))).then_some(Self { sign, length })
    }

    /// Checks whether a line closes this fence.
    pub(crate) fn is_closed_by(self, line: &str) -> bool {
        let bare = line.trim();
        bare.chars().count() >= self.length && bare.chars().all(|next| next == self.sign)
    }
}

/// Checks whether a line without an indent begins a list item.
pub(crate) fn is_item(bare: &str) -> bool {
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = if (1..=9).contains(&digits) {
        bare[digits..].strip_prefix(['.', ')'])
    } else {
        bare.strip_prefix(['-', '*', '+', '\u{2022}', '\u{2013}'])
    };
    rest.is_some_and(|rest| rest.starts_with([' ', '\t']) && !rest.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_closed_by_its_own_sign_at_its_length() {
        let fence = Fence::opened_by("  ````rust\n").unwrap();
        for (line, closes) in [
            ("````", true),
            (" `````\n", true),
            ("```", false),
            ("~~~~", false),
            ("````x", false),
        ] {
            assert_eq!(fence.is_closed_by(line), closes, "{line}");
        }
        for line in ["``", "```code```", "text ```", ""] {
            assert_eq!(Fence::opened_by(line), None, "{line}");
        }
        assert!(Fence::opened_by("~~~ a ~ b").is_some());
    }

    #[test]
    fn items_have_a_sign_and_a_text() {
        for (line, is) in [
            ("- a", true),
            ("12. a", true),
            ("3)\ta", true),
            ("\u{2013} a", true),
            ("-a", false),
            ("- ", false),
            ("1234567890. a", false),
            ("a. b", false),
        ] {
            assert_eq!(is_item(line), is, "{line}");
        }
    }
}
