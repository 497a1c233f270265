//! The one table of clients: the files of each client, and what an installation writes there. It writes the MCP server, the
//! hooks, and a skill.
//!
//! The table follows these documents of November 2026: code.claude.com/docs/en/settings and /hooks,
//! developers.openai.com/codex/hooks and /mcp, google-gemini/gemini-cli docs/hooks/index.md,
//! code.visualstudio.com/docs/agent-customization/hooks, cursor.com/docs/agent/hooks, opencode.ai/docs/config and /plugins,
//! and agentskills.io. `Place::folder` has the variables in which a user names the folder of a client.
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::entries::Entry;
use super::files::FileChange;
use super::server::{ServerForm, Start};
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

    /// Returns how the client starts the server.
    pub(crate) fn server(&self, client: HookClient) -> Start {
        let mut args: Vec<String> = ["serve", "--mcp", "--client", client.name()]
            .map(str::to_owned)
            .into();
        args.extend(self.store_options());
        let command = self.program.clone();
        Start { command, args }
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

named! {
    /// A client of the Model Context Protocol, which `mcp install` sets up.
    #[derive(clap::ValueEnum)]
    pub(crate) enum Client {
        /// Claude Code: `.mcp.json` in the current folder.
        ClaudeCode => "claude-code",
        /// Claude Desktop.
        ClaudeDesktop => "claude-desktop",
        /// Cursor: for every project of the user.
        Cursor => "cursor",
        /// VS Code: `.vscode/mcp.json` in the current folder.
        Vscode => "vscode",
        /// Codex.
        Codex => "codex",
        /// Gemini CLI.
        Gemini => "gemini",
        /// Windsurf.
        Windsurf => "windsurf",
    }
}

impl Client {
    /// Whether the client starts the server in the folder of the project, where the settings file is.
    pub(crate) fn is_of_project(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Vscode)
    }

    /// Returns where `mcp install` writes the server.
    ///
    /// # Errors
    /// `NotFound` if the home folder is unknown; `Io` if the current folder cannot be read.
    pub(crate) fn place(self) -> Result<ServerPlace> {
        let here = |file: &str, form| {
            let base = env::current_dir().map_err(|error| Error::io("reading the current folder", error))?;
            let path = base.join(file);
            Ok(ServerPlace { base, path, form })
        };
        match self {
            Self::ClaudeCode => here(".mcp.json", ServerForm::Plain("mcpServers")),
            Self::Vscode => here(".vscode/mcp.json", ServerForm::Typed("servers")),
            Self::Cursor => Place::Cursor.server(),
            Self::Codex => Place::Codex.server(),
            Self::Gemini => Place::Gemini.server(),
            Self::Windsurf => Place::Windsurf.server(),
            Self::ClaudeDesktop => Place::ClaudeDesktop.server(),
        }
    }
}

/// A settings file with servers.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlace {
    /// The folder that no link may leave.
    base: PathBuf,
    pub(crate) path: PathBuf,
    pub(crate) form: ServerForm,
}

impl ServerPlace {
    /// Returns the change that writes the server alone.
    pub(crate) fn with(&self, start: Start) -> FileChange {
        FileChange::server_alone(self.path.clone(), self.base.clone(), self.form, start)
    }

    /// Returns the change that writes the server as `install` does. Unlike [`Self::with`], it follows links.
    pub(crate) fn shared(&self, start: Start) -> FileChange {
        FileChange::server(self.path.clone(), self.form, start)
    }

    /// Returns how the file starts the server now.
    ///
    /// # Errors
    /// The errors of [`FileChange::known_start`].
    pub(crate) fn known_start(&self) -> Result<Option<Start>> {
        self.with(Start::none()).known_start()
    }

    /// Returns how the file, which may be a link, starts the server now.
    ///
    /// # Errors
    /// The errors of [`FileChange::known_start`].
    pub(crate) fn known_start_of_install(&self) -> Result<Option<Start>> {
        self.shared(Start::none()).known_start()
    }
}

/// Returns the files with servers that `install` writes and `mcp install` does not.
pub(crate) fn places_of_install() -> Vec<(HookClient, ServerPlace)> {
    let places = [
        (HookClient::ClaudeCode, Place::Claude),
        (HookClient::Vscode, Place::VsCode),
        (HookClient::Vscode, Place::Copilot),
        (HookClient::Opencode, Place::Opencode),
    ];
    let known = places
        .into_iter()
        .map(|(client, place)| Some((client, place.server().ok()?)));
    known.flatten().collect()
}

/// The folder of a user with the files of a client.
#[derive(Clone, Copy)]
enum Place {
    Claude,
    ClaudeDesktop,
    Codex,
    Gemini,
    VsCode,
    Copilot,
    Cursor,
    Opencode,
    Windsurf,
}

impl Place {
    /// Returns the folder: the one that the variable of the client names, else the usual one.
    fn folder(self) -> Result<PathBuf> {
        let named = |variable: &str| {
            let named = env::var_os(variable).map(PathBuf::from);
            named.filter(|named| named.is_absolute())
        };
        let (named, usual) = match self {
            Self::Claude => (named("CLAUDE_CONFIG_DIR"), ".claude"),
            Self::Codex => (named("CODEX_HOME"), ".codex"),
            Self::Gemini => (
                named("GEMINI_CLI_HOME").map(|named| named.join(".gemini")),
                ".gemini",
            ),
            Self::Copilot => (named("COPILOT_HOME"), ".copilot"),
            Self::Cursor => (None, ".cursor"),
            Self::Windsurf => (None, ".codeium/windsurf"),
            Self::VsCode => return Ok(applications()?.join("Code/User")),
            Self::ClaudeDesktop => return Ok(applications()?.join("Claude")),
            Self::Opencode => return Ok(config()?.join("opencode")),
        };
        named.map_or_else(|| Ok(home()?.join(usual)), Ok)
    }

