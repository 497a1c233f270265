//! `import` as a program, on files that other memory systems wrote. `tests/fixtures/imports/README.md` says how.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::Folder;

/// Imports a file of `tests/fixtures/imports` twice, and returns the answer to the first import. The second import must
/// change nothing.
fn import(folder: &Folder, format: &str, name: &str, created: u64) -> Value {
    let path = Path::new(crate::ROOT).join("tests/fixtures/imports").join(name);
    let path = path.to_str().unwrap();
    let arguments = ["import", "--format", format, path, "--scope", "global"];
    let first = folder.json(&arguments);
    assert_eq!(
        (&first["created"], &first["refused"], &first["quarantined"]),
        (&json!(created), &json!(0), &json!(0)),
        "{first}"
    );
    let told = Folder::with_store().run(&arguments);
    assert!(told.err.contains("treering promote"), "{told:?}");
    let again = folder.json(&arguments);
    assert_eq!(
        (&again["unchanged"], &again["commit"]),
        (&json!(created), &first["commit"])
    );
    first
}

/// Returns the relations of all facts, as `FROM TYPE TO`, sorted.
fn relations(folder: &Folder) -> Vec<String> {
    let facts = folder.stream(&["list", "--kind", "fact"]);
    let text = |relation: &Value, part: &str| relation[part].as_str().unwrap().to_owned();
    let of = |fact: &Value| {
        let relation = &fact["attributes"]["relation"];
        let parts = ["from", "type", "to"].map(|part| text(relation, part));
        let whole = folder.json(&["get", fact["id"].as_str().unwrap()]);
        assert_eq!(
            whole["content"],
            parts.join(" "),
            "the text of a relation names its parts"
        );
        parts.join(" | ")
    };
    let with = facts
        .iter()
        .filter(|fact| fact["attributes"]["relation"].is_object());
    let mut found: Vec<String> = with.map(of).collect();
    found.sort();
    found
}

#[test]
fn the_graph_of_server_memory() {
    let folder = Folder::with_store();
    let taken = import(&folder, "server-memory", "server-memory.jsonl", 5);
    assert_eq!(taken["findings"], json!([]));
    let vera = folder.json(&["get", "entity/Vera"]);
    assert_eq!(
        vera["content"],
        "Vera (person)\ndrinks green tea\nworks on Fridays"
    );
    assert_eq!(
        (&vera["attributes"]["tags"], &vera["origin"]),
        (&json!(["person"]), &json!("import"))
    );
    let cafe = folder.json(&["get", "entity/Caf\u{e9} N\u{f8}rd/Ost"]);
    let lines = "Caf\u{e9} N\u{f8}rd/Ost (place)\nopens at 7\nand closes at 16\nspeciality: \"brunost\"";
    assert_eq!(cafe["content"], lines);
    let expected = [
        "Vera | likes | Caf\u{e9} N\u{f8}rd/Ost",
        "Vera | works in | Oslo office",
    ];
    assert_eq!(relations(&folder), expected);
    // The import is one commit, so one `undo` takes it back.
    folder.json(&["undo"]);
    assert_eq!(folder.stream(&["list"]), [] as [Value; 0]);
}

