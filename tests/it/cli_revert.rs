//! Tests of `revert` with the built program.

use std::fmt::Write as _;

use serde_json::Value;

use crate::program::{Folder, column, text};

/// Five sessions write 200 commits. The session `night` writes 12 poisoned facts among them, with the source of a page:
/// four over good facts, four new ones, and four that other sessions correct later.
fn poisoned() -> Folder {
    let folder = Folder::with_store();
    let sessions = ["day", "eve", "ops", "mail"];
    let night = "--session night --trust model --source https://page.example/";
    let (mut script, mut poison) = (String::new(), 0);
    let mut put = |id: &str, content: &str, writer: &str| {
        writeln!(script, "put {id} --kind fact --content '{content}' {writer}").unwrap();
    };
    for number in 0..188 {
        let writer = format!("--session {}", sessions[number % 4]);
        put(
            &format!("facts/{}", number % 60),
            &format!("good {number}"),
            &writer,
        );
        if number % 15 == 14 {
            let id = match poison % 3 {
                0 => format!("facts/{}", number % 60),
                1 => format!("facts/new/{poison}"),
                // Another session writes this one within the next commits.
                _ => format!("facts/{}", (number + 2) % 60),
            };
            put(&id, &format!("poison {poison}"), night);
            poison += 1;
        }
    }
    let ran = folder.feed(&["debug", "--write"], script);
    assert_eq!((ran.code, poison, folder.seq()), (0, 12, 200), "{}", ran.err);
    folder
}

fn contents(folder: &Folder) -> Vec<(String, String)> {
    let lines = folder.stream(&["export"]);
    let mut contents: Vec<_> = lines
        .iter()
        .map(|line| (text(&line["id"]), text(&line["content"])))
        .collect();
    contents.sort_unstable();
    contents
}

fn array<'a>(document: &'a Value, field: &str) -> &'a Vec<Value> {
    document[field].as_array().unwrap()
}

#[test]
fn finding_2_one_command_takes_twelve_poisoned_facts_back_and_keeps_every_later_good_value() {
    let folder = poisoned();
    let before = contents(&folder);
    let root = folder.root();
    // What `undo` cannot do: it stops at the first fact that somebody changed later, and says what to do instead.
    let mut undone = 0;
    let stuck = loop {
        let ran = folder.run(&["--json", "undo", "--session", "night"]);
        if ran.code != 0 {
            break ran.refusal(3);
        }
        undone += 1;
    };
    assert_eq!(stuck["code"], "changed_since");
    let hint = text(&stuck["hint"]);
    assert!(
        hint.contains("revert --session SESSION") && hint.contains("revert --commit seq:"),
        "{hint}"
    );
    for _ in 0..undone {
        folder.json(&["redo", "--session", "night"]);
    }
    assert_eq!(folder.root(), root);

    let planned = folder.json(&["revert", "--session", "night", "--dry-run"]);
    assert_eq!(
        (planned["dry_run"].as_bool(), folder.root()),
        (Some(true), root.clone())
    );
    let reverted = folder.json(&["revert", "--session", "night"]);
    for field in ["reverted", "kept", "derived", "selected"] {
        assert_eq!(planned[field], reverted[field], "{field}");
    }
    assert_eq!(reverted["root"], folder.root());
    let log = &folder.stream(&["log", "--limit", "1"])[0];
    assert_eq!(
        (&log["op"], &log["commit"]),
        (&Value::from("revert"), &reverted["commit"])
    );

    // No poison is left, and every good value that stood before stands still.
    let after = contents(&folder);
    assert!(
        after.iter().all(|(_, content)| content.starts_with("good")),
        "{after:?}"
    );
    for (id, content) in &before {
        let now = after
            .iter()
            .find(|(other, _)| other == id)
            .map(|(_, now)| now.as_str());
        match content.strip_prefix("good") {
            Some(_) => assert_eq!(now, Some(content.as_str()), "{id}"),
            None if id.starts_with("facts/new/") => assert_eq!(now, None, "{id}"),
            None => assert!(now.is_some(), "{id}"),
        }
    }
    assert_eq!(after.len(), 60);
    let kept = array(&reverted, "kept");
    assert_eq!(array(&reverted, "reverted").len() + kept.len(), 12);
    assert!(
        !kept.is_empty()
            && kept
                .iter()
                .all(|kept| kept["by"] != "night" && kept["seq"].is_u64())
    );

    folder.json(&["undo"]);
    assert_eq!(folder.root(), root);
    folder.json(&["redo"]);
    assert_eq!(contents(&folder), after);
    // A revert of the revert brings the poison back, and the same commits can be selected by their source.
    let commit = text(&reverted["commit"]);
    folder.json(&["revert", "--commit", &commit]);
    assert_eq!(folder.root(), root);
    folder.json(&["revert", "--source", "https://page.example/"]);
    assert_eq!(contents(&folder), after);
    assert_eq!(folder.json(&["verify"])["ok"], true);
}

