//! Checks that every file has a header, and limits the sizes of files, functions and the whole source.

use std::collections::BTreeMap;

use super::source::{Source, block_length};
use super::{all_sources, expect_none, expect_one, in_package, packages};

/// The maximum number of lines in a file. It may only go down.
const FILE_LINES_MAX: usize = 800;
/// The maximum number of lines in a function. It may only go down.
const FUNCTION_LINES_MAX: usize = 100;
/// The maximum number of lines of code of the packages, without blank lines, comments and tests. A commit that raises it
/// must give the reason, and the reasons stand in its history. The last reasons: what a command line reads from outside, the
/// session of each window, the register of projects, the inbox and its app, the import of rule files, forks, merges with their
/// conflicts, remotes (3,100: buckets, backups, clones, push and pull; 1,000: sync, a URL as the store, and signed pushes;
/// 1,500: object storage and PostgreSQL; 700: encryption; 1,700: erasure that travels, collections and joins), signed heads
/// with their five verbs (1,600), the clients of a team server (500), the cache of places (200), what attackers and new users of
/// remotes found (2,250), and the staging of a load in one buffer (250).
const CODE_LINES_MAX: usize = 123_600;
/// The maximum number of files with methods of the same handle. A reader must open all of them to find all methods.
const HANDLE_FILES_MAX: usize = 6;

/// Returns the files without a header.
fn without_header(files: &[Source]) -> Vec<String> {
    let has_header = |file: &Source| {
        let first = file.text.lines().find(|line| !line.starts_with("#!["));
        first.is_some_and(|line| line.strip_prefix("//! ").is_some_and(|text| text.len() > 8))
    };
    files
        .iter()
        .filter(|file| !has_header(file))
        .map(|file| format!("{} has no header", file.path))
        .collect()
}

/// Returns the files that are too long.
fn long_files(files: &[Source], lines_max: usize) -> Vec<String> {
    let count = |file: &Source| file.text.lines().count();
    let long = files.iter().filter(|file| count(file) > lines_max);
    long.map(|file| format!("{} has {} lines", file.path, count(file)))
        .collect()
}

/// Returns the functions that are too long.
fn long_functions(files: &[Source], lines_max: usize) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files {
        let code = file.code.join("\n");
        for (start, _) in code.match_indices("fn ") {
            let is_word = !code[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = &code[start..];
            let Some(open) = rest.find(['{', ';']).filter(|_| is_word) else {
                continue;
            };
            if rest[open..].starts_with(';') {
                continue;
            }
            let lines = rest[..open + block_length(&rest[open..])].matches('\n').count() + 1;
            if lines > lines_max {
                let line = code[..start].matches('\n').count() + 1;
                violations.push(format!("{} has {lines} lines", file.at(line)));
            }
        }
    }
    violations
}

/// Returns the number of lines of code of each top-level folder, without blank lines, comments and tests.
fn code_lines(files: &[Source]) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for file in files {
        let folder = in_package(&file.path).split('/').next();
        let folder = folder.unwrap_or_default().trim_end_matches(".rs");
        let is_code = |line: &str| !line.is_empty() && !line.starts_with("//");
        let shipped = file.text.split('\n').zip(&file.for_tests);
        let code = shipped.filter(|(line, for_tests)| !**for_tests && is_code(line.trim()));
        *lines.entry(folder.to_owned()).or_default() += code.count();
    }
    lines
}

/// Returns the files that contain methods of a handle.
fn files_with_methods(files: &[Source], handle: &str) -> Vec<String> {
    let block = format!("{handle} {{");
    let is_block = |line: &str| {
        let path = line
            .strip_prefix("impl ")
            .and_then(|rest| rest.strip_suffix(&block));
        path.is_some_and(|path| path.is_empty() || (path.ends_with("::") && !path.contains(' ')))
    };
    let has_methods = |file: &&Source| {
        let mut lines = file.text.split('\n').zip(&file.for_tests);
        lines.any(|(line, for_tests)| !for_tests && is_block(line))
    };
    let found = files.iter().filter(has_methods);
    found.map(|file| file.path.clone()).collect()
}

#[test]
fn a_missing_header_and_too_many_lines_are_seen() {
    let file = |text: &str| [Source::new("src/a.rs", text)];
    expect_one(
        &without_header(&file("use std::io;\n//! Too late for a header.")),
        "no header",
    );
    expect_one(&without_header(&file("//! Short")), "no header");
    expect_none(&without_header(&file("//! The thing that this is.\n")));
    expect_one(&long_files(&file("//! A\n\n\n"), 2), "3 lines");
    let text = "impl A {\n    fn a(&self) -> [u8; 2] {\n        if x {\n        }\n        y\n    }\n    fn b() {}\n}\n";
    expect_one(
        &long_functions(&file("fn long() {\n\n\n}\nfn c();\n"), 3),
        "4 lines",
    );
    expect_none(&long_functions(&file(text), 5));
}

#[test]
fn every_file_begins_with_a_header() {
    expect_none(&without_header(&all_sources()));
}

#[test]
fn code_is_counted_without_blanks_comments_and_tests() {
    let text = "//! A header.\n\nfn a() {\n    // Why.\n}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
    let files = [
        Source::new("src/a/b.rs", text),
        Source::new("src/a.rs", "fn c() {}\n"),
    ];
    assert_eq!(code_lines(&files), BTreeMap::from([("a".to_owned(), 3)]));
}

/// `cargo tidy -- --nocapture` prints the table.
#[test]
fn the_code_does_not_grow() {
    let mut total = 0;
    for (folder, lines) in code_lines(&packages()) {
        println!("{lines:>6}  {folder}");
        total += lines;
    }
    println!("{total:>6}  in all");
    assert!(
        total <= CODE_LINES_MAX,
        "the packages have {total} lines of code, but at most {CODE_LINES_MAX} are allowed"
    );
}

#[test]
fn the_methods_of_a_handle_are_in_few_files() {
    let files = [
        Source::new("src/a.rs", "impl Agent {\n}\n"),
        Source::new("src/b.rs", "impl crate::agent::Agent {\n}\n"),
        Source::new(
            "src/c.rs",
            "impl OtherAgent {\n}\nimpl Ask for Agent {\n}\n#[cfg(test)]\nmod tests {\nimpl Agent {\n}\n}\n",
        ),
    ];
    assert_eq!(files_with_methods(&files, "Agent"), ["src/a.rs", "src/b.rs"]);
    for handle in ["Memory", "Agent"] {
        let found = files_with_methods(&packages(), handle);
        let is_few = (1..=HANDLE_FILES_MAX).contains(&found.len());
        assert!(is_few, "{handle} has methods in {found:?}");
    }
}

#[test]
fn no_file_is_too_long() {
    expect_none(&long_files(&all_sources(), FILE_LINES_MAX));
}

#[test]
fn no_function_is_too_long() {
    expect_none(&long_functions(&all_sources(), FUNCTION_LINES_MAX));
}
