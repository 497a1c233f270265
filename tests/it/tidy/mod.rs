//! The style test: checks every file of the repository against the rules of the code base.
//!
//! Each rule is a function that returns a list of violations for some files. A rule has two tests: one on a small bad
//! sample, which shows that the rule can fail, and one on the repository.

mod causes;
mod circles;
mod coverage;
mod docs;
mod invariants;
mod layers;
mod packages;
mod public;
mod size;
mod source;
mod words;

use std::path::{Path, PathBuf};

use source::Source;

/// Returns the root folder of the repository.
fn root() -> &'static Path {
    Path::new(crate::ROOT)
}

/// Returns all files with this extension under `folder` of the repository, sorted. Returns an empty list if the folder
/// does not exist.
fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if !path.ends_with("target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Returns the path of a file relative to the root of the repository, with `/`.
fn name_of(path: &Path) -> String {
    path.strip_prefix(root())
        .unwrap()
        .to_str()
        .unwrap()
        .replace('\\', "/")
}

/// Returns the Rust files under `folder`.
fn sources(folder: &str) -> Vec<Source> {
    let files = files(folder, "rs");
    assert!(!files.is_empty(), "there are no Rust files in {folder}");
    files
        .iter()
        .map(|path| Source::new(&name_of(path), &std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// The folders with the code of the packages: the library, the text code below it, and the program above it.
const PACKAGES: [&str; 3] = ["src", "text/src", "program/src"];

/// Returns the Rust files of the packages.
fn packages() -> Vec<Source> {
    PACKAGES.iter().flat_map(|folder| sources(folder)).collect()
}

/// Returns the path of a file below the folder with the code of its package.
fn in_package(path: &str) -> &str {
    path.split_once("src/").map_or(path, |(_, rest)| rest)
}

/// Returns the Rust files of the packages and their tests.
fn all_sources() -> Vec<Source> {
    ["src", "text/src", "program/src", "tests", "fuzz", "benches"]
        .iter()
        .filter(|folder| root().join(folder).exists())
        .flat_map(|folder| sources(folder))
        .collect()
}

/// Fails with the list of violations if it is not empty.
#[track_caller]
fn expect_none(violations: &[String]) {
    assert!(
        violations.is_empty(),
        "{} violations:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

/// Fails if there is not exactly one violation, or if its text does not contain `part`.
#[track_caller]
fn expect_one(violations: &[String], part: &str) {
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].contains(part), "{violations:?}");
}
