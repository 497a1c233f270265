//! Checks that each invariant has a unique number, and that code or a test cites the number.

use std::collections::BTreeMap;

use super::source::Source;
use super::{all_sources, expect_none, expect_one};

/// Returns the number of the invariant that a header line defines, as in `//! - LOG-1: ...`.
fn stated(line: &str) -> Option<&str> {
    let (id, _) = line.strip_prefix("//! - ")?.split_once(':')?;
    let (letters, number) = id.split_once('-')?;
    let is_id = letters.len() >= 3
        && letters.chars().all(|c| c.is_ascii_uppercase())
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit());
    is_id.then_some(id)
}

/// Checks whether `line` contains `id` as a whole number, not as part of a longer one.
fn names(line: &str, id: &str) -> bool {
    let parts: Vec<&str> = line.split(id).collect();
    parts.windows(2).any(|pair| {
        !pair[0].ends_with(|c: char| c.is_alphanumeric())
            && !pair[1].starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns the invariants that are defined twice, or that no code or test cites. A comment, a message, or a name like
/// `log_1_old_bytes_stay` counts as a citation.
fn badly_kept(files: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        for id in file.text.lines().filter_map(stated) {
            places.entry(id).or_default().push(&file.path);
        }
    }
    let cites = |id: &str| {
        let in_a_name = format!("{}_", id.to_lowercase().replace('-', "_"));
        files.iter().any(|file| {
            let mut lines = file.text.lines().zip(&file.for_tests);
            lines.any(|(line, for_tests)| {
                let is_header = line.starts_with("//!") && (!for_tests || stated(line).is_some());
                !is_header && (names(line, id) || (*for_tests && line.contains(&in_a_name)))
            })
        })
    };
    let mut violations = Vec::new();
    for (id, paths) in &places {
        if paths.len() > 1 {
            violations.push(format!("{id} is stated in {}", paths.join(" and in ")));
        }
        if !cites(id) {
            violations.push(format!(
                "{id} of {} is cited by no assertion and no test",
                paths[0]
            ));
        }
    }
    violations
}

#[test]
fn invariants_that_are_doubled_or_forgotten_are_seen() {
    let file = |path: &str, text: &str| Source::new(path, text);
    let kept = "//! - ABC-1: it holds.\n// ABC-1: here.\n";
    expect_none(&badly_kept(&[file("src/a.rs", kept)]));
    let stated = file("src/a.rs", "//! - ABC-1: it holds.\n");
    expect_none(&badly_kept(&[
        stated,
        file("src/a/tests.rs", "fn abc_1_holds() {}"),
    ]));
    expect_one(
        &badly_kept(&[file("src/a.rs", kept), file("src/b.rs", "//! - ABC-1: it too.")]),
        "stated in",
    );
    expect_one(
        &badly_kept(&[file("src/a.rs", "//! - ABC-1: it holds.\n// ABC-12 and XABC-1\n")]),
        "cited by no",
    );
    expect_none(&badly_kept(&[file(
        "src/a.rs",
        "//! - note: no invariant.\n//! - UTF-8 is text.\n",
    )]));
}

#[test]
fn every_invariant_is_stated_once_and_cited() {
    expect_none(&badly_kept(&all_sources()));
}
