//! `put --jsonl` and `export`: streams of objects in and out.

use serde_json::{Value, json};

use crate::program::{Folder, check_fields, column};

fn line(number: usize) -> String {
    format!("{{\"id\":\"o/{number}\",\"kind\":\"note\",\"content\":\"text {number}\"}}\n")
}

#[test]
fn all_lines_make_one_commit_unless_told_otherwise() {
    let folder = Folder::with_store();
    let lines: String = (0..10).map(line).collect();
    folder.write("lines.jsonl", &lines);
    let put = folder.json(&["put", "--jsonl", "lines.jsonl"]);
    check_fields(
        &put,
        &[
            ("objects", "n"),
            ("created", "n"),
            ("updated", "n"),
            ("unchanged", "n"),
            ("removed", "n"),
            ("commit", "d"),
            ("seq", "n"),
            ("root", "d"),
        ],
    );
    assert_eq!(
        (
            put["objects"].as_u64(),
            put["created"].as_u64(),
            put["seq"].as_u64()
        ),
        (Some(10), Some(10), Some(1))
    );
    let again = folder.json(&["put", "--jsonl", "lines.jsonl"]);
    assert_eq!(
        (again["unchanged"].as_u64(), again["seq"].as_u64()),
        (Some(10), Some(1))
    );
    let other = Folder::with_store();
    let ran = other.feed(&["put", "--jsonl", "-", "--batch", "3", "--json"], &lines);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.documents()[0]["seq"], 4);
    assert_eq!(
        ran.documents()[0]["root"],
        put["root"],
        "the final state does not depend on the size of the batches"
    );
}

#[test]
fn a_bad_line_is_named_and_earlier_batches_stay() {
    for (bad, position) in [
        ("{\"id\":\"x\"}", 5),
        ("not json", 6),
        ("{\"id\":\"x\",\"kind\":\"k\",\"colour\":1}", 4),
    ] {
        let folder = Folder::with_store();
        let mut lines: Vec<String> = (0..9).map(line).collect();
        lines.insert(position, format!("{bad}\n"));
        let ran = folder.feed(&["put", "--jsonl", "-", "--batch", "2", "--json"], lines.concat());
        let message = ran.refusal(1)["message"].as_str().unwrap().to_owned();
        assert!(message.contains(&format!("line {}", position + 1)), "{message}");
        let kept = folder.stream(&["list"]).len();
        assert_eq!(
            kept,
            position / 2 * 2,
            "CLI-5: the whole batches before the bad line are stored, and nothing of its own batch"
        );
    }
}

#[test]
fn a_refusal_by_the_commit_names_the_line_too() {
    let folder = Folder::with_store();
    let lines = [
        line(0),
        "\n".into(),
        "{\"id\":\"lost\",\"kind\":\"k\",\"parent\":\"nobody\"}\n".into(),
    ]
    .concat();
    let ran = folder.feed(&["put", "--jsonl", "-", "--json"], lines);
    let error = ran.refusal(1);
    assert!(error["message"].as_str().unwrap().contains("line 3"), "{error}");
    assert!(folder.stream(&["list"]).is_empty());
}

#[test]
fn a_child_may_stand_before_its_parent_in_a_batch() {
    let folder = Folder::with_store();
    let lines = "{\"id\":\"child\",\"kind\":\"k\",\"parent\":\"top\"}\n{\"id\":\"top\",\"kind\":\"k\"}\n";
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], lines).code, 0);
    assert_eq!(folder.json(&["get", "top"])["children"][0], "child");
}

#[test]
fn attributes_have_the_types_of_json() {
    let folder = Folder::with_store();
    let object = r#"{"id":"a","kind":"k","attributes":{"n":1,"f":1.0,"t":"x","b":true,"l":[1,[2]],"m":{"k":null},"none":null}}"#;
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], object).code, 0);
    let attributes = &folder.json(&["get", "a"])["attributes"];
    let expected: Value =
        serde_json::from_str(r#"{"n":1,"f":1.0,"t":"x","b":true,"l":[1,[2]],"m":{"k":null}}"#).unwrap();
    assert_eq!(*attributes, expected);
    assert!(attributes["f"].is_f64() && attributes["n"].is_i64());
}

