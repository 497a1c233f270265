//! What each coding agent needs, and in which of its own files: the MCP server, the hooks, and a skill.
//!
//! Sources, as of November 2026: code.claude.com/docs/en/settings and /hooks, developers.openai.com/codex/hooks and /mcp,
//! google-gemini/gemini-cli docs/hooks/index.md, code.visualstudio.com/docs/agent-customization/hooks,
//! cursor.com/docs/agent/hooks, opencode.ai/docs/config and /plugins; agentskills.io for the skill.
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::files::{Entry, FileChange};
use crate::cli::clients::SERVER;
use crate::cli::context::in_words;
use crate::hook::HookClient;
use treering::inspect::disk::xdg_base;
use treering::{Error, Result};

/// The seconds after which a client stops a hook.
const TIMEOUT_SECONDS: u64 = 10;
/// The text of the skill.
const SKILL: &str = include_str!("../../../integrations/agent-plugin/skills/treering-memory/SKILL.md");
/// The file of the skill, in the folder of skills.
const SKILL_FILE: &str = "treering-memory/SKILL.md";
/// The command in the plugin for opencode, which an installation replaces.
const OPENCODE_COMMAND: &str = r#"["treering", "hook", "--client", "opencode"]"#;
/// The plugin for opencode.
const OPENCODE_PLUGIN: &str = include_str!("../../../integrations/opencode/treering.js");

/// What an installation writes, besides the places.
pub(crate) struct Wanted {
    /// The absolute path of the program.
    pub(crate) program: String,
    /// The store, if it is named.
    pub(crate) store: Option<String>,
    pub(crate) learns: bool,
}

impl Wanted {
    fn store_options(&self) -> Vec<String> {
        let store = self.store.iter();
        store
            .flat_map(|store| ["--store".to_owned(), store.clone()])
            .collect()
    }

    /// Returns the arguments of the server.
    fn server(&self, client: HookClient) -> Vec<String> {
        let mut args: Vec<String> = ["serve", "--mcp", "--client", client.name()]
            .map(str::to_owned)
            .into();
        args.extend(self.store_options());
        args
    }

    /// Returns the arguments of a hook.
    fn hook(&self, client: HookClient) -> Vec<String> {
        let mut args: Vec<String> = ["hook", "--client", client.name()].map(str::to_owned).into();
        args.extend(self.store_options());
        args.extend(self.learns.then(|| "--learn".to_owned()));
        args
    }

    /// Returns the command line of a hook, for a shell.
    fn command(&self, client: HookClient) -> String {
        let words = std::iter::once(self.program.clone()).chain(self.hook(client));
        in_words(words)
    }
}

/// The events that the clients with the names of Claude Code have in common.
const EVENTS: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "Stop",
    "PreCompact",
    "SessionEnd",
];

/// Returns the changes that install a client.
///
/// # Errors
/// `NotFound` if the home folder is unknown.
pub(crate) fn changes(client: HookClient, wanted: &Wanted) -> Result<Vec<FileChange>> {
    let home = home()?;
    let place = Target {
        home: &home,
        client,
        wanted,
    };
    Ok(match client {
        HookClient::ClaudeCode => vec![
            place.json(".claude.json", vec![place.server("mcpServers", true)]),
            place.json(".claude/settings.json", place.groups(&EVENTS, TIMEOUT_SECONDS)),
            place.skill(".claude/skills"),
        ],
        HookClient::Codex => {
            let folder = codex_home(&home);
            vec![
                FileChange::toml(
                    folder.join("config.toml"),
                    &wanted.program,
                    &wanted.server(client),
                ),
                // There is no event for the end of a session.
                FileChange::json(
                    folder.join("hooks.json"),
                    place.groups(&EVENTS[..5], TIMEOUT_SECONDS),
                ),
                FileChange::whole(folder.join("skills").join(SKILL_FILE), SKILL),
            ]
        }
        HookClient::Gemini => {
            let events = [
                "SessionStart",
                "BeforeAgent",
                "AfterTool",
                "AfterAgent",
                "PreCompress",
                "SessionEnd",
            ];
            let mut entries = vec![place.server("mcpServers", false)];
            // Gemini CLI counts milliseconds.
            entries.extend(place.groups(&events, TIMEOUT_SECONDS * 1000));
            vec![
                place.json(".gemini/settings.json", entries),
                place.skill(".gemini/skills"),
            ]
        }
        HookClient::Vscode => vec![
            FileChange::json(
                vscode_user(&home).join("mcp.json"),
                vec![place.server("servers", true)],
            ),
            // Copilot CLI has the hooks and the skill from the same folder.
            place.json(".copilot/mcp-config.json", vec![place.server("mcpServers", true)]),
            place.json(
                ".copilot/hooks/treering.json",
                place.hooks(&EVENTS, json!({ "type": "command" })),
            ),
            place.skill(".copilot/skills"),
        ],
        HookClient::Cursor => {
            let events = [
                "sessionStart",
                "beforeSubmitPrompt",
                "postToolUse",
                "stop",
                "preCompact",
                "sessionEnd",
            ];
            let mut entries = vec![Entry::default_member(&["version"], json!(1))];
            entries.extend(place.hooks(&events, json!({})));
            vec![
                place.json(".cursor/mcp.json", vec![place.server("mcpServers", false)]),
                place.json(".cursor/hooks.json", entries),
                place.skill(".cursor/skills"),
            ]
        }
        HookClient::Opencode => place.opencode(),
    })
}

