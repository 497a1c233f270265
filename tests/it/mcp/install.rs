//! `mcp install` writes the settings of clients, and `doctor` checks them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::Folder;
use crate::program::text;

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

#[test]
fn the_settings_of_each_client_start_the_server() {
    let folder = Folder::with_store();
    for (client, file, pointer) in [
        ("claude-code", ".mcp.json", "/mcpServers/treering"),
        ("vscode", ".vscode/mcp.json", "/servers/treering"),
        ("cursor", "home/.cursor/mcp.json", "/mcpServers/treering"),
        ("gemini", "home/.gemini/settings.json", "/mcpServers/treering"),
        (
            "windsurf",
            "home/.codeium/windsurf/mcp_config.json",
            "/mcpServers/treering",
        ),
        (
            "claude-desktop",
            "home/.config/Claude/claude_desktop_config.json",
            "/mcpServers/treering",
        ),
    ] {
        fs::create_dir_all(folder.path("home")).unwrap();
        let install = [
            "mcp",
            "install",
            "--client",
            client,
            "--scope",
            "global",
            "--session",
            "s1",
            "--trust",
            "tool_external",
        ];
        let preview = folder.json(&[&install[..], &["--dry-run"]].concat());
        assert_eq!(
            (&preview["changed"], folder.path(file).exists()),
            (&json!(true), false),
            "{client}"
        );
        // Nothing is written without a yes.
        assert_eq!(folder.refused(2, &install)["code"], "usage");
        assert!(!folder.path(file).exists());
        let installed = folder.json(&[&install[..], &["--yes"]].concat());
        let entry = read(&folder, file).pointer(pointer).unwrap().clone();
        assert_eq!(entry["command"], env!("CARGO_BIN_EXE_treering"));
        assert_eq!(
            (&entry["args"], &entry["args"][0]),
            (&installed["args"], &json!("serve"))
        );
        let args = entry["args"].to_string();
        assert!(
            args.contains("\"--scope\",\"global\",\"--session\",\"s1\",\"--trust\",\"tool_external\""),
            "{args}"
        );
        // A client of many projects names the store.
        assert_eq!(
            args.contains("--store"),
            !matches!(client, "claude-code" | "vscode"),
            "{args}"
        );
        assert_eq!(
            folder.json(&[&install[..], &["--yes"]].concat())["changed"],
            false
        );
    }
    let clients = folder.json(&["doctor"])["clients"].as_array().unwrap().clone();
    assert_eq!(clients.len(), 6);
    assert!(
        clients.iter().all(|client| client["problem"].is_null()),
        "{clients:?}"
    );
}

