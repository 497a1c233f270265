//! The bundles in `integrations`: each is valid against its published schema, and says what the program says.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::ROOT;
use crate::program::{Folder, text};

/// Each file, and its schema. `tests/clients/bundles.mjs` checks the patterns, too.
const BUNDLES: [(&str, &str); 4] = [
    ("agent-plugin/plugin.json", "plugin.json"),
    ("agent-plugin/mcp.json", "plugin-mcp.json"),
    ("mcpb/manifest.json", "mcpb.json"),
    ("registry/server.json", "server.json"),
];

fn read(path: &str) -> Value {
    let text =
        fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn bundle(name: &str) -> Value {
    read(&format!("integrations/{name}"))
}

/// Checks a value against a schema, without patterns and formats. Returns the first fault.
fn fault(schema: &Value, root: &Value, value: &Value, at: &str) -> Option<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointed = root.pointer(reference.strip_prefix('#').unwrap()).unwrap();
        return fault(pointed, root, value, at);
    }
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_other = |wanted: &Value| wanted.is_string() && *wanted != found;
    if is_other(&schema["type"]) {
        return Some(format!("{at} is {found}"));
    }
    let is_const = schema.get("const").is_none_or(|wanted| wanted == value);
    let is_one = schema["enum"]
        .as_array()
        .is_none_or(|values| values.contains(value));
    let length = value.as_str().map_or(0, |text| text.chars().count() as u64);
    let is_long = length >= schema["minLength"].as_u64().unwrap_or(0);
    if !(is_const && is_one && is_long && length <= schema["maxLength"].as_u64().unwrap_or(u64::MAX)) {
        return Some(format!("{at} is {value}"));
    }
    if schema
        .get("not")
        .is_some_and(|not| fault(not, root, value, at).is_none())
    {
        return Some(format!("{at} must not be {value}"));
    }
    let parts = |name: &str| schema[name].as_array().cloned().unwrap_or_default();
    if let Some(fault) = parts("allOf")
        .iter()
        .find_map(|part| fault(part, root, value, at))
    {
        return Some(fault);
    }
    for (name, most) in [("anyOf", usize::MAX), ("oneOf", 1)] {
        let all = parts(name);
        let fitting = all
            .iter()
            .filter(|part| fault(part, root, value, at).is_none())
            .count();
        if !all.is_empty() && (fitting == 0 || fitting > most) {
            return Some(format!("{at} fits {fitting} of {name}"));
        }
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .enumerate()
            .find_map(|(place, item)| fault(&schema["items"], root, item, &format!("{at}/{place}")));
    }
    let object = value.as_object()?;
    let missing = parts("required");
    if let Some(name) = missing
        .iter()
        .find(|name| !object.contains_key(name.as_str().unwrap()))
    {
        return Some(format!("{at} has no {name}"));
    }
    object.iter().find_map(|(name, value)| {
        let at = format!("{at}/{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(known), _) => fault(known, root, value, &at),
            (None, Value::Bool(false)) => Some(format!("{at} is unknown")),
            (None, other) => fault(other, root, value, &at),
        }
    })
}

#[test]
fn each_bundle_is_valid_against_its_published_schema() {
    for (name, schema) in BUNDLES {
        let schema = read(&format!("tests/fixtures/schemas/{schema}"));
        let whole = bundle(name);
        assert_eq!(fault(&schema, &schema, &whole, ""), None, "{name}");
        if schema["$id"].is_string() {
            assert_eq!(whole["$schema"], schema["$id"], "{name}");
        }
        // The check itself finds what a schema forbids.
        let mut broken = whole;
        broken["description"] = 7.into();
        assert!(fault(&schema, &schema, &broken, "").is_some(), "{name}");
    }
}

