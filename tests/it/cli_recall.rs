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

/// Returns a store with one fact for each text, in the global scope.
fn with_facts(facts: &[(&str, &str)]) -> Folder {
    let folder = Folder::with_store();
    let line = |(id, text): &(&str, &str)| serde_json::json!({ "id": id, "text": text }).to_string();
    let lines: Vec<String> = facts.iter().map(line).collect();
    let stored = folder.feed(
        &["remember", "--jsonl", "-", "--scope", "global"],
        lines.join("\n"),
    );
    assert_eq!(stored.code, 0, "{}", stored.err);
    folder
}

#[test]
fn words_are_found_as_people_write_them() {
    let folder = with_facts(&[
        ("camel", "The function parseHTTPRequest is slow"),
        ("snake", "Set max_retry_count to three"),
        ("digits", "utf8Decoder drops half characters"),
        ("grouped", "The city has 1,000,000 inhabitants"),
        ("spaced", "The archive has 2 500 000 pages"),
        ("short", "The queue holds 10k messages"),
        ("unit", "The disk has 5GB left"),
        ("hex", "The mask is 0xFF everywhere"),
        ("date", "The contract ends on 2026-11-03"),
        ("street", "She lives in the Goethestraße"),
        ("north", "The ship sails to Tromsø"),
        ("band", "Her favourite band is The Who"),
        ("it", "IT moved to floor three"),
        ("play", "To be or not to be is her favourite line"),
        ("who", "WHO stands for World Health Organization"),
    ]);
    for (question, expected) in [
        ("http request", "camel"),
        ("ParseHttpRequest", "camel"),
        ("parse_http_request", "camel"),
        ("maxRetryCount", "snake"),
        ("utf-8 decoder", "digits"),
        ("1000000", "grouped"),
        ("1 000 000", "grouped"),
        ("1.000.000", "grouped"),
        ("2,500,000", "spaced"),
        ("10000", "short"),
        ("10,000 messages", "short"),
        ("5 GB", "unit"),
        ("5gb", "unit"),
        ("ff", "hex"),
        ("0xff", "hex"),
        ("3 November", "date"),
        ("November 2026", "date"),
        ("3 novembre", "date"),
        ("Goethestrasse", "street"),
        ("Tromso", "north"),
        ("The Who", "band"),
        ("the who", "band"),
        ("IT", "it"),
        ("Where did IT move?", "it"),
        ("to be or not to be", "play"),
        ("WHO", "who"),
    ] {
        let found = folder.json(&["recall", question]);
        let first = found["hits"][0]["id"].as_str();
        assert_eq!(first, Some(expected), "{question}: {found}");
    }
    let folder = with_facts(&[("date", "The contract ends on 3 November 2026")]);
    assert_eq!(ids(&folder.json(&["recall", "2026-11-03"])), ["date"]);
}

#[test]
fn a_hit_of_one_common_word_is_weak_and_an_answer_is_not() {
    let folder = with_facts(&[
        (
            "phone",
            "The phone number of the on-call engineer is 555-0134; call it at night",
        ),
        (
            "limit",
            "The rate limit of the public API is 600 requests a minute",
        ),
        ("office", "The office is in Oslo"),
        ("lunch", "The team lunch is every Wednesday at the Thai place"),
    ]);
    let found = folder.json(&["recall", "how many calls can a client make?"]);
    assert_eq!(found["no_good_match"], true, "{found}");
    assert!(
        found["hits"]
            .as_array()
            .unwrap()
            .iter()
            .all(|hit| hit["weak"] == true),
        "{found}"
    );
    for question in [
        "Where is the office?",
        "rate limit of the API",
        "When is the team lunch?",
    ] {
        let found = folder.json(&["recall", question]);
        let hit = &found["hits"][0];
        assert!(found["no_good_match"] == false && hit["weak"] == false, "{found}");
        assert!((0.35..=1.0).contains(&hit["score"].as_f64().unwrap()), "{found}");
    }
    let none = folder.json(&["recall", "zeppelin"]);
    assert_eq!(none["no_good_match"], true);
    let told = folder.run(&["recall", "how many calls can a client make?"]);
    assert!(told.out.contains("no good match"), "{told:?}");
    let asked = r#"{"qid":"1","query":"how many calls can a client make?"}"#;
    let answers = folder
        .feed(&["recall", "--queries", "-", "--json"], asked)
        .documents();
    assert_eq!(answers[0]["no_good_match"], true);
}

#[test]
fn times_are_given_in_words() {
    let folder = tea();
    for (expected, arguments) in [
        (&["a", "c"][..], &["--since", "2026-03"][..]),
        (&[], &["--until", "2026-03"]),
        (&["c"], &["--since", "last week"]),
        (&["c"], &["--since", "15 March 2026", "--until", "today"]),
        (&["a"], &["--until", "2 weeks ago"]),
        (&[], &["--since", "yesterday"]),
    ] {
        let now = ["--now", "2026-03-23T12:00:00Z"];
        let found = folder.json(&[&["recall", "tea"][..], arguments, &now].concat());
        assert_eq!(ids(&found), expected, "{arguments:?}");
    }
    let refused = folder.refused(1, &["recall", "tea", "--since", "some day"]);
    assert!(refused["message"].to_string().contains("some day"), "{refused}");
    assert_eq!(folder.stream(&["log", "--until", "last month"]).len(), 0);
}
