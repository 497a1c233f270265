//! `install` and `uninstall` edit the settings of clients, and leave everything else as it is.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::helpers::{Numbers, copied, other_program, remembered_by};
use super::*;

/// The settings files of each client that have entries of others.
const FILES: [(&str, &[&str]); 6] = [
    (
        "claude-code",
        &["home/.claude.json", "home/.claude/settings.json"],
    ),
    ("codex", &["home/.codex/hooks.json", "home/.codex/config.toml"]),
    ("gemini", &["home/.gemini/settings.json"]),
    (
        "vscode",
        &[
            "home/.config/Code/User/mcp.json",
            "home/.copilot/hooks/treering.json",
            "home/.copilot/mcp-config.json",
        ],
    ),
    ("cursor", &["home/.cursor/mcp.json", "home/.cursor/hooks.json"]),
    ("opencode", &["home/.config/opencode/opencode.json"]),
];

fn install(folder: &Folder, client: &str) -> Value {
    folder.json(&["install", client, "--yes", "--learn"])
}

fn uninstall(folder: &Folder, client: &str) -> Value {
    folder.json(&["uninstall", client, "--yes"])
}

/// Returns all files of the home folder but the program's own records, with their bytes.
fn files(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let all = crate::program::bytes_below(&folder.path("home"));
    let is_own = |path: &PathBuf| path.components().any(|part| part.as_os_str() == "state");
    all.into_iter().filter(|(path, _)| !is_own(path)).collect()
}

fn changes(answer: &Value) -> Vec<String> {
    let mut changes = column(answer["files"].as_array().unwrap(), "change");
    changes.dedup();
    changes
}

/// INVARIANT INL-2: an installation that is there already changes nothing.
#[test]
fn each_client_is_set_up_once_and_taken_back() {
    let program = env!("CARGO_BIN_EXE_treering");
    for (client, names) in FILES {
        let folder = workplace();
        fs::create_dir_all(folder.path("home")).unwrap();
        // Nothing is written without a yes, nor in a dry run.
        let preview = folder.json(&["install", client, "--dry-run"]);
        assert_eq!(changes(&preview), ["created"], "{client}");
        assert_eq!(folder.refused(2, &["install", client])["code"], "usage");
        assert_eq!(files(&folder), [], "{client}");
        assert_eq!(changes(&install(&folder, client)), ["created"]);
        let written = files(&folder);
        assert_eq!(changes(&install(&folder, client)), ["unchanged"]);
        assert_eq!(files(&folder), written);
        let hooks = folder.json(&["doctor"])["hooks"].as_array().unwrap().clone();
        // The plugin of opencode is a program, not a list of hooks.
        assert_eq!(hooks.len(), usize::from(client != "opencode"), "{hooks:?}");
        assert!(
            hooks
                .iter()
                .all(|hook| hook["client"] == client && hook["problem"].is_null()),
            "{hooks:?}"
        );
        // The server and the hooks name the program itself, and the skill says when to remember.
        let all: String = written
            .iter()
            .map(|(_, bytes)| String::from_utf8_lossy(bytes))
            .collect();
        assert!(
            all.contains(program) && all.contains("serve") && all.contains("name: treering-memory"),
            "{all}"
        );
        let hooks = all.matches("--client").count();
        assert!(hooks >= 2, "{client}: {all}");
        for name in names {
            assert!(folder.path(name).exists(), "{name}");
        }
        assert_eq!(changes(&uninstall(&folder, client)), ["removed"]);
        assert_eq!(files(&folder), [], "{client}");
        assert_eq!(changes(&uninstall(&folder, client)), ["unchanged"]);
    }
}

#[test]
fn the_installed_hooks_run() {
    let folder = workplace();
    install(&folder, "claude-code");
    let settings = fs::read_to_string(folder.path("home/.claude/settings.json")).unwrap();
    let settings: Value = serde_json::from_str(&settings).unwrap();
    let stream = Stream::of("claude-code", &folder);
    let prompt = &stream.event(1);
    let command = text(&settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]);
    folder.write("event.json", prompt.to_string());
    let input = fs::File::open(folder.path("event.json")).unwrap();
    let mut shell = other_program(&folder, "sh");
    let ran = shell.arg("-c").arg(&command).stdin(input);
    let ran = Ran::of(&ran.output().unwrap());
    assert!(ran.code == 0 && ran.err.is_empty(), "{ran:?}");
    assert_eq!(entries(&folder, &stream.session).len(), 1);
}