    /// Returns the file with the servers.
    fn server(self) -> Result<ServerPlace> {
        let folder = self.folder()?;
        let is_there = |file: &str| folder.join(file).exists();
        let (file, form) = match self {
            Self::Claude => (".claude.json", ServerForm::Typed("mcpServers")),
            Self::Codex => ("config.toml", ServerForm::Toml),
            Self::Gemini => ("settings.json", ServerForm::Plain("mcpServers")),
            Self::VsCode => ("mcp.json", ServerForm::Typed("servers")),
            Self::Copilot => ("mcp-config.json", ServerForm::Typed("mcpServers")),
            Self::Cursor => ("mcp.json", ServerForm::Plain("mcpServers")),
            Self::Windsurf => ("mcp_config.json", ServerForm::Plain("mcpServers")),
            Self::ClaudeDesktop => ("claude_desktop_config.json", ServerForm::Plain("mcpServers")),
            Self::Opencode if is_there("opencode.jsonc") && !is_there("opencode.json") => {
                ("opencode.jsonc", ServerForm::List("mcp"))
            }
            Self::Opencode => ("opencode.json", ServerForm::List("mcp")),
        };
        let path = match self {
            // Claude Code has this file beside its usual folder, but inside of the folder that a variable names.
            Self::Claude if folder == home()?.join(".claude") => home()?.join(file),
            _ => folder.join(file),
        };
        let base = home()
            .ok()
            .filter(|home| path.starts_with(home))
            .unwrap_or(folder);
        Ok(ServerPlace { base, path, form })
    }
}

/// Returns the changes that install a client.
///
/// # Errors
/// `NotFound` if the home folder is unknown.
pub(crate) fn changes(client: HookClient, wanted: &Wanted) -> Result<Vec<FileChange>> {
    let target = Target { client, wanted };
    let start = || wanted.server(client);
    let server = |place: Place| Ok(place.server()?.shared(start()));
    let json = |place: Place, file: &str, entries| Ok(FileChange::json(place.folder()?.join(file), entries));
    let skill = |place: Place| {
        let file = place.folder()?.join("skills").join(SKILL_FILE);
        Ok(FileChange::whole(file, SKILL))
    };
    match client {
        HookClient::ClaudeCode => vec![
            server(Place::Claude),
            json(
                Place::Claude,
                "settings.json",
                target.groups(&EVENTS, TIMEOUT_SECONDS),
            ),
            skill(Place::Claude),
        ],
        HookClient::Codex => vec![
            server(Place::Codex),
            // Codex has no event for the end of a session.
            json(
                Place::Codex,
                "hooks.json",
                target.groups(&EVENTS[..5], TIMEOUT_SECONDS),
            ),
            skill(Place::Codex),
        ],
        HookClient::Gemini => {
            let events = [
                "SessionStart",
                "BeforeAgent",
                "AfterTool",
                "AfterAgent",
                "PreCompress",
                "SessionEnd",
            ];
            let ServerPlace { path, form, .. } = Place::Gemini.server()?;
            let (place, value) = form.entry(&start());
            let mut entries = vec![Entry::member(&place, value)];
            // Gemini CLI counts milliseconds.
            entries.extend(target.groups(&events, TIMEOUT_SECONDS * 1000));
            vec![Ok(FileChange::json(path, entries)), skill(Place::Gemini)]
        }
        // VS Code reads the hooks and the skill in the folder of Copilot CLI.
        HookClient::Vscode => vec![
            server(Place::VsCode),
            server(Place::Copilot),
            json(
                Place::Copilot,
                "hooks/treering.json",
                target.hooks(&EVENTS, json!({ "type": "command" })),
            ),
            skill(Place::Copilot),
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
            entries.extend(target.hooks(&events, json!({})));
            vec![
                server(Place::Cursor),
                json(Place::Cursor, "hooks.json", entries),
                skill(Place::Cursor),
            ]
        }
        HookClient::Opencode => {
            let hook = std::iter::once(wanted.program.clone()).chain(wanted.hook(client));
            let hook = Json::from(hook.collect::<Vec<_>>()).to_string();
            let plugin = OPENCODE_PLUGIN.replace(OPENCODE_COMMAND, &hook);
            let file = Place::Opencode.folder()?.join("plugins/treering.js");
            vec![
                server(Place::Opencode),
                Ok(FileChange::whole(file, &plugin)),
                skill(Place::Opencode),
            ]
        }
    }
    .into_iter()
    .collect()
}

/// What the hooks of a client call.
struct Target<'a> {
    client: HookClient,
    wanted: &'a Wanted,
}

impl Target<'_> {
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
}

fn home() -> Result<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    home.filter(|home| home.is_absolute()).ok_or_else(no_home)
}

fn no_home() -> Error {
    Error::not_found("HOME is not set, so the settings files are unknown")
}

fn config() -> Result<PathBuf> {
    xdg_base("XDG_CONFIG_HOME", ".config").ok_or_else(no_home)
}

/// Returns the folder in which applications with windows keep their settings.
fn applications() -> Result<PathBuf> {
    if cfg!(target_os = "macos") {
        return Ok(home()?.join("Library/Application Support"));
    }
    config()
}
