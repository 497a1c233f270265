//! The results as JSON, as a Markdown page and as charts.

mod chart;
mod json;
mod markdown;

use std::path::Path;

use crate::machine::Machine;
use crate::table::Table;

pub use json::json;
pub use markdown::table;

/// Writes the table between the markers of `README.md` in `folder`, and a chart for each work that was measured at
/// several sizes.
pub fn write_docs(folder: &Path, machine: &Machine, results: &Table) {
    std::fs::create_dir_all(folder).unwrap();
    let charts = chart::write_all(folder, results);
    let page = folder.join("README.md");
    let old = std::fs::read_to_string(&page).unwrap_or_default();
    std::fs::write(&page, markdown::page(&old, machine, results, &charts)).unwrap();
}
