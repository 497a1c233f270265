//! Checks that every test exists that the threat model and the page about bugs of other systems name.

use std::fs;
use std::path::Path;

/// Returns the path and name of each test that a page names as `path::name` in backticks.
fn named(page: &str) -> Vec<(&str, &str)> {
    let codes = page.split('`').skip(1).step_by(2);
    codes
        .filter_map(|code| code.split_once("::"))
        .filter(|(path, _)| {
            Path::new(path)
                .extension()
                .is_some_and(|extension| extension == "rs")
        })
        .collect()
}

/// Returns the tests that a page names, but that do not exist in their file. `read` returns the text of a file.
fn missing(page: &str, read: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let is_there =
        |path: &str, name: &str| read(path).is_some_and(|text| text.contains(&format!("fn {name}(")));
    let gone = named(page)
        .into_iter()
        .filter(|(path, name)| !is_there(path, name));
    gone.map(|(path, name)| format!("{path}::{name}")).collect()
}

/// Checks that a page has `rows` rows whose first cell `is_row` accepts, and that every test that it names exists.
fn check_page(path: &str, rows: usize, is_row: impl Fn(&str) -> bool) {
    let root = Path::new(crate::ROOT);
    let page = fs::read_to_string(root.join(path)).unwrap();
    let found = page.lines().filter(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        cells.len() > 2 && is_row(cells[1])
    });
    assert_eq!(found.count(), rows);
    assert!(named(&page).len() > rows);
    assert_eq!(
        missing(&page, |path| fs::read_to_string(root.join(path)).ok()),
        Vec::<String>::new()
    );
}

#[test]
fn every_bug_of_another_system_has_its_test() {
    check_page("docs/peers-bugs.md", 45, |cell| cell.parse::<u32>().is_ok());
}

#[test]
fn every_guarantee_of_the_threat_model_has_its_test() {
    let is_guarantee = |cell: &str| {
        cell.strip_prefix('G')
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    check_page("docs/threat-model.md", 34, is_guarantee);
    let page = fs::read_to_string(Path::new(crate::ROOT).join("docs/threat-model.md")).unwrap();
    let bare = page
        .lines()
        .filter(|line| line.starts_with("| G") && !line.contains(".rs::"));
    assert_eq!(bare.count(), 0);
}

#[test]
fn a_test_that_is_gone_is_seen() {
    let page = "| 1 | x | `a.rs::there`, `a.rs::gone`, `b.rs::there` and `SIM-1` |";
    let read = |path: &str| (path == "a.rs").then(|| "fn there() {}".to_owned());
    assert_eq!(missing(page, read), ["a.rs::gone", "b.rs::there"]);
}
