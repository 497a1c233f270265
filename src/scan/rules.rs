//! Rules and the one way they are run: keywords find the places, regexes look only there.
//!
//! One pass of an Aho-Corasick automaton sees every keyword of every rule. Keywords come in groups, and a match holds one
//! of each group; so where the groups of a rule have met within the length of its longest match, the rule looks at the
//! window that such a match must lie in. Windows that touch are joined, so that a byte is looked at once.
//!
//! Most patterns begin with one of a few words. For these the first letters are read off the pattern, and in a window
//! the regex is tried only where they stand. Nothing of a pattern is read before the keywords of its rule have met for
//! the first time in the process, and no regex is compiled before it is tried: a program that scans one short text pays
//! for the keywords alone.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.
//!
//! # Invariants
//! - SCA-1: time is linear in the text: every rule has a longest match, and looks no further than that from a keyword.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, Look};

use super::finding::{Category, Severity};

/// One rule of a table.
#[derive(Clone, Copy)]
pub(in crate::scan) struct Rule {
    /// Lower case with hyphens; never changes, because reports and settings of users name it.
    pub(in crate::scan) name: &'static str,
    pub(in crate::scan) category: Category,
    pub(in crate::scan) severity: Severity,
    /// Groups of keywords, separated by `&`, the keywords by spaces; a `^` is a space, a `~` one that may be missing.
    /// Every match holds one keyword of each group.
    pub(in crate::scan) keywords: &'static str,
    /// The regex. A group named `s` is the part that counts; without it the whole match does.
    pub(in crate::scan) pattern: &'static str,
}

/// What a rule matched.
pub(in crate::scan) struct Match {
    /// Index of the rule in the order of the table.
    pub(in crate::scan) rule: usize,
    /// The part that counts.
    pub(in crate::scan) span: Range<usize>,
}

/// What the pattern of a rule says, read when its keywords first meet.
struct Pattern {
    text: String,
    /// Finds the letters that matches begin with; nothing if they are too many or too short.
    anchors: Option<AhoCorasick>,
    /// Whether a match begins at the boundary of a word.
    is_at_word: bool,
    /// Whether letters and digits alone make a word, so that a match may stand beside a `_`.
    is_code: bool,
    /// Whether no letter or digit may stand behind a match.
    is_to_word_end: bool,
    /// Length of the longest match.
    longest: usize,
    regex: OnceLock<Regex>,
}

/// What a pattern ends with whose matches end at the boundary of a word.
const WORD_END: &str = r"\b";
/// Most groups of keywords of one rule.
const GROUPS_MAX: usize = 4;
/// Letters of a beginning that are looked for, the most and the least.
const ANCHOR_LENGTH: (usize, usize) = (6, 3);
/// Beginnings above which a rule looks at whole windows.
const ANCHORS_MAX: usize = 300;

/// A rule that a keyword calls, and the group that the keyword is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Owner {
    rule: u16,
    group: u8,
}

/// A table of rules over one view of a text.
pub(in crate::scan) struct RuleSet {
    rules: Vec<Rule>,
    /// How many groups of keywords each rule has.
    groups: Vec<u8>,
    patterns: Vec<OnceLock<Pattern>>,
    is_code: bool,
    expand: fn(&str) -> String,
    keywords: AhoCorasick,
    /// For each keyword, what it calls.
    owners: Vec<Vec<Owner>>,
}

/// What a rule has seen of a text.
#[derive(Clone, Default)]
struct Progress {
    /// Where the newest keyword of each group begins.
    starts: [usize; GROUPS_MAX],
    /// Bit for each group of which a keyword was seen.
    seen: u8,
    has_stopped: bool,
    /// The joined window that is still to be looked at; empty if there is none.
    window: (usize, usize),
}

