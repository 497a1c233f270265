//! Sets of rules, and the only way to run them: keywords find windows of the text, and patterns search only in these
//! windows.
//!
//! One pass of an Aho-Corasick automaton finds every keyword of every rule. The keywords of a rule form groups, and a
//! match contains one keyword of each group. If keywords of all groups are within the length of the rule's longest
//! match, they open a window. The rule searches this window, which is large enough for such a match. Touching windows
//! are joined, so each byte is searched once.
//!
//! A pattern is parsed when the keywords of its rule first occur together in the process. So a program that scans one
//! short text pays only for the search of keywords.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-1: the time is linear in the text. The matches of every rule have a maximal length, and the rule searches no
//!   further than this length from a keyword.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::pattern::Pattern;
use super::{Rule, View};

/// The maximal number of keyword groups in a rule.
pub(super) const GROUPS_MAX: usize = 4;

/// A match of a rule.
pub(in crate::scan) struct Match<'a> {
    /// The index of the rule in its set.
    pub(in crate::scan) index: usize,
    pub(in crate::scan) rule: &'a Rule,
    /// The part of the match that is reported.
    pub(in crate::scan) span: Range<usize>,
    /// The name to which that part is assigned, if the pattern has a group `n`.
    pub(in crate::scan) name: Option<Range<usize>>,
}

/// The rules that search one copy of a text.
pub(in crate::scan) struct RuleSet {
    rules: Vec<(Rule, OnceLock<Pattern>)>,
    keywords: AhoCorasick,
    /// For each keyword, its rules and its group in each rule.
    owners: Vec<Vec<(u16, u8)>>,
}

/// The state of one rule during a search.
#[derive(Default)]
struct Progress {
    /// The start of the newest keyword of each group.
    starts: [usize; GROUPS_MAX],
    /// One bit for each group. The bit of a group is set if a keyword of the group was found.
    seen: u8,
    /// The joined window that was not searched yet. The range is empty if no window is open.
    window: (usize, usize),
}

impl RuleSet {
    /// Makes the set of `rules`, which must all be for one view.
    ///
    /// In the view `Text`, keywords also match in upper case. The other views are in lower case.
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut words: BTreeMap<String, Vec<(u16, u8)>> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate() {
            for (group, keywords) in rule.keywords.iter().enumerate() {
                let owner = (index as u16, group as u8);
                for word in keywords.split_ascii_whitespace() {
                    let word = word.replace('^', " ");
                    words.entry(word.replace('~', " ")).or_default().push(owner);
                    if word.contains('~') {
                        words.entry(word.replace('~', "")).or_default().push(owner);
                    }
                }
            }
        }
        let (words, owners): (Vec<String>, Vec<_>) = words.into_iter().unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(rules.iter().any(|rule| rule.view == View::Text))
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words)
            .expect("the keywords of all rules fit an automaton");
        Self {
            rules: rules.into_iter().map(|rule| (rule, OnceLock::new())).collect(),
            keywords,
            owners,
        }
    }

    /// Returns the rules of the set.
    pub(in crate::scan) fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|(rule, _)| rule)
    }

    /// Returns whether `text` contains a keyword of a rule.
    pub(in crate::scan) fn has_keyword(&self, text: &[u8]) -> bool {
        self.keywords.is_match(text)
    }

    /// Calls `found` for each match.
    ///
    /// Matches of one rule come in order and do not overlap.
    pub(in crate::scan) fn run(&self, text: &[u8], mut found: impl FnMut(Match)) {
        // A short text activates few rules, so only active rules have a state.
        let mut active: BTreeMap<usize, Progress> = BTreeMap::new();
        for hit in self.keywords.find_overlapping_iter(text) {
            for &(rule, group) in &self.owners[hit.pattern().as_usize()] {
                let rule = usize::from(rule);
                self.step(
                    rule,
                    group,
                    text,
                    hit.start()..hit.end(),
                    active.entry(rule).or_default(),
                    &mut found,
                );
            }
        }
        for (rule, progress) in active {
            self.search(rule, text, progress.window, &mut found);
        }
    }

    /// Records a keyword of `group`. If keywords of all groups are close enough, opens the window of the rule or
    /// extends it.
    fn step(
        &self,
        rule: usize,
        group: u8,
        text: &[u8],
        hit: Range<usize>,
        progress: &mut Progress,
        found: &mut impl FnMut(Match),
    ) {
        let groups = self.rules[rule].0.keywords.len();
        let newest = &mut progress.starts[usize::from(group)];
        *newest = hit.start.max(*newest);
        progress.seen |= 1 << group;
        if progress.seen.count_ones() as usize != groups {
            return;
        }
        let first = progress.starts[..groups].iter().copied().min().unwrap_or(0);
        let pattern = self.pattern(rule);
        let longest = pattern.longest;
        if hit.end.saturating_sub(first) > longest {
            return;
        }
        // One more byte on each side is needed for the word boundary. With anchors, the window limits only the start of
        // a match.
        let start = hit.end.saturating_sub(longest + 1);
        let reach = if pattern.has_anchors() { 0 } else { longest };
        let end = (first + reach + 1).min(text.len());
        if start <= progress.window.1 {
            progress.window.1 = progress.window.1.max(end);
        } else {
            let window = std::mem::replace(&mut progress.window, (start, end));
            self.search(rule, text, window, found);
        }
    }

    /// Calls `found` for the matches of the rule in a window.
    fn search(
        &self,
        index: usize,
        text: &[u8],
        (mut at, end): (usize, usize),
        found: &mut impl FnMut(Match),
    ) {
        while at < end
            && let Some(hit) = self.pattern(index).first_match(text, at..end)
        {
            // A value may itself contain a name and its value.
            let next = hit.name.as_ref().map_or(hit.whole.end, |_| hit.part.start);
            at = next.max(at + 1);
            let rule = &self.rules[index].0;
            if !rule.is_excluded(text, hit.whole.start) {
                let (span, name) = (hit.part, hit.name);
                found(Match {
                    index,
                    rule,
                    span,
                    name,
                });
            }
        }
    }

    pub(super) fn pattern(&self, rule: usize) -> &Pattern {
        let (rule, pattern) = &self.rules[rule];
        pattern.get_or_init(|| Pattern::new(rule))
    }

    /// Returns the number of patterns parsed so far, and the number of regexes compiled.
    #[cfg(test)]
    pub(super) fn made_ready(&self) -> (usize, usize) {
        let read = self.rules.iter().filter_map(|(_, pattern)| pattern.get());
        let compiled = read.clone().filter(|pattern| pattern.is_compiled());
        (read.count(), compiled.count())
    }
}
