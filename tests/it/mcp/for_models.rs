//! What a model pays for: an answer is one text, which names each long id by a short one, and says each thing once.

use std::time::{Duration, Instant};
use std::{fs, thread};

use serde_json::{Value, json};

use super::{Client, Folder};
use crate::program::text;

fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// Returns the lines of an answer that are rows.
fn rows(told: &str) -> Vec<&str> {
    told.lines().filter(|line| line.starts_with("- ")).collect()
}

/// Returns the name in a row without spaces in its name.
fn name_in(row: &str) -> &str {
    let (_, rest) = row.split_once(") ").unwrap();
    rest.split([':', ' ']).next().unwrap()
}

/// Returns a word of the first line of an answer.
fn word(told: &str, place: usize) -> String {
    let line = told.lines().next().unwrap();
    line.split(' ').nth(place).unwrap().to_owned()
}

/// Fills a store with items of many forms.
fn varied(folder: &Folder) {
    let long = "Every word about the tea of the office counts here. ".repeat(60);
    let texts = [
        "The tea of the office is green.".to_owned(),
        "Der Teekessel im Büro heißt „Öhrchen“, tea: 茶壶 🍵 \"schnell\".".to_owned(),
        "tea\n\tlines\r\n\n\nof code: { \"a\\b\": [1, 2] }\n".to_owned(),
        long,
        "tea".to_owned(),
        "Чай в офисе зелёный, tea office.".to_owned(),
    ];
    let mut lines = Vec::new();
    for (number, said) in texts.iter().cycle().take(30).enumerate() {
        let tags = (0..number % 25).map(|tag| format!("tag-with-a-long-name-{tag}"));
        let tags: Vec<String> = tags.collect();
        let mut line = json!({ "text": format!("{said} ({number})"), "tags": tags, "subject": "The office" });
        match number % 3 {
            0 => {}
            1 => line["id"] = json!(format!("tea/{number}")),
            _ => line["id"] = json!(format!("notes/of/a/very/long/path/that/nobody/reads/{number}")),
        }
        lines.push(line.to_string());
    }
    let class = |class| ["remember", "--jsonl", "-", "--scope", "global", "--trust", class];
    assert_eq!(folder.feed(&class("model"), lines.join("\n")).code, 0);
    let others = lines.iter();
    let others = others.map(|line| line.replace("tea/", "page/").replace("path", "page"));
    let others: Vec<_> = others.collect();
    assert_eq!(folder.feed(&class("tool_external"), others.join("\n")).code, 0);
    let page = "# The office\n\n## Where the tea of the office is\n\nOn the shelf beside the door.\n\n## tea at noon\n";
    folder.write("page.md", page);
    folder.json(&["ingest", "page.md", "--scope", "global", "--trust", "model"]);
}

/// INVARIANT MRC-1: an answer costs at most the tokens of the texts of its hits, 12 for each hit and 40.
#[test]
fn a_recall_costs_little_more_than_its_texts() {
    let folder = Folder::with_store();
    varied(&folder);
    for option in [&[][..], &["--scope", "global"]] {
        let options = [option, &["--max-tokens", "100000"]].concat();
        let mut program = Client::start(&folder, &options);
        let mut model = Client::start_for_model(&folder, &options);
        for arguments in [
            json!({ "query": "tea office" }),
            json!({ "query": "tea office", "limit": 3 }),
            json!({ "query": "tea", "limit": 100 }),
            json!({ "query": "tea", "full": true, "limit": 5 }),
            json!({ "query": "which tea is in the office?", "untrusted": true, "limit": 100 }),
            json!({ "query": "noon shelf" }),
            json!({ "query": "zebra" }),
            json!({ "query": "tea zebra crossing on mondays", "limit": 50 }),
        ] {
            let result = model.result("memory_recall", arguments.clone());
            // No part of the answer is anywhere else.
            let has = |name: &str| result.get(name).is_some();
            assert!(!has("structuredContent") && !has("_meta"), "{result}");
            let told = text(&result["content"][0]["text"]);
            let hits = program.call("memory_recall", arguments.clone())["hits"].clone();
            let hits = hits.as_array().unwrap();
            assert_eq!(rows(&told).len(), hits.len(), "{told}");
            let texts = hits.iter().map(|hit| {
                let own = ["text", "snippet"]
                    .into_iter()
                    .find_map(|name| hit[name].as_str());
                let title = hit["titles"].as_array().and_then(|titles| titles.last());
                tokens(own.or(title.and_then(Value::as_str)).unwrap_or_default())
            });
            let most = texts.sum::<usize>() + 12 * hits.len() + 40;
            let taken = tokens(&told);
            assert!(taken <= most, "{taken} of {most} tokens: {told}");
        }
    }
}