#[test]
fn an_export_comes_back_as_the_same_state() {
    let folder = Folder::with_store();
    folder.put("z-top", "a\u{1}\u{2028}\"\\ text");
    folder.json(&[
        "put",
        "a-below",
        "--kind",
        "k",
        "--parent",
        "z-top",
        "--position",
        "b",
    ]);
    folder.json(&[
        "put",
        "b-below",
        "--kind",
        "k",
        "--parent",
        "z-top",
        "--position",
        "a",
    ]);
    folder.json(&[
        "put",
        "lone",
        "--kind",
        "k",
        "--attr",
        "f:={\"$float\":\"nan\"}",
        "--trust",
        "untrusted",
    ]);
    folder.put("long", &"long text. ".repeat(1_000));
    let exported = folder.run(&["export"]);
    assert_eq!(exported.code, 0);
    assert_eq!(
        column(&exported.documents(), "id"),
        ["lone", "long", "z-top", "b-below", "a-below"]
    );
    let copy = Folder::with_store();
    let ran = copy.feed(&["put", "--jsonl", "-", "--batch", "1", "--json"], &exported.out);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(copy.root(), folder.root());
    assert_eq!(
        copy.json(&["get", "lone"])["origin"],
        "tool_external",
        "the origin in a line can only lower the trust"
    );
    let lowered = Folder::with_store();
    assert_eq!(
        lowered
            .feed(&["put", "--jsonl", "-", "--trust", "untrusted"], &exported.out)
            .code,
        0
    );
    assert_eq!(
        lowered.json(&["get", "z-top"])["origin"],
        "tool_external",
        "and never raise"
    );
}

#[test]
fn an_export_puts_sources_before_what_is_derived_from_them() {
    let folder = Folder::with_store();
    let source = folder.json(&[
        "put",
        "z-source",
        "--kind",
        "note",
        "--trust",
        "untrusted",
        "--content",
        "said",
    ]);
    let line = json!({ "id": "a-summary", "kind": "note", "derived_from": [source["digest"]] });
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], format!("{line}\n")).code, 0);
    let root = folder.json(&["head"])["root"].clone();
    let exported = folder.run(&["export"]).out;
    for batch in ["1", "100"] {
        let copy = Folder::with_store();
        assert_eq!(
            copy.feed(&["put", "--jsonl", "-", "--batch", batch], &exported)
                .code,
            0
        );
        assert_eq!(copy.json(&["head"])["root"], root);
        assert_eq!(copy.json(&["get", "a-summary"])["origin"], "tool_external");
    }
    // A missing source cannot confirm the trust of the object, so the object gets the class `import`.
    let alone = Folder::with_store();
    assert_eq!(alone.feed(&["put", "--jsonl", "-"], format!("{line}\n")).code, 0);
    assert_eq!(alone.json(&["get", "a-summary"])["origin"], "import");
}

#[test]
fn an_export_has_the_earlier_versions_that_something_is_derived_from() {
    let folder = Folder::with_store();
    let source = folder.put("source", "said");
    let line = json!({ "id": "a-summary", "kind": "note", "derived_from": [source["digest"]] });
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], format!("{line}\n")).code, 0);
    folder.put("source", "said otherwise");
    let exported = folder.run(&["export"]).out;
    let past = exported.lines().next().unwrap();
    assert!(
        past.contains("\"past\":true") && past.contains("said\""),
        "{past}"
    );
    for batch in ["1", "100"] {
        let copy = Folder::with_store();
        let done = copy.feed(&["put", "--jsonl", "-", "--batch", batch, "--json"], &exported);
        assert_eq!(done.documents()[0]["created"], 2);
        assert_eq!(copy.root(), folder.root());
        assert_eq!(copy.json(&["get", "a-summary"])["origin"], "direct_user");
        assert_eq!(copy.run(&["export"]).out, exported);
        assert_eq!(copy.json(&["verify"])["ok"], true);
    }
}