#[test]
fn the_bundles_say_the_same() {
    let plugin = bundle("agent-plugin/plugin.json");
    for name in [
        "agent-plugin/.claude-plugin/plugin.json",
        "agent-plugin/.cursor-plugin/plugin.json",
        "codex-plugin/.codex-plugin/plugin.json",
        "mcpb/manifest.json",
        "registry/server.json",
    ] {
        let other = bundle(name);
        assert_eq!(other["version"], env!("CARGO_PKG_VERSION"), "{name}");
        assert_eq!(plugin["version"], other["version"], "{name}");
        if other.get("license").is_some() {
            assert_eq!(other["license"], plugin["license"], "{name}");
            assert_eq!(other["description"], plugin["description"], "{name}");
        }
    }
    let packages = bundle("registry/server.json")["packages"].clone();
    let named: Vec<_> = packages
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (text(&one["runtimeHint"]), text(&one["version"])))
        .collect();
    assert_eq!(
        named,
        ["uvx", "npx"].map(|hint| (hint.to_owned(), text(&plugin["version"])))
    );
    let market = bundle(".claude-plugin/marketplace.json");
    assert_eq!(market["plugins"][0]["description"], plugin["description"]);
    let skill = fs::read_to_string(format!(
        "{ROOT}/integrations/agent-plugin/skills/treering-memory/SKILL.md"
    ))
    .unwrap();
    assert!(skill.starts_with("---\nname: treering-memory\n"), "{skill}");
    // Codex follows no link in a plugin.
    let copy = format!("{ROOT}/integrations/codex-plugin/skills/treering-memory/SKILL.md");
    assert_eq!(fs::read_to_string(copy).unwrap(), skill);
}

/// A client starts the server of an Agent Plugin in the folder of the plugin, and works in the project itself.
#[test]
fn the_server_of_a_plugin_works_in_the_folder_of_its_client() {
    let folder = Folder::with_store();
    fs::create_dir_all(folder.path("shop/.git")).unwrap();
    fs::create_dir_all(folder.path("plugin")).unwrap();
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": "memory_remember", "arguments": { "text": "The office is in Bergen." } } });
    fs::write(folder.path("lines"), format!("{greeting}\n{ready}\n{call}\n")).unwrap();
    let program = env!("CARGO_BIN_EXE_treering");
    let script = format!("(cd ../plugin && exec '{program}' serve --mcp) < ../lines; true");
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", &script])
        .current_dir(folder.path("shop"))
        .env_clear();
    shell
        .env("HOME", folder.path("home"))
        .env("PATH", "/usr/bin:/bin")
        .env("TREERING_MODEL", "none");
    let output = shell.env("PLUGIN_ROOT", folder.path("plugin")).output().unwrap();
    let listed = folder.stream(&["list", "--kind", "fact", "--all-scopes"]);
    assert_eq!(listed.len(), 1, "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(listed[0]["scope"], "project:shop");
}

/// Cuts the path of the program, and what `install` adds to a command.
fn plain(hooks: &mut Value) {
    match hooks {
        Value::Object(map) => {
            if let Some(Value::String(command)) = map.get_mut("command") {
                let words = command.split_once(" hook ").map_or("", |(_, words)| words);
                let words = words.split(" --store").next().unwrap_or_default();
                *command = format!("treering hook {words}");
            }
            map.values_mut().for_each(plain);
        }
        Value::Array(list) => list.iter_mut().for_each(plain),
        _ => {}
    }
}

/// The plugin has the hooks that `install` writes, and `install` writes its skill.
#[test]
fn the_plugin_has_the_hooks_and_the_skill_of_install() {
    for (client, file, hooks) in [
        (
            "claude-code",
            ".claude/settings.json",
            "agent-plugin/hooks/claude-code.json",
        ),
        ("codex", ".codex/hooks.json", "codex-plugin/hooks/hooks.json"),
        ("cursor", ".cursor/hooks.json", "agent-plugin/hooks/cursor.json"),
        (
            "vscode",
            ".copilot/hooks/treering.json",
            "agent-plugin/com.github.copilot/hooks/hooks.json",
        ),
    ] {
        let folder = Folder::with_store();
        fs::create_dir_all(folder.path("home")).unwrap();
        let answer = folder.json(&["install", client, "--yes"]);
        let written = fs::read_to_string(folder.path("home").join(file)).unwrap();
        let mut written: Value = serde_json::from_str(&written).unwrap();
        plain(&mut written);
        assert_eq!(written, bundle(hooks), "{client}");
        let files = answer["files"].as_array().unwrap().iter();
        let skill = files
            .map(|file| text(&file["path"]))
            .find(|file| file.ends_with("SKILL.md"));
        let source = format!("{ROOT}/integrations/agent-plugin/skills/treering-memory/SKILL.md");
        assert_eq!(
            fs::read(skill.unwrap()).unwrap(),
            fs::read(source).unwrap(),
            "{client}"
        );
    }
}
