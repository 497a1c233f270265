//! Ids that look like paths. No verb creates or changes a file outside the given folder, whatever the id is.
//!
//! The tests generate ids like the lists of path traversal scanners, from depths, spellings of the parent folder, and
//! targets. If `TREERING_PATHS=FILE:FILE` is set, the tests also use each line of these files as an id.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Folder, bytes_below};

/// Spellings of the parent folder: plain, doubled, percent-encoded once and twice, overlong, with look-alike characters
/// or text terminators.
const UP: [&str; 22] = [
    "../",
    "..\\",
    "..//",
    "..\\/",
    "....//",
    "....\\\\",
    "..%2f",
    "..%5c",
    "%2e%2e/",
    "%2e%2e%2f",
    "%2e%2e\\",
    "%252e%252e%252f",
    "..%c0%af",
    "%c0%ae%c0%ae/",
    "..%u2215",
    "..\u{2215}",
    "..\u{ff0f}",
    "\u{ff0e}\u{ff0e}/",
    ".\u{200b}./",
    "..;/",
    ".../",
    "/..",
];
/// The target paths of a path traversal.
const TARGETS: [&str; 9] = [
    "etc/passwd",
    "etc/passwd%00.md",
    "boot.ini",
    "windows\\win.ini",
    ".ssh/authorized_keys",
    "tmp/treering-escaped",
    "treering.toml",
    ".git/hooks/post-commit",
    "escaped.md",
];
/// Further dangerous ids, which are used unchanged.
const ALONE: [&str; 24] = [
    "/etc/passwd",
    "/",
    "//",
    ".",
    "..",
    "...",
    "~",
    "~/x",
    "~root/x",
    "C:\\x",
    "\\\\host\\share",
    "file:///etc/passwd",
    "con",
    "nul.md",
    "aux",
    "a/./b",
    "a//b",
    "a/../../b",
    "-rf",
    "--help",
    "$HOME/x",
    "`id`",
    "$(id)",
    ".treering/manifest",
];

/// Returns all ids of these tests, without duplicates.
fn ids() -> BTreeSet<String> {
    let mut ids: BTreeSet<String> = ALONE.map(str::to_owned).into();
    ids.insert("notes/plain".to_owned());
    for up in UP {
        for depth in [1, 2, 3, 6, 10, 16] {
            for target in TARGETS {
                ids.insert(up.repeat(depth) + target);
                ids.insert(format!("notes/{}{target}", up.repeat(depth)));
            }
        }
    }
    let lists = std::env::var("TREERING_PATHS").unwrap_or_default();
    if lists.is_empty() {
        let note = "skipped: further lists of paths (set TREERING_PATHS to use them)\n";
        std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes()).unwrap();
    }
    for list in lists.split(':').filter(|list| !list.is_empty()) {
        let text = fs::read_to_string(list).unwrap();
        ids.extend(text.lines().filter(|line| !line.is_empty()).map(str::to_owned));
    }
    ids
}

/// Returns the paths and modification times of some system files, to check that no test changes them.
fn surroundings() -> Vec<(String, std::time::SystemTime)> {
    let listed = ["/", "/etc", "/boot", "/root"]
        .into_iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    let mut all: Vec<_> = listed
        .flatten()
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| {
            (
                entry.path().display().to_string(),
                entry.metadata().unwrap().modified().unwrap(),
            )
        })
        .collect();
    all.sort();
    all
}

fn lines(lines: impl Iterator<Item = Value>) -> String {
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the folders in `folder` that contain files, except for the store and the home folder.
fn places(folder: &Folder) -> BTreeSet<String> {
    let root = folder.path("");
    let files = bytes_below(&root).into_iter().map(|(path, _)| {
        let inside = path.strip_prefix(&root).unwrap();
        inside
            .components()
            .take(3)
            .map(|part| part.as_os_str().to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    });
    files
        .filter(|path| path[0] != ".treering" && path[0] != "home")
        .map(|path| path.join("/"))
        .collect()
}

#[test]
fn a1_no_id_leads_out_of_the_folder_that_a_verb_was_given() {
    let ids = ids();
    assert!(ids.len() > 2_000, "{}", ids.len());
    let before = surroundings();
    let folder = Folder::with_store();
    let out = "deep/er/out";
    fs::create_dir_all(folder.path("deep/er")).unwrap();

    // Use each id as the id of an item, of a session, and of a staged change.
    let items = lines(
        ids.iter()
            .map(|id| json!({"id": id, "text": format!("text of {id}"), "kind": "block", "scope": "global"})),
    );
    let ran = folder.feed(&["remember", "--jsonl", "-", "--json"], items);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let answer = &ran.documents()[0];
    let (stored, refused) = (
        answer["stored"].as_u64().unwrap(),
        answer["refused"].as_array().unwrap().len() as u64,
    );
    assert_eq!(stored + refused, ids.len() as u64, "{answer}");
    assert!(stored > 1_000, "most of these texts are valid ids: {stored}");
    for id in ids.iter().step_by(97) {
        for arguments in [
            &["session", "append", "hello", "--session", id][..],
            &["note", "write", "hello", "--session", "s", "--replace", id],
            &["guard", "stage", id, "--jsonl", "-"],
            &["snapshot", id],
            &["put", id, "--kind", "k", "--content", "text"],
        ] {
            let ran = folder.feed(arguments, "{\"id\":\"a\",\"kind\":\"k\",\"content\":\"x\"}\n");
            assert!((0..=4).contains(&ran.code), "{arguments:?}: {ran:?}");
        }
    }
    assert_eq!(
        places(&folder),
        BTreeSet::new(),
        "the verbs must write only to the store"
    );

    // Use each id as the name of an exported file.
    for (form, to) in [
        ("blocks", out),
        ("markdown", "deep/er/md"),
        ("org", "deep/er/org"),
    ] {
        let ran = folder.run(&["export", "--format", form, to]);
        assert_eq!(ran.code, 0, "{form}: {}", ran.err);
    }
    let written = places(&folder);
    assert!(
        !written.is_empty() && written.iter().all(|place| place.starts_with("deep/er/")),
        "{written:?}"
    );
    let blocks = bytes_below(&folder.path(out)).len() as u64;
    assert!(
        folder.path(out).join("notes/plain.md").is_file(),
        "an ordinary id has a file"
    );
    assert!(
        blocks < stored / 10,
        "most of these ids cannot be the name of a block file: {blocks}"
    );

    // Use each id in the front matter of an imported file.
    let hostile = folder.path("hostile");
    fs::create_dir(&hostile).unwrap();
    for (number, id) in ids.iter().enumerate().step_by(7) {
        let page = format!(
            "---\nid: {}\nscope: global\n---\n\ntext\n",
            Value::from(id.as_str())
        );
        fs::write(hostile.join(format!("{number}.md")), page).unwrap();
    }
    let ran = folder.run(&["import", "hostile"]);
    assert!(ran.code <= 1, "{}", ran.err);
    assert!(
        places(&folder)
            .iter()
            .all(|place| place.starts_with("deep/er/") || place.starts_with("hostile/"))
    );
    assert!(!Path::new("/tmp/treering-escaped").exists());
    assert_eq!(surroundings(), before);
    assert_eq!(folder.json(&["verify"])["ok"], true);
}
