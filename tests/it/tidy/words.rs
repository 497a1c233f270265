//! Checks that certain words occur only in the files that may use them.

use super::source::{Source, words};
use super::{all_sources, expect_none, expect_one, packages, sources};

/// Returns the lines of non-test code that contain one of the `wanted` words, in files for which `is_allowed` is false.
fn misplaced(files: &[Source], wanted: &[&str], is_allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| !is_allowed(&file.path)) {
        for (number, line) in file.shipped() {
            let squeezed: String = line.split(' ').collect();
            let is_found = |word: &&&str| match word.strip_suffix('!') {
                Some(name) => words(line).any(|found| found == name) && squeezed.contains(**word),
                None if word.contains(':') => squeezed.contains(**word),
                None => words(line).any(|found| found == **word),
            };
            violations.extend(
                wanted
                    .iter()
                    .filter(is_found)
                    .map(|word| format!("{} has {word}", file.at(number))),
            );
        }
    }
    violations
}

/// Returns uses of `unsafe` outside the file that maps segments and the file with the pointers to nodes.
fn unsafe_code(files: &[Source]) -> Vec<String> {
    misplaced(files, &["unsafe"], |path| {
        ["src/disk/map.rs", "src/trie/pointer.rs"].contains(&path)
    })
}

/// Returns print macros outside the file that handles streams and colours.
fn printing(files: &[Source]) -> Vec<String> {
    misplaced(files, &["println!", "eprintln!", "print!", "eprint!"], |path| {
        path == "program/src/cli/output.rs"
    })
}

/// Returns uses of files, the clock and random bytes outside the modules that may use them.
fn outside_world(files: &[Source]) -> Vec<String> {
    misplaced(files, &["std::fs", "SystemTime", "getrandom"], |path| {
        path.starts_with("src/disk/")
            || path.starts_with("program/src/")
            || path == "src/engine/settings.rs"
            || path == "src/agent/meaning/installed.rs"
            // The register of the user, and the facts of a folder.
            || path.starts_with("src/agent/projects/")
    })
}

/// Returns uses of the hash crates outside the file that may use them.
fn hash_crates(files: &[Source]) -> Vec<String> {
    misplaced(files, &["blake3::", "sha2::"], |path| {
        path == "src/digest.rs" || path.starts_with("src/digest/")
    })
}

/// Returns uses of locks and threads outside `threads.rs` and the command-line program.
fn thread_crates(files: &[Source]) -> Vec<String> {
    let wanted = ["parking_lot::", "arc_swap::", "thread::sleep", "thread::Builder"];
    misplaced(files, &wanted, |path| {
        path == "src/threads.rs" || path.starts_with("program/src/")
    })
}

/// Returns writes of the agent that bypass `src/agent/change`, which reviews and authorises changes.
fn unreviewed_writes(files: &[Source]) -> Vec<String> {
    let calls = [
        ".commit(",
        ".draft(",
        ".save_draft(",
        ".delete_draft(",
        ".quarantine(",
        ".attempt_as(",
        "memory().put(",
        "memory().remove(",
        "memory().attempt(",
    ];
    let mut violations = Vec::new();
    let outside = |file: &&Source| {
        file.path.starts_with("src/agent/")
            && !file.path.starts_with("src/agent/change/")
            && !file.path.ends_with("tests.rs")
    };
    for file in files.iter().filter(outside) {
        for (number, line) in file.shipped() {
            let squeezed: String = line.split(' ').collect();
            for call in calls {
                // A call without arguments only reads, as `view.commit()` does.
                let mut found = squeezed.match_indices(call);
                if found.any(|(at, _)| !squeezed[at + call.len()..].starts_with(')')) {
                    violations.push(format!("{} has {call}", file.at(number)));
                }
            }
        }
    }
    violations
}

/// Returns uses of macros that mark unfinished code.
fn unfinished_code(files: &[Source]) -> Vec<String> {
    misplaced(files, &["todo!", "unimplemented!", "dbg!"], |_| false)
}

/// Returns comments that postpone work. Ingestion is exempt, because it mentions the states of headlines.
fn postponing_comments(files: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files {
        for (index, comment) in file.comments.iter().enumerate() {
            let is_about_headlines = file.path.starts_with("src/ingest/");
            if words(comment)
                .any(|word| matches!(word, "FIXME" | "XXX") || (word == "TODO" && !is_about_headlines))
            {
                violations.push(file.at(index + 1));
            }
        }
    }
    violations
}