#[test]
fn an_export_goes_to_a_file_whole_or_not_at_all() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.put("a", "two");
    let told = folder.json(&["export", "out.jsonl", "--at", "@-1"]);
    assert_eq!(told["objects"], 1);
    assert!(
        std::fs::read_to_string(folder.path("out.jsonl"))
            .unwrap()
            .contains("\"one\"")
    );
    folder.refused(6, &["export", "no/such/folder/out.jsonl"]);
    // The name of a folder fails only when the complete file is renamed to it.
    folder.refused(6, &["export", "new.jsonl/"]);
    let files = std::fs::read_dir(folder.path(".")).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    let is_unfinished = |name: &std::ffi::OsString| name.to_string_lossy().contains("unfinished");
    assert!(!names.iter().any(is_unfinished), "{names:?}");
}

#[test]
fn an_export_needs_no_room_in_the_name_of_its_file() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    let name = format!("{}.jsonl", "n".repeat(249));
    assert_eq!(folder.json(&["export", &name])["objects"], 1);
    folder.refused(6, &["export", &format!("n{name}")]);
}

fn past(number: usize) -> String {
    format!("{{\"id\":\"p\",\"kind\":\"note\",\"content\":\"{number}\",\"past\":true}}\n")
}

#[test]
fn earlier_versions_are_counted_and_wait_for_what_goes_with_them() {
    let many: String = (0..20_000).map(past).collect();
    let folder = Folder::with_store();
    let ran = folder.feed(&["put", "--jsonl", "-", "--batch", "10", "--json"], &many);
    let refused = ran.refusal(1);
    assert_eq!(refused["code"], "over_limit");
    assert!(
        refused["message"].as_str().unwrap().starts_with("line 10001: "),
        "{refused}"
    );
    let ran = folder.feed(&["put", "--jsonl", "-"], &many);
    assert!(
        ran.err.contains("20000 earlier versions, from line 1 on"),
        "{ran:?}"
    );
    // Earlier versions are stored even if their batch contains only objects that already exist.
    folder.json(&["put", "o/0", "--kind", "note", "--content", "text 0"]);
    let source = Folder::with_store();
    let first = source.put("p", "said");
    let said = source
        .run(&["export"])
        .out
        .replace("{\"id\"", "{\"past\":true,\"id\"");
    let summary = json!({ "id": "summary", "kind": "note", "derived_from": [first["digest"]] });
    let all = format!("{said}{}{summary}\n{}", line(0), past(1));
    let ran = folder.feed(&["put", "--jsonl", "-", "--batch", "1"], &all);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("1 earlier version, from line 4 on"), "{ran:?}");
    assert_eq!(folder.json(&["get", "summary"])["origin"], "direct_user");
}

const NOTES: &str = "#+TITLE: Notes\n* TODO Plan :work:\nText.\n** Below\n";

#[test]
fn org_and_markdown_come_back_from_a_folder_and_from_one_file() {
    let folder = Folder::with_store();
    folder.write("notes/a.org", NOTES);
    folder.write("b.md", "# One\n\nText.\n\n");
    folder.json(&["ingest", "notes", "b.md", "--trust", "untrusted"]);
    folder.put("tea", "green\n* no heading");
    folder.json(&["put", "sub", "--kind", "k", "--parent", "tea", "--position", "x"]);
    for (format, list) in [("org", "objects.org"), ("markdown", "objects.md")] {
        let told = folder.json(&["export", "--format", format, format]);
        assert_eq!((&told["files"], &told["objects"]), (&json!(2), &json!(7)));
        let copy = Folder::with_store();
        std::fs::rename(folder.path(format), copy.path("in")).unwrap();
        assert!(copy.path("in").join(list).exists());
        let inside = copy
            .command(&["ingest", ".", "--as-me"])
            .current_dir(copy.path("in"))
            .status();
        assert!(inside.unwrap().success());
        assert_eq!(copy.root(), folder.root());
        folder.json(&["export", "--format", format, "all.x"]);
        let one = Folder::with_store();
        one.write("all.x", std::fs::read(folder.path("all.x")).unwrap());
        one.json(&["ingest", "--as-me", "--format", format, "all.x"]);
        assert_eq!(one.root(), folder.root());
        let printed = folder.run(&["export", "--format", format]);
        assert_eq!(
            printed.out,
            std::fs::read_to_string(folder.path("all.x")).unwrap()
        );
        std::fs::remove_file(folder.path("all.x")).unwrap();
    }
    assert_eq!(folder.run(&["export", "--format", "pdf"]).code, 2);
}

