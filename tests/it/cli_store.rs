//! Tests of the choice of the store, and of `init`, `head`, `stats` and `verify`.

use std::fs;

use crate::program::{Folder, bytes_below, check_fields, text};

#[test]
fn init_makes_a_store_once() {
    let folder = Folder::new();
    let made = folder.json(&["init"]);
    check_fields(&made, &[("store", "s"), ("hash", "s"), ("format", "n")]);
    assert_eq!(
        (made["hash"].as_str(), made["format"].as_u64()),
        (Some("blake3"), Some(1))
    );
    assert!(text(&made["store"]).ends_with("/.treering"));
    let before = bytes_below(&folder.store());
    assert_eq!(folder.refused(1, &["init"])["code"], "store_exists");
    assert_eq!(
        bytes_below(&folder.store()),
        before,
        "`init` does not change an existing store"
    );
    assert!(folder.json(&["init", "--store", "other/place"]).is_object());
    assert!(folder.path("other/place/format").exists());
}

/// Returns a store with every kind of file, after writes, a checkpoint, a garbage collection and an erasure.
fn store_with_all_its_files() -> Folder {
    let folder = Folder::with_store();
    let line = |number| {
        format!(
            "{{\"id\":\"o/{number}\",\"kind\":\"k\",\"content\":\"{}\"}}\n",
            "x".repeat(3_000)
        )
    };
    let lines: String = (0..400).map(line).collect();
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], lines).code, 0);
    folder.json(&["gc"]);
    folder.json(&["erase", "o/1", "--yes"]);
    assert!(folder.store().join("checkpoint").is_dir() && folder.store().join("compact.lock").exists());
    folder
}

#[test]
fn init_knows_a_store_whatever_files_it_has_and_whatever_is_wrong_with_it() {
    let folder = store_with_all_its_files();
    let hint = |refused: &serde_json::Value| {
        assert_eq!(refused["code"], "store_exists", "{refused}");
        text(&refused["hint"])
    };
    assert!(hint(&folder.refused(1, &["init"])).contains("treering head"));
    folder.write(".treering/.DS_Store", "");
    assert!(hint(&folder.refused(1, &["init"])).contains("treering head"));
    for file in ["manifest", "format"] {
        fs::remove_file(folder.store().join(file)).unwrap();
        let before = bytes_below(&folder.store());
        let hint = hint(&folder.refused(1, &["init"]));
        assert!(
            hint.contains("treering doctor --store") && hint.contains(file),
            "{hint}"
        );
        assert_eq!(bytes_below(&folder.store()), before);
    }
}

#[test]
fn every_file_and_every_checkpoint_is_listed() {
    let folder = store_with_all_its_files();
    let listed = folder.stream(&["inspect", "files"]);
    let bytes: u64 = listed.iter().map(|file| file["bytes"].as_u64().unwrap()).sum();
    let on_disk: usize = bytes_below(&folder.store())
        .iter()
        .map(|(_, bytes)| bytes.len())
        .sum();
    assert_eq!(bytes, on_disk as u64, "{listed:?}");
    let checkpoints = || {
        let mut files = folder.stream(&["inspect", "files"]);
        files.retain(|file| text(&file["file"]).starts_with("checkpoint/"));
        files
    };
    let found = checkpoints();
    assert_eq!(found[0]["commits"], 3, "{found:?}");
    assert_eq!(found[0]["state"], "read when the store is opened");
    let file = folder.store().join(text(&found[0]["file"]));
    let mut damaged = fs::read(&file).unwrap();
    damaged[20] ^= 1;
    fs::write(&file, damaged).unwrap();
    let found = checkpoints();
    assert!(
        found[0]["commits"].is_null() && text(&found[0]["state"]).contains("checksum"),
        "{found:?}"
    );
    fs::remove_dir_all(folder.store().join("checkpoint")).unwrap();
    assert!(checkpoints().is_empty());
}

#[test]
fn help_of_a_verb_does_not_run_it() {
    let folder = Folder::new();
    for arguments in [
        &["init", "--help"][..],
        &["init", "-h"],
        &["help", "init"],
        &["tour", "--help"],
        &["put", "-h"],
    ] {
        let ran = folder.run(arguments);
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("Examples:"), "{ran:?}");
    }
    assert!(!folder.store().exists() && !folder.path("home").exists());
}

#[test]
fn the_store_is_named_or_found() {
    let folder = Folder::new();
    for name in ["by-option", "by-variable", "project/.treering", "data/treering"] {
        let store = folder.path(name);
        folder.json(&["init", "--store", store.to_str().unwrap()]);
        folder.json(&["put", name, "--kind", "k", "--store", store.to_str().unwrap()]);
    }
    fs::create_dir_all(folder.path("project/deep/deeper")).unwrap();
    let found = |option: bool, variable: bool, inside: bool| {
        let mut command = folder.command(&["list", "--json"]);
        command.env("XDG_DATA_HOME", folder.path("data"));
        if option {
            command.arg("--store").arg(folder.path("by-option"));
        }
        if variable {
            command.env("TREERING_STORE", folder.path("by-variable"));
        }
        if inside {
            command.current_dir(folder.path("project/deep/deeper"));
        }
        let ran = crate::program::Ran::of(&command.output().unwrap());
        text(&ran.documents()[0]["id"])
    };
    assert_eq!(found(true, true, true), "by-option");
    assert_eq!(found(false, true, true), "by-variable");
    assert_eq!(found(false, false, true), "project/.treering");
    assert_eq!(found(false, false, false), "data/treering");
}

