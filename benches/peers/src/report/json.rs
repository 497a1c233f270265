//! The results as JSON: a list with one entry for each row.

use serde_json::{Value, json as object};

use crate::table::Table;

/// Returns the rows in which Treering can be compared. `goal` is a ratio, as `ratio` is, or null.
pub fn json(results: &Table) -> Value {
    let rows = results.rows();
    let entries = rows.iter().filter_map(|row| {
        let comparison = row.comparison()?;
        Some(object!({
            "work": row.work.name,
            "n": row.n,
            "unit": row.work.unit,
            "treering": comparison.treering,
            "best": comparison.best.value,
            "peer": comparison.best.name,
            "ratio": comparison.ratio,
            "goal": comparison.goal,
            "higher_is_better": row.work.higher_is_better,
        }))
    });
    entries.collect()
}