impl RuleSet {
    /// Returns the set of `rules`; `expand` turns the pattern of a table into a regex.
    ///
    /// With `is_code` keywords are met in upper case too, which a view in lower case has no need of, and the boundaries that a pattern
    /// begins and ends with are those of letters and digits: tokens stand beside a `_` as they do beside a blank.
    pub(in crate::scan) fn new(rules: Vec<Rule>, is_code: bool, expand: fn(&str) -> String) -> Self {
        let mut words: BTreeMap<String, Vec<Owner>> = BTreeMap::new();
        let mut groups = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            let mut count = 0;
            for (group, keywords) in rule.keywords.split(" & ").enumerate() {
                count += 1;
                let owner = Owner {
                    rule: index as u16,
                    group: group as u8,
                };
                for word in keywords.split_ascii_whitespace() {
                    let word = word.replace('^', " ");
                    words.entry(word.replace('~', " ")).or_default().push(owner);
                    if word.contains('~') {
                        words.entry(word.replace('~', "")).or_default().push(owner);
                    }
                }
            }
            assert!(count <= GROUPS_MAX, "{} has too many groups", rule.name);
            groups.push(count as u8);
        }
        let (words, owners): (Vec<String>, Vec<Vec<Owner>>) = words.into_iter().unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(is_code)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words)
            .expect("the keywords of the tables fit an automaton");
        Self {
            patterns: rules.iter().map(|_| OnceLock::new()).collect(),
            rules,
            groups,
            is_code,
            expand,
            keywords,
            owners,
        }
    }

    /// Returns the rule of a match.
    pub(in crate::scan) fn rule(&self, index: usize) -> &Rule {
        &self.rules[index]
    }

    /// Calls `found` for each match; it says whether to go on with that rule.
    ///
    /// Matches of one rule come in order and do not overlap; a rule that is told to stop is not asked again for this text.
    pub(in crate::scan) fn run(&self, text: &[u8], mut found: impl FnMut(Match) -> bool) {
        // A text meets few of the rules, and most texts are short: what is made ready for each rule is two bytes.
        let mut slots = vec![u16::MAX; self.rules.len()];
        let mut all: Vec<(usize, Progress)> = Vec::new();
        for hit in self.keywords.find_overlapping_iter(text) {
            for owner in &self.owners[hit.pattern().as_usize()] {
                let rule = usize::from(owner.rule);
                if slots[rule] == u16::MAX {
                    slots[rule] = all.len() as u16;
                    all.push((rule, Progress::default()));
                }
                let progress = &mut all[usize::from(slots[rule])].1;
                if progress.has_stopped {
                    continue;
                }
                self.step(*owner, text, hit.start()..hit.end(), progress, &mut found);
            }
        }
        all.sort_unstable_by_key(|(rule, _)| *rule);
        for (rule, progress) in all {
            if !progress.has_stopped {
                self.look(rule, text, progress.window, &mut found);
            }
        }
    }

    /// Takes a keyword: opens the window of its rule, or makes it longer, if the keywords of all groups have met.
    fn step(
        &self,
        owner: Owner,
        text: &[u8],
        hit: Range<usize>,
        progress: &mut Progress,
        found: &mut impl FnMut(Match) -> bool,
    ) {
        let rule = usize::from(owner.rule);
        let Some(first) = progress.saw(owner.group, hit.start, self.groups[rule]) else {
            return;
        };
        let pattern = self.pattern(rule);
        let longest = pattern.longest;
        if hit.end.saturating_sub(first) > longest {
            return;
        }
        // One byte more on each side, for the word boundary. With anchors the window is of beginnings.
        let start = hit.end.saturating_sub(longest + 1);
        let reach = if pattern.anchors.is_some() { 0 } else { longest };
        let end = (first + reach + 1).min(text.len());
        if start <= progress.window.1 {
            progress.window.1 = progress.window.1.max(end);
        } else {
            let window = std::mem::replace(&mut progress.window, (start, end));
            progress.has_stopped = !self.look(rule, text, window, found);
        }
    }

    /// Calls `found` for the matches of `rule` in `window`; returns whether to go on with the rule.
    fn look(
        &self,
        rule: usize,
        text: &[u8],
        window: (usize, usize),
        found: &mut impl FnMut(Match) -> bool,
    ) -> bool {
        let (mut at, end) = window;
        while at < end {
            let Some((whole, span)) = self.pattern(rule).first_match(text, at..end) else {
                return true;
            };
            at = whole.end.max(at + 1);
            if !found(Match { rule, span }) {
                return false;
            }
        }
        true
    }

    fn pattern(&self, rule: usize) -> &Pattern {
        self.patterns[rule].get_or_init(|| Pattern::new(&self.rules[rule], self.expand, self.is_code))
    }

    /// The names of the rules, for tests.
    #[cfg(test)]
    pub(in crate::scan) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.rules.iter().map(|rule| rule.name)
    }

    /// How many patterns were read so far, and how many compiled, for tests.
    #[cfg(test)]
    pub(in crate::scan) fn made_ready(&self) -> (usize, usize) {
        let read = self.patterns.iter().filter_map(OnceLock::get);
        let compiled = read.clone().filter(|pattern| pattern.regex.get().is_some());
        (read.count(), compiled.count())
    }

    /// Compiles every regex, for tests and measurements.
    #[cfg(test)]
    pub(in crate::scan) fn compile_all(&self) {
        for rule in 0..self.rules.len() {
            self.pattern(rule).ready();
        }
    }
}

