//! The column of `log` that draws the history: who worked where, and what a rollback went back to.
//!
//! Each lane has a line of its own; a commit is an `o` on it, or a `*` where a snapshot names it. A rollback
//! leads over a column on the right down to the commit whose state it brought back:
//!
//! ```text
//! o--.   9 rollback
//! o  |   8 put
//! o<-'   7 put
//! ```
//!
//! # Layer
//! L10, part of cli. Pure.

/// Lanes that have a line; the others share the last one.
const LANES_DRAWN: usize = 4;
/// Rollbacks that are drawn side by side. For more, the next column names the target.
const COLUMNS_DRAWN: usize = 6;

/// A commit, as far as it is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark<'a> {
    pub(crate) seq: u64,
    pub(crate) lane: &'a str,
    /// Whether a snapshot names it.
    pub(crate) named: bool,
    /// The commit whose state a rollback brought back.
    pub(crate) back_to: Option<u64>,
}

/// Draws commits one by one, newest first; some may be left out.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// The lanes that have a line, and whether a commit of theirs was drawn: above it there is nothing.
    lanes: Vec<(String, bool)>,
    /// For each column the commit that it leads down to.
    columns: Vec<Option<u64>>,
}

impl Timeline {
    /// A drawing of commits in these lanes, of which the first ones get a line.
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

    /// The drawing beside a commit.
    pub(crate) fn row(&mut self, mark: Mark<'_>) -> String {
        let mut drawn = self.lane_lines(&mark);
        // A column whose commit is left out ends where that would have been.
        for column in &mut self.columns {
            column.take_if(|target| *target > mark.seq);
        }
        let ending: Vec<usize> = self.columns_to(mark.seq);
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

    fn columns_to(&self, seq: u64) -> Vec<usize> {
        let leads_here = |column: &Option<u64>| *column == Some(seq);
        (0..self.columns.len())
            .filter(|column| leads_here(&self.columns[*column]))
            .collect()
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
