//! `recall` as a program: hits, omissions, and the answers to a file of queries.

use serde_json::Value;

use crate::program::{Folder, text};

/// Returns a store with three items in two scopes and at two times.
fn tea() -> Folder {
    let folder = Folder::new();
    folder.json(&["init"]);
    let lines = [
        r#"{"id":"a","kind":"fact","content":"Ada drinks green tea every morning","attributes":{"speaker":"Ada","tags":["drink"]},"event_time":"2026-03-01T08:00:00Z"}"#,
        r#"{"id":"b","kind":"fact","scope":"project:cafe","content":"The cafe sells tea and cake","event_time":"2026-03-02T08:00:00Z"}"#,
        r#"{"id":"c","kind":"decision","content":"No tea in the server room","event_time":"2026-03-20T08:00:00Z"}"#,
    ];
    let put = folder.feed(&["put", "--jsonl", "-"], lines.join("\n"));
    assert_eq!(put.code, 0, "{}", put.err);
    folder
}

fn ids(document: &Value) -> Vec<String> {
    let hits = document["hits"].as_array().unwrap();
    let mut ids: Vec<String> = hits.iter().map(|hit| text(&hit["id"])).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn recall_finds_what_fits_in_the_scopes_that_are_named() {
    let folder = tea();
    let found = folder.json(&["recall", "green", "tea"]);
    assert_eq!(ids(&found), ["a", "c"]);
    assert_eq!(text(&found["hits"][0]["id"]), "a");
    assert_eq!(text(&found["scopes"][0]), "global");
    let head = folder.json(&["head"]);
    assert_eq!(found["root"], head["root"]);
    for (expected, arguments) in [
        (&["a", "b", "c"][..], &["--all-scopes"][..]),
        (&["b"], &["--scope", "project:cafe"]),
        (&["c"], &["--kind", "decision"]),
        (&["a"], &["--tag", "drink"]),
        (&["a"], &["--speaker", "ada"]),
        (&["c"], &["--since", "2026-03-10"]),
        (&["a"], &["--until", "2026-03-10"]),
        (&["a"], &["--attr", "speaker=Ada"]),
    ] {
        let found = folder.json(&[&["recall", "tea"][..], arguments].concat());
        assert_eq!(ids(&found), expected, "{arguments:?}");
    }
    let asked = folder.json(&["recall", "tea", "--budget", "7", "--all-scopes"]);
    assert_eq!((ids(&asked).len(), asked["skipped"].as_u64()), (1, Some(2)));
}

#[test]
fn the_past_answers_as_it_was_and_reading_it_changes_nothing() {
    let folder = tea();
    folder.json(&["remove", "a"]);
    let head = folder.json(&["head"]);
    assert_eq!(ids(&folder.json(&["recall", "green tea"])), ["c"]);
    assert_eq!(
        ids(&folder.json(&["recall", "green tea", "--at", "@-1"])),
        ["a", "c"]
    );
    assert_eq!(folder.json(&["head"]), head);
}

#[test]
fn people_see_the_match_and_the_reasons() {
    let folder = tea();
    let told = folder
        .run(&["recall", "green tea", "--explain", "--limit", "1"])
        .out;
    assert!(told.contains("Ada drinks green tea every morning"), "{told}");
    assert!(told.contains("contains words of the question"), "{told}");
    let none = folder.run(&["recall", "zeppelin"]);
    assert!(
        none.code == 0 && none.err.contains("--all-scopes"),
        "{}",
        none.err
    );
    let elsewhere = folder.run(&["recall", "cake", "--scope", "project:none"]);
    assert!(
        elsewhere
            .err
            .contains("other scopes have matches: project:cafe (1 match)"),
        "{}",
        elsewhere.err
    );
    let found = folder.json(&["recall", "cake", "--scope", "project:none"]);
    assert_eq!(text(&found["elsewhere"][0]["scope"]), "project:cafe");
    assert_eq!(found["elsewhere"][0]["matches"], 1);
}

#[test]
fn a_heading_is_found_by_its_title_and_shown_with_the_titles_above() {
    let folder = tea();
    folder.write("team.md", "# Team\n\n## Ismail\n\n### Phone\n\nExtension 4711\n");
    folder.json(&["ingest", "--as-me", "team.md"]);
    let found = folder.json(&["recall", "Ismail phone"]);
    let titles: Vec<String> = found["hits"][0]["titles"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .collect();
    assert_eq!(titles, ["Team", "Ismail", "Phone"]);
    let told = folder.run(&["recall", "Ismail phone"]).out;
    assert!(
        told.contains("Team / Ismail / Phone") && told.contains("Extension 4711"),
        "{told}"
    );
    let shown = folder.run(&["envelope", "Ismail phone"]).out;
    assert!(shown.contains("title=\"Team / Ismail / Phone\""), "{shown}");
}

#[test]
fn a_file_of_queries_is_answered_line_by_line_in_order() {
    let folder = tea();
    let lines = "{\"qid\":\"1\",\"query\":\"tea\"}\n\n{\"qid\":\"2\",\"query\":\"tea\",\"scope\":\"project:cafe\",\"now\":\"2026-03-03T08:00\"}\n";
    let marked = format!("\u{feff}{lines}");
    let ran = folder.feed(&["recall", "--queries", "-", "--json"], marked);
    let answers = ran.documents();
    assert_eq!(answers.len(), 2);
    assert_eq!([text(&answers[0]["qid"]), text(&answers[1]["qid"])], ["1", "2"]);
    // A query without a scope searches the default scopes of `recall`.
    assert_eq!(ids(&answers[0]), ids(&folder.json(&["recall", "tea"])));
    let all = folder.feed(&["recall", "--queries", "-", "--all-scopes", "--json"], lines);
    assert_eq!(ids(&all.documents()[0]), ["a", "b", "c"]);
    assert_eq!(ids(&answers[1]), ["b"]);
    assert!(answers[0]["ms"].as_f64().is_some());
    let budget = ["--budget", "7", "--explain"];
    let explained = folder.feed(
        &[&["recall", "--queries", "-", "--json"][..], &budget].concat(),
        lines,
    );
    let answers = explained.documents();
    assert_eq!(
        (ids(&answers[0]).len(), &answers[0]["skipped"]),
        (1, &Value::from(1))
    );
    assert!(!answers[0]["hits"][0]["reasons"].as_array().unwrap().is_empty());
    // The hint suggests --all-scopes only if another scope may contain a hit.
    assert!(!ran.err.contains("--all-scopes"), "{}", ran.err);
    let none = "{\"qid\":\"1\",\"query\":\"zeppelin\"}\n{\"qid\":\"2\",\"query\":\"zeppelin\",\"scope\":\"project:cafe\"}\n";
    let told = folder.feed(&["recall", "--queries", "-", "--json"], none).err;
    assert!(
        told.contains("1 line without a scope had no hits") && told.contains("--all-scopes"),
        "{told}"
    );
    let bad = folder.feed(&["recall", "--queries", "-", "--json"], "{\"qid\":\"1\"}\n");
    assert_eq!(bad.code, 1);
    assert!(bad.err.contains("line 1"), "{}", bad.err);
}

#[test]
fn a_refused_query_is_named_by_its_field_and_never_quoted() {
    let folder = tea();
    for (line, reason) in [
        (
            r#"["sk-live-41","tea",null,null]"#,
            "the line is not a JSON object",
        ),
        (r#""sk-live-41""#, "the line is not a JSON object"),
        (
            r#"{"query":["sk-live-41"]}"#,
            "the field `query` is missing or not text",
        ),
        (
            r#"{"query":"tea","scope":{"sk-live-41":1}}"#,
            "the field `scope` is not text",
        ),
        (
            r#"{"query":"tea","now":"sk-live-41"}"#,
            "the field `now` is not a time",
        ),
    ] {
        let ran = folder.feed(&["recall", "--queries", "-"], format!("{line}\n"));
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran:?}");
        assert!(
            ran.err.contains(&format!("line 1: {reason}")),
            "{line}: {}",
            ran.err
        );
        assert!(!ran.err.contains("sk-live"), "{}", ran.err);
    }
}

#[test]
fn without_a_question_the_summaries_around_a_time_are_shown() {
    let folder = tea();
    for (name, time) in [("s1", "2026-03-01"), ("s2", "2026-03-08"), ("s3", "2026-03-15")] {
        let line = format!(
            "{{\"id\":\"{name}\",\"kind\":\"summary\",\"content\":\"the week\",\"event_time\":\"{time}T00:00:00Z\"}}"
        );
        assert_eq!(folder.feed(&["put", "--jsonl", "-"], line).code, 0);
    }
    assert_eq!(ids(&folder.json(&["recall"])), ["s1", "s2", "s3"]);
    assert_eq!(
        ids(&folder.json(&["recall", "--when", "2026-03-10"])),
        ["s2", "s3"]
    );
}
