//! Finds the lines that two texts have in common.
//!
//! # Layer
//! Layer 5. Pure.
//!
//! # Limits
//! - The result is a longest common subsequence of lines, except between long texts that differ in some hundred lines.

use similar::{Algorithm, DiffOp, capture_diff_slices};

/// Returns for each line of `new` the index of the same line in `old`. The indexes rise.
pub(crate) fn common_lines(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    let mut found = vec![None; new.len()];
    for part in capture_diff_slices(Algorithm::Myers, old, new) {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = part
        {
            let same = found.iter_mut().skip(new_index).take(len);
            for (same, index) in same.zip(old_index..) {
                *same = Some(index);
            }
        }
    }
    found
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
        let same = common_lines(&old, &turned);
        // Two lines of the turned text are never in the order of the old one.
        assert!(same.iter().flatten().count() <= 1);
        let other: Vec<String> = numbers.iter().map(|number| format!("x{number}")).collect();
        let mut other: Vec<&str> = other.iter().map(String::as_str).collect();
        other[30_000] = "7";
        assert_eq!(common_lines(&old, &other)[30_000], Some(7));
    }
}
