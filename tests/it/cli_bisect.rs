//! Tests of `blame`, `bisect` and `TREERING_AT`.

use serde_json::Value;

use crate::program::{Folder, Ran, bytes_below, check_fields, column, text};

/// The commits: 1 `monday` writes the office and the hours, 2 `wednesday` adds orders, 3 `tuesday` reads a page and
/// rewrites the office, 4 `wednesday` adds a plan, 5 `tuesday` tags the hours.
fn wrong_turn() -> Folder {
    let folder = Folder::with_store();
    let put = |id: &str, content: &str, more: &[&str]| {
        let put = ["put", id, "--kind", "fact", "--content", content];
        folder.json(&[&put, more].concat());
    };
    folder.write(
        "monday.jsonl",
        "{\"id\":\"office\",\"kind\":\"fact\",\"content\":\"The office is in Bremen.\\nIt has two floors.\"}\n\
         {\"id\":\"hours\",\"kind\":\"fact\",\"content\":\"Open from nine to five.\"}\n",
    );
    folder.json(&[
        "put",
        "--jsonl",
        "monday.jsonl",
        "--session",
        "monday",
        "--actor",
        "vera",
    ]);
    put(
        "orders",
        "Twelve orders were found twice.",
        &["--session", "wednesday"],
    );
    let page = [
        "--session",
        "tuesday",
        "--source",
        "https://news.example",
        "--trust",
        "model",
        "-m",
        "news",
    ];
    put("office", "The office is in Frankfurt.\nIt has two floors.", &page);
    put("plan", "Send the parcel on Friday.", &["--session", "wednesday"]);
    let tags = ["--session", "tuesday", "--attr", "tags:=[\"time\"]"];
    put("hours", "Open from nine to five.", &tags);
    folder
}

fn lines_of(folder: &Folder, arguments: &[&str]) -> Vec<(String, u64)> {
    let found = folder.stream(arguments);
    let line = |line: &Value| (text(&line["part"]), line["seq"].as_u64().unwrap());
    found.iter().map(line).collect()
}

#[test]
fn a_wrong_answer_is_found_blamed_and_taken_back() {
    let folder = wrong_turn();
    // The answer is wrong. Which commit made it wrong?
    let before = bytes_below(&folder.store());
    let ask = ["bisect", "--query", "where is the office?", "--good", "seq:1"];
    let found = folder.json(&ask);
    assert_eq!(bytes_below(&folder.store()), before, "bisect changes no file");
    check_fields(
        &found["first_bad"],
        &[
            ("commit", "d"),
            ("seq", "n"),
            ("session", "s?"),
            ("actor", "s?"),
            ("source", "s?"),
        ],
    );
    let first = &found["first_bad"];
    let told = ["session", "source", "reason", "trust"].map(|field| text(&first[field]));
    assert_eq!(told, ["tuesday", "https://news.example", "news", "model"]);
    assert_eq!((&first["seq"], &found["last_good"]), (&3.into(), &2.into()));
    assert!(text(&found["before"]).contains("Bremen") && text(&found["after"]).contains("Frankfurt"));
    assert_eq!(found["after_version"]["id"], "office");
    assert!(found["steps"].as_u64().unwrap() <= 2, "{found}");

    // Who wrote what in that object?
    let blamed = folder.stream(&["blame", "office"]);
    let fields = [
        ("part", "s"),
        ("text", "s"),
        ("commit", "d"),
        ("seq", "n"),
        ("session", "s?"),
        ("actor", "s?"),
    ];
    for line in &blamed {
        check_fields(
            line,
            &[&fields[..], &[("source", "s?"), ("trust", "s"), ("time", "t")]].concat(),
        );
    }
    let parts = ["kind", "scope", "origin", "line:1", "line:2"];
    assert_eq!(column(&blamed, "part"), parts);
    assert_eq!(
        column(&blamed, "session"),
        ["monday", "monday", "tuesday", "tuesday", "monday"]
    );
    assert_eq!(text(&blamed[3]["text"]), "The office is in Frankfurt.");
    assert_eq!(
        (&blamed[3]["trust"], &blamed[4]["trust"]),
        (&"model".into(), &"direct_user".into())
    );

    // The state of the commit before is restored. The old version still counts for Monday.
    folder.json(&["restore", "seq:2", "office", "--session", "owner"]);
    assert_eq!(
        column(&folder.stream(&["blame", "office"]), "session"),
        ["monday"; 5]
    );
    let past = folder.stream(&["blame", "office", "--at", "seq:3"]);
    assert_eq!(column(&past, "session")[3], "tuesday");
}

