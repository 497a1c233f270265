//! The pattern of a rule: the maximal length of its matches, and the two engines that find them.
//!
//! A program ([`program`](super::program)) is ready in microseconds, but may try very many ways to match. The automata of
//! the crate `regex` take milliseconds to build, and then read each byte once. So a pattern begins with its program and
//! has a debt: each step of the program adds one, and each byte of a window takes some away. When the debt is what the
//! automata cost, the pattern changes to them for good. Both engines find the same.
//!
//! A match begins at a place in a window. Unless the rule says `looks_back`, the pattern does not see the text before that
//! place: a `\b` at its start is tested here.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! See SCA-1 of `set`: the steps of all programs for a text are at most [`STEPS_A_BYTE`] for each byte of a window, and
//! [`DEBT_MAX`] for each pattern. Beyond these, the work of a pattern is linear in what it is given.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use regex::bytes::{Regex, RegexBuilder};

use super::program::{Exhausted, Found, Machine, Program};
use super::{Rule, View};

/// The debt at which a pattern changes to its automata. Steps that take about as long as building these.
pub(super) const DEBT_MAX: usize = 1 << 18;
/// The number of steps for a byte of a window that make no debt. A pattern that looks back tries each place of its window,
/// where the automata need no try, so it has none.
pub(super) const STEPS_A_BYTE: usize = 64;

/// The greatest size in bytes of the compiled form of a pattern, and of the automata that a search builds from it.
const REGEX_MAX: usize = 8 << 20;
const AUTOMATON_MAX: usize = 1 << 20;
/// The suffix of a pattern whose matches must end at a word boundary.
const WORD_END: &str = r"\b";

/// A match of a pattern.
#[derive(Debug, PartialEq, Eq)]
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
    text: String,
    program: Program,
    /// What the program took so far, beyond what windows allow.
    debt: AtomicUsize,
    /// Built when the debt is too large.
    regex: OnceLock<Regex>,
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

/// What searches for a pattern.
enum Engine<'a> {
    Program(&'a mut Machine),
    Regex(&'a Regex),
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
            debt: AtomicUsize::new(0),
            regex: OnceLock::new(),
            looks_back: rule.looks_back,
            is_at_word: text.starts_with(r"\b"),
            is_code,
            is_to_word_end,
            longest: longest.unwrap_or_else(|| panic!("the pattern of {} is unbounded", rule.id)),
            text,
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
        if let Ok(found) = self.by_program(text, window.clone(), machine) {
            return found;
        }
        self.by_regex(text, window)
    }

    /// Searches with the program, unless the debt is too large.
    fn by_program(
        &self,
        text: &[u8],
        window: Range<usize>,
        machine: &mut Machine,
    ) -> Result<Option<Hit>, Exhausted> {
        let debt = self.debt.load(Ordering::Relaxed);
        if debt > DEBT_MAX {
            return Err(Exhausted);
        }
        let of_byte = if self.looks_back { 0 } else { STEPS_A_BYTE };
        let before = machine.count;
        machine.limit = before + DEBT_MAX - debt + of_byte * window.len();
        let found = self.search(text, window.clone(), &mut Engine::Program(machine));
        let bytes = match &found {
            Ok(Some(hit)) => hit.whole.end.min(window.end) - window.start,
            _ => window.len(),
        };
        let debt = (debt + machine.count - before).saturating_sub(of_byte * bytes);
        let debt = if found.is_err() { usize::MAX } else { debt };
        // Threads that search at once may lose a debt of each other, which only delays the change.
        self.debt.store(debt, Ordering::Relaxed);
        found
    }

    /// Searches with the automata.
    pub(super) fn by_regex(&self, text: &[u8], window: Range<usize>) -> Option<Hit> {
        let regex = self.regex.get_or_init(|| {
            let anchored;
            let text = if self.looks_back {
                &self.text
            } else {
                anchored = format!(r"\A(?:{})", self.text);
                &anchored
            };
            let mut builder = RegexBuilder::new(text);
            builder
                .unicode(false)
                .size_limit(REGEX_MAX)
                .dfa_size_limit(AUTOMATON_MAX);
            builder.build().expect("a test builds every pattern")
        });
        self.search(text, window, &mut Engine::Regex(regex)).ok()?
    }

    /// Returns the first match in `window` by an engine.
    fn search(
        &self,
        text: &[u8],
        window: Range<usize>,
        engine: &mut Engine<'_>,
    ) -> Result<Option<Hit>, Exhausted> {
        if self.looks_back {
            return self.search_after(&text[..window.end], window.start, engine);
        }
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || (byte == b'_' && !self.is_code);
        for start in window {
            if !self.program.can_begin(text[start])
                || (self.is_at_word && start > 0 && is_word(text[start - 1]))
            {
                continue;
            }
            let end = (start + self.longest + 1).min(text.len());
            let text = &text[start..end];
            let found = match engine {
                Engine::Program(machine) => self.program.find_at(text, 0, machine)?,
                Engine::Regex(regex) => self.find_by_regex(regex, text, 0),
            };
            if let Some(found) = found.filter(|found| self.ends_well(text, found)) {
                return Ok(Some(Hit::new(found, start)));
            }
        }
        Ok(None)
    }

    /// Returns the first match at or after `at`.
    fn search_after(
        &self,
        text: &[u8],
        mut at: usize,
        engine: &mut Engine<'_>,
    ) -> Result<Option<Hit>, Exhausted> {
        loop {
            let found = match engine {
                Engine::Program(machine) => self.program.find(text, at, machine)?,
                Engine::Regex(regex) => self.find_by_regex(regex, text, at),
            };
            let Some(found) = found else { return Ok(None) };
            if self.ends_well(text, &found) {
                return Ok(Some(Hit::new(found, 0)));
            }
            at = found.whole.end;
        }
    }

    /// Does the same as [`Program::find`].
    fn find_by_regex(&self, regex: &Regex, text: &[u8], at: usize) -> Option<Found> {
        let whole = regex.find_at(text, at)?.range();
        let has_groups = self.text.contains("(?P<");
        let groups = has_groups.then(|| regex.captures_at(text, whole.start)).flatten();
        let group = |name| Some(groups.as_ref()?.name(name)?.range());
        Some(Found {
            whole,
            part: group("s"),
            name: group("n"),
        })
    }

    /// Returns whether the debt was too large.
    #[cfg(test)]
    pub(super) fn has_changed(&self) -> bool {
        self.debt.load(Ordering::Relaxed) > DEBT_MAX
    }

    /// Returns whether the text goes on behind a match as it may.
    fn ends_well(&self, text: &[u8], found: &Found) -> bool {
        let next = text.get(found.whole.end).filter(|_| self.is_to_word_end);
        !next.is_some_and(u8::is_ascii_alphanumeric)
    }
}
