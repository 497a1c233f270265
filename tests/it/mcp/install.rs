//! `mcp install` writes the settings of clients, and `doctor` checks them.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::Folder;
use crate::program::text;

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

/// Returns what `doctor` says of the first client. It fails if the client cannot start the server.
fn doctor(folder: &Folder, is_broken: bool) -> Value {
    let ran = folder.run(&["doctor", "--json"]);
    assert_eq!(ran.code, i32::from(is_broken), "{ran:?}");
    let examined = ran.documents().remove(0);
    assert_eq!(examined["ok"], !is_broken);
    examined["clients"][0].clone()
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

/// INVARIANT INL-1: an installation and its removal leave everything else in a file as it is, byte for byte.
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
    // The server of Codex is still that of the user.
    assert!(doctor(&folder, true)["problem"].is_null());
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
    let set = |command: &str, args: Value, is_broken: bool| {
        let server = json!({ "mcpServers": { "treering": { "command": command, "args": args } } });
        folder.write(".mcp.json", server.to_string());
        doctor(&folder, is_broken)
    };
    let program = env!("CARGO_BIN_EXE_treering");
    assert!(set(program, json!(["serve", "--mcp"]), false)["problem"].is_null());
    for (command, args, what) in [
        ("/nowhere/treering", json!(["serve", "--mcp"]), "does not exist"),
        (program, json!(["recall"]), "do not start serve"),
        (
            program,
            json!(["serve", "--mcp", "--store", "/elsewhere"]),
            "another store",
        ),
    ] {
        // Another store may be meant.
        let found = set(command, args, what != "another store");
        assert!(text(&found["problem"]).contains(what), "{found}");
        assert_eq!(found["remedy"], "treering mcp install --client claude-code");
    }
    // What `mcp install` refuses is done by hand.
    folder.write(".mcp.json", "{\n  broken");
    let broken = doctor(&folder, true);
    assert!(
        text(&broken["problem"]).starts_with("line 2, column 3: "),
        "{broken}"
    );
    assert_eq!(broken["file"], folder.path(".mcp.json").to_str().unwrap());
    let refused = folder.refused(1, &["mcp", "install", "--client", "claude-code", "--yes"]);
    for part in [text(&broken["file"]), text(&broken["problem"])] {
        assert!(text(&refused["message"]).contains(&part), "{refused}");
    }
    assert!(
        broken["problem"].is_string() && broken["remedy"].is_null(),
        "{broken}"
    );
    assert!(text(&broken["by_hand"]).contains("\"mcpServers\""), "{broken}");
    folder.write(".mcp.json", "{}");
    assert!(folder.json(&["doctor"])["clients"].is_null());
}

/// The first client that starts the server creates the store, so a set-up without one is complete.
#[test]
fn doctor_checks_the_clients_before_there_is_a_store() {
    let folder = Folder::new();
    assert_eq!(folder.refused(1, &["doctor"])["code"], "no_store");
    folder.json(&["mcp", "install", "--client", "claude-code", "--yes"]);
    let examined = folder.json(&["doctor"]);
    assert_eq!(
        (
            &examined["ok"],
            &examined["clients"][0]["problem"],
            &examined["clients"][0]["serves_store"]
        ),
        (&json!(true), &Value::Null, &json!(true))
    );
    let problem = &examined["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["severity"]),
        (&json!("no_store"), &json!("notice"))
    );
    assert!(
        text(&problem["what"]).contains("the first client that starts the server creates it"),
        "{problem}"
    );
    // A store that no client uses is missing. The clients are checked all the same.
    let ran = folder.run(&["doctor", "--store", "typo", "--json"]);
    let examined = ran.documents().remove(0);
    assert_eq!((ran.code, &examined["ok"]), (1, &json!(false)));
    let problem = &examined["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["severity"]),
        (&json!("no_store"), &json!("warning"))
    );
    assert_eq!(problem["command"], "treering init --store typo");
    let client = &examined["clients"][0];
    assert!(text(&client["problem"]).contains("another store"), "{client}");
    // The remedy names the store, because the folder of the command does not.
    let typo = folder.path("typo").display().to_string();
    let remedy = format!("treering mcp install --client claude-code --store {typo}");
    assert_eq!(client["remedy"], remedy);
    let arguments: Vec<_> = remedy.split(' ').skip(1).chain(["--yes"]).collect();
    folder.json(&arguments);
    let examined = folder.json(&["doctor", "--store", "typo"]);
    assert!(examined["clients"][0]["problem"].is_null(), "{examined}");
    // A folder with other files never becomes a store.
    folder.write("typo/other", "x");
    folder.refused(1, &["doctor", "--store", "typo"]);
}

