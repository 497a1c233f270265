//! Checks that control flow depends on typed causes and codes, and never on the text of a message.

use super::source::Source;
use super::{expect_none, expect_one, packages};

/// Fields and methods that contain or return the text of a message.
const SENTENCES: [&str; 5] = ["message()", ".message", ".what", "hint()", "code().as_str()"];
/// Methods and operators that compare, search or parse a text.
const READERS: [&str; 9] = [
    ".contains(",
    ".starts_with(",
    ".ends_with(",
    ".strip_prefix(",
    ".strip_suffix(",
    ".split_once(",
    ".find(",
    "==",
    "!=",
];

/// Returns the lines of non-test code that compare, search or parse the text of a message.
fn reads_of_sentences(files: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files {
        for (number, line) in file.shipped() {
            let reads = |sentence: &str| {
                line.match_indices(sentence).any(|(at, _)| {
                    let rest = line[at + sentence.len()..].trim_start();
                    let rest = rest.strip_prefix(".as_str()").unwrap_or(rest).trim_start();
                    READERS.iter().any(|reader| rest.starts_with(reader))
                })
            };
            let compares = line.contains("code() == \"")
                || line.contains("code() != \"")
                || line.contains(".to_string().contains(");
            if compares || SENTENCES.iter().any(|sentence| reads(sentence)) {
                violations.push(file.at(number));
            }
        }
    }
    violations
}

#[test]
fn a_sentence_that_is_read_is_seen() {
    let check = |text: &str| reads_of_sentences(&[Source::new("src/a.rs", text)]);
    for read in [
        "if error.message().contains(\"gone\") {}",
        "if found.what == OLDER {}",
        "if found.message.starts_with(CUT) {}",
        "if error.code() == \"erased\" {}",
        "if error.code().as_str() == ERASED {}",
        "if error.to_string().contains(x) {}",
    ] {
        expect_one(&check(read), "src/a.rs:1");
    }
    expect_none(&check(
        "let text = error.message(); let what = found.what.clone();",
    ));
    expect_none(&check("if error.code() == ErrorCode::Erased {}"));
}

#[test]
fn no_code_reads_a_sentence() {
    expect_none(&reads_of_sentences(&packages()));
}
