//! The settings files of MCP clients: where each is, and how a server stands in it.
//!
//! # Layer
//! Layer 10, part of cli.
//!
//! # Invariants
//! - CLT-1: an edit of a settings file changes only the entry of the server. A file that the program cannot keep whole,
//!   such as JSON with comments, is refused.
//! - CLT-2: no link leads a write out of the home folder or the current folder.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use serde::Deserialize;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value as Json, json};

use super::agent_context::read_found;
use super::context::shown;
use super::errors::refused;
use super::json_edit::{Document, Step};
use treering::inspect::disk::xdg_folder;
use treering::inspect::ingest::json::parse;
use treering::{Error, ErrorCode, Result};

/// The name of the server in a settings file.
pub(crate) const SERVER: &str = "treering";

named! {
    /// A client of the Model Context Protocol.
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

/// Returns the file of a program. A name without a folder is searched on `PATH`.
pub(crate) fn program_file(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(program.to_owned()).filter(|file| file.is_file());
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// How a client starts the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

impl Start {
    /// Whether this starts the server.
    pub(crate) fn is_server(&self) -> bool {
        ["serve", "--mcp"]
            .iter()
            .all(|word| self.args.iter().any(|arg| arg == word))
    }

    /// Returns the store that the arguments name. Without a name, the server finds the store from its folder.
    pub(crate) fn store(&self) -> Option<PathBuf> {
        let named = self
            .all_options()
            .into_iter()
            .find(|option| option[0] == "--store")?;
        named.get(1).map(PathBuf::from)
    }

    /// Returns the options of the server, each with its value, without the store. Something else than the server has none.
    pub(crate) fn options(&self) -> Vec<Vec<String>> {
        let mut options = self.all_options();
        options.retain(|option| !matches!(option[0].as_str(), "--mcp" | "--store"));
        options
    }

    /// Returns the arguments with the options that only `known` has. So an installation widens no right of a server.
    pub(crate) fn with_options_of(&self, known: &Self) -> Vec<String> {
        let own = self.all_options();
        let others = known.all_options().into_iter();
        let others = others.filter(|option| own.iter().all(|own| own[0] != option[0]));
        self.args.iter().cloned().chain(others.flatten()).collect()
    }

    fn all_options(&self) -> Vec<Vec<String>> {
        let mut options: Vec<Vec<String>> = Vec::new();
        for arg in self.args.iter().filter(|_| self.is_server()) {
            match (arg.split_once('='), options.last_mut()) {
                (Some((name, value)), _) if name.starts_with("--") => {
                    options.push(vec![name.to_owned(), value.to_owned()]);
                }
                _ if arg.starts_with("--") => options.push(vec![arg.clone()]),
                (_, Some(option)) => option.push(arg.clone()),
                (_, None) => {}
            }
        }
        options
    }
}

/// A settings file of a client.
pub(crate) struct SettingsFile {
    pub(crate) client: Client,
    /// The home folder or the current folder, below which the file is.
    base: PathBuf,
    pub(crate) path: PathBuf,
}

impl Client {
    /// Whether the client starts the server in the folder of the project, where the settings file is.
    pub(crate) fn is_of_project(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Vscode)
    }

    /// Returns the settings file.
    ///
    /// # Errors
    /// `NotFound` if HOME is not set; `Io` if the current folder cannot be read.
    pub(crate) fn file(self) -> Result<SettingsFile> {
        let here = || env::current_dir().map_err(|error| Error::io("reading the current folder", error));
        let home = || {
            let home = env::var_os("HOME")
                .map(PathBuf::from)
                .filter(|home| home.is_absolute());
            home.ok_or_else(|| Error::not_found("HOME is not set, so the settings file is unknown"))
        };
        let base = if self.is_of_project() { here()? } else { home()? };
        let path = match self {
            Self::ClaudeCode => base.join(".mcp.json"),
            Self::Vscode => base.join(".vscode/mcp.json"),
            Self::Cursor => base.join(".cursor/mcp.json"),
            Self::Codex => base.join(".codex/config.toml"),
            Self::Gemini => base.join(".gemini/settings.json"),
            Self::Windsurf => base.join(".codeium/windsurf/mcp_config.json"),
            Self::ClaudeDesktop if cfg!(target_os = "macos") => {
                base.join("Library/Application Support/Claude/claude_desktop_config.json")
            }
            Self::ClaudeDesktop => {
                // The folder of another program, beside that of Treering.
                let own =
                    xdg_folder("XDG_CONFIG_HOME", ".config").unwrap_or_else(|| base.join(".config/treering"));
                own.with_file_name("Claude").join("claude_desktop_config.json")
            }
        };
        Ok(SettingsFile {
            client: self,
            base,
            path,
        })
    }

    /// Returns the key that holds the servers.
    fn servers_key(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }

    /// Returns what a person does with a file that the program cannot read or keep whole.
    pub(crate) fn by_hand(self, start: &Start) -> String {
        let entry = if self == Self::Codex {
            toml_of(start)
        } else {
            pretty(
                &json!({ self.servers_key(): { SERVER: self.entry(start) } }),
                "  ",
            )
        };
        format!("paste this into the file yourself:\n{entry}")
    }

    fn entry(self, start: &Start) -> Json {
        let Start { command, args } = start;
        match self {
            Self::Vscode => json!({ "type": "stdio", "command": command, "args": args }),
            _ => json!({ "command": command, "args": args }),
        }
    }
}

/// Returns the command and the arguments as values of TOML.
fn toml_values(start: &Start) -> (String, String) {
    // A JSON string without control characters is a TOML string.
    let quoted = |text: &String| Json::String(text.clone()).to_string();
    let args: Vec<_> = start.args.iter().map(quoted).collect();
    (quoted(&start.command), format!("[{}]", args.join(", ")))
}

/// Returns the table of the server in TOML.
fn toml_of(start: &Start) -> String {
    let (command, args) = toml_values(start);
    format!("[mcp_servers.{SERVER}]\ncommand = {command}\nargs = {args}\n")
}

/// A TOML file with the places of what starts the server.
#[derive(Deserialize)]
struct TomlFile {
    mcp_servers: TomlServers,
}

#[derive(Deserialize)]
struct TomlServers {
    treering: TomlEntry,
}

#[derive(Deserialize)]
struct TomlEntry {
    command: toml::Spanned<String>,
    args: toml::Spanned<Vec<String>>,
}

/// Returns a TOML text with another command and other arguments of the server. Returns `None` if one of them is missing, or
/// if anything else would change (CLT-1).
fn edited_toml(old: &str, start: &Start) -> Option<String> {
    let entry = toml::from_str::<TomlFile>(old).ok()?.mcp_servers.treering;
    let (command, args) = toml_values(start);
    let mut places = [(entry.command.span(), command), (entry.args.span(), args)];
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut new = old.to_owned();
    for (place, value) in places {
        new.replace_range(place, &value);
    }
    // The bytes of the file outside of the two values stay.
    let rest = |text: &str| {
        let mut table: toml::Table = text.parse().ok()?;
        let entry = table.get_mut("mcp_servers")?.get_mut(SERVER)?.as_table_mut()?;
        let start = start_of_toml(&toml::Value::Table(entry.clone()))?;
        entry.remove("command");
        entry.remove("args");
        Some((table, start))
    };
    let (before, (after, started)) = (rest(old)?.0, rest(&new)?);
    (before == after && started == *start).then_some(new)
}

/// Returns a TOML text with the table of the server, as [`SettingsFile::with_server`] does.
///
/// # Errors
/// `InvalidInput` if the program cannot keep the rest of the text.
pub(crate) fn toml_table(path: &Path, old: &str, command: &str, args: &[String]) -> Result<String> {
    let file = SettingsFile {
        client: Client::Codex,
        base: PathBuf::new(),
        path: path.to_owned(),
    };
    let start = Start {
        command: command.to_owned(),
        args: args.to_vec(),
    };
    file.with_toml(old, &start)
}

impl SettingsFile {
    /// Returns the text of the file; `None` if there is none.
    ///
    /// # Errors
    /// `Denied` if a link leads out of the base folder (CLT-2); `Io` if the file cannot be read.
    pub(crate) fn read(&self) -> Result<Option<String>> {
        if !self.base.exists() {
            return Ok(None);
        }
        self.check_links()?;
        match self.path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            _ => read_found(&self.path).map(Some),
        }
    }

    /// Refuses a link that leads out of the base folder.
    fn check_links(&self) -> Result<()> {
        let failed = |path: &Path, error| Error::io(format_args!("reading {}", shown(path)), error);
        let base = self
            .base
            .canonicalize()
            .map_err(|error| failed(&self.base, error))?;
        let there = self.path.ancestors().find(|path| path.symlink_metadata().is_ok());
        let there = there.unwrap_or(&self.base);
        let real = there.canonicalize().map_err(|error| failed(there, error))?;
        if real.starts_with(&base) && !self.path.is_symlink() {
            return Ok(());
        }
        let text = format!(
            "{} is a link, or a link leads to it from elsewhere",
            shown(&self.path)
        );
        Err(Error::denied(ErrorCode::NotRegularFile, text))
    }

    /// Returns the text of the file with the server (CLT-1). `old` is the text before.
    ///
    /// # Errors
    /// `InvalidInput` if the program cannot keep the rest of the file.
    pub(crate) fn with_server(&self, old: Option<&str>, start: &Start) -> Result<String> {
        if self.client == Client::Codex {
            return self.with_toml(old.unwrap_or_default(), start);
        }
        let mut all: Json = match old.filter(|old| !old.trim().is_empty()) {
            None => json!({}),
            // A repeated key and a number that JSON values cannot hold would be lost.
            Some(old) => match parse(old.trim_start()) {
                Ok(all) => all,
                // A file with comments may have the entry already.
                Err(_) if self.start_in(old).ok().flatten().as_ref() == Some(start) => {
                    return Ok(old.to_owned());
                }
                Err(error) => return Err(self.not_kept(start, error.message())),
            },
        };
        let servers = all
            .as_object_mut()
            .map(|all| all.entry(self.client.servers_key()).or_insert_with(|| json!({})));
        let servers = servers.and_then(Json::as_object_mut);
        let servers = servers.ok_or_else(|| self.not_kept(start, "the servers are not an object"))?;
        let (entry, new) = (servers.entry(SERVER), self.client.entry(start));
        match (entry.or_insert_with(|| json!({})).as_object_mut(), new) {
            // The other keys, such as `env`, stay.
            (Some(entry), Json::Object(new)) => entry.extend(new),
            _ => return Err(self.not_kept(start, "the server is not an object")),
        }
        let indent = old.and_then(indent_of).unwrap_or("  ");
        Ok(pretty(&all, indent))
    }

    /// Adds the table of the server at the end, or replaces its two values in place, because a TOML file has comments that a
    /// rewrite would lose.
    fn with_toml(&self, old: &str, start: &Start) -> Result<String> {
        let table: toml::Table = old
            .parse()
            .map_err(|error: toml::de::Error| self.not_kept(start, error.message()))?;
        let known = table.get("mcp_servers").and_then(|servers| servers.get(SERVER));
        match known.map(start_of_toml) {
            None => {
                let end = if old.is_empty() || old.ends_with('\n') {
                    ""
                } else {
                    "\n"
                };
                let gap = if old.is_empty() { "" } else { "\n" };
                Ok(format!("{old}{end}{gap}{}", toml_of(start)))
            }
            Some(known) if known.as_ref() == Some(start) => Ok(old.to_owned()),
            Some(_) => edited_toml(old, start)
                .ok_or_else(|| self.not_kept(start, "it already has the server with another command")),
        }
    }

    fn not_kept(&self, start: &Start, why: &str) -> Error {
        let text = format!("{} cannot be edited without loss: {why}", shown(&self.path));
        refused(ErrorCode::FileExists, text, self.client.by_hand(start))
    }

    /// Returns how the file starts the server; `None` if the file has no such server.
    ///
    /// # Errors
    /// The errors of [`Self::read`]; `InvalidInput` if the file cannot be parsed.
    pub(crate) fn start(&self) -> Result<Option<Start>> {
        self.read()?.map_or(Ok(None), |text| self.start_in(&text))
    }

    fn start_in(&self, text: &str) -> Result<Option<Start>> {
        if self.client == Client::Codex {
            let table: toml::Table = text
                .parse()
                .map_err(|error: toml::de::Error| Error::invalid(error.to_string()))?;
            return Ok(table
                .get("mcp_servers")
                .and_then(|servers| start_of_toml(servers.get(SERVER)?)));
        }
        let document = Document::read(text).map_err(Error::invalid)?;
        let entry = document.get(&[Step::Key(self.client.servers_key()), Step::Key(SERVER)]);
        let entry = entry.unwrap_or_default();
        let args = entry["args"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(entry["command"].as_str().map(|command| Start {
            command: command.to_owned(),
            args: args.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        }))
    }

    /// Writes the file at once or not at all, with the mode of the old file.
    ///
    /// # Errors
    /// `Io` if the file cannot be written; the errors of [`Self::read`].
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        let failed = |error| Error::io(format_args!("writing {}", shown(&self.path)), error);
        let folder = self.path.parent().unwrap_or(&self.base);
        fs::create_dir_all(folder).map_err(failed)?;
        self.check_links()?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
        io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
        if let Ok(old) = self.path.metadata() {
            fs::set_permissions(file.path(), old.permissions()).map_err(failed)?;
        }
        file.as_file().sync_all().map_err(failed)?;
        file.persist(&self.path)
            .map_err(|error| failed(error.error))
            .map(drop)
    }
}

fn start_of_toml(entry: &toml::Value) -> Option<Start> {
    let args = entry
        .get("args")
        .and_then(|args| args.as_array())
        .into_iter()
        .flatten();
    Some(Start {
        command: entry.get("command")?.as_str()?.to_owned(),
        args: args.filter_map(|one| one.as_str()).map(str::to_owned).collect(),
    })
}

/// Returns the spaces or tabs before the first indented line.
fn indent_of(text: &str) -> Option<&str> {
    let line = text.lines().find(|line| line.starts_with([' ', '\t']))?;
    Some(&line[..line.len() - line.trim_start().len()]).filter(|indent| !indent.is_empty())
}

fn pretty(document: &Json, indent: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    let written =
        serde::Serialize::serialize(document, &mut Serializer::with_formatter(&mut bytes, formatter));
    drop(written);
    String::from_utf8_lossy(&bytes).into_owned() + "\n"
}