/// `day` writes `a`; `night` rewrites `a` and adds `b`; `eve` rewrites `b` and derives `c` from the present `a`.
fn three_sessions() -> Folder {
    let folder = Folder::with_store();
    let put = |id: &str, content: &str, session: &str| {
        folder.json(&[
            "put",
            id,
            "--kind",
            "fact",
            "--content",
            content,
            "--session",
            session,
        ])
    };
    put("a", "good", "day");
    let bad = put("a", "bad", "night");
    put("b", "bad", "night");
    put("b", "better", "eve");
    let derived = format!(
        r#"{{"id":"c","kind":"fact","content":"from a","derived_from":["{}"]}}"#,
        text(&bad["digest"])
    );
    folder.write("c.jsonl", derived);
    folder.json(&["put", "--jsonl", "c.jsonl", "--session", "eve"]);
    folder
}

#[test]
fn conflicts_and_derived_objects_are_told_and_decided_by_options() {
    let folder = three_sessions();
    let root = folder.root();
    let with = |more: &[&'static str]| [&["revert", "--session", "night"], more].concat();
    let refused = folder.refused(3, &with(&["--conflicts", "fail"]));
    assert_eq!(
        (refused["code"].as_str(), folder.root()),
        (Some("changed_since"), root.clone())
    );
    assert!(text(&refused["message"]).contains("'b'"));

    let keep = folder.json(&with(&["--dry-run"]));
    assert_eq!(column(array(&keep, "reverted"), "id"), ["a"]);
    assert_eq!(
        keep["kept"],
        serde_json::json!([{"id": "b", "because": "changed", "by": "eve", "seq": 4}])
    );
    assert_eq!(keep["derived"], serde_json::json!(["c"]));
    let all = folder.json(&with(&["--conflicts", "revert", "--with-derived"]));
    assert_eq!(column(array(&all, "reverted"), "id"), ["a", "b", "c"]);
    assert!(array(&all, "kept").is_empty());
    let first = &array(&all, "reverted")[0];
    assert!(first["from"].is_string() && first["to"].is_string());
    assert!(array(&all, "reverted")[1]["to"].is_null());
    assert_eq!(contents(&folder), [("a".to_owned(), "good".to_owned())]);
    folder.json(&["undo"]);
    assert_eq!(folder.root(), root);
    assert_eq!(
        folder.refused(2, &with(&["--conflicts", "perhaps"]))["code"],
        "usage"
    );
}

#[test]
fn a_person_sees_what_happens_and_how_to_take_it_back() {
    let folder = three_sessions();
    let planned = folder.run(&["revert", "--session", "night", "--dry-run"]);
    for part in [
        "would revert 2 commits",
        "-bad",
        "+good",
        "= b  eve, seq 4",
        "? c",
        "--with-derived",
    ] {
        assert!(planned.out.contains(part), "{part}: {}", planned.out);
    }
    assert!(planned.err.contains("nothing was changed"));
    let done = folder.run(&["revert", "--session", "night", "-m", "the page was wrong"]);
    for part in [
        "reverted 2 commits: 0 added, 1 changed, 0 removed",
        "~ a  good",
        "= b  eve, seq 4",
    ] {
        assert!(done.out.contains(part), "{part}: {}", done.out);
    }
    assert!(done.err.contains("treering undo\n"), "{}", done.err);
    assert_eq!(
        folder.stream(&["log", "--limit", "1"])[0]["reason"],
        "the page was wrong"
    );
    let again = folder.run(&["revert", "--session", "night"]);
    assert!(again.out.contains("nothing to revert"), "{}", again.out);
    // Without a reason, the log names what was reverted.
    folder.json(&["undo"]);
    folder.json(&["--session", "night", "revert"]);
    assert_eq!(
        folder.stream(&["log", "--limit", "1"])[0]["reason"],
        "reverts session night"
    );
    assert_eq!(folder.stream(&["log", "--limit", "1"])[0]["session"], Value::Null);
}

/// `@` and an age mean something else after the next commit, so the reason names the commit and the time.
#[test]
fn a_reason_names_commits_and_times_that_stay_the_same() {
    let folder = three_sessions();
    let reason = || text(&folder.stream(&["log", "--limit", "1"])[0]["reason"]);
    folder.json(&["revert", "--commit", "@", "--commit", "seq:2"]);
    assert_eq!(reason(), "reverts commit seq:5, commit seq:2");
    folder.json(&["undo"]);
    folder.json(&["revert", "--session", "night", "--since", "1d"]);
    let since = reason();
    let since = since.strip_prefix("reverts session night, since ").unwrap();
    assert!(since.starts_with("20") && since.ends_with('Z'), "{since}");
}

#[test]
fn what_others_put_in_the_way_is_named_with_its_writer() {
    let folder = Folder::with_store();
    let put = |id: &str, parent: &str, session: &str| {
        let put = [
            "put",
            id,
            "--kind",
            "fact",
            "--content",
            session,
            "--session",
            session,
        ];
        let below = ["--parent", parent];
        folder.json(&[&put[..], if parent.is_empty() { &[] } else { &below }].concat());
    };
    put("doc", "", "day");
    put("one", "doc", "day");
    put("one", "", "night");
    put("box", "", "night");
    put("two", "box", "eve");
    folder.json(&["remove", "doc", "--session", "noon"]);
    let reverted = folder.json(&["revert", "--session", "night", "--dry-run"]);
    assert!(array(&reverted, "reverted").is_empty());
    let kept = array(&reverted, "kept");
    let told = |at: usize| ["id", "because", "other", "by"].map(|field| text(&kept[at][field]));
    assert_eq!(told(0), ["box", "below", "two", "eve"]);
    assert_eq!(told(1), ["one", "no_parent", "doc", "noon"]);
    assert_eq!((&kept[0]["seq"], &kept[1]["seq"]), (&5.into(), &6.into()));
    let told = folder.run(&["revert", "--session", "night", "--dry-run"]);
    for part in [
        "= box  eve, seq 5 (put two below it)",
        "= one  noon, seq 6 (removed its parent doc)",
    ] {
        assert!(told.out.contains(part), "{part}: {}", told.out);
    }
    folder.refused(3, &["revert", "--session", "night", "--conflicts", "fail"]);
    let all = ["revert", "--session", "night", "--conflicts", "revert"];
    let reverted = folder.json(&[&all[..], &["--dry-run"]].concat());
    let gone = array(&reverted, "reverted")
        .iter()
        .find(|one| one["id"] == "two")
        .unwrap();
    assert_eq!(gone["gone_with"], "box");
    assert!(gone["to"].is_null() && array(&reverted, "kept").is_empty());
    let told = folder.run(&all);
    let part = "removed, because its parent box is gone";
    assert!(told.out.contains(part), "{}", told.out);
}

#[test]
fn a_name_that_nobody_has_is_an_error_with_the_nearest_names() {
    let folder = three_sessions();
    for (option, name, near) in [("--session", "nihgt", "night"), ("--session", "dya", "day")] {
        let refused = folder.refused(1, &["revert", option, name]);
        assert_eq!(refused["code"], "nothing_selected");
        assert!(text(&refused["message"]).contains(name));
        assert!(text(&refused["hint"]).contains(near), "{refused}");
    }
    // The name of another sort of writer, and a name with more than the known part.
    let actor = ["put", "z", "--kind", "fact", "--actor", "vera"];
    folder.json(&actor);
    let refused = folder.refused(1, &["revert", "--session", "vera"]);
    assert!(text(&refused["hint"]).contains("--actor"), "{refused}");
    let refused = folder.refused(1, &["revert", "--session", "night-run"]);
    assert!(text(&refused["hint"]).contains("'night'"), "{refused}");
    let root = folder.root();
    // One unknown name among known ones is an error, too.
    folder.refused(1, &["revert", "--session", "night", "--session", "nihgt"]);
    folder.refused(1, &["revert", "--actor", "nobody"]);
    folder.refused(1, &["revert", "--source", "nowhere"]);
    folder.refused(1, &["revert", "--commit", "seq:99"]);
    folder.refused(1, &["revert", "--session", "night", "--since", "2099-01-01"]);
    assert_eq!(folder.refused(1, &["revert"])["code"], "no_criteria");
    assert_eq!(folder.root(), root);
}

#[test]
fn an_untrusted_writer_reverts_nothing_trusted() {
    let folder = three_sessions();
    let refused = folder.refused(4, &["revert", "--session", "night", "--trust", "untrusted"]);
    assert_eq!(refused["code"], "less_trusted");
}

#[test]
fn the_shell_previews_a_revert_and_reverts_only_with_write() {
    let folder = three_sessions();
    let root = folder.root();
    let shown = folder.run(&["debug", "-c", "revert --session night --dry-run"]);
    assert!(shown.code == 0 && shown.out.contains("would revert"), "{shown:?}");
    let refused = folder.run(&["debug", "-c", "revert --session night"]);
    assert!(refused.code != 0 && folder.root() == root);
    // The lane of the shell makes the commit, and its `undo` takes it back.
    let script = [
        "debug",
        "--write",
        "-c",
        ".lane owner",
        "-c",
        "revert --session night",
        "-c",
        "undo",
    ];
    let done = folder.run(&script);
    assert!(done.code == 0 && folder.root() == root, "{done:?}");
}
