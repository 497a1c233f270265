//! Draws the graph column of `log --graph`: a vertical line for each line of commits, from its newest commit to its base.
//!
//! A commit is an `o` on its line, or a `*` if it has a snapshot. A merge is joined with the line that it brings in, and
//! the base of a fork with the fork:
//!
//! ```text
//! o-.   9 merge of task-7
//! | o   8 put
//! o |   7 put
//! o-'   6 put
//! ```
//!
//! # Layer
//! Layer 10, part of cli. Pure.

/// The fields of a commit that the drawing needs. The lines are numbered; the main one is 0.
#[derive(Clone, Debug)]
pub(crate) struct Joint {
    pub(crate) line: usize,
    /// Whether the commit has a snapshot.
    pub(crate) named: bool,
    /// The line that a merge brings in.
    pub(crate) merged: Option<usize>,
    /// The lines that begin at the commit.
    pub(crate) begun: Vec<usize>,
}

/// Draws commits one by one, newest first.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Whether each line is drawn at present.
    drawn: Vec<bool>,
}

impl Lines {
    pub(crate) fn new(count: usize) -> Self {
        Self {
            drawn: vec![false; count],
        }
    }

    /// Ends a line whose base is in no row.
    pub(crate) fn end(&mut self, line: usize) {
        if let Some(drawn) = self.drawn.get_mut(line) {
            *drawn = false;
        }
    }

    /// Returns the part of the drawing for the row of a commit.
    pub(crate) fn row(&mut self, joint: &Joint) -> String {
        let mut row: Vec<char> = self
            .drawn
            .iter()
            .flat_map(|drawn| [if *drawn { '|' } else { ' ' }, ' '])
            .collect();
        for &line in &joint.begun {
            // A line that no commit showed begins and ends here.
            if self.drawn.get(line) == Some(&true) {
                join(&mut row, joint.line, line, '\'');
            }
            self.end(line);
        }
        if let Some(line) = joint.merged.filter(|line| *line != joint.line) {
            let corner = if self.drawn.get(line) == Some(&true) {
                '+'
            } else {
                '.'
            };
            join(&mut row, joint.line, line, corner);
            if let Some(drawn) = self.drawn.get_mut(line) {
                *drawn = true;
            }
        }
        if let Some(place) = row.get_mut(2 * joint.line) {
            *place = if joint.named { '*' } else { 'o' };
        }
        if let Some(drawn) = self.drawn.get_mut(joint.line) {
            *drawn = true;
        }
        let row: String = row.into_iter().collect();
        row.trim_end().to_owned()
    }
}

/// Draws from one line to the other, which gets the corner.
fn join(row: &mut [char], from: usize, to: usize, corner: char) {
    let (first, last) = (2 * from.min(to), 2 * from.max(to));
    for place in row.iter_mut().take(last).skip(first + 1) {
        *place = match *place {
            '|' | '+' => '+',
            // Another line ends here.
            '\'' | '.' => *place,
            _ => '-',
        };
    }
    if let Some(place) = row.get_mut(2 * to) {
        *place = corner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(line: usize) -> Joint {
        Joint {
            line,
            named: false,
            merged: None,
            begun: Vec::new(),
        }
    }

    fn rows(count: usize, joints: &[Joint]) -> Vec<String> {
        let mut lines = Lines::new(count);
        joints.iter().map(|joint| lines.row(joint)).collect()
    }

    #[test]
    fn a_fork_leaves_at_its_base_and_comes_back_with_its_merge() {
        let merge = Joint {
            merged: Some(1),
            ..commit(0)
        };
        let base = Joint {
            begun: vec![1],
            named: true,
            ..commit(0)
        };
        let drawn = rows(2, &[merge, commit(1), commit(0), base, commit(0)]);
        assert_eq!(drawn, ["o-.", "| o", "o |", "*-'", "o"]);
    }

    #[test]
    fn lines_cross_and_a_fork_without_commits_is_not_drawn() {
        let merge = Joint {
            merged: Some(2),
            ..commit(0)
        };
        let base = Joint {
            begun: vec![1, 2, 3],
            ..commit(0)
        };
        let drawn = rows(4, &[commit(1), merge, commit(2), base]);
        assert_eq!(drawn, ["  o", "o-+-.", "| | o", "o-'-'"]);
    }

    #[test]
    fn a_fork_takes_in_the_main_line_and_goes_on_after_a_merge() {
        let taken = Joint {
            merged: Some(0),
            ..commit(1)
        };
        let merge = Joint {
            merged: Some(1),
            ..commit(0)
        };
        let drawn = rows(2, &[commit(1), merge, taken, commit(0)]);
        assert_eq!(drawn, ["  o", "o-+", "+-o", "o |"]);
    }
}