#[test]
fn three_questions_find_the_same_commit() {
    let folder = wrong_turn();
    let command = format!("{} get office | grep -q Bremen", env!("CARGO_BIN_EXE_treering"));
    let questions: [&[&str]; 4] = [
        &["--query", "where is the office"],
        &[
            "--query",
            "where is the office",
            "--expect",
            "Bremen",
            "--all-scopes",
        ],
        &["--id", "office"],
        &["--run", &command],
    ];
    for question in questions {
        let found = folder.json(&[&["bisect", "--good", "seq:1"], question].concat());
        assert_eq!(found["first_bad"]["seq"], 3, "{question:?}: {found}");
        let told = folder.run(&[&["bisect", "--good", "seq:1"], question].concat());
        assert!(told.out.starts_with("seq:3 is the first bad commit"), "{told:?}");
        assert!(told.err.contains("treering revert --commit seq:3"), "{told:?}");
    }
    let found = folder.json(&["bisect", "--good", "seq:1", "--run", &command]);
    assert_eq!(
        (text(&found["before"]), text(&found["after"])),
        ("exit code 0".into(), "exit code 1".into())
    );
    assert!(found["before_version"].is_null());
    let tagged = folder.json(&["bisect", "--id", "hours", "--good", "seq:1", "--bad", "@"]);
    assert_eq!(tagged["first_bad"]["seq"], 5, "a new attribute is a difference");
    let removed = {
        folder.json(&["remove", "plan", "--session", "night"]);
        folder.json(&["bisect", "--id", "plan", "--good", "seq:4"])
    };
    assert!(
        removed["after"].is_null() && removed["after_version"].is_null(),
        "{removed}"
    );
    let told = folder.run(&["bisect", "--id", "plan", "--good", "seq:4"]);
    assert!(
        told.out.contains("- plan") && told.out.contains("night"),
        "{told:?}"
    );
}