/// Returns settings as a user may have them: in any order and format, with comments, and with hooks and servers of others.
fn settings(numbers: &mut Numbers) -> String {
    let blank = numbers.one(&["", " ", "\n", "\n  ", "\n\t", "\r\n    "]);
    let comment = numbers.one(&["", "", "// mine\n", "/* mine */"]);
    let other = r#"{"type":"command","command":"/usr/bin/notify hook --client x"}"#;
    let pool = [
        r#""theme" : "dark""#.to_owned(),
        r#""mcpServers":{}"#.to_owned(),
        format!(r#""mcpServers":{{{blank}"other":{{"command":"x","env":{{"A":"}}\""}}}}{blank}}}"#),
        r#""servers": { "other": {"command": "y"} }"#.to_owned(),
        r#""mcp":{ }"#.to_owned(),
        r#""hooks":{}"#.to_owned(),
        format!(
            r#""hooks":{{"Stop":[{blank}{{"hooks":[{other}]}}{blank}],"stop":[{other}],"SessionStart":[]}}"#
        ),
        r#""version":1"#.to_owned(),
        r#""numbers":[1,-2.50e3, 12345678901234567890]"#.to_owned(),
        r#""text":"\u00e9 \/ é""#.to_owned(),
    ];
    let mut members = Vec::new();
    let mut keys = Vec::new();
    for _ in 0..numbers.below(6) {
        let member = &pool[numbers.below(pool.len())];
        let key = member.split('"').nth(1).unwrap().to_owned();
        if !keys.contains(&key) {
            keys.push(key);
            members.push(format!("{comment}{blank}{member}"));
        }
    }
    let comma = if members.is_empty() {
        ""
    } else {
        numbers.one(&["", "", ",", " ,"])
    };
    format!(
        "{comment}{{{}{comma}{blank}}}{}",
        members.join(","),
        numbers.one(&["", "\n", "\n\n"])
    )
}

/// INVARIANT INL-1: an installation and its removal leave everything else in a file as it is, byte for byte.
#[test]
fn random_settings_stay_byte_for_byte() {
    let mut numbers = Numbers(7);
    let folder = workplace();
    // Each round edits nine files, so this is more than 300 edits.
    for round in 0..34 {
        for (client, names) in FILES {
            for name in names {
                let toml = [
                    "",
                    "# mine\nmodel = \"x\"",
                    "[features]\na = true\n\n[mcp_servers.other]\ncommand = \"y\"\n",
                    "a = [\n  [1], # [mcp_servers.treering]\n]\n[mcp_servers] # mine\nother = { command = \"y\" }",
                    "b = '''\n[mcp_servers.treering]\n'''\r\n[[c]]\r\nd = 1979-05-27\r\n\r\n",
                ];
                match numbers.below(8) {
                    0 => drop(fs::remove_file(folder.path(name))),
                    1 => folder.write(name, numbers.one(&["", "\n", "  \n"])),
                    _ if name.ends_with("toml") => folder.write(name, numbers.one(&toml)),
                    _ => folder.write(name, settings(&mut numbers)),
                }
            }
            let before = files(&folder);
            install(&folder, client);
            let installed = files(&folder);
            assert_ne!(installed, before, "{client} {round}");
            install(&folder, client);
            assert_eq!(files(&folder), installed, "{client} {round}");
            uninstall(&folder, client);
            for (now, was) in files(&folder).iter().zip(&before) {
                let [now, was] = [now, was].map(|(path, bytes)| (path, String::from_utf8_lossy(bytes)));
                assert_eq!(now, was, "{client} {round}");
            }
            assert_eq!(files(&folder).len(), before.len(), "{client} {round}");
        }
    }
}

#[test]
fn what_a_user_adds_after_an_installation_stays() {
    let folder = workplace();
    install(&folder, "claude-code");
    let path = folder.path("home/.claude/settings.json");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let own = document["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap();
    own.insert(0, json!({ "type": "command", "command": "mine" }));
    document["theme"] = "dark".into();
    document["hooks"]["SessionStart"][0]["hooks"][0]["command"] =
        "'/gone/treering' hook --client claude-code".into();
    fs::write(&path, document.to_string()).unwrap();
    let ran = folder.run(&["doctor", "--json"]);
    let found = ran.documents()[0]["hooks"][0].clone();
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(text(&found["problem"]).contains("/gone/treering"), "{found}");
    assert_eq!(found["remedy"], "treering install claude-code");
    // Another version of the program mends its own hooks only.
    install(&folder, "claude-code");
    assert_eq!(folder.json(&["doctor"])["hooks"][0]["problem"], Value::Null);
    uninstall(&folder, "claude-code");
    let left: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let mine = json!({ "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "mine" }] }] }, "theme": "dark" });
    assert_eq!(left, mine);
}

#[test]
fn a_file_that_cannot_be_kept_is_refused_and_nothing_is_written() {
    for (name, text) in [
        ("home/.claude/settings.json", "{\"hooks\": [}"),
        ("home/.claude/settings.json", "{\"hooks\": 7}"),
        ("home/.claude.json", "{\"mcpServers\": []}"),
    ] {
        let folder = workplace();
        folder.write(name, text);
        let before = files(&folder);
        assert_eq!(
            folder.refused(1, &["install", "claude-code", "--yes"])["code"],
            "file_exists",
            "{text}"
        );
        assert_eq!(files(&folder), before);
    }
}

/// Returns the session in which the server of a client remembers a text.
fn session_of_server(folder: &Folder) -> Value {
    let newest = remembered_by(folder, "claude-code", "The office is in Bremen.");
    assert_eq!(newest["actor"], "claude-code");
    newest["session"].clone()
}

#[test]
fn the_server_writes_in_the_session_of_the_hooks() {
    let folder = workplace();
    let own = session_of_server(&folder);
    assert!(
        own.as_str().is_some_and(|own| own.starts_with("claude-code-")),
        "{own}"
    );
    let stream = Stream::of("claude-code", &folder);
    stream.send(&folder, stream.event(0));
    folder.json(&["revert", "--session", own.as_str().unwrap()]);
    assert_eq!(session_of_server(&folder), stream.session.as_str());
    // One command takes back what the hooks and the server wrote.
    stream.send(&folder, stream.event(1));
    folder.json(&["revert", "--session", &stream.session]);
    assert!(folder.stream(&["list", "--kind", "fact"]).is_empty());
    assert_eq!(entries(&folder, &stream.session), []);
}

/// INVARIANT INL-1: what a user has made is neither replaced nor removed.
#[test]
fn what_a_user_made_stays() {
    let folder = workplace();
    // A server of the user has the same name.
    let servers = [
        (
            "claude-code",
            "home/.claude.json",
            "{\"mcpServers\":{\"treering\":{\"command\":\"/my/wrapper\"}}}",
        ),
        (
            "vscode",
            "home/.config/Code/User/mcp.json",
            "{\"servers\":{\"treering\":{\"command\":\"docker\"}}}",
        ),
        (
            "codex",
            "home/.codex/config.toml",
            "[mcp_servers.treering]\ncommand = \"mine\"\n",
        ),
        // A second table with this name would make the file invalid.
        (
            "codex",
            "home/.codex/config.toml",
            "mcp_servers = { a = { command = \"b\" } }\n",
        ),
    ];
    for (client, file, own) in servers {
        folder.write(file, own);
        let refused = folder.refused(1, &["install", client, "--yes"]);
        assert_eq!(refused["code"], "file_exists", "{client}: {refused}");
        drop(folder.run(&["uninstall", client, "--yes"]));
        assert_eq!(fs::read_to_string(folder.path(file)).unwrap(), own);
        fs::remove_file(folder.path(file)).unwrap();
    }
    // A skill that the user edited.
    let skill = "home/.claude/skills/treering-memory/SKILL.md";
    install(&folder, "claude-code");
    let edited = fs::read_to_string(folder.path(skill)).unwrap() + "mine";
    folder.write(skill, &edited);
    install(&folder, "claude-code");
    uninstall(&folder, "claude-code");
    assert_eq!(fs::read_to_string(folder.path(skill)).unwrap(), edited);
    // A command in which this program is only a word.
    let settings = "home/.claude/settings.json";
    let own = json!({ "hooks": { "Stop": [{ "hooks": [
        { "type": "command", "command": "log.sh && /opt/treering hook --client claude-code" },
        { "type": "command", "command": "echo docs/treering hook --client x" }] }] } });
    folder.write(settings, own.to_string());
    install(&folder, "claude-code");
    uninstall(&folder, "claude-code");
    assert_eq!(
        fs::read_to_string(folder.path(settings)).unwrap(),
        own.to_string()
    );
}

#[test]
fn a_comment_in_an_empty_object_stays() {
    for text in [
        "{\n  \"hooks\": {\n    // none yet\n  }\n}\n",
        "{ // mine\n}\n",
        "{\"hooks\":{\"Stop\":[ // none\n]}}\n",
    ] {
        let folder = workplace();
        let settings = "home/.claude/settings.json";
        folder.write(settings, text);
        install(&folder, "claude-code");
        uninstall(&folder, "claude-code");
        assert_eq!(fs::read_to_string(folder.path(settings)).unwrap(), text);
    }
}

#[test]
fn a_second_installation_keeps_the_options_of_hooks() {
    let folder = workplace();
    install(&folder, "claude-code");
    let settings = folder.path("home/.claude/settings.json");
    let edited = fs::read_to_string(&settings)
        .unwrap()
        .replace("--learn", "--learn --hits 1");
    fs::write(&settings, &edited).unwrap();
    drop(folder.json(&["install", "claude-code", "--yes"]));
    assert_eq!(fs::read_to_string(&settings).unwrap(), edited);
}

/// INVARIANT INL-2: an installation that is there already changes nothing.
#[test]
fn a_program_with_another_file_name_has_its_hooks_once() {
    let folder = workplace();
    install(&folder, "claude-code");
    let settings = folder.path("home/.claude/settings.json");
    let program = env!("CARGO_BIN_EXE_treering");
    let text = fs::read_to_string(&settings).unwrap();
    let hooks = |text: &str| text.matches("hook --client claude-code").count();
    let count = hooks(&text);
    for name in ["treering-1.2", "treering_v2.0.1", "treering.cjs", "tr"] {
        let other = copied(&folder, program, &format!("bin/{name}"));
        let run = |arguments: &[&str]| {
            let ran = other_program(&folder, &other).args(arguments).output().unwrap();
            assert!(ran.status.success(), "{name}: {ran:?}");
        };
        run(&["install", "claude-code", "--yes", "--learn"]);
        let now = fs::read_to_string(&settings).unwrap();
        assert_eq!(hooks(&now), count, "{name}: {now}");
        assert!(now.contains(other.to_str().unwrap()), "{name}: {now}");
        if name == "tr" {
            // Nobody but this program knows its name, so it takes its own hooks back.
            run(&["uninstall", "claude-code", "--yes"]);
        }
    }
    assert_eq!(files(&folder), []);
    // Doubles of an earlier version are mended.
    install(&folder, "claude-code");
    let once: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    let mut twice = once.clone();
    let groups = twice["hooks"]["Stop"].as_array_mut().unwrap();
    let mut other = groups[0].clone();
    other["hooks"][0]["command"] = "/opt/treering-0.9 hook --client claude-code".into();
    groups.push(other);
    fs::write(&settings, twice.to_string()).unwrap();
    install(&folder, "claude-code");
    let mended: Value = serde_json::from_str(&fs::read_to_string(&settings).unwrap()).unwrap();
    assert_eq!(mended, once);
}

/// A launcher's cache may lose the program, so no hook names it there. A client can start the launcher itself as a server.
#[test]
fn settings_name_a_launcher_only_for_a_server() {
    let program = env!("CARGO_BIN_EXE_treering");
    for (place, words) in [
        ("cache/uv/archive-v0/x1/bin/treering", vec!["uvx", "treering"]),
        (
            ".npm/_npx/x1/node_modules/.bin/treering",
            vec!["npx", "-y", "treering"],
        ),
    ] {
        let folder = workplace();
        let cached = copied(&folder, program, place);
        let run = |program: &Path, arguments: &[&str]| {
            let output = other_program(&folder, program)
                .args(arguments)
                .arg("--json")
                .output();
            Ran::of(&output.unwrap())
        };
        let refused = run(&cached, &["install", "claude-code", "--yes"]).refusal(1);
        assert_eq!(refused["code"], "not_installed");
        assert_eq!(files(&folder), []);

        let changed = |program: &Path| {
            let ran = run(program, &["mcp", "install", "--client", "claude-code", "--yes"]);
            assert_eq!(ran.code, 0, "{ran:?}");
            ran.documents()[0]["changed"].clone()
        };
        assert_eq!(changed(&cached), true);
        let settings = fs::read_to_string(folder.path("shop/.mcp.json")).unwrap();
        let settings: Value = serde_json::from_str(&settings).unwrap();
        let server = &settings["mcpServers"]["treering"];
        let started = std::iter::once(&server["command"]).chain(server["args"].as_array().unwrap());
        let started: Vec<&str> = started.filter_map(Value::as_str).collect();
        assert_eq!(started, [words, vec!["serve", "--mcp"]].concat());
        // The launcher runs this program, so the entry is its own.
        assert_eq!(changed(&cached), false);
        assert_eq!(changed(Path::new(program)), true);
    }
}

#[test]
fn doctor_names_each_file_of_an_installation_that_is_not_whole() {
    for (client, _) in FILES {
        let folder = workplace();
        let problems = || -> Vec<String> {
            let ran = folder.run(&["doctor", "--json"]);
            let found = ran.documents()[0]["installed"].clone();
            let parts = found.as_array().cloned().unwrap_or_default();
            let bad = parts.iter().filter(|part| !part["problem"].is_null());
            let bad: Vec<String> = bad.map(|part| text(&part["file"])).collect();
            assert_eq!(ran.code, i32::from(!bad.is_empty()), "{ran:?}");
            bad
        };
        assert!(folder.json(&["doctor"])["installed"].is_null(), "{client}");
        let answer = install(&folder, client);
        assert_eq!(problems(), [] as [String; 0], "{client}");
        // Each file has a line, also those that are whole.
        let told = folder.run(&["doctor"]).out;
        for file in column(answer["files"].as_array().unwrap(), "path") {
            assert!(told.contains(&file), "{client}: {file}: {told}");
        }
        for file in column(answer["files"].as_array().unwrap(), "path") {
            let before = fs::read(&file).unwrap();
            fs::remove_file(&file).unwrap();
            assert_eq!(problems(), std::slice::from_ref(&file), "{client}");
            fs::write(&file, before).unwrap();
        }
        // The program is gone.
        for file in column(answer["files"].as_array().unwrap(), "path") {
            let before = fs::read_to_string(&file).unwrap();
            fs::write(
                &file,
                before.replace(env!("CARGO_BIN_EXE_treering"), "/gone/treering"),
            )
            .unwrap();
        }
        assert!(!problems().is_empty(), "{client}");
    }
}

/// The settings of a user may have a server without hooks, such as one that the client itself added.
#[test]
fn doctor_checks_the_server_in_each_file_that_install_writes() {
    let entry = r#"{"type":"stdio","command":"/nonexistent/treering","args":["serve","--mcp"]}"#;
    let list = r#"{"type":"local","command":["/nonexistent/treering","serve","--mcp"]}"#;
    for (client, file, key, entry) in [
        ("claude-code", "home/.claude.json", "mcpServers", entry),
        ("vscode", "home/.config/Code/User/mcp.json", "servers", entry),
        ("vscode", "home/.copilot/mcp-config.json", "mcpServers", entry),
        ("opencode", "home/.config/opencode/opencode.json", "mcp", list),
    ] {
        let folder = workplace();
        let server = |code: i32| {
            let ran = folder.run(&["doctor", "--json"]);
            let clients = ran.documents()[0]["clients"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            assert_eq!((ran.code, clients.len()), (code, 1), "{client}: {ran:?}");
            assert_eq!(clients[0]["client"], client);
            assert_eq!(clients[0]["file"], folder.path(file).to_str().unwrap());
            clients[0].clone()
        };
        folder.write(file, format!("{{\"{key}\":{{\"treering\":{entry}}}}}"));
        let found = server(1);
        assert!(
            text(&found["problem"]).contains("/nonexistent/treering"),
            "{found}"
        );
        assert_eq!(found["remedy"], format!("treering install {client}"));
        install(&folder, client);
        if client != "vscode" {
            assert_eq!(server(0)["serves_store"], true);
        }
        uninstall(&folder, client);
        // Another program of this name is not replaced, so the entry is to be pasted.
        let other = entry.replace("nonexistent/treering", "nonexistent/other");
        folder.write(file, format!("{{\"{key}\":{{\"treering\":{other}}}}}"));
        let found = server(1);
        assert!(
            found["remedy"].is_null() && text(&found["by_hand"]).contains(key),
            "{found}"
        );
        folder.write(file, "{\n  broken");
        let found = server(1);
        assert!(
            text(&found["problem"]).starts_with("line 2, column 3: "),
            "{found}"
        );
        assert!(
            found["remedy"].is_null() && text(&found["by_hand"]).contains(key),
            "{found}"
        );
    }
}

/// A removal leaves an edited skill or plugin to the user, so `doctor` does not ask for another installation.
#[test]
fn what_a_removal_leaves_is_no_installation() {
    for (client, file) in [
        ("claude-code", "home/.claude/skills/treering-memory/SKILL.md"),
        ("opencode", "home/.config/opencode/plugins/treering.js"),
    ] {
        let folder = workplace();
        install(&folder, client);
        let edited = fs::read_to_string(folder.path(file)).unwrap() + "\n// mine\n";
        folder.write(file, &edited);
        // It is part of the installation before the removal.
        let parts = folder.json(&["doctor"])["installed"].clone();
        assert_eq!(parts.as_array().unwrap().len(), 3, "{parts}");
        uninstall(&folder, client);
        assert_eq!(fs::read_to_string(folder.path(file)).unwrap(), edited);
        assert!(folder.json(&["doctor"])["installed"].is_null());
    }
}

/// The repair that `doctor` names works for an edited plugin too, and keeps what the user edited.
#[test]
fn an_edited_plugin_gets_the_program_back() {
    let folder = workplace();
    install(&folder, "opencode");
    let file = "home/.config/opencode/plugins/treering.js";
    let program = env!("CARGO_BIN_EXE_treering");
    let edited = fs::read_to_string(folder.path(file)).unwrap() + "// mine\n";
    folder.write(file, edited.replace(program, "/gone/treering"));
    let ran = folder.run(&["doctor", "--json"]);
    let found = ran.documents()[0]["installed"].as_array().unwrap().clone();
    let bad = found.iter().find(|part| !part["problem"].is_null()).unwrap();
    assert_eq!(
        (ran.code, &bad["remedy"]),
        (1, &json!("treering install opencode"))
    );
    folder.json(&["install", "opencode", "--yes"]);
    assert_eq!(fs::read_to_string(folder.path(file)).unwrap(), edited);
    folder.json(&["doctor"]);
    // A skill that is gone is missing.
    fs::remove_file(folder.path("home/.config/opencode/skills/treering-memory/SKILL.md")).unwrap();
    let told = folder.run(&["doctor"]);
    assert!(
        told.code == 1 && told.out.contains("SKILL.md: the file does not exist"),
        "{told:?}"
    );
}

/// A server of `mcp install` is no installation of hooks, also where one file has both.
#[test]
fn a_server_alone_is_whole() {
    for client in ["gemini", "cursor", "codex"] {
        let folder = workplace();
        folder.json(&["mcp", "install", "--client", client, "--yes"]);
        let examined = folder.json(&["doctor"]);
        assert!(examined["installed"].is_null(), "{examined}");
        assert_eq!(
            (&examined["ok"], &examined["clients"][0]["problem"]),
            (&json!(true), &Value::Null)
        );
    }
}

#[test]
fn a_file_that_is_no_json_is_named_with_the_line() {
    for (client, file, broken, place) in [
        (
            "gemini",
            "home/.gemini/settings.json",
            "{\n\"hooks\": [}\n}",
            "line 2, column 11",
        ),
        (
            "claude-code",
            "home/.claude/settings.json",
            "{\n\n  \"a\" 1}",
            "line 3, column 7",
        ),
        (
            "codex",
            "home/.codex/config.toml",
            "a = 1\nb = = 2\n",
            "line 2, column 5",
        ),
    ] {
        let folder = workplace();
        install(&folder, client);
        folder.write(file, broken);
        let ran = folder.run(&["doctor", "--json"]);
        let examined = ran.documents().remove(0);
        assert_eq!((ran.code, &examined["ok"]), (1, &json!(false)), "{ran:?}");
        let parts = examined["installed"].as_array().unwrap();
        let bad = parts.iter().find(|part| !part["problem"].is_null()).unwrap();
        let named = folder.path(file).display().to_string();
        assert!(
            bad["file"] == named.as_str() && text(&bad["problem"]).starts_with(place),
            "{bad}"
        );
        // No command mends it.
        assert!(bad["remedy"].is_null(), "{bad}");
        let told = folder.run(&["doctor"]);
        assert!(
            told.out.contains(place) && !told.out.contains("repair with"),
            "{told:?}"
        );
        for verb in ["install", "uninstall"] {
            let refused = folder.refused(1, &[verb, client, "--yes"]);
            let message = text(&refused["message"]);
            assert!(message.contains(&named) && message.contains(place), "{refused}");
            assert_eq!(fs::read_to_string(folder.path(file)).unwrap(), broken);
        }
    }
}

/// INVARIANT INL-1: the folders that an installation made go with it, and those of the user stay.
#[test]
fn no_empty_folder_is_left() {
    for (client, _) in FILES {
        let folder = workplace();
        fs::create_dir_all(folder.path("home/.claude/skills/mine")).unwrap();
        fs::create_dir_all(folder.path("home/.cursor")).unwrap();
        let folders = || {
            let mut found = vec![folder.path("home")];
            let mut place = 0;
            while place < found.len() {
                let inner = fs::read_dir(&found[place]).unwrap();
                let inner = inner.map(|entry| entry.unwrap().path());
                found.extend(inner.filter(|path| path.is_dir()));
                place += 1;
            }
            found.sort();
            found
        };
        let before = folders();
        install(&folder, client);
        install(&folder, client);
        assert_ne!(folders(), before, "{client}");
        uninstall(&folder, client);
        assert_eq!(folders(), before, "{client}");
        // Clients share folders.
        for (client, _) in FILES {
            install(&folder, client);
        }
        for (client, _) in FILES {
            uninstall(&folder, client);
        }
        assert_eq!(folders(), before, "after {client}, all");
    }
}

#[test]
fn a_comment_next_to_what_is_removed_stays() {
    let folder = workplace();
    let settings = "home/.claude/settings.json";
    folder.write(settings, "{\n  \"theme\": \"dark\"\n}\n");
    install(&folder, "claude-code");
    let text = fs::read_to_string(folder.path(settings)).unwrap();
    let edited = text.replacen("\"hooks\": {", "\"hooks\": { // mine", 1) + "// at the end\n";
    folder.write(settings, &edited);
    uninstall(&folder, "claude-code");
    let left = fs::read_to_string(folder.path(settings)).unwrap();
    assert!(
        left.contains("// mine") && left.contains("// at the end"),
        "{left}"
    );
    assert!(!left.contains("treering"), "{left}");
}

/// A server with fewer rights keeps them: another installation must not give it more.
#[test]
fn an_installation_keeps_the_options_of_a_server() {
    let folder = workplace();
    let servers = [
        ("claude-code", "home/.claude.json", "mcpServers"),
        ("cursor", "home/.cursor/mcp.json", "mcpServers"),
    ];
    for (client, file, key) in servers {
        install(&folder, client);
        let file = folder.path(file);
        let mut settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let own = settings[key]["treering"]["args"].clone();
        settings[key]["treering"]["args"] =
            json!(["serve", "--mcp", "--scope", "global", "--trust", "untrusted"]);
        fs::write(&file, settings.to_string()).unwrap();
        install(&folder, client);
        let settings: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        let now: Vec<String> = settings[key]["treering"]["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        for word in own.as_array().unwrap().iter().map(text) {
            assert!(now.contains(&word), "{client} {word}: {now:?}");
        }
        let at = now
            .iter()
            .position(|word| word == "--scope")
            .expect("the scope stays");
        assert_eq!(
            now[at..at + 4],
            ["--scope", "global", "--trust", "untrusted"],
            "{client}"
        );
        fs::remove_file(&file).unwrap();
    }
}
