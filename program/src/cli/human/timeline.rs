//! Draws the graph column of `log`: the lane of each commit, and the target of each rollback.
//!
//! Each lane has a vertical line. A commit is an `o` on the line of its lane, or a `*` if it has a snapshot. A column
//! on the right connects a rollback with the commit whose state it restored:
//!
//! ```text
//! o--.   9 rollback
//! o  |   8 put
//! o<-'   7 put
//! ```
//!
//! # Layer
//! Layer 10, part of cli. Pure.

/// The number of lanes with a separate line. All further lanes share the last line.
const LANES_DRAWN: usize = 4;
/// The number of rollbacks drawn side by side. For further rollbacks, only the `op` column names the target.
const COLUMNS_DRAWN: usize = 6;

/// The fields of a commit that the drawing needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark<'a> {
    pub(crate) seq: u64,
    pub(crate) lane: &'a str,
    /// Whether the commit has a snapshot.
    pub(crate) named: bool,
    /// The commit whose state a rollback restored.
    pub(crate) back_to: Option<u64>,
}

/// Draws commits one by one, newest first. The caller may skip commits.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// The lanes with a line, and whether a commit of the lane was drawn. The line starts at the first drawn commit.
    lanes: Vec<(String, bool)>,
    /// The target commit of each column.
    columns: Vec<Option<u64>>,
}

impl Timeline {
    /// Starts a drawing of commits in these lanes. The first [`LANES_DRAWN`] lanes get a line.
    pub(crate) fn new<'a>(lanes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut drawn: Vec<(String, bool)> = Vec::new();
        for lane in lanes {
            if drawn.len() < LANES_DRAWN && drawn.iter().all(|(known, _)| known != lane) {
                drawn.push((lane.to_owned(), false));
            }
        }
        Self {
            lanes: drawn,
            columns: Vec::new(),
        }
    }

    /// Returns the part of the drawing for the row of a commit.
    pub(crate) fn row(&mut self, mark: Mark<'_>) -> String {
        let mut drawn = self.lane_lines(&mark);
        // If the caller skipped the target commit, its column ends at the next older commit.
        for column in &mut self.columns {
            column.take_if(|target| *target > mark.seq);
        }
        let ending = |(number, target): (usize, &Option<u64>)| (*target == Some(mark.seq)).then_some(number);
        let ending: Vec<usize> = self.columns.iter().enumerate().filter_map(ending).collect();
        let starting = mark.back_to.and_then(|target| self.start(target));
        let mut columns: Vec<char> = self
            .columns
            .iter()
            .flat_map(|column| [' ', if column.is_some() { '|' } else { ' ' }])
            .collect();
        for (&column, corner) in ending
            .iter()
            .map(|column| (column, '\''))
            .chain(starting.iter().map(|column| (column, '.')))
        {
            for place in &mut columns[..=2 * column] {
                *place = if matches!(place, '|' | '+') { '+' } else { '-' };
            }
            columns[2 * column + 1] = corner;
        }
        if !ending.is_empty() {
            columns[0] = '<';
        }
        for column in ending {
            self.columns[column] = None;
        }
        while self.columns.last().is_some_and(Option::is_none) {
            self.columns.pop();
        }
        drawn.extend(columns);
        drawn.truncate(drawn.trim_end().len());
        drawn
    }

    fn lane_lines(&mut self, mark: &Mark<'_>) -> String {
        let known = self.lanes.iter().position(|(lane, _)| lane == mark.lane);
        let own = known.unwrap_or(self.lanes.len().saturating_sub(1));
        if let Some((_, begun)) = self.lanes.get_mut(own) {
            *begun = true;
        }
        let symbol = |(lane, (_, begun)): (usize, &(String, bool))| match (lane == own, mark.named) {
            (true, true) => "*",
            (true, false) => "o",
            (false, _) if *begun => "|",
            (false, _) => " ",
        };
        self.lanes
            .iter()
            .enumerate()
            .map(symbol)
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn start(&mut self, target: u64) -> Option<usize> {
        let free = self.columns.iter().position(Option::is_none);
        let column = free.unwrap_or(self.columns.len());
        if column >= COLUMNS_DRAWN {
            return None;
        }
        self.columns.resize(self.columns.len().max(column + 1), None);
        self.columns[column] = Some(target);
        Some(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(marks: &[(u64, &str, bool, Option<u64>)]) -> Vec<String> {
        let mut timeline = Timeline::new(marks.iter().map(|mark| mark.1));
        let mark = |&(seq, lane, named, back_to)| Mark {
            seq,
            lane,
            named,
            back_to,
        };
        marks.iter().map(|found| timeline.row(mark(found))).collect()
    }

    #[test]
    fn a_rollback_leads_back_to_its_target() {
        let rows = drawn(&[
            (4, "a", false, Some(1)),
            (3, "a", false, None),
            (2, "a", false, None),
            (1, "a", true, None),
            (0, "a", false, None),
        ]);
        assert_eq!(rows, ["o-.", "o |", "o |", "*<'", "o"]);
    }

    #[test]
    fn rollbacks_cross_without_losing_their_way() {
        let rows = drawn(&[
            (5, "a", false, Some(2)),
            (4, "a", false, Some(1)),
            (3, "a", false, None),
            (2, "a", false, None),
            (1, "a", false, None),
        ]);
        assert_eq!(rows, ["o-.", "o-+-.", "o | |", "o<' |", "o<--'"]);
    }

    #[test]
    fn lanes_stand_side_by_side() {
        let rows = drawn(&[
            (3, "a", false, None),
            (2, "b", false, None),
            (1, "a", false, None),
        ]);
        assert_eq!(rows, ["o", "| o", "o |"]);
        let many: Vec<String> = (0..9).map(|lane| lane.to_string()).collect();
        let marks: Vec<_> = many.iter().map(|lane| (9, lane.as_str(), false, None)).collect();
        assert_eq!(drawn(&marks)[8], "| | | o");
    }

    #[test]
    fn a_target_that_is_left_out_ends_its_column() {
        let rows = drawn(&[
            (9, "a", false, Some(5)),
            (6, "a", false, None),
            (4, "a", false, None),
        ]);
        assert_eq!(rows, ["o-.", "o |", "o"]);
    }

    #[test]
    fn more_rollbacks_than_fit_are_left_to_their_numbers() {
        let marks: Vec<_> = (0..10).map(|at| (100 - at, "a", false, Some(1))).collect();
        let rows = drawn(&marks);
        assert!(rows[9].len() <= 1 + 2 * COLUMNS_DRAWN, "{rows:?}");
    }
}
