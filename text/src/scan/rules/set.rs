//! Sets of rules, and the only way to run them: keywords find windows of the text, and patterns search only in these
//! windows.
//!
//! One pass finds every keyword of every rule. The keywords of a rule form groups, and a
//! match contains one keyword of each group. If keywords of all groups are within the length of the rule's longest
//! match, they open a window. The rule searches this window, which is large enough for such a match. Touching windows
//! are joined, so each byte is searched once.
//!
//! A first pass marks the rules of whose groups the text has a keyword each. A second pass opens windows for these rules
//! alone, and most texts need none. A rule is read when its keywords first occur together in the process. So a program
//! that scans one short text pays only for the search of keywords.
//!
//! # Layer
//! Pure: imports nothing of the crate outside `scan`.
//!
//! # Invariants
//! - SCA-1: the time is linear in the text. The matches of every rule have a maximal length, and the rule searches no
//!   further than this length from a keyword.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use super::super::literals::{Literals, Owners};
use super::super::unicode;
use super::pattern::Pattern;
use super::program::Machine;
use super::reader::Head;
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

/// A rule, and what of it was read.
struct Entry {
    head: Head,
    rule: OnceLock<Rule>,
    pattern: OnceLock<Pattern>,
}

/// A rule and a group of its keywords.
#[derive(Clone, Copy)]
struct Owner {
    rule: u16,
    group: u8,
}

/// The rules that search one copy of a text.
pub(in crate::scan) struct RuleSet {
    entries: Vec<Entry>,
    /// For each rule, one bit for each group.
    groups: Vec<u8>,
    /// Whether keywords also match in upper case.
    is_caseless: bool,
    keywords: Literals,
    owners: Owners<Owner>,
}

/// A keyword in a text.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    end: u32,
    keyword: u16,
}

/// The state of one rule during a search.
#[derive(Clone, Copy, Default)]
struct Progress {
    rule: u16,
    /// The start of the newest keyword of each group.
    starts: [usize; GROUPS_MAX],
    /// One bit for each group. The bit of a group is set if a keyword of the group was found.
    seen: u8,
    /// The joined window that was not searched yet. The range is empty if no window is open.
    window: (usize, usize),
}

impl RuleSet {
    /// Makes the set of the rules with these heads, which must all be for one view.
    ///
    /// In the view `Text`, keywords also match in upper case. The other views are in lower case.
    pub(super) fn new(heads: Vec<Head>) -> Self {
        let is_caseless = heads.iter().any(|head| head.view == View::Text);
        let letters = heads
            .iter()
            .flat_map(|head| &head.keywords)
            .map(|group| group.len());
        let mut keywords = Literals::with_capacity(letters.sum::<usize>() / 12);
        let mut pairs: Vec<(usize, Owner)> = Vec::new();
        for (index, head) in heads.iter().enumerate() {
            for (group, words) in head.keywords.iter().enumerate() {
                let owner = Owner {
                    rule: index as u16,
                    group: group as u8,
                };
                each_keyword(words, head.view, |word| {
                    pairs.push((keywords.add(word.as_bytes()), owner));
                });
            }
        }
        let entry = |head| Entry {
            head,
            rule: OnceLock::new(),
            pattern: OnceLock::new(),
        };
        Self {
            owners: Owners::new(keywords.len(), &pairs),
            groups: heads
                .iter()
                .map(|head| !(u8::MAX << head.keywords.len()))
                .collect(),
            entries: heads.into_iter().map(entry).collect(),
            is_caseless,
            keywords,
        }
    }

    /// Returns the number of rules.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the rule at `index`, and reads it if nothing did.
    pub(in crate::scan) fn rule(&self, index: usize) -> &Rule {
        let entry = &self.entries[index];
        entry.rule.get_or_init(|| entry.head.rule())
    }