/// Returns lines with non-ASCII characters outside tests. Code must use escapes for them.
fn beyond_ascii(files: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files {
        for (index, line) in file.text.split('\n').enumerate() {
            if !line.is_ascii() && !file.for_tests[index] {
                violations.push(file.at(index + 1));
            }
        }
    }
    violations
}

/// Returns error codes that are not in snake case.
fn bad_codes(files: &[Source]) -> Vec<String> {
    let mut violations = Vec::new();
    for file in files {
        for (index, line) in file.text.lines().enumerate() {
            for rest in line.split("with_code(\"").skip(1) {
                let code = rest.split('"').next().unwrap_or_default();
                let is_snake = code.starts_with(|c: char| c.is_ascii_lowercase())
                    && code
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
                if !is_snake {
                    violations.push(file.at(index + 1));
                }
            }
        }
    }
    violations
}

#[test]
fn misplaced_words_are_seen() {
    let file = |text: &str| [Source::new("src/a.rs", text)];
    expect_one(&unsafe_code(&file("let x = unsafe { y };")), "unsafe");
    expect_none(&unsafe_code(&file(
        "#![deny(unsafe_code)] // unsafe\nlet x = \"unsafe\";",
    )));
    expect_none(&unsafe_code(&[Source::new("src/disk/map.rs", "unsafe {}")]));
    expect_one(&printing(&file("println !(\"a\");")), "println!");
    expect_one(&printing(&file("print!(\"a\");")), "print!");
    expect_none(&printing(&file(
        "#[cfg(test)]\nmod tests { fn a() { println!(); } }",
    )));
    expect_one(&outside_world(&file("use std::fs::File;")), "std::fs");
    expect_one(
        &outside_world(&file("let now = std::time::SystemTime::now();")),
        "SystemTime",
    );
    expect_one(&outside_world(&file("getrandom::fill(&mut x);")), "getrandom");
    expect_one(&thread_crates(&file("use parking_lot::Mutex;")), "parking_lot");
    expect_one(&unfinished_code(&file("fn a() { todo!() }")), "todo!");
    let agent = |path: &str, text: &str| unreviewed_writes(&[Source::new(path, text)]);
    expect_one(
        &agent("src/agent/a.rs", "fn a() { memory.commit(draft, op) }"),
        ".commit(",
    );
    expect_none(&agent("src/agent/a.rs", "fn a() { view.commit() }"));
    expect_none(&agent(
        "src/agent/change/mod.rs",
        "fn a() { memory.commit(draft, op) }",
    ));
    expect_none(&unfinished_code(&file("fn a() { todo() }")));
    expect_one(&postponing_comments(&file("let x = 1; // FIXME: later")), "FIXME");
    expect_one(&postponing_comments(&file("// TODO later")), "TODO");
    expect_none(&postponing_comments(&file(
        "let x = \"TODO\"; // A fixme is no FIXMES.",
    )));
    expect_one(
        &beyond_ascii(&file("// caf\u{e9}\n#[cfg(test)]\nmod tests { /* \u{e9} */ }")),
        "caf",
    );
    expect_one(&bad_codes(&file("error.with_code(\"noStore\")")), "noStore");
    expect_none(&bad_codes(&file("error.with_code(\"no_store\")")));
}

#[test]
fn only_maps_and_pointers_to_nodes_are_unsafe() {
    expect_none(&unsafe_code(&packages()));
}

#[test]
fn only_the_output_prints() {
    expect_none(&printing(&packages()));
}

#[test]
fn files_clock_and_random_bytes_have_their_places() {
    expect_none(&outside_world(&packages()));
}

#[test]
fn only_digest_names_the_crates_of_the_hashes() {
    expect_none(&hash_crates(&packages()));
}

#[test]
fn only_threads_names_what_threads_wait_by() {
    expect_none(&thread_crates(&packages()));
}

#[test]
fn every_write_of_the_agent_is_a_change() {
    expect_none(&unreviewed_writes(&sources("src/agent")));
}

#[test]
fn nothing_is_left_unfinished() {
    expect_none(&unfinished_code(&packages()));
    expect_none(&postponing_comments(&all_sources()));
}

#[test]
fn code_is_ascii() {
    expect_none(&beyond_ascii(&packages()));
}

#[test]
fn error_codes_are_snake_case() {
    expect_none(&bad_codes(&packages()));
}
