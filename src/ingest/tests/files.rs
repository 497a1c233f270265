//! Tests with files that people and programs have written: the notes of the tests, the tour, and the pages of this
//! project.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::object::Value;

fn folder(name: &str) -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut open = vec![root.join(name)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if Format::from_path(path.to_str().unwrap()).is_some() {
                let known = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                files.push((known, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

fn ingest(files: &[(String, String)]) -> (Memory, Change) {
    let mut memory = Memory::default();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let change = memory.ingest(&files);
    (memory, change)
}

#[test]
fn all_pages_and_notes_of_this_project_can_be_ingested() {
    for name in ["docs", "tests/fixtures/notes"] {
        let files = folder(name);
        assert!(files.len() >= 2, "{name} has files");
        let (memory, change) = ingest(&files);
        assert_eq!(change.roots.len(), files.len());
        assert!(change.created as usize > 2 * files.len(), "{name}");
        for (path, text) in &files {
            let mut words = text
                .split_whitespace()
                .filter(|word| word.len() > 6 && word.chars().all(char::is_alphabetic));
            let everything: String = memory
                .ids()
                .iter()
                .map(|id| format!("{:?}", memory.new_object(id)))
                .collect();
            assert!(
                words.all(|word| everything.contains(word)),
                "the memory contains every word of {path}"
            );
        }
    }
}

#[test]
fn an_inserted_line_at_any_heading_of_a_real_file_rewrites_no_other() {
    for (path, text) in folder("tests/fixtures/notes").iter().chain(&folder("docs/tour")) {
        let mark = match Format::from_path(path) {
            Some(Format::Org) => "\n* ",
            Some(Format::Markdown) => "\n\n# ",
            _ => "\n",
        };
        let new = if mark == "\n" {
            "\n{\"role\":\"user\",\"content\":\"new\"}".to_owned()
        } else {
            format!("{mark}New\nnew\n")
        };
        for (at, _) in text.match_indices(mark).filter(|(at, _)| *at + 1 < text.len()) {
            let (mut memory, _) = ingest(&[(path.clone(), text.clone())]);
            let change = memory.ingest(&[(path, &format!("{}{new}{}", &text[..at], &text[at..]))]);
            assert_eq!(
                (change.created, change.updated, change.removed),
                (1, 0, 0),
                "{path} at byte {at}"
            );
        }
    }
}

#[test]
fn the_tour_has_a_transcript_of_several_days_and_notes_with_states() {
    let (memory, change) = ingest(&folder("docs/tour"));
    assert_eq!(
        change.roots,
        [id("docs/tour/agent-notes.org"), id("docs/tour/transcript.jsonl")]
    );
    let entries = memory.children_of("docs/tour/transcript.jsonl");
    assert!(entries.len() >= 55, "{} entries", entries.len());
    let times: Vec<_> = entries
        .iter()
        .map(|id| memory.object(id).event_time().expect("each turn has a time"))
        .collect();
    assert!(times.is_sorted());
    assert!(times[times.len() - 1].as_micros() - times[0].as_micros() > 3 * 86_400_000_000);
    let headings: Vec<_> = memory
        .ids()
        .into_iter()
        .map(|id| memory.object(id))
        .filter(|object| object.kind() == HEADING_KIND)
        .collect();
    assert!(headings.len() >= 55, "{} headings", headings.len());
    for (name, least) in [
        ("todo", 15),
        ("tags", 10),
        ("properties", 8),
        ("deadline", 1),
        ("closed", 3),
    ] {
        let count = headings
            .iter()
            .filter(|heading| heading.attribute(name).is_some())
            .count();
        assert!(count >= least, "{count} headings have {name}");
    }
    let states = ["TODO", "NEXT", "WAITING", "DONE", "CANCELLED"];
    assert!(states.iter().all(|state| {
        headings
            .iter()
            .any(|heading| heading.attribute("todo") == Some(Value::from(*state)))
    }));
}