    /// Returns the index of the rule with this id.
    pub(in crate::scan) fn position(&self, id: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.head.id == id)
    }

    /// Returns whether `text` contains a keyword of a rule.
    pub(in crate::scan) fn has_keyword(&self, text: &[u8]) -> bool {
        self.keywords.is_in(&self.folded(text))
    }

    /// Returns the text as keywords are compared with it.
    fn folded<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        if self.is_caseless && text.iter().any(u8::is_ascii_uppercase) {
            text.to_ascii_lowercase().into()
        } else {
            text.into()
        }
    }

    /// Calls `found` for each match.
    ///
    /// Matches of one rule come in order and do not overlap.
    pub(in crate::scan) fn run(&self, text: &[u8], found: impl FnMut(Match)) {
        let (places, active) = self.keywords_of(text);
        if !active.is_empty() {
            self.run_rules(text, places, active, found);
        }
    }

    /// Opens windows for some rules where their keywords are close, and searches these windows.
    fn run_rules(
        &self,
        text: &[u8],
        mut places: Vec<Place>,
        mut active: Vec<Progress>,
        mut found: impl FnMut(Match),
    ) {
        let mut slots = vec![u16::MAX; self.entries.len()];
        active.sort_unstable_by_key(|progress| progress.rule);
        for (slot, progress) in active.iter().enumerate() {
            slots[usize::from(progress.rule)] = slot as u16;
        }
        let mut machine = Machine::default();
        places.sort_unstable_by_key(|place| (place.end, place.start));
        for place in places {
            for owner in self.owners.of(usize::from(place.keyword)) {
                let slot = usize::from(slots[usize::from(owner.rule)]);
                if let Some(progress) = active.get_mut(slot) {
                    let hit = place.start as usize..place.end as usize;
                    self.step(owner.group, text, hit, progress, &mut machine, &mut found);
                }
            }
        }
        for progress in active {
            let index = usize::from(progress.rule);
            self.search(index, text, progress.window, &mut machine, &mut found);
        }
    }

    /// Returns the places of all keywords in `text`, and the rules of whose groups the text has a keyword each.
    fn keywords_of(&self, text: &[u8]) -> (Vec<Place>, Vec<Progress>) {
        let (mut places, mut active, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        self.keywords.each(&self.folded(text), |keyword, place| {
            if places.is_empty() {
                // Many short texts come no further than this.
                places.reserve(text.len() / 4 + 8);
                seen.resize(self.entries.len(), 0_u8);
            }
            places.push(Place {
                start: place.start as u32,
                end: place.end as u32,
                keyword: keyword as u16,
            });
            for Owner { rule, group } in self.owners.of(keyword).iter().copied() {
                let (seen, all) = (&mut seen[usize::from(rule)], self.groups[usize::from(rule)]);
                if *seen >> group & 1 == 0 {
                    *seen |= 1 << group;
                    if *seen == all {
                        active.push(Progress {
                            rule,
                            ..Progress::default()
                        });
                    }
                }
            }
        });
        (places, active)
    }

    /// Records a keyword of `group`. If keywords of all groups are close enough, opens the window of the rule or
    /// extends it.
    fn step(
        &self,
        group: u8,
        text: &[u8],
        hit: Range<usize>,
        progress: &mut Progress,
        machine: &mut Machine,
        found: &mut impl FnMut(Match),
    ) {
        let rule = usize::from(progress.rule);
        let newest = &mut progress.starts[usize::from(group)];
        *newest = hit.start.max(*newest);
        progress.seen |= 1 << group;
        if progress.seen != self.groups[rule] {
            return;
        }
        let groups = progress.seen.count_ones() as usize;
        let first = progress.starts[..groups].iter().copied().min().unwrap_or(0);
        let pattern = self.pattern(rule);
        let longest = pattern.longest;
        if hit.end.saturating_sub(first) > longest {
            return;
        }
        // One more byte on each side is needed for the word boundary.
        let start = hit.end.saturating_sub(longest + 1);
        let reach = if pattern.stays_in_window() { longest } else { 0 };
        let end = (first + reach + 1).min(text.len());
        if start <= progress.window.1 {
            progress.window.1 = progress.window.1.max(end);
        } else {
            let window = std::mem::replace(&mut progress.window, (start, end));
            self.search(rule, text, window, machine, found);
        }
    }

    /// Calls `found` for the matches of the rule in a window.
    fn search(
        &self,
        index: usize,
        text: &[u8],
        (mut at, end): (usize, usize),
        machine: &mut Machine,
        found: &mut impl FnMut(Match),
    ) {
        while at < end
            && let Some(hit) = self.pattern(index).first_match(text, at..end, machine)
        {
            // A value may itself contain a name and its value.
            let next = hit.name.as_ref().map_or(hit.whole.end, |_| hit.part.start);
            at = next.max(at + 1);
            let rule = self.rule(index);
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

    pub(super) fn pattern(&self, index: usize) -> &Pattern {
        let entry = &self.entries[index];
        entry.pattern.get_or_init(|| Pattern::new(self.rule(index)))
    }

    /// Returns the view of the rules.
    #[cfg(test)]
    pub(super) fn view(&self) -> View {
        self.entries[0].head.view
    }

    /// Does the same as [`Self::run`], without the first pass: opens windows for every rule.
    #[cfg(test)]
    pub(super) fn run_all(&self, text: &[u8], found: impl FnMut(Match)) {
        let (places, _) = self.keywords_of(text);
        let progress = |rule| Progress {
            rule,
            ..Progress::default()
        };
        let all = (0..self.entries.len() as u16).map(progress).collect();
        self.run_rules(text, places, all, found);
    }

    /// Returns the number of patterns read so far.
    #[cfg(test)]
    pub(super) fn made_ready(&self) -> usize {
        self.entries
            .iter()
            .filter(|entry| entry.pattern.get().is_some())
            .count()
    }
}

/// Calls `found` with each keyword of a group, spelled as in the copy of the text.
fn each_keyword(group: &str, view: View, mut found: impl FnMut(&str)) {
    let spelled;
    let group = match view {
        View::Text => {
            spelled = group.to_ascii_lowercase();
            &spelled
        }
        View::Marks | View::Words if !group.is_ascii() => {
            spelled = unicode::spell(group);
            &spelled
        }
        View::Marks | View::Words => group,
    };
    for word in group.split_ascii_whitespace() {
        if !word.contains(['^', '~']) {
            found(word);
            continue;
        }
        let word = word.replace('^', " ");
        found(&word.replace('~', " "));
        if word.contains('~') {
            found(&word.replace('~', ""));
        }
    }
}
