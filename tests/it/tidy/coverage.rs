//! Checks that every test exists that docs/coverage.md names.

use super::{all_sources, expect_none, expect_one, root};

/// Returns the tests that a page names in the last cell of each row of its tables.
fn named(page: &str) -> Vec<&str> {
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix("` |"));
    rows.filter_map(|row| Some(row.rsplit_once('`')?.1)).collect()
}

/// Returns the tests that a page names but that do not exist. A test `stories::NAME::...` must be in the file of that
/// story.
fn missing(page: &str, files: &[(String, String)]) -> Vec<String> {
    let is_there = |name: &str| {
        let (story, function) = match name
            .strip_prefix("stories::")
            .and_then(|name| name.split_once("::"))
        {
            Some((story, function)) => (format!("tests/it/stories/{story}.rs"), function),
            None => (String::new(), name),
        };
        let wanted = format!("fn {function}(");
        files
            .iter()
            .any(|(path, text)| (story.is_empty() || *path == story) && text.contains(&wanted))
    };
    let missing = named(page).into_iter().filter(|name| !is_there(name));
    missing
        .map(|name| format!("docs/coverage.md names the test {name}, which does not exist"))
        .collect()
}

#[test]
fn a_missing_test_is_seen() {
    let page = "| a | b | `here` |\n| a | b | `stories::x::there` |\ntext `nowhere` |\n";
    let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    let files = [
        file("src/a.rs", "fn here() {}"),
        file("tests/it/stories/x.rs", "fn there() {}"),
    ];
    expect_none(&missing(page, &files));
    expect_one(&missing(page, &files[1..]), "here");
    expect_one(
        &missing(page, &[file("src/a.rs", "fn here() {} fn there() {}")]),
        "there",
    );
}

#[test]
fn every_behaviour_has_its_test() {
    let page = std::fs::read_to_string(root().join("docs/coverage.md")).unwrap();
    let files: Vec<(String, String)> = all_sources()
        .into_iter()
        .map(|file| (file.path, file.text))
        .collect();
    assert!(named(&page).len() > 50);
    expect_none(&missing(&page, &files));
}
