//! The difference of two texts by lines, as hunks of a unified diff.
//!
//! # Layer
//! Layer 8. Pure.

use std::fmt;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use treering_text::visible::cut;

/// The number of characters that a cut line shows before its difference.
const BEFORE: usize = 100;

/// Changed lines with their unchanged neighbours.
pub(crate) struct Hunk<'a> {
    old: Range<usize>,
    new: Range<usize>,
    /// The lines with their line ends. The sign is `-` for an old line, `+` for a new one, and a space for a common one.
    pub(crate) lines: Vec<(char, &'a str)>,
}

impl Hunk<'_> {
    /// Returns the line that says which lines of both texts the hunk shows: `@@ -1,2 +1,3 @@`.
    pub(crate) fn header(&self) -> String {
        let of = |range: &Range<usize>| match range.len() {
            1 => (range.start + 1).to_string(),
            // An empty range names the line before it.
            0 => format!("{},0", range.start),
            length => format!("{},{length}", range.start + 1),
        };
        format!("@@ -{} +{} @@", of(&self.old), of(&self.new))
    }

    /// Returns the lines without their ends, each with at most `most` characters. A long line that replaces another one begins
    /// shortly before their first difference, and so does the other one.
    pub(crate) fn cut(&self, most: usize) -> Vec<(char, String)> {
        let run = |from: usize, sign: char| {
            self.lines[from..]
                .iter()
                .take_while(|line| line.0 == sign)
                .count()
        };
        let mut same = vec![0; self.lines.len()];
        let mut at = 0;
        while at < self.lines.len() {
            let old = run(at, '-');
            let new = run(at + old, '+');
            for (one, other) in (at..at + old).zip(at + old..at + old + new) {
                let both = self.lines[one].1.chars().zip(self.lines[other].1.chars());
                let equal = both.take_while(|(one, other)| one == other).count();
                (same[one], same[other]) = (equal, equal);
            }
            at += (old + new).max(1);
        }
        let lines = self.lines.iter().zip(same);
        let lines = lines.map(|((sign, line), same)| (*sign, cut_line(line, same, most)));
        lines.collect()
    }
}

fn cut_line(line: &str, same: usize, most: usize) -> String {
    let line = line.trim_end_matches(['\r', '\n']);
    let skipped = same.saturating_sub(BEFORE);
    if skipped == 0 || line.chars().nth(most).is_none() {
        return cut(line, most);
    }
    let rest: String = line.chars().skip(skipped).collect();
    cut(&format!("...{rest}"), most)
}

impl fmt::Display for Hunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.header())?;
        for (sign, line) in &self.lines {
            write!(f, "{sign}{line}")?;
            if !line.ends_with(['\n', '\r']) {
                writeln!(f, "\n\\ No newline at end of file")?;
            }
        }
        Ok(())
    }
}

/// Returns the hunks from `old` to `new`, with at most `context` unchanged lines around a change. After the time of
/// `patience`, they may be larger than necessary.
pub(crate) fn hunks<'a>(old: &'a str, new: &'a str, context: usize, patience: Duration) -> Vec<Hunk<'a>> {
    let (old, new) = (lines(old), lines(new));
    let deadline = Instant::now().checked_add(patience);
    let steps = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline);
    let groups = group_diff_ops(steps, context).into_iter();
    groups.map(|group| hunk(&group, &old, &new)).collect()
}

fn hunk<'a>(group: &[DiffOp], old: &[&'a str], new: &[&'a str]) -> Hunk<'a> {
    let mut lines = Vec::new();
    for step in group {
        if let DiffOp::Equal { .. } = step {
            lines.extend(old[step.old_range()].iter().map(|line| (' ', *line)));
        } else {
            lines.extend(old[step.old_range()].iter().map(|line| ('-', *line)));
            lines.extend(new[step.new_range()].iter().map(|line| ('+', *line)));
        }
    }
    let all = |range: fn(&DiffOp) -> Range<usize>| {
        let ends = group.first().zip(group.last());
        ends.map_or(0..0, |(first, last)| range(first).start..range(last).end)
    };
    Hunk {
        old: all(DiffOp::old_range),
        new: all(DiffOp::new_range),
        lines,
    }
}

/// Returns the lines of a text with their ends: a line feed, a carriage return, or both.
fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = match rest.find(['\n', '\r']) {
            Some(at) if rest[at..].starts_with("\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(end);
        lines.push(line);
        rest = after;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        let hunks = hunks(old, new, 3, Duration::from_secs(1));
        hunks.iter().map(Hunk::to_string).collect()
    }

    #[test]
    fn a_change_is_shown_with_its_neighbours() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = old.replace("6\n", "six\n").replace("1\n", "");
        assert_eq!(
            shown(old, &new),
            "@@ -1,9 +1,8 @@\n-1\n 2\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n"
        );
        assert_eq!(shown(old, old), "");
        assert_eq!(shown("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn a_cut_line_shows_its_difference() {
        let long = "long ".repeat(1_000);
        let (old, new) = (format!("{long}red\n"), format!("{long}blue\n"));
        let hunks = hunks(&old, &new, 1, Duration::from_secs(1));
        let lines = hunks[0].cut(200);
        assert!(
            lines[0].1.starts_with("...") && lines[0].1.ends_with(" red"),
            "{lines:?}"
        );
        assert!(
            lines[1].1.ends_with(" blue") && lines[1].1.chars().count() <= 200,
            "{lines:?}"
        );
        assert_eq!(hunks[0].cut(9_000)[0], ('-', format!("{long}red")));
        assert_eq!(
            super::hunks("", &new, 1, Duration::from_secs(1))[0].cut(9)[0].1,
            "long l..."
        );
    }

    #[test]
    fn far_changes_have_hunks_of_their_own() {
        let old: String = (0..20).map(|line| format!("{line}\n")).collect();
        let new = old.replace("0\n1\n", "0\n").replace("19\n", "nineteen\n");
        assert_eq!(hunks(&old, &new, 3, Duration::from_secs(1)).len(), 2);
    }

    #[test]
    fn line_ends_are_part_of_a_line() {
        assert_eq!(lines("a\r\nb\rc\n\nd"), ["a\r\n", "b\r", "c\n", "\n", "d"]);
        assert_eq!(
            shown("a\n", "a"),
            "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"
        );
    }
}
