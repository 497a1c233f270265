//! `ingest`: its answers, and the input that it accepts and refuses.

use crate::program::{Folder, check_fields, column, text};

const NOTES: &str = "* Tea\n:PROPERTIES:\n:ID: tea\n:END:\nAda drinks green tea.\n** Water\nAt 80 degrees.\n* Coffee\nNone.\n";

#[test]
fn one_bad_file_refuses_all_and_each_bad_file_is_named() {
    let folder = Folder::with_store();
    folder.write("in/a.org", NOTES);
    folder.write("in/b.org", [b'*', b' ', 0xff, b'\n']);
    let error = folder.refused(1, &["ingest", "in"]);
    assert!(error["message"].to_string().contains("in/b.org:1"), "{error}");
    assert!(error["hint"].to_string().contains("--skip-bad"), "{error}");
    folder.write("in/c.jsonl", "{\"id\":\"x\",\"kind\":\"k\"}\nnot json\n");
    let ran = folder.run(&["ingest", "in", "--json"]);
    let error = ran.refusal(1);
    assert_eq!(error["code"], "bad_documents");
    assert_eq!(error["ids"], serde_json::json!(["in/b.org", "in/c.jsonl"]));
    assert!(
        ran.err.contains("in/b.org:1") && ran.err.contains("in/c.jsonl:2"),
        "{ran:?}"
    );
    assert_eq!(folder.seq(), 0, "nothing was written");
    let answer = folder.json(&["ingest", "in", "--skip-bad"]);
    assert_eq!(answer["documents"], 1);
    let skipped: Vec<_> = answer["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|bad| &bad["path"])
        .collect();
    assert_eq!(skipped, ["in/b.org", "in/c.jsonl"]);
    assert_eq!(folder.json(&["get", "tea"])["content"], "Ada drinks green tea.");
}

#[test]
fn ingest_counts_and_changes_only_what_changed() {
    let folder = Folder::with_store();
    folder.write("notes.org", NOTES);
    let first = folder.json(&["ingest", "notes.org"]);
    check_fields(
        &first,
        &[
            ("objects", "n"),
            ("created", "n"),
            ("updated", "n"),
            ("unchanged", "n"),
            ("removed", "n"),
            ("roots", "l"),
            ("commit", "d"),
            ("seq", "n"),
            ("root", "d"),
        ],
    );
    assert_eq!(
        (
            first["objects"].as_u64(),
            first["created"].as_u64(),
            first["seq"].as_u64()
        ),
        (Some(4), Some(4), Some(1))
    );
    assert_eq!(first["roots"][0], "notes.org");
    assert_eq!(folder.json(&["get", "tea"])["content"], "Ada drinks green tea.");
    let again = folder.json(&["ingest", "notes.org"]);
    assert_eq!(
        (again["unchanged"].as_u64(), &again["seq"], &again["root"]),
        (Some(4), &first["seq"], &first["root"])
    );
    folder.write(
        "notes.org",
        NOTES.replace("green", "black").replace("* Coffee\nNone.\n", ""),
    );
    let third = folder.json(&["ingest", "notes.org"]);
    assert_eq!(
        (
            third["updated"].as_u64(),
            third["removed"].as_u64(),
            third["unchanged"].as_u64()
        ),
        (Some(1), Some(1), Some(2))
    );
    assert_eq!(folder.stream(&["log", "--limit", "1"])[0]["op"], "ingest");
    assert_eq!(
        folder.json(&["head", "--at", "snap:0"])["root"],
        first["root"],
        "the snapshot ring contains the state before"
    );
    folder.json(&["undo"]);
    assert_eq!(folder.root(), first["root"].as_str().unwrap());
}

#[test]
fn folders_are_read_in_one_commit() {
    let folder = Folder::with_store();
    folder.write("in/b/notes.org", NOTES);
    folder.write("in/a.md", "# Title\n\nText.\n");
    folder.write("in/.hidden.md", "# No\n");
    folder.write("in/picture.png", "no text");
    folder.write("log.jsonl", "{\"role\":\"user\",\"content\":\"hello\"}\n");
    let done = folder.json(&["ingest", "in", "log.jsonl", "in/a.md", "--scope", "work"]);
    assert_eq!(
        done["roots"],
        serde_json::json!(["in/a.md", "in/b/notes.org", "log.jsonl"])
    );
    assert_eq!(folder.seq(), 1);
    assert!(
        column(&folder.stream(&["list"]), "scope")
            .iter()
            .all(|scope| scope == "work")
    );
    std::fs::create_dir(folder.path("empty")).unwrap();
    let nothing = folder.json(&["ingest", "empty"]);
    assert_eq!(nothing["created"], 0);
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let folder = Folder::with_store();
    let root = folder.root();
    folder.write("good.org", NOTES);
    folder.write("twice.org", NOTES);
    folder.write("picture.png", "no text");
    folder.write("broken.jsonl", "{\"role\":\n");
    folder.write("latin.md", b"\xe9t\xe9");
    let refused = |arguments: &[&str]| folder.refused(1, arguments);
    assert!(
        refused(&["ingest", "good.org", "twice.org"])["message"]
            .as_str()
            .unwrap()
            .contains("tea")
    );
    let error = refused(&["ingest", "good.org", "picture.png"]);
    assert_eq!(error["code"], "unsupported_document");
    assert!(error["hint"].as_str().unwrap().contains(".org"));
    assert_eq!(refused(&["ingest", "good.org", "nowhere.org"])["code"], "no_file");
    refused(&["ingest", "broken.jsonl"]);
    refused(&["ingest", "latin.md"]);
    assert_eq!(folder.root(), root);
    assert_eq!(folder.run(&["ingest"]).code, 2);
}

#[test]
fn a_form_can_be_named() {
    let folder = Folder::with_store();
    folder.write("notes.txt", NOTES);
    assert_eq!(
        folder.json(&["ingest", "notes.txt", "--format", "org"])["created"],
        4
    );
    assert_eq!(folder.run(&["ingest", "notes.txt", "--format", "word"]).code, 2);
}

#[test]
fn one_file_is_one_document_however_its_path_is_given() {
    let folder = Folder::with_store();
    folder.write("in/notes.org", NOTES);
    let whole = folder.path("in/notes.org").canonicalize().unwrap();
    let whole = whole.to_str().unwrap();
    let inside = format!("../{}/in/notes.org", whole.rsplit('/').nth(2).unwrap());
    for path in [
        "in/notes.org",
        "./in//notes.org",
        "in/x/../notes.org",
        whole,
        inside.as_str(),
    ] {
        if path.contains("/x/") {
            std::fs::create_dir_all(folder.path("in/x")).unwrap();
        }
        let done = folder.json(&["ingest", path]);
        assert_eq!(done["roots"], serde_json::json!(["in/notes.org"]), "{path}");
        assert_eq!(done["objects"], 4, "{path}");
    }
    // A document outside the current folder gets an absolute path, even if the caller passed a relative one.
    let other = tempfile::tempdir().unwrap();
    let outside = other.path().canonicalize().unwrap().join("far.md");
    std::fs::write(&outside, "# Far\n").unwrap();
    let up = "../".repeat(whole.matches('/').count() - 2) + &outside.to_str().unwrap()[1..];
    for path in [outside.to_str().unwrap(), up.as_str()] {
        assert_eq!(
            folder.json(&["ingest", path])["roots"],
            serde_json::json!([outside.to_str().unwrap()])
        );
    }
}

#[test]
fn documents_whose_files_are_gone_are_told_and_removed_on_demand() {
    let folder = Folder::with_store();
    for name in ["in/a.org", "in/sub/b.md", "in/c.md", "inner.md"] {
        folder.write(name, "text\n");
    }
    folder.json(&["ingest", "in", "inner.md"]);
    for name in ["in/a.org", "in/sub/b.md", "inner.md"] {
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    std::fs::remove_dir(folder.path("in/sub")).unwrap();
    std::fs::write(folder.path("in/sub"), "now a file").unwrap();
    let root = folder.root();
    let told = folder.json(&["ingest", "in/c.md"]);
    assert_eq!(told["missing"], serde_json::json!([]), "no folder was given");
    // A document whose file exists is not missing, even if this call did not read the file.
    let told = folder.json(&["ingest", "--format", "org", "in"]);
    assert_eq!(told["missing"], serde_json::json!(["in/a.org", "in/sub/b.md"]));
    assert_eq!((&told["removed"], folder.root()), (&serde_json::json!(0), root));
    let ran = folder.run(&["ingest", "in"]);
    assert!(
        ran.err
            .contains(" (in/a.org, in/sub/b.md) are missing; the documents may belong")
            && ran.err.contains("--prune PATH"),
        "{}",
        ran.err
    );
    // The call keeps documents that --prune does not name.
    let told = folder.json(&["ingest", "in", "--prune", "in/sub/b", "--prune", "inner.md"]);
    assert_eq!(told["missing"], serde_json::json!(["in/a.org", "in/sub/b.md"]));
    let told = folder.json(&["ingest", "in", "--prune", "in/a.org", "--prune", "./in/sub/"]);
    assert_eq!(told["pruned"], serde_json::json!(["in/a.org", "in/sub/b.md"]));
    assert_eq!(
        (&told["missing"], &told["removed"]),
        (&serde_json::json!([]), &serde_json::json!(2))
    );
    assert_eq!(column(&folder.stream(&["list"]), "id"), ["in/c.md", "inner.md"]);
    let ran = folder.run(&["ingest", ".", "--prune", "."]);
    assert!(
        ran.err
            .contains("removed, because their files are missing: 1 document in /"),
        "{ran:?}"
    );
    assert!(ran.err.contains("(inner.md)"), "{ran:?}");
    assert_eq!(column(&folder.stream(&["list"]), "id"), ["in/c.md"]);
}

#[test]
fn a_memory_used_from_two_folders_loses_no_document_that_is_not_named() {
    let (one, two) = (Folder::with_store(), Folder::new());
    one.write("notes/a.org", "* A\n");
    one.json(&["ingest", "notes"]);
    two.write("notes/b.org", "* B\n");
    let store = one.path(".treering");
    let from_two = |arguments: &[&str]| {
        let mut command = two.command(arguments);
        command.env("TREERING_STORE", &store).output().unwrap()
    };
    // --prune needs a path.
    let bare = from_two(&["ingest", "notes", "--prune"]);
    assert_eq!(bare.status.code(), Some(2));
    let done = from_two(&["ingest", "notes"]);
    let said = String::from_utf8(done.stderr).unwrap();
    let folder = two.path("").canonicalize().unwrap();
    let folder = folder.to_str().unwrap().trim_end_matches('/');
    assert!(
        said.contains(&format!(
            "the files of 1 document in {folder} (notes/a.org) are missing;"
        )),
        "{said}"
    );
    from_two(&["ingest", "notes", "--prune", "notes/b.org"]);
    assert_eq!(
        column(&one.stream(&["list", "--kind", "document"]), "id"),
        ["notes/a.org", "notes/b.org"]
    );
}

#[test]
fn a_name_that_is_not_text_is_refused_for_that() {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = Folder::with_store();
    let name = std::ffi::OsStr::from_bytes(b"in/b\xff.org");
    folder.write("in/a.org", NOTES);
    std::fs::write(folder.path("").join(name), NOTES).unwrap();
    for path in [name, "in".as_ref()] {
        let ran = folder.run(&["ingest".as_ref(), path]);
        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.err.contains("is not UTF-8"), "{ran:?}");
    }
    let answer = folder.json(&["ingest", "in", "--skip-bad"]);
    assert_eq!(
        (&answer["documents"], answer["skipped"].as_array().unwrap().len()),
        (&1.into(), 1)
    );
}

#[test]
fn what_the_memory_does_not_take_is_named_and_can_be_left_out() {
    let folder = Folder::new();
    let long = "x".repeat(1_100_000);
    folder.write("in/a.org", NOTES);
    folder.write("in/b.org", format!("* Short\n\n* Long\n{long}\n"));
    folder.write(
        "in/c.jsonl",
        format!("\n{{\"id\":\"c\",\"kind\":\"k\",\"content\":\"{long}\"}}\n"),
    );
    folder.write(
        "in/d.jsonl",
        "{\"id\":\"d\",\"kind\":\"k\",\"parent\":\"nope\"}\n",
    );
    for (file, place, code) in [
        ("in/b.org", "in/b.org:3: ", "over_limit"),
        ("in/c.jsonl", "in/c.jsonl:2: ", "over_limit"),
        ("in/d.jsonl", "in/d.jsonl:1: ", "no_parent"),
    ] {
        let error = folder.refused(1, &["ingest", file]);
        assert!(text(&error["message"]).starts_with(place), "{error}");
        assert_eq!(error["code"], code);
        assert!(!text(&error["hint"]).contains("--skip-bad"), "{error}");
    }
    let error = folder.refused(1, &["ingest", "in"]);
    assert!(text(&error["hint"]).contains("--skip-bad"), "{error}");
    assert!(!folder.store().exists(), "a refused first write creates no store");
    // Runs once with a new store and once with an existing one.
    for _ in 0..2 {
        let answer = folder.json(&["ingest", "in", "--skip-bad"]);
        assert_eq!(
            (&answer["documents"], &answer["objects"]),
            (&1.into(), &4.into()),
            "{answer}"
        );
        let skipped = answer["skipped"].as_array().unwrap();
        assert_eq!(column(skipped, "path"), ["in/b.org", "in/c.jsonl", "in/d.jsonl"]);
    }
    let ran = folder.run(&["ingest", "in", "--skip-bad"]);
    assert!(ran.err.contains("in/b.org:3: "), "{ran:?}");
}

#[test]
fn a_pipe_is_refused_instead_of_read_for_ever() {
    let folder = Folder::with_store();
    folder.make_pipe("pipe.md");
    for arguments in [
        &["ingest", "pipe.md"][..],
        &["ingest", "/dev/zero", "--format", "org"],
    ] {
        let error = folder.refused(1, arguments);
        assert_eq!(error["code"], "not_regular_file", "{error}");
    }
    folder.write("a.md", "# Tea\n");
    let answer = folder.json(&["ingest", "a.md", "pipe.md", "--skip-bad"]);
    assert_eq!(
        (&answer["documents"], &answer["skipped"][0]["path"]),
        (&1.into(), &"pipe.md".into())
    );
}

#[test]
fn what_a_folder_hides_is_named_and_read_on_request() {
    let folder = Folder::with_store();
    for path in ["in/a.md", "in/.b.md", "in/.hidden/c.md", "in/.git/d.md"] {
        folder.write(path, "# Tea\n");
    }
    folder.make_pipe("in/pipe.md");
    std::os::unix::fs::symlink("a.md", folder.path("in/link.md")).unwrap();
    let ran = folder.run(&["ingest", "in"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let named = "left out 4 paths: in/link.md (a symbolic link), in/pipe.md (a special file), in/.b.md (hidden), in/.hidden (hidden)";
    assert!(ran.err.contains(named) && ran.err.contains("--hidden"), "{ran:?}");
    assert_eq!(folder.json(&["ingest", "in", "--hidden"])["documents"], 3);
}
