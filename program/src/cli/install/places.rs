//! What each coding agent needs, and in which of its own files: the MCP server, the hooks, and a skill.
//!
//! Sources, as of November 2026: code.claude.com/docs/en/settings and /hooks, developers.openai.com/codex/hooks and /mcp,
//! google-gemini/gemini-cli docs/hooks/index.md, code.visualstudio.com/docs/agent-customization/hooks,
//! cursor.com/docs/agent/hooks, opencode.ai/docs/config and /plugins; agentskills.io for the skill.
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::files::{Change, Entry};
use crate::cli::clients::SERVER;
use crate::cli::context::in_words;
use crate::hook::HookClient;
use treering::inspect::disk::xdg_base;
use treering::{Error, Result};

/// The seconds after which a client stops a hook.
const TIMEOUT_SECONDS: u64 = 10;
/// The text of the skill.
const SKILL: &str = include_str!("skill.md");
/// The plugin for opencode.
const OPENCODE_PLUGIN: &str = include_str!("../../../../integrations/opencode/treering.js");

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

/// Returns the changes that install a client.
///
/// # Errors
/// `NotFound` if the home folder is unknown.
pub(crate) fn changes(client: HookClient, wanted: &Wanted) -> Result<Vec<Change>> {
    let home = home()?;
    let server = json!({ "command": wanted.program, "args": wanted.server(client) });
    let skill = |folder: &str| Change::whole(home.join(folder).join("treering-memory/SKILL.md"), SKILL);
    let at = |file: &str, entries: Vec<Entry>| Change::json(home.join(file), entries);
    let one_server = |key: &'static str, value: Json| Entry::member(&[key, SERVER], value);
    let grouped = |events: &[&'static str], seconds: u64| -> Vec<Entry> {
        let hook = json!({ "type": "command", "command": wanted.command(client), "timeout": seconds });
        let group = json!({ "hooks": [hook] });
        events
            .iter()
            .map(|event| Entry::item(&["hooks", event], group.clone()))
            .collect()
    };
    Ok(match client {
        HookClient::ClaudeCode => vec![
            at(".claude.json", vec![one_server("mcpServers", typed(server))]),
            at(
                ".claude/settings.json",
                grouped(
                    &[
                        "SessionStart",
                        "UserPromptSubmit",
                        "PostToolUse",
                        "Stop",
                        "PreCompact",
                        "SessionEnd",
                    ],
                    TIMEOUT_SECONDS,
                ),
            ),
            skill(".claude/skills"),
        ],
        HookClient::Codex => vec![
            Change::toml(
                codex_home(&home).join("config.toml"),
                &wanted.program,
                &wanted.server(client),
            ),
            Change::json(
                codex_home(&home).join("hooks.json"),
                grouped(
                    &[
                        "SessionStart",
                        "UserPromptSubmit",
                        "PostToolUse",
                        "Stop",
                        "PreCompact",
                    ],
                    TIMEOUT_SECONDS,
                ),
            ),
            Change::whole(codex_home(&home).join("skills/treering-memory/SKILL.md"), SKILL),
        ],
        HookClient::Gemini => {
            let mut entries = vec![one_server("mcpServers", server)];
            // Gemini CLI counts milliseconds.
            entries.extend(grouped(
                &[
                    "SessionStart",
                    "BeforeAgent",
                    "AfterTool",
                    "AfterAgent",
                    "PreCompress",
                    "SessionEnd",
                ],
                TIMEOUT_SECONDS * 1000,
            ));
            vec![at(".gemini/settings.json", entries), skill(".gemini/skills")]
        }
        HookClient::Vscode => {
            let hook =
                json!({ "type": "command", "command": wanted.command(client), "timeout": TIMEOUT_SECONDS });
            let events = [
                "SessionStart",
                "UserPromptSubmit",
                "PostToolUse",
                "Stop",
                "PreCompact",
            ];
            let entries = events
                .iter()
                .map(|event| Entry::item(&["hooks", event], hook.clone()));
            vec![
                Change::json(
                    vscode_user(&home).join("mcp.json"),
                    vec![one_server("servers", typed(server))],
                ),
                at(".copilot/hooks/treering.json", entries.collect()),
                skill(".copilot/skills"),
            ]
        }
        HookClient::Cursor => {
            let hook = json!({ "command": wanted.command(client), "timeout": TIMEOUT_SECONDS });
            let events = [
                "sessionStart",
                "beforeSubmitPrompt",
                "postToolUse",
                "stop",
                "preCompact",
                "sessionEnd",
            ];
            let mut entries = vec![Entry::default_member(&["version"], json!(1))];
            entries.extend(
                events
                    .iter()
                    .map(|event| Entry::item(&["hooks", event], hook.clone())),
            );
            vec![
                at(".cursor/mcp.json", vec![one_server("mcpServers", server)]),
                at(".cursor/hooks.json", entries),
                skill(".cursor/skills"),
            ]
        }
        HookClient::Opencode => {
            let folder = xdg_base("XDG_CONFIG_HOME", ".config")
                .unwrap_or_else(|| home.join(".config"))
                .join("opencode");
            let mut command = vec![wanted.program.clone()];
            command.extend(wanted.server(client));
            let server = json!({ "type": "local", "command": command, "enabled": true });
            let plain = folder.join("opencode.json");
            let commented = folder.join("opencode.jsonc");
            let settings = if commented.exists() && !plain.exists() {
                commented
            } else {
                plain
            };
            let mut hook = vec![wanted.program.clone()];
            hook.extend(wanted.hook(client));
            let plugin = OPENCODE_PLUGIN.replace(
                "[\"treering\", \"hook\", \"--client\", \"opencode\"]",
                &json!(hook).to_string(),
            );
            vec![
                Change::json(settings, vec![one_server("mcp", server)]),
                Change::whole(folder.join("plugins/treering.js"), &plugin),
                Change::whole(folder.join("skills/treering-memory/SKILL.md"), SKILL),
            ]
        }
    })
}

/// Returns a server with the type that some clients want.
fn typed(server: Json) -> Json {
    let mut typed = json!({ "type": "stdio" });
    if let (Json::Object(typed), Json::Object(server)) = (&mut typed, server) {
        typed.extend(server);
    }
    typed
}

fn home() -> Result<PathBuf> {
    let home = env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    home.ok_or_else(|| Error::not_found("HOME is not set, so the settings files are unknown"))
}

fn codex_home(home: &std::path::Path) -> PathBuf {
    let named = env::var_os("CODEX_HOME")
        .map(PathBuf::from)
        .filter(|named| named.is_absolute());
    named.unwrap_or_else(|| home.join(".codex"))
}

fn vscode_user(home: &std::path::Path) -> PathBuf {
    if cfg!(target_os = "macos") {
        return home.join("Library/Application Support/Code/User");
    }
    xdg_base("XDG_CONFIG_HOME", ".config")
        .unwrap_or_else(|| home.join(".config"))
        .join("Code/User")
}
