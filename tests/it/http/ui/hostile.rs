//! Hostile stored texts arrive as text, with invisible characters written out.

use serde_json::{Value, json};

use super::super::Folder;
use super::Page;

/// Returns every text of a document, with the names of its fields.
fn texts(document: &Value, found: &mut Vec<String>) {
    match document {
        Value::String(text) => found.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|item| texts(item, found)),
        Value::Object(map) => {
            for (name, field) in map {
                found.push(name.clone());
                texts(field, found);
            }
        }
        _ => {}
    }
}

/// INVARIANT PAG-1: every text of an answer is written out.
#[test]
fn no_answer_contains_a_character_that_nobody_sees() {
    let folder = Folder::with_store();
    let hostile = "<script>alert(1)</script>\u{1b}[31m\u{202e}gnp.exe\u{200b}\u{2066}\u{E0041}\u{feff}\r\n";
    let lines = [
        json!({ "id": "bidi/\u{202e}gnp", "kind": "fact", "content": hostile, "attributes": { "x\u{200b}y": hostile, "title": hostile, "list": [hostile] } }),
        json!({ "id": "plain", "kind": "fact", "content": hostile, "scope": "a\u{202e}b", "parent": "bidi/\u{202e}gnp" }),
    ];
    folder.write("lines", format!("{}\n{}\n", lines[0], lines[1]));
    let session = "night\u{202e}";
    folder.json(&[
        "put",
        "--jsonl",
        "lines",
        "--session",
        session,
        "-m",
        "because \u{202e} of it",
        "--actor",
        "ada\u{200b}",
    ]);
    let page = Page::start(&folder, &["--write"]);
    let listed = page.get("objects");
    let key = listed["rows"][0]["key"].as_str().unwrap().to_owned();
    assert_eq!(listed["rows"][0]["id"], "bidi/\\u{202e}gnp");
    assert!(listed["rows"][1]["key"].is_null());
    // The object is found by its key path, and the session by its shown name.
    let object = page.get(&format!("object?id={key}"));
    assert!(
        object["content"]
            .as_str()
            .unwrap()
            .starts_with("<script>alert(1)</script>\\u{1b}[31m\\u{202e}gnp"),
        "{object}"
    );
    let lane = page.get("sessions")["rows"][0]["lane"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(lane, "night\\u{202e}");
    let named = "night%5Cu%7B202e%7D";
    let paths = [
        "summary".to_owned(),
        "folders".to_owned(),
        "objects".to_owned(),
        format!("object?id={key}"),
        "object?id=plain".to_owned(),
        format!("versions?id={key}"),
        "commits".to_owned(),
        "sessions".to_owned(),
        format!("changes?lane={named}"),
        format!("commits?lane={named}"),
        "changes?commit=seq:1".to_owned(),
        "search?q=alert".to_owned(),
        "part?q=alert".to_owned(),
    ];
    let is_unseen = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || "\u{202e}\u{200b}\u{2066}\u{feff}\u{E0041}".contains(c)
    };
    for path in paths {
        let (answer, mut found) = (page.get(&path), Vec::new());
        texts(&answer, &mut found);
        let bad = found.iter().find(|text| text.contains(is_unseen));
        assert!(bad.is_none(), "{path}: {bad:?}");
    }
    let preview = page
        .post("revert", &json!({ "lane": lane, "dry_run": true }))
        .json();
    assert_eq!(preview["removed"], 2, "{preview}");
    let missing = page.send("GET", "/ui/object?id=%E2%80%AE", "", "");
    assert_eq!(missing.status, 404);
    assert!(!missing.body.contains('\u{202e}'), "{missing:?}");
}
