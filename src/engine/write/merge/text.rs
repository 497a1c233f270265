//! Merges two changes of one text by lines.
//!
//! # Layer
//! Layer 5. Pure.
//!
//! # Invariants
//! - MTX-1: the result does not depend on which text is ours and which is theirs.
//! - MTX-2: each line of the result is in one of the two texts, in the order of that text. There are never markers.
//!
//! # Source
//! The algorithm is diff3, as Khanna, Kunal and Pierce describe it ("A Formal Investigation of Diff3", 2007).

use super::fields::Side;
use crate::engine::read::common_lines;

/// Merges two texts that both changed `base`. If both changed the same lines, or lines that touch, these are those of the
/// side `decided`. Returns `None` without one.
pub(super) fn merge_texts(base: &str, ours: &str, theirs: &str, decided: Option<Side>) -> Option<String> {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| text.split('\n').collect::<Vec<_>>());
    let (in_ours, in_theirs) = (places(&base, &ours), places(&base, &theirs));
    let mut merged: Vec<&str> = Vec::with_capacity(ours.len().max(theirs.len()));
    let mut done = [0; 3];
    for (line, places) in in_ours.into_iter().zip(in_theirs).enumerate() {
        let (Some(ours_at), Some(theirs_at)) = places else {
            continue;
        };
        merged.extend(merge_region(
            base.get(done[0]..line)?,
            ours.get(done[1]..ours_at)?,
            theirs.get(done[2]..theirs_at)?,
            decided,
        )?);
        merged.push(base.get(line)?);
        done = [line + 1, ours_at + 1, theirs_at + 1];
    }
    merged.extend(merge_region(
        base.get(done[0]..)?,
        ours.get(done[1]..)?,
        theirs.get(done[2]..)?,
        decided,
    )?);
    Some(merged.join("\n"))
}

/// Returns for each line of `base` the index of the same line in `new`. The indexes rise.
fn places(base: &[&str], new: &[&str]) -> Vec<Option<usize>> {
    common_lines(new, base)
}

/// Merges the lines between two lines that all three texts have in common.
fn merge_region<'r, 'a>(
    base: &'r [&'a str],
    ours: &'r [&'a str],
    theirs: &'r [&'a str],
    decided: Option<Side>,
) -> Option<&'r [&'a str]> {
    if ours == theirs || theirs == base {
        Some(ours)
    } else if ours == base {
        Some(theirs)
    } else {
        decided.map(|side| match side {
            Side::Ours => ours,
            Side::Theirs => theirs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::SplitMix64;

    #[test]
    fn changes_of_different_lines_are_both_kept() {
        let merged = |base, ours, theirs| merge_texts(base, ours, theirs, None);
        assert_eq!(
            merged("a\nb\nc", "A\nb\nc", "a\nb\nC").as_deref(),
            Some("A\nb\nC")
        );
        assert_eq!(
            merged("a\nb\nc", "b\nc", "a\nb\nc\nd\n").as_deref(),
            Some("b\nc\nd\n"),
            "a line is removed, and one is appended"
        );
        assert_eq!(merged("a\nb", "a2\nb", "a\nb\nc").as_deref(), Some("a2\nb\nc"));
        assert_eq!(
            merged("a", "b", "b").as_deref(),
            Some("b"),
            "both made the same change"
        );
    }

    #[test]
    fn changes_of_lines_that_touch_are_a_conflict() {
        assert_eq!(merge_texts("a", "b", "c", None), None);
        assert_eq!(merge_texts("a\nb", "A\nb", "a\nB", None), None);
        assert_eq!(merge_texts("", "one", "other", None), None);
        assert_eq!(
            merge_texts("x\ny", "x\n1\ny", "x\n2\ny", None),
            None,
            "both inserted here"
        );
        assert_eq!(
            merge_texts("x\ny", "y", "x2\ny", None),
            None,
            "one removed what the other changed"
        );
    }

    #[test]
    fn a_side_decides_only_the_lines_that_both_changed() {
        let (base, ours, theirs) = ("a\nb\nc\nd", "A\nb\nc\nD", "1\nb\nc\nd");
        let merged = |side| merge_texts(base, ours, theirs, Some(side));
        assert_eq!(merged(Side::Ours).as_deref(), Some("A\nb\nc\nD"));
        assert_eq!(merged(Side::Theirs).as_deref(), Some("1\nb\nc\nD"));
        let touching = merge_texts("a\nb", "A\nB", "1\nb", Some(Side::Theirs));
        assert_eq!(
            touching.as_deref(),
            Some("1\nb"),
            "lines that touch are one group"
        );
    }

    /// INVARIANT MTX-1, MTX-2.
    #[test]
    fn random_changes_lose_no_line_and_do_not_depend_on_the_side() {
        let mut random = SplitMix64::new(11);
        let mut merged_count = 0;
        for round in 0..4_000 {
            let base: Vec<String> = (0..random.below(12)).map(|line| line.to_string()).collect();
            let mut change = |side: &str| -> Vec<String> {
                let mut text = base.clone();
                for edit in 0..=random.below(2) {
                    let at = random.below(text.len() + 1);
                    match random.below(3) {
                        0 => text.insert(at, format!("{side}{round}-{edit}")),
                        _ if at == text.len() => {}
                        1 => text[at] = format!("{side}{round}-{edit}"),
                        _ => drop(text.remove(at)),
                    }
                }
                text
            };
            let (ours, theirs) = (change("ours"), change("theirs"));
            let [base_text, ours_text, theirs_text] = [&base, &ours, &theirs].map(|lines| lines.join("\n"));
            let merged = merge_texts(&base_text, &ours_text, &theirs_text, None);
            assert_eq!(
                merged,
                merge_texts(&base_text, &theirs_text, &ours_text, None),
                "{base:?} {ours:?} {theirs:?}"
            );
            assert_eq!(
                merge_texts(&base_text, &ours_text, &base_text, None).as_ref(),
                Some(&ours_text)
            );
            let Some(merged) = merged else { continue };
            merged_count += 1;
            // `split` gives an empty text one empty line, which is none of the lines that are compared here.
            let lines: Vec<&str> = merged.split('\n').filter(|line| !line.is_empty()).collect();
            for line in ours.iter().chain(&theirs).chain(&base) {
                let is_wanted = !base.contains(line) || ours.contains(line) && theirs.contains(line);
                assert_eq!(
                    lines.contains(&line.as_str()),
                    is_wanted,
                    "{line} {base:?} {ours:?} {theirs:?} {merged:?}"
                );
            }
        }
        assert!(merged_count > 1_000, "{merged_count}");
    }
}
