//! `put`, `get`, `list`, `history`, `remove`: compares their documents with the contract.

use serde_json::{Value, json};

use crate::program::{Folder, check_fields, column, text};

const LISTED: [(&str, &str); 10] = [
    ("id", "s"),
    ("kind", "s"),
    ("scope", "s"),
    ("parent", "s?"),
    ("position", "s?"),
    ("attributes", "m"),
    ("origin", "s"),
    ("digest", "d"),
    ("created", "t"),
    ("updated", "t"),
];

#[test]
fn put_answers_with_the_version_and_the_head() {
    let folder = Folder::with_store();
    let put = folder.put("a", "one");
    check_fields(
        &put,
        &[
            ("id", "s"),
            ("digest", "d"),
            ("commit", "d"),
            ("seq", "n"),
            ("root", "d"),
        ],
    );
    assert_eq!((put["id"].as_str(), put["seq"].as_u64()), (Some("a"), Some(1)));
    let again = folder.put("a", "one");
    assert_eq!(
        put, again,
        "an identical put prints the values of the head and commits nothing"
    );
    assert_eq!(folder.seq(), 1);
    assert_ne!(folder.put("a", "two")["digest"], put["digest"]);
}

#[test]
fn get_has_every_field_of_the_contract() {
    let folder = Folder::with_store();
    folder.put("top", "above");
    folder.json(&[
        "put",
        "a",
        "--kind",
        "note",
        "--scope",
        "work",
        "--parent",
        "top",
        "--position",
        "m",
        "--content",
        "x\ny",
        "--attr",
        "state=open",
        "--attr",
        "n:=7",
        "--attr",
        "f:=0.5",
        "--attr",
        "list:=[1,\"b\",null]",
        "--attr",
        "gone:=null",
    ]);
    let object = folder.json(&["get", "a"]);
    check_fields(&object, &LISTED);
    check_fields(
        &object,
        &[
            ("children", "l"),
            ("children_total", "n"),
            ("content", "s?"),
            ("subtree_digest", "d"),
        ],
    );
    assert_eq!(
        object["attributes"],
        json!({"state": "open", "n": 7, "f": 0.5, "list": [1, "b", null]})
    );
    assert_eq!(object["content"], "x\ny");
    assert_eq!(
        (
            text(&object["parent"]),
            text(&object["position"]),
            text(&object["scope"])
        ),
        ("top".into(), "m".into(), "work".into())
    );
    assert_eq!(object["origin"], "direct_user");
    assert_eq!(object["created"], object["updated"]);
    let top = folder.json(&["get", "top"]);
    assert_eq!(
        (&top["children"], &top["children_total"]),
        (&json!(["a"]), &json!(1))
    );
    assert!(top["parent"].is_null() && top["position"].is_null());
}

#[test]
fn get_lists_the_first_thousand_children() {
    let folder = Folder::with_store();
    let mut lines = String::from("{\"id\":\"top\",\"kind\":\"k\"}\n");
    for number in 0..1_005 {
        let id = format!("child/{number:04}");
        lines += &json!({ "id": id, "kind": "k", "parent": "top" }).to_string();
        lines.push('\n');
    }
    assert_eq!(folder.feed(&["put", "--jsonl", "-"], lines).code, 0);
    let top = folder.json(&["get", "top"]);
    assert_eq!(top["children"].as_array().unwrap().len(), 1_000);
    assert_eq!(top["children_total"], 1_005);
    assert_eq!(top["children"][0], "child/0000");
}

