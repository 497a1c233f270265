//! A session over a store with a story: each question of an owner, and the answer word for word.
//!
//! `TREERING_WRITE_TRANSCRIPT=1` writes the answers of this build over the expected ones; read the difference.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use super::story;
use crate::program::{Folder, bytes_below};

fn expected_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/debug/transcript.txt")
}

fn questions() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/debug/questions.txt")
}

/// Parts whose bytes are random, or differ with every place and run.
const RANDOM: [&str; 7] = [
    "lineage",
    "instance",
    "boot",
    "nonce",
    "checksum",
    "header checksum",
    "body checksum",
];

/// Random bytes as dots.
fn settled(answers: &str, folder: &Folder) -> String {
    let folder = folder.path("").canonicalize().unwrap();
    let folder = folder.to_string_lossy();
    let answers = answers.replace(folder.trim_end_matches('/'), "FOLDER");
    let settle = |line: &str| {
        let (offset, rest) = line.trim_start().split_once("  ")?;
        let name = RANDOM
            .iter()
            .find(|name| rest.starts_with(&format!("{name:<16}  ")))?;
        Some(format!("{offset:>8}  {name:<16}  ..."))
    };
    let lines = answers
        .lines()
        .map(|line| settle(line).unwrap_or_else(|| line.to_owned()));
    lines.map(|line| line + "\n").collect()
}

fn answers(folder: &Folder) -> String {
    let together = folder.path("answers");
    let out = fs::File::create(&together).unwrap();
    folder.write("questions.txt", fs::read_to_string(questions()).unwrap());
    let mut command = folder.command(&["debug", "--keep-going", "-f", "questions.txt"]);
    command.stdin(Stdio::null());
    command.stdout(out.try_clone().unwrap()).stderr(out);
    assert_eq!(
        command.status().unwrap().code(),
        Some(2),
        "the first question without an answer is a command that does not exist"
    );
    settled(&fs::read_to_string(&together).unwrap(), folder)
}

#[test]
fn each_question_of_an_owner_is_answered() {
    let folder = Folder::new();
    story::tell(&folder.store());
    let before = bytes_below(&folder.store());
    let found = answers(&folder);
    assert_eq!(bytes_below(&folder.store()), before, "the shell wrote");
    if std::env::var_os("TREERING_WRITE_TRANSCRIPT").is_some() {
        fs::write(expected_file(), &found).unwrap();
    }
    let expected = fs::read_to_string(expected_file()).unwrap();
    for (number, (found, expected)) in found.lines().zip(expected.lines()).enumerate() {
        assert_eq!(
            found,
            expected,
            "line {} of transcript.txt; TREERING_WRITE_TRANSCRIPT=1 writes it anew",
            number + 1
        );
    }
    assert_eq!(
        found.lines().count(),
        expected.lines().count(),
        "TREERING_WRITE_TRANSCRIPT=1 writes it anew"
    );
}

#[test]
fn every_command_is_asked_something() {
    let folder = Folder::new();
    story::tell(&folder.store());
    let script = fs::read_to_string(questions()).unwrap();
    let asked: Vec<&str> = script
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for command in folder.stream(&["debug", "-c", "help"]) {
        let name = command["command"].as_str().unwrap();
        // What writes, waits or reads a file is tested elsewhere.
        let elsewhere = command["writes"] == true || ["watch", "check-proof"].contains(&name);
        assert!(elsewhere || asked.contains(&name), "nobody asks {name}");
    }
}
