//! Measures how many secrets are found: every kind in random contexts and encodings, and none in the source of this
//! project.
//!
//! `contexts.in` has the contexts of a token, `named.in` the kinds that only their names give away. The examples of the
//! rules are further kinds.

use std::fmt::Write as _;
use std::path::Path;

use super::attacks::scanner;
use crate::scan::rules::tests::{Dice, secret_examples};

/// The number of texts of each kind.
const SAMPLES: usize = if cfg!(debug_assertions) { 12 } else { 24 };
/// Of so many kinds, one is tried in each context and encoding.
const EVERY: usize = if cfg!(debug_assertions) { 4 } else { 1 };
/// The start of a template of a text with a secret: what precedes it is the name of the kind.
const SIGN: &str = " | ";

/// Returns the hexadecimal digits of each byte, between `before` and `after`.
fn each_byte(text: &str, before: &str, after: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "{before}{byte:02x}{after}").expect("a string grows");
        out
    })
}

/// Returns `text` in base64.
fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// Returns `text` in the encoding with this number, or `None` if the encoding does not apply.
fn encoded(text: &str, encoding: usize) -> Option<String> {
    let middle = text.len() / 2;
    let is_token = text.is_ascii() && !text.contains([' ', '\n']) && text.len() >= 24;
    Some(match encoding {
        0 => each_byte(text, "%", ""),
        1 if text.is_ascii() => each_byte(text, "&#x", ";"),
        2 if text.is_ascii() => each_byte(text, "\\u00", ""),
        3 => each_byte(text, "\\x", ""),
        4 => base64(&format!("{text} is mine")),
        5 => base64(&base64(&format!("{text} is mine"))),
        6 if text.contains(['_', '-', '.']) => {
            let escapes = |char| matches!(char, '_' | '-' | '.');
            let parts = text.chars().map(|char| {
                if escapes(char) {
                    format!("\\{char}")
                } else {
                    char.into()
                }
            });
            parts.collect()
        }
        7 => text
            .chars()
            .map(|char| match char {
                '!'..='~' => char::from_u32(char as u32 + 0xfee0).unwrap_or(char),
                _ => char,
            })
            .collect(),
        8 if text.is_ascii() => format!("{}\u{200b}{}", &text[..middle], &text[middle..]),
        9 if is_token => format!("{}\n{}", &text[..middle], &text[middle..]),
        10 if is_token => format!("{}=\n{}", &text[..middle], &text[middle..]).replace('_', "=5F"),
        11 if is_token => format!("\"{}\" +\n    \"{}\"", &text[..middle], &text[middle..]),
        _ => return None,
    })
}

/// The share of found texts of a kind.
struct Tally {
    kind: String,
    found: usize,
    missed: Vec<String>,
}

impl Tally {
    fn add(&mut self, text: String) {
        if *scanner().redact(&text) == text {
            self.missed.push(text);
        } else {
            self.found += 1;
        }
    }
}

/// Checks that at least `least` of each thousand texts were found, and prints the others.
fn expect_found(tallies: &[Tally], least: usize) {
    let found: usize = tallies.iter().map(|tally| tally.found).sum();
    let all = found + tallies.iter().map(|tally| tally.missed.len()).sum::<usize>();
    for tally in tallies.iter().filter(|tally| !tally.missed.is_empty()) {
        println!(
            "{}: {} found, missed {:?}",
            tally.kind,
            tally.found,
            tally.missed.first()
        );
    }
    println!("{found} of {all} texts of {} kinds", tallies.len());
    assert!(found * 1_000 >= all * least, "{found} of {all}");
}

/// Returns the examples that are a token without other text.
fn tokens() -> impl Iterator<Item = (String, String)> {
    let kinds = secret_examples().into_iter();
    let is_token = |example: &String| {
        !example.contains([' ', '=', '\n', '"', '\'', '{', '(']) && !example.starts_with("http")
    };
    kinds.filter_map(move |kind| Some((kind.id, kind.matches.into_iter().find(is_token)?)))
}

