//! Rules and the one way they are run: keywords find the places, regexes look only there.
//!
//! One pass of an Aho-Corasick automaton sees every keyword of every rule. Keywords come in groups, and a match holds one
//! of each group; so where the groups of a rule have met within the length of its longest match, the rule looks at the
//! window that such a match must lie in. Windows that touch are joined, so that a byte is looked at once.
//!
//! Most patterns begin with one of a few words. For these the first letters are read off the pattern and found by the
//! same pass, and the regex is tried only where they stand, with the groups behind them. A regex is compiled when its
//! rule has to look for the first time.
//!
//! # Layer
//! Pure: imports nothing of the crate outside this folder.
//!
//! # Invariants
//! - SCA-1: time is linear in the text: every rule has a longest match, and looks no further than that from a keyword.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
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

/// A rule ready to run.
struct Compiled {
    pattern: String,
    groups: u8,
    /// Whether matches begin with letters that are among the keywords.
    is_anchored: bool,
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
/// In the place of a group: the letters that a match begins with.
const ANCHOR: u8 = u8::MAX;
/// Letters of a beginning that are looked for, the most and the least.
const ANCHOR_LENGTH: (usize, usize) = (6, 3);
/// Beginnings above which a rule looks at windows instead.
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
    compiled: Vec<Compiled>,
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
    /// Where a match may begin, ascending, until the groups behind it are seen.
    anchors: VecDeque<usize>,
    /// Where the last match ended.
    matched_until: usize,
}

