//! The pattern of a rule: where its matches can start, their maximal length, and the regex.
//!
//! Most patterns begin with one of a few words. The first letters of these words, the anchors, are extracted from the
//! pattern. The regex is tried only at an anchor, and is compiled when it is first used.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, Look};

use super::{Rule, View};

/// The suffix of a pattern whose matches must end at a word boundary.
const WORD_END: &str = r"\b";
/// The maximal and the minimal length of an anchor.
const ANCHOR_LENGTH: (usize, usize) = (6, 3);
/// The maximal number of anchors; a pattern with more anchors is searched without them.
const ANCHORS_MAX: usize = 300;

/// A match of a pattern.
pub(super) struct Hit {
    pub(super) whole: Range<usize>,
    /// The part that is reported: the group `s`, or the whole match.
    pub(super) part: Range<usize>,
    /// The group `n`: the name to which the part is assigned.
    pub(super) name: Option<Range<usize>>,
}

impl Hit {
    fn shifted(self, start: usize) -> Self {
        let shift = |range: Range<usize>| range.start + start..range.end + start;
        Self {
            whole: shift(self.whole),
            part: shift(self.part),
            name: self.name.map(shift),
        }
    }
}

/// A parsed pattern.
pub(super) struct Pattern {
    text: String,
    /// Finds the anchors. `None` if there are too many anchors, or if the anchors are too short.
    anchors: Option<AhoCorasick>,
    /// Whether a match must begin at a word boundary.
    is_at_word: bool,
    /// Whether only letters and digits form words, so a match may be next to a `_`.
    is_code: bool,
    /// Whether a match must not be followed by a letter or digit.
    is_to_word_end: bool,
    /// The length of the longest match.
    pub(super) longest: usize,
    regex: OnceLock<Regex>,
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
        let anchors = anchors(&parsed).map(|letters| {
            AhoCorasick::builder()
                .ascii_case_insensitive(is_code)
                .match_kind(MatchKind::LeftmostFirst)
                .build(letters)
                .expect("a few hundred short words fit an automaton")
        });
        // INVARIANT SCA-1: a pattern has no unlimited repetition.
        let longest = parsed.properties().maximum_len();
        Self {
            anchors,
            is_at_word: text.starts_with(r"\b"),
            is_code,
            is_to_word_end,
            longest: longest.unwrap_or_else(|| panic!("the pattern of {} is unbounded", rule.id)),
            text,
            regex: OnceLock::new(),
        }
    }

    /// Returns whether a match must only begin in the window. If false, the whole match must be in the window.
    pub(super) fn has_anchors(&self) -> bool {
        self.anchors.is_some()
    }

    /// Returns whether the regex was compiled.
    #[cfg(test)]
    pub(super) fn is_compiled(&self) -> bool {
        self.regex.get().is_some()
    }

    /// Returns the first match in `window`. If the pattern has anchors, the
    /// match begins in the window; otherwise the whole match is in the window.
    pub(super) fn first_match(&self, text: &[u8], window: Range<usize>) -> Option<Hit> {
        let Some(anchors) = &self.anchors else {
            return self.match_at(&text[..window.end], window.start);
        };
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || (byte == b'_' && !self.is_code);
        let until = (window.end + ANCHOR_LENGTH.0).min(text.len());
        let mut from = window.start;
        while let Some(hit) = anchors.find(Input::new(text).range(from..until)) {
            let start = hit.start();
            if start >= window.end {
                return None;
            }
            from = start + 1;
            if self.is_at_word && start > 0 && is_word(text[start - 1]) {
                continue;
            }
            let end = (start + self.longest + 1).min(text.len());
            if let Some(hit) = self.match_at(&text[start..end], 0) {
                return Some(hit.shifted(start));
            }
        }
        None
    }

    /// Returns the first match at or after `at`. A pattern with anchors
    /// (the first letters of its words) matches only at the start of `text`.
    fn match_at(&self, text: &[u8], mut at: usize) -> Option<Hit> {
        let regex = self.regex();
        let whole = loop {
            let whole = regex.find_at(text, at)?.range();
            let next = text.get(whole.end).filter(|_| self.is_to_word_end);
            if !next.is_some_and(u8::is_ascii_alphanumeric) {
                break whole;
            }
            at = whole.end;
        };
        if !self.text.contains("(?P<s>") {
            let (part, name) = (whole.clone(), None);
            return Some(Hit { whole, part, name });
        }
        let groups = regex.captures_at(text, at)?;
        let group = |name| groups.name(name).map(|part| part.range());
        let (part, name) = (group("s").unwrap_or_else(|| whole.clone()), group("n"));
        Some(Hit { whole, part, name })
    }

    pub(super) fn regex(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let start = if self.has_anchors() { r"\A" } else { "" };
            RegexBuilder::new(&format!("{start}(?:{})", self.text))
                .unicode(false)
                .size_limit(4 << 20)
                .dfa_size_limit(1 << 20)
                .build()
                .expect("a test compiles every pattern")
        })
    }
}

/// Returns the prefixes of all matches of a pattern, in lower case. Returns `None` if there are too many prefixes, or
/// if the prefixes are too short.
fn anchors(parsed: &Hir) -> Option<Vec<Vec<u8>>> {
    // A pattern with an assertion of the start has no anchors: the regex runs on a slice that starts at the anchor, so
    // the assertion would always hold.
    if parsed.properties().look_set().contains(Look::Start) {
        return None;
    }
    let mut beginnings = Extractor::new()
        .limit_literal_len(ANCHOR_LENGTH.0)
        .limit_repeat(8)
        .limit_total(4 * ANCHORS_MAX)
        .extract(parsed);
    beginnings.keep_first_bytes(ANCHOR_LENGTH.0);
    let mut letters: Vec<Vec<u8>> = Vec::new();
    for literal in beginnings.literals()? {
        if literal.len() < ANCHOR_LENGTH.1 {
            return None;
        }
        letters.push(literal.as_bytes().to_ascii_lowercase());
    }
    letters.sort_unstable();
    letters.dedup();
    (1..=ANCHORS_MAX).contains(&letters.len()).then_some(letters)
}