/// The other tools answer in one text, too, and say what a model needs.
#[test]
fn other_answers_are_one_short_text() {
    let folder = Folder::with_store();
    varied(&folder);
    let mut client = Client::start_for_model(&folder, &["--profile", "full", "--session", "s"]);
    let stored = client.told(
        "memory_remember",
        json!({ "text": "Vera drinks green tea.", "tags": ["vera"] }),
    );
    assert!(
        stored.starts_with("created ~") && tokens(stored.lines().next().unwrap()) < 20,
        "{stored}"
    );
    let id = word(&stored, 1);
    let got = client.told("memory_get", json!({ "id": id }));
    let (about, own) = got.split_once('\n').unwrap();
    assert_eq!(own, "Vera drinks green tea.");
    for part in [
        "(model) ",
        " is a fact in ",
        "tags vera",
        "session s",
        "created 2",
        "version ",
    ] {
        assert!(about.contains(part), "{part}: {about}");
    }
    let forgot = client.told("memory_forget", json!({ "ids": [id] }));
    assert_eq!(
        forgot,
        format!("forgot 1 item\n- (model) {id}: Vera drinks green tea.")
    );
    let envelope = client.told("memory_envelope", json!({ "query": "tea" }));
    assert!(
        envelope.contains("<memory") && tokens(&envelope) <= 2_000,
        "{envelope}"
    );
    for (tool, arguments, most) in [
        ("memory_status", json!({}), 60),
        ("memory_note", json!({ "text": "Buy tea." }), 20),
        ("memory_snapshot", json!({}), 10),
        ("memory_undo", json!({ "dry_run": true }), 25),
        ("memory_history", json!({ "id": "tea/1" }), 40),
    ] {
        let result = client.result(tool, arguments);
        assert_eq!(result["structuredContent"], Value::Null, "{result}");
        let told = text(&result["content"][0]["text"]);
        let taken = tokens(&told);
        assert!(taken <= most, "{tool}: {taken} tokens: {told}");
    }
    let list = client.told("memory_get", json!({ "limit": 20 }));
    assert_eq!(rows(&list).len(), 20, "{list}");
    assert!(
        list.lines().last().unwrap().starts_with("more: cursor "),
        "{list}"
    );
}

