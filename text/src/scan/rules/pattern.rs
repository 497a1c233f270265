//! The pattern of a rule: the maximal length of its matches, and the program that finds them.
//!
//! A match begins at a place in a window. Unless the rule says `looks_back`, the pattern does not see the text before that
//! place: a `\b` at its start is tested here.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;

use super::program::{Found, Machine, Program};
use super::{Rule, View};

/// The suffix of a pattern whose matches must end at a word boundary.
const WORD_END: &str = r"\b";

/// A match of a pattern.
pub(super) struct Hit {
    pub(super) whole: Range<usize>,
    /// The part that is reported: the group `s`, or the whole match.
    pub(super) part: Range<usize>,
    /// The group `n`: the name to which the part is assigned.
    pub(super) name: Option<Range<usize>>,
}

impl Hit {
    fn new(found: Found, start: usize) -> Self {
        let shift = |range: Range<usize>| range.start + start..range.end + start;
        let part = found.part.unwrap_or_else(|| found.whole.clone());
        Self {
            whole: shift(found.whole),
            part: shift(part),
            name: found.name.map(shift),
        }
    }
}

/// A parsed pattern.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each tells another property of one pattern"
)]
pub(super) struct Pattern {
    program: Program,
    /// Whether the pattern sees the text before its match.
    looks_back: bool,
    /// Whether a match must begin at a word boundary.
    is_at_word: bool,
    /// Whether only letters and digits form words, so a match may be next to a `_`.
    is_code: bool,
    /// Whether a match must not be followed by a letter or digit.
    is_to_word_end: bool,
    /// The length of the longest match.
    pub(super) longest: usize,
}

impl Pattern {
    pub(super) fn new(rule: &Rule) -> Self {
        let is_code = rule.view == View::Text;
        let mut text = rule.regex();
        let is_to_word_end = is_code && text.ends_with(WORD_END);
        if is_to_word_end {
            text.truncate(text.len() - WORD_END.len());
        }
        let parsed = regex_syntax::ParserBuilder::new()
            .unicode(false)
            .utf8(false)
            .build()
            .parse(&text)
            .unwrap_or_else(|error| panic!("a test parses the pattern of {}: {error}", rule.id));
        // INVARIANT SCA-1: a pattern has no unlimited repetition.
        let longest = parsed.properties().maximum_len();
        let program = Program::new(&parsed);
        Self {
            program: program.unwrap_or_else(|| panic!("a test translates the pattern of {}", rule.id)),
            looks_back: rule.looks_back,
            is_at_word: text.starts_with(r"\b"),
            is_code,
            is_to_word_end,
            longest: longest.unwrap_or_else(|| panic!("the pattern of {} is unbounded", rule.id)),
        }
    }

    /// Returns whether a whole match must be in the window. If false, it must only begin there.
    pub(super) fn stays_in_window(&self) -> bool {
        self.looks_back
    }

    /// Returns the first match in `window`.
    pub(super) fn first_match(
        &self,
        text: &[u8],
        window: Range<usize>,
        machine: &mut Machine,
    ) -> Option<Hit> {
        if self.looks_back {
            return self.match_after(&text[..window.end], window.start, machine);
        }
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || (byte == b'_' && !self.is_code);
        let can_begin = |start: &usize| {
            self.program.can_begin(text[*start])
                && !(self.is_at_word && *start > 0 && is_word(text[*start - 1]))
        };
        window.filter(can_begin).find_map(|start| {
            let end = (start + self.longest + 1).min(text.len());
            let text = &text[start..end];
            let found = self.program.find_at(text, 0, machine)?;
            self.ends_well(text, &found).then(|| Hit::new(found, start))
        })
    }

    /// Returns the first match at or after `at`.
    fn match_after(&self, text: &[u8], mut at: usize, machine: &mut Machine) -> Option<Hit> {
        loop {
            let found = self.program.find(text, at, machine)?;
            if self.ends_well(text, &found) {
                return Some(Hit::new(found, 0));
            }
            at = found.whole.end;
        }
    }

    /// Returns whether the text goes on behind a match as it may.
    fn ends_well(&self, text: &[u8], found: &Found) -> bool {
        let next = text.get(found.whole.end).filter(|_| self.is_to_word_end);
        !next.is_some_and(u8::is_ascii_alphanumeric)
    }
}