/// A file with comments is read, and left alone.
#[test]
fn a_file_with_comments_is_checked_and_mended_by_hand() {
    let folder = Folder::with_store();
    let file = |server: &str| {
        let text = format!(
            "{{\n  // \"servers\": {{\n  \"servers\": {{ /* mine, */ {server} }},\n  \"url\": \"http://x/*\\\"//\",\n}}\n"
        );
        folder.write(".vscode/mcp.json", &text);
        text
    };
    let install = ["mcp", "install", "--client", "vscode", "--yes"];
    file("");
    assert!(doctor(&folder, false).is_null());
    let old = file(
        "\"treering\": {\"command\": \"/nowhere/treering\", \"args\": [\"serve\", \"--mcp\", \"--profile\", \"full\",]},",
    );
    let found = doctor(&folder, true);
    assert!(text(&found["problem"]).contains("/nowhere/treering"), "{found}");
    assert!(found["remedy"].is_null(), "{found}");
    // The entry to paste is the one that `mcp install` prints, with the options that the file has.
    let by_hand = text(&found["by_hand"]);
    assert_eq!(folder.refused(1, &install)["hint"], found["by_hand"]);
    let entry = &by_hand[by_hand.find('{').unwrap()..];
    let entry: Value = serde_json::from_str(entry).unwrap();
    let entry = &entry["servers"]["treering"];
    assert_eq!(entry["args"], json!(["serve", "--mcp", "--profile", "full"]));
    assert_eq!(fs::read_to_string(folder.path(".vscode/mcp.json")).unwrap(), old);
    let pasted = file(&format!("\"treering\": {entry},"));
    let found = doctor(&folder, false);
    assert!(found["problem"].is_null(), "{found}");
    assert_eq!(folder.json(&install)["changed"], false);
    assert_eq!(
        fs::read_to_string(folder.path(".vscode/mcp.json")).unwrap(),
        pasted
    );
}

/// A client of many projects serves one store. Whoever gives it another one is told whose projects this affects.
#[test]
fn a_client_of_many_projects_is_not_repointed_unnoticed() {
    let folder = Folder::with_store();
    let install = ["mcp", "install", "--client", "cursor", "--yes"];
    let first = folder.run(&install);
    let own = folder.store().canonicalize().unwrap();
    let note = format!(
        "cursor will use the store {} in every project. Choose another with --store, such as --store {}.",
        own.display(),
        folder.path("home/.local/share/treering").display()
    );
    assert!(
        first.err.contains(&note) && !first.err.contains("now serves"),
        "{first:?}"
    );
    // It is said before the question, which nobody answers here.
    let asked = folder.run(&["mcp", "install", "--client", "gemini"]);
    assert!(
        asked.code == 2 && asked.err.contains("gemini will use the store"),
        "{asked:?}"
    );
    // A client of one project finds the store of the project.
    let here = folder.run(&["mcp", "install", "--client", "vscode", "--yes"]);
    assert!(!here.err.contains("will use"), "{here:?}");
    let other = folder.path("other");
    let other = other.to_str().unwrap();
    folder.json(&["init", "--store", other]);
    let found = folder.json(&["doctor", "--store", other])["clients"][0].clone();
    let what = format!("it serves another store, {}, in every project", own.display());
    assert_eq!(found["problem"], what);
    let ran = folder.run(&["doctor", "--store", other]);
    let remedy = format!("serve this store instead with: {}", text(&found["remedy"]));
    assert!(
        ran.code == 0 && ran.out.contains(&remedy) && !ran.out.contains("repair with"),
        "{ran:?}"
    );
    let ran = folder.run(&[&install[..], &["--store", other]].concat());
    let note = format!(
        "cursor now serves {}. After this change it serves {other} in every project.\n",
        own.display()
    );
    assert!(ran.err.contains(&note), "{ran:?}");
}