/// The answers say which of two items is the old one.
#[test]
fn what_supersedes_another_item_is_named() {
    let folder = Folder::with_store();
    let mut client = Client::start_for_model(&folder, &["--scope", "global"]);
    let mut told = |tool: &str, arguments: Value| client.told(tool, arguments);
    let old = json!({ "text": "The office is in Oslo.", "id": "f/old" });
    told("memory_remember", old);
    let new = json!({ "text": "The office is in Bergen.", "id": "f/new", "supersedes": ["f/old"] });
    let stored = told("memory_remember", new);
    assert!(
        stored.starts_with("created f/new in global, supersedes f/old"),
        "{stored}"
    );
    let recalled = told("memory_recall", json!({ "query": "where is the office" }));
    let old: Vec<&str> = rows(&recalled)
        .into_iter()
        .filter(|row| row.contains("Oslo"))
        .collect();
    assert!(old[0].contains("superseded by f/new"), "{recalled}");
    assert_eq!(recalled.matches("superseded").count(), 1, "{recalled}");
    // The program for people and its compact form say so, too.
    folder.json(&["expire", "f/new", "--at", "2020-01-01"]);
    folder.json(&[
        "remember",
        "Tea is green.",
        "--id",
        "f/tea",
        "--scope",
        "global",
        "--supersedes",
        "f/old",
    ]);
    for format in [&[][..], &["--agent"]] {
        let shown = |verb: &[&str]| folder.run(&[verb, format].concat()).out;
        assert!(shown(&["get", "f/old"]).contains("superseded by f/tea"));
        assert!(shown(&["get", "f/new"]).contains("expired"));
        let listed = shown(&["list", "--include-expired"]);
        assert_eq!(listed.matches("(superseded by f/tea)").count(), 1, "{listed}");
        assert_eq!(listed.matches("(expired)").count(), 1, "{listed}");
    }
}

/// INVARIANT ANS-5: every argument for an id takes the short form that an answer shows.
#[test]
fn every_tool_takes_a_short_id() {
    let folder = Folder::with_store();
    let mut client = Client::start_for_model(&folder, &["--profile", "full"]);
    let mut told = |tool: &str, arguments: Value| client.told(tool, arguments);
    let short = word(
        &told("memory_remember", json!({ "text": "The office is in Oslo." })),
        1,
    );
    assert!(short.starts_with('~') && short.len() == 13, "{short}");
    let recalled = told("memory_recall", json!({ "query": "office" }));
    let listed = told("memory_get", json!({}));
    for shown in [recalled, listed] {
        assert_eq!(name_in(rows(&shown)[0]), short);
    }
    let whole = text(&folder.stream(&["list"])[0]["id"]);
    assert!(told("memory_get", json!({ "id": short })).contains(&whole));
    let office = |said: &str, id: &str| json!({ "text": said, "id": id });
    told("memory_remember", office("The office is in Bergen.", &short));
    assert_eq!(
        folder.json(&["get", &whole])["content"],
        "The office is in Bergen."
    );
    let changes = told("memory_history", json!({ "id": short }));
    assert_eq!(rows(&changes).len(), 2, "{changes}");
    assert!(told("memory_blame", json!({ "id": short })).contains("Bergen"));
    let moved = json!({ "text": "The office moved to Rome.", "supersedes": [short], "id": "o/new" });
    told("memory_remember", moved);
    let newer = folder.json(&["get", "o/new"]);
    assert_eq!(newer["attributes"]["supersedes"], json!([whole]));
    told("memory_forget", json!({ "ids": [short] }));
    told("memory_unforget", json!({ "ids": [short] }));
    assert!(told("memory_get", json!({ "id": short })).contains("Bergen"));
    let note = told("memory_note", json!({ "text": "Ask about the lease." }));
    let note = word(&note, 2);
    told("memory_note", office("Ask about the rent.", &note));
    let notes = told("memory_note", json!({ "action": "list" }));
    assert!(notes.contains(&format!("{note}: Ask about the rent.")), "{notes}");
    told("memory_note", json!({ "action": "delete", "id": note }));
    let uri = json!({ "uri": format!("memory://object/{short}") });
    let read = client.ask("resources/read", uri);
    assert!(read.to_string().contains("Bergen"), "{read}");
}

