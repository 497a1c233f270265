//! The entry of the server in a settings file: how it starts the server, in JSON and in TOML.
//!
//! # Layer
//! Layer 10, part of cli.

use std::env;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::cli::json_edit::place_in;

/// The name of the server in a settings file.
pub(crate) const SERVER: &str = "treering";

/// How a client writes a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerForm {
    /// A member of the object with this key: the command and the arguments.
    Plain(&'static str),
    /// The same, with the type of the transport.
    Typed(&'static str),
    /// A member whose command is a list with the program and the arguments.
    List(&'static str),
    /// A table in a TOML file.
    Toml,
}

impl ServerForm {
    /// Returns the path of the entry and its value, in a JSON file.
    pub(crate) fn entry(self, start: &Start) -> ([&'static str; 2], Json) {
        let Start { command, args } = start;
        match self {
            Self::Plain(key) => ([key, SERVER], json!({ "command": command, "args": args })),
            Self::Typed(key) => (
                [key, SERVER],
                json!({ "type": "stdio", "command": command, "args": args }),
            ),
            Self::List(key) => {
                let words: Vec<&String> = std::iter::once(command).chain(args).collect();
                (
                    [key, SERVER],
                    json!({ "type": "local", "command": words, "enabled": true }),
                )
            }
            // Not of a JSON file.
            Self::Toml => (["mcp_servers", SERVER], Json::Null),
        }
    }

    /// Returns the text that a person pastes into the file.
    pub(crate) fn to_paste(self, start: &Start) -> String {
        let ([key, name], entry) = self.entry(start);
        match self {
            Self::Toml => toml_of(start),
            _ => format!("{:#}\n", json!({ key: { name: entry } })),
        }
    }
}

/// How a client starts the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
}

impl Start {
    /// Returns what an entry of a settings file starts. Some clients have the program and the arguments in one list.
    pub(crate) fn of(entry: &Json) -> Option<Self> {
        let texts = |value: &Json| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let mut words = match entry["command"].as_str() {
            Some(command) => vec![command.to_owned()],
            None => texts(&entry["command"]),
        };
        words.extend(texts(&entry["args"]));
        let mut words = words.into_iter();
        let command = words.next().filter(|_| !entry["command"].is_null())?;
        let args = words.collect();
        Some(Self { command, args })
    }

    /// Whether this starts the server.
    pub(crate) fn is_server(&self) -> bool {
        ["serve", "--mcp"]
            .iter()
            .all(|word| self.args.iter().any(|arg| arg == word))
    }

    /// Returns the store that the arguments name. Without a name, the server finds the store from its folder.
    pub(crate) fn store(&self) -> Option<PathBuf> {
        let mut options = self.options().into_iter();
        let named = options.find(|option| option[0] == "--store")?;
        named.get(1).map(PathBuf::from)
    }

    /// Adds the options that only `known` has, but not those named in `but`. So an installation widens no right of a server.
    pub(crate) fn add_options_of(&mut self, known: &Self, but: &[&str]) {
        let own = self.options();
        let mut others = known.options();
        others.retain(|option| own.iter().all(|own| own[0] != option[0]) && !but.contains(&&*option[0]));
        self.args.extend(others.into_iter().flatten());
    }

    /// Returns the options of the server, each with its value. Something else than the server has none.
    fn options(&self) -> Vec<Vec<String>> {
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

/// Returns the entry of the server in a TOML text, or null.
///
/// # Errors
/// The place and the reason, if the text is not TOML.
pub(super) fn toml_server(text: &str) -> Result<Json, String> {
    let all: Json = toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        format!("{}: {}", place_in(text, at), error.message())
    })?;
    Ok(all["mcp_servers"][SERVER].clone())
}

/// Returns a TOML text with the server. Adds the table at the end, or replaces its two values in place, because a rewrite
/// would lose comments.
///
/// # Errors
/// The reason, if the rest of the text cannot be kept.
pub(super) fn with_toml_server(old: &str, known: &Json, start: &Start) -> Result<String, String> {
    let new = match Start::of(known) {
        _ if known.is_null() => {
            let end = if old.is_empty() || old.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            let gap = if old.is_empty() { "" } else { "\n" };
            format!("{old}{end}{gap}{}", toml_of(start))
        }
        Some(known) if known == *start => old.to_owned(),
        _ => edited_toml(old, start).ok_or("it already has the server with another command")?,
    };
    // A table cannot follow an inline one.
    toml_server(&new).map(|_| new)
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
/// if anything else would change (INL-1).
fn edited_toml(old: &str, start: &Start) -> Option<String> {
    let entry = toml::from_str::<TomlFile>(old).ok()?.mcp_servers.treering;
    let (command, args) = toml_values(start);
    let mut places = [(entry.command.span(), command), (entry.args.span(), args)];
    places.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let mut new = old.to_owned();
    for (place, value) in places {
        new.replace_range(place, &value);
    }
    let rest = |text: &str| {
        let mut table: toml::Table = text.parse().ok()?;
        let entry = table.get_mut("mcp_servers")?.get_mut(SERVER)?.as_table_mut()?;
        entry.remove("command");
        entry.remove("args");
        Some(table)
    };
    let started = Start::of(&toml_server(&new).ok()?)?;
    (rest(old)? == rest(&new)? && started == *start).then_some(new)
}

/// Returns a TOML text without the table of the server. `added` is what an installation added.
pub(super) fn without_toml_server(text: &str, added: &str) -> String {
    if !added.is_empty()
        && let Some(at) = text.rfind(added)
    {
        return format!("{}{}", &text[..at], &text[at + added.len()..]);
    }
    let is_own = |line: &str| {
        let line = line.trim();
        line == "[mcp_servers.treering]" || line.starts_with("[mcp_servers.treering.")
    };
    let (mut kept, mut is_inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            is_inside = is_own(line);
        }
        if !is_inside {
            kept.push_str(line);
        }
    }
    kept
}