#[test]
fn tokens_are_found_in_every_context() {
    let contexts: Vec<&str> = include_str!("secrets/contexts.in").lines().collect();
    let mut dice = Dice(0x5eed_0001);
    let tallies = tokens().step_by(EVERY).map(|(kind, template)| {
        let mut tally = Tally {
            kind,
            found: 0,
            missed: Vec::new(),
        };
        for sample in 0..SAMPLES {
            let context = contexts[sample % contexts.len()].replace("\\n", "\n");
            tally.add(context.replace("{}", &dice.fill(&template)));
        }
        tally
    });
    expect_found(&tallies.collect::<Vec<_>>(), 990);
}

#[test]
fn tokens_are_found_in_every_encoding() {
    let mut dice = Dice(0x5eed_0002);
    let tallies = tokens().step_by(EVERY).map(|(kind, template)| {
        let mut tally = Tally {
            kind,
            found: 0,
            missed: Vec::new(),
        };
        for sample in 0..SAMPLES {
            let token = dice.fill(&template);
            if let Some(text) = encoded(&token, sample % 12) {
                tally.add(format!("it is {text} here"));
            }
        }
        tally
    });
    expect_found(&tallies.collect::<Vec<_>>(), 980);
}

#[test]
fn secrets_are_found_by_their_names() {
    let mut dice = Dice(0x5eed_0003);
    let mut tallies: Vec<Tally> = Vec::new();
    for line in include_str!("secrets/named.in").lines() {
        let (kind, template) = line.split_once(SIGN).expect("a line names its kind");
        let mut tally = Tally {
            kind: kind.to_owned(),
            found: 0,
            missed: Vec::new(),
        };
        for _ in 0..SAMPLES {
            tally.add(dice.fill(template).replace("\\n", "\n"));
        }
        tallies.push(tally);
    }
    expect_found(&tallies, 980);
}

/// Tries each documented kind of token as its provider writes it.
#[test]
fn documented_kinds_are_found() {
    let mut dice = Dice(0x5eed_0004);
    let lines = include_str!("secrets/documented.in").lines();
    let tallies = lines.map(|line| {
        let (kind, template) = line.split_once(SIGN).expect("a line names its kind");
        let mut tally = Tally {
            kind: kind.to_owned(),
            found: 0,
            missed: Vec::new(),
        };
        for _ in 0..SAMPLES {
            tally.add(dice.fill(template).replace("\\n", "\n"));
        }
        tally
    });
    let tallies: Vec<_> = tallies.collect();
    assert!(tallies.len() >= 215);
    expect_found(&tallies, 990);
}

#[test]
fn honest_lines_keep_their_text() {
    for line in include_str!("secrets/honest.in").lines() {
        let line = line.replace("\\n", "\n");
        assert_eq!(scanner().redact(&line), line);
    }
}

/// Returns the files below `folder` with one of these extensions.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder)
        .expect("a folder of the project")
        .flatten()
    {
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            files(&path, found);
        } else if matches!(extension, Some("rs" | "md" | "lock")) {
            found.push(path);
        }
    }
}

#[test]
fn the_source_of_this_project_has_no_secret() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut paths = vec![root.join("Cargo.lock"), root.join("README.md")];
    files(&root.join("src"), &mut paths);
    files(&root.join("docs"), &mut paths);
    // The tests of the scan and of its callers plant secrets.
    let plants = |path: &Path| {
        let is_test = |part: &str| part.starts_with("tests") || part.ends_with("tests.rs") || part == "scan";
        path.iter().any(|part| part.to_str().is_some_and(is_test))
    };
    for path in paths.iter().filter(|path| !plants(path)) {
        let text = std::fs::read_to_string(path).expect("a text of the project");
        let redacted = scanner().redact(&text);
        let changed = text
            .lines()
            .zip(redacted.lines())
            .find(|(line, redacted)| line != redacted);
        assert_eq!(changed, None, "{}", path.display());
    }
}