impl Progress {
    /// Notes a keyword of `group`; returns where the first of the newest keywords of all groups begins, or nothing
    /// before all were seen.
    fn saw(&mut self, group: u8, start: usize, groups: u8) -> Option<usize> {
        let newest = &mut self.starts[usize::from(group)];
        *newest = start.max(*newest);
        self.seen |= 1 << group;
        let is_whole = self.seen.count_ones() == u32::from(groups);
        let newest = self.starts[..usize::from(groups)].iter().copied().min();
        newest.filter(|_| is_whole)
    }
}

impl Pattern {
    fn new(rule: &Rule, expand: fn(&str) -> String, is_code: bool) -> Self {
        let is_to_word_end = is_code && rule.pattern.ends_with(WORD_END);
        let text = rule.pattern.strip_suffix(WORD_END).filter(|_| is_to_word_end);
        let text = expand(text.unwrap_or(rule.pattern));
        let parsed = parse(&text);
        let anchors = anchors(&parsed).map(|letters| {
            AhoCorasick::builder()
                .ascii_case_insensitive(is_code)
                .match_kind(MatchKind::LeftmostFirst)
                .build(letters)
                .expect("a few hundred short words fit an automaton")
        });
        Self {
            anchors,
            is_at_word: text.starts_with(r"\b"),
            is_code,
            is_to_word_end,
            longest: longest_match(&parsed)
                .unwrap_or_else(|| panic!("the pattern of {} is bounded", rule.name)),
            text,
            regex: OnceLock::new(),
        }
    }

    /// Returns the first match in `window`, and the part of it that counts. If the pattern has anchors, the match begins
    /// in the window, else it lies in it.
    fn first_match(&self, text: &[u8], window: Range<usize>) -> Option<(Range<usize>, Range<usize>)> {
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
            if let Some((whole, part)) = self.match_at(&text[start..end], 0) {
                let shift = |range: Range<usize>| range.start + start..range.end + start;
                return Some((shift(whole), shift(part)));
            }
        }
        None
    }

    /// Returns the first match at or after `at`, or at the start of the text alone if the pattern has anchors; and the
    /// part of it that counts.
    fn match_at(&self, text: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
        let regex = self.ready();
        let mut at = at;
        let whole = loop {
            let whole = regex.find_at(text, at)?.range();
            let next = text.get(whole.end).filter(|_| self.is_to_word_end);
            if !next.is_some_and(u8::is_ascii_alphanumeric) {
                break whole;
            }
            at = whole.end;
        };
        if !self.text.contains("(?P<s>") {
            return Some((whole.clone(), whole));
        }
        let groups = regex.captures_at(text, at)?;
        let part = groups.name("s").map_or(whole.clone(), |part| part.range());
        Some((whole, part))
    }

    fn ready(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let start = if self.anchors.is_some() { r"\A" } else { "" };
            RegexBuilder::new(&format!("{start}(?:{})", self.text))
                .unicode(false)
                .size_limit(4 << 20)
                .dfa_size_limit(1 << 20)
                .build()
                .expect("the patterns of the tables compile")
        })
    }
}

/// Returns the letters that matches of a pattern begin with, in lower case; nothing if they are too many or too short.
fn anchors(parsed: &Hir) -> Option<Vec<String>> {
    // At the start of a slice the start of the text would seem to be.
    if parsed.properties().look_set().contains(Look::Start) {
        return None;
    }
    let mut beginnings = Extractor::new()
        .limit_literal_len(ANCHOR_LENGTH.0)
        .limit_repeat(8)
        .limit_total(4 * ANCHORS_MAX)
        .extract(parsed);
    beginnings.keep_first_bytes(ANCHOR_LENGTH.0);
    let mut letters: Vec<String> = Vec::new();
    for literal in beginnings.literals()? {
        let text = String::from_utf8(literal.as_bytes().to_ascii_lowercase()).ok()?;
        if text.len() < ANCHOR_LENGTH.1 {
            return None;
        }
        letters.push(text);
    }
    letters.sort_unstable();
    letters.dedup();
    (1..=ANCHORS_MAX).contains(&letters.len()).then_some(letters)
}

/// Returns the length in bytes of the longest match of a pattern of the tables; nothing if it has no bound.
fn longest_match(parsed: &Hir) -> Option<usize> {
    // INVARIANT SCA-1: no pattern repeats without bound.
    parsed.properties().maximum_len()
}

fn parse(pattern: &str) -> Hir {
    regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .build()
        .parse(pattern)
        .unwrap_or_else(|error| panic!("the patterns of the tables parse: {error}"))
}