/// Where a client gets what.
struct Target<'a> {
    home: &'a Path,
    client: HookClient,
    wanted: &'a Wanted,
}

impl Target<'_> {
    fn json(&self, file: &str, entries: Vec<Entry>) -> FileChange {
        FileChange::json(self.home.join(file), entries)
    }

    fn skill(&self, folder: &str) -> FileChange {
        FileChange::whole(self.home.join(folder).join(SKILL_FILE), SKILL)
    }

    /// Returns the entry of the server, with its type if the client wants it.
    fn server(&self, key: &str, is_typed: bool) -> Entry {
        let (command, args) = (&self.wanted.program, self.wanted.server(self.client));
        let server = if is_typed {
            json!({ "type": "stdio", "command": command, "args": args })
        } else {
            json!({ "command": command, "args": args })
        };
        Entry::member(&[key, SERVER], server)
    }

    /// Returns a hook for each event, in a group of its own.
    fn groups(&self, events: &[&str], timeout: u64) -> Vec<Entry> {
        let command = self.wanted.command(self.client);
        let hook = json!({ "type": "command", "command": command, "timeout": timeout });
        let group = json!({ "hooks": [hook] });
        let entries = events
            .iter()
            .map(|event| Entry::item(&["hooks", event], group.clone()));
        entries.collect()
    }

    /// Returns a hook for each event, with the further fields `more`.
    fn hooks(&self, events: &[&str], more: Json) -> Vec<Entry> {
        let mut hook = more;
        hook["command"] = self.wanted.command(self.client).into();
        hook["timeout"] = TIMEOUT_SECONDS.into();
        let entries = events
            .iter()
            .map(|event| Entry::item(&["hooks", event], hook.clone()));
        entries.collect()
    }

    fn opencode(&self) -> Vec<FileChange> {
        let folder = xdg_base("XDG_CONFIG_HOME", ".config").unwrap_or_else(|| self.home.join(".config"));
        let folder = folder.join("opencode");
        let words = |args: Vec<String>| -> Vec<String> {
            std::iter::once(self.wanted.program.clone()).chain(args).collect()
        };
        let command = words(self.wanted.server(self.client));
        let server = json!({ "type": "local", "command": command, "enabled": true });
        let (plain, commented) = (folder.join("opencode.json"), folder.join("opencode.jsonc"));
        let settings = if commented.exists() && !plain.exists() {
            commented
        } else {
            plain
        };
        let hook = json!(words(self.wanted.hook(self.client))).to_string();
        let plugin = OPENCODE_PLUGIN.replace(OPENCODE_COMMAND, &hook);
        vec![
            FileChange::json(settings, vec![Entry::member(&["mcp", SERVER], server)]),
            FileChange::whole(folder.join("plugins/treering.js"), &plugin),
            FileChange::whole(folder.join("skills").join(SKILL_FILE), SKILL),
        ]
    }
}

fn home() -> Result<PathBuf> {
    let home = env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    home.ok_or_else(|| Error::not_found("HOME is not set, so the settings files are unknown"))
}

fn codex_home(home: &Path) -> PathBuf {
    let named = env::var_os("CODEX_HOME")
        .map(PathBuf::from)
        .filter(|named| named.is_absolute());
    named.unwrap_or_else(|| home.join(".codex"))
}

fn vscode_user(home: &Path) -> PathBuf {
    if cfg!(target_os = "macos") {
        return home.join("Library/Application Support/Code/User");
    }
    xdg_base("XDG_CONFIG_HOME", ".config")
        .unwrap_or_else(|| home.join(".config"))
        .join("Code/User")
}