/// INVARIANT SID-1: a short id names its item or none, whatever else is stored.
#[test]
fn a_short_id_never_names_another_item() {
    let folder = Folder::with_store();
    let mut client = Client::start_for_model(&folder, &["--scope", "project:a"]);
    let stored = client.told("memory_remember", json!({ "text": "The office is in Oslo." }));
    let short = word(&stored, 1);
    client.told("memory_undo", json!({}));
    let gone = |client: &mut Client| {
        for (tool, arguments) in [
            ("memory_get", json!({ "id": short })),
            ("memory_forget", json!({ "ids": [short] })),
            ("memory_remember", json!({ "text": "Another text.", "id": short })),
            (
                "memory_remember",
                json!({ "text": "Another text.", "supersedes": [short] }),
            ),
        ] {
            assert_eq!(client.refused(tool, arguments)["code"], "not_found", "{tool}");
        }
    };
    gone(&mut client);
    // An item whose id looks like the short one is no other item's.
    let scope = ["--scope", "project:a", "--trust", "model"];
    let put = ["put", &short, "--kind", "fact", "--content", "Forged."];
    folder.json(&[&put[..], &scope].concat());
    gone(&mut client);
    let listed = client.told("memory_get", json!({}));
    let other = name_in(rows(&listed)[0]).to_owned();
    assert!(other.starts_with('~') && other != short, "{listed}");
    let got = client.told("memory_get", json!({ "id": other }));
    assert!(got.ends_with("Forged."), "{got}");
    // That of another scope is none.
    let mut elsewhere = Client::start_for_model(&folder, &["--scope", "project:b"]);
    let refused = elsewhere.refused("memory_get", json!({ "id": other }));
    assert_eq!(refused["code"], "not_found");
}

/// INVARIANT ANS-1: a text that is longer than an answer is read page by page.
#[test]
fn a_long_text_goes_on_by_its_cursor() {
    let folder = Folder::with_store();
    let line = |number| format!("{number}\tEvery \"word\" counts.\n\n");
    let long: String = (0..200).map(line).collect();
    folder.put("facts/long", long.trim());
    let mut client = Client::start_for_model(&folder, &["--max-tokens", "300"]);
    let (mut found, mut arguments) = (String::new(), json!({ "id": "facts/long" }));
    loop {
        let told = client.told("memory_get", arguments.clone());
        assert!(tokens(&told) <= 300, "{told}");
        let (_, page) = told.split_once('\n').unwrap();
        let Some((page, cursor)) = page.rsplit_once("\nmore: cursor ") else {
            found.push_str(page);
            break;
        };
        found.push_str(page);
        arguments["cursor"] = json!(cursor);
    }
    assert_eq!(found, long.trim());
}

/// If nothing matches well, the answer says where other scopes have matches, as the program does. A caller that is confined
/// to one scope learns nothing of the others.
#[test]
fn other_scopes_with_matches_are_named() {
    let folder = Folder::with_store();
    for (scope, said) in [
        ("project:harbour", "The crane is yellow."),
        ("project:ship", "The crane is old."),
    ] {
        folder.json(&["remember", said, "--scope", scope]);
    }
    let query = json!({ "query": "crane" });
    let mut model = Client::start_for_model(&folder, &[]);
    let told = model.told("memory_recall", query.clone());
    assert!(told.contains("project:harbour (1), project:ship (1)"), "{told}");
    let mut program = Client::start(&folder, &[]);
    let own = |scope: &str| json!({ "scope": scope, "matches": 1 });
    assert_eq!(
        program.call("memory_recall", query.clone())["elsewhere"],
        json!([own("project:harbour"), own("project:ship")])
    );
    let mut confined = Client::start(&folder, &["--scope", "global"]);
    let result = confined.result("memory_recall", query);
    assert!(!result.to_string().contains("project:"), "{result}");
}

/// INVARIANT MRC-1: scopes whose names have no room are counted.
#[test]
fn many_scopes_with_matches_are_counted() {
    let folder = Folder::with_store();
    for number in 0..12 {
        let scope = format!("project:{number:02}-{}", "long".repeat(15));
        folder.json(&["remember", "The crane is yellow.", "--scope", &scope]);
    }
    let mut client = Client::start_for_model(&folder, &[]);
    let told = client.told("memory_recall", json!({ "query": "crane" }));
    assert!(told.contains("11 more") && tokens(&told) <= 40, "{told}");
}

