//! Compares the answers of the debug shell with a transcript: commands on the store of `story.rs`, and their exact
//! output.
//!
//! `TREERING_WRITE_TRANSCRIPT=1` replaces the expected answers with the answers of this build. Review the difference
//! afterwards.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use super::story;
use crate::program::{Folder, bytes_below};

fn expected_file() -> PathBuf {
    PathBuf::from(crate::ROOT).join("tests/it/debug/transcript.txt")
}

fn questions_file() -> PathBuf {
    PathBuf::from(crate::ROOT).join("tests/it/debug/questions.txt")
}

/// Returns the commands of the transcript.
pub(super) fn questions() -> Vec<String> {
    let script = fs::read_to_string(questions_file()).unwrap();
    let lines = script
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

/// Fields whose bytes are random, or differ between folders and runs.
const RANDOM: [&str; 7] = [
    "lineage",
    "instance",
    "boot",
    "nonce",
    "checksum",
    "header checksum",
    "body checksum",
];

/// Replaces bytes that differ between runs with dots.
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
    folder.write("questions.txt", fs::read_to_string(questions_file()).unwrap());
    let mut command = folder.command(&["debug", "--keep-going", "-f", "questions.txt"]);
    command.stdin(Stdio::null());
    command.stdout(out.try_clone().unwrap()).stderr(out);
    assert_eq!(
        command.status().unwrap().code(),
        Some(2),
        "a command of the transcript has no answer, because it does not exist"
    );
    settled(&fs::read_to_string(&together).unwrap(), folder)
}

#[test]
fn each_question_of_an_owner_is_answered() {
    let folder = story::told();
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
            "line {} of transcript.txt differs; TREERING_WRITE_TRANSCRIPT=1 rewrites the file",
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
fn every_command_of_the_shell_and_every_inspection_is_asked_something() {
    let folder = story::told();
    let asked = questions();
    let is_asked = |command: &str| asked.iter().any(|line| line.starts_with(command));
    let help = folder.run(&["debug", "-c", ".help"]).out;
    let (_, dotted) = help.split_once("Shell\n").unwrap();
    let pages = folder.run(&["inspect", "--help"]).out;
    let (_, pages) = pages.split_once("Commands:\n").unwrap();
    let (pages, _) = pages.split_once("\n\n").unwrap();
    let first_words = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
        let names = lines.filter(|line| !line.starts_with(' '));
        let names = names.filter_map(|line| line.split_whitespace().next());
        names.map(str::to_owned).collect()
    };
    let inspections = first_words(pages);
    let mut commands = first_words(dotted);
    commands.extend(inspections.iter().map(|name| format!("inspect {name}")));
    assert!(commands.len() > 12, "{commands:?}");
    for command in commands {
        let elsewhere = [".quit", "inspect help"].contains(&command.as_str());
        assert!(elsewhere || is_asked(&command), "nobody asks {command}");
    }
}