impl RuleSet {
    /// Returns the set of `rules`; `expand` turns the pattern of a table into a regex.
    ///
    /// With `is_code` keywords are met in upper case too, which a view in lower case has no need of, and the boundaries that a pattern
    /// begins and ends with are those of letters and digits: tokens stand beside a `_` as they do beside a blank.
    pub(in crate::scan) fn new(rules: Vec<Rule>, is_code: bool, expand: impl Fn(&str) -> String) -> Self {
        let mut words: BTreeMap<String, Vec<Owner>> = BTreeMap::new();
        let mut compiled = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            let groups = rule.keywords.split(" & ");
            let mut count = 0;
            for (group, keywords) in groups.enumerate() {
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
            let is_to_word_end = is_code && rule.pattern.ends_with(WORD_END);
            let pattern = rule.pattern.strip_suffix(WORD_END).filter(|_| is_to_word_end);
            let pattern = expand(pattern.unwrap_or(rule.pattern));
            let parsed = parse(&pattern);
            let anchors = anchors(&parsed);
            for anchor in anchors.iter().flatten() {
                words.entry(anchor.clone()).or_default().push(Owner {
                    rule: index as u16,
                    group: ANCHOR,
                });
            }
            compiled.push(Compiled {
                is_anchored: anchors.is_some(),
                is_at_word: pattern.starts_with(r"\b"),
                is_code,
                is_to_word_end,
                longest: longest_match(&parsed)
                    .unwrap_or_else(|| panic!("the pattern of {} is bounded", rule.name)),
                pattern,
                groups: count as u8,
                regex: OnceLock::new(),
            });
        }
        let (patterns, owners): (Vec<String>, Vec<Vec<Owner>>) = words.into_iter().unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(is_code)
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&patterns)
            .expect("the keywords of the tables fit an automaton");
        Self {
            rules,
            compiled,
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
                if self.compiled[rule].is_anchored {
                    self.step_anchored(*owner, text, hit.start()..hit.end(), progress, &mut found);
                } else {
                    self.step_windowed(*owner, text, hit.start()..hit.end(), progress, &mut found);
                }
            }
        }
        all.sort_unstable_by_key(|(rule, _)| *rule);
        for (rule, progress) in all {
            if !progress.has_stopped {
                self.look(rule, text, progress.window, &mut found);
            }
        }
    }

    /// Takes a keyword of a rule that looks at windows.
    fn step_windowed(
        &self,
        owner: Owner,
        text: &[u8],
        hit: Range<usize>,
        progress: &mut Progress,
        found: &mut impl FnMut(Match) -> bool,
    ) {
        let rule = usize::from(owner.rule);
        let compiled = &self.compiled[rule];
        let Some(first) = progress.saw(owner.group, hit.start, compiled.groups) else {
            return;
        };
        if hit.end.saturating_sub(first) > compiled.longest {
            return;
        }
        // One byte more on each side, for the word boundary.
        let start = hit.end.saturating_sub(compiled.longest + 1);
        let end = (first + compiled.longest + 1).min(text.len());
        if start <= progress.window.1 {
            progress.window.1 = progress.window.1.max(end);
        } else {
            let window = std::mem::replace(&mut progress.window, (start, end));
            progress.has_stopped = !self.look(rule, text, window, found);
        }
    }

    /// Takes a keyword, or the beginning of a match, of a rule that knows how its matches begin.
    fn step_anchored(
        &self,
        owner: Owner,
        text: &[u8],
        hit: Range<usize>,
        progress: &mut Progress,
        found: &mut impl FnMut(Match) -> bool,
    ) {
        let rule = usize::from(owner.rule);
        let compiled = &self.compiled[rule];
        let first = if owner.group == ANCHOR {
            let is_word = |byte: u8| byte.is_ascii_alphanumeric() || (byte == b'_' && !compiled.is_code);
            let is_inside = compiled.is_at_word && hit.start > 0 && is_word(text[hit.start - 1]);
            if is_inside || hit.start < progress.matched_until || progress.anchors.back() >= Some(&hit.start)
            {
                return;
            }
            let oldest = hit.end.saturating_sub(compiled.longest);
            while progress.anchors.front().is_some_and(|anchor| *anchor < oldest) {
                progress.anchors.pop_front();
            }
            progress.anchors.push_back(hit.start);
            progress.first(compiled.groups)
        } else {
            progress.saw(owner.group, hit.start, compiled.groups)
        };
        let Some(first) = first else {
            return;
        };
        while let Some(anchor) = progress
            .anchors
            .front()
            .copied()
            .filter(|anchor| *anchor <= first)
        {
            progress.anchors.pop_front();
            if anchor < progress.matched_until {
                continue;
            }
            let end = (anchor + compiled.longest + 1).min(text.len());
            let Some((whole, span)) = self.first_match(rule, &text[anchor..end], 0) else {
                continue;
            };
            progress.matched_until = anchor + whole.end.max(1);
            let span = anchor + span.start..anchor + span.end;
            if !found(Match { rule, span }) {
                progress.has_stopped = true;
                return;
            }
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
        if end == 0 {
            return true;
        }
        let text = &text[..end];
        while at <= end {
            let Some((whole, span)) = self.first_match(rule, text, at) else {
                return true;
            };
            at = whole.end.max(at + 1);
            if !found(Match { rule, span }) {
                return false;
            }
        }
        true
    }

    /// Returns the first match at or after `at`, and the part of it that counts.
    fn first_match(&self, rule: usize, text: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
        let compiled = &self.compiled[rule];
        let regex = compiled.ready();
        let mut at = at;
        let whole = loop {
            let whole = regex.find_at(text, at)?.range();
            let next = text.get(whole.end).filter(|_| compiled.is_to_word_end);
            if !next.is_some_and(u8::is_ascii_alphanumeric) {
                break whole;
            }
            at = whole.end;
        };
        if !self.rules[rule].pattern.contains("(?P<s>") {
            return Some((whole.clone(), whole));
        }
        let groups = regex.captures_at(text, at)?;
        let part = groups.name("s").map_or(whole.clone(), |part| part.range());
        Some((whole, part))
    }

    /// The names of the rules, for tests.
    #[cfg(test)]
    pub(in crate::scan) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.rules.iter().map(|rule| rule.name)
    }

    /// Compiles every regex, for tests and measurements.
    #[cfg(test)]
    pub(in crate::scan) fn compile_all(&self) {
        for one in &self.compiled {
            one.ready();
        }
    }
}

impl Progress {
    /// Notes a keyword of `group`; returns as [`Progress::first`].
    fn saw(&mut self, group: u8, start: usize, groups: u8) -> Option<usize> {
        let newest = &mut self.starts[usize::from(group)];
        *newest = start.max(*newest);
        self.seen |= 1 << group;
        self.first(groups)
    }

    /// Returns where the first of the newest keywords of all groups begins; nothing before all were seen.
    fn first(&self, groups: u8) -> Option<usize> {
        let is_whole = self.seen.count_ones() == u32::from(groups);
        let newest = self.starts[..usize::from(groups)].iter().copied().min();
        newest.filter(|_| is_whole)
    }
}

impl Compiled {
    fn ready(&self) -> &Regex {
        self.regex.get_or_init(|| {
            let start = if self.is_anchored { r"\A" } else { "" };
            RegexBuilder::new(&format!("{start}(?:{})", self.pattern))
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
