//! Tests of `--actor`, `--session` and `--source` as filters by who wrote, and of the names that an error suggests.

use crate::program::{Folder, Ran, column, text};

/// The commits: `day` writes `a` and `b`, `night` rewrites `b`, adds `c` and removes `a`, and `mail` adds `d`.
fn two_sessions() -> Folder {
    let folder = Folder::with_store();
    let put = |id: &str, content: &str, writer: &[&str]| {
        let put = ["put", id, "--kind", "fact", "--content", content];
        folder.json(&[&put, writer].concat());
    };
    let (day, night) = (["--session", "day"], ["--session", "night", "--actor", "vera"]);
    put("a", "one", &day);
    put("b", "one", &day);
    folder.json(&["snapshot", "before", "--session", "day"]);
    put("b", "two", &night);
    put(
        "c",
        "two",
        &[&night[..], &["-m", "a hunch", "--trust", "untrusted"]].concat(),
    );
    folder.json(&["remove", "a", "--session", "night", "--actor", "vera"]);
    put("d", "three", &["--session", "day", "--source", "mail"]);
    folder
}

#[test]
fn five_verbs_list_only_what_a_writer_wrote() {
    let folder = two_sessions();
    let ids = |arguments: &[&str]| column(&folder.stream(arguments), "id");
    let seqs = |arguments: &[&str]| -> Vec<u64> {
        let found = folder.stream(arguments);
        found.iter().map(|line| line["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(ids(&["list", "--session", "night"]), ["b", "c"]);
    assert_eq!(ids(&["list", "--session", "day"]), ["d"], "night rewrote b");
    assert_eq!(ids(&["list", "--session", "day", "--at", "before"]), ["a", "b"]);
    assert_eq!(ids(&["list", "--source", "mail", "--limit", "1"]), ["d"]);
    assert_eq!(ids(&["diff", "before", "--session", "night"]), ["a", "b", "c"]);
    assert_eq!(ids(&["diff", "before", "--source", "mail"]), ["d"]);
    assert_eq!(ids(&["diff", "before", "seq:3", "--actor", "vera"]), ["b"]);
    for verb in ["log", "audit"] {
        assert_eq!(seqs(&[verb, "--session", "night"]), [5, 4, 3], "{verb}");
        assert_eq!(seqs(&[verb, "--source", "mail"]), [6], "{verb}");
        assert_eq!(seqs(&[verb, "--actor", "vera", "--limit", "1"]), [5], "{verb}");
        assert_eq!(
            seqs(&["--source", "mail", verb]),
            [6],
            "the option may precede the verb {verb}"
        );
    }
    assert_eq!(
        seqs(&["audit", "--from", "mail"]),
        [6],
        "the earlier name of the option"
    );
    assert_eq!(seqs(&["history", "b", "--session", "day"]), [2]);
    assert_eq!(seqs(&["history", "a", "--actor", "vera"]), [5]);
    let changed = folder.run(&["diff", "before", "--source", "mail"]);
    assert!(
        changed.err.contains("1 added, 0 changed, 0 removed"),
        "{changed:?}"
    );
}

#[test]
fn history_names_who_made_each_change() {
    let folder = two_sessions();
    let change = folder.json(&["history", "c"]);
    let fields = ["actor", "session", "trust", "reason"].map(|field| text(&change[field]));
    assert_eq!(fields, ["vera", "night", "tool_external", "a hunch"]);
    assert_eq!(folder.json(&["history", "d"])["source"], "mail");
}

#[test]
fn what_a_session_wrote_stays_its_own_after_another_brings_it_back() {
    let folder = two_sessions();
    folder.json(&["rollback", "before", "--all", "--session", "owner"]);
    let ids = |session: &str| column(&folder.stream(&["list", "--session", session]), "id");
    assert_eq!(ids("day"), ["a", "b"]);
    assert!(ids("owner").is_empty(), "a rollback writes no version");
    assert!(
        ids("night").is_empty(),
        "the session is known, and nothing of it is left"
    );
}

#[test]
fn an_unknown_writer_is_an_error_that_names_the_nearest() {
    let folder = two_sessions();
    let verbs: [&[&str]; 5] = [
        &["list"],
        &["diff", "before"],
        &["history", "b"],
        &["log"],
        &["audit"],
    ];
    for verb in verbs {
        for (option, typed, known) in [
            ("--session", "nigth", "'night'"),
            ("--actor", "Vera", "'vera'"),
            ("--source", "mails", "'mail'"),
        ] {
            let error = folder.refused(1, &[verb, &[option, typed]].concat());
            assert_eq!(error["code"], "not_found", "{verb:?}: {error}");
            assert!(text(&error["message"]).contains(typed), "{verb:?}: {error}");
            assert!(text(&error["hint"]).contains(known), "{verb:?}: {error}");
        }
        let known = [verb, &["--session", "night", "--source", "mail"]].concat();
        assert!(folder.stream(&known).is_empty(), "both names are known: {verb:?}");
    }
    let error = folder.refused(1, &["log", "--session", "a-quite-different-name"]);
    assert!(text(&error["hint"]).contains("treering lanes"), "{error}");
    let error = folder.refused(2, &["get", "b", "--source", "mail"]);
    assert!(text(&error["message"]).contains("list by writer"), "{error}");
}

#[test]
fn an_unknown_id_is_an_error_that_names_the_nearest() {
    let folder = Folder::with_store();
    folder.put("facts/office", "Oslo");
    folder.put("notes/tea", "green");
    let verbs: [&[&str]; 4] = [&["get"], &["history"], &["tree"], &["remove"]];
    for verb in verbs {
        for typed in ["facts/offic", "office", "Facts/Office"] {
            let error = folder.refused(1, &[verb, &[typed]].concat());
            let hint = text(&error["hint"]);
            assert!(
                hint.contains("'facts/office'") && !hint.contains("tea"),
                "{verb:?} {typed}: {error}"
            );
        }
    }
}

#[test]
fn remember_takes_unquoted_words() {
    let folder = Folder::with_store();
    let remembered = folder.json(&[
        "remember",
        "the",
        "build",
        "needs",
        "Rust 1.95",
        "--id",
        "facts/build",
    ]);
    assert_eq!(remembered["status"], "created");
    let item = folder.json(&["get", "facts/build"]);
    assert_eq!(item["content"], "the build needs Rust 1.95");
    let piped = folder.feed(
        &["remember", "-", "--id", "facts/tea", "--json"],
        "Ada drinks tea\n",
    );
    assert_eq!(piped.code, 0, "{piped:?}");
    assert_eq!(folder.json(&["get", "facts/tea"])["content"], "Ada drinks tea");
}

#[test]
fn a_followed_log_shows_only_the_writers_that_were_asked_for() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    let mut command = folder.command(&["log", "--follow", "--limit", "1", "--session", "night", "--json"]);
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    folder.put("a", "two");
    folder.json(&[
        "put",
        "a",
        "--kind",
        "note",
        "--content",
        "three",
        "--session",
        "night",
    ]);
    let ran = Ran::of(&child.wait_with_output().unwrap());
    assert_eq!(column(&ran.documents(), "session"), ["night"]);
}