/// A team may commit the file of a project, so the path of one machine stands in it only if nothing else finds the program.
#[test]
fn the_file_of_a_project_names_the_program_on_the_path() {
    let folder = Folder::with_store();
    fs::create_dir_all(folder.path("bin")).unwrap();
    let program = env!("CARGO_BIN_EXE_treering");
    let command = |client: &str, file: &str, pointer: &str| {
        let install = ["mcp", "install", "--client", client, "--yes"];
        let ran = folder
            .command(&install)
            .env("PATH", folder.path("bin"))
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        read(&folder, file).pointer(pointer).unwrap()["command"].clone()
    };
    let own = ("claude-code", ".mcp.json", "/mcpServers/treering");
    assert_eq!(command(own.0, own.1, own.2), program);
    // Another program of this name is not this one.
    folder.write("bin/treering", "");
    assert_eq!(command(own.0, own.1, own.2), program);
    fs::remove_file(folder.path("bin/treering")).unwrap();
    symlink(program, folder.path("bin/treering")).unwrap();
    assert_eq!(command(own.0, own.1, own.2), "treering");
    assert_eq!(
        command("vscode", ".vscode/mcp.json", "/servers/treering"),
        "treering"
    );
    // The file of a user stays on the machine, and its client may have another path.
    assert_eq!(
        command("cursor", "home/.cursor/mcp.json", "/mcpServers/treering"),
        program
    );
}

/// A client starts the server in a folder of its own, so a relative path would name another store there.
#[test]
fn the_path_of_a_missing_store_is_absolute() {
    let folder = Folder::new();
    folder.json(&["mcp", "install", "--client", "cursor", "--store", "new", "--yes"]);
    let args = read(&folder, "home/.cursor/mcp.json")["mcpServers"]["treering"]["args"].clone();
    assert_eq!(args[3], folder.path("new").to_str().unwrap());
}

/// A file with a key twice, as after a merge by hand, is left alone: an edit would lose one of the values.
#[test]
fn a_file_with_a_repeated_key_is_left_alone() {
    for text_ in [
        r#"{"mcpServers":{"notes":{"command":"notes"}},"mcpServers":{"maps":{"command":"maps"}}}"#,
        r#"{"mcpServers":{"notes":{"command":"notes","command":"other"}}}"#,
        r#"{"a":{"b":[{"c":1,"c":2}]},"mcpServers":{}}"#,
    ] {
        let folder = Folder::with_store();
        folder.write("home/.cursor/mcp.json", text_);
        let error = folder.refused(1, &["mcp", "install", "--client", "cursor", "--yes"]);
        assert_eq!(error["code"], "file_exists", "{error}");
        assert!(text(&error["hint"]).contains("mcpServers"), "{error}");
        assert_eq!(
            fs::read_to_string(folder.path("home/.cursor/mcp.json")).unwrap(),
            text_
        );
    }
}

/// A client reads its settings in the folder that its own variable names, so they are written there.
#[test]
fn the_variables_of_clients_name_their_folders() {
    let folder = Folder::with_store();
    for (client, verb, variable, files) in [
        (
            "codex",
            &["mcp", "install", "--client"][..],
            "CODEX_HOME",
            &["config.toml"][..],
        ),
        (
            "gemini",
            &["mcp", "install", "--client"],
            "GEMINI_CLI_HOME",
            &[".gemini/settings.json"],
        ),
        (
            "claude-code",
            &["install"],
            "CLAUDE_CONFIG_DIR",
            &[".claude.json", "settings.json"],
        ),
        (
            "codex",
            &["install"],
            "CODEX_HOME",
            &["config.toml", "hooks.json"],
        ),
        (
            "vscode",
            &["install"],
            "COPILOT_HOME",
            &["mcp-config.json", "hooks/treering.json"],
        ),
    ] {
        let named = folder.path(&format!("named/{client}-{}", verb[0]));
        let run = |words: &[&str]| {
            let ran = folder.command(words).env(variable, &named).output().unwrap();
            assert!(ran.status.success(), "{words:?}: {ran:?}");
        };
        run(&[verb, &[client, "--yes"]].concat());
        for file in files {
            assert!(named.join(file).is_file(), "{client}: {file}");
        }
        run(&["doctor"]);
        run(&["uninstall", client, "--yes"]);
    }
}
