//! The definitions of tools, prompts and resources, as clients and models read them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Client, Folder};
use crate::program::text;

/// The most tokens that the definitions of the default profile may take in a prompt.
const TOKENS_MAX: usize = 2_200;

fn tools(profile: &str) -> Vec<Value> {
    tools_of(&["--profile", profile])
}

fn tools_of(options: &[&str]) -> Vec<Value> {
    let folder = Folder::with_store();
    let mut client = Client::start_for_model(&folder, options);
    client.ask("tools/list", json!({}))["result"]["tools"]
        .as_array()
        .unwrap()
        .clone()
}

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|tool| text(&tool["name"])).collect()
}

/// The page with the table of tools.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/mcp.md");

#[test]
fn the_definitions_are_those_that_were_reviewed() {
    let folder = Folder::with_store();
    let mut client = Client::start_for_model(&folder, &["--profile", "full"]);
    let mut all = serde_json::Map::new();
    for method in [
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
    ] {
        all.insert(method.to_owned(), client.ask(method, json!({}))["result"].clone());
    }
    all.insert(
        "initialize".to_owned(),
        Client::spawn(&folder, &[]).greet("2025-06-18"),
    );
    let found = serde_json::to_string_pretty(&all).unwrap() + "\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/it/mcp/definitions.json");
    if std::env::var_os("TREERING_WRITE_TRANSCRIPT").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        found, expected,
        "if the change is meant, set TREERING_WRITE_TRANSCRIPT=1 and review {path}"
    );
}

#[test]
fn each_profile_has_its_tools_and_contains_the_smaller_one() {
    let (minimal, default, full) = (
        names(&tools("minimal")),
        names(&tools("default")),
        names(&tools("full")),
    );
    assert_eq!(
        minimal,
        ["memory_recall", "memory_remember", "memory_undo", "memory_status"]
    );
    assert_eq!(default.len(), 8);
    assert!(minimal.iter().all(|name| default.contains(name)));
    assert!(default.iter().all(|name| full.contains(name)));
    // Only a person raises a class.
    assert!(
        !full
            .iter()
            .any(|name| name.contains("promote") || name.contains("release")),
        "{full:?}"
    );
}

/// Returns the names of tools in a text.
fn named(text: &str) -> Vec<String> {
    let words = text.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'));
    words
        .filter(|word| word.starts_with("memory_"))
        .map(str::to_owned)
        .collect()
}

/// INVARIANT SRE-2: a hint names tools of the profile.
#[test]
fn what_a_profile_says_names_only_its_tools() {
    for (profile, forgets) in [("minimal", false), ("default", true), ("full", true)] {
        let folder = Folder::with_store();
        let tools = tools(profile);
        let offered = names(&tools);
        let mut client = Client::spawn(&folder, &["--profile", profile]);
        let instructions = text(&client.greet("2025-11-25")["instructions"]);
        assert_eq!(instructions.contains("memory_forget"), forgets, "{instructions}");
        assert!(instructions.contains("memory_undo"), "{instructions}");
        let mut said = vec![instructions];
        said.extend(tools.iter().map(Value::to_string));
        for (name, arguments) in [
            ("recall-first", json!({ "question": "Which brew?" })),
            ("recall-first", json!({})),
            ("end-of-session", json!({})),
            ("review-memory", json!({ "topic": "brew" })),
            ("review-memory", json!({})),
        ] {
            let prompt = client.ask("prompts/get", json!({ "name": name, "arguments": arguments }));
            let prompt = text(&prompt["result"]["messages"][0]["content"]["text"]);
            assert_eq!(
                arguments.as_object().unwrap().is_empty(),
                !prompt.contains("brew")
            );
            assert!(!named(&prompt).is_empty() && !prompt.contains("{}"), "{prompt}");
            said.push(prompt);
        }
        for (tool, arguments) in [
            ("memory_recall", json!({ "q": "tea" })),
            ("memory_recall", json!({ "query": "tea", "at": "none" })),
            (
                "memory_remember",
                json!({ "text": "Tea.", "supersedes": ["none"] }),
            ),
            ("memory_remember", json!({ "text": "" })),
            ("memory_undo", json!({})),
            ("memory_undo", json!({ "action": "redo" })),
            ("memory_undo", json!({ "action": "rollback" })),
            ("memory_undo", json!({ "action": "rollback", "to": "none" })),
            ("memory_undo", json!({ "action": "revert", "session": "none" })),
            ("memory_get", json!({ "id": "none" })),
            ("memory_note", json!({ "action": "delete" })),
            ("memory_forget", json!({ "ids": ["none"] })),
            ("memory_forget", json!({})),
            ("memory_snapshot", json!({ "action": "diff" })),
            ("memory_history", json!({ "id": "none" })),
            ("memory_blame", json!({ "id": "none" })),
            ("memory_unforget", json!({ "ids": ["none"] })),
            ("memory_append", json!({})),
        ] {
            if offered.iter().any(|one| one == tool) {
                said.push(client.refused(tool, arguments).to_string());
            }
        }
        let unknown = client.ask("tools/call", json!({ "name": "memory_fly" }))["error"]["data"].clone();
        said.push(unknown.to_string());
        for text in &said {
            let foreign: Vec<_> = named(text)
                .into_iter()
                .filter(|name| !offered.contains(name))
                .collect();
            assert!(foreign.is_empty(), "{profile} has no {foreign:?}: {text}");
        }
    }
}