/// INVARIANT CLT-1: an edit of a settings file changes only the entry of the server.
#[test]
fn everything_else_in_a_file_stays() {
    let folder = Folder::with_store();
    let old = "{\n    \"theme\": \"dark\",\n    \"mcpServers\": {\n        \"other\": {\n            \"command\": \"x\"\n        }\n    }\n}\n";
    folder.write(".mcp.json", old);
    let install = ["mcp", "install", "--client", "claude-code", "--yes"];
    let ran = folder.run(&install);
    assert!(
        ran.code == 0 && ran.err.contains("+        \"treering\""),
        "{ran:?}"
    );
    let new = fs::read_to_string(folder.path(".mcp.json")).unwrap();
    // The old lines are there in their order, with their indents.
    let mut lines = new.lines();
    for line in old.lines().filter(|line| !line.ends_with('}')) {
        assert!(lines.any(|one| one == line), "{line} in {new}");
    }
    let commented = "{\n  // mine\n  \"mcpServers\": {}\n}\n";
    folder.write(".mcp.json", commented);
    let refused = folder.refused(1, &install);
    assert!(text(&refused["hint"]).contains("\"command\""), "{refused}");
    assert_eq!(fs::read_to_string(folder.path(".mcp.json")).unwrap(), commented);

    let toml = "# mine\nmodel = \"x\"  # keep\n\n[mcp_servers.other]\ncommand = \"y\"\n";
    folder.write("home/.codex/config.toml", toml);
    folder.json(&["mcp", "install", "--client", "codex", "--yes"]);
    let new = fs::read_to_string(folder.path("home/.codex/config.toml")).unwrap();
    assert!(
        new.starts_with(toml) && new.contains("\n[mcp_servers.treering]\ncommand = \""),
        "{new}"
    );
    assert_eq!(
        folder.json(&["mcp", "install", "--client", "codex", "--yes"])["changed"],
        false
    );
    // The values change in place, and the options that nobody names stay.
    let options = ["--scope", "global", "--yes"];
    folder.json(&[&["mcp", "install", "--client", "codex"][..], &options].concat());
    folder.json(&["mcp", "install", "--client", "codex", "--session", "s1", "--yes"]);
    let newest = fs::read_to_string(folder.path("home/.codex/config.toml")).unwrap();
    assert!(newest.starts_with(toml), "{newest}");
    assert!(
        newest.contains("\"--session\", \"s1\", \"--scope\", \"global\"]\n"),
        "{newest}"
    );
    assert_eq!(newest.matches("command = ").count(), 2, "{newest}");
    // A file without the arguments is not guessed at.
    folder.write(
        "home/.codex/config.toml",
        "[mcp_servers.treering]\ncommand = \"x\"\n",
    );
    folder.refused(1, &["mcp", "install", "--client", "codex", "--yes"]);
    // The other keys of an entry stay.
    let entry = json!({ "command": "/nowhere/treering", "args": ["serve", "--mcp", "--profile=full"], "env": { "A": "b" } });
    folder.write(
        ".mcp.json",
        json!({ "mcpServers": { "treering": entry } }).to_string(),
    );
    folder.json(&install);
    let entry = read(&folder, ".mcp.json")["mcpServers"]["treering"].clone();
    assert_eq!(entry["env"], json!({ "A": "b" }));
    assert_eq!(entry["args"], json!(["serve", "--mcp", "--profile", "full"]));
    assert!(folder.json(&["doctor"])["clients"][0]["problem"].is_null());
}

/// INVARIANT CLT-2: no link leads a write out of the home folder or the current folder.
#[test]
fn no_link_is_followed_to_elsewhere() {
    let folder = Folder::with_store();
    let elsewhere = Folder::new();
    elsewhere.write("victim.json", "{}");
    symlink(elsewhere.path("victim.json"), folder.path(".mcp.json")).unwrap();
    let install = ["mcp", "install", "--client", "claude-code", "--yes"];
    folder.refused(4, &install);
    symlink(elsewhere.path(""), folder.path(".vscode")).unwrap();
    folder.refused(4, &["mcp", "install", "--client", "vscode", "--yes"]);
    assert_eq!(fs::read_to_string(elsewhere.path("victim.json")).unwrap(), "{}");
    assert!(!elsewhere.path("mcp.json").exists());
}

#[test]
fn doctor_names_what_is_wrong_with_a_client() {
    let folder = Folder::with_store();
    let set = |command: &str, args: Value| {
        let server = json!({ "mcpServers": { "treering": { "command": command, "args": args } } });
        folder.write(".mcp.json", server.to_string());
        folder.json(&["doctor"])["clients"][0].clone()
    };
    let program = env!("CARGO_BIN_EXE_treering");
    assert!(set(program, json!(["serve", "--mcp"]))["problem"].is_null());
    for (command, args, what) in [
        ("/nowhere/treering", json!(["serve", "--mcp"]), "does not exist"),
        (program, json!(["recall"]), "do not start serve"),
        (
            program,
            json!(["serve", "--mcp", "--store", "/elsewhere"]),
            "another store",
        ),
    ] {
        let found = set(command, args);
        assert!(text(&found["problem"]).contains(what), "{found}");
        assert_eq!(found["remedy"], "treering mcp install --client claude-code");
    }
    folder.write(".mcp.json", "{broken");
    assert!(folder.json(&["doctor"])["clients"][0]["problem"].is_string());
    folder.write(".mcp.json", "{}");
    assert!(folder.json(&["doctor"])["clients"].is_null());
}