#[test]
fn wrong_ends_and_arguments_are_named() {
    let folder = wrong_turn();
    let refused = |code: i32, arguments: &[&str]| {
        let error = folder.refused(code, &[&["bisect"], arguments].concat());
        (
            text(&error["code"]),
            text(&error["message"]),
            error["hint"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let query = ["--query", "where is the office", "--good"];
    let cases: [(&[&str], &str, &str, &str); 9] = [
        (&["seq:3", "--bad", "seq:1"], "wrong_order", "seq:3", "before"),
        (&["seq:3", "--bad", "seq:3"], "wrong_order", "seq:3", "before"),
        (&["seq:1", "--bad", "seq:2"], "bad_is_good", "seq:2", "'office'"),
        (&["seq:1", "--expect", "Oslo"], "good_is_bad", "seq:1", "'office'"),
        (
            &["seq:0", "--expect", "Oslo"],
            "good_is_bad",
            "seq:0",
            "finds nothing",
        ),
        (
            &["seq:3", "--expect", "Frankfurt"],
            "bad_is_good",
            "seq:5",
            "'office'",
        ),
        (&["seq:99"], "no_revision", "seq:99", "seq:5"),
        (&["@", "--at", "seq:2"], "wrong_order", "seq:5", "before"),
        (&["nothing"], "no_revision", "nothing", "snapshots"),
    ];
    for (arguments, code, message, hint) in cases {
        let told = refused(1, &[&query[..], arguments].concat());
        assert_eq!(told.0, code, "{told:?}");
        assert!(told.1.contains(message) && told.2.contains(hint), "{told:?}");
    }
    let told = refused(1, &["--run", "exit 7", "--good", "seq:1"]);
    assert!(
        told.0 == "bad_is_good" || told.0 == "good_is_bad" && told.2.contains("exits with 7"),
        "{told:?}"
    );
    assert_eq!(refused(1, &["--run", "true", "--good", "seq:1"]).0, "bad_is_good");
    assert_eq!(
        refused(1, &["--run", "kill -9 $$", "--good", "seq:1"]).0,
        "command_failed"
    );
    let told = refused(1, &["--id", "orders", "--good", "seq:2"]);
    assert!(
        told.0 == "bad_is_good" && told.1.contains("no commit changed 'orders'"),
        "{told:?}"
    );
    let told = refused(1, &["--id", "offices", "--good", "seq:2"]);
    assert!(told.0 == "not_found" && told.2.contains("'office'"), "{told:?}");
    assert_eq!(refused(1, &["--query", " ", "--good", "seq:1"]).0, "no_text");
    let usage: [&[&str]; 6] = [
        &["--id", "office", "--good", "seq:1", "--bad", "@", "--at", "seq:4"],
        &["--good", "seq:1"],
        &["--id", "office"],
        &["--id", "office", "--run", "true", "--good", "seq:1"],
        &["--id", "office", "--expect", "x", "--good", "seq:1"],
        &["--id", "office", "--all-scopes", "--good", "seq:1"],
    ];
    for arguments in usage {
        assert_eq!(refused(2, arguments).0, "usage", "{arguments:?}");
    }
    let told = folder.refused(1, &["blame", "offices"]);
    assert!(text(&told["hint"]).contains("'office'"), "{told}");
    let told = folder.refused(1, &["blame", "plan", "--at", "seq:2"]);
    assert!(text(&told["hint"]).contains("seq:4"), "{told}");
}

#[test]
fn a_commit_after_a_gap_is_no_cure() {
    let folder = Folder::with_store();
    let put = |id: &str, text: &str| folder.json(&["put", id, "--kind", "fact", "--content", text]);
    put("office", "The office is in Bremen.");
    folder.json(&["snapshot", "good"]);
    for (id, text) in [
        ("a", "x"),
        ("office", "The office is in Oslo."),
        ("b", "y"),
        ("c", "z"),
    ] {
        put(id, text);
    }
    let policy = ["--newest", "1", "--hourly", "0", "--daily", "0", "--weekly", "0"];
    folder.json(&[&["gc", "--yes"], &policy[..]].concat());
    let ask = ["bisect", "--query", "where is the office?", "--good", "good"];
    let found = folder.json(&ask);
    assert_eq!(
        (&found["first_bad"]["seq"], &found["thinned"]),
        (&5.into(), &3.into())
    );
    let told = folder.run(&ask);
    assert!(
        told.out.starts_with("seq:5 is the first bad commit that is kept"),
        "{told:?}"
    );
    assert!(
        told.err.contains("3 thinned commits between seq:1 and it"),
        "{told:?}"
    );
    assert!(told.err.contains("treering diff seq:1 seq:5"), "{told:?}");
    assert!(!told.err.contains("treering revert"), "{told:?}");
}

#[test]
fn a_state_expires_at_the_time_of_its_commit() {
    let folder = Folder::with_store();
    folder.json(&["put", "a", "--kind", "fact", "--content", "The kettle is red."]);
    folder.json(&["put", "b", "--kind", "fact", "--content", "The window is open."]);
    folder.json(&["expire", "a", "--in", "1s"]);
    std::thread::sleep(std::time::Duration::from_millis(1_300));
    assert!(
        folder.json(&["recall", "the red kettle"])["hits"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let error = folder.refused(1, &["bisect", "--query", "the red kettle", "--good", "seq:1"]);
    assert_eq!(
        error["code"], "bad_is_good",
        "time passed, but no commit changed the answer"
    );
}

#[test]
fn blame_marks_what_is_untrusted_and_fits_the_screen() {
    let folder = wrong_turn();
    folder.json(&[
        "put",
        "page",
        "--kind",
        "fact",
        "--content",
        "Zebra\nTwo",
        "--trust",
        "untrusted",
    ]);
    let told = folder.run(&["blame", "page"]);
    let marked = told.out.lines().filter(|line| line.contains(" ! ")).count();
    assert_eq!(marked, 5, "{told:?}");
    assert!(told.err.contains("! marks what is untrusted"), "{told:?}");
    let ask = [
        "bisect",
        "--query",
        "zebra two",
        "--good",
        "seq:5",
        "--with-untrusted",
    ];
    let told = folder.run(&ask);
    assert!(told.out.contains("+  page !  Zebra Two"), "{told:?}");
    assert_eq!(
        folder.refused(1, &ask[..5])["code"],
        "bad_is_good",
        "an untrusted item is no hit"
    );
    let told = folder.run(&["blame", "office", "--agent"]);
    assert!(told.out.starts_with("part\tseq\ttrust\tlane\t"), "{told:?}");
    // A person writes in a tainted session: the text is as untrusted as the session.
    let late = [
        "put",
        "late",
        "--kind",
        "fact",
        "--content",
        "Three",
        "--session",
        "web",
    ];
    folder.json(&[
        "put",
        "early",
        "--kind",
        "fact",
        "--session",
        "web",
        "--trust",
        "untrusted",
    ]);
    folder.json(&late);
    let classes = |verb: &str| column(&folder.stream(&[verb, "late"]), "trust");
    assert_eq!(
        (&*classes("history")[0], &*classes("blame")[0]),
        ("direct_user", "tool_external")
    );
    assert_eq!(lines_of(&folder, &["blame", "hours", "--limit", "2"]).len(), 2);
    let tags = folder.stream(&["blame", "hours"]);
    let tags = tags.iter().find(|line| line["part"] == "attr:tags").unwrap();
    assert_eq!(
        (text(&tags["text"]), text(&tags["session"])),
        ("[\"time\"]".into(), "tuesday".into())
    );
}

fn with_at(folder: &Folder, at: &str, arguments: &[&str]) -> Ran {
    Ran::of(&folder.command(arguments).env("TREERING_AT", at).output().unwrap())
}

/// INVARIANT CLI-10: with `TREERING_AT` every verb that reads shows that state, and no verb writes.
#[test]
fn the_variable_names_the_state_to_read() {
    let folder = wrong_turn();
    let read = |arguments: &[&str]| with_at(&folder, "seq:2", &[arguments, &["--json"]].concat());
    assert_eq!(read(&["head"]).documents()[0]["seq"], 2);
    assert!(text(&read(&["get", "office"]).documents()[0]["content"]).contains("Bremen"));
    assert_eq!(read(&["list"]).documents().len(), 3);
    let hits = &read(&["recall", "where is the office"]).documents()[0]["hits"];
    assert!(text(&hits[0]["snippet"]).contains("Bremen"));
    assert_eq!(read(&["log"]).documents()[0]["seq"], 2);
    assert_eq!(read(&["debug", "-c", "head"]).documents()[0]["seq"], 2);
    assert_eq!(
        read(&["head", "--at", "seq:4"]).documents()[0]["seq"],
        4,
        "the option wins"
    );
    assert_eq!(
        with_at(&folder, "", &["head", "--json"]).documents()[0]["seq"],
        5,
        "empty means unset"
    );
    let root = folder.root();
    let writing: [&[&str]; 6] = [
        &["put", "x", "--kind", "k"],
        &["remember", "a fact"],
        &["undo"],
        &["snapshot", "now"],
        &["gc"],
        &["debug", "--write", "-c", "undo"],
    ];
    for verb in writing {
        let refusal = with_at(&folder, "seq:2", &[verb, &["--json"]].concat()).refusal(4);
        assert_eq!(refusal["code"], "read_only", "{verb:?}: {refusal}");
        assert!(text(&refusal["hint"]).contains("TREERING_AT"), "{refusal}");
    }
    assert_eq!(folder.root(), root);
    // A verb that writes plans on the head, also in a dry run, and says so.
    let planning: [&[&str]; 4] = [
        &["undo", "--dry-run", "--session", "tuesday"],
        &["revert", "--dry-run", "--session", "tuesday"],
        &["rollback", "seq:4", "--dry-run", "--all"],
        &["forget", "plan", "--dry-run"],
    ];
    for verb in planning {
        let told = with_at(&folder, "seq:2", verb);
        assert!(
            told.code == 0 && told.err.contains("on the head, not on the state seq:2"),
            "{verb:?}: {told:?}"
        );
        assert!(!folder.run(verb).err.contains("head"), "{verb:?}");
        let refusal = folder.refused(2, &[verb, &["--at", "seq:2"]].concat());
        assert_eq!(refusal["code"], "usage", "{verb:?}");
    }
    assert_eq!(folder.root(), root);
    // A tour has a store of its own.
    assert_eq!(with_at(&folder, "seq:2", &["tour"]).code, 0);
    let wrong = with_at(&folder, "seq:99", &["head", "--json"]).refusal(1);
    assert_eq!(wrong["code"], "no_revision");
}

#[test]
fn a_command_sees_the_state_from_any_folder() {
    let folder = wrong_turn();
    let store = folder.store().display().to_string();
    let program = env!("CARGO_BIN_EXE_treering");
    let log = folder.path("states").display().to_string();
    let command = format!("echo $TREERING_AT >> {log}; cd /; {program} get plan; test $? != 0");
    for named in [&["--store", &store][..], &["--store", ".treering"], &[]] {
        drop(std::fs::remove_file(&log));
        let found = folder.json(&[named, &["bisect", "--run", &command, "--good", "seq:1"]].concat());
        assert_eq!(found["first_bad"]["seq"], 4, "{named:?}: {found}");
        let states = std::fs::read_to_string(&log).unwrap();
        let tested: Vec<&str> = states.lines().collect();
        assert_eq!(tested, ["seq:5", "seq:1", "seq:3", "seq:4"], "{named:?}");
        assert_eq!(found["steps"], 2);
    }
}