#[test]
fn the_memories_of_mem0() {
    let folder = Folder::with_store();
    let taken = import(&folder, "mem0", "mem0.json", 6);
    assert_eq!(taken["findings"], json!([]));
    let facts = folder.stream(&["list", "--kind", "fact"]);
    let named = |id: &str| folder.json(&["get", &format!("fact/mem0/{id}")]);
    let mut texts: Vec<String> = Vec::new();
    for fact in &facts {
        let fact = folder.json(&["get", fact["id"].as_str().unwrap()]);
        assert_eq!(
            (&fact["attributes"]["subject"], &fact["origin"]),
            (&json!("vera"), &json!("import"))
        );
        texts.push(fact["content"].as_str().unwrap().to_owned());
    }
    texts.sort();
    let expected = [
        "I am allergic to nuts.",
        "Noted: no nuts.",
        "The office is in Oslo.",
        "The visit is on Friday.",
        "The voucher is valid until the end of 2029.",
        "Vera drinks green tea.",
    ];
    assert_eq!(texts, expected);
    let tea = named("bb69edb6-3f5d-4ffa-9918-b5a4814c71b0");
    assert_eq!(tea["attributes"]["tags"], json!(["tea", "morning", "drinks"]));
    assert_eq!(tea["event_time"], "2026-11-26T18:00:31.994909Z");
    // The text was updated, so its time is that of the update.
    let visit = named("0cf6704c-3f94-4525-99c8-94dab4ac4772");
    assert_eq!(visit["event_time"], "2026-11-26T18:00:32.024583Z");
    assert_eq!(visit["attributes"]["created_at"], "2026-11-26T18:00:32.022227Z");
    assert_eq!(visit["attributes"]["session"], "monday");
    let voucher = named("a5de769e-e082-4c3b-9868-e4a246839b3e");
    assert_eq!(voucher["expires"], "2030-01-01T00:00:00.000000Z");
    let noted = named("d0a3cc24-215f-41da-bd9f-e0a066bb618f");
    assert_eq!(
        (&noted["attributes"]["speaker"], &noted["attributes"]["role"]),
        (&json!("planner"), &json!("assistant"))
    );
}