#[test]
fn a_verb_that_reads_never_makes_a_store() {
    let folder = Folder::new();
    for arguments in [
        &["get", "a"][..],
        &["list"],
        &["head"],
        &["log"],
        &["snapshots"],
        &["history", "a"],
        &["diff", "@"],
        &["prove", "a"],
        &["contains", "00000000"],
        &["verify"],
        &["export"],
        &["stats"],
        &["undo"],
        &["redo"],
        &["remove", "a"],
        &["rollback", "@"],
        &["snapshot"],
    ] {
        assert_eq!(folder.refused(1, arguments)["code"], "no_store", "{arguments:?}");
        let mut named = arguments.to_vec();
        named.extend(["--store", "nowhere"]);
        assert_eq!(folder.refused(1, &named)["code"], "no_store", "{named:?}");
    }
    assert!(
        fs::read_dir(folder.path("")).unwrap().next().is_none(),
        "nothing was made"
    );
}

#[test]
fn put_makes_a_missing_store_and_says_so() {
    let folder = Folder::new();
    let ran = folder.run(&["put", "a", "--kind", "k"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.contains("created a new store in") && ran.err.contains("home/.local/share/treering"),
        "{ran:?}"
    );
    let ran = folder.run(&["put", "a", "--kind", "k", "--store", "s", "--json"]);
    assert_eq!((ran.code, ran.documents().len()), (0, 1));
    assert!(ran.err.contains("created a new store in s"), "{ran:?}");
    let ran = folder.run(&["put", "b", "--kind", "k", "--store", "s", "--json"]);
    assert_eq!(ran.err, "");
}

#[test]
fn a_folder_that_is_no_store_is_left_alone() {
    let folder = Folder::new();
    folder.write("documents/letter.txt", "dear");
    let before = bytes_below(&folder.path("documents"));
    assert_eq!(
        folder.refused(1, &["head", "--store", "documents"])["code"],
        "no_store"
    );
    for arguments in [&["init"][..], &["put", "a", "--kind", "k"]] {
        let mut named = arguments.to_vec();
        named.extend(["--store", "documents"]);
        assert_eq!(folder.refused(1, &named)["code"], "not_a_store");
    }
    for store in ["documents/letter.txt", "documents/letter.txt/below"] {
        for arguments in [
            &["put", "a", "--kind", "k", "--store", store][..],
            &["head", "--store", store],
            &["init", "--store", store],
            &["verify", "--store", store],
        ] {
            let error = folder.refused(1, arguments);
            assert_eq!(error["code"], "no_store", "{error}");
            assert!(error["message"].to_string().contains("is a file"), "{error}");
        }
    }
    assert_eq!(bytes_below(&folder.path("documents")), before);
}

#[test]
fn head_and_stats_have_their_fields() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.put("a", "two");
    let head = folder.json(&["head"]);
    let fields = [
        ("root", "d"),
        ("commit", "d"),
        ("seq", "n"),
        ("objects", "n"),
        ("history", "n"),
        ("hash", "s"),
    ];
    check_fields(&head, &fields);
    assert_eq!(
        (
            head["objects"].as_u64(),
            head["history"].as_u64(),
            head["seq"].as_u64()
        ),
        (Some(1), Some(2), Some(2))
    );
    let names = [
        "objects",
        "history",
        "commits",
        "snapshots",
        "segments",
        "log_bytes",
        "live_bytes",
        "orphans",
    ];
    let stats = folder.json(&["stats"]);
    check_fields(&stats, &names.map(|name| (name, "n")));
    assert_eq!(
        (stats["commits"].as_u64(), stats["orphans"].as_u64()),
        (Some(3), Some(0))
    );
}

#[test]
fn verify_says_ok_and_counts() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    for arguments in [
        &["verify"][..],
        &["verify", "--quick"],
        &["verify", "--at", "@-1"],
    ] {
        let report = folder.json(arguments);
        let fields = [
            ("commits", "n"),
            ("versions", "n"),
            ("bytes", "n"),
            ("erased", "n"),
            ("thinned", "n"),
            ("derived", "l"),
        ];
        check_fields(&report, &fields);
        assert_eq!(report["ok"], true);
    }
    assert_eq!(folder.json(&["verify"])["commits"], 2);
    folder.refused(1, &["verify", "--at", "no-such-name"]);
}

#[test]
fn verify_without_the_derived_file_is_ok_and_says_so() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    fs::remove_file(folder.store().join("live")).unwrap();
    let report = folder.json(&["verify"]);
    assert_eq!(report["ok"], true);
    assert!(!report["derived"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(folder.json(&["get", "a"])["content"], "one");
}

#[test]
fn a_past_state_has_no_number_of_versions() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    for verb in ["head", "stats"] {
        assert!(folder.json(&[verb])["history"].is_u64(), "{verb}");
        let past = folder.json(&[verb, "--at", "seq:0"]);
        assert!(past["history"].is_null() && past["objects"] == 0, "{past}");
    }
}

#[test]
fn a_tally_by_an_attribute_that_nothing_has_says_so() {
    let folder = Folder::with_store();
    folder.json(&["put", "a", "--kind", "k", "--attr", "todo=open"]);
    let err = |by: &str| folder.run(&["stats", "--by", by, "--json"]).err;
    assert!(err("tood").contains("no_attribute"));
    assert_eq!(err("todo") + &err("kind"), "");
}
