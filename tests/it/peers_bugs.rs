//! Checks that every test exists that the page about bugs of other systems names.

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

#[test]
fn every_test_that_the_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/peers-bugs.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ")).filter(|line| {
        let number = line.split('|').nth(1).map(str::trim);
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    assert_eq!(rows.count(), 45);
    assert!(named(&page).len() > 45);
    assert_eq!(
        missing(&page, |path| fs::read_to_string(root.join(path)).ok()),
        Vec::<String>::new()
    );
}

#[test]
fn a_test_that_is_gone_is_seen() {
    let page = "| 1 | x | `a.rs::there`, `a.rs::gone`, `b.rs::there` and `SIM-1` |";
    let read = |path: &str| (path == "a.rs").then(|| "fn there() {}".to_owned());
    assert_eq!(missing(page, read), ["a.rs::gone", "b.rs::there"]);
}