#[test]
fn content_comes_from_standard_input() {
    let folder = Folder::with_store();
    let ran = folder.feed(&["put", "a", "--kind", "note", "--content", "-"], "from a pipe\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(folder.json(&["get", "a"])["content"], "from a pipe\n");
    let ran = folder.feed(
        &["put", "b", "--kind", "note", "--content", "-", "--json"],
        b"\xff\xfe",
    );
    assert_eq!(ran.refusal(1)["code"], "invalid_input");
    folder.refused(1, &["get", "b"]);
}

#[test]
fn put_replaces_the_whole_object_and_keeps_when_it_was_created() {
    let folder = Folder::with_store();
    folder.json(&["put", "a", "--kind", "note", "--attr", "x=1"]);
    folder.put("a", "only content now");
    let object = folder.json(&["get", "a"]);
    assert_eq!(object["attributes"], json!({}));
    assert!(text(&object["created"]) < text(&object["updated"]));
}

#[test]
fn trust_can_only_be_lowered() {
    let folder = Folder::with_store();
    folder.json(&["put", "a", "--kind", "k", "--trust", "untrusted"]);
    assert_eq!(folder.json(&["get", "a"])["origin"], "tool_external");
    assert_eq!(
        folder
            .run(&["put", "b", "--kind", "k", "--trust", "trusted"])
            .code,
        2
    );
    let log = folder.stream(&["log", "--limit", "1"]);
    assert_eq!(log[0]["trust"], "tool_external");
}

#[test]
fn list_filters_and_streams() {
    let folder = Folder::with_store();
    for (id, kind, scope, state) in [
        ("n/1", "note", "work", "open"),
        ("n/2", "note", "home", "done"),
        ("t/1", "task", "work", "open"),
    ] {
        folder.json(&[
            "put",
            id,
            "--kind",
            kind,
            "--scope",
            scope,
            "--attr",
            &format!("state={state}"),
            "--attr",
            "n:=1",
        ]);
    }
    let ids = |arguments: &[&str]| {
        let mut all = vec!["list"];
        all.extend(arguments);
        column(&folder.stream(&all), "id")
    };
    assert_eq!(ids(&[]), ["n/1", "n/2", "t/1"]);
    assert_eq!(ids(&["--kind", "note"]), ["n/1", "n/2"]);
    assert_eq!(ids(&["--scope", "work"]), ["n/1", "t/1"]);
    assert_eq!(ids(&["--prefix", "n/"]), ["n/1", "n/2"]);
    assert_eq!(ids(&["--attr", "state=open", "--kind", "task"]), ["t/1"]);
    assert_eq!(ids(&["--attr", "n:=1", "--limit", "2"]), ["n/1", "n/2"]);
    assert_eq!(ids(&["--attr", "n=1"]), [""; 0], "text is not a number");
    assert_eq!(ids(&["--limit", "0"]), [""; 0]);
    for line in folder.stream(&["list"]) {
        check_fields(&line, &LISTED);
        for absent in ["content", "children", "subtree_digest"] {
            assert!(line.get(absent).is_none(), "{absent} in {line}");
        }
    }
}

#[test]
fn an_empty_list_is_no_error_and_says_so_to_people() {
    let folder = Folder::with_store();
    let ran = folder.run(&["list"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("nothing found"), "{ran:?}");
    let ran = folder.run(&["list", "--json"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}

#[test]
fn history_tells_every_change_and_removal() {
    let folder = Folder::with_store();
    folder.put("a", "one");
    folder.put("a", "two");
    folder.json(&["remove", "a"]);
    folder.put("b", "beside");
    let history = folder.stream(&["history", "a"]);
    assert_eq!(history.len(), 3);
    for line in &history {
        check_fields(
            line,
            &[
                ("digest", "d?"),
                ("commit", "d"),
                ("seq", "n"),
                ("time", "t"),
                ("op", "s"),
            ],
        );
    }
    assert!(history[0]["digest"].is_null() && history[1]["digest"].is_string());
    assert_eq!(
        history
            .iter()
            .map(|line| line["seq"].as_u64().unwrap())
            .collect::<Vec<_>>(),
        [3, 2, 1]
    );
    assert_eq!(folder.stream(&["history", "a", "--limit", "1"]).len(), 1);
    assert_eq!(folder.stream(&["history", "a", "--at", "@-2"]).len(), 2);
    assert_eq!(folder.refused(1, &["history", "nobody"])["code"], "not_found");
}

#[test]
fn remove_counts_and_refuses_parents() {
    let folder = Folder::with_store();
    folder.put("top", "x");
    folder.json(&["put", "below", "--kind", "k", "--parent", "top"]);
    folder.refused(1, &["remove", "top"]);
    let removed = folder.json(&["remove", "top", "--recursive"]);
    check_fields(
        &removed,
        &[("removed", "n"), ("commit", "d"), ("seq", "n"), ("root", "d")],
    );
    assert_eq!(removed["removed"], 2);
    assert_eq!(folder.stream(&["list"]), [Value::Null; 0]);
    assert_eq!(folder.refused(1, &["remove", "top"])["code"], "not_found");
}

#[test]
fn what_breaks_a_rule_is_refused_and_changes_nothing() {
    let folder = Folder::with_store();
    let root = folder.root();
    for arguments in [
        &["put", "", "--kind", "k"][..],
        &["put", "a", "--kind", ""],
        &["put", "a\u{7}", "--kind", "k"],
        &["put", "a", "--kind", "k", "--parent", "nobody"],
        &["put", "a", "--kind", "k", "--parent", "a"],
        &["put", "a", "--kind", "k", "--attr", "n:=99999999999999999999"],
    ] {
        folder.refused(1, arguments);
    }
    let long = "x".repeat(257);
    folder.refused(1, &["put", &long, "--kind", "k"]);
    let big = "x".repeat((1 << 20) + 1);
    let ran = folder.feed(&["put", "a", "--kind", "k", "--content", "-", "--json"], big);
    assert_eq!(ran.refusal(1)["code"], "over_limit");
    assert_eq!(folder.root(), root);
}

#[test]
fn ids_are_any_text() {
    let folder = Folder::with_store();
    for id in [
        "with space",
        "-starts-with-a-dash",
        "\u{dc}n\u{ef}c\u{f6}de/\u{2603}",
        "../../etc/passwd",
        "{\"json\":1}",
    ] {
        folder.json(&["put", "--kind", "k", "--", id]);
        assert_eq!(folder.json(&["get", "--", id])["id"], id);
    }
    assert_eq!(folder.stream(&["list"]).len(), 5);
}
