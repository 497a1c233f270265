//! `forget`, `forgotten`, `unforget`, `expire` and `decay`, across processes.

use serde_json::Value;

use crate::cli_retention::THIN;
use crate::program::Folder;

const LONG: &str = "The office is in Porto, Rua das Flores 7. The code of the door is at the desk. Ada has the second key. \
                    On Mondays nobody is there before ten. Deliveries have to wait until somebody comes.";

fn remember(folder: &Folder, id: &str, text: &str, options: &[&str]) {
    let words = ["put", id, "--kind", "fact", "--content", text];
    folder.json(&[&words[..], options].concat());
}

fn ids(items: &Value) -> Vec<&str> {
    let items = items.as_array().unwrap();
    items.iter().map(|item| item["id"].as_str().unwrap()).collect()
}

#[test]
fn what_goes_is_what_meets_all_conditions() {
    let folder = Folder::with_store();
    remember(
        &folder,
        "a",
        "green tea",
        &["--attr", "tags:=[\"tea\",\"drink\"]"],
    );
    remember(&folder, "b", "coffee", &["--attr", "tags:=[\"drink\"]"]);
    remember(
        &folder,
        "c",
        "a secret",
        &["--attr", "tags:=[\"tea\"]", "--scope", "project:other"],
    );
    let told = |arguments: &[&str]| {
        let answer = folder.json(&[&["forget", "--dry-run"], arguments].concat());
        ids(&answer["forgotten"]).join(" ")
    };
    assert_eq!(
        told(&["--tag", "tea"]),
        "a",
        "an item of another project does not match"
    );
    assert_eq!(told(&["--tag", "tea", "--all-scopes"]), "a c");
    assert_eq!(told(&["--tag", "tea", "--scope", "project:other"]), "c");
    assert_eq!(told(&["--tag", "tea", "--tag", "drink"]), "a");
    assert_eq!(told(&["--any-tag", "tea", "--any-tag", "drink"]), "a b");
    assert_eq!(told(&["--tag", "drink", "--older-than", "1h"]), "");
    assert_eq!(told(&["c"]), "c", "an id matches in every scope");
    let refused = folder.run(&["forget", "--json"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.err.contains("no_criteria"), "{refused:?}");
    let refused = folder.run(&["forget", "--all-scopes", "--json"]);
    assert!(refused.err.contains("no_criteria"), "{refused:?}");
    let refused = folder.run(&["forget", "a", "nobody"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(folder.json(&["head"])["objects"], 3);
}

#[test]
fn what_was_forgotten_comes_back_whatever_gc_does() {
    let folder = Folder::with_store();
    remember(&folder, "a", LONG, &[]);
    let before = folder.json(&["get", "a"]);
    folder.json(&["forget", "a", "--actor", "ada", "-m", "wrong"]);
    for number in 0..5 {
        remember(&folder, "other", &number.to_string(), &[]);
    }
    let kept = folder.json(&[&["gc", "--yes", "--newest", "0"], &THIN[..]].concat());
    assert_eq!(kept["kept"], 3, "{kept}");
    let list = folder.json(&["forgotten"]);
    assert_eq!(
        (&list["id"], &list["actor"], &list["reason"]),
        (&"a".into(), &"ada".into(), &"wrong".into())
    );
    assert_eq!(list["digest"], before["digest"]);
    folder.json(&["unforget", "a"]);
    let after = folder.json(&["get", "a"]);
    assert_eq!(
        (&after["digest"], &after["content"]),
        (&before["digest"], &before["content"])
    );
    assert_eq!(folder.run(&["forgotten", "--json"]).out, "");
}

#[test]
fn a_text_gets_shorter_and_what_was_brought_back_is_in_use() {
    let folder = Folder::with_store();
    remember(&folder, "a", LONG, &[]);
    let before = folder.json(&["get", "a"]);
    assert_eq!(ids(&folder.json(&["decay"])["moves"]), [""; 0]);
    for level in ["summary", "keywords", "gone"] {
        let done = folder.json(&["decay", "--now", "2100-01-01"]);
        assert_eq!(done["moves"][0]["to"], level, "{done}");
        assert_eq!(done["moves"][0]["original"], before["digest"]);
    }
    assert_eq!(folder.run(&["get", "a"]).code, 1);
    folder.json(&["unforget", "a"]);
    assert_eq!(folder.json(&["get", "a"])["digest"], before["digest"]);
    assert!(
        folder.path(".treering/derived/uses-new").exists(),
        "when it was used is kept"
    );
    let verified = folder.json(&["verify"]);
    assert_eq!(
        (&verified["ok"], verified["derived"].as_array().unwrap().len()),
        (&true.into(), 0)
    );
    std::fs::write(folder.path(".treering/derived/uses"), "what is this").unwrap();
    let problems = folder.json(&["doctor"])["problems"].clone();
    assert_eq!(problems[0]["code"], "derived_damaged", "{problems}");
    assert_eq!(folder.json(&["decay"])["items"], 1, "nothing is lost with it");
}

#[test]
fn what_ends_is_not_listed_and_says_when() {
    let folder = Folder::with_store();
    remember(&folder, "a", "a coupon", &[]);
    folder.json(&["expire", "a", "--at", "2020-01-01"]);
    assert_eq!(folder.run(&["list", "--json"]).out, "");
    let stays = folder.json(&["expire", "a", "--never"]);
    assert_eq!(
        (&stays["expires"], &stays["changed"]),
        (&Value::Null, &true.into())
    );
    assert_eq!(folder.json(&["list"])["id"], "a");
    assert_eq!(folder.run(&["expire", "nobody", "--in", "2d"]).code, 1);
    assert_eq!(folder.run(&["expire", "a"]).code, 2);
}

#[test]
fn what_one_forget_took_comes_back_as_it_says_and_else_only_where_it_is_meant() {
    let folder = Folder::with_store();
    remember(&folder, "a", "green tea", &[]);
    remember(&folder, "b", "of a session", &["--scope", "session:s1"]);
    remember(&folder, "c", "a secret", &["--scope", "project:other"]);
    for id in ["a", "b", "c"] {
        let told = folder.run(&["forget", id, "--session", "s1"]);
        let line = told
            .err
            .lines()
            .find(|line| line.starts_with("restore the items with"))
            .unwrap();
        let words: Vec<&str> = line.split_once(": treering ").unwrap().1.split(' ').collect();
        assert_eq!(ids(&folder.json(&words)["restored"]), [id], "{line}");
    }
    folder.json(&["forget", "a"]);
    folder.json(&["forget", "c"]);
    assert_eq!(ids(&folder.json(&["unforget", "--last"])["restored"]), ["a"]);
    folder.refused(1, &["unforget", "--last"]);
    folder.json(&["unforget", "--last", "--all-scopes"]);
}

#[test]
fn what_a_question_finds_is_shown_and_forgotten_only_if_it_is_one_item() {
    let folder = Folder::with_store();
    remember(&folder, "office", "The office is in Oslo", &[]);
    remember(&folder, "door", "The office has a green door", &[]);
    remember(&folder, "chess", "Ada plays chess on Sundays", &[]);
    let root = folder.root();
    for options in [&["--dry-run"][..], &[]] {
        let answer = folder.json(&[&["forget", "--about", "office"], options].concat());
        let mut found = ids(&answer["items"]);
        found.sort_unstable();
        assert_eq!(found, ["door", "office"]);
        assert!(answer["items"][0]["text"].is_string() && answer["commit"].is_null());
        assert_eq!(answer["dry_run"], true);
    }
    let refused = folder.refused(1, &["forget", "--about", "office", "--yes"]);
    assert_eq!(refused["code"], "ambiguous");
    assert_eq!(refused["ids"].as_array().map(Vec::len), Some(2));
    let refused = folder.refused(1, &["forget", "--about", "zeppelin", "--yes"]);
    assert_eq!(refused["code"], "not_found");
    assert_eq!(folder.root(), root);
    let done = folder.json(&["forget", "--about", "who plays chess?", "--yes"]);
    assert_eq!(done["forgotten"][0], "chess");
    folder.json(&["unforget", "chess"]);
    assert_eq!(folder.root(), root);
    folder.refused(2, &["forget", "door", "--about", "office"]);
}