/// A careful writer replaces only the version that it read.
#[test]
fn a_write_can_name_the_version_that_it_expects() {
    let folder = Folder::with_store();
    let mut client = Client::start_for_model(&folder, &[]);
    let first = json!({ "text": "The office is in Oslo.", "id": "office" });
    client.told("memory_remember", first);
    let version_in = |told: &str| {
        let line = told.lines().next().unwrap();
        line.rsplit_once("version ").unwrap().1.to_owned()
    };
    let version = version_in(&client.told("memory_get", json!({ "id": "office" })));
    let write = |said: &str, version: &str| json!({ "text": said, "id": "office", "expected": version });
    let next = client.told("memory_remember", write("The office is in Bergen.", &version));
    let next = version_in(&next);
    let root = folder.root();
    for stale in [version.as_str(), &"0".repeat(64), "00000000"] {
        let refused = client.refused("memory_remember", write("The office is in Rome.", stale));
        assert_eq!(refused["code"], "conflict", "{refused}");
    }
    for bad in [
        json!({ "text": "x", "expected": next }),
        write("x", "0"),
        write("x", "not a digest"),
    ] {
        assert_eq!(client.result("memory_remember", bad)["isError"], true);
    }
    assert_eq!(folder.root(), root);
    let whole = text(&folder.json(&["get", "office"])["digest"]);
    assert!(whole.starts_with(&next));
    client.told("memory_remember", write("The office is in Rome.", &whole));
    assert_eq!(
        folder.json(&["get", "office"])["content"],
        "The office is in Rome."
    );
}

/// Returns a server whose model is a command.
fn with_model(folder: &Folder, model: &str, options: &[&str]) -> Client {
    let settings = format!("[meaning]\ncommand = [\"sh\", \"-c\", '''{model}''']\n");
    folder.write("settings.toml", settings);
    let mut command = folder.command(&[&["serve", "--mcp"], options].concat());
    command
        .env_remove("TREERING_MODEL")
        .env("TREERING_SETTINGS", folder.path("settings.toml"));
    let mut client = Client::of(command);
    client.greet("2025-11-25");
    client
}

/// A model that fails is named where a model or a program looks, and costs few tokens in an answer.
#[test]
fn a_model_at_fault_is_told() {
    let folder = Folder::with_store();
    folder.put("facts/tea", "The tea of the office is green.");
    let query = json!({ "query": "tea" });
    let mut client = with_model(&folder, "exit 3", &[]);
    let told = client.told("memory_recall", query.clone());
    assert!(
        told.starts_with("1 hit; by words only, memory_status says why\n"),
        "{told}"
    );
    let told = client.told("memory_status", json!({}));
    assert!(told.contains("; recall uses words only: "), "{told}");
    drop(client);
    let mut program = with_model(&folder, "exit 3", &["--structured"]);
    let answer = program.call("memory_recall", query);
    let counts = ["embedded", "pending"].map(|name| answer["vectors"][name].as_u64());
    assert_eq!(counts, [Some(0), Some(1)], "{answer}");
    assert!(answer["fault"].is_string(), "{answer}");
}

/// The texts of a store that replaced another one get their vectors without a recall, too.
#[test]
fn a_replaced_store_gets_its_vectors() {
    const MODEL: &str =
        r#"while read -r line; do echo "$line" >> embedded.log; echo '{"vector":[120,7,11,13]}'; done"#;
    let folder = Folder::with_store();
    let mut client = with_model(&folder, MODEL, &["--structured"]);
    fs::rename(folder.store(), folder.path("old")).unwrap();
    folder.json(&["init"]);
    // The next call opens the new store.
    client.call("memory_status", json!({}));
    folder.put("facts/tea", "The tea is green.");
    let begun = Instant::now();
    let log = folder.path("embedded.log");
    while !fs::read_to_string(&log).is_ok_and(|log| log.contains("The tea is green.")) {
        assert!(
            begun.elapsed() < Duration::from_mins(2),
            "nobody computed the vector"
        );
        thread::sleep(Duration::from_millis(20));
    }
}
