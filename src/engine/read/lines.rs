//! Finds the lines that two texts have in common.
//!
//! The result is a longest common subsequence of lines. Equal beginnings and ends match first, and lines of one text
//! alone are left out, so the search only sees the lines that may have moved.
//!
//! # Layer
//! Layer 5. Pure.
//!
//! # Limits
//! - If the rest differs by more than [`EDITS_MAX`] moved lines, its lines count as different.

use std::collections::HashSet;

/// The maximal number of unmatched lines. It bounds the time and memory of the search.
const EDITS_MAX: usize = 1_000;

/// Returns for each line of `new` the index of the same line in `old`. The indexes rise.
pub(super) fn common_lines(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let pairs = || old.iter().zip(new);
    let start = pairs().take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let end = ends.take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (
        &old_rest[..old_rest.len() - end],
        &new_rest[..new_rest.len() - end],
    );

    let mut found = vec![None; new.len()];
    for (line, same) in found.iter_mut().enumerate().take(start) {
        *same = Some(line);
    }
    for line in 1..=end {
        found[new.len() - line] = Some(old.len() - line);
    }
    let (of_old, of_new) = (in_both(old_rest, new_rest), in_both(new_rest, old_rest));
    for (one, other) in longest_common(&of_old, &of_new) {
        found[start + of_new[other].0] = Some(start + of_old[one].0);
    }
    found
}

/// A line with its index.
type Line<'a> = (usize, &'a str);

/// Returns the lines of `one` that `other` has too.
fn in_both<'a>(one: &[&'a str], other: &[&str]) -> Vec<Line<'a>> {
    let known: HashSet<&str> = other.iter().copied().collect();
    let lines = one.iter().copied().enumerate();
    lines.filter(|(_, line)| known.contains(line)).collect()
}

/// For each diagonal, the number of lines of the old text on the furthest path of some number of edits. A diagonal is
/// `centre` plus the number of lines that a path takes from the old text, minus those from the new text.
#[derive(Clone)]
struct Furthest {
    centre: usize,
    taken: Vec<usize>,
}

impl Furthest {
    /// Returns the diagonal from which the furthest path of `edits` edits comes to this diagonal.
    fn before(&self, diagonal: usize, edits: usize) -> usize {
        let (least, most) = (self.centre - edits, self.centre + edits);
        let inserts = || self.taken[diagonal - 1] < self.taken[diagonal + 1];
        if diagonal == least || diagonal != most && inserts() {
            diagonal + 1
        } else {
            diagonal - 1
        }
    }
}

/// Returns the pairs of a longest common subsequence, last pair first, by the greedy search of Myers. Returns no pair if
/// more than [`EDITS_MAX`] lines are unmatched.
fn longest_common(old: &[Line<'_>], new: &[Line<'_>]) -> Vec<(usize, usize)> {
    let edits_max = (old.len() + new.len()).min(EDITS_MAX);
    let centre = edits_max + 1;
    let mut furthest = Furthest {
        centre,
        taken: vec![0; 2 * edits_max + 3],
    };
    let mut steps = Vec::new();
    for edits in 0..=edits_max {
        steps.push(furthest.clone());
        for diagonal in (centre - edits..=centre + edits).step_by(2) {
            let before = furthest.before(diagonal, edits);
            let mut taken = furthest.taken[before] + usize::from(before < diagonal);
            let same = |taken: usize| {
                let pair = old.get(taken).zip(new.get(taken + centre - diagonal));
                pair.is_some_and(|(old, new)| old.1 == new.1)
            };
            while same(taken) {
                taken += 1;
            }
            furthest.taken[diagonal] = taken;
            if taken >= old.len() && taken + centre - diagonal >= new.len() {
                return pairs_back(&steps, old.len(), new.len());
            }
        }
    }
    Vec::new()
}

/// Follows the found path back from the ends of both texts, and returns its pairs of equal lines.
fn pairs_back(steps: &[Furthest], mut taken: usize, mut reached: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (edits, furthest) in steps.iter().enumerate().rev() {
        let from = match edits {
            0 => (0, 0),
            _ => {
                let before = furthest.before(furthest.centre + taken - reached, edits);
                let from = furthest.taken[before];
                (from, from + furthest.centre - before)
            }
        };
        while taken > from.0 && reached > from.1 {
            (taken, reached) = (taken - 1, reached - 1);
            pairs.push((taken, reached));
        }
        (taken, reached) = from;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::SplitMix64;

    /// Returns the length of a longest common subsequence, by the table of all prefixes.
    fn longest(old: &[&str], new: &[&str]) -> usize {
        let mut table = vec![vec![0; new.len() + 1]; old.len() + 1];
        for (i, one) in old.iter().enumerate() {
            for (j, other) in new.iter().enumerate() {
                table[i + 1][j + 1] = if one == other {
                    table[i][j] + 1
                } else {
                    table[i][j + 1].max(table[i + 1][j])
                };
            }
        }
        table[old.len()][new.len()]
    }

    #[test]
    fn the_common_lines_are_a_longest_common_subsequence() {
        let mut random = SplitMix64::new(5);
        let texts = ["a", "b", "c", "d", "e", "f"];
        for _ in 0..3_000 {
            let most = 1 + random.below(texts.len() - 1);
            let mut text = || -> Vec<&str> {
                let lines = random.below(12);
                (0..lines).map(|_| texts[random.below(most)]).collect()
            };
            let (old, new) = (text(), text());
            let found = common_lines(&old, &new);
            let pairs = found.iter().enumerate();
            let pairs: Vec<_> = pairs.filter_map(|(line, same)| Some((line, (*same)?))).collect();
            assert!(
                pairs.iter().all(|&(line, same)| new[line] == old[same]),
                "{old:?} {new:?}"
            );
            assert!(
                pairs.is_sorted_by(|one, other| one.1 < other.1),
                "{old:?} {new:?} {pairs:?}"
            );
            assert_eq!(pairs.len(), longest(&old, &new), "{old:?} {new:?}");
        }
    }

    #[test]
    fn texts_that_differ_very_much_end_the_search() {
        let numbers: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
        let old: Vec<&str> = numbers.iter().map(String::as_str).collect();
        let turned: Vec<&str> = old.iter().rev().copied().collect();
        assert!(common_lines(&old, &turned).iter().all(Option::is_none));
        let other: Vec<String> = numbers.iter().map(|number| format!("x{number}")).collect();
        let mut other: Vec<&str> = other.iter().map(String::as_str).collect();
        other[30_000] = "7";
        assert_eq!(common_lines(&old, &other)[30_000], Some(7));
    }
}