#[test]
fn the_definitions_of_the_default_profile_take_few_tokens() {
    let text = serde_json::to_string(&tools("default")).unwrap();
    let tokens = text.chars().count().div_ceil(4);
    assert!(tokens < TOKENS_MAX, "{tokens} tokens");
}

/// One name chooses the action in all tools. The tool `memory` has the arguments that models know.
#[test]
fn one_argument_chooses_the_action() {
    for tool in tools("full").iter().filter(|tool| tool["name"] != "memory") {
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
        let choices = arguments.iter().filter(|(_, schema)| schema["enum"].is_array());
        let choices: Vec<_> = choices.map(|(name, _)| name.as_str()).collect();
        assert!(
            choices
                .iter()
                .all(|name| ["action", "scope", "strategy"].contains(name)),
            "{choices:?}"
        );
    }
    // The older name is still read.
    let folder = Folder::with_store();
    let mut client = Client::start(&folder, &[]);
    client.remember("Tea is green.");
    let undone = client.call("memory_undo", json!({ "how": "revert", "dry_run": true }));
    assert_eq!(undone["reverted"].as_array().unwrap().len(), 1, "{undone}");
    let both = json!({ "how": "revert", "action": "undo" });
    assert_eq!(client.refused("memory_undo", both)["code"], "usage");
}

/// INVARIANT SCH-1: a schema has no reference, no format and no list of types.
#[test]
fn schemas_are_plain_and_hints_are_complete() {
    fn check(schema: &Value) {
        match schema {
            Value::Object(map) => {
                for (name, value) in map {
                    let is_odd = [
                        "$ref", "$defs", "$schema", "format", "anyOf", "oneOf", "allOf", "const", "default",
                    ];
                    assert!(!is_odd.contains(&name.as_str()), "{name} in {schema}");
                    assert!(
                        name != "type" || value.is_string() || value.is_object(),
                        "{schema}"
                    );
                    check(value);
                }
            }
            Value::Array(list) => list.iter().for_each(check),
            _ => {}
        }
    }
    // A tool that declares a schema of its answer must give structured content, and a model pays for the schema.
    assert!(tools("full").iter().all(|tool| tool["outputSchema"].is_null()));
    for tool in tools_of(&["--profile", "full", "--structured"]) {
        check(&tool["inputSchema"]);
        check(&tool["outputSchema"]);
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert!(!text(&tool["description"]).is_empty() && !text(&tool["title"]).is_empty());
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{tool}");
        }
        assert_eq!(tool["annotations"]["openWorldHint"], false);
        if tool["name"] != "memory" {
            assert_eq!(
                tool["outputSchema"]["required"],
                json!(["root", "tokens", "truncated"])
            );
        }
    }
}

#[test]
fn the_table_of_the_documentation_is_the_table_of_the_server() {
    let (minimal, default) = (names(&tools("minimal")), names(&tools("default")));
    let mut table = String::from("| tool | profile | effect | what it does |\n|---|---|---|---|\n");
    for tool in tools("full") {
        let name = text(&tool["name"]);
        let profile = match () {
            () if minimal.contains(&name) => "M",
            () if default.contains(&name) => "D",
            () => "",
        };
        let hints = &tool["annotations"];
        let effect = match (&hints["readOnlyHint"], &hints["destructiveHint"]) {
            (Value::Bool(true), _) => "reads",
            (_, Value::Bool(true)) => "removes",
            _ => "writes",
        };
        let about = text(&tool["description"]);
        let _ = writeln!(table, "| `{name}` | {profile} | {effect} | {about} |");
    }
    let (begin, end) = ("<!-- tools -->\n", "<!-- end of tools -->");
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(begin).unwrap();
    let (found, after) = rest.split_once(end).unwrap();
    if std::env::var_os("TREERING_WRITE_TRANSCRIPT").is_some() {
        std::fs::write(PAGE, format!("{before}{begin}{table}{end}{after}")).unwrap();
    } else {
        assert_eq!(found, table, "TREERING_WRITE_TRANSCRIPT=1 writes the table");
    }
}

#[test]
fn the_instructions_are_short_and_the_server_is_named() {
    let folder = Folder::with_store();
    let greeted = Client::spawn(&folder, &[]).greet("2025-06-18");
    assert!(text(&greeted["instructions"]).lines().count() <= 10);
    assert_eq!(greeted["serverInfo"]["name"], "treering");
    assert_eq!(greeted["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
}