#[test]
fn the_blocks_and_passages_of_letta() {
    let folder = Folder::with_store();
    let file = |name: &str| format!("{}/tests/fixtures/imports/{name}", crate::ROOT);
    let taken = folder.json(&["import", "--format", "letta", &file("letta-agent.af")]);
    // The persona resembles an order to a model, so it has a flag. The empty block and the messages are named.
    assert_eq!(
        (&taken["created"], &taken["quarantined"], &taken["refused"]),
        (&json!(2), &json!(0), &json!(1))
    );
    let at = taken["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["at"].as_str().unwrap());
    assert_eq!(at.collect::<Vec<_>>(), ["planner", "block 3", "block 2"]);
    let human = folder.json(&["get", "planner/block/human"]);
    assert_eq!(
        human["content"],
        "Vera drinks green tea.\nShe is allergic to nuts."
    );
    assert_eq!(
        (&human["scope"], &human["kind"]),
        (&json!("agent:planner"), &json!("block"))
    );
    let attributes =
        json!({"description": "What is known about the person.", "limit": 5000, "subject": "human"});
    assert_eq!(human["attributes"], attributes);

    import(&folder, "letta", "letta-passages.json", 2);
    let visit = folder.json(&["get", "fact/letta/passage-643d17b8-89ce-4a9e-992a-4f5481c07c0e"]);
    assert_eq!(
        (&visit["content"], &visit["event_time"]),
        (
            &json!("The visit is on Friday at ten."),
            &json!("2026-03-01T10:00:00.000000Z")
        )
    );
    let office = folder.json(&["get", "fact/letta/passage-902791bc-67c8-4853-b93e-f96dd6db495e"]);
    assert_eq!(
        (&office["content"], &office["attributes"]["tags"]),
        (&json!("The office is in Oslo."), &json!(["office"]))
    );
}

#[test]
fn the_notes_of_basic_memory() {
    let folder = Folder::with_store();
    let taken = import(&folder, "basic-memory", "basic-memory", 7);
    assert_eq!(taken["findings"], json!([]));
    let tea = folder.json(&["get", "entity/main/drinks/green-tea"]);
    assert_eq!(
        tea["attributes"]["tags"],
        json!(["tea", "morning", "brewing", "flavour"])
    );
    assert_eq!(
        (&tea["attributes"]["title"], &tea["attributes"]["type"]),
        (&json!("Green Tea"), &json!("note"))
    );
    let content = tea["content"].as_str().unwrap();
    assert!(
        content.starts_with("# Green Tea\n\nVera drinks it")
            && content.ends_with("- [price] 9 euros for 100 g")
    );
    let expected = [
        "Green Tea | is served in | Oslo Office",
        "Green Tea | liked_by | Vera",
        "Vera | links_to | Green Tea",
        "Vera | works_in | Oslo Office",
    ];
    assert_eq!(relations(&folder), expected);
    let served = folder.stream(&["list", "--kind", "fact"]);
    let contexts: Vec<&Value> = served
        .iter()
        .map(|fact| &fact["attributes"]["context"])
        .filter(|one| !one.is_null())
        .collect();
    assert_eq!(contexts, [&json!("on Fridays")]);
}

#[test]
fn a_note_that_cannot_be_read_is_counted_and_capitals_in_an_extension_do_not_hide_one() {
    let folder = Folder::with_store();
    std::fs::create_dir(folder.path("notes")).unwrap();
    std::fs::write(folder.path("notes/broken.md"), b"\xff\xfe\x00broken").unwrap();
    folder.write("notes/LOUD.MD", "Loud.\n");
    let taken = folder.json(&["import", "--format", "basic-memory", "notes", "--scope", "global"]);
    assert_eq!((&taken["created"], &taken["refused"]), (&json!(1), &json!(1)));
    assert_eq!(taken["findings"][0]["at"], "broken.md");
    let loud = folder.json(&["get", "entity/LOUD"]);
    assert_eq!(
        (&loud["content"], &loud["attributes"]["title"]),
        (&json!("Loud."), &json!("LOUD"))
    );
}

/// Python writes an unpaired surrogate and a number such as `1e999`, which no other parser accepts.
#[test]
fn a_memory_that_is_no_json_is_counted_and_the_others_come_in() {
    let folder = Folder::with_store();
    folder.write(
        "mem0.json",
        r#"{"results": [{"id": "1", "memory": "half \ud83d"}, {"id": "2", "memory": "Tea.", "user_id": 7}]}"#,
    );
    let taken = folder.json(&["import", "--format", "mem0", "mem0.json", "--scope", "global"]);
    assert_eq!((&taken["created"], &taken["refused"]), (&json!(1), &json!(1)));
    let tea = folder.json(&["get", "fact/mem0/2"]);
    assert_eq!(tea["attributes"], json!({"user_id": 7}));
}

#[test]
fn a_folder_without_notes_and_a_file_of_another_format_are_refused() {
    let folder = Folder::with_store();
    folder.write("graph.jsonl", "{\"type\":\"entity\"}\n");
    std::fs::create_dir(folder.path("empty")).unwrap();
    for (format, path, code) in [
        ("basic-memory", "graph.jsonl", "invalid_input"),
        ("basic-memory", "empty", "nothing_to_import"),
        ("mem0", "graph.jsonl", "unreadable"),
        ("letta", "graph.jsonl", "unreadable"),
    ] {
        let error = folder.refused(1, &["import", "--format", format, path]);
        assert_eq!(error["code"], code, "{format} {path}");
    }
    assert_eq!(folder.stream(&["list"]), [] as [Value; 0]);
}

/// Returns the texts and scopes of the imported items, sorted.
fn imported(folder: &Folder) -> Vec<(String, String)> {
    let of = |item: &Value| {
        let id = item["id"].as_str().unwrap();
        assert_eq!(item["origin"], "import", "{item}");
        let text = folder.json(&["get", id])["content"].as_str().unwrap().to_owned();
        (text, item["scope"].as_str().unwrap().to_owned())
    };
    let items = folder.stream(&["list"]);
    let mut found: Vec<_> = items
        .iter()
        .filter(|item| item.to_string().contains("imported/"))
        .map(of)
        .collect();
    found.sort();
    found
}

#[test]
fn the_rules_and_memories_of_coding_agents() {
    let folder = Folder::with_store();
    let top = folder.path("").canonicalize().unwrap().join("tea");
    let project = "project:tea".to_owned();
    folder.write("tea/.git/HEAD", "");
    folder.write("tea/CLAUDE.md", "# Build\n- Run `make` first, not `npm @nobody`\n- Never push to main\nSee @docs/style.md.\n@~/private.md\n@../outside.md\n");
    folder.write("tea/docs/style.md", "Tabs, four wide.\n\n@style.md\n");
    folder.write(
        "tea/.claude/rules/api/http.md",
        "---\npaths: [\"src/**\"]\n---\n- Answers are JSON\n",
    );
    folder.write("home/private.md", "the key to the safe is under the mat");
    folder.write("home/.claude/CLAUDE.md", "- Answer briefly\n");
    let slug = top
        .to_str()
        .unwrap()
        .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let memory = format!("home/.claude/projects/{slug}/memory");
    folder.write(
        &format!("{memory}/MEMORY.md"),
        "# Memory\n- [Tests](tests.md): how to test\n- The staging host is blue\n",
    );
    folder.write(&format!("{memory}/tests.md"), "---\nname: tests\ndescription: how to test\ntype: feedback\n---\nUse the real database.\n\n**Why:** mocks lied.\n");
    let first = folder.json(&["import", "--format", "claude-code", "tea"]);
    let of = |text: &str, scope: &str| (text.to_owned(), scope.to_owned());
    let all = [
        of("Answer briefly", "global"),
        of("Answers are JSON", &project),
        of(
            "Never push to main\nSee @docs/style.md.\n@~/private.md\n@../outside.md",
            &project,
        ),
        of("Run `make` first, not `npm @nobody`", &project),
        of("Tabs, four wide.", &project),
        of("The staging host is blue", &project),
        of("Use the real database.\n\n**Why:** mocks lied.", &project),
    ];
    assert_eq!(imported(&folder), all);
    // INVARIANT AGF-2: a file outside of the project is not read, and the answer says so.
    assert_eq!(
        (&first["created"], &first["refused"]),
        (&json!(7), &json!(1)),
        "{first}"
    );
    let again = folder.json(&["import", "--format", "claude-code", "tea"]);
    assert_eq!(
        (&again["unchanged"], &again["commit"]),
        (&json!(7), &first["commit"])
    );
    // An import removes the items that left their file, and one undo takes the import back.
    folder.write("tea/docs/style.md", "Spaces, two wide.\n");
    let changed = folder.json(&["import", "--format", "claude-code", "tea"]);
    assert_eq!((&changed["created"], &changed["removed"]), (&json!(1), &json!(1)));
    folder.json(&["undo"]);
    folder.json(&["undo"]);
    assert!(imported(&folder).is_empty());
}

#[test]
fn a_link_in_a_repository_brings_no_other_file_along() {
    let folder = Folder::with_store();
    folder.write("home/.ssh/id", "- a private key\n");
    folder.write("repo/.git/HEAD", "");
    std::os::unix::fs::symlink(folder.path("home/.ssh/id"), folder.path("repo/AGENTS.md")).unwrap();
    folder.write("repo/~/more.md", "- a rule for all projects\n");
    folder.write("repo/GEMINI.md", "@./~/more.md\n");
    folder.refused(1, &["import", "--format", "codex", "repo"]);
    folder.json(&["import", "--format", "gemini", "repo"]);
    let found = imported(&folder);
    assert!(found.len() == 1 && found[0].1 != "global", "{found:?}");
    folder.write("home/.codex/AGENTS.md", "- Be kind\n");
    folder.write("home/.codex/AGENTS.override.md", "- Be brief\n");
    folder.write("home/.codex/memories/MEMORY.md", "# Tea\n- The kettle is red\n");
    folder.json(&["import", "--format", "codex", "."]);
    let found: Vec<String> = imported(&folder).into_iter().map(|(text, _)| text).collect();
    assert_eq!(
        found,
        ["Be brief", "The kettle is red", "a rule for all projects"]
    );
}