/// CLI-7: an export overwrites no file, and writes nothing outside the folder.
#[test]
fn an_export_of_documents_overwrites_nothing_and_stays_in_its_folder() {
    let folder = Folder::with_store();
    folder.write("notes/a.org", NOTES);
    folder.json(&["ingest", "notes"]);
    let export = ["export", "--format", "org", "out"];
    folder.write("out/notes/a.org", "mine");
    assert_eq!(folder.refused(1, &export)["code"], "file_exists");
    assert_eq!(
        std::fs::read_to_string(folder.path("out/notes/a.org")).unwrap(),
        "mine"
    );
    folder.json(&["export", "--format", "org", "out", "--force"]);
    assert_eq!(
        std::fs::read_to_string(folder.path("out/notes/a.org")).unwrap(),
        NOTES
    );
    // The export does not follow a symlink from the folder to a path outside.
    std::fs::remove_dir_all(folder.path("out/notes")).unwrap();
    std::fs::create_dir(folder.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(folder.path("elsewhere"), folder.path("out/notes")).unwrap();
    assert_eq!(folder.refused(1, &export)["code"], "not_a_folder");
    folder.write("one.org", "mine");
    assert_eq!(
        folder.refused(1, &["export", "--format", "org", "one.org"])["code"],
        "file_exists"
    );
    assert_eq!(std::fs::read_dir(folder.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_missing_file_is_not_found_and_makes_no_store() {
    let folder = Folder::new();
    assert_eq!(
        folder.refused(1, &["put", "--jsonl", "nowhere.jsonl"])["code"],
        "no_file"
    );
    assert!(!folder.path("home").exists());
}

/// An export that is put back replaces what changed since, and `put` says so.
#[test]
fn put_counts_the_newer_versions_that_it_replaces() {
    let folder = Folder::with_store();
    folder.write("lines.jsonl", (0..3).map(line).collect::<String>());
    let first = folder.json(&["put", "--jsonl", "lines.jsonl"]);
    assert_eq!(first["newer_replaced"], 0);
    folder.json(&["export", "out.jsonl"]);
    folder.put("o/1", "a newer text");
    // The file was written before the newer version.
    let put = folder.json(&["put", "--jsonl", "out.jsonl"]);
    assert_eq!((&put["updated"], &put["newer_replaced"]), (&json!(1), &json!(1)));
    // A stream has no time, but the line is an earlier version of this store.
    folder.put("o/1", "a newer text");
    let lines = std::fs::read_to_string(folder.path("out.jsonl")).unwrap();
    let ran = folder.feed(&["put", "--jsonl", "-"], &lines);
    assert!(
        ran.code == 0 && ran.err.contains("1 newer version") && ran.err.contains("o/1"),
        "{ran:?}"
    );
    // A change of what is stored is no return.
    let ran = folder.feed(
        &["put", "--jsonl", "-", "--json"],
        lines.replace("text 1", "text 7"),
    );
    assert_eq!(ran.documents()[0]["newer_replaced"], 0);
    folder.json(&["undo"]);
    assert_eq!(folder.json(&["get", "o/1"])["content"], "text 1");
    // Another machine wrote after the export, a version that this store never had.
    let other = Folder::with_store();
    other.put("o/1", "another text");
    std::fs::copy(folder.path("out.jsonl"), other.path("copy.jsonl")).unwrap();
    let old = std::fs::File::options()
        .append(true)
        .open(other.path("copy.jsonl"))
        .unwrap();
    old.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let put = other.json(&["put", "--jsonl", "copy.jsonl"]);
    assert_eq!((&put["created"], &put["newer_replaced"]), (&json!(2), &json!(1)));
}
