//! The measured values, and the rows that compare them.

use crate::goals::{Against, Bound, WORKS, Work};

/// What the bearer of a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Treering, doing the work that the row names.
    Treering,
    /// Another store or map that does the same work.
    Peer,
    /// What bounds the work: the device, a hash, or Treering itself without the difficulty.
    Limit,
}

/// One measured value.
#[derive(Clone, Debug)]
pub struct Cell {
    pub name: String,
    pub role: Role,
    pub value: f64,
}

/// The values of one work at one size.
pub struct Row {
    pub work: &'static Work,
    pub n: u64,
    pub cells: Vec<Cell>,
}

/// All values of a run.
#[derive(Default)]
pub struct Table {
    rows: Vec<Row>,
}

impl Table {
    /// Adds the value of `name` in a role.
    ///
    /// # Panics
    /// If no work has this name, or the work has such a value already.
    pub fn enter(&mut self, work: &str, n: u64, role: Role, name: &str, value: f64) {
        let work = WORKS
            .iter()
            .find(|known| known.name == work)
            .expect("the work is in `WORKS`");
        let is_row = |row: &Row| row.work.name == work.name && row.n == n;
        let at = self.rows.iter().position(is_row).unwrap_or_else(|| {
            let cells = Vec::new();
            self.rows.push(Row { work, n, cells });
            self.rows.len() - 1
        });
        let cells = &mut self.rows[at].cells;
        assert!(
            cells.iter().all(|old| old.name != name),
            "{}: {name} twice",
            work.name
        );
        let name = name.to_owned();
        cells.push(Cell { name, role, value });
    }

    /// Adds a value of a peer.
    pub fn peer(&mut self, work: &str, n: u64, name: &str, value: f64) {
        self.enter(work, n, Role::Peer, name, value);
    }

    /// Adds a value of Treering.
    pub fn treering(&mut self, work: &str, n: u64, value: f64) {
        self.enter(work, n, Role::Treering, "Treering", value);
    }

    /// Adds the value of a limit.
    pub fn limit(&mut self, work: &str, n: u64, name: &str, value: f64) {
        self.enter(work, n, Role::Limit, name, value);
    }

    /// Returns the rows in the order of [`WORKS`], then of size.
    pub fn rows(&self) -> Vec<&Row> {
        let mut rows = Vec::new();
        for work in WORKS {
            let mut of_work: Vec<&Row> = self
                .rows
                .iter()
                .filter(|row| row.work.name == work.name)
                .collect();
            of_work.sort_by_key(|row| row.n);
            rows.extend(of_work);
        }
        rows
    }
}

/// A row's comparison of Treering with what it is measured against.
pub struct Comparison<'a> {
    pub treering: f64,
    pub best: &'a Cell,
    /// Treering's value over that of `best`.
    pub ratio: f64,
    /// The ratio that the goal asks for.
    pub goal: Option<f64>,
}

impl Comparison<'_> {
    /// Returns whether the goal is reached; `None` if there is none.
    pub fn is_reached(&self, work: &Work) -> Option<bool> {
        let reaches = |goal| {
            if work.higher_is_better {
                self.ratio >= goal
            } else {
                self.ratio <= goal
            }
        };
        self.goal.map(reaches)
    }
}

impl Row {
    /// Returns the cell that Treering is compared with.
    fn yardstick(&self) -> Option<&Cell> {
        let of = |role| self.cells.iter().filter(move |cell| cell.role == role);
        match self.work.against {
            Against::Named(name) => self.cells.iter().find(|cell| cell.name == name),
            Against::Limit => of(Role::Limit).next(),
            Against::Best if self.work.higher_is_better => {
                of(Role::Peer).max_by(|one, other| one.value.total_cmp(&other.value))
            }
            Against::Best => of(Role::Peer).min_by(|one, other| one.value.total_cmp(&other.value)),
        }
    }

    /// Returns the comparison, if both sides were measured.
    pub fn comparison(&self) -> Option<Comparison<'_>> {
        let treering = self.cells.iter().find(|cell| cell.role == Role::Treering)?.value;
        let best = self.yardstick()?;
        let goal = self.work.goal.map(|goal| match goal.at(self.n) {
            Bound::Ratio(ratio) => ratio,
            Bound::Value(value) => value / best.value,
        });
        Some(Comparison {
            treering,
            best,
            ratio: treering / best.value,
            goal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the only row of a table after `fill`.
    fn row(fill: impl FnOnce(&mut Table)) -> Row {
        let mut table = Table::default();
        fill(&mut table);
        table.rows.pop().unwrap()
    }

    #[test]
    fn a_rate_is_compared_with_the_greatest_of_the_peers() {
        let row = row(|table| {
            table.treering("load", 10, 6.0);
            table.peer("load", 10, "slow", 1.0);
            table.peer("load", 10, "fast", 2.0);
            table.limit("load", 10, "the device", 9.0);
        });
        let comparison = row.comparison().unwrap();
        assert_eq!((comparison.best.name.as_str(), comparison.ratio), ("fast", 3.0));
        assert_eq!(comparison.is_reached(row.work), Some(true), "the goal is 3");
    }

    #[test]
    fn a_time_is_compared_with_the_least_and_a_goal_in_its_unit_becomes_a_ratio() {
        let row = row(|table| {
            table.treering("open-checkpoints", 10, 20.0);
            table.peer("open-checkpoints", 10, "slow", 30.0);
            table.peer("open-checkpoints", 10, "fast", 10.0);
        });
        let comparison = row.comparison().unwrap();
        assert_eq!((comparison.best.name.as_str(), comparison.ratio), ("fast", 2.0));
        assert_eq!(comparison.goal, Some(10.0), "100 ms over 10 ms");
        assert_eq!(comparison.is_reached(row.work), Some(true));
    }

    #[test]
    fn a_goal_may_depend_on_the_size() {
        let goal = |name, n| {
            let row = row(|table| {
                table.treering(name, n, 1.0);
                table.peer(name, n, "hashbrown", 2.0);
            });
            row.comparison().unwrap().goal.unwrap()
        };
        assert_eq!((goal("get", 10_000), goal("get", 300_000)), (1.3, 1.1));
        assert_eq!(goal("open-crash", 1_000_000), 250.0, "500 ms over 2 ms");
    }

    #[test]
    fn a_row_without_its_yardstick_has_no_comparison() {
        let row = row(|table| {
            table.treering("get-durable", 10, 1.0);
            table.peer("get-durable", 10, "redb", 2.0);
        });
        assert!(row.comparison().is_none(), "LMDB was not measured");
    }

    #[test]
    #[should_panic(expected = "fast twice")]
    fn an_entrant_has_one_value_in_a_row() {
        row(|table| {
            table.peer("load", 10, "fast", 1.0);
            table.peer("load", 10, "fast", 2.0);
        });
    }
}
